"""Unread logs: parts of a job's logs that were not read or may have been lost, as one event of a poll."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dogwatch.store.rows.tick import Event
from dogwatch.watcher.job.read_files import LogGap

if TYPE_CHECKING:
    from dogwatch.wire.documents.watch import LogGapDocument

MOST = 16
_WHY = {
    "truncated": "was truncated, and lines written since the poll before may be missing",
    "replaced": "was replaced by another file, and the rest of the old one was not read",
    "backlog": "grew faster than it can be read: {bytes:,} bytes were skipped",
    "long": "was long when it was first read: {bytes:,} bytes between its beginning and its end were skipped",
}


def gap_event(ref: str, gaps: Sequence[LogGap]) -> Event:
    """One event for all gaps of a poll, however many logs there are."""
    told = [f"{os.path.basename(gap.path)} {_WHY[gap.why].format(bytes=gap.bytes)}" for gap in gaps[:MOST]]
    more = f"; and {len(gaps) - MOST} more" if len(gaps) > MOST else ""
    shown: list[LogGapDocument] = [{"path": gap.path, "why": gap.why, "bytes": gap.bytes} for gap in gaps[:MOST]]
    return Event("log.gap", "; ".join(told) + more, ref=ref, body={"gaps": shown})
