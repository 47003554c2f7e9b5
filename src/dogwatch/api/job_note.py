"""Notes: what people write about a job, kept in its history, where whoever takes over finds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dogwatch.clock import Clock
from dogwatch.errors import UsageError
from dogwatch.redaction import redacted
from dogwatch.store.interface import Store
from dogwatch.store.rows import events
from dogwatch.store.rows.changes import Event
from dogwatch.text import plain

if TYPE_CHECKING:
    from dogwatch.wire.documents.watch import EventDocument

KIND = "job.note"
LONGEST = 2000


def write(store: Store, clock: Clock, ref: str, text: str) -> str:
    """Add a note to a job's history, on one line and without secrets; what was written."""
    line = " ".join(plain(part, 4 * LONGEST) for part in text[: 16 * LONGEST].split())
    if not line:
        raise UsageError("the note is empty; write what the next person should know")
    if len(line) > LONGEST:
        raise UsageError(f"the note has {len(line):,} characters; use at most {LONGEST:,}, or name a file that has it")
    kept = redacted(line)
    with store.writing() as tx:
        events.append(tx, clock.now(), clock.mono(), Event(KIND, f"note: {kept}", ref=ref, body={"note": kept}))
    return kept


def of(store: Store, ref: str) -> list[EventDocument]:
    """The notes of a job, oldest first."""
    return events.read(store, ref=ref, kinds=(KIND,))
