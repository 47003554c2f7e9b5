"""How much there is to do, where a log says it once: in an argument list, a configuration, a banner.

One row per first word of the usual names; a total is of steps, of epochs or of another loop and belongs to that counter
alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from dogwatch.logs.interface import Format, FormatPlugin, number
from dogwatch.logs.lazily import lazily
from dogwatch.model import LogEvent, Total

_IS = (
    r"(?:_num(?:ber)?| for training)?"
    r"(?:[\"'], [\"']|[\"'`]?(?:[ ]?:[ ]?int)?[ \t]{0,32}(?:[:=]|\.{2,80}|[ \t]|\|)[ \t|]{0,24}[\"'`(]?)"
    r"(\d{1,3}(?:,\d{3}){1,4}|\d{1,15}(?:\.0{1,3})?(?:e\+?\d{1,2})?)(?![\w%]|\.[1-9]|[ ]?/|[:-]\d)"
)
_WHAT = r"(?:train(?:ing)?|optimi[sz]ation|optimizer|gradient|opt)?[ _-]?"
_UNITS = {
    **{"step": "steps", "iter": "steps", "upda": "steps", "batc": "steps", "boos": "steps", "nstl": "steps"},
    **{"epoc": "epochs", "epis": "episodes", "gene": "generations", "roun": "rounds", "tria": "trials"},
}
_LOOPS = "episodes|generations|rounds|trials"
_COUNTS = f"steps|iters|iterations|epochs?|{_LOOPS}"

# row, literals, the name of the total; its group is the unit. Every name starts with a literal.
NAMES = (
    ("max", (b"max_", b"max-"), rf"max[_-]{_WHAT}(steps?|iters?|iterations?|epochs?|updates?|batches|{_LOOPS})"),
    (
        "max of",
        tuple(b"max%s %s" % (dot, word) for dot in (b"", b".") for word in (b"step", b"iter", b"epoch", b"train")),
        rf"max\.? {_WHAT}(steps|iters|iterations|epochs)",
    ),
    ("maxiter", (b"maxiter", b"maxepoch"), r"max(iters?|iterations?|epochs?)"),
    ("total", (b"total",), rf"total[ _-](?:number of |num[_-])?{_WHAT}({_COUNTS}|updates)"),
    ("num", (b"num_", b"num-", b"num "), rf"num[ _-]{_WHAT}({_COUNTS}|boost_round)"),
    ("train", (b"train_steps", b"train_iter", b"train_epochs"), r"train_(steps|iters|iterations|epochs)"),
    (
        "training",
        (b"training_steps", b"training_iter", b"training_epochs"),
        r"training_(steps|iters|iterations|epochs)",
    ),
    ("n_epochs", (b"n_epochs", b"-n_epoch"), r"n_(epochs?)"),
    ("n_loops", (b"n_episodes", b"n_generat", b"n_rounds", b"n_trials"), rf"n_({_LOOPS})"),
    ("nsteps", (b"nsteps", b"nepoch"), r"n(steps|epochs?)"),
    ("nstlim", (b"nstlim",), r"(nstlim)"),
    ("end_epoch", (b"end_epoch",), r"end_(epochs?)"),
    ("epochs", (b"epochs",), r"(epochs)"),
    ("epoches", (b"epoches",), r"(epoches|epoches number)"),
    (
        "loops",
        (b"generations:", b"generations=", b"episodes:", b"episodes=", b"rounds:", b"rounds="),
        r"(episodes|generations|rounds)",
    ),
    ("for_iters", (b"for iters ",), r"for (iters)"),
    ("config", (b"config param steps", b"cfg.steps"), r"(?:config param |cfg\.)(steps)"),
)
_N = r"(\d{1,3}(?:,\d{3}){1,4}|\d{1,15})"
PHRASES = (
    (
        "for",
        tuple(b"for %d" % digit for digit in range(10)),
        rf"for {_N} (?:more |training |optimi[sz]\w{{1,6}} |gradient )?(steps|iter|epochs|{_LOOPS})",
    ),
    (
        "announced",
        tuple(b"training %s%d" % (all_, digit) for all_ in (b"", b"all ") for digit in range(10)),
        rf"training (?:all )?{_N} (epochs)",
    ),
    ("maximum", (b"max: ",), rf"max: {_N} (iter|epochs)"),
    ("until", tuple(b"until %d" % digit for digit in range(10)), rf"until {_N} (epochs)"),
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


def _banner(pattern: re.Pattern[str], low: str) -> Iterator[tuple[int, Total]]:
    """(place, total) of `Steps: 10,000`, alone on its line; `warmup steps: 100` is something else."""
    for found in pattern.finditer(low):
        if not _NAMED.search(low, max(0, found.start() - 24), found.start()) and number(found[2]) > 0:
            yield found.start(), Total(number(found[2]), _UNITS[found[1][:4]])


def _listed(pattern: re.Pattern[str], low: str) -> Iterator[tuple[int, Total]]:
    """(place, total) of `steps=12000` among other settings; beside what is measured it is a count."""
    found = pattern.search(low)
    others = len(_SETTING.findall(low[:_LONGEST])) if found and not _MEASURED.search(low) else 0
    if found and others > 1 and number(found[2]) > 0:
        yield found.start(), Total(number(found[2]), _UNITS[found[1][:4]])


_SETTING = lazily(r"(?<![a-z_])[a-z_]{1,24}=[\w.]", re.ASCII)
_MEASURED = lazily(r"loss|acc|reward|return|score|elapsed|eta", re.ASCII)
_LONGEST = 400
_BANNERS = tuple(
    f"{word}{end}".encode() for word in ("steps", "iterations") for end in (":", "=", " :", " =", "':", '":')
)
_BANNER = rf"[\"']?[ ]?[:=][ ]{{0,12}}{_N}"
_NAMED = lazily(r"[\w.-][\"']?$|(?<![a-z])(?!info |debug )[a-z]{2,20}[ \t]{1,3}$", re.ASCII)


def _read(find: Find, line: str) -> list[LogEvent]:
    """The first total."""
    return [total for _, total in islice(find(line.lower()), 1)]


def _arguments(line: str) -> list[LogEvent]:
    """`epoch=30` among the arguments of a program; elsewhere it is a count."""
    low = line.lower()
    start = low.find("namespace(")
    found = _ARGUMENT.search(low, start) if start >= 0 else None
    return [Total(number(found[1]), "epochs")] if found and number(found[1]) > 0 else []


_ARGUMENT = lazily(r"[(,] ?epoch=(\d{1,9})[,)]", re.ASCII)
_KINDS = ("steps", "epochs", "loops")  # of units; what is neither a step nor an epoch is a loop


def _kind(unit: str) -> str:
    return unit if unit in _KINDS else "loops"


def _of(kind: str, name: str) -> str:
    """The name with the words of one kind of units alone; empty where it has none."""
    start = name.rindex("(") + 1
    words = [word for word in name[start:-1].split("|") if _kind(_UNITS[word[:4]]) == kind]
    return f"{name[:start]}{'|'.join(words)})" if words else ""


def _rows(
    called: str, needles: tuple[bytes, ...], name: str, reads: Reads, end: str, then: str = ""
) -> Iterator[Format]:
    """One row per kind: a log that says again and again how many steps there are may say it of epochs once."""
    for kind in _KINDS:
        if only := _of(kind, name):
            pattern = only + end
            read = partial(_read, partial(reads, lazily(pattern + then, re.ASCII)))
            yield Format(f"total {kind} by {called}", needles, read, hint=(pattern + then.replace("$", r"\n")).encode())


rows = (
    *(row for kind, needles, name in NAMES for row in _rows(kind, needles, name, _names, _IS)),
    # where more stands behind it, it is a count
    *_rows("epoch_num", (b"epoch_num",), "(epoch)", _names, "_num" + _IS, r"[ \t,\"']{0,8}$"),
    *_rows("banner", _BANNERS, "(steps|iterations)", _banner, _BANNER, r"(?:\.0)?[ \t,\"'}]{0,8}$"),
    *_rows("list", (b" steps=", b",steps=", b"(steps="), "[ ,(](steps)", _listed, rf"={_N}(?=[,;)\s])"),
    *_rows("total_iter", (b"total_iter",), "total_(iter)", _names, _IS, r"[ \t,\"'}]{0,8}$"),
    Format("total epochs by argument", (b"namespace(",), _arguments, hint=_ARGUMENT.pattern.encode()),
    *(row for kind, needles, name in PHRASES for row in _rows(kind, needles, name, _phrases, "")),
)

PLUGIN = FormatPlugin("totals", rows)
