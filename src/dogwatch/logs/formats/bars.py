"""Progress bars other than tqdm's, as they look in a file: Rich, alive, Keras, mmcv, progressbar2, joblib."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from dogwatch.logs.interface import (
    BAR,
    EPOCH,
    INNER,
    NEVER,
    SECONDARY,
    TRAINER,
    Format,
    FormatPlugin,
    number,
    pace,
    pairs,
)
from dogwatch.logs.lazily import lazily
from dogwatch.model import LogEvent, Phase, Step

_N = r"\d{1,15}"
_F = r"\d{1,12}(?:\.\d{1,9})?"
_VALIDATES = lazily(r"(?<![a-z_])(?:val|valid\w{0,8}|eval\w{0,8}|test|testing|sanity|map50)(?![a-z_])", re.ASCII)
_LOADS = lazily(
    r"(?<![a-z])(?:load\w{0,4}|download\w{0,4}|fetch\w{0,4}|map(?![\d@])|tokeni[sz]\w{0,5}|extract\w{0,4}|install\w{0,4}|scanning|saving|upload\w{0,4})(?![a-z])",
    re.ASCII,
)
_EPOCH = lazily(rf"epoch[ :#\[(]{{1,3}}({_N})(?:[ ]?/[ ]?({_N}))?", re.ASCII)
_YOLO = lazily(rf"^\s{{0,12}}({_N})/({_N})\s{{1,12}}[\d.]{{1,8}}[gm]\s", re.ASCII)
_BYTES = lazily(r"\s?[kmgt]i?b(?:ytes)?\b", re.ASCII)

KERAS = lazily(rf"(?:^|[\s\x08])({_N})/({_N})\s{{1,4}}\[[=>.][=>.-]{{0,60}}\] - ", re.ASCII)
KERAS3 = lazily(rf"(?:^|[\s\x08])({_N})/({_N})\s{{1,4}}[━╸╺]{{4,60}}", re.ASCII)
KERAS_PACE = lazily(rf"({_F})(ms|s|us)/(?:step|epoch|sample)", re.ASCII)
RICH = lazily(rf"(?<![━╸╺╴─])[━╸╺╴─]{{4,400}}\s{{1,4}}(?:(?:{_F}%\s{{1,4}})?({_F})/({_F})|({_F})%)", re.ASCII)
ALIVE = lazily(rf"\|[^|\n]{{0,200}}\| [^|\n]{{0,12}}?({_N})/({_N}) \[\d{{1,3}}%\] in ", re.ASCII)
ALIVE_PACE = lazily(rf"\(~?({_F})/s", re.ASCII)
MMCV = lazily(rf"\[[> ]{{2,200}}\]\s{{1,2}}({_N})/({_N}), ({_F}) task/s", re.ASCII)
FASTPROGRESS = lazily(rf"\|[█-]{{1,200}}\| {_F}% \[({_N})/({_N}) [\d:]{{4,12}}<[\d:]{{4,12}}", re.ASCII)
JOBLIB = lazily(rf"\]: Done\s{{1,4}}({_N}) (?:out of\s{{1,4}}({_N})|tasks)\s{{1,8}}\| elapsed", re.ASCII)
WIDGETS = lazily(rf"\d{{1,3}}% \(({_N}) of ({_N})\)", re.ASCII)


def _rank(label: str) -> tuple[int, str]:
    if _LOADS.search(label):
        return NEVER, "starting"
    if _VALIDATES.search(label) and "train" not in label:
        return SECONDARY, "validating"
    return INNER, ""


def _beside(label: str) -> list[LogEvent]:
    """The epoch that a bar's text names."""
    found = _YOLO.search(label) or _EPOCH.search(label)
    if not found:
        return []
    return [Step(float(found[1]), float(found[2]) if found[2] else None, "epochs", None, EPOCH), Phase("training")]


def _keras(pattern: re.Pattern[str], line: str) -> list[LogEvent]:
    """Batches of an epoch: `120/500 [====>.....] - ETA: 3s - loss: 0.3`."""
    found = pattern.search(line)
    if not found or float(found[1]) > float(found[2]) or line[: found.start(1)].lower().rstrip(" [").endswith("epoch"):
        return []
    took = KERAS_PACE.search(line, found.end())
    rate = pace(took[1], {"ms": 1e3, "us": 1e6}.get(took[2], 1.0)) if took else None
    marks: list[LogEvent] = [Step(float(found[1]), float(found[2]), "batches", rate, INNER)]
    return [*marks, *pairs(line[found.end() :])]


def _rich(line: str) -> list[LogEvent]:
    """`Label ━━━━╸━━━ 45/100 0:00:12`, or a percentage where that is all there is."""
    found = RICH.search(line)
    if not found:
        return []
    label = line[max(0, found.start() - 120) : found.start()].lower()
    if _BYTES.match(line.lower(), found.end()):
        return []
    rank, phase = _rank(label)
    speed = re.search(rf"({_F})\s?it/s", line[found.end() : found.end() + 80])
    rate = float(speed[1]) if speed else None
    done, total = (number(found[1]), number(found[2])) if found[1] else (float(found[3]), 100.0)
    unit = "it" if found[1] else "%"
    beside = _beside(label) if rank == INNER else []
    if done > total:
        return []
    return [Step(done, total or None, unit, rate, rank), *beside, *([Phase(phase)] if phase else [])]


def _plain(pattern: re.Pattern[str], speed: re.Pattern[str] | None, unit: str, line: str) -> list[LogEvent]:
    """Bars that say done and total in their own words."""
    found = pattern.search(line)
    total = float(found[2] or 0) if found else 0.0
    if not found or (found[2] and float(found[1]) > total):
        return []
    label = line[max(0, found.start() - 120) : found.start()].lower()
    rank, phase = _rank(label)
    fast = speed.search(line, found.end()) if speed else None
    rate = float(fast[1]) if fast else float(found[3]) if pattern is MMCV else None
    step = Step(float(found[1]), total or None, unit, rate, rank)
    return [step, *(_beside(label) if rank == INNER else []), *([Phase(phase)] if phase else [])]


_LINE = "━".encode()


def _row(kind: str, needles: tuple[bytes, ...], read: Callable[[str], list[LogEvent]], hint: bytes = b"") -> Format:
    family, weight = _FAMILIES.get(kind, (kind, BAR))
    return Format(
        kind,
        needles,
        read,
        hint=hint,
        begins=True,
        family=family,
        weight=weight,
    )


_FAMILIES = {"keras3": ("keras", TRAINER), "keras": ("keras", TRAINER), "mmcv": ("mmengine", TRAINER)}
rows = (
    _row("keras", (b"=] - ", b">] - ", b".] - ", b"-] - "), partial(_keras, KERAS)),
    _row("keras3", (_LINE * 4,), partial(_keras, KERAS3)),
    _row("rich", (_LINE * 4,), _rich),
    _row("alive", (b"%] in ",), partial(_plain, ALIVE, ALIVE_PACE, "items"), rb"\d%\] in "),
    _row("mmcv", (b" task/s",), partial(_plain, MMCV, None, "tasks")),
    _row("progressbar", (b"% (",), partial(_plain, WIDGETS, None, "items")),
    _row("fastprogress", (b"% [",), partial(_plain, FASTPROGRESS, None, "batches")),
    _row("joblib", (b"]: done ",), partial(_plain, JOBLIB, None, "tasks")),
)

PLUGIN = FormatPlugin("bars", rows)
