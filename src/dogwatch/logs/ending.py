"""How a log ends, by its own words alone: finished, failed, cut, or unknown.

Read piece by piece with a state of a few numbers: where in the log it last said what. A caught exception is
survived by what the program writes after it; an uncaught one is known by its outermost frame. A claim, as all
that a log says: whether the job still runs, the log does not know.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from dogwatch.logs.ending_lines import newest, oldest
from dogwatch.logs.ending_words import (
    BEGUN,
    CLOSING,
    COMPLAINT,
    CRASHED,
    EARLY,
    FAILED,
    FINISHED,
    GONE,
    LAST,
    NAMED,
    PLAIN,
    ROWS,
    STAGE,
    STOPPED,
    SUMMARY,
    TOLD,
    Row,
)
from dogwatch.logs.interface import EPOCH, INNER, RUN
from dogwatch.logs.lasting import LONG, lasting, moment
from dogwatch.logs.life import ENOUGH, Life
from dogwatch.logs.opening import BETWEEN, IMPORTS, OTHERS, SOON, SURE, Opening, times_said, wording
from dogwatch.logs.prose import BYTES as PAGE
from dogwatch.logs.prose import Prose
from dogwatch.logs.retold import goes_on, imported, retold
from dogwatch.model import Step

WINDOW = 262144  # bytes of log after which a word has nothing to do with the end any more
SURVIVED = 16384  # bytes of log after an uncaught exception: twice the buffer that a dying process still writes out
NAME = 256  # bytes of a last word
TAIL = 2048  # bytes at the end in which last words and unexplained exceptions stand
ECHO = 1024  # bytes between a failure and a script's own "done" after it, and between an end and its noise
LINES = 400  # of a traceback, at most
MARGIN = 160  # bytes of a line that tell what stands before a traceback
STARTS = 8  # that are remembered
MORE = 4  # lines, the last one of what was excused among them, after which it plainly went on
LATER = 60.0  # seconds after its last line in which a program that fell says no more
USUAL = 4  # times more that the same was said, with life in between
STATE_VERSION = 2
CAUGHT, ASIDE = "caught", "aside"  # by the outermost frame: one within the program, a thread's
SIGNS = (
    *(FAILED, CRASHED, GONE, TOLD, CAUGHT, ASIDE, COMPLAINT, NAMED),
    *(FINISHED, EARLY, STOPPED, STAGE, BEGUN, CLOSING, SUMMARY, LAST),
)

_HEADER = b"traceback (most recent call last)"
_FRAME = b", in <module>\n"
_OUTERMOST = re.compile(
    rb'file "(?!<string>)[^"\n]{1,400}", line \d{1,9}, in <module>|_run_module_as_main|:\d{1,9} in <module>'
)
_TYPED = re.compile(
    rb'file "<string>", line \d{1,9}, in <module>'
)  # of a program that came as text, perhaps of another's
# A line that opens an epoch, and says nothing of how it went.
_OPENS = re.compile(
    rb"[^a-z\n]{0,80}(?:[a-z.]{2,20}[^a-z0-9\n]{1,8}){0,4}epoch[ :#]{0,3}\[?\d{1,9} ?(?:/|of) ?\d{1,9}\b"
    rb"(?!.{0,80}(?:complete|finish|done|ended|saved))[^0-9\n]{0,80}\Z"
    rb"|[^a-z\n]{0,80}(?:(?:start(?:ing)?|begin(?:ning)?|running|train(?:ing)?)[^a-z0-9\n]{1,8}){0,2}"
    rb"epoch[ :#]{0,3}\[?\d{1,9}\]?[^a-z0-9\n]{0,40}\Z"
)
# One in the first half of an evaluation.
_AMID = re.compile(
    rb"\W{0,40}(?:evaluation|evaluating|eval|validation|testing|test)\b[^\[\n]{0,40}\[ {0,8}(\d{1,9})/ {0,8}(\d{1,9})\]"
)
_NOT_OURS = re.compile(rb"exception ignored in|exception in thread|error in atexit")
_LISTED = re.compile(rb"call stack:|stack \(most recent call last\)|thread 0x")  # frames of a program that goes on
_HARMLESS = re.compile(
    rb"--- logging error ---|during processing of request from"
    rb"|exception in run_soon callback|message_loop has been closed"
)
_LINK = re.compile(rb"during handling of the above exception|the above exception was the direct cause")


class Counter(NamedTuple):
    """What the run's counter has to say about the end: its last word, where, its stride from record to record,
    and how often it started again."""

    step: Step
    at: int
    stride: float = 0.0
    laps: int = 0


class _Open(NamedTuple):
    """A traceback that is being walked down: lines that it may still have, what its first frame says of it (None until
    that was seen), what stands before each of its lines, whether it means anything, whether the program had said that
    it goes on, whether it fell at an import of its own, before it did anything, and whether its code came as text."""

    lines: int
    kind: str | None
    prefix: bytes
    quiet: bool = False
    excused: bool = False
    unbegun: bool = False
    typed: bool = False


class Ending:
    """Hears a log and keeps where it last said how it ended."""

    def __init__(self) -> None:
        self._places = dict.fromkeys(SIGNS, -1)
        self._end = self._last = 0  # where the log's last word ends, and where its line begins
        self._first: dict[str, int] = {}  # where a summary's words were first said
        self._life = Life()
        self._opening = Opening()
        self._prose = Prose()
        self._opened: list[int] = []  # where it was said again, oldest first
        self._reopened = -1  # the newest trouble soon after which it surely was
        self._open: _Open | None = None  # a traceback that goes on in the next piece
        self._above, self._above_says = b"", 0  # the last line of the piece before, and what it says
        self._raised = self._excused = -1  # where the newest exception of a traceback stands, and one that was excused
        self._quiet = False  # whether the newest one means nothing
        self._unbegun = self._typed = -1  # the same of one before which nothing had begun, and of one that came as text
        self._since = 0  # lines after the one that was excused
        self._opens = False  # whether the last line opens an epoch, or stands amid an evaluation
        self._staged = -1  # where a stage was first said to be over
        self._row = (-1, -1)  # the newest tracebacks that follow each other: where they begin and end
        self._says = self._again = 0  # what stands above them, and how often it was said again below
        self._fell: tuple[str, float] = ("", 0.0)  # the clock and the time of what stands above them
        self._later = 0  # lines below that are dated after that
        self._trouble = -1  # where the newest ends of what others may outlive
        self._lasted = self._spoke = 0.0  # seconds for which lines below it are dated, and those of loggers
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._held = 0
        self.only_closed = False  # whether only its last words say so, as a script does whatever came of its program

    def hear(self, at: int, text: bytes) -> None:
        """Take the whole lines of a piece, cleaned, that starts at `at`. Nothing is looked at before it is asked
        for: of a long log, only the beginning and the end matter."""
        if self._opening.wants:
            self._opening.hear(text.lower())
        if self._prose.wants:
            self._prose.hear(text[:PAGE].lower())
        self._waiting.append((at, text))
        self._held += len(text)
        while self._held - len(self._waiting[0][1]) >= WINDOW:
            self._held -= len(self._waiting.popleft()[1])
            self._open, self._above, self._above_says = None, b"", 0

    @property
    def is_prose(self) -> bool:
        """Whether what was heard is a page about jobs, and no job's log."""
        return bool(self._prose)

    def _listen(self) -> None:
        """Look at what was heard since."""
        if not self._waiting:
            return
        at, low = self._waiting[0][0], b"".join(text for _, text in self._waiting).lower()
        low = low if low.endswith(b"\n") else low + b"\n"
        self._waiting.clear()
        self._held = 0
        self._tracebacks(at, low)
        self._life.hear(at, low)
        below = low[max(self._row[0] - at, len(low) - SURVIVED, 0) :]
        self._again += times_said(self._says, below)
        self._later += _times_later(self._fell, below)
        begin = low.find(b"\n", max(0, len(low) - SURVIVED - SOON)) + 1 if len(low) > SURVIVED + SOON else 0
        self._opened = [*self._opened, *(at + begin + place for place in self._opening.again(low[begin:]))][-STARTS:]
        if (here := self._row[1] - at) >= 0 and self._opening.surely_again(low[here : here + SOON]) >= SURE:
            self._reopened = self._row[1]
        excused = max(0, self._excused - at)
        lines = sum(bool(line.strip()) for line in low[excused : excused + SOON].splitlines())
        self._since = lines + (self._since if self._excused < at else 0)
        for row in PLAIN if low.isascii() else ROWS:
            place = newest(low, row)
            if place < 0:
                continue
            if row.sign == NAMED and at + place == self._raised:
                continue
            if row.sign in (GONE, TOLD) and self._usual(at, low, row, place):
                continue
            if row.sign == STAGE and self._staged < 0:
                self._staged = at + oldest(low, row)
            if row.sign == SUMMARY:
                self._first.setdefault(row.needle.decode(), at + oldest(low, row))
            self._mark(row.sign, at + place)
        self._outlast(at, low)
        words = low.rstrip()
        if words:
            last = words.rfind(b"\n") + 1
            self._last, self._end, self._opens = at + last, at + len(words), _goes_on_with(words[last:])

    def _outlast(self, at: int, low: bytes) -> None:
        """For how long does the log go on below the newest trouble?"""
        trouble = max(self._row[1], self._places[GONE])
        if trouble != self._trouble:
            self._trouble, self._lasted, self._spoke = trouble, 0.0, 0.0
        if trouble >= 0:
            lasted, spoke = lasting(low[max(trouble - at, len(low) - SURVIVED, 0) :])
            self._lasted, self._spoke = self._lasted + lasted, self._spoke + spoke

    def _usual(self, at: int, low: bytes, row: Row, place: int) -> bool:
        """Does the program say so all the time, of what it runs, and go on each time?"""
        for _ in range(USUAL):
            place = newest(low, row, place) if place > 0 else -1
            if place < 0:
                return False
        return self._life.went_on(at + place)

    def judge(self, counter: Counter | None) -> str:
        """The verdict at the end of what was heard."""
        if self.is_prose:
            return "unknown"
        self._listen()
        died, said = self._died(counter), self._finished(counter)
        another = self._row[0] <= died and self._later >= ENOUGH
        if died >= 0 and not said > died + (0 if another else ECHO):
            return "failed"
        if said >= 0 or self._closes(counter) or self._full(counter):
            self.only_closed = not self._full(counter) and (said < 0 or self._end - said <= ECHO)
            return "finished"
        return "cut" if counter is not None and _under_way(counter) else "unknown"

    def _finished(self, counter: Counter | None) -> int:
        """Where the log last said that the run is over; -1 when it did not, or something began after that."""
        said = max(self._places[FINISHED], self._places[EARLY], self._places[STOPPED])
        stage = self._places[STAGE] if self._end - self._places[STAGE] <= SURVIVED else -1
        of_a_loop = counter is not None and self._staged < stage < counter.at
        if self._may_be_over(counter) and not of_a_loop:
            said = max(said, stage)
        over = self._end - said <= WINDOW and self._places[BEGUN] < said
        return said if over and not self._goes_on(counter, said) else -1

    def _goes_on(self, counter: Counter | None, said: int) -> bool:
        """Does the counter show that something runs after what was said there? A line or two may still name an epoch:
        the best one, or the only step of a test."""
        if counter is None or counter.at <= said:
            return False
        if self._opens and counter.at >= self._last:
            return True
        surely = counter.step.rank >= RUN and said != self._places[EARLY]
        if not surely and not self._life.went_on(said):
            return False
        return _under_way(counter) or (not counter.step.total and counter.at - said > SURVIVED)

    def _died(self, counter: Counter | None) -> int:
        """Where the failure stands that the log ends with; -1 when there is none, or it was survived."""
        found = -1
        for sign, reach in (
            (FAILED, SURVIVED),
            (CRASHED, SURVIVED),
            (GONE, SURVIVED),
            (TOLD, SURVIVED),
            (CAUGHT, TAIL),
            (ASIDE, TAIL),
            (COMPLAINT, TAIL),
            (NAMED, NAME),
        ):
            place = self._places[sign]
            if place < 0 or self._end - place > reach or self._survived(sign, place):
                continue
            if sign != FAILED and 0 <= self._places[STOPPED] <= place:
                continue  # how it stopped
            if reach <= TAIL and self._minor(sign, place, counter):
                continue
            found = max(found, place)
        return found

    def _minor(self, sign: str, place: int, counter: Counter | None) -> bool:
        """Is it nothing that ended a run: a thread's while others worked, or right behind the end of one that was over,
        its noise?"""
        if counter is not None and sign == ASIDE:
            return True
        if place == self._typed == self._last:
            return False
        over = max(self._finished(counter), counter.at if counter is not None and self._full(counter) else -1)
        begin, end = self._row
        return over >= 0 and over > (begin if begin <= place <= end else place) - ECHO

    def _survived(self, sign: str, place: int) -> bool:
        """Does the log show life after what it said there, or that something began? What nobody caught, only by lines
        that were not flushed."""
        if self._life.began_again(place) or self._reopened > place:
            return True
        over = self._since > MORE or self._places[FINISHED] > place
        if place == self._excused and (over or self._life.stirred(place)):
            return True
        another = place == self._unbegun or any(0 < again - place <= SOON for again in self._opened)
        if another and self._life.went_on(place):
            return True
        if place == self._unbegun and self._end - place > OTHERS:
            return True
        if place <= self._trouble and (self._lasted if sign == GONE else self._spoke) >= LONG and sign != FAILED:
            return True
        if sign == CRASHED:
            return self._life.surely_went_on(place) or (self._row[0] <= place and self._again >= ENOUGH)
        return sign != FAILED and (self._life.went_on(place) or self._places[BEGUN] > place)

    def _full(self, counter: Counter | None) -> bool:
        """Whether the counter of the run has arrived, and little was counted after that: of what came before the run,
        or of one of its parts, a counter arrives too."""
        if counter is None or not _arrived(counter) or self._places[BEGUN] > counter.at or self._opens:
            return False
        return not self._life.went_on(counter.at + TAIL)

    def _may_be_over(self, counter: Counter | None) -> bool:
        """Whether no counter says that much is left: one that stood still while others moved is not the run's."""
        if counter is None or _nearly(counter):
            return True
        stale = self._life.went_on(counter.at + TAIL) or self._end - counter.at > WINDOW
        return counter.step.rank <= INNER and stale

    def _closes(self, counter: Counter | None) -> bool:
        """Last words count at the very end only, and not while the counter says that much is left."""
        place = max([self._places[CLOSING], *self._first.values()])
        last = max(self._places[SUMMARY], self._places[LAST]) >= self._last and not self._life.stirred(self._last - 1)
        if (place < 0 or self._end - place > TAIL) and not last:
            return False
        if not last and counter is not None and counter.at > place:
            return False
        return self._may_be_over(counter)

    def _mark(self, sign: str, place: int) -> None:
        self._places[sign] = max(self._places[sign], place)

    def _tracebacks(self, at: int, low: bytes) -> None:
        """Where the newest tracebacks end, and whether their outermost frame is the program itself. A bar may have
        been drawn over a traceback's first line: a frame of the program itself begins one, too."""
        past = self._follow(at, low, 0, self._open) if self._open is not None else 0
        header, frame = low.find(_HEADER, past), low.find(_FRAME, past)
        while header >= 0 or frame >= 0:
            headed = header >= 0 and (frame < 0 or header < frame)
            here = header if headed else frame
            start = low.rfind(b"\n", 0, here) + 1
            line = low[low.rfind(b"\n", 0, max(0, start - 1)) + 1 : start]
            above, says = (line[-MARGIN:], wording(line)) if start else (self._above, self._above_says)
            if self._row[1] < 0 or at + start - self._row[1] > BETWEEN:
                self._row, self._says, self._again = (at + start, at + start), says if here == start else 0, 0
                self._fell, self._later = moment(above) if here == start else ("", 0.0), 0
            past = self._headed(at, low, start, here, above) if headed else self._headless(at, low, start, here, above)
            header = low.find(_HEADER, past) if header < past else header
            frame = low.find(_FRAME, past) if frame < past else frame
        end = len(low) - 1
        last = low[low.rfind(b"\n", 0, max(0, end)) + 1 : end]
        self._above, self._above_says = last[-MARGIN:], wording(last)

    def _headed(self, at: int, low: bytes, start: int, here: int, above: bytes) -> int:
        end = low.find(b"\n", here)
        if low.find(b"\\n", here, end) >= 0:
            return end + 1  # the whole of one in a line: a value, of which its own words tell nothing about the run
        kind = ASIDE if _NOT_OURS.search(above) else None
        prefix = low[start:here] if here - start <= MARGIN else b""
        words = above.decode("utf-8", "replace")
        linked = _LINK.search(low, max(0, start - MARGIN), start) is not None
        quiet = _HARMLESS.search(above) is not None or retold(words) or (linked and self._quiet)
        excused = goes_on(words) or (linked and self._excused == self._raised >= 0)
        self._quiet = quiet
        if not quiet:
            self._mark(kind or CAUGHT, at + start)
        return self._follow(at, low, end + 1, _Open(LINES, kind, prefix, quiet, excused))

    def _headless(self, at: int, low: bytes, start: int, here: int, above: bytes) -> int:
        past = here + len(_FRAME)
        found = _OUTERMOST.search(low, start, past)
        if _LISTED.search(above) or not found:
            return past
        prefix = low[start : found.start()].removesuffix(b"  ")  # the frame is indented
        return max(past, self._follow(at, low, start, _Open(LINES, CRASHED, prefix if len(prefix) <= MARGIN else b"")))

    def _follow(self, at: int, low: bytes, start: int, traceback: _Open) -> int:
        """Walk down a traceback to the line that names the exception; its first frame says whose it is. Returns
        where the walk ended."""
        self._open = None
        lines, kind, prefix, quiet, excused, unbegun, typed = traceback
        while lines > 0 and start < len(low):
            end = low.find(b"\n", start)
            line = low[start:end].removeprefix(prefix)
            if kind is None and (b'file "' in line or b" in " in line):
                own = imported(line.decode("utf-8", "replace"))
                kind, excused = CRASHED if _OUTERMOST.search(line) and not own else CAUGHT, excused or own
                below = low[end + 1 : end + 1 + MARGIN].removeprefix(prefix)
                unbegun, typed = kind == CRASHED and IMPORTS.match(below) is not None, _TYPED.search(line) is not None
            if line.strip() and line[:1] not in b" \t|" and not line.startswith((b"file ", b"[rank", b"\xe2\x94\x82")):
                self._raised, self._row = at + start, (self._row[0], at + end)
                if not quiet:
                    self._excused = at + start if excused else self._excused
                    self._unbegun = at + start if unbegun else self._unbegun
                    self._typed = at + start if typed else self._typed
                    self._mark(kind or CAUGHT, at + start)
                return start
            start, lines = end + 1, lines - 1
        if lines > 0:
            self._open = _Open(lines, kind, prefix, quiet, excused, unbegun, typed)
        return start

    def state(self) -> dict[str, Any]:
        """All that is known, as JSON can carry it."""
        self._listen()
        state: dict[str, Any] = {"v": STATE_VERSION, "places": dict(self._places), "first": dict(self._first)}
        state["life"], state["staged"] = self._life.state(), self._staged
        state["another"], state["typed"] = [self._unbegun, self._reopened, self._since], self._typed
        state["traceback"] = [self._raised, self._excused, *self._row, self._says, self._again]
        state["later"] = [self._fell, self._later]
        state["outlast"], state["quiet"] = [self._trouble, self._lasted, self._spoke], self._quiet
        state["opening"], state["opened"] = self._opening.state(), self._opened
        state["prose"] = self._prose.state()
        if self._open is not None:
            state["open"] = [*self._open[:2], self._open.prefix.decode("latin-1"), *self._open[3:]]
        above = [self._above.decode("latin-1"), self._above_says]
        return {**state, "end": self._end, "last": self._last, "opens": self._opens, "above": above}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Ending:
        """One that goes on where the one that gave `state` stopped."""
        ending = cls()
        if state.get("v") == STATE_VERSION:
            ending._places.update(state["places"])
            ending._first.update(state["first"])
            ending._end, ending._last, ending._opens = state["end"], state["last"], state.get("opens", False)
            ending._life = Life.restore(state.get("life", {}))
            ending._raised, ending._excused, begin, end, ending._says, ending._again = state["traceback"]
            ending._row, ending._staged = (begin, end), state["staged"]
            (clock, fell), ending._later = state.get("later", (("", 0.0), 0))
            ending._fell = (clock, fell)
            ending._trouble, ending._lasted, ending._spoke = state.get("outlast", (-1, 0.0, 0.0))
            ending._unbegun, ending._reopened, ending._since = state.get("another", (-1, -1, 0))
            ending._typed, ending._quiet = state.get("typed", -1), state.get("quiet", False)
            ending._opening, ending._opened = Opening.restore(state.get("opening", ())), list(state.get("opened", ()))
            ending._prose = Prose.restore(state.get("prose", ()))
            ending._above, ending._above_says = state["above"][0].encode("latin-1"), state["above"][1]
            if "open" in state:
                lines, kind, prefix, *rest = state["open"]
                ending._open = _Open(lines, kind, prefix.encode("latin-1"), *rest)
        return ending


def _goes_on_with(line: bytes) -> bool:
    """Whether a log that ends with this lower-cased line goes on: it opens an epoch, or stands amid an evaluation."""
    amid = _AMID.match(line)
    return _OPENS.match(line) is not None or (amid is not None and 2 * int(amid[1]) < int(amid[2]))


def _times_later(than: tuple[str, float], low: bytes) -> int:
    """How many lines of lower-cased text that clock puts well after that time."""
    clock, at = than
    moments = (moment(line) for line in low.splitlines()) if clock else ()
    return sum(one[0] == clock and one[1] > at + LATER for one in moments)


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


def _nearly(counter: Counter) -> bool:
    """Whether its next report would have been the last, or it has no total: a run that reports every fifty steps ends
    up to forty-nine steps after a report, and what is counted from nought ends one short."""
    total = counter.step.total or 0.0
    return total - counter.step.done <= max(counter.stride, 1.0, 0.02 * total)
