"""One piece of a log, read newest lines first: how far back is looked for what.

The piece is gone through backwards in windows that grow. In each, one pass says which formats can speak there at all;
these read its lines, newest first. A format that has spoken is not looked for in the windows before, so the usual
lines of a log are read in its last kilobytes only. What is heard does not depend on the windows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any, Protocol

from dogwatch.logs import scan
from dogwatch.logs.distinct_lines import without_digits
from dogwatch.logs.interface import MOST_TRIED, Crowd, Format
from dogwatch.logs.literal_search import Table, TextSearch
from dogwatch.model import LogEvent, Step

FIRST, LARGEST, GROWTH = 1 << 13, 1 << 18, 4  # bytes of a window
TRIES = 2  # lines read for their needle alone before a format's hint is asked
SMALL, MOST_KINDS = 2048, 512  # bytes of a piece that is read line by line, and kinds of lines that are remembered
FEW = 16  # records of a crowd that are read as they are
MOST_SAME = 16  # kinds of lines that are known to hold nothing new
MOST_HEARD = 24  # counters that are told from others while looking; of more, every record is read

Needles = tuple[bytes, ...]


class Recorder(Protocol):
    """Whom the marks are told, and who knows what they are worth."""

    def note(self, kind: str, counter: str, at: int, first: int, marks: Sequence[LogEvent]) -> None: ...

    def note_metrics(self, at: int, marks: Sequence[LogEvent]) -> None: ...

    def knows(self, kind: str, counter: str) -> bool: ...


class Plan:
    """The formats and how they are looked for."""

    def __init__(self, formats: Sequence[Format]) -> None:
        self.formats = tuple(formats)
        self.signatures = tuple(map(_signature, formats))
        # In every other line anyway, where looking for each place costs more than it spares.
        self._vague = {n: fmt.needles for n, fmt in enumerate(formats) if fmt.crowd or min(map(len, fmt.needles)) == 1}
        self._bytes = {n: needles[0].strip()[:1] for n, needles in self._vague.items()}
        self._literals = Table({n: fmt.needles for n, fmt in enumerate(formats) if n not in self._vague})
        self._words = tuple(word[0] if (word := _WORD.match(signature)) else b"" for signature in self.signatures)
        self._needles = [tuple(map(without_digits, fmt.needles)) for fmt in formats]
        self._blind = [
            blind(signature) if fmt.hint else b"" for fmt, signature in zip(formats, self.signatures, strict=True)
        ]
        self._of_stem: dict[bytes, list[int]] = {}
        for n, needles in enumerate(self._needles):
            self._of_stem.setdefault(stem(needles), []).append(n)
        self._without_stem = self._of_stem.pop(b"", [])
        self._stems: Any = None
        self._patterns: Any = None
        self._kinds: dict[bytes, tuple[int, ...]] = {}
        self.vain: set[tuple[int, bytes]] = set()  # lines without their digits, and formats to which they say nothing

    def learn_vain(self, number: int, wording: bytes) -> None:
        """Remember that lines like this one, which look like the format's, are not."""
        if len(self.vain) >= MOST_KINDS:
            self.vain.clear()
        self.vain.add((number, wording))

    def is_silent(self, line: bytes) -> bool:
        """Whether no format can read a line, nor one with other numbers."""
        if self._patterns is None:
            pairs = zip(self._blind, self._needles, strict=True)
            self._patterns = scan.either(tuple(blind or b"|".join(map(re.escape, needles)) for blind, needles in pairs))
        return not self._patterns.Match(b"\n" + without_digits(line.lower()) + b"\n")

    def present(self, search: TextSearch, start: int, end: int) -> dict[int, Needles]:
        """The formats that may speak between two places, by number, each with those of its needles that are there."""
        vague = {n: self._vague[n] for n, byte in self._bytes.items() if search.text.find(byte, start, end) >= 0}
        return dict(sorted({**self._literals.present(search, start, end), **vague}.items()))

    def matching(self, candidates: Collection[int], text: bytes, start: int, end: int) -> Collection[int]:
        """Those of some formats whose signs may be between two places. Signs that begin with the same word are looked
        for together: what costs is how often the word is there."""
        asked: dict[bytes, list[int]] = {}
        for number in candidates:
            asked.setdefault(self._words[number], []).append(number)
        there = set(candidates)
        for word, kin in asked.items():
            if word and len(kin) > 1:
                found = scan.present(tuple(self.signatures[number] for number in kin), text, start, end)
                there -= {number for place, number in enumerate(kin) if place not in found}
        return there

    def lines(self, low: bytes) -> dict[int, list[int]]:
        """Of some whole lines in lower case, those that each format may be able to read: where they begin, the newest
        first."""
        found: dict[int, list[int]] = {}
        start = len(low)
        for line in reversed(without_digits(low[:-1]).split(b"\n")):
            start -= len(line) + 1
            for number in self._kinds.get(line) or self._readers(line):
                found.setdefault(number, []).append(start)
        return dict(sorted(found.items()))

    def _readers(self, line: bytes) -> tuple[int, ...]:
        """The formats that may be able to read lines which are like this one but for their digits. Most lines of a log
        are like one before: what was found is remembered."""
        found = self._kinds.get(line)
        if found is None:
            if len(self._kinds) >= MOST_KINDS:
                self._kinds.clear()
            whole = b"\n" + line + b"\n"
            found = self._kinds[line] = tuple(number for number in self._with_stems(whole) if self._fits(number, whole))
        return found

    def _fits(self, number: int, line: bytes) -> bool:
        """Whether a line without digits has the signs of a format."""
        if not any(needle in line for needle in self._needles[number]):
            return False
        blind = self._blind[number]
        return not blind or scan.first(blind, line, 0, len(line)) is not None

    def _with_stems(self, line: bytes) -> list[int]:
        """The formats whose stem is in a line."""
        if self._stems is None:
            self._stems = scan.literals(self._of_stem)
        kinds = list(self._of_stem.values())
        return [*self._without_stem, *(n for hit in self._stems.Match(line) or () for n in kinds[hit])]


