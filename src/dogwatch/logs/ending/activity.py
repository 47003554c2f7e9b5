"""Activity: what a log holds after some trouble that only a program which goes on can have written.

A dying program flushes what it had printed before, up to a buffer of it, below its own traceback: a line of progress
may be as old as that. Loggers and bars write each line out at once, so theirs are as young as they look; and nobody
says that a run goes on from a checkpoint but the run that does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dogwatch.logs.lazily import lazily

ENOUGH = 3  # lines of progress that show activity; ranks and streams that share a log may swap a line or two
WINDOW = 16384  # bytes at the end that are looked through
LINE = 600  # bytes of one line that are read

PROGRESS = lazily(
    rb"\d ?(?:it/s|s/it)|\d%\||^\s{0,12}\[?\d{1,9}/\d{1,9}\]?(?! ?\d\d:\d\d)[\s:]"
    rb"|(?:loss|step|steps|epoch|iter|iteration|global_step|batch)['\"]?\s{0,3}[:=\[(/| ]\s{0,3}[\[(]?\d"
    rb"|\btrial \d{1,6} (?:finished|pruned|complete)|http/[12](?:\.[01])?\" [24]\d\d\b|throughput: \d"
    rb"|\bprocessed \d{1,12} ?(?:/|of) ?\d"
)
LOGGER = lazily(
    rb"^.{0,50}\d\d:\d\d:\d\d.{0,60}\b(?:info|debug|warning|warn)\b|^.{0,20}\b(?:info|debug)\b.{0,30}\d\d:\d\d:\d\d"
    rb"|^[iw]\d{4} \d\d:\d\d:\d\d|^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}: [iw] "
)
_BAR = lazily(rb"\d%\|[^|\n]{0,300}\| {0,3}([\d.]{1,12}[km]?)/([\d.]{1,12}[km]?) \[")
AGAIN = lazily(
    rb"\bresum(?:ed|ing) (?:from|training|at|run|after)\b|\bcontinuing (?:training )?from\b|^nohup: ignoring input"
    rb"|\b(?:loaded|loading|restored|restoring) (?:from )?(?:the )?(?:last |latest )?checkpoint\b|\brestart count\b"
    rb"|^[^a-z\n]{0,20}(?:job )?(?:re)?start(?:ed|ing)? at (?:\w{3} |\d{4}-)"
)
_AGAIN_WORDS = (b"resum", b"continuing", b"nohup", b"checkpoint", b"restart count", b"start")  # one is in each of them


class ActivityLine(NamedTuple):
    """A line that shows activity: where it starts; whether it was written when it says so (`sure`), or that a run began
    where another had stopped (`again`)."""

    at: int
    sure: bool
    again: bool


def activity_lines(low: bytes) -> Iterator[ActivityLine]:
    """The active lines of lower-cased text, oldest first. A bar that is drawn again but has not moved is none."""
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
                yield ActivityLine(start, True, False)
        elif any(word in line for word in _AGAIN_WORDS) and AGAIN.search(line):
            yield ActivityLine(start, False, True)
        elif PROGRESS.search(line):
            yield ActivityLine(start, LOGGER.search(line) is not None, False)
        start = end + 1


def count_activity(low: bytes) -> tuple[int, int]:
    """How many lines of a text surely show activity, and whether they say that a run began again and went on."""
    sure = began = since = 0
    may_begin = any(word in low for word in _AGAIN_WORDS)
    for active in activity_lines(low):
        sure += active.sure
        since = 0 if active.again else since + 1
        began = 1 if active.again else began
        if sure >= ENOUGH and not may_begin:
            break
    return min(sure, ENOUGH), int(bool(began) and since >= ENOUGH)


class LastActivity:
    """Where the end of a log last shows activity."""

    def __init__(self, at: int, low: bytes) -> None:
        """Of lower-cased text that starts at `at`."""
        skip = max(0, len(low) - WINDOW)
        skip = low.find(b"\n", skip) + 1 if skip else 0
        found = [(at + skip + active.at, active) for active in activity_lines(low[skip:])]
        self._any = [place for place, active in found if not active.again][-ENOUGH:]
        self._sure = [place for place, active in found if active.sure][-ENOUGH:]
        self._again = max((place for place, active in found if active.again), default=-1)

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
