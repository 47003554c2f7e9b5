"""The tracebacks of a text: where the newest ends, whose it is, and what stands below it.

A caught exception is survived by what the program writes after it; an uncaught one is known by its outermost frame.
"""

from __future__ import annotations

from typing import NamedTuple

from dogwatch.logs.ending.duration import moment
from dogwatch.logs.ending.opening import BETWEEN, IMPORTS, SOON, times_said, wording
from dogwatch.logs.ending.quoted_errors import goes_on, imported, is_quoted
from dogwatch.logs.ending.words import CAUGHT, CRASHED, IN_THREAD
from dogwatch.logs.lazily import lazily

LINES = 400  # of a traceback, at most
MARGIN = 160  # bytes of a line that tell what stands before a traceback
USUAL = 4  # tracebacks of a logger, a minute apart, after which they are everyday
LATER = 60.0  # seconds after its last line in which a program that fell says no more

_HEADER = b"traceback (most recent call last)"
_FRAME = b", in <module>\n"
_OUTERMOST = lazily(
    rb'file "(?!<string>)[^"\n]{1,400}", line \d{1,9}, in <module>|_run_module_as_main|:\d{1,9} in <module>'
)
_TYPED = lazily(rb'file "<string>", line \d{1,9}, in <module>')  # of a program that came as text, perhaps of another's
_NOT_OURS = lazily(rb"exception ignored in|exception in thread|error in atexit")
_OURS = lazily(rb"exception during training:\s{0,4}\Z")  # detectron2's loop, whose hooks still say how long it took
_LISTED = lazily(rb"call stack:|stack \(most recent call last\)|thread 0x")  # frames of a program that goes on
_HARMLESS = lazily(
    rb"--- logging error ---|during processing of request from"
    rb"|exception in run_soon callback|message_loop has been closed"
)
_LINK = lazily(rb"during handling of the above exception|the above exception was the direct cause")


class _Head(NamedTuple):
    """What is known of a traceback before its first frame: whose it is (None where that frame decides), what stands
    before each of its lines, whether it means nothing, and whether the program had said that it goes on."""

    kind: str | None
    prefix: bytes
    quiet: bool = False
    excused: bool = False


