"""A whole log as a series of (seconds, done, total) of the run's own counter, on the log's own clock.

The reader is fed in pieces, and each gives at most one record; the memory is bounded and the records are spread over
the whole log. They grow with it; of a log whose size is known the first half is read in larger ones, but for its very
beginning. Seconds are since 1970 where the log has dates, since a start where it has only stopwatches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from dogwatch.logs import scan
from dogwatch.logs.ending.verdict import Counter
from dogwatch.logs.interface import EPOCH
from dogwatch.logs.log_clock import Count, choose
from dogwatch.logs.reader import Reader, Reading
from dogwatch.logs.stamps import CLOCKED, dated, stamps
from dogwatch.model import Step

if TYPE_CHECKING:
    from dogwatch.logs.user import UserPatterns

MOST = 2048  # records
AGAIN = 0.1  # of what was done: a counter that falls below is another run's
AHEAD = 4  # records among which a counter that fell back is overtaken again
SMALLEST, LARGEST = 64, 1 << 20  # bytes of a piece
PIECES = 256  # a piece is this part of what was read before it,
PARTS = 512  # or this part of the log where that is known and more: with fewer, pauses are not told from slow steps
EARLY = 16  # but never more than this part of what was read before it
NEARBY = 4096  # bytes before a record in which a line may lend it the time
LINES = 12  # of those, at most
LENT = 16384  # bytes for which a lent time holds

Moment: TypeAlias = tuple[float, float, float | None]


class Record(NamedTuple):
    """What the run's counter said, and the times on its line and near it."""

    step: Step
    own: Mapping[str, float]
    near: Mapping[str, float]


