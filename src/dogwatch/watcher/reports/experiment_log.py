"""The experiment log (`--log-file F`): every change of state as a block in a file, each once, whoever saw it.

The events of the store are the source, and cursors say how far they were written: `log:F` the last event (-1
before the first), `log-mark:F` the event after which the present set of jobs begins, `log-end:F` the size of the
file by then, `log-metrics:F:REF` the attempt whose metrics were written (negative: are still owed), and
`log-failures:F:PLACE` how often in a row a place did not answer. Times of blocks never run backwards. A block is
written first and remembered after; a crash between the two is seen by the block lying behind `log-end`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING

from dogwatch.errors import StoreError
from dogwatch.sources import kind_of
from dogwatch.sources.interface import Kind
from dogwatch.store.interface import Store
from dogwatch.store.rows import cursors, events, jobs, places
from dogwatch.watcher.reports import log_blocks as blocks

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import JobDocument
    from dogwatch.wire.documents.report import GpuReading
    from dogwatch.wire.documents.watch import EventDocument

GRACE = 60.0
CHECK_EVERY = 60.0
METRICS_WITHIN = 3600.0
LOCK_TIMEOUT = 5.0
MOST_TAIL = 1 << 20
_CHANGES = frozenset({"job.state", "job.attempt"})
_STAMP = len("[YYYY-MM-DD HH:MM:SS]")
_HEAD = re.compile(r"^(\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\]) [A-Z_]+: ", re.M)
MOST_BACK = 16 << 10


class LogNotWritten(StoreError):
    """The log file does not take a block now; it is owed, and goes with the next that is taken."""


@dataclass(slots=True)
class _Member:
    """A job of the present set: since when, and what the log last said of it."""

    since: float
    word: str | None = None
    ended: float | None = None


@dataclass(slots=True)
class _Batch:
    """What one advance adds: blocks that may be repeated, and blocks that are written just once."""

    passing: list[str] = field(default_factory=list)
    lasting: list[str] = field(default_factory=list)
    metrics: dict[str, int] = field(default_factory=dict)
    upto: int = 0


class ExperimentLog:
    """One log file of one store. `advance()` after every tick writes what is new; LogNotWritten says why it
    could not, and nothing is lost by that."""

    def __init__(self, store: Store, path: str) -> None:
        self._store, self._path = store, os.path.abspath(path)
        self._members: dict[str, _Member] = {}
        self._words: dict[str, str | None] = {}
        self._mark: int | None = None
        self._upto = 0
        self._owed: dict[str, int] | None = None
        self._checked: float | None = None

    def advance(self, now: float, looked: Sequence[str] = (), readings: Mapping[str, GpuReading] | None = None) -> None:
        """Write what happened since the last time. `looked` names the places that were looked at just now (none:
        no STATUS_CHECK), `readings` has the GPU of running jobs by ref, where it was read."""
        try:
            with _File(self._path) as file:
                since = self._resume(now)
                found = events.read(self._store, since=self._upto)
                batch = _Batch(upto=max([since, *(event["seq"] for event in found)]))
                self._follow(found, since, batch)
                self._pay_metrics(now, batch)
                done = self._finished(batch)
                self._note_failures(now, looked, batch)
                self._note_check(now, looked, bool(batch.lasting), batch)
                self._note_readings(now, readings or {}, batch)
                self._write(file, batch, since, done)
        except StoreError:
            self._mark = self._owed = None  # what was taken in and not written is taken in again
            raise
        self._upto = batch.upto

    def _resume(self, now: float) -> int:
        """The last event that is in the file; the first time, the one before what is still going on began."""
        since = cursors.read(self._store, f"log:{self._path}")
        mark = cursors.read(self._store, f"log-mark:{self._path}")
        if not since:
            since = mark = self._begin(now)
        since = max(since, 0)
        if mark != self._mark:
            self._mark = self._upto = mark
            self._members, self._words = {}, {}
        if self._owed is None:
            self._owed = self._still_owed(now)
        return since

    def _begin(self, now: float) -> int:
        """A new log tells of the jobs that have not ended (or just did), not of all that ever was."""
        history = events.read(self._store)
        going = {job["ref"] for job in jobs.brief(self._store)}
        added: dict[str, int] = {}
        for event in history:
            if event["kind"] == "job.added":
                added[event["ref"] or ""] = event["seq"]
            elif event["kind"] in _CHANGES and (blocks.unix(event["at"]) or 0.0) >= now - GRACE:
                going.add(event["ref"] or "")
        mark = min((added[ref] - 1 for ref in going if ref in added), default=history[-1]["seq"] if history else 0)
        cursors.write(self._store, f"log-mark:{self._path}", mark)
        cursors.write(self._store, f"log-end:{self._path}", os.stat(self._path).st_size)
        cursors.write(self._store, f"log:{self._path}", mark or -1)  # 0 is what a cursor says that never was
        return mark

    def _follow(self, found: Sequence[EventDocument], since: int, batch: _Batch) -> None:
        """Take in the events; those after `since` become blocks."""
        refs = dict.fromkeys(e["ref"] or "" for e in found if e["kind"] in _CHANGES and e["seq"] > since)
        known = {job["ref"]: job for job in jobs.documents(self._store, refs=refs)}
        for event in found:
            ref, at = event["ref"] or "", blocks.unix(event["at"]) or 0.0
            if event["kind"] == "job.added":
                self._members[ref] = _Member(at)
                self._words.pop(ref, None)
            elif event["kind"] == "job.forgotten":
                self._members.pop(ref, None)
            elif event["kind"] in _CHANGES:
                if event["seq"] > since and ref in known:
                    self._note_change(event, known[ref], batch)
                self._take(event, at)

    def _take(self, event: EventDocument, at: float) -> None:
        ref, word = event["ref"] or "", blocks.word_of(event["body"])
        self._words[ref] = word
        over = event["body"].get("after") == "ended"
        if ref not in self._members and not over:  # an ended job that runs again belongs to the present set
            self._members[ref] = _Member(at)
        member = self._members.get(ref)
        if member is not None:
            member.word, member.ended = word, at if over else None

    def _note_change(self, event: EventDocument, job: JobDocument, batch: _Batch) -> None:
        ref, body = job["ref"], event["body"]
        before = self._words.get(ref) or blocks.word_of({"after": body.get("before")})
        over = body.get("after") == "ended"
        batch.lasting.append(blocks.state_change(event, job, before, self._started(event, job) if over else None))
        owed = self._owed if self._owed is not None else {}
        if not over or ref in owed:
            return
        metrics = blocks.compute_metrics(blocks.unix(event["at"]) or 0.0, job)
        if metrics is not None:
            batch.lasting.append(metrics)
        elif kind_of(job["source"]).accounting_lags:  # what it says later is written then
            owed[ref] = body.get("attempt") or 1
            cursors.write(self._store, self._metrics(ref), -owed[ref])

    def _started(self, event: EventDocument, job: JobDocument) -> float | None:
        """When it began to run: by its own record, else when it was first seen to."""
        if job["started"] is not None:
            return blocks.unix(job["started"])
        running = [
            one["at"]
            for one in events.read(self._store, ref=event["ref"])
            if one["kind"] in _CHANGES and one["seq"] < event["seq"] and one["body"].get("after") == "running"
        ]
        return blocks.unix(running[-1]) if running else None

    def _metrics(self, ref: str) -> str:
        return f"log-metrics:{self._path}:{ref}"

    def _still_owed(self, now: float) -> dict[str, int]:
        """Jobs that ended not long ago without their metrics, by what an earlier process left in the store."""
        recent = [
            job["ref"]
            for job in jobs.brief(self._store, everything=True)
            if kind_of(job["source"]).accounting_lags
            and job["state"] == "ended"
            and now - (job["confirmed_at"] or 0.0) < METRICS_WITHIN
        ]
        found = {ref: cursors.read(self._store, self._metrics(ref)) for ref in recent}
        return {ref: -value for ref, value in found.items() if value < 0}

    def _pay_metrics(self, now: float, batch: _Batch) -> None:
        owed = self._owed or {}
        for job in jobs.documents(self._store, refs=list(owed)):
            ref = job["ref"]
            metrics = blocks.compute_metrics(now, job) if job["state"] == "ended" else None
            if metrics is not None:
                batch.lasting.append(metrics)
                batch.metrics[ref] = owed[ref]
            elif job["state"] != "ended" or now - (blocks.unix(job["confirmed_at"]) or 0.0) > METRICS_WITHIN:
                batch.metrics[ref] = owed[ref]  # runs again, or nobody will ever know

    def _finished(self, batch: _Batch) -> bool:
        """Whether the whole set has ended, with the block that says so."""
        set_ = list(self._members.values())
        ends = [member.ended for member in set_ if member.ended is not None]
        if not set_ or len(ends) < len(set_):
            return False
        span = self._span(max(ends))
        batch.lasting.append(blocks.all_complete(max(ends), [member.word for member in set_], span))
        return True

    def _span(self, seen: float) -> float:
        """From the first start to the last end of the set, by the jobs' own records where there are any."""
        starts, ends = [], []
        known = {job["ref"]: job for job in jobs.documents(self._store, refs=list(self._members))}
        for ref, member in self._members.items():
            job = known.get(ref)
            ended = blocks.unix(job["since"]) if job is not None and job["state"] == "ended" else None
            ends.append(ended if ended is not None else member.ended or seen)
            starts.append((blocks.unix(job["started"]) if job is not None else None) or min(member.since, ends[-1]))
        return max(0.0, max(ends) - min(starts))

    def _note_failures(self, now: float, looked: Sequence[str], batch: _Batch) -> None:
        """A block for every poll that brought no answer."""
        if not looked:
            return
        known = {place["name"]: place for place in places.places(self._store)}
        for name in looked:
            place, cursor = known.get(name), f"log-failures:{self._path}:{name}"
            times = cursors.read(self._store, cursor)
            if place is None or not place["unreachable_since"]:
                if times:
                    cursors.write(self._store, cursor, 0)
                continue
            cursors.write(self._store, cursor, times + 1)
            why, since = str(place["unreachable_why"] or "no reason given"), blocks.unix(place["unreachable_since"])
            batch.passing.append(blocks.query_failed(now, name, why, times + 1, since, self._what()))

    def _what(self) -> str:
        """What was polled: the scheduler, if it runs any of these jobs."""
        polled = [kind_of(ref.partition("/")[2].partition(":")[0]) for ref in self._members]
        return next((kind.heading for kind in polled if kind.is_scheduler), Kind.heading)

    def _note_check(self, now: float, looked: Sequence[str], news: bool, batch: _Batch) -> None:
        if not looked or not self._members:
            return
        if not news and self._checked is not None and 0 <= now - self._checked < CHECK_EVERY:
            return
        self._checked = now
        unreachable = {
            p["name"]: p["unreachable_why"] or ""
            for p in places.places(self._store)
            if p["unreachable_since"] and p["name"] in looked
        }
        words = [member.word for member in self._members.values()]
        batch.passing.append(blocks.status_check(now, words, self._what(), unreachable))

    def _note_readings(self, now: float, readings: Mapping[str, GpuReading], batch: _Batch) -> None:
        for job in jobs.documents(self._store, refs=list(readings)):
            text = blocks.resource_status(now, job, readings[job["ref"]])
            batch.passing += [] if text is None else [text]

    @staticmethod
    def _ordered(batch: _Batch) -> list[tuple[str, bool]]:
        """The blocks by their times. A poll comes before the changes that it found, at the time of the first of them;
        those of a poll long before it come first."""
        changes, check = batch.lasting, [text[:_STAMP] for text in batch.passing]
        found = [text[:_STAMP] for text in changes if check and blocks.seconds_before(text[:_STAMP], check[0]) < GRACE]
        first = min(found, default="")
        passing = [(min(first or at, at) + text[_STAMP:], False) for at, text in zip(check, batch.passing, strict=True)]
        both = [*passing, *((text, True) for text in changes)]
        return sorted(both, key=lambda one: one[0][:_STAMP])

    def _write(self, file: _File, batch: _Batch, since: int, done: bool) -> None:
        behind = file.tail(cursors.read(self._store, f"log-end:{self._path}")) if batch.lasting else b""
        for text, lasts in self._ordered(batch):
            # What a crash left behind carries the time at which it was written, and is known by the rest.
            rest = text.encode()[_STAMP:]
            if lasts and rest in behind:
                behind = behind.replace(rest, b"", 1)
            else:
                file.append(text)
        file.sync()
        for ref, attempt in batch.metrics.items():
            cursors.write(self._store, self._metrics(ref), attempt)
            (self._owed or {}).pop(ref, None)
        if done:
            cursors.write(self._store, f"log-mark:{self._path}", batch.upto)
        if batch.upto != since:
            cursors.write(self._store, f"log:{self._path}", batch.upto)
        if batch.lasting:
            cursors.write(self._store, f"log-end:{self._path}", file.size())