def stem(needles: Needles) -> bytes:
    """The longest literal that is in every needle; empty when they share nothing."""
    first = min(needles, key=len)
    parts = (first[at : at + size] for size in range(len(first), 0, -1) for at in range(len(first) - size + 1))
    return next((part for part in parts if all(part in needle for needle in needles)), b"")


_EXCEPT_DIGITS = re.compile(rb"\[\^(?:[^\]\\]|\\.)*?(?!0-9)[0-9]")
_DIGIT = re.compile(rb"\\.|\{\d*,?\d*\}|[1-9]")


def blind(signature: bytes) -> bytes:
    """A pattern that matches in a line whose digits were all made 0 if this one did before; nothing where it tells
    digits apart in a way that cannot be said so."""
    if b"\\x" in signature or _EXCEPT_DIGITS.search(signature.replace(b"0-9", b"")):
        return b""
    return _DIGIT.sub(lambda part: b"0" if part[0].isdigit() else part[0], signature)


_WORD = re.compile(rb"[a-z]{4,}(?=\(\?:)")  # that a sign begins with


def _signature(fmt: Format) -> bytes:
    """A pattern that is in every line which the format can read."""
    if fmt.hint:
        return scan.loose(fmt.hint)
    return _mark(fmt.needles)


@cache
def _mark(needles: Needles) -> bytes:
    return b"|".join(map(re.escape, needles))


def read_piece(
    plan: Plan, search: TextSearch, origin: Callable[[int], int], recorder: Recorder, first: int = FIRST
) -> None:
    """Tell `recorder` the newest word of every format in some whole lines; `origin` says where in the log a place of
    theirs is."""
    piece, text = _Piece(plan, search, origin, recorder, first), search.text
    end, size = len(text), first
    if end > first:
        scan.expect(end)
    while end:
        start = text.rfind(b"\n", 0, end - size) + 1 if end > size else 0
        piece.read(_Window(text, start, end, is_last=end == len(text)))
        end, size = start, min(size * GROWTH, LARGEST)
    piece.tell()