class Timeline:
    """Reads one log, piece by piece, and keeps what its counter said when."""

    def __init__(
        self,
        patterns: UserPatterns | None = None,
        listen: Callable[[int, bytes], None] | None = None,
        whole: int = 0,
    ) -> None:
        """`listen` is told of every piece, as the reader tells it; `whole` is the size of the log, if that is known."""
        self._reader = Reader(patterns, self._hear)
        self.reading = self._reader.feed(b"")
        self._listen = listen
        self._records: list[Record] = []
        self._piece = (0, b"")
        self._recent = self._last = b""  # the lines before the piece, and the last byte of all
        self._lent: tuple[int, Mapping[str, float]] = (-LENT, {})
        self._whole, self._read = whole, 0

    def feed(self, chunk: bytes) -> Reading:
        """Take the next bytes of the log."""
        at = 0
        while at < len(chunk):
            size = max(SMALLEST, min(LARGEST, self._read // EARLY, max(self._whole // PARTS, self._read // PIECES)))
            self._take(chunk[at : at + size])
            at += size
            self._read += size
        self._last = chunk[-1:] or self._last
        return self.reading

    def close(self) -> Reading:
        """The log ends here: a last line without its end counts, unless it contradicts the line before, because
        then it was cut within a number."""
        before, records = self.reading.step, len(self._records)
        self._take(b"\n")
        after = self.reading.step
        if self._last.isdigit() and before and after and _contradicts(after, before):
            self.reading = self.reading._replace(step=before)
            del self._records[records:]
        return self.reading

    def moments(self) -> list[Moment]:
        """The series: times never fall; a counter that went back resumed, and what it had counted beyond is gone."""
        same = self._counted()
        times = choose(
            [Count(record.step.done, record.step.rate) for record in same],
            [record.own for record in same],
            [record.near for record in same],
        )
        out: list[Moment] = []
        for record, time in zip(same, times, strict=True):
            if time is None:
                continue
            if out and _named(record.step, out[-1][1]):
                out.append((time, *out[-1][1:]))
                continue
            if out and record.step.done <= max(out[0][1], AGAIN * out[-1][1]) < out[-1][1]:
                out.clear()  # it began again: a run that resumes goes on near where it was
            while out and out[-1][1] > record.step.done:
                out.pop()
            out.append((time, record.step.done, record.step.total))
        return out

    def counter(self) -> Counter | None:
        """What the run's counter has to say about the log's end."""
        if self.reading.step is None or self.reading.at is None:
            return None
        moves = [b - a for a, b in pairwise(record.step.done for record in self._counted())]
        forward = sorted(move for move in moves[-64:] if move > 0)
        stride, laps = (forward[len(forward) // 2] if forward else 0.0), sum(1 for move in moves if move < 0)
        return Counter(self.reading.step, self.reading.at, stride, laps)

    def _counted(self) -> list[Record]:
        """The records of the counter that spoke last, without those that were overtaken: of several ranks, or of
        several bars in one file, the one that is furthest speaks."""
        last = self._records[-1] if self._records else None
        same = [record for record in self._records if last and _same(record, last)]
        kept: list[Record] = []
        for place, record in enumerate(same):
            ahead = same[place + 1 : place + AHEAD]
            if (
                kept
                and record.step.done < kept[-1].step.done
                and any(later.step.done >= kept[-1].step.done for later in ahead)
            ):
                continue
            kept.append(record)
        return kept

    def _hear(self, at: int, text: bytes) -> None:
        self._piece = (at, text)
        if self._listen is not None:
            self._listen(at, text)

    def _take(self, piece: bytes) -> None:
        last = self._piece
        self.reading = self._reader.feed(piece)
        if self._piece is last:
            return  # no line ended
        at, text = self._piece
        if self.reading.step is not None and self.reading.at is not None and self.reading.at >= at:
            place = self.reading.at - at
            before = (self._recent + text[:place] if place < NEARBY else text[:place])[-NEARBY:]
            near = self._near(self.reading.at, before)
            self._keep(Record(self.reading.step, stamps(_line(text, place)), near))
        self._recent = (self._recent + text)[-NEARBY:] if len(text) < NEARBY else text[-NEARBY:]

    def _keep(self, record: Record) -> None:
        self._records.append(record)
        if len(self._records) > MOST:
            self._records[: MOST // 2] = self._records[: MOST // 2 : 2]

    def _near(self, at: int, before: bytes) -> Mapping[str, float]:
        """The clock of the nearest line before a record that has one, or of one that was read a little earlier."""
        end = len(before) if scan.first(CLOCKED, before, 0, len(before)) is not None else 0
        for _ in range(LINES):
            if end <= 0:
                break
            start = before.rfind(b"\n", 0, end - 1) + 1
            found = dated(before[start : end - 1].decode("utf-8", "replace"))
            if found:
                self._lent = (at - len(before) + start, found)
                return found
            end = start
        return self._lent[1] if at - self._lent[0] <= LENT else {}


def timeline(pieces: Iterable[bytes], patterns: UserPatterns | None = None, size: int = 0) -> list[Moment]:
    """The series of a whole log that comes in pieces of bytes, of this size together if that is known."""
    whole = Timeline(patterns, whole=size)
    for piece in pieces:
        whole.feed(piece)
    whole.close()
    return whole.moments()


def _line(text: bytes, start: int) -> str:
    end = text.find(b"\n", start)
    return text[start : end if end >= 0 else len(text)].decode("utf-8", "replace")


def _contradicts(cut: Step, before: Step) -> bool:
    if (cut.unit, cut.rank) != (before.unit, before.rank):
        return False
    return cut.done < before.done or (before.total is not None and cut.total != before.total)


def _named(step: Step, done: float) -> bool:
    """Whether this is only the name of the epoch in which the run already was `done` far: its end, its validation."""
    return step.rank // 10 == EPOCH // 10 and step.done == done // 1 < done


def _same(record: Record, last: Record) -> bool:
    """Whether two records are of one counter: bars are told apart by their totals too."""
    mine, its = record.step, last.step
    if mine.unit != its.unit or mine.rank // 10 != its.rank // 10:
        return False
    return its.rank >= EPOCH or mine.total is None or mine.total == its.total
