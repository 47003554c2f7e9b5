"""Faults provoked for real: full disks, damaged files, moved clocks, stopped and killed processes, hostile text."""
