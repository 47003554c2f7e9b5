"""Chains: `script` makes the program that a machine is given, `start` brings it there and starts it, once."""
