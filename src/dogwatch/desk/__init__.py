"""What a person or an agent may ask (`ask.py`) and say (`tell.py`), once, for every face.

Answers are the plain documents of docs/json.md. `ask.py` is on the path of `dogwatch ls`, so it
imports nothing that is slow to import; it may use the store and, to read a log, a reach.
"""
