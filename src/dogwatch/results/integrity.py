"""Integrity: whether files are intact, checked on their own host by an extra probe.

A row is what `dogwatch check --json` prints: `file`, `format`, `verdict`, `why`, `size`, `records`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dogwatch.transport import extra_probe
from dogwatch.transport.interface import Transport
from dogwatch.wire.json_value import JsonObject
from dogwatch.wire.programs import FileVerdict, Integrity

if TYPE_CHECKING:
    from dogwatch.wire.documents.log import FileDocument

INTACT, BROKEN, UNCLEAR = "intact", "damaged", "cannot tell"
MOST_BYTES = 1 << 40
GRACE = 5.0  # between the allowance of the reading and the moment we stop waiting for it

# What a verdict says, by a part of it → what to do about it.
_REMEDIES = (
    ("left behind unfinished", "the job was stopped while it wrote: make the file again, or remove it"),
    ("is an empty directory", "the job was stopped before it wrote anything: remove it"),
    ("is empty", "nothing was written: see its log for the reason, and run that part again"),
    ("filled with zeros", "the disk was full or the machine crashed: make it again; see `df` and `df -i` there"),
    ("link to something", "the target of the link is gone: restore it, or give its new path"),
    ("is not there, and", "a part is missing: run the part that writes it, or copy it again"),
    ("is not there", "correct the path, or check whether the job wrote elsewhere"),
    ("lacks", "parts are missing: run those parts again, or copy them again"),
    ("ends in the middle", "it was cut: make it again from the last checkpoint; check whether the disk was full"),
    ("cut or damaged", "it was cut: make it again from the last checkpoint; check whether the disk was full"),
)


def check(transport: Transport, path: str, seconds: float) -> list[FileDocument]:
    """The verdict on a file, or on each file under a directory; never raises for what is wrong with them."""
    call: JsonObject = {"paths": [path], "seconds": seconds, "bytes": MOST_BYTES}
    answer = extra_probe.send(transport, "integrity", call, 1.3 * (seconds + GRACE), Integrity)
    return [_unknown(path, answer)] if isinstance(answer, str) else [_document(row) for row in answer.files]


def first_intact(transport: Transport, newest_first: Sequence[str], seconds: float) -> dict[str, tuple[str, str]]:
    """(verdict, why) of checkpoints, from the newest down to the first that is not damaged; of none where the place
    cannot be asked."""
    if not newest_first:
        return {}
    call: JsonObject = {"checkpoints": [list(newest_first)], "seconds": seconds, "bytes": MOST_BYTES}
    deadline = seconds + GRACE
    found = extra_probe.send(transport, "integrity", call, deadline + 0.3 * deadline, Integrity)
    if isinstance(found, str):
        return {}
    return {path: (row.verdict, row.why or "") for path, row in found.checkpoints.items()}


def remedy(verdict: str, why: str | None) -> str:
    """What to do about a file that is damaged; nothing for the others."""
    if verdict != BROKEN:
        return ""
    found = next((advice for part, advice in _REMEDIES if part in (why or "")), "")
    return found or "make it again, or restore it from a copy"


def _document(row: FileVerdict) -> FileDocument:
    return {
        "file": row.file,
        "format": row.format,
        "verdict": row.verdict,
        "why": row.why,
        "size": row.size,
        "records": row.records,
    }


def _unknown(path: str, why: str) -> FileDocument:
    return {
        "file": path,
        "format": None,
        "verdict": UNCLEAR,
        "why": f"could not be read: {why}",
        "size": None,
        "records": None,
    }
