"""The owner's own patterns, on an engine that is linear whatever the pattern (RE2).

A progress pattern with two groups gives (done, total), with one group a count if its name is a
counter's, a rate if it is `throughput`, else a metric. An error pattern makes a line a Trouble.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dogwatch.errors import UsageError
from dogwatch.logs.default_errors import DEFAULT_ERRORS, HARMLESS, PREFIX, SETTING, TROUBLE, DefaultError
from dogwatch.logs.interface import EPOCH, INNER, OWNER, RUN, number
from dogwatch.model import LogEvent, Metric, Step, Trouble
from dogwatch.text import plain

ANY_CASE = "(?i)"  # before a pattern of the owner's, unless its case counts
LONGEST = 1000
LEVELS = ("critical", "warning")
_TEXT_LIMIT, _WORDS_LIMIT = 400, 60
_COUNTERS = (
    ("epoch", "epochs", EPOCH),
    ("batch", "batches", INNER),
    ("step", "steps", RUN),
    ("iter", "iterations", RUN),
    ("item", "items", RUN),
    ("processed", "items", RUN),
    ("sample", "samples", RUN),
)
_LOOKAROUND = re.compile(r"\(\?(?:<?[=!]|>)|\(\?P=|\\[1-9]|\(\?\(")
_WHOLE_TEXT = re.compile(r"\\[Az]|\(\?[a-zA-Z]*-")
_NUMBER = re.compile(r"[-+]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][-+]?\d{1,3})?", re.ASCII)
_COUNT = re.compile(r"(?:\d{1,3}(?:,\d{3}){1,4}|\d{1,15})(?:\.\d{1,9})?[kKMGTP]?", re.ASCII)


@dataclass(frozen=True, slots=True)
class ProgressPattern:
    """One named pattern of the owner and what its groups mean."""

    name: str
    regex: Any
    groups: int
    wide: Any

    def read(self, line: bytes) -> LogEvent | None:
        """What the pattern says of one line; None when it does not match or captures no number."""
        found = self.regex.search(line)
        if not found:
            return None
        words = [(found.group(i + 1) or b"").decode("utf-8", "replace").strip() for i in range(self.groups)]
        if self.groups == 1 and not self._counter():
            value = float(words[0]) if _NUMBER.fullmatch(words[0]) else math.nan
            return Metric(self.name, value) if math.isfinite(value) else None
        if not all(_COUNT.fullmatch(word) for word in words):
            return None
        _, unit, rank = self._counter() or ("", self.name, RUN)
        total = number(words[1]) if self.groups == 2 else None
        return Step(number(words[0]), total, unit, None, OWNER + rank)

    def _counter(self) -> tuple[str, str, int] | None:
        return next((row for row in _COUNTERS if row[0] in self.name.lower()), None)


@dataclass(frozen=True, slots=True)
class ErrorPattern:
    """One pattern that makes a line a Trouble. A default one (`beside` is set) matches reports only: a `word` counts
    beside trouble and where it is no `setting`, and nothing counts on a line that is `harmless`."""

    text: str
    regex: Any
    level: str
    word: Any = None
    beside: Any = None
    harmless: Any = None
    setting: Any = None

    def matched(self, line: bytes) -> str | None:
        """The words of a line that match; None where it does not."""
        found = self.regex.search(line)
        if self.beside is not None:
            if not found and self.beside.search(line) and not self.setting.search(line):
                found = self.word.search(line)
            if not found or self.harmless.search(line):
                return None
        return None if not found else str(found.group(0).decode("utf-8", "replace").strip()[:_WORDS_LIMIT])


@dataclass(frozen=True, slots=True)
class UserPatterns:
    """The owner's patterns, compiled. The wide form of a pattern matches a piece of log wherever the
    pattern matches one of its lines, so that one pass says whether lines need reading at all."""

    progress: tuple[ProgressPattern, ...]
    errors: tuple[ErrorPattern, ...]
    wide: Any

    def newest(self, text: bytes) -> Iterator[tuple[str, int, LogEvent]]:
        """(name, offset of its line, mark) for the newest line that each progress pattern reads."""
        lines = text.split(b"\n")[:-1] if self.progress else []
        for pattern in self.progress:
            at = len(text)
            for back, line in enumerate(reversed(lines)):
                at -= len(line) + 1
                if mark := pattern.read(line):
                    yield pattern.name, at, mark
                    break
                if back == 0 and pattern.wide is not None and not pattern.wide.search(text):
                    break

    def troubles(self, text: bytes) -> list[Trouble]:
        """One Trouble for every line that an error pattern matches, by the worst level that does."""
        if not self.errors or (self.wide is not None and not self.wide.search(text)):
            return []
        asked = sorted(self.errors, key=lambda error: (error.beside is not None, LEVELS.index(error.level)))
        found = []
        for line in text.split(b"\n"):
            for error in asked:
                words = error.matched(line)
                if words is not None:
                    shown = line.decode("utf-8", "replace").strip()[:_TEXT_LIMIT]
                    found.append(Trouble(error.level, shown, error.text, words))
                    break
        return found

    def read(self, line: str) -> list[LogEvent]:
        """All that the patterns say of one line."""
        raw = line.encode("utf-8", "replace")
        marks = [mark for pattern in self.progress if (mark := pattern.read(raw))]
        return [*marks, *self.troubles(raw)]


def compile_patterns(progress: Mapping[str, str], errors: Sequence[tuple[str, str]], source: str) -> UserPatterns:
    """Compile the owner's patterns, or say in one sentence which of them cannot be used and why.
    `errors` are (pattern, level) pairs; `source` names the file or flag they came from."""
    gauges: list[ProgressPattern] = []
    alarms: list[ErrorPattern] = []
    texts: list[str] = []
    for name, pattern in progress.items():
        where = f"{source}: progress_patterns.{plain(name, 60)}"
        regex = _compiled(pattern, where)
        if not 1 <= regex.groups <= 2:
            told = f"has {regex.groups} groups" if regex.groups else "has no group to read a number from"
            raise UsageError(
                f"{where} '{plain(pattern, 80)}' {told}; put one group round the count, or two round the"
                f" count and the total as in (\\d+)/(\\d+), and write any other group as (?:…)"
            )
        gauges.append(ProgressPattern(name, regex, regex.groups, _wide([pattern])))
    for place, (pattern, level) in enumerate(errors, 1):
        where = f"{source}: error_patterns, number {place}"
        if level not in LEVELS:
            raise UsageError(f"{where}: severity '{plain(level, 40)}' is not known; use critical or warning")
        default = DEFAULT_ERRORS.get(pattern.removeprefix(PREFIX)) if pattern.startswith(PREFIX) else None
        if default is not None:
            alarms.append(_default(default, level))
            texts.append(f"(?i:{default.report}|{default.word})")
        else:
            alarms.append(ErrorPattern(pattern, _compiled(pattern, where), level))
            texts.append(pattern)
    return UserPatterns(tuple(gauges), tuple(alarms), _wide(texts))


def _default(one: DefaultError, level: str) -> ErrorPattern:
    regexes = (_engine(f"(?i){text}") for text in (one.report, one.word, TROUBLE, HARMLESS, SETTING))
    report, *others = regexes
    return ErrorPattern(PREFIX + one.name, report, level, *others)


def _compiled(pattern: str, where: str) -> Any:
    shown = plain(pattern, 80)
    if not pattern:
        raise UsageError(f"{where} is empty; write a pattern or leave the key out")
    if len(pattern) > LONGEST:
        raise UsageError(f"{where} is {len(pattern)} characters long; use at most {LONGEST}")
    try:
        return _engine(pattern)
    except UnicodeEncodeError:
        raise UsageError(f"{where} '{shown}' is not valid text; write it in UTF-8") from None
    except ValueError as wrong:
        if _LOOKAROUND.search(pattern):
            raise UsageError(
                f"{where} '{shown}' uses lookaround or a backreference, which cannot be matched in linear"
                f" time; write it without (?=…), (?!…), (?<…) and \\1"
            ) from None
        raise UsageError(
            f"{where} '{shown}' is not a pattern ({plain(str(wrong), 80)}); correct it (RE2 syntax)"
        ) from None


def _wide(patterns: Sequence[str]) -> Any:
    """One pattern with ^ and $ at line ends that matches wherever one of these matches a line; None where
    it would not: \\A, \\z and a switched-off (?-m) mean the whole text."""
    if not patterns or any(_WHOLE_TEXT.search(pattern) for pattern in patterns):
        return None
    try:
        return _engine("(?m:" + "|".join(f"(?:{pattern})" for pattern in patterns) + ")")
    except ValueError:  # each compiled alone, together they are too large
        return None


def _engine(pattern: str) -> Any:
    """Compile with RE2, which is imported only here: most jobs have no patterns of their own."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern.encode("utf-8"), options)
    except re2.error as wrong:
        why = wrong.args[0] if wrong.args else b""
        raise ValueError(why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)) from None
