"""Signs of life: what a log holds after some trouble that only a program which goes on can have written.

A dying program flushes what it had printed before, up to a buffer of it, below its own traceback: a line of progress
may be as old as that. Loggers and bars write each line out at once, so theirs are as young as they look; and nobody
says that a run goes on from a checkpoint but the run that does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

ENOUGH = 3  # lines of progress that show life; ranks and streams that share a log may swap a line or two
REACH = 16384  # bytes at the end that are looked through
LINE = 600  # bytes of one line that are read

PROGRESS = re.compile(
    rb"\d ?(?:it/s|s/it)|\d%\||^\s{0,12}\[?\d{1,9}/\d{1,9}\]?(?! ?\d\d:\d\d)[\s:]"
    rb"|(?:loss|step|steps|epoch|iter|iteration|global_step|batch)['\"]?\s{0,3}[:=\[(/| ]\s{0,3}[\[(]?\d"
    rb"|\btrial \d{1,6} (?:finished|pruned|complete)|http/[12](?:\.[01])?\" [24]\d\d\b|throughput: \d"
    rb"|\bprocessed \d{1,12} ?(?:/|of) ?\d"
)
LOGGER = re.compile(
    rb"^.{0,50}\d\d:\d\d:\d\d.{0,60}\b(?:info|debug|warning|warn)\b|^.{0,20}\b(?:info|debug)\b.{0,30}\d\d:\d\d:\d\d"
    rb"|^[iw]\d{4} \d\d:\d\d:\d\d|^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}: [iw] "
)
_BAR = re.compile(rb"\d%\|[^|\n]{0,300}\| {0,3}([\d.]{1,12}[km]?)/([\d.]{1,12}[km]?) \[")
AGAIN = re.compile(
    rb"\bresum(?:ed|ing) (?:from|training|at|run|after)\b|\bcontinuing (?:training )?from\b|^nohup: ignoring input"
    rb"|\b(?:loaded|loading|restored|restoring) (?:from )?(?:the )?(?:last |latest )?checkpoint\b|\brestart count\b"
    rb"|^[^a-z\n]{0,20}(?:job )?(?:re)?start(?:ed|ing)? at (?:\w{3} |\d{4}-)"
)
_AGAIN_WORDS = (b"resum", b"continuing", b"nohup", b"checkpoint", b"restart count", b"start")  # one is in each of them


class Sign(NamedTuple):
    """A line that shows life: where it starts; whether it was written when it says so (`sure`), or that a run began
    where another had stopped (`again`)."""

    at: int
    sure: bool
    again: bool


def signs(low: bytes) -> Iterator[Sign]:
    """The signs in lower-cased text, oldest first. A bar that is drawn again without having moved shows nothing."""
    start, bar = 0, b""
    while start < len(low):
        end = low.find(b"\n", start)
        end = len(low) if end < 0 else end
        line = low[start : min(end, start + LINE)]
        drawn = _BAR.search(line) if b"%|" in line else None
        if drawn is not None:
            moved = drawn[2] == bar.partition(b"/")[2] and drawn[1] != bar.partition(b"/")[0]
            bar = drawn[1] + b"/" + drawn[2]
            if moved:
                yield Sign(start, True, False)
        elif any(word in line for word in _AGAIN_WORDS) and AGAIN.search(line):
            yield Sign(start, False, True)
        elif PROGRESS.search(line):
            yield Sign(start, LOGGER.search(line) is not None, False)
        start = end + 1


def shown(low: bytes) -> tuple[int, int]:
    """How many lines of a text surely show life, and whether they say that a run began again and went on."""
    sure = began = since = 0
    may_begin = any(word in low for word in _AGAIN_WORDS)
    for sign in signs(low):
        sure += sign.sure
        since = 0 if sign.again else since + 1
        began = 1 if sign.again else began
        if sure >= ENOUGH and not may_begin:
            break
    return min(sure, ENOUGH), int(bool(began) and since >= ENOUGH)


class Life:
    """Where the end of a log last shows life."""

    def __init__(self, at: int, low: bytes) -> None:
        """Of lower-cased text that starts at `at`."""
        skip = max(0, len(low) - REACH)
        skip = low.find(b"\n", skip) + 1 if skip else 0
        found = [(at + skip + sign.at, sign) for sign in signs(low[skip:])]
        self._any = [place for place, sign in found if not sign.again][-ENOUGH:]
        self._sure = [place for place, sign in found if sign.sure][-ENOUGH:]
        self._again = max((place for place, sign in found if sign.again), default=-1)

    def stirred(self, place: int) -> bool:
        """Is there any progress after a place?"""
        return bool(self._any) and self._any[-1] > place

    def went_on(self, place: int) -> bool:
        """Is there progress enough after a place? It may have been flushed there."""
        return len(self._any) == ENOUGH and self._any[0] > place

    def surely_went_on(self, place: int) -> bool:
        """The same, and written after what stands at that place."""
        return len(self._sure) == ENOUGH and self._sure[0] > place

    def began_again(self, place: int) -> bool:
        """Did a run say after a place that it goes on from where another stopped, and then did?"""
        return self._again > place and self.went_on(self._again)
