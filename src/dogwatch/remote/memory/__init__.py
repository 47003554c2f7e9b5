"""The extra probe that measures memory: what trees of processes hold of this machine's memory, and what Slurm jobs hold
of the memory they were given.

It travels with the one request in many that asks for it; see `remote/__init__.py`. For Python >= 3.6 and the standard
library.
"""
