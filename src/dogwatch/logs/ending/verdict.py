"""How a log ends, by its own words alone: finished, failed, cut, or unknown.

Of a long log only the beginning and the end matter: they are kept while it is read, and examined once. The verdict
is a claim: a log does not know whether its job still runs.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from dogwatch.logs.ending.activity import ENOUGH, LastActivity
from dogwatch.logs.ending.duration import LONG, duration
from dogwatch.logs.ending.lines import newest, oldest, rows_in
from dogwatch.logs.ending.opening import OTHERS, SOON, SURE, Opening
from dogwatch.logs.ending.prose import BYTES as PAGE
from dogwatch.logs.ending.prose import Prose
from dogwatch.logs.ending.tracebacks import Tracebacks
from dogwatch.logs.ending.words import (
    BEGUN,
    CAUGHT,
    CLOSING,
    COMPLAINT,
    CRASHED,
    EARLY,
    FAILED,
    FINISHED,
    GONE,
    IN_THREAD,
    LAST,
    NAMED,
    ROWS,
    STAGE,
    STOPPED,
    SUMMARY,
    TOLD,
    Row,
)
from dogwatch.logs.interface import EPOCH, INNER, RUN
from dogwatch.logs.lazily import lazily
from dogwatch.model import Step

WINDOW = 262144  # bytes of log after which a word has nothing to do with the end any more
SURVIVED = 16384  # bytes of log after an uncaught exception: twice the buffer that a dying process still writes out
NAME = 256  # bytes of a last word
TAIL = 2048  # bytes at the end in which last words and unexplained exceptions stand
ECHO = 1024  # bytes between a failure and a script's own "done" after it, and between an end and its noise
STARTS = 8  # that are remembered
MORE = 4  # lines, the last one of what was excused among them, after which it plainly went on
USUAL = 4  # times more that the same was said, with life in between
# What a log may have died of, and how far from its end that may stand.
DEATHS = (
    *((kind, SURVIVED) for kind in (FAILED, CRASHED, GONE, TOLD)),
    *((kind, TAIL) for kind in (CAUGHT, IN_THREAD, COMPLAINT)),
    (NAMED, NAME),
)

# A line that opens an epoch, and says nothing of how it went.
_OPENS = lazily(
    rb"[^a-z\n]{0,80}(?:[a-z.]{2,20}[^a-z0-9\n]{1,8}){0,4}epoch[ :#]{0,3}\[?\d{1,9} ?(?:/|of) ?\d{1,9}\b"
    rb"(?!.{0,80}(?:complete|finish|done|ended|saved))[^0-9\n]{0,80}\Z"
    rb"|[^a-z\n]{0,80}(?:(?:start(?:ing)?|begin(?:ning)?|running|train(?:ing)?)[^a-z0-9\n]{1,8}){0,2}"
    rb"epoch[ :#]{0,3}\[?\d{1,9}\]?[^a-z0-9\n]{0,40}\Z"
)
# One in the first half of an evaluation.
_AMID = lazily(
    rb"\W{0,40}(?:evaluation|evaluating|eval|validation|testing|test)\b[^\[\n]{0,40}\[ {0,8}(\d{1,9})/ {0,8}(\d{1,9})\]"
)
_REMAINS = lazily(rb": (?:command )?not found\Z")  # of what a shell is left with behind its last program


class Counter(NamedTuple):
    """What the run's counter has to say about the end: its last word, where, its stride from record to record,
    and how often it started again."""

    step: Step
    at: int
    stride: float = 0.0
    laps: int = 0


class Ending:
    """Reads a log, keeps its beginning and its end, and says how it ended."""

    def __init__(self) -> None:
        self._opening, self._prose = Opening(), Prose()
        self._pieces: deque[tuple[int, bytes]] = deque()
        self._held = 0
        self.only_closed = False  # whether only its last words say so, as a script does whatever came of its program

    def feed(self, at: int, text: bytes) -> None:
        """Take the whole lines of a piece, cleaned, that starts at `at`."""
        if self._opening.wants:
            self._opening.feed(text.lower())
        if self._prose.wants:
            self._prose.feed(text[:PAGE].lower())
        self._pieces.append((at, text))
        self._held += len(text)
        while self._held - len(self._pieces[0][1]) >= WINDOW:
            self._held -= len(self._pieces.popleft()[1])

    @property
    def is_prose(self) -> bool:
        """Whether what was read is a page about jobs, and no job's log."""
        return bool(self._prose)

    def judge(self, counter: Counter | None) -> str:
        """The verdict at the end of what was read."""
        if self.is_prose:
            return "unknown"
        at, low = self._pieces[0][0] if self._pieces else 0, b"".join(text for _, text in self._pieces).lower()
        end = _End(at, low if low.endswith(b"\n") else low + b"\n", self._opening)
        verdict = end.verdict(counter)
        self.only_closed = verdict == "finished" and end.only_closed(counter)
        return verdict


