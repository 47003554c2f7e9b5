"""Collect from a log, piece by piece and in bounded memory, the few lines that say why it ended.

It has two stages: it searches the whole piece for literals, and then reads only the lines that contain one. Line
numbers count newlines only; text before a carriage return is read as a line of its own, but not counted.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace

import re2

from dogwatch.diagnosis.collected_lines import LONG, MOST_TEXT, CollectedLines, Gap, Hit
from dogwatch.diagnosis.lines import decoded, segment
from dogwatch.diagnosis.table import CUT_OFF, FALLBACK, Match, classify, stems
from dogwatch.diagnosis.tracebacks import (
    HEAD,
    OPENS,
    THROWN,
    Raised,
    bare,
    below,
    body_of,
    escaped,
    framed,
    heading,
    last_words,
    measures,
    read_traceback,
    thrown,
)
from dogwatch.logs import scan
from dogwatch.logs.ending import activity
from dogwatch.logs.ending.duration import duration
from dogwatch.logs.ending.opening import BETWEEN, BYTES, SOON, Opening, times_said, wording
from dogwatch.logs.ending.quoted_errors import goes_on, is_quoted, mentioned
from dogwatch.logs.literal_search import PieceSearch, Table, TextSearch, search_piece
from dogwatch.logs.native import newlines
from dogwatch.logs.stamps import dated

BLOCK = 1 << 20  # bytes looked through at once
HELD = 1 << 16  # bytes of an unfinished line or traceback that wait for the next piece
BEHIND = 1 << 9  # bytes kept back for what belongs to the last line of a piece
WAITING = 1 << 12  # bytes that wait until there are more: to read few costs nearly as much
ABOVE = 512  # bytes of the line above that are read
WINDOW = 2048  # characters of one line around a literal that are read
STATE_VERSION = 2
MOST_LINES = 300  # of one block that are read at either end of it, where there are very many
ALIVE = 3  # lines of progress that show life
TOLD = 0.85  # how sure a line below an exception must be
BARE, LOGGED, QUIET = 0.85, 0.83, 0.5  # what an exception without frames, an error line and a warning are worth

_QUIET = re.compile(
    r"(?<!NCCL )\b(?:INFO|DEBUG|WARNING|WARN|UserWarning|FutureWarning|RuntimeWarning|DeprecationWarning)\b"
    r"|^\[W[\d ]|^Warning: |\bwarnings\.warn"
)
_LOUD = re.compile(
    r"\b(?:ERROR|CRITICAL|FATAL|Error|error|[Ff]atal)\b\s{0,2}[\]:|-]|^\[E |^E\d{4} |\bCRITICAL [\w.]{1,60}: "
    r"|\b(?:failed|crashed)\b.{0,40}: \w{1,60}(?:Error|Exception)\("
)
_LINKS = ("during handling of the above exception", "the above exception was the direct cause")


def _linear(pattern: str) -> re2._Regexp:
    """A pattern for bytes, without case, that is matched in one pass whatever the text."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.case_sensitive = False
    options.never_capture = True
    options.log_errors = False
    options.max_mem = 32 << 20
    return re2.compile(pattern.encode(), options)


_LITERALS = (
    *(*stems(), HEAD.lower(), "keyboardinterrupt", "the above exception", "[errno ", "critical", *THROWN),
    *(name + end for name in ("error", "exception") for end in (":", "(", "\n", "\r\n")),
)
_GATES = _linear("|".join(map(re.escape, _LITERALS)))
_TABLE = Table({0: [literal.encode() for literal in _LITERALS]}, every=True)
_PROGRESS, _AGAIN, _SURE = (
    _linear("(?m)" + scan.without_lookaround(b"|".join(either)).decode())
    for either in (
        [activity.PROGRESS.pattern],
        [activity.AGAIN.pattern],
        [activity.AGAIN.pattern, activity.LOGGER.pattern, rb"%\|"],
    )
)
# The rare ones are asked of the scanner first, which is much faster where they are not.
_DONE = (
    rb"(?:training|run|evaluation|finetuning|fine-tuning|inference|experiment|pipeline|simulation|integration|optimization"
    rb"|calculation|bench(?:mark(?:ing)?)?(?: pass| run)?) (?:is |has |was )?"
    rb"(?:complete|finish|done|successful|ended)|completed successfully|finished successfully|run_stop"
    rb"|ending timing run|finished (?:training|run)|all done|trainer\.fit` stopped: `max_\w{1,12}=\S{1,20} reached"
)
_CLOSED = rb"\bjob (?:is |has |was )?(?:complete|finish|done|ended)|finished server process"
_ACTIVITY = (_PROGRESS, *(_linear(pattern.decode()) for pattern in (_DONE, _CLOSED)))
_RARE = (scan.loose(_DONE), scan.loose(_CLOSED))


