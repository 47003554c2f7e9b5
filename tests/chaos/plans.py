"""Plans: what each job of the storm will do, and what is true of it by its plan and its records."""

from __future__ import annotations

import random
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.chaos.history import UNKNOWN, WRONG, Ending, Flaw

SIGNALS = {"SEGV": 11, "TERM": 15, "KILL": 9}
WORST_FIRST = ("out_of_memory", "failed", "unknown", "succeeded")
LONGEST = 1.5


@dataclass(frozen=True, slots=True)
class Part:
    """What one worker does: wait, then exit with a code or kill itself with a signal."""

    seconds: float
    code: int | None = 0
    signal: str | None = None

    @property
    def ending(self) -> Ending:
        if self.signal is not None:
            return Ending("failed", None, SIGNALS[self.signal])
        return Ending("succeeded" if self.code == 0 else "failed", self.code)

    @property
    def script(self) -> str:
        last = f"exit {self.code}" if self.signal is None else f"kill -{self.signal} $$"
        return f"sleep {self.seconds:.2f}; {last}" if self.seconds else last


@dataclass(frozen=True, slots=True)
class Plan:
    """One job: a name that is used once, and a part for each worker."""

    name: str
    parts: tuple[Part, ...]

    def command(self, marks: str) -> list[str]:
        """Each worker leaves a mark before anything else, so that one that ran can never be denied."""
        cases = " ".join(f"{index}) {part.script};;" for index, part in enumerate(self.parts))
        mark = f"{shlex.quote(marks)}/{self.name}.$DOGWATCH_WORKER"
        return ["sh", "-c", f": > {mark}; ulimit -c 0; case $DOGWATCH_WORKER in {cases} esac"]


def draw(rng: random.Random, number: int) -> Plan:
    """A job of one to three workers; about a third of them all end well."""
    if rng.random() < 0.33:
        parts = [Part(_seconds(rng)) for _ in range(rng.randint(1, 3))]
    else:
        parts = [_part(rng) for _ in range(rng.choice((1, 1, 2, 3)))]
    return Plan(f"j{number}", tuple(parts))


def _part(rng: random.Random) -> Part:
    what = rng.random()
    if what < 0.35:
        return Part(_seconds(rng))
    if what < 0.7:
        return Part(_seconds(rng), rng.choice((1, 2, 3, 7, 137, 255)))
    return Part(_seconds(rng), None, rng.choice(tuple(SIGNALS)))


def _seconds(rng: random.Random) -> float:
    return rng.choice((0.0, rng.uniform(0.0, 0.3), rng.uniform(0.0, LONGEST)))


def job_ending(plan: Plan, ends: Mapping[int, Mapping[str, Any]], supervisor_killed: bool) -> tuple[Ending, list[Flaw]]:
    """How the job ended by its worst worker, the first of several, and what its records have wrong. A worker without a
    record is unknown where somebody killed its supervisor, and a flaw where nobody did."""
    flaws, endings = [], list[tuple[Ending, float]]()
    for index, part in enumerate(plan.parts):
        end = ends.get(index)
        if end is None:
            endings.append((UNKNOWN if supervisor_killed else part.ending, float("inf")))
            if not supervisor_killed:
                flaws.append(Flaw(WRONG, f"{plan.name}: worker {index} has no end record, and its supervisor lived"))
            continue
        endings.append((part.ending, end.get("at") or float("inf")))
        if (end["code"], end["signal"]) != (part.ending.exit_code, part.ending.signal):
            flaws.append(Flaw(WRONG, f"{plan.name}: worker {index} should have {part.ending}, its record says {end}"))
    return min(endings, key=lambda one: (WORST_FIRST.index(one[0].outcome), one[1]))[0], flaws
