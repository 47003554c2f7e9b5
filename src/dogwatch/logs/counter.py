"""Plain counters that people print themselves: `Epoch 3/10`, `step 300 of 1000`, `Processed 3/9 items`.

Patterns run on the lower-cased line and start with a literal, which `re` finds at the speed of `find`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from dogwatch.logs.interface import EPOCH, EPOCH_DONE, INNER, PERCENT, RUN, Format, number
from dogwatch.model import Mark, Step

_N = r"\d{1,3}(?:,\d{3}){1,4}|\d{1,15}"
_PAIR = (
    rf"[ \t]{{0,3}}[:=#]?[ \t]{{0,3}}[\[(]?[ \t]{{0,8}}({_N})[ \t]{{0,4}}(?:/|of|out of)"
    rf"[ \t]{{0,8}}({_N})(?!\d|[/:.,-]\d)"
)
_RATE = re.compile(r"(?<![\d.])(\d{1,12}(?:\.\d{1,9})?)\s?([a-z]{1,12})/s", re.ASCII)
_RATE_REACH = 40
_AFTER = re.compile(r"[\])]?\s{1,2}([a-z]{2,20})\b(?![:=])", re.ASCII)
_BRACKET = re.compile(rf"\[[ \t]{{0,8}}({_N})[ \t]{{0,4}}/[ \t]{{0,8}}({_N})\]", re.ASCII)
_BRACKET_END = re.compile(rb"/[ \t]{0,8}[\d,]{1,19}\]")
_PERCENT = re.compile(r"progress(?: is|:|=)?\s{0,4}(\d{1,3}(?:\.\d{1,6})?)\s?%", re.ASCII)
_PERCENT_DONE = re.compile(r"(?<![\d.])(\d{1,3}(?:\.\d{1,6})?)% (?:complete|done|finished)", re.ASCII)
_ENDS_EPOCH = ("complete", "finish", "done", "took", "elapsed", "time", "loss", "acc")
_NOT_UNITS = frozenset({"in", "at", "with", "and", "loss", "eta", "elapsed", "took", "rate", "done"})


def _labelled(label: str) -> re.Pattern[str]:
    return re.compile(label + _PAIR, re.ASCII)


_EPOCH_PAIR = _labelled("epochs?")


def _find(pattern: re.Pattern[str], low: str) -> re.Match[str] | None:
    """The first match that does not start inside a longer word."""
    for found in pattern.finditer(low):
        if not low[found.start() - 1 : found.start()].isalpha():
            return found
    return None


def _processed(pattern: re.Pattern[str], line: str) -> list[Mark]:
    """Counts of a whole run; the word behind the numbers is the unit."""
    low = line.lower()
    found = _find(pattern, low)
    if not found:
        return []
    word = _AFTER.match(low, found.end())
    unit = word[1] if word and word[1] not in _NOT_UNITS else "items"
    return [Step(number(found[1]), number(found[2]), unit, _rate(low, unit), RUN)]


def _step(pattern: re.Pattern[str], line: str, unit: str) -> list[Mark]:
    """Steps count the run, unless the same line also counts epochs: then they are the epoch's."""
    low = line.lower()
    found = _find(pattern, low)
    if not found:
        return []
    rank = INNER if "epoch" in low and _find(_EPOCH_PAIR, low) else RUN
    return [Step(number(found[1]), number(found[2]), unit, _rate(low, unit), rank)]


def _batch(pattern: re.Pattern[str], line: str) -> list[Mark]:
    low = line.lower()
    found = _find(pattern, low)
    return [Step(number(found[1]), number(found[2]), "batches", _rate(low, "batches"), INNER)] if found else []


def _epoch(line: str) -> list[Mark]:
    """A line that only names the epoch opens it; one that sums up (a loss, a time) closes it."""
    low = line.lower()
    found = _find(_EPOCH_PAIR, low)
    if not found:
        return []
    rest = low[found.end() : found.end() + 200]
    rank = EPOCH_DONE if any(word in rest for word in _ENDS_EPOCH) else EPOCH
    return [Step(number(found[1]), number(found[2]), "epochs", None, rank)]


def _bracket(line: str) -> list[Mark]:
    """A bare [300/1000]; one behind a word belongs to that word's row."""
    for found in _BRACKET.finditer(line):
        before = line[max(0, found.start() - 4) : found.start()].rstrip(" :=#")[-1:]
        if not before.isalpha():
            return [Step(number(found[1]), number(found[2]), "items", _rate(line.lower(), "items"), INNER)]
    return []


def _sift_brackets(low: bytes) -> Iterator[tuple[str, int]]:
    for found in _BRACKET_END.finditer(low):
        yield "", found.start()


def _percent(pattern: re.Pattern[str], line: str) -> list[Mark]:
    found = pattern.search(line.lower())
    done = float(found[1]) if found else 101.0
    return [Step(done, 100.0, "%", None, PERCENT)] if done <= 100.0 else []


def _rate(low: str, unit: str) -> float | None:
    """A rate on the same line, if it counts the same thing."""
    at = low.find("/s")
    while at >= 0:
        found = _RATE.search(low, max(0, at - _RATE_REACH), at + 2)
        if found and (found[2] in ("it", "its") or unit.startswith(found[2].rstrip("s"))):
            return float(found[1])
        at = low.find("/s", at + 2)
    return None


def _row(kind: str, needle: bytes, ending: str, read: Callable[..., list[Mark]], **more: str) -> Format:
    """A row whose label is its needle plus an ending."""
    label = needle.decode() + ending
    hint = re.compile((label + _PAIR).encode())
    return Format(kind, (needle,), partial(read, _labelled(label), **more), hint=hint)


rows = (
    _row("processed", b"processed", "", _processed),
    _row("completed", b"completed", "", _processed),
    _row("progress", b"progress", "", _processed),
    _row("step", b"step", "s?", _step, unit="steps"),
    _row("iteration", b"iter", "(?:ation)?s?", _step, unit="iterations"),
    _row("batch", b"batch", "(?:es)?", _batch),
    Format("epoch", (b"epoch",), _epoch, hint=re.compile(_EPOCH_PAIR.pattern.encode())),
    Format("bracket", (b"]",), _bracket, sift=_sift_brackets),
    Format("percent", (b"progress",), partial(_percent, _PERCENT)),
    Format("percent_done", (b"% complete", b"% done", b"% finished"), partial(_percent, _PERCENT_DONE)),
)
