"""Queries (`queries.py`) and commands (`commands.py`) of people and agents, once, for every interface.

Answers are the plain documents of docs/json.md. `queries.py` is on the path of `dogwatch ls`, so it
imports nothing that is slow to import; it may use the store and, to read a log, a transport.
"""