class _Window:
    """Some whole lines of a text, those from `start` to `end`."""

    def __init__(self, text: bytes, start: int, end: int, is_last: bool) -> None:
        self.text, self.start, self.end, self.is_last = text, start, end, is_last
        self._low = b""

    @property
    def low(self) -> bytes:
        """The lines in lower case, behind a line end."""
        if not self._low:
            self._low = b"\n" + self.text[self.start : self.end].lower()
        return self._low

    def holds(self, signature: bytes) -> bool:
        """Whether the window has a line that a format with this sign may be able to read."""
        return scan.first(signature, self.text, self.start, self.end) is not None

    def lines(self, fmt: Format, needles: Needles, signature: bytes) -> Iterator[int]:
        """Where the lines begin that the format may be able to read, the newest first."""
        if self.is_last:
            return self._by_needle(fmt, needles)
        return _line_starts(self.text, scan.places((signature,), self.text, self.start, self.end))

    def _by_needle(self, fmt: Format, needles: Needles) -> Iterator[int]:
        low, tries = self.low, 0
        spots = [low.rfind(needle) for needle in needles]
        while spots and (at := max(spots)) >= 0:
            before = low.rfind(b"\n", 0, at + 1) + 1
            yield self.start + before - 1
            tries += 1
            if fmt.hint and tries == TRIES:
                for hit in reversed(list(re.compile(fmt.hint).finditer(low, 0, before))):
                    yield self.start + low.rfind(b"\n", 0, hit.end() - 1)
                return
            for i, spot in enumerate(spots):
                if spot >= before - 1:
                    spots[i] = low.rfind(needles[i], 0, before)


def _line_starts(text: bytes, places: Sequence[int]) -> Iterator[int]:
    """Where the lines begin that these places (just behind a byte of theirs) are on, each once, the last one first."""
    start = len(text) + 1
    for place in reversed(places):
        if place <= start:
            start = text.rfind(b"\n", 0, place - 1) + 1
            yield start


def _lines_with(text: bytes, pattern: bytes) -> Iterator[tuple[int, bytes]]:
    """(where it begins, the line in lower case) of every line with a match, the first one first."""
    end = 0
    while end < len(text) and (place := scan.first(pattern, text, end, len(text))) is not None:
        start = text.rfind(b"\n", 0, place - 1) + 1
        end = text.find(b"\n", place - 1) + 1 or len(text)
        yield start, text[start:end].lower()


