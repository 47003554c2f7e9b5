"""Does the verdict cry wolf, and how soon does it see a hang?"""

from __future__ import annotations

import csv
import json
import math
import os
import random
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.figures import Figure
from bench.replay import Called, Measured, Run, measure_run
from dogwatch.watcher.job import eta

WORK = (
    "Healthy runs are replayed by their own clock through the real looks, reader, rules and verdict; every `stalled`"
    " is a false alarm. Then each hangs for ever from three moments of its time, drawn from its first, second and last"
    " third. The time to notice is from its last line to `stalled`, as a multiple of the longest gap of the healthy"
    " run; also by how long that is, since no silence limit of a few seconds is intact. What both would be with less"
    " silence limit, or more, is told beside it. A hang is seen by the log alone (a node of a cluster), with processes"
    " asleep (a deadlock) or with processes that spin (a hung collective). 70 generated runs, the corpus where"
    " DOGWATCH_CORPUS or ../shared/corpus has one, and the runs of the folder DOGWATCH_RUNS: a file each, with a line"
    " of JSON that names it and then [seconds, text] of every line. Where runs come from few families, the median of"
    " their medians is told too. A healthy run that becomes many times slower from one line to the next, or whose"
    " machine slept, is called stalled by its log alone until its next line: no log tells that sooner."
)
THIRDS = (0.1, 0.37, 0.64, 0.9)  # a hang comes at any moment; a fixed share of the run is where epochs end
SCALES = (0.5, 0.6, 0.75, 0.9, 1.0, 1.25, 1.5, 2.0)
KINDS = {"hidden": "by its log alone", "asleep": "processes asleep", "spinning": "processes spin"}
LOOK = 60.0  # the longest interval between two looks at a job
CLASSES = (0.0, 10.0, LOOK, 300.0, math.inf)  # seconds of the longest gap
WITHIN = 2.0  # gaps
GENERATED = 70
LONGEST_BREAK = 6 * 3600.0  # in a log: a time that was read wrongly, or a night between two runs
_TIME = re.compile(
    rb"(20\d\d)[-/](\d\d)[-/](\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,3}))?(?! [AP]M)|\"time_ms\": ?(\d{13})"
)


class Noticed(NamedTuple):
    """A hang in a run of this family and longest gap, noticed after so many times that gap."""

    family: str
    gap: float
    multiple: float


@dataclass(slots=True)
class Tally:
    """What was seen in one set of runs."""

    runs: int = 0
    alarmed: dict[str, Called | None] = field(default_factory=dict)
    warned: list[str] = field(default_factory=list)
    nearest: list[float] = field(default_factory=list)
    noticed: dict[str, list[Noticed]] = field(default_factory=dict)

    def multiples(self, kind: str, least: float = 0.0, most: float = math.inf) -> list[float]:
        """Of the runs whose longest gap is so long."""
        return [one.multiple for one in self.noticed[kind] if least <= one.gap < most]

    def of_families(self, kind: str) -> list[float]:
        """The median of each family."""
        families: dict[str, list[float]] = {}
        for one in self.noticed[kind]:
            families.setdefault(one.family, []).append(one.multiple)
        return [median(multiples) for multiples in families.values()]


def measure() -> list[Figure]:
    figures = _figures("generated", _tally(list(generated())), limit=True)
    if (corpus := _corpus()) is None:
        print("  there is no corpus here: the figures of its runs are left out")
    else:
        figures += _figures("corpus series", _tally(list(series(corpus))), limit=True)
        figures += _figures("corpus logs", _tally(list(timed_logs(corpus))), limit=False)
    if folder := os.environ.get("DOGWATCH_RUNS"):
        figures += _figures(Path(folder).name, _tally(list(stored(Path(folder)))), limit=False)
    return figures


def _tally(runs: Sequence[Run]) -> Tally:
    tally = Tally(len(runs))
    with ProcessPoolExecutor(os.cpu_count(), initializer=_spare) as pool:
        for run, measured in zip(runs, pool.map(_measure, runs, chunksize=2), strict=True):
            if "stalled" in measured.alarms:
                tally.alarmed[run.name] = measured.called
            if {"silent", "slow"} & set(measured.alarms):
                tally.warned.append(run.name)
            tally.nearest.append(measured.nearest)
            for kind, seconds in measured.noticed.items():
                gap = run.longest_gap
                found = (Noticed(run.family, gap, each / max(gap, 1e-3)) for each in seconds)
                tally.noticed.setdefault(kind, []).extend(found)
    return tally


