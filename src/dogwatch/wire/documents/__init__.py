"""The documents that we print and store, as TypedDicts: the one definition of each key, its type and its meaning.

One file per family; `tools/json_docs.py` makes docs/json.md and docs/schema.json of them, and mypy checks every
reader. At run time nothing imports them: import them under TYPE_CHECKING. A new key gets its type and meaning here.
"""