@dataclass(slots=True)
class CollectorState:
    """A line collector between two watchers; `held` are bytes that wait for the rest of their line."""

    v: int
    held: str
    line: int | None
    above: str
    collected: CollectedLines
    opening: list[int]


class LineCollector:
    """Reads one log, piece by piece; `collected()` may be asked at any time and changes nothing. With its `state()`
    another can go on. `first_line` is None where nobody knows how many lines are above."""

    def __init__(self, first_line: int | None = 1) -> None:
        self._held = b""
        self._line = first_line
        self._above = ""  # the last line that was read, if anything stood in it
        self._collected = CollectedLines()
        self._opening = Opening()

    def begin_attempt(self) -> None:
        """Whatever was said so far, what is held back included, belongs to an attempt that is over; lines are counted
        on."""
        if self._line is not None:
            self._line += newlines(self._held, 0, len(self._held))
        self._held, self._above = b"", ""
        self._collected.forget()

    def continue_elsewhere(self, first_line: int | None) -> None:
        """The log goes on elsewhere: in a new file after a rotation, or after a part that nobody read."""
        self._collected = self.collected()
        self._held, self._line = b"", first_line

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of the log; few of them wait for more. A first block is joined to what was held back; the
        others are read where they stand."""
        if len(self._held) + len(piece) < WAITING:
            self._held += piece
            return
        known, start = search_piece(piece), 0
        while start < len(piece):
            held, roof = len(self._held), min(len(piece), start + BLOCK)
            if held:
                text = b"".join((self._held, memoryview(piece)[start:roof]))
                part = _Part(text, 0, len(text), known, held, held - start)
            else:
                part = _Part(piece, start, roof, known)
            stop = self._take(part, False)
            if roof == len(piece) or stop < part.begin + max(held, 1):
                self._held, start = part.text[stop : part.roof], roof
            else:
                self._held, start = b"", stop - part.moved

    def collected(self) -> CollectedLines:
        """All that is known, with what is still held back read as if the log ended here."""
        other = LineCollector(self._line)
        other._above = self._above
        other._collected, other._opening = self._collected.copy(), self._opening.copy()
        other._take(_Part(self._held, 0, len(self._held)), True)
        return other._collected

    def _take(self, part: _Part, last: bool) -> int:
        """Read the whole lines of a part; returns where that begins which must wait for more."""
        begin, end = part.begin, part.roof if last else part.settled()
        if end == begin:
            return begin
        if self._opening.wants:
            self._opening.feed(_low(part.text[begin : min(end, begin + BYTES)]))
        block = _Block(self._collected, self._opening, part, end, self._line, self._above, last)
        stop = block.read()
        self._above = block.above(stop)
        if self._line is not None:
            self._line += newlines(part.text, begin, stop) if block.lines is None else block.lines
        return stop

    def state(self) -> CollectorState:
        """All that is known and held back."""
        held, collected = self._held.decode("latin-1"), self._collected.copy()
        return CollectorState(STATE_VERSION, held, self._line, self._above, collected, self._opening.state())

    @classmethod
    def restore(cls, state: CollectorState) -> LineCollector:
        """One that goes on where another stopped; a state of another release is forgotten."""
        collector = cls(state.line)
        if state.v == STATE_VERSION:
            collector._held, collector._above = state.held.encode("latin-1"), state.above
            collector._collected = state.collected.copy()
            collector._opening = Opening.restore(state.opening)
        return collector


def _low(text: bytes) -> bytes:
    """Lines without case, those that were written over too."""
    return text.replace(b"\r", b"\n").lower()


class _Part:
    """Some text, from `begin` to `roof`: a stretch of a piece where it stands, or what was held back (up to `seam`) and
    a stretch of a piece joined to it, whose places are `moved` so many bytes."""

    def __init__(
        self, text: bytes, begin: int, roof: int, known: PieceSearch | None = None, seam: int = 0, moved: int = 0
    ) -> None:
        self.text, self.begin, self.roof, self.moved = text, begin, roof, moved
        self._known, self._seam = known, seam

    def settled(self) -> int:
        """How far it can be read now: whole lines, a little held back for what belongs to the last of them."""
        roof = max(self.begin, self.roof - BEHIND)
        for floor in (max(self.begin, roof - HELD), self.begin):
            end = max(self.text.rfind(b"\n", floor, roof), self.text.rfind(b"\r", floor, roof)) + 1
            if end:
                return end
        return self.begin if self.roof - self.begin < HELD else roof

    def behind(self, end: int) -> list[int] | None:
        """The places just behind literals, up to `end`; None where nobody can tell quickly."""
        if self._known is None:
            return TextSearch(self.text).behind(self.begin, end)
        seam = min(end, self._seam + _TABLE.longest) if self._seam else self.begin
        first = TextSearch(self.text).behind(self.begin, seam) if seam > self.begin else []
        rest = self._known.behind(seam - self.moved, end - self.moved) if seam < end else []
        return None if first is None or rest is None else first + [place + self.moved for place in rest]


class _Block:
    """One block of whole lines being read."""

    def __init__(
        self,
        collected: CollectedLines,
        opening: Opening,
        part: _Part,
        end: int,
        line: int | None,
        above: str,
        last: bool,
    ) -> None:
        self._collected, self._opening, self._first_above = collected, opening, above
        self._text, self._begin, self._end, self._last = part.text, part.begin, end, last
        self._line, self._counted = line, part.begin
        self._at = part.begin  # everything before this has been accounted for
        self._hot = 0  # where in its line the literal stands that led to it
        self._ends = part.behind(end)
        self.lines: int | None = None  # of the block, once they are counted

    def read(self) -> int:
        """Read up to the end of the block, or to a traceback that goes on in the next one."""
        place, count = self._begin, 0
        while (found := self._gate(place)) is not None:
            start, stop = segment(self._text, max(place, found.start()), self._begin, self._end, WINDOW)
            place = max(stop, found.end())
            count += 1
            if count == MOST_LINES:
                place = max(place, self._end - HELD)
            elif count > 2 * MOST_LINES:
                break
            if start < self._at:
                continue
            self._hot = found.start() - start
            line = decoded(self._text, start, stop)
            if HEAD in line:
                if not self._traceback(start, stop, line):
                    return self._until(start)
                place = max(place, self._at)
            else:
                self._say(start, stop, line)
        return self._until(self._end)

    def _gate(self, place: int) -> re2._Match | None:
        """The first literal from this place on."""
        if self._ends is not None:
            at = bisect_right(self._ends, place)
            if at == len(self._ends):
                return None
            place = max(place, self._ends[at] - _TABLE.longest)
        return _GATES.search(self._text, place, self._end)

    def _until(self, stop: int) -> int:
        stop = max(stop, self._at)
        gap = self._gap(self._at, stop)
        if self._at == self._begin:
            self.lines = gap.lines
        if self._collected.hits and 0 < gap.size <= LONG - self._collected.after.size:
            self._read_gap(gap, stop)
        self._collected.after.add(gap)
        return stop

    def _read_gap(self, gap: Gap, stop: int) -> None:
        """What the text since the last hit shows of a program that went on."""
        begin = max(self._at, stop - HELD // 4)
        text = self._text[begin:stop]
        low = _low(text)
        near = SOON - self._collected.after.size - (begin - self._at)
        gap.opened = int(near > 0 and next(self._opening.again(low[:near]), None) is not None)
        if (_AGAIN if self._collected.after.sure >= activity.ENOUGH else _SURE).search(low):
            gap.sure, gap.again = activity.count_activity(low)
        gap.reopened = self._opening.surely_again(low[:near]) if gap.opened else 0
        gap.sure = min(activity.ENOUGH, gap.sure + times_said(self._collected.says, low))
        gap.lasted, gap.spoke = duration(low)
        for line in reversed(decoded(text, max(0, len(text) - WINDOW), len(text)).splitlines()[-ALIVE:]):
            found = dated(line)
            for clock in ("wall", "yearless"):
                if clock in found:
                    gap.clock, gap.until = clock, found[clock]
                    return

    def _say(self, start: int, stop: int, line: str) -> None:
        """Note a line by itself, if it shows anything."""
        opening = line[:OPENS].lower()
        if any(link in opening for link in _LINKS):
            self._collected.chain()
            self._at = max(self._at, stop)
            return
        body = body_of(line)
        if bare(body) and not measures(body, self._text, stop):
            match = classify(body, raised=True)
            mere = match is not None and not match.cause and not match.raised  # it looks like one, and is none
            whole = framed(self.above(start)) and not mere
            if whole or match is not None:
                match = match or FALLBACK
                raised = Raised(start, stop, body, self._echoes(line)) if whole else None
                self._note(
                    start, stop, line, match, match.weight * (1.0 if whole or not match.raised else BARE), raised
                )
            return
        given_up = last_words(body, self._text, stop)
        text, program = given_up or (thrown(body), "")
        match = (classify(text, raised=True) if text is not None else None) or classify(line)
        if (match := match or (FALLBACK if given_up else None)) is not None:
            if text is None and not (match.cause == "code_error" and heading(body)):
                self._note(start, stop, line, match, match.weight)
                return
            own = Raised(start, stop, body if text is None else text, text is None and not match.fatal, program=program)
            match, said = self._which_job(own, match, given_up is not None)
            line = decoded(self._text, said.start, said.stop)
            self._note(start, said.stop, line, match, match.weight, None if text is None and said is own else said)
        elif (match := classify(line, raised=True)) is not None and _LOUD.search(line[:OPENS]):
            self._note(start, stop, line, match, match.weight * LOGGED)

    def _echoes(self, line: str) -> bool:
        """Is this what another thread has just died of, by the same exception?"""
        last = self._collected.hits[-1] if self._collected.hits else None
        return last is not None and last.from_thread and last.text == line

    def _note(self, start: int, stop: int, line: str, match: Match, weight: float, said: Raised | None = None) -> None:
        theirs = said is None and self._theirs(line)
        quiet = theirs or (said is None and not match.fatal and bool(_QUIET.search(line[:OPENS])))
        clock, at = self._time(start, line if said is None else self._head(start))
        self._collected.add(
            Hit(
                match.cause,
                match.role,
                weight * (QUIET if quiet else 1.0),
                not theirs and (match.fatal or (said is not None and not said.from_thread)),
                self._number(said.start if said is not None else start),
                _excerpt(line, self._hot),
                self._gap(self._at, start),
                raised=said is not None,
                from_thread=said is not None and said.from_thread,
                excused=said is not None and said.excused,
                unbegun=said is not None and said.unbegun,
                program="" if said is None else said.program,
                logged=said is not None and said.logged,
                quiet=quiet,
                shared=match.many or body_of(line) is not line,
                ends=match.ends,
                clock=clock,
                at=at,
            )
        )
        self._at = max(self._at, stop)

    def _theirs(self, line: str) -> bool:
        """Is what the line says only given again or named, or said to be no reason to stop?"""
        here = max(0, min(self._hot, OPENS))
        return is_quoted(line[:here]) or mentioned(line, self._hot, self._hot + 1) or goes_on(line[:OPENS])

    def _traceback(self, start: int, stop: int, line: str) -> bool:
        """Read a traceback that begins at `start`; False when its end is not there yet."""
        if (body := escaped(line)) is not None:
            match = classify(body, raised=True) or FALLBACK
            self._note(start, stop, line, match, match.weight, Raised(start, stop, body, False, True))
            return True
        above = self.above(start)
        if HEAD in above:  # two threads write at once
            above = self.above(self._text.rfind(b"\n", self._begin, max(self._begin, start - 1)) + 1)
        found, past = read_traceback(self._text, self._end, stop, line, above)
        if past is None:
            if not self._last and self._end - start < HELD:
                return False
            past = stop
            if self._last and not found and not any(map(str.isalnum, line.partition(HEAD)[2])):
                self._note(start, stop, line, CUT_OFF, CUT_OFF.weight)
        if not self._collected.hits or self._collected.after.size + start - self._at > BETWEEN:
            self._collected.says = wording(above.lower().encode()) if line.startswith(HEAD) else 0
        at = start
        for raised in found:
            match, said = self._which_job(raised, classify(raised.body, raised=True, frame=raised.frame) or FALLBACK)
            self._note(at, said.stop, decoded(self._text, said.start, said.stop), match, match.weight, said)
            at = said.stop
        self._at = max(self._at, past)
        return True

    def _which_job(self, raised: Raised, match: Match, headed: bool = False) -> tuple[Match, Raised]:
        """What an exception shows, and the line that says it: one below its own where that says little."""
        headed = headed or heading(raised.body)
        if match.weight < TOLD:
            for start, stop, line in below(self._text, raised.stop, headed):
                told = classify(line, raised=True)
                if told is not None and told.weight >= TOLD and told.cause not in ("", "code_error"):
                    return told, replace(raised, start=start, stop=stop, body=line)
        return match, raised

    def _time(self, start: int, line: str) -> tuple[str, float]:
        """Which clock runs in a line, or else in the one above it, and its time there."""
        for text in (line, self.above(start)):
            found = dated(text) if text else {}
            for clock in ("wall", "yearless"):
                if clock in found:
                    return clock, found[clock]
        return "", 0.0

    def _head(self, start: int) -> str:
        """What a logger put before the head of a traceback that begins there."""
        stop = self._text.find(b"\n", start)
        before, head, _ = decoded(self._text, start, max(start, stop)).partition(HEAD)
        return before if head else ""

    def _number(self, at: int) -> int | None:
        if self._line is None:
            return None
        if at < self._counted:
            return self._line - newlines(self._text, at, self._counted)
        self._line += newlines(self._text, self._counted, at)
        self._counted = at
        return self._line

    def above(self, start: int) -> str:
        """The nearest line above that is not empty."""
        for _ in range(3):
            stop = start - 1
            if stop <= self._begin:
                return self._first_above
            floor = max(self._begin, stop - ABOVE)
            start = self._text.rfind(b"\n", floor, stop) + 1 or floor
            line = decoded(self._text, start, stop)
            if line.strip():
                return line
        return ""

    def _gap(self, start: int, stop: int) -> Gap:
        """Measure the ordinary text between two places; of a long one, both ends tell how alive it is, if what stands
        before it has not shown it."""
        if stop <= start:
            return Gap()
        if self._collected.after.progress >= ALIVE and self._collected.after.size + stop - start > LONG:
            return Gap(newlines(self._text, start, stop), stop - start)
        parts = [(start, stop)] if stop - start <= 2 * HELD else [(start, start + HELD), (stop - HELD, stop)]
        counts = [0] * len(_ACTIVITY)
        for begin, end in parts:
            for number in (0, *(1 + rare for rare in scan.present(_RARE, self._text, begin, end))):
                counts[number] += _lines_with(_ACTIVITY[number], self._text, begin, end)
        progress, done, closed = counts
        return Gap(newlines(self._text, start, stop), stop - start, progress, done, closed)


def _lines_with(pattern: re2._Regexp, text: bytes, start: int, stop: int) -> int:
    """How many lines of a stretch match, up to the most that anything is concluded from."""
    count = 0
    while count < ALIVE and (found := pattern.search(text, start, stop)) is not None:
        count += 1
        end = text.find(b"\n", found.end(), stop)
        end = stop if end < 0 else end
        again = text.find(b"\r", found.end(), end)
        start = end if again < 0 else again
    return count


def _excerpt(line: str, hot: int) -> str:
    """A line as it is kept: of a long one, the part around what was found."""
    if len(line) <= MOST_TEXT:
        return line
    start = max(0, min(hot - MOST_TEXT // 4, len(line) - MOST_TEXT))
    return line[start : start + MOST_TEXT]
