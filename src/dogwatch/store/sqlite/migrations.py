"""The schema's history. Each step runs in one transaction with the row that says it ran, so a kill leaves the old
schema or the new one; a released step is never edited."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    Steps = tuple[tuple[str, Callable[[sqlite3.Connection], None]], ...]

LATEST = 1


def ours() -> Steps:
    """The steps of this version, in their order; LATEST is how many there are."""
    from dogwatch.store.sqlite import schema

    return (("schema", schema.create),)


def migrate(db: sqlite3.Connection, now: float, steps: Steps = ()) -> None:
    """Run every step that this database has not seen; `steps` defaults to ours."""
    for number, (name, up) in enumerate(steps or ours(), start=1):
        db.execute("BEGIN IMMEDIATE")
        try:
            if db.execute("PRAGMA user_version").fetchone()[0] < number:
                up(db)
                db.execute("INSERT INTO migrations (number, name, at) VALUES (?, ?, ?)", (number, name, now))
                db.execute(f"PRAGMA user_version = {number}")
            db.execute("COMMIT")
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")
