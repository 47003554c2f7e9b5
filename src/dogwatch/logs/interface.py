"""What a log format is: the literals that betray it and a pure reader of one line.

A format module holds a table of formats and names it in its `PLUGIN`. Every pattern in it must be linear and
ASCII-only, and `read` must return, not raise, on any text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from dogwatch.logs.lazily import lazily
from dogwatch.model import LogEvent, Metric

# Counters of one log by how much of the run they span. EXACT is the program's own measure of its run.
# Epochs come in two kinds: one that is under way ("Epoch 3/10" opens the third) and one that counts what
# is done. PART is an epoch in decimals. ASIDE is a validation; NEVER is loading, saving and the like, and
# marks the places where a counter began; FROM_ZERO says that the first epoch is number nought. AGAIN counts only where
# it was said more than once.
EXACT, RUN, EPOCH_DONE, EPOCH, INNER, PART, PERCENT, AGAIN, SECONDARY = 50, 40, 31, 30, 20, 15, 10, 5, 0
NEVER, FROM_ZERO = -10, -20
OWNER = 100  # added to the rank of a counter that the job's owner described

# How much a format knows about what wrote the log: a word anyone prints, a progress bar, a trainer, and
# what is built round a trainer.
PLAIN, BAR, TRAINER, SUITE = 0, 1, 2, 3

STEPS = frozenset({"steps", "iterations", "updates", "it", "batches"})  # count the same thing
COARSE = STEPS | {"epochs", "%"}  # units that are no items


BEGUN = "begun "  # before the name of a counter: the places where it started


@dataclass(frozen=True, slots=True)
class Crowd:
    """How to pass over most records of a format whose every other line is one: `others` gives patterns (in groups that
    are looked for together), one of which ends within every record of a counter that is not among those heard; `one` a
    pattern that ends within every record of this counter. They look at bytes without case, and do not look around.
    `names` are the counters on one line in lower case; `same` is a pattern for whole lines (their ends included) that
    hold the very counters which this one does, or nothing."""

    others: Callable[[Collection[str]], tuple[tuple[bytes, ...], ...]]
    one: Callable[[str], bytes]
    names: Callable[[bytes], Collection[str]]
    same: Callable[[bytes], bytes]


MOST_TRIED = 4096  # lines of a piece that look like a format's and are not


@dataclass(frozen=True, slots=True)
class Format:
    """One format, that is one counter or metric of a log. `needles` are lower-case literals, at least one
    of which is in every line it can read (compared without case); one that begins with a line end begins a line. What
    a scanner compares first are the last eight bytes of each: they had better not end everyday words.

    The newest line that `read` understands speaks for the format; with `seeks_step`, the newest that has a Step.
    `hint` is a pattern that matches (in lower-cased bytes, the line's end included) within every line that can be
    read; it spares reading line after line that only holds a needle. With `begins` it matters where the first line
    stands that can be read. A format whose lines hold several counters gives `sift`: the (counter, place) of every
    record, so that the newest line of each counter is read; `crowd` is for those that have very many. `family` is
    what the log's format is called where this one speaks, the heaviest `weight` first. After `tries` lines of a piece
    that look like its own and are not, it is given up there.
    """

    kind: str
    needles: tuple[bytes, ...]
    read: Callable[[str], list[LogEvent]]
    seeks_step: bool = False
    hint: bytes = b""
    sift: Callable[[bytes], Iterable[tuple[str, int]]] | None = None
    family: str = ""
    weight: int = PLAIN
    begins: bool = False
    crowd: Crowd | None = None
    tries: int = MOST_TRIED


@dataclass(frozen=True, slots=True)
class FormatPlugin:
    """The formats of one file: one program, or one way of printing, each."""

    name: str
    formats: tuple[Format, ...]


def number(text: str) -> float:
    """The value of an already matched number, with thousands commas and a k, M, G, T or P behind it."""
    text = text.replace(",", "")
    scale = _SCALE.get(text[-1:], 1.0)
    return round(float(text[:-1]) * scale, 6) if scale != 1.0 else float(text)


_SCALE = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_PAIR = lazily(
    r"([A-Za-z][\w/.@()%# -]{0,47}?)[\"']?[ \t]{0,3}[:=][ \t]{0,12}[\"'\[(]?"
    r"([-+]?\d{1,20}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,3})?|nan|inf|-inf)(?![\w:/]|\.\d|-\d)",
    re.ASCII,
)
_SEPARATOR = lazily(r" - |  |, ")
_NO_NAME = lazily(r"^eta$| \d{1,20}(?:\.\d|[a-z]$)", re.ASCII | re.IGNORECASE)  # `Time 3.4s : 120 words/s`
_PAIRED, _MOST = 4096, 48


def pairs(text: str) -> list[LogEvent]:
    """Every `name: 0.1` and `name=0.1` of a record as a metric, by its name as printed."""
    found: dict[str, float] = {}
    for pair in _PAIR.finditer(text, 0, _PAIRED):
        name = _SEPARATOR.split(pair[1])[-1].strip(" -")
        name = name.partition("(")[2] if "(" in name and ")" not in name else name
        found[name] = float(pair[2])
        if len(found) == _MOST:
            break
    named = ((name, value) for name, value in found.items() if name and not _NO_NAME.search(name))
    return [Metric(name, value) for name, value in named]


def pace(seconds: str | None, unit: float = 1.0) -> float | None:
    """Units per second, of a matched number of seconds (or thousandths: `unit` 1000) that each one takes."""
    value = float(seconds) if seconds else math.nan
    return unit / value if value > 0 and math.isfinite(value) else None


_RATE = lazily(r"(?<![\d.])(\d{1,12}(?:\.\d{1,9})?)\s?([a-z]{1,12})/s", re.ASCII)
_RATE_WINDOW = 40


def rate(low: str, unit: str) -> float | None:
    """A rate on the same line, if it counts the same thing."""
    at = low.find("/s")
    while at >= 0:
        found = _RATE.search(low, max(0, at - _RATE_WINDOW), at + 2)
        if found and (found[2] in ("it", "its") or unit.startswith(found[2].rstrip("s"))):
            return float(found[1])
        at = low.find("/s", at + 2)
    return None


_CALLED = lazily(r"[a-z0-9][._][a-z][a-z0-9_]{0,20}\($", re.ASCII)
_LISTED, _ARGUMENTS = ("namespace(", "arguments("), 4000  # characters that a list of arguments may have


def is_argument(low: str, start: int) -> bool:
    """Whether a program lists here what it was given, or a line of its code calls something: nothing is counted or
    measured."""
    called = _CALLED.search(low[max(0, start - 24) : start])
    listed = low[max(0, start - _ARGUMENTS) : start]
    return called is not None or any(opening in listed for opening in _LISTED)
