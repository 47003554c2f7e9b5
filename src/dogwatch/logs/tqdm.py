"""tqdm bars: rewritten in place with `\\r`, nested, in it/s or s/it, with or without a total."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from dogwatch.logs.interface import ASIDE, EPOCH_DONE, INNER, Format, number
from dogwatch.model import Mark, Phase, Step

_BAR = re.compile(
    r"%\|[^|\n]{0,400}\|\s{0,3}([\d.]{1,15}[kKMGTP]?)/([\d.]{1,15}[kKMGTP]?)(?:\s?[A-Za-z]{1,12})?\s\["
    r"[\d:]{0,12}(?:<[\d:?]{0,12})?(?: days?, [\d:]{0,12})?(?:,\s{0,4}([\d.]{1,12}|\?)([^\s,\]]{1,24}))?",
    re.ASCII,
)
_BAR_START = re.compile(rb"%\|[^|\n]{0,1600}\|\s{0,3}[\d.]{1,15}[kmgtp]?/([\d.]{1,15}[kmgtp]?)")
_OPEN = re.compile(
    r"(?<![\w./|])(\d{1,15}|\d{1,6}\.\d{1,6}[kKMGTP])([A-Za-z]{1,12})\s\[[\d:]{1,12},\s{0,4}([\d.]{1,12}|\?)([^\s,\]]{1,24})\]?",
    re.ASCII,
)
_OPEN_START = re.compile(rb" \[[\d:]{1,12},")
_RATE_UNIT = re.compile(r"([kMGTP]?)([A-Za-z]{1,20})/s$|s/([A-Za-z]{1,20})$", re.ASCII)
_NOT_THE_WORK = (
    (re.compile(rb"\b(?:val|valid|validat\w*|eval\w*|test\w*|sanity\w*)\b"), "validating"),
    (re.compile(rb"\b(?:saving|save|checkpoint\w*)\b"), "checkpointing"),
    (
        re.compile(rb"\b(?:load\w*|download\w*|fetch\w*|map|tokeniz\w*|filter|extract\w*|shards?|split)\b"),
        "starting",
    ),
)


@lru_cache(256)
def _about(label: bytes) -> tuple[int, str]:
    """What a bar counts, by the lower-case text before its percentage: (rank, phase)."""
    for words, phase in _NOT_THE_WORK:
        if words.search(label):
            return ASIDE, phase
    if label.endswith((b"epoch", b"epochs", b"epoch:", b"epochs:")):
        return EPOCH_DONE, "training"
    return INNER, "training" if b"train" in label else ""


def sift(low: bytes) -> Iterator[tuple[str, int]]:
    """One counter per total and kind of bar: the bar of the run, of an epoch, of the validation in it."""
    for bar in _BAR_START.finditer(low):
        at = bar.start()
        before = low[max(0, at - 90) : at].rstrip(b" 0123456789")
        label = before[before.rfind(b"\n") + 1 :]
        rank = _about(label)[0] if label else INNER
        yield f"{rank}/{bar[1].decode()}", at


def sift_open(low: bytes) -> Iterator[tuple[str, int]]:
    """All bars without a total are one counter."""
    for found in _OPEN_START.finditer(low):
        yield "", found.start()


def read_bar(line: str) -> list[Mark]:
    """The last bar of a line."""
    bars = list(_BAR.finditer(line))
    if not bars:
        return []
    bar = bars[-1]
    try:
        done, total = number(bar[1]), number(bar[2])
    except ValueError:  # 1.2.3 is not a number, and not a bar
        return []
    rank, phase = _about(line[: bar.start()].lower().encode()[-90:].rstrip(b" 0123456789"))
    rate, unit = _speed(bar[3], bar[4])
    step = Step(done, total, "epochs" if rank == EPOCH_DONE else unit, rate, rank)
    return [step, Phase(phase)] if phase else [step]


def read_open(line: str) -> list[Mark]:
    """A bar whose total nobody knows: `120it [00:10, 11.9it/s]`."""
    found = _OPEN.search(line)
    if not found:
        return []
    rate, unit = _speed(found[3], found[4])
    return [Step(number(found[1]), None, unit, rate, INNER)]


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
    Format("tqdm", (b"%|",), read_bar, sift=sift),
    Format("tqdm_open", (b" [",), read_open, sift=sift_open),
)
