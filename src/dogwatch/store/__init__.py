"""What Dogwatch remembers, and the only SQL of the product.

`interface` says what a store is; the rest of Dogwatch knows that and `rows/`, which reads and writes each family of
tables in portable SQL. `sqlite/` keeps them in one file under the home; only `assemble` opens it. `private_files` is
for what lies beside it. May import `model`, `clock`, `redaction` and `errors`, nothing else of ours; what `dogwatch
ls` reads must not import dataclasses, typing, json or pathlib.

To add a column, add it to its Row and write a migration in `sqlite/migrations.py`; a table family is a file of `rows/`.
"""

WATCH = "watch"  # the lease of whoever watches every place of a store
DAEMON = "daemon"  # held by a daemon from its start, also while it waits for the other one
POLL = "poll"  # one poll for somebody who asked: it holds WATCH, and is no watcher


def place_lease(place: str) -> str:
    """The lease of whoever watches one place."""
    return f"place:{place}"