def advance(
    store: Store,
    path: str,
    now: float,
    looked: Sequence[str] = (),
    readings: Mapping[str, GpuReading] | None = None,
) -> None:
    """One advance of a log by somebody who does not stay, such as a patrol."""
    ExperimentLog(store, path).advance(now, looked, readings)


class _File:
    """The log file, open and ours for the time of one advance; each block goes in with one write or not at all."""

    def __init__(self, path: str) -> None:
        self._path, self._fd = path, -1
        self._last: str | None = None

    def __enter__(self) -> _File:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            self._fd = os.open(self._path, flags, 0o644)
            if not stat.S_ISREG(os.fstat(self._fd).st_mode):
                raise OSError(errno.EINVAL, "it is not a regular file")
            self._lock()
        except OSError as error:
            self._close()
            raise self._failed(error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def tail(self, start: int) -> bytes:
        """What lies behind a place in the file; all of it when the file has been begun anew."""
        size = self.size()
        start = max(start if start <= size else 0, size - MOST_TAIL)
        return os.pread(self._fd, size - start, start)

    def append(self, text: str) -> None:
        before = self.size()
        if self._last is None:
            self._last = self._last_stamp()
        self._last = max(self._last, text[:_STAMP])
        whole = (self._last + text[_STAMP:]).encode()
        if before and os.pread(self._fd, 1, before - 1) != b"\n":
            whole = b"\n" + whole
        try:
            written = os.write(self._fd, whole)
            if written < len(whole):
                if self.size() == before + written:  # half a block is worse than none
                    os.ftruncate(self._fd, before)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise self._failed(error) from error

    def _last_stamp(self) -> str:
        """The time of the last block, which the next one is not to be before."""
        size = self.size()
        end = os.pread(self._fd, min(size, MOST_BACK), max(0, size - MOST_BACK)).decode("utf-8", "replace")
        stamps = _HEAD.findall(end)
        return max(stamps, default="")

    def sync(self) -> None:
        try:
            getattr(os, "fdatasync", os.fsync)(self._fd)  # macOS has only fsync
        except OSError as error:
            raise self._failed(error) from error

    def _lock(self) -> None:
        limit = time.monotonic() + LOCK_TIMEOUT
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > limit:
                    raise
                time.sleep(0.01)

    def _failed(self, error: OSError) -> LogNotWritten:
        why = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror
        return LogNotWritten(f"{self._path} does not take the experiment log ({why})")

    def _close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
