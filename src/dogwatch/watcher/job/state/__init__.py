"""What is kept of a job between ticks: one small typed state per file, next to the functions that update it.

A state knows the model and the estimates, and no other state; `memory` alone puts them together and writes them to the
store. A new state is a file here and a field there.
"""
