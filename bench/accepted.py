"""The figures that were accepted last (`figures.json`), each with its noise; and what a run made worse or better.

A figure is worse when it differs from the accepted one by more than the noise: the spread of the values that were
accepted one after another, and never less than what runs of one program differ by (`LEAST`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from bench.figures import Figure, shown

ACCEPTED = Path(__file__).with_name("figures.json")
LAST = Path(__file__).parent.parent / ".bench" / "last.json"
LEAST = {"×": 0.1, "kB": 0.02, "MB": 0.05, "count": 0.1, "thousand": 0.1}  # shares of a value, by unit
LEAST_ELSE = 0.25  # times and shares of a core, which depend on who else uses the machine
LEAST_AT_ALL = 0.01
KEPT = 5  # accepted values that the noise is taken from


@dataclass(frozen=True, slots=True)
class Accepted:
    """A figure as it was accepted; `seen` are the values since the last one that differed by more than the noise."""

    value: float
    noise: float
    unit: str
    seen: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A figure that differs from the accepted one by more than the noise."""

    name: str
    figure: Figure
    was: Accepted

    @property
    def worse(self) -> bool:
        return (self.figure.value > self.was.value) != self.figure.more_is_better

    def __str__(self) -> str:
        before, noise = shown(self.was.value, self.was.unit), shown(self.was.noise, self.was.unit)
        return f"{self.name}: {shown(self.figure.value, self.figure.unit)}, accepted {before} ± {noise}"


def load(path: Path = ACCEPTED) -> dict[str, Accepted]:
    """What was accepted, by the name of the benchmark and the figure; nothing where there is no file."""
    try:
        rows = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    return {name: Accepted(row["value"], row["noise"], row["unit"], tuple(row["seen"])) for name, row in rows.items()}


def changes(figures: Mapping[str, Figure], accepted: Mapping[str, Accepted]) -> list[Change]:
    """The figures of a run that differ from the accepted ones by more than their noise."""
    both = [Change(name, figure, accepted[name]) for name, figure in figures.items() if name in accepted]
    return [change for change in both if abs(change.figure.value - change.was.value) > change.was.noise]


def accept(figures: Mapping[str, Figure], path: Path = ACCEPTED) -> None:
    """Write the figures of a run over those that were accepted; what it did not measure stays."""
    accepted = load(path)
    for name, figure in figures.items():
        accepted[name] = accepted_anew(figure, accepted.get(name))
    _write(path, {name: asdict(accepted[name]) for name in sorted(accepted)})


def accepted_anew(figure: Figure, before: Accepted | None) -> Accepted:
    """A figure with its noise: learnt from the values before, unless this one differs from them by more."""
    near = before is not None and before.unit == figure.unit and abs(figure.value - before.value) <= before.noise
    seen = (*(before.seen if before is not None and near else ()), round(figure.value, 6))[-KEPT:]
    value = median(seen)
    least = max(LEAST.get(figure.unit, LEAST_ELSE) * abs(value), LEAST_AT_ALL)
    return Accepted(value, round(max(least, max(seen) - min(seen)), 6), figure.unit, seen)


def keep_last(figures: Mapping[str, Figure], path: Path = LAST) -> None:
    """Keep what a run has measured so far, whatever becomes of the rest of it."""
    path.parent.mkdir(exist_ok=True)
    _write(path, {name: asdict(figure) for name, figure in figures.items()})


def last(path: Path = LAST) -> dict[str, Figure]:
    """What the last run measured."""
    return {name: Figure(**row) for name, row in json.loads(path.read_bytes()).items()}


def report(found: Sequence[Change]) -> str:
    """What got worse and what got better, a line each; empty when nothing did."""
    lines = []
    for words, worse in (("worse than accepted:", True), ("better than accepted:", False)):
        of_kind = [str(change) for change in found if change.worse is worse]
        lines += [words, *(f"  {line}" for line in of_kind)] if of_kind else []
    return "\n".join(lines)


def _write(path: Path, rows: Mapping[str, object]) -> None:
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(beside, path)