def _spare() -> None:
    """An estimate only decides here when the next poll is due, and is most of what one costs: it is good for longer."""
    eta.SHARE, eta.LONGEST = 0.1, 1800.0


def _measure(run: Run) -> Measured:
    dice = random.Random(run.name)
    return measure_run(run, [dice.uniform(*third) for third in pairwise(THIRDS)], tuple(KINDS))


def _trade(name: str, tally: Tally) -> None:
    """Print what more or less silence limit would do: a healthy run alarms at the scale that its longest silence
    took."""
    print(f"  {name}: with so many times the silence limit, healthy runs called stalled / gaps until a hang is noticed")
    print("  " + "".join(f"{scale:>15g}" for scale in SCALES))
    middle = median(tally.multiples("hidden"))
    alarms = [sum(near >= scale for near in tally.nearest) / max(1, tally.runs) for scale in SCALES]
    print("  " + "".join(f"{part:>8.1%} / {scale * middle:4.2f}" for part, scale in zip(alarms, SCALES, strict=True)))


def _classes(name: str, tally: Tally) -> None:
    """Print how soon a hang is noticed in runs of each class, and how many are within the aim."""
    print(f"  {name}: gaps until a hang is noticed, median / part within {WITHIN:g}, by the longest gap of the run")
    for least, most in pairwise(CLASSES):
        told = []
        for kind, words in KINDS.items():
            found = tally.multiples(kind, least, most)
            if found:
                told.append(f"{words} {median(found):7.2f} / {_within(found):4.0%}")
        if told:
            runs = len(tally.multiples("hidden", least, most)) // (len(THIRDS) - 1)
            print(f"    {least:4.0f} s and more, {runs:3} runs: " + ", ".join(told))


def _within(multiples: Sequence[float]) -> float:
    return sum(multiple <= WITHIN for multiple in multiples) / len(multiples)


def _figures(name: str, tally: Tally, limit: bool) -> list[Figure]:
    """False alarms and times to notice; told by run where a healthy one was called stalled."""
    for run, called in tally.alarmed.items():
        silence = f" {called.after:.0f} s into {called.lasted:.0f} s; {called.before:.0f} s before" if called else ""
        print(f"  called stalled though healthy: {run}{silence}")
    _trade(name, tally)
    _classes(name, tally)
    per_run = len(tally.alarmed) / max(1, tally.runs)
    figures = [
        Figure(f"{name}: healthy runs called stalled ({tally.runs} runs)", 100 * per_run, "%", 1.0),
        Figure(f"{name}: healthy runs called slow or silent", 100 * len(tally.warned) / max(1, tally.runs), "%"),
    ]
    bar = WITHIN if limit else None
    for kind, told in KINDS.items():
        figures.append(Figure(f"{name}: hang noticed, {told}", median(tally.multiples(kind)), "gaps", bar))
    for kind, told in KINDS.items():
        figures.append(Figure(f"{name}: the same, each family once, {told}", median(tally.of_families(kind)), "gaps"))
    figures.append(
        Figure(
            f"{name}: the same, within {WITHIN:g} gaps, by its log alone",
            100 * _within(tally.multiples("hidden")),
            "%",
            more_is_better=True,
        )
    )
    for kind, told in KINDS.items():
        paused = tally.multiples(kind, LOOK)
        if paused:
            text = f"{name}: the same, gaps of {LOOK:.0f} s and more, {told}"
            figures.append(Figure(text, median(paused), "gaps", bar))
    return figures


def _corpus() -> Path | None:
    found = Path(os.environ.get("DOGWATCH_CORPUS") or Path(__file__).parents[2] / "shared" / "corpus")
    return found if (found / "eta").is_dir() else None


def series(corpus: Path) -> Iterator[Run]:
    """The runs of `eta/*.csv`, each row a log line."""
    for path in sorted((corpus / "eta").glob("*.csv")):
        with path.open(newline="") as file:
            rows = [(float(row["unix_seconds"]), row["step"], row["total"]) for row in csv.DictReader(file)]
        lines = [(at - rows[0][0], f"step {step}/{total}\n".encode()) for at, step, total in rows]
        yield Run(path.stem, path.stem.partition("__")[0], lines)


def timed_logs(corpus: Path) -> Iterator[Run]:
    """The healthy logs whose lines carry dates, up to where the corpus cut them or a night lies between two lines."""
    for label in json.loads((corpus / "labels.json").read_text())["files"]:
        if label["kind"] == "failed":
            continue
        lines = list(_dated((corpus / label["file"]).read_bytes().partition(b"[corpus:")[0]))
        breaks = [i for i, (one, other) in enumerate(pairwise(lines), 1) if not 0 <= other[0] - one[0] < LONGEST_BREAK]
        lines = lines[: breaks[0]] if breaks else lines
        if len(lines) > 20 and lines[-1][0] - lines[0][0] > 600:
            yield Run(label["file"], label["format"], [(at - lines[0][0], text) for at, text in lines])


