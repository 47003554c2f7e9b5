"""tqdm bars: rewritten in place with `\\r`, nested, in it/s or s/it, with or without a total.

What a bar counts is told by the text before it: the run, an epoch of it, the validation in between, or
something like loading that is no progress at all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache, partial

from dogwatch.logs.interface import (
    BAR,
    BEGUN,
    EPOCH,
    EPOCH_DONE,
    INNER,
    NEVER,
    RUN,
    SECONDARY,
    Crowd,
    Format,
    FormatPlugin,
    number,
)
from dogwatch.logs.lazily import lazily
from dogwatch.logs.scan import loose
from dogwatch.model import LogEvent, Phase, Step

_COUNT = (
    r"([\d.]{1,15}[kKMGTP]?)/([\d.]{1,15}[kKMGTP]?)(?:\s?[A-Za-z]{1,12})?\s\["
    r"[\d:]{0,12}(?:<[\d:?]{0,12})?(?: days?, [\d:]{0,12})?(?:,\s{0,4}([\d.]{1,12}|\?)\s?([^\s,\]]{1,24}))?"
)
_BAR = lazily(r"%\|[^|\n]{0,400}\|\s{0,3}" + _COUNT, re.ASCII)
_BARE = lazily(r"% (?=[\d.]{1,15}[kKMGTP]?/[\d.]{1,15}[kKMGTP]? \[\d)" + _COUNT, re.ASCII)
_BAR_START = lazily(rb"%\|[^|\n]{0,1600}\|[ \t]{0,3}([\d.]{1,15}[kmgtp]?)/([\d.]{1,15}[kmgtp]?)")
_BARE_START = lazily(rb"% ([\d.]{1,15}[kmgtp]?)/([\d.]{1,15}[kmgtp]?) \[\d")
_OPEN = lazily(
    r"(?<![\w./|])(\d{1,15}|\d{1,6}\.\d{1,6}[kKMGTP])\s?([A-Za-z]{1,12})\s\[[\d:]{1,12},\s{0,4}([\d.]{1,12}|\?)([^\s,\]]{1,24})\]?",
    re.ASCII,
)
_OPEN_START = rb"[a-z] \[[\d:]{1,12},"
_OPEN_NEEDLES = tuple(b"%c [" % letter for letter in range(ord("a"), ord("z") + 1))
_ENDLESS = lazily(
    r"\|\s{0,3}([\d.]{1,15}[kKMGTP]?)/\? \[[\d:]{0,12}(?:<\?)?(?:,\s{0,4}([\d.?]{1,12})\s?([^\s,\]]{1,24}))?", re.ASCII
)
_LOGGED = lazily(
    r"progress on:\s?([^\n:/]{0,60}?)\s?(?:([\d.]{1,15}[kmgtp]?)[a-z]{0,12}|-)/([\d.]{1,15}[kmgtp]?)[a-z]{0,12}"
    r" rate:(?:([\d.]{1,12})([^\s,]{1,24}))?",
    re.ASCII,
)
_RATE_UNIT = lazily(r"([kMGTP]?)([A-Za-z]{1,20})/s$|s/([A-Za-z]{1,20})$", re.ASCII)

_FIGURE = rb"(?![ _/.-]{0,2}(?:loss|acc|ppl|f1|m?iou|score|auc|dice|map|err|mse|mae|psnr|best)|[ ]?=)"
_VALIDATES = lazily(
    rb"(?<![a-z_])(?:val|valid|validat[a-z]{1,6}|eval[a-z]{0,8}|test|testing|sanity|map@?\.?50)(?![a-z_])" + _FIGURE
)
_LOADS = lazily(
    rb"(?<![a-z])(?:load(?:ing|ed)?|download(?:ing)?|fetch(?:ing)?|map(?![\d@])|pars(?:e|ing)|tokeni[sz]\w{0,6}|filter(?:ing)?|casting"
    rb"|extract(?:ing)?(?! (?:[a-z]{1,12} )?features?)|shards?"
    rb"|generating \w{1,20} split|flatten\w{0,8}|compil\w{0,6}|captur\w{0,6}|warm\w{0,6}"
    rb"|pre-?process\w{0,6}|scanning|caching|quantiz\w{0,8}|packing|grouping texts|running tokenizer|collecting"
    rb"|materializing|profiling|autotun\w{0,4}|unzip\w{0,5}|reading|resolving|creating [a-z]{1,12} from)(?![a-z])"
)
_SAVES = lazily(rb"(?<![a-z])(?:saving|save|checkpoint\w{0,6}|upload\w{0,6}|writing|pushing)(?![a-z])")
_WHOLE_RUN = lazily(rb"(?<![a-z])(?:training progress|train(?:ing)? steps?|steps?|overall|total|global step)\W{0,3}$")
_REQUESTS = lazily(rb"running [a-z_]{1,30} requests\W{0,3}$")
_EPOCH_OF = lazily(
    rb"(?<![a-z0-9_./-])(?:epochs?|ep)(?:[ _]?(?:num|idx|no))?[ \t]{0,2}[:=#]?[ \t]{0,2}[\[(]?[ \t]{0,4}(\d{1,7})"
    rb"(?:[ ]?(?:/|of)[ ]?(\d{1,7}))?(?!\d|\.\d|%)"
)
_ULTRALYTICS = lazily(rb"^\s{0,12}(\d{1,6})/(\d{1,6})\s{1,12}[\d.]{1,8}[gm]\s")
_TORCHTUNE = lazily(rb"(\d{1,6})\|(\d{1,12})\|loss:")
_BYTES = ("B", "iB", "b", "Bytes", "bytes")
_TRAINS = (b"train", b"loss", b"fit")


@lru_cache(256)
def _about(label: bytes) -> tuple[int, str, tuple[Step, ...]]:
    """What a bar counts, by the lower-case text before its percentage: (rank, phase, epochs beside it)."""
    epoch = _ULTRALYTICS.search(label) or _EPOCH_OF.search(label)
    for words, phase in ((_SAVES, "checkpointing"), (_LOADS, "starting")):
        if words.search(label) and not epoch and not any(word in label for word in _TRAINS):
            return NEVER, phase, ()
    if _VALIDATES.search(label) and b"train" not in label:
        return SECONDARY, "validating", ()
    phase = "training" if any(word in label for word in _TRAINS) else ""
    tuned = _TORCHTUNE.search(label)
    if tuned:
        return (
            INNER,
            "training",
            (Step(float(tuned[1]), None, "epochs", None, EPOCH), Step(float(tuned[2]), None, "steps", None, RUN)),
        )
    if epoch:
        total = float(epoch[2]) if epoch[2] else None
        return INNER, "training", (Step(float(epoch[1]), total, "epochs", None, EPOCH),)
    if label.rstrip(b" :-").endswith((b"epoch", b"epochs")):
        return EPOCH_DONE, "training", ()
    if _REQUESTS.search(label):
        return RUN, "evaluating", ()
    return (RUN if _WHOLE_RUN.search(label) else INNER), phase, ()


_WINDOW = 160  # how far before a bar its text may begin


def _label(before: bytes) -> bytes:
    """The text of a bar: the end of what stands before it on its line, without the percentage."""
    text = before.rstrip(b" 0123456789.")
    return text[text.rfind(b"\n") + 1 :]


@lru_cache(1024)
def _name(label: bytes, total: bytes) -> str:
    return f"{_about(label)[0]}/{total.decode()}"


def sift(start: re.Pattern[bytes], low: bytes) -> Iterator[tuple[str, int]]:
    """One counter per total and kind of bar: the bar of the run, of an epoch, of the validation in it; and
    one more for the places where it began."""
    for bar in start.finditer(low):
        at = bar.start()
        name = _name(_label(low[max(0, at - _WINDOW) : at]), bar[2])
        yield name, at
        if bar[1] == b"0":
            yield BEGUN + name, at


def names(start: re.Pattern[bytes], line: bytes) -> Collection[str]:
    """The counters of one line."""
    bar = start.search(line)
    if bar is None:
        return ()
    if bar[1] == b"0" or line.find(b"%|", bar.end()) >= 0:
        return [name for name, _ in sift(start, line)]
    return (_name(_label(line[max(0, bar.start() - _WINDOW) : bar.start()]), bar[2]),)


def same(start: re.Pattern[bytes], line: bytes) -> bytes:
    """Other bars with the same text before them and the same total, alone on their lines and not just begun."""
    bar = start.search(line.lower())
    label = line[: bar.start()].rstrip(b" 0123456789.") if bar else b""
    if bar is None or line.count(b"%") > 1 or len(label) > _WINDOW - 16:
        return b""
    before = re.escape(label) + rb"[ \d.]{0,9}%\|[^|%\n]{0,400}\|[ \t]{0,3}(?!0/)[\d.]{1,15}[kKmMgGtTpP]?/"
    return before + re.escape(line[bar.start(2) : bar.end(2)]) + rb"(?![\d.kKmMgGtTpP])[^%\n]*\n"


def others(heard: Collection[str]) -> tuple[tuple[bytes, ...], ...]:
    """Bars of another counter have another total than the work's bars that were heard, or a word before them that
    makes them another kind of bar; and there are the places where a counter began, if they were not heard."""
    totals = [total.encode() for rank, _, total in (name.partition("/") for name in heard) if rank == str(INNER)]
    begun = all(name.startswith(BEGUN) or BEGUN + name in heard for name in heard)
    return ((_with_another_total(tuple(totals)),), _OTHER_KINDS, *(() if begun else ((_BEGUN,),)))


@lru_cache(256)
def _with_another_total(totals: tuple[bytes, ...]) -> bytes:
    return rb"\|[ \t]*[\d.]+[kmgtp]?/" + _unlike(totals)


def one(counter: str) -> bytes:
    """Every bar of the counter has its total."""
    total = b"/" + re.escape(counter.rpartition("/")[2].encode())
    return rb"\|[ \t]*0" + total if counter.startswith(BEGUN) else total


def _unlike(totals: Collection[bytes]) -> bytes:
    """A pattern for the beginning of every total but these, up to the first byte that differs."""
    after: dict[int, list[bytes]] = {}
    for total in totals:
        if total:
            after.setdefault(total[0], []).append(total[1:])
    stray = _class(_IN_TOTALS.difference(after)) if b"" in totals else _class({*after, 10}, b"^")
    ways = [stray, *(b"\\x%02x" % byte + _unlike(rest) for byte, rest in after.items())]
    return b"(?:" + b"|".join(ways) + b")"


def _class(members: Collection[int], negated: bytes = b"") -> bytes:
    return b"[" + negated + b"".join(b"\\x%02x" % byte for byte in sorted(members)) + b"]"


_IN_TOTALS = frozenset(b"0123456789.kmgtp")
# The text before every bar that `_about` calls something else than the work matches one of these.
_BEGUN = rb"\|[ \t]*0/"
_OTHER_KINDS = tuple(
    loose(b"(?:" + b"|".join(words) + b")" + then)
    for words, then in (
        ([_SAVES.pattern, _LOADS.pattern, _VALIDATES.pattern], rb"[^\n]*%\|"),
        ([_WHOLE_RUN.pattern[:-1], _REQUESTS.pattern[:-1]], rb"[ \d.]*%\|"),
        ([rb"epochs?[ :-]{0,9}"], rb"[ \d.]*%\|"),
    )
)


def read_bar(pattern: re.Pattern[str], line: str) -> list[LogEvent]:
    """The last bar of a line."""
    bars = list(pattern.finditer(line))
    if not bars:
        return []
    bar = bars[-1]
    try:
        done, total = number(bar[1]), number(bar[2])
    except ValueError:  # 1.2.3 is not a number, and not a bar
        return []
    before = line[max(0, bar.start() - _WINDOW) : bar.start()].lower().encode()
    rank, phase, beside = _about(_label(before))
    rate, unit = _speed(bar[3], bar[4])
    if unit in _BYTES:
        rank = NEVER  # a transfer
    step = Step(done, total or None, "epochs" if rank == EPOCH_DONE else unit, rate, rank)
    return [step, *beside, *([Phase(phase)] if phase else [])]


def read_open(line: str) -> list[LogEvent]:
    """A bar whose total nobody knows: `120it [00:10, 11.9it/s]`."""
    found = _OPEN.search(line)
    if not found:
        return []
    rate, unit = _speed(found[3], found[4])
    rank, phase, beside = _about(_label(line[max(0, found.start() - _WINDOW) : found.start()].lower().encode()))
    step = Step(number(found[1]), None, unit, rate, min(rank, INNER))
    return [step, *beside, *([Phase(phase)] if phase else [])]


def read_endless(line: str) -> list[LogEvent]:
    """A bar that was told there is no total: `Epoch 3: |          | 5/? [00:01<?, 4.10it/s]`."""
    found = _ENDLESS.search(line)
    if not found:
        return []
    before = line[max(0, found.start() - _WINDOW) : found.start()]
    rank, phase, beside = _about(_label(before[: before.rfind("|") if "|" in before else None].lower().encode()))
    rate, unit = _speed(found[2], found[3])
    try:
        step = Step(number(found[1]), None, unit, rate, min(rank, INNER))
    except ValueError:
        return []
    return [step, *beside, *([Phase(phase)] if phase else [])]


def read_logged(line: str) -> list[LogEvent]:
    """A bar that a logger prints line by line: `Progress on:train 3.2kit/9.0kit rate:1.1it/s …`."""
    found = _LOGGED.search(line.lower())
    if not found:
        return []
    rank, phase, beside = _about(found[1].encode())
    rate, unit = _speed(found[4], found[5])
    try:
        done, total = number(_large(found[2] or "0")), number(_large(found[3]))
    except ValueError:
        return []
    rank = RUN if rank == INNER and not beside else rank
    return [Step(done, total or None, unit, rate, rank), *beside, *([Phase(phase)] if phase else [])]


def _large(text: str) -> str:
    """A lower-cased count with its letter as a count has it: k, but M and G."""
    return text if text.endswith("k") else text.upper()


def _speed(value: str | None, tail: str | None) -> tuple[float | None, str]:
    """(units per second, unit) of `4.75` `it/s`, `1.2` `s/it`, `3.5` `kB/s`."""
    parts = _RATE_UNIT.search(tail or "")
    if not parts or not value:
        return None, "it"
    unit = parts[2] or parts[3]
    try:
        speed = float(value)
    except ValueError:
        return None, unit
    if parts[3]:
        return (1.0 / speed if speed > 0 else None), unit
    return number(f"{speed}{parts[1]}"), unit


rows = (
    Format(
        "tqdm",
        (b"%|",),
        partial(read_bar, _BAR),
        hint=_BAR_START.pattern,
        sift=partial(sift, _BAR_START),
        crowd=Crowd(others, one, partial(names, _BAR_START), partial(same, _BAR_START)),
        family="tqdm",
        weight=BAR,
    ),
    Format(
        "tqdm_bare",
        tuple(b"%% %d" % digit for digit in range(10)),
        partial(read_bar, _BARE),
        hint=_BARE_START.pattern,
        sift=partial(sift, _BARE_START),
        family="tqdm",
        weight=BAR,
    ),
    Format("tqdm_open", _OPEN_NEEDLES, read_open, hint=_OPEN_START, begins=True, family="tqdm", weight=BAR),
    Format("tqdm_endless", (b"/? [",), read_endless, family="tqdm", weight=BAR),
    Format("tqdm_logged", (b"progress on:",), read_logged, family="tqdm", weight=BAR),
)

PLUGIN = FormatPlugin("tqdm", rows)
