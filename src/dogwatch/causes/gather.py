"""Gathering: a log in pieces of bytes → the few lines of it that say why it ended, in bounded memory.

Two stages: literals are looked for in the whole piece, and only lines that hold one are read. Lines are counted
by newlines alone; what a carriage return wrote over is a line of its own for reading, not for counting.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dogwatch.causes.interface import Role
from dogwatch.causes.table import Match, classify, stems
from dogwatch.causes.tracebacks import HEAD, Raised, bare, body_of, read_traceback
from dogwatch.text import without_escapes

BLOCK = 1 << 20  # bytes looked through at once
HELD = 1 << 16  # bytes of an unfinished line or traceback that wait for the next piece
REACH = 2048  # characters of one line around a literal that are read
MOST_HITS = 400
MOST_PER_STEM = 200  # of one block; what repeats more often says nothing new

_STEMS = tuple(stem.encode() for stem in (*stems(), HEAD.lower(), "error: ", "exception: ", "the above exception"))
_GATES = tuple(stem for stem in _STEMS if not any(other != stem and other in stem for other in _STEMS))
_PROGRESS = re.compile(
    rb"\d ?(?:it/s|s/it)|\d%\|"
    rb"|(?:loss|step|steps|epoch|iter|iteration|global_step|batch)['\"]{0,1}\s{0,3}[:=\[(/| ]\s{0,3}[\[(]{0,1}\d"
)
_DONE = re.compile(
    rb"(?:training|run|job|evaluation|finetuning|fine-tuning|inference|experiment) (?:is |has |was )?"
    rb"(?:complete|finish|done|successful|ended)|completed successfully|finished successfully|run_stop"
    rb"|ending timing run"
    rb"|finished (?:training|run)|saving (?:the )?final|all done"
)
_QUIET = re.compile(
    r"\b(?:INFO|DEBUG|WARNING|WARN|UserWarning|FutureWarning|DeprecationWarning)\b|^\[W |\bwarnings\.warn"
)
_LINKS = ("during handling of the above exception", "the above exception was the direct cause")


@dataclass(slots=True)
class Gap:
    """Ordinary text between two hits: how much of it, and how much life it shows."""

    lines: int = 0
    size: int = 0
    progress: int = 0
    done: int = 0

    def add(self, other: Gap) -> None:
        self.lines += other.lines
        self.size += other.size
        self.progress += other.progress
        self.done += other.done


@dataclass(slots=True)
class Hit:
    """A line that says something about an ending. `before` is the ordinary text since the hit before it.

    `raised`: the exception a traceback ended with; `inner`: another exception was raised while or because of it;
    `aside`: printed by a thread, a destructor or a logger, so that the program may have gone on.
    """

    cause: str
    role: Role
    weight: float
    fatal: bool
    line: int
    text: str
    before: Gap
    raised: bool = False
    inner: bool = False
    aside: bool = False
    quiet: bool = False
    log: int = 0


@dataclass(slots=True)
class Notes:
    """What one log had to say: its hits in order, and the ordinary text after the last."""

    hits: list[Hit] = field(default_factory=list)
    after: Gap = field(default_factory=Gap)
    size: int = 0
    progress: int = 0


class Gather:
    """Reads one log, piece by piece; `notes()` may be asked at any time and changes nothing."""

    def __init__(self, first_line: int = 1) -> None:
        self._held = b""
        self._line = first_line
        self._notes = Notes()

    def feed(self, piece: bytes) -> None:
        for start in range(0, len(piece), BLOCK):
            text = self._held + piece[start : start + BLOCK]
            self._held = text[self._take(text, last=False) :]

    def notes(self) -> Notes:
        """All that is known, with what is still held back read as if the log ended here."""
        other = Gather()
        other._line = self._line
        kept = self._notes
        other._notes = Notes(list(kept.hits), Gap(**_fields(kept.after)), kept.size, kept.progress)
        other._take(self._held, last=True)
        return other._notes

    def _take(self, text: bytes, last: bool) -> int:
        """Read the whole lines of a block; returns where the part begins that must wait for more."""
        end = len(text) if last else _settled(text)
        if not end:
            return 0
        block = _Block(self, text, end, last)
        stop = block.read()
        self._line += text.count(b"\n", 0, stop)
        self._notes.size += stop
        return stop

    def add(self, hit: Hit) -> None:
        """Note a hit; in a flood of them the oldest but a few are let go, and their gaps kept."""
        hits = self._notes.hits
        hit.before.add(self._notes.after)
        self._notes.after = Gap()
        hits.append(hit)
        if len(hits) > MOST_HITS:
            gone = hits.pop(MOST_HITS // 4)
            hits[MOST_HITS // 4].before.add(gone.before)


def _fields(gap: Gap) -> dict[str, int]:
    return {"lines": gap.lines, "size": gap.size, "progress": gap.progress, "done": gap.done}


def _settled(text: bytes) -> int:
    """How far a block can be read now: whole lines, a little held back for what belongs to the last of them."""
    if len(text) <= HELD // 16:
        return 0
    end = max(text.rfind(b"\n", 0, len(text) - HELD // 32), text.rfind(b"\r", 0, len(text) - HELD // 32)) + 1
    return end if end else (0 if len(text) < HELD else len(text) - REACH)


class _Block:
    """One block of whole lines being read."""

    def __init__(self, gather: Gather, text: bytes, end: int, last: bool) -> None:
        self._gather = gather
        self._text = text
        self._end = end
        self._last = last
        self._low = text.lower()
        self._at = 0  # everything before this has been accounted for

    def read(self) -> int:
        """Read up to the end of the block, or to a traceback that goes on in the next one."""
        for start, stop in self._segments():
            if start < self._at:
                continue
            line = _decoded(self._text, start, stop)
            if HEAD in line:
                if not self._traceback(start, stop, line):
                    return self._until(start)
            else:
                self._line_hit(start, stop, line)
        return self._until(self._end)

    def _until(self, stop: int) -> int:
        stop = max(stop, self._at)
        self._gather._notes.after.add(self._gap(self._at, stop))
        return stop

    def _segments(self) -> list[tuple[int, int]]:
        """Where lines lie that hold one of the literals, in order."""
        found: set[tuple[int, int]] = set()
        low = self._low
        for gate in _GATES:
            at, seen = low.find(gate, 0, self._end), 0
            while at >= 0 and seen < MOST_PER_STEM:
                start, stop = _segment(low, at, self._end)
                found.add((start, stop))
                at = low.find(gate, max(stop, at + 1), self._end)
                seen += 1
        return sorted(found)

    def _line_number(self, at: int) -> int:
        return self._gather._line + self._text.count(b"\n", 0, at)

    def _line_hit(self, start: int, stop: int, line: str) -> None:
        body = body_of(line)
        low = line.lower()
        if "the above exception" in low:
            if any(link in low for link in _LINKS):
                for hit in reversed(self._gather._notes.hits[-3:]):
                    if hit.raised:
                        hit.inner = True
                        break
                self._at = max(self._at, stop)
            return
        raised = bare(body)
        match = classify(body if raised else line, raised=raised)
        if match is not None:
            self._note(start, stop, line, match, weight=match.weight * (0.85 if match.raised else 1.0))

    def _note(self, start: int, stop: int, line: str, match: Match, weight: float, said: Raised | None = None) -> None:
        gap = self._gap(self._at, start)
        quiet = said is None and not match.fatal and bool(_QUIET.search(line[:400]))
        hit = Hit(
            match.cause,
            match.role,
            weight * (0.5 if quiet else 1.0),
            match.fatal or (said is not None and not said.aside),
            self._line_number(start),
            line,
            gap,
            raised=said is not None,
            aside=said is not None and said.aside,
            quiet=quiet,
        )
        self._gather.add(hit)
        self._at = max(self._at, stop)

    def _traceback(self, start: int, stop: int, line: str) -> bool:
        """Read a traceback that begins at `start`; False when its end is not there yet."""
        at = start
        before = _decoded(self._text, *_segment(self._low, max(0, start - 2), self._end)) if start else ""
        found, past = read_traceback(self._text, self._end, stop, line, before)
        if past is None:
            if not self._last and len(self._text) - start < HELD:
                return False
            past = stop
        for raised in found:
            match = classify(raised.body, raised=True) or _FALLBACK
            self._note(at, raised.stop, _decoded(self._text, raised.start, raised.stop), match, match.weight, raised)
            hit = self._gather._notes.hits[-1]
            hit.line = self._line_number(raised.start)
            at = raised.stop
        self._at = max(self._at, past)
        return True

    def _gap(self, start: int, stop: int) -> Gap:
        """Measure the ordinary text between two places; of a long one, both ends tell how alive it is."""
        if stop <= start:
            return Gap()
        low = self._low
        parts = [(start, stop)] if stop - start <= 2 * HELD else [(start, start + HELD), (stop - HELD, stop)]
        progress = done = 0
        for begin, end in parts:
            progress += _lines_with(_PROGRESS, low, begin, end)
            done += _lines_with(_DONE, low, begin, end)
        lines = low.count(b"\n", start, stop)
        return Gap(lines, stop - start, progress, done)


_FALLBACK = Match("code_error", Role.ROOT, 0.6, False, True)


def _lines_with(pattern: re.Pattern[bytes], low: bytes, start: int, stop: int) -> int:
    """How many lines of a stretch match, up to fifty."""
    count = 0
    while count < 50 and (found := pattern.search(low, start, stop)) is not None:
        count += 1
        start = min(
            (at for at in (low.find(b"\n", found.end(), stop), low.find(b"\r", found.end(), stop)) if at >= 0),
            default=stop,
        )
    return count


def _segment(low: bytes, at: int, end: int) -> tuple[int, int]:
    """The line around a place, cut where it reaches too far."""
    floor, roof = max(0, at - REACH), min(end, at + 2 * REACH)
    start = max(low.rfind(b"\n", floor, at), low.rfind(b"\r", floor, at)) + 1 or floor
    stops = [stop for stop in (low.find(b"\n", at, roof), low.find(b"\r", at, roof)) if stop >= 0]
    return start, min(stops, default=roof)


def _decoded(text: bytes, start: int, stop: int) -> str:
    return without_escapes(text[start:stop].decode("utf-8", "replace"))
