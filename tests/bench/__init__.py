"""What can be counted of the benchmarks on any machine, and how figures are compared."""