class _Piece:
    """A piece of log being read, window by window."""

    def __init__(
        self, plan: Plan, search: TextSearch, origin: Callable[[int], int], recorder: Recorder, least: int
    ) -> None:
        self._plan, self._search, self._origin, self._recorder, self._least = plan, search, origin, recorder, least
        self._text = search.text
        self._spoken: set[int] = set()
        self._tried: Counter[int] = Counter()
        self._sifted: dict[int, _Sifted] = {}
        self._decoded: dict[int, str] = {}

    def read(self, window: _Window) -> None:
        for number, lines in self._asked(window):
            fmt = self._plan.formats[number]
            if fmt.sift is not None:
                if number not in self._sifted:
                    self._sifted[number] = _Sifted(fmt, self._least)
                self._sifted[number].read(window, self._line)
            elif self._newest(number, lines):
                self._spoken.add(number)
        self._decoded.clear()

    def _asked(self, window: _Window) -> Iterator[tuple[int, Iterable[int]]]:
        """The formats that have not spoken and may in this window, each with where the lines begin that it may be able
        to read, the newest first."""
        if window.is_last and window.end - window.start <= SMALL:
            for number, starts in self._plan.lines(window.low[1:]).items():
                yield number, (window.start + start for start in starts)
            return
        present = self._plan.present(self._search, window.start, window.end)
        asked = [number for number in present if number not in self._spoken]
        if not window.is_last and scan.fast():
            wanted = self._plan.matching(asked, window.text, window.start, window.end)
            asked = [number for number in asked if number in wanted]
        elif window.is_last:
            asked = self._likely(asked, window)
        for number in asked:
            fmt, signature = self._plan.formats[number], self._plan.signatures[number]
            if fmt.sift is None or fmt.crowd is not None or window.is_last or window.holds(signature):
                yield number, window.lines(fmt, present[number], signature)

    def tell(self) -> None:
        for sifted in self._sifted.values():
            sifted.tell(self._text, self._origin, self._recorder)

    def _line(self, start: int) -> str:
        """The line that begins at `start`, decoded once."""
        line = self._decoded.get(start)
        if line is None:
            line = self._text[start : self._text.find(b"\n", start)].decode("utf-8", "replace")
            self._decoded[start] = line
        return line

    def _likely(self, asked: list[int], window: _Window) -> list[int]:
        """Some formats without those that have never matched and whose signatures are not there, which spares
        reading lines."""
        new = [number for number in asked if self._is_new(self._plan.formats[number])]
        if not new:
            return asked
        there = scan.present(
            tuple(self._plan.signatures[number] for number in new), window.text, window.start, window.end
        )
        absent = {number for place, number in enumerate(new) if place not in there}
        return [number for number in asked if number not in absent]

    def _is_new(self, fmt: Format) -> bool:
        """Whether a format has never matched, so that asking for its signature is likely to spare reading lines."""
        return bool(fmt.hint) and fmt.sift is None and not self._recorder.knows(fmt.kind, "")

    def _newest(self, number: int, starts: Iterable[int]) -> bool:
        """Read lines until one of them speaks for the format, or so many did not that it is given up."""
        fmt = self._plan.formats[number]
        for start in starts:
            self._tried[number] += 1
            if self._tried[number] > fmt.tries:
                return True
            if not (marks := self._marks(number, start)):
                continue
            at = self._origin(start)
            if fmt.seeks_step and not any(type(mark) is Step for mark in marks):
                self._recorder.note_metrics(at, marks)
                continue
            begins = fmt.begins and not self._recorder.knows(fmt.kind, "")
            self._recorder.note(fmt.kind, "", at, self._origin(self._first(number)) if begins else at, marks)
            return True
        return False

    def _marks(self, number: int, start: int) -> Sequence[LogEvent]:
        """What the line that begins at `start` means to a format."""
        fmt = self._plan.formats[number]
        if fmt.tries == MOST_TRIED:
            return fmt.read(self._line(start))
        wording = without_digits(self._text[start : self._text.find(b"\n", start)])
        if (number, wording) in self._plan.vain:
            return ()
        if not (marks := fmt.read(self._line(start))):
            self._plan.learn_vain(number, wording)
        return marks

    def _first(self, number: int) -> int:
        """Where the first line of the piece begins that the format can read."""
        fmt = self._plan.formats[number]
        for start, _ in _lines_with(self._text, self._plan.signatures[number]):
            if fmt.read(self._text[start : self._text.find(b"\n", start)].decode("utf-8", "replace")):
                return start
        return 0