class _End:
    """The end of a log, lower-cased, from `at` on: where it last said what; -1 where it did not."""

    def __init__(self, at: int, low: bytes, opening: Opening) -> None:
        self._places = {row.kind: -1 for row in ROWS}
        words = low.rstrip()
        last = words.rfind(b"\n") + 1
        self._last, self._end = at + last, at + len(words)  # where the last line begins, and where it ends
        self._opens = _goes_on_with(words[last:])
        self._remains = _REMAINS.search(words[last:]) is not None
        self._activity = LastActivity(at, low)
        self._fell = Tracebacks(at, low)
        self._opened, self._reopened = self._starts(at, low, opening)
        self._first: dict[str, int] = {}  # where a summary's words were first said
        self._staged = -1  # where a stage was first said to be over
        for row in rows_in(low):
            self._check_row(at, low, row)
        for kind, place in self._fell.places.items():
            self._mark(kind, place)
        # The newest of what others may outlive, and the seconds for which lines below it are dated; those of loggers.
        self._trouble = max(self._fell.end, self._places[GONE])
        below = low[max(self._trouble - at, len(low) - SURVIVED, 0) :]
        self._lasted, self._spoke = duration(below) if self._trouble >= 0 else (0.0, 0.0)

    def _starts(self, at: int, low: bytes, opening: Opening) -> tuple[list[int], int]:
        """Where the opening was said again, and the newest trouble soon after which it surely was."""
        begin = low.find(b"\n", max(0, len(low) - SURVIVED - SOON)) + 1 if len(low) > SURVIVED + SOON else 0
        opened = [at + begin + place for place in opening.again(low[begin:])][-STARTS:]
        here = self._fell.end - at
        surely = here >= 0 and opening.surely_again(low[here : here + SOON]) >= SURE
        return opened, self._fell.end if surely else -1

    def _check_row(self, at: int, low: bytes, row: Row) -> None:
        """Look for what a row describes."""
        place = newest(low, row)
        if place < 0 or (row.kind == NAMED and at + place == self._fell.raised):
            return
        if row.kind in (GONE, TOLD) and self._usual(at, low, row, place):
            return
        if row.kind == STAGE and self._staged < 0:
            self._staged = at + oldest(low, row)
        if row.kind == SUMMARY:
            self._first.setdefault(row.needle.decode(), at + oldest(low, row))
        self._mark(row.kind, at + place)

    def _mark(self, kind: str, place: int) -> None:
        self._places[kind] = max(self._places.get(kind, -1), place)

    def _usual(self, at: int, low: bytes, row: Row, place: int) -> bool:
        """Does the program say so all the time, of what it runs, and go on each time?"""
        for _ in range(USUAL):
            place = newest(low, row, place) if place > 0 else -1
            if place < 0:
                return False
        return self._activity.went_on(at + place)

    def verdict(self, counter: Counter | None) -> str:
        died, said = self._died(counter), self._finished(counter)
        another = self._fell.begin <= died and self._fell.lines_later(SURVIVED) >= ENOUGH
        if died >= 0 and not said > died + (0 if another else ECHO):
            return "failed"
        if said >= 0 or self._closes(counter) or self._full(counter):
            return "finished"
        return "cut" if counter is not None and _under_way(counter) else "unknown"

    def only_closed(self, counter: Counter | None) -> bool:
        """Whether only its last words say that it finished."""
        said = self._finished(counter)
        return not self._full(counter) and (said < 0 or self._end - said <= ECHO)

    def _finished(self, counter: Counter | None) -> int:
        """Where the log last said that the run is over; -1 when it did not, or something began after that."""
        said = max(self._places[FINISHED], self._places[EARLY], self._places[STOPPED])
        stage = self._places[STAGE] if self._end - self._places[STAGE] <= SURVIVED else -1
        of_a_loop = counter is not None and self._staged < stage < counter.at
        if self._may_be_over(counter) and not of_a_loop:
            said = max(said, stage)
        over = self._end - said <= WINDOW and not self._began(said)
        return said if over and not self._goes_on(counter, said) else -1

    def _began(self, after: int) -> bool:
        """Did something begin after that: it says so, or the log ends soon after words that it began with, and has
        counted nothing since?"""
        if self._places[BEGUN] > after:
            return True
        again = [place for place in self._opened if place > after]
        return len(again) > SURE and self._end - again[0] <= SURVIVED and not self._activity.went_on(again[0])

    def _goes_on(self, counter: Counter | None, said: int) -> bool:
        """Does the counter show that something runs after what was said there? A line or two may still name an epoch:
        the best one, or the only step of a test."""
        if counter is None or counter.at <= said:
            return False
        if self._opens and counter.at >= self._last:
            return True
        surely = counter.step.rank >= RUN and said != self._places[EARLY]
        if not surely and not self._activity.went_on(said):
            return False
        return _under_way(counter) or (not counter.step.total and counter.at - said > SURVIVED)

    def _died(self, counter: Counter | None) -> int:
        """Where the failure stands that the log ends with; -1 when there is none, or it was survived."""
        found = -1
        for kind, within in DEATHS:
            place = self._places.get(kind, -1)
            if place < 0 or self._end - place > within or self._survived(kind, place):
                continue
            if kind != FAILED and 0 <= self._places[STOPPED] <= place:
                continue  # how it stopped
            if place == self._fell.unbegun and counter is not None and counter.at > place and _ran(counter):
                continue  # what fell before it began has counted nothing: another try has
            if within <= TAIL and self._minor(kind, place, counter):
                continue
            found = max(found, place)
        return found

    def _minor(self, kind: str, place: int, counter: Counter | None) -> bool:
        """Is it nothing that ended a run: a thread's while others worked, or right behind the end of one that was over,
        its noise, or what its shell makes of a script's remains?"""
        if counter is not None and kind == IN_THREAD:
            return True
        if counter is not None and kind == COMPLAINT and self._remains and self._closes(counter):
            return True
        if place == self._fell.typed == self._last:
            return False
        over = max(self._finished(counter), counter.at if counter is not None and self._full(counter) else -1)
        fell = self._fell
        return over >= 0 and over > (fell.begin if fell.begin <= place <= fell.end else place) - ECHO

    def _survived(self, kind: str, place: int) -> bool:
        """Does the log show life after what it said there, or that something began? What nobody caught, only by lines
        that were not flushed."""
        if self._activity.began_again(place) or self._reopened > place:
            return True
        if place == self._fell.excused:
            over = self._fell.lines_since_excused() > MORE or self._places[FINISHED] > place
            if over or self._activity.stirred(place):
                return True
        another = place == self._fell.unbegun or any(0 < again - place <= SOON for again in self._opened)
        if another and self._activity.went_on(place):
            return True
        if place == self._fell.unbegun and self._end - place > OTHERS:
            return True
        if place <= self._trouble and (self._lasted if kind == GONE else self._spoke) >= LONG and kind != FAILED:
            return True
        if kind == CRASHED:
            again = self._fell.begin <= place and self._fell.said_again(SURVIVED) >= ENOUGH
            return again or self._activity.surely_went_on(place)
        return kind != FAILED and (self._activity.went_on(place) or self._places[BEGUN] > place)

    def _full(self, counter: Counter | None) -> bool:
        """Whether the counter of the run has arrived, and little was counted after that: of what came before the run,
        or of one of its parts, a counter arrives too."""
        if counter is None or not _arrived(counter) or self._began(counter.at) or self._opens:
            return False
        return not self._activity.went_on(counter.at + TAIL)

    def _may_be_over(self, counter: Counter | None) -> bool:
        """Whether no counter says that much is left: one that stood still while others moved is not the run's."""
        if counter is None or _nearly(counter):
            return True
        stale = self._activity.went_on(counter.at + TAIL) or self._end - counter.at > WINDOW
        return counter.step.rank <= INNER and stale

    def _closes(self, counter: Counter | None) -> bool:
        """Last words count at the very end only, and not while the counter says that much is left."""
        place = max([self._places[CLOSING], *self._first.values()])
        last = max(self._places[SUMMARY], self._places[LAST]) >= self._last and not self._activity.stirred(
            self._last - 1
        )
        if (place < 0 or self._end - place > TAIL) and not last:
            return False
        if not last and counter is not None and counter.at > place:
            return False
        return self._may_be_over(counter)


def _goes_on_with(line: bytes) -> bool:
    """Whether a log that ends with this lower-cased line goes on: it opens an epoch, or stands amid an evaluation."""
    amid = _AMID.match(line)
    return _OPENS.match(line) is not None or (amid is not None and 2 * int(amid[1]) < int(amid[2]))


def _under_way(counter: Counter) -> bool:
    step = counter.step
    return bool(step.total) and step.done < (step.total or 0.0)


def _arrived(counter: Counter) -> bool:
    """Whether the counter of the run is at its end."""
    if not counter.step.total or counter.step.rank < INNER:
        return False
    if counter.step.rank < EPOCH and counter.laps:
        return False  # a bar that runs once per epoch
    return counter.step.done >= counter.step.total


def _ran(counter: Counter) -> bool:
    """Whether the counter of the run, and no mere bar, is at its end."""
    return counter.step.rank > INNER and _arrived(counter)


def _nearly(counter: Counter) -> bool:
    """Whether its next report would have been the last, or it has no total: a run that reports every fifty steps ends
    up to forty-nine steps after a report, and what is counted from nought ends one short."""
    total = counter.step.total or 0.0
    return total - counter.step.done <= max(counter.stride, 1.0, 0.02 * total)
