"""How much there is to do, where a log says it once: in an argument list, a configuration, a banner.

One row per first word of the usual names; a total is of steps or of epochs and belongs to that counter alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from dogwatch.logs.interface import Format, number
from dogwatch.model import Mark, Total

_IS = (
    r"(?:[\"'], [\"']|[\"'`]?(?:[ ]?:[ ]?int)?[ \t]{0,32}(?:[:=]|\.{2,80}|[ \t]|\|)[ \t|]{0,24}[\"'`(]?)"
    r"(\d{1,3}(?:,\d{3}){1,4}|\d{1,15}(?:\.0{1,3})?(?:e\+?\d{1,2})?)(?![\w%]|\.[1-9]|[ ]?/|[:-]\d)"
)
_WHAT = r"(?:train(?:ing)?|optimi[sz]ation|optimizer|gradient|opt)?[ _-]?"
_UNITS = {"step": "steps", "iter": "steps", "upda": "steps", "batc": "steps", "epoc": "epochs", "boos": "steps"}

# row, literals, the name of the total; its group is the unit. Every name starts with a literal.
NAMES = (
    ("max", (b"max_", b"max-"), rf"max[_-]{_WHAT}(steps?|iters?|iterations?|epochs?|updates?|batches)"),
    ("total", (b"total",), rf"total[ _-](?:number of |num[_-])?{_WHAT}(steps|iters|iterations|epochs?|updates)"),
    ("num", (b"num_", b"num-", b"num "), rf"num[ _-]{_WHAT}(steps|iters|iterations|epochs?|boost_round)"),
    ("train", (b"train_steps", b"train_iter", b"train_epochs"), r"train_(steps|iters|iterations|epochs)"),
    (
        "training",
        (b"training_steps", b"training_iter", b"training_epochs"),
        r"training_(steps|iters|iterations|epochs)",
    ),
    ("n_epochs", (b"n_epochs", b"-n_epoch"), r"n_(epochs?)"),
    ("nsteps", (b"nsteps",), r"n(steps)"),
    ("end_epoch", (b"end_epoch",), r"end_(epochs?)"),
    ("epochs", (b"epochs",), r"(epochs)"),
    ("for_iters", (b"for iters ",), r"for (iters)"),
    ("config", (b"config param steps",), r"config param (steps)"),
)
_N = r"(\d{1,3}(?:,\d{3}){1,4}|\d{1,15})"
PHRASES = (
    (
        "for",
        tuple(b"for %d" % digit for digit in range(10)),
        rf"for {_N} (?:more |training |optimi[sz]\w{{1,6}} |gradient )?(steps|iter|epochs)",
    ),
    (
        "announced",
        tuple(b"training %d" % digit for digit in range(10)),
        rf"training {_N} (epochs)",
    ),
    ("maximum", (b"max: ",), rf"max: {_N} (iter|epochs)"),
)

Find = Callable[[str], Iterator[tuple[int, Total]]]
Reads = Callable[[re.Pattern[str], str], Iterator[tuple[int, Total]]]


def _names(pattern: re.Pattern[str], low: str) -> Iterator[tuple[int, Total]]:
    """(place, total) of every name in a text with a count behind it; `warmup_epochs` is another name."""
    for found in pattern.finditer(low):
        before = low[max(0, found.start() - 7) : found.start()]
        inside = (
            before[-1:].isalnum() or before[-1:] == "_" or (before[-1:] == "-" and before[-2:-1] not in ("-", " ", ""))
        )
        if inside and not before.endswith(("after-", "max_", "max-", "num_")):
            continue
        count = number(found[2]) if "e" not in found[2] else float(found[2])
        if 0 < count < 1e15:
            yield found.start(), Total(count, _UNITS[found[1][:4]])


def _phrases(pattern: re.Pattern[str], low: str) -> Iterator[tuple[int, Total]]:
    """(place, total) of `for 300 epochs` and the like."""
    for found in pattern.finditer(low):
        if number(found[1]) > 0:
            yield found.start(), Total(number(found[1]), _UNITS[found[2][:4]])


def _read(find: Find, line: str) -> list[Mark]:
    """The first total."""
    return [total for _, total in islice(find(line.lower()), 1)]


def _of(unit: str, name: str) -> str:
    """The name with the words of one unit alone; empty where it has none."""
    start = name.rindex("(") + 1
    words = [word for word in name[start:-1].split("|") if _UNITS[word[:4]] == unit]
    return f"{name[:start]}{'|'.join(words)})" if words else ""


def _rows(kind: str, needles: tuple[bytes, ...], name: str, reads: Reads, end: str, then: str = "") -> Iterator[Format]:
    """One row per unit: a log that says again and again how many steps there are may say it of epochs once."""
    for unit in ("steps", "epochs"):
        if only := _of(unit, name):
            pattern = only + end
            read = partial(_read, partial(reads, re.compile(pattern + then, re.ASCII)))
            yield Format(f"total {unit} by {kind}", needles, read, hint=re.compile(pattern.encode()))


rows = (
    *(row for kind, needles, name in NAMES for row in _rows(kind, needles, name, _names, _IS)),
    # where more stands behind it, it is a count
    *_rows("epoch_num", (b"epoch_num",), "(epoch)", _names, "_num" + _IS, r"[\s,\"']{0,8}$"),
    *(row for kind, needles, name in PHRASES for row in _rows(kind, needles, name, _phrases, "")),
)