class _Sifted:
    """The counters of one format in a piece: the newest line of each, and where its first record stands. It does not
    hold the piece, which holds it: a cycle for each log and poll would stay in memory until garbage is collected."""

    def __init__(self, fmt: Format, least: int) -> None:
        self._fmt, self._least = fmt, least
        self._told: dict[str, tuple[int, Sequence[LogEvent]]] = {}
        self._first: dict[str, int] = {}
        self._narrowed = False
        self._empty = 0  # lines that held no record
        self._stride = least  # bytes to be looked through at once: few where new counters are heard
        self._same: dict[bytes, None] = {}  # patterns for lines that hold nothing new
        self._line: re.Pattern[bytes] | None = None  # such a line
        self._run: re.Pattern[bytes] | None = None  # such lines, one after the other

    def read(self, window: _Window, line: Callable[[int], str]) -> None:
        """Take a window into account; newer ones were read before. `line` gives the line that begins at a place."""
        if self._empty > MOST_TRIED:
            return
        if self._fmt.crowd is not None and not window.is_last and len(self._told) <= MOST_HEARD:
            self._narrow(window, line)
            return
        low = window.low
        for counter, places in self._records(low).items():
            self._first[counter] = window.start + low.rfind(b"\n", 0, places[0])
            starts = (window.start + low.rfind(b"\n", 0, place) for place in reversed(places))
            self._take(counter, starts, line)

    def _narrow(self, window: _Window, line: Callable[[int], str]) -> None:
        """Take those lines into account that may hold a counter which was not heard. Where one is, its other lines
        need not be read, so it is asked again which lines are of others."""
        assert self._fmt.crowd is not None
        self._narrowed = True
        text, end = window.text, window.end
        few = scan.few(_mark(self._fmt.needles), text, window.start, end, FEW)
        if few is not None:
            for start in self._strange(text, few):
                self._hear(text, start, self._fmt.crowd, line)
            return
        while end > window.start:
            start = max(window.start, text.rfind(b"\n", 0, max(0, end - self._stride)) + 1)
            groups = self._fmt.crowd.others(self._told)
            places = sorted(chain.from_iterable(scan.places(group, text, start, end) for group in groups))
            new = self._listen(text, self._strange(text, places), self._fmt.crowd, line)
            end = start if new is None else new
            self._stride = self._stride * GROWTH if new is None else self._least

    def _strange(self, text: bytes, places: Sequence[int]) -> list[int]:
        """Where the lines begin that these places are on, the last one first; without runs of lines that are known
        to hold nothing new."""
        starts, end = [], 0
        for place in places:
            if place > end:
                start = text.rfind(b"\n", 0, place - 1) + 1
                run = self._run.match(text, start) if self._run is not None else None
                end = text.find(b"\n", place - 1) + 1 or len(text) if run is None else run.end()
                if run is None:
                    starts.append(start)
        return starts[::-1]

    def _listen(self, text: bytes, starts: Sequence[int], crowd: Crowd, line: Callable[[int], str]) -> int | None:
        """Read these lines, the newest first, until a counter is heard that is new. Returns where that was."""
        known = len(self._told)
        for start in starts:
            if self._line is not None and self._line.match(text, start):
                continue
            heard = self._hear(text, start, crowd, line)
            if len(self._told) > known:
                return start
            counters = crowd.names(heard.lower())
            self._learn(counters, crowd.same(heard) if counters else b"")
            self._empty += not counters
            if self._empty > MOST_TRIED:
                break
        return None

    def _hear(self, text: bytes, start: int, crowd: Crowd, line: Callable[[int], str]) -> bytes:
        """Take the counters of a line into account."""
        heard = text[start : text.find(b"\n", start) + 1]
        for counter in crowd.names(heard.lower()):
            self._take(counter, (start,), line)
        return heard

    def _learn(self, counters: Collection[str], same: bytes) -> None:
        """Lines like this one need not be read, if all of its counters have been heard."""
        if same and same not in self._same and len(self._same) < MOST_SAME and self._told.keys() >= set(counters):
            self._same[same] = None
            either = b"(?:" + b"|".join(self._same) + b")"
            self._line, self._run = re.compile(either), re.compile(either + b"++")

    def tell(self, text: bytes, origin: Callable[[int], int], recorder: Recorder) -> None:
        """Pass on what was heard."""
        for counter, (at, marks) in self._told.items():
            new = self._narrowed and not recorder.knows(self._fmt.kind, counter)
            first = self._begins(counter, text) if new else self._first.get(counter, at)
            recorder.note(self._fmt.kind, counter, origin(at), origin(first), marks)

    def _begins(self, counter: str, text: bytes) -> int:
        """Where the first record of a counter stands."""
        assert self._fmt.crowd is not None
        for start, line in _lines_with(text, self._fmt.crowd.one(counter)):
            if counter in self._records(line):
                return start
        return self._told[counter][0]

    def _records(self, low: bytes) -> dict[str, list[int]]:
        records: dict[str, list[int]] = {}
        assert self._fmt.sift is not None
        for counter, place in self._fmt.sift(low):
            records.setdefault(counter, []).append(place)
        return records

    def _take(self, counter: str, starts: Iterable[int], line: Callable[[int], str]) -> None:
        """The newest of these lines (it comes first) that can be read speaks for its counter, if no newer one has."""
        if counter not in self._told:
            for start in starts:
                if marks := self._fmt.read(line(start)):
                    self._told[counter] = (start, marks)
                    break