def stored(folder: Path) -> Iterator[Run]:
    """The runs of a folder."""
    for path in sorted(folder.glob("*.jsonl")):
        with path.open() as file:
            named = json.loads(next(file))
            lines = [(at, text.encode("latin-1")) for at, text in map(json.loads, file)]
        yield Run(path.stem, named["repo"], lines)


def _dated(text: bytes) -> Iterator[tuple[float, bytes]]:
    """(seconds, bytes) of each line with a date, and what follows it up to the next; times never go back by seconds."""
    held, at = b"", None
    for line in text.splitlines(keepends=True):
        found = _TIME.search(line[:200]) or (_TIME.search(line) if b"time_ms" in line else None)
        if found is not None:
            if at is not None:
                yield at, held
            held, moment = b"", _seconds(found)
            at = moment if at is None or not -5.0 < moment - at < 0 else at
        held += line
    if at is not None:
        yield at, held


def _seconds(found: re.Match[bytes]) -> float:
    if found[8]:
        return int(found[8]) / 1000
    year, month, day, hour, minute, second = (int(found[i]) for i in range(1, 7))
    try:
        return datetime(year, month, day, hour, minute, min(second, 59)).timestamp()
    except ValueError:
        return 0.0


def generated() -> Iterator[Run]:
    """Runs in the shapes that jobs have: even, with validations, with saves, compiled first, flushed by the block."""
    shapes = (_even, _validating, _saving, _compiled, _flushed, _jittery, _unrelated)
    for number in range(GENERATED):
        shape, dice = shapes[number % len(shapes)], random.Random(number)
        gaps = list(shape(dice))
        moments = [0.0, *(math.fsum(gaps[: i + 1]) for i in range(len(gaps)))]
        lines = [(at, f"step {i}/{len(gaps)}\n".encode()) for i, at in enumerate(moments)]
        name = shape.__name__.strip("_")
        yield Run(f"{name} {number}", name, lines)


def _even(dice: random.Random) -> Iterator[float]:
    usual = math.exp(dice.uniform(math.log(5), math.log(300)))
    return (usual * dice.uniform(0.95, 1.1) for _ in range(400))


def _validating(dice: random.Random) -> Iterator[float]:
    """Twelve epochs, each with a validation of three to twenty per cent of it."""
    usual, each = dice.uniform(10, 50), dice.randrange(75, 300)
    pause = min(2000.0, usual * each * dice.uniform(0.03, 0.2))
    for _ in range(12):
        yield from (usual * dice.uniform(0.9, 1.2) for _ in range(each))
        yield pause * dice.uniform(0.9, 1.3)


def _saving(dice: random.Random) -> Iterator[float]:
    usual, pause = dice.uniform(1, 10), dice.uniform(60, 200)
    for _ in range(8):
        yield from (usual * dice.uniform(0.9, 1.2) for _ in range(500))
        yield pause * dice.uniform(0.8, 1.4)


def _compiled(dice: random.Random) -> Iterator[float]:
    """A first step of minutes, then even ones with a save that takes as long as some hundred of them."""
    usual, save = dice.uniform(1, 12), dice.uniform(200, 500)
    yield dice.uniform(120, 900)
    for _ in range(6):
        yield from (usual * dice.uniform(0.98, 1.05) for _ in range(600))
        yield save * dice.uniform(0.9, 1.2)


def _flushed(dice: random.Random) -> Iterator[float]:
    """A block of lines at once, every few minutes."""
    usual = dice.uniform(120, 600)
    return (usual * dice.uniform(0.8, 1.25) for _ in range(150))


def _jittery(dice: random.Random) -> Iterator[float]:
    usual = dice.uniform(20, 120)
    return (usual * dice.lognormvariate(0, 0.5) for _ in range(600))


def _unrelated(dice: random.Random) -> Iterator[float]:
    """Epochs with a validation each, of which the total says nothing: it ends somewhere within one."""
    usual, each = math.exp(dice.uniform(math.log(2), math.log(50))), dice.randrange(60, 300)
    pause = usual * each * dice.uniform(0.03, 0.25)
    for step in range(1, int(each * dice.uniform(2.2, 14))):
        yield usual * dice.uniform(0.92, 1.15) + (pause * dice.uniform(0.9, 1.25) if step % each == 0 else 0.0)