class Tracebacks:
    """What the tracebacks of lower-cased whole lines say that begin at `at`; a place is -1 where there is none."""

    def __init__(self, at: int, low: bytes) -> None:
        self.places: dict[str, int] = {}  # of the newest of each kind
        self.raised = self.excused = -1  # where the newest exception stands, and one that was excused
        self.unbegun = -1  # the same of one at an import of its own, before which nothing had begun
        self.typed = -1  # and of one whose program came as text
        self.begin = self.end = -1  # the newest ones that follow each other
        self._at, self._low = at, low
        self._logged = (0, 0.0)  # how often a logger wrote one, a minute apart, and when it last did
        self._quiet = False  # whether the newest one means nothing
        self._says = 0  # what stands above them
        self._fell: tuple[str, float] = ("", 0.0)  # the clock and the time of that
        self._walk()

    def said_again(self, within: int) -> int:
        """How often what stands above the newest is said below, of the last `within` bytes."""
        return times_said(self._says, self._below(within))

    def lines_later(self, within: int) -> int:
        """How many of those lines are dated well after it, by the clock that ran above it."""
        clock, fell = self._fell
        moments = (moment(line) for line in self._below(within).splitlines()) if clock else ()
        return sum(one[0] == clock and one[1] > fell + LATER for one in moments)

    def lines_since_excused(self) -> int:
        """How many lines there are from the newest exception that was excused, itself among them."""
        here = max(0, self.excused - self._at)
        return sum(bool(line.strip()) for line in self._low[here : here + SOON].splitlines())

    def _below(self, within: int) -> bytes:
        return self._low[max(self.begin - self._at, len(self._low) - within, 0) :]

    def _walk(self) -> None:
        """Walk down all of them. A bar may have been drawn over a traceback's first line: a frame of the program itself
        begins one, too."""
        low, past = self._low, 0
        header, frame = low.find(_HEADER), low.find(_FRAME)
        while header >= 0 or frame >= 0:
            headed = header >= 0 and (frame < 0 or header < frame)
            here = header if headed else frame
            start = low.rfind(b"\n", 0, here) + 1
            line = low[low.rfind(b"\n", 0, max(0, start - 1)) + 1 : start]
            if self.end < 0 or self._at + start - self.end > BETWEEN:
                self.begin = self.end = self._at + start
                self._says = wording(line) if here == start else 0
                self._fell = moment(line[-MARGIN:]) if here == start else ("", 0.0)
            walk = self._headed if headed else self._headless
            past = walk(start, here, line[-MARGIN:])
            header = low.find(_HEADER, past) if header < past else header
            frame = low.find(_FRAME, past) if frame < past else frame

    def _headed(self, start: int, here: int, above: bytes) -> int:
        low, end = self._low, self._low.find(b"\n", here)
        if low.find(b"\\n", here, end) >= 0:
            return end + 1  # the whole of one in a line: a value, of which its own words tell nothing about the run
        kind = IN_THREAD if _NOT_OURS.search(above) else CRASHED if _OURS.search(above) else None
        prefix = low[start:here] if here - start <= MARGIN else b""
        words = above.decode("utf-8", "replace")
        linked = _LINK.search(low, max(0, start - MARGIN), start) is not None
        quiet = _HARMLESS.search(above) is not None or is_quoted(words) or (linked and self._quiet)
        excused = goes_on(words) or (linked and self.excused == self.raised >= 0) or self._is_usual(low[start:here])
        self._quiet = quiet
        if not quiet:
            self._mark(kind or CAUGHT, self._at + start)
        return self._follow(end + 1, _Head(kind, prefix, quiet, excused))

    def _is_usual(self, before: bytes) -> bool:
        """Does a logger write down one traceback after the other, minutes long? What stands before this one tells."""
        clock, at = moment(before)
        times, last = self._logged
        if clock and at > last + LATER:
            self._logged = (times + 1, at)
        return bool(clock) and self._logged[0] > USUAL

    def _headless(self, start: int, here: int, above: bytes) -> int:
        past = here + len(_FRAME)
        found = _OUTERMOST.search(self._low, start, past)
        if _LISTED.search(above) or not found:
            return past
        prefix = self._low[start : found.start()].removesuffix(b"  ")  # the frame is indented
        return max(past, self._follow(start, _Head(CRASHED, prefix if len(prefix) <= MARGIN else b"")))

    def _follow(self, start: int, head: _Head) -> int:
        """Walk down a traceback to the line that names the exception; its first frame says whose it is. Returns
        where the walk ended."""
        at, low = self._at, self._low
        kind, prefix, quiet, excused = head
        unbegun = typed = False
        for _ in range(LINES):
            if start >= len(low):
                break
            end = low.find(b"\n", start)
            line = low[start:end].removeprefix(prefix)
            if kind is None and (b'file "' in line or b" in " in line):
                own = imported(line.decode("utf-8", "replace"))
                kind, excused = CRASHED if _OUTERMOST.search(line) and not own else CAUGHT, excused or own
                below = low[end + 1 : end + 1 + MARGIN].removeprefix(prefix)
                unbegun, typed = kind == CRASHED and IMPORTS.match(below) is not None, _TYPED.search(line) is not None
            if line.strip() and line[:1] not in b" \t|" and not line.startswith((b"file ", b"[rank", b"\xe2\x94\x82")):
                self.raised, self.end = at + start, at + end
                if not quiet:
                    self.excused = at + start if excused else self.excused
                    self.unbegun = at + start if unbegun else self.unbegun
                    self.typed = at + start if typed else self.typed
                    self._mark(kind or CAUGHT, at + start)
                return start
            start = end + 1
        return start

    def _mark(self, kind: str, place: int) -> None:
        self.places[kind] = max(self.places.get(kind, -1), place)
