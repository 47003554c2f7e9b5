"""Which lines are about our job: an id alone is not enough.

A job is its id, owner and submit time. A requeue keeps the id, counts `restarts` up and moves the submit time,
now or a little later; a controller that lost its state gives the id to somebody else's new job, with no restarts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dogwatch.model import Job, Known
from dogwatch.sources.slurm import words
from dogwatch.sources.slurm.accounting import Record
from dogwatch.sources.slurm.queue import Row
from dogwatch.sources.slurm.track import tracks

CLOSE = 2.0  # the queue and the accounting may round a submit time differently


def attempt_key(submit: float | None, restarts: int) -> str:
    return f"{int(submit) if submit is not None else '?'}:{restarts}"


def restarts_of(attempt: str) -> int:
    return _read_key(attempt)[1]


def _read_key(attempt: str) -> tuple[float | None, int]:
    submit, _, rest = attempt.partition(":")
    restarts = rest.partition(":")[0]
    digits = submit.isascii() and submit.isdigit() and len(submit) < 13
    return float(submit) if digits else None, int(restarts) if restarts.isdecimal() and len(restarts) < 10 else 0


class Identity(NamedTuple):
    """Who our job is, as far as is known. Without a submit time, the id and the owner have to do."""

    user: str
    submits: tuple[float, ...]
    attempt: str
    restarts: int

    def owns(self, row: Row) -> bool:
        """Whether a line of the queue is about our job, in this attempt or a later one."""
        if self.user and row.user and row.user != self.user:
            return False
        if not self.submits or row.submit is None or self._close(row.submit):
            return True
        return row.restarts >= max(1, self.restarts) and row.submit > min(self.submits)

    def attempt_of(self, row: Row) -> str:
        """The attempt that a line of ours is about. While the old run is cleaned up the count is already up."""
        cleaning = row.word == "COMPLETING" and row.submit is not None and self._close(row.submit)
        if self.attempt and (row.restarts == self.restarts or cleaning):
            return self.attempt
        return attempt_key(row.submit, row.restarts)

    def newest(self, records: Sequence[Record]) -> tuple[Record | None, str]:
        """Our last run among the records of one id, and its attempt: the one that was known, or one that a
        chain of requeues leads to from it."""
        ours = sorted((r for r in records if self._same_user(r)), key=lambda record: record.submit or 0.0)
        known = [at for at, record in enumerate(ours) if self._is_known(record)]
        if not known:
            return None, ""
        at, hops = known[-1], 0
        while at + 1 < len(ours) and ours[at].word in words.COMES_AGAIN and _follows(ours[at], ours[at + 1]):
            at, hops = at + 1, hops + 1
        if self.attempt:
            return ours[at], self.attempt if not hops else attempt_key(ours[at].submit, self.restarts + hops)
        return ours[at], attempt_key(ours[at].submit, _runs_before(ours, at))

    def before(self, records: Sequence[Record]) -> list[Record]:
        """The runs that led to our last one, oldest first: each was put back in the queue."""
        ours = sorted(
            (r for r in records if self._same_user(r)), key=lambda record: (record.submit or 0.0, record.start or 0.0)
        )
        newest, _ = self.newest(records)
        if newest is None:
            return []
        at = first = next(at for at, record in enumerate(ours) if record is newest)
        while first > 0 and ours[first - 1].word in words.COMES_AGAIN and _follows(ours[first - 1], ours[first]):
            first -= 1
        return ours[first:at]

    def _is_known(self, record: Record) -> bool:
        return not self.submits or (record.submit is not None and self._close(record.submit))

    def _same_user(self, record: Record) -> bool:
        return not (self.user and record.user and record.user != self.user)

    def _close(self, submit: float) -> bool:
        return any(-CLOSE <= submit - known <= CLOSE for known in self.submits)


def identity(job: Job, known: Known) -> Identity:
    submit, restarts = _read_key(known.attempt)
    track = tracks.of(job)
    registered = track.submit if track.submit is not None and track.submit > 0 else None
    submits = tuple(dict.fromkeys(at for at in (registered, submit) if at is not None))
    return Identity(track.user or "", submits, known.attempt, restarts)


def _follows(before: Record, after: Record) -> bool:
    """Whether `after` is the same job put back in the queue, and not a later owner of its id."""
    return before.name == after.name and before.user == after.user


def _runs_before(records: Sequence[Record], at: int) -> int:
    count = 0
    while at - count > 0 and records[at - count - 1].word in words.COMES_AGAIN:
        count += 1
    return count
