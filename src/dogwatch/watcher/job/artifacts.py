"""Produced: what watching has taught about a job's outputs and checkpoints, by change between polls and not by clocks.

A file stands still when its size and time of change were the same for so long while somebody looked. What is judged
of it belongs to that state of it, and is forgotten when it changes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dogwatch.estimate.silence_limit import STEADY, Gaps, silence_limit
from dogwatch.results.integrity import BROKEN, INTACT, remedy
from dogwatch.results.iteration import iteration_of
from dogwatch.rules.interface import Made, Spoilt

MOST_OUTPUTS, MOST_CHECKPOINTS = 512, 64
WINDOW, SAMPLE_EVERY = 1800.0, 30.0  # over which growth is measured, and how finely
REGULAR = 4  # gaps that were seen before outputs are said to grow regularly
# A checkpoint is written in one go: one that is not whole and has not moved for so long will not become so.
ABANDONED = 900.0
UNSEEN = 1800.0
# Outputs may wait for an evaluation that is logged and written nowhere.
LEAST_PATIENCE, PAUSES = 1200.0, 3.0
MOST_ATTEMPTS = 8


@dataclass(slots=True)
class Produced:
    """One job's, as plain values: `files` and `checkpoints` by path, each with its `mark` (what a change would
    change), `changed` (when one was seen), `age` (of the job, then), `still` (seconds) and, once judged, `verdict`."""

    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    checkpoints: dict[str, dict[str, Any]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    written: list[list[float]] = field(default_factory=list)
    total: float = 0.0
    still: float = 0.0
    gaps: Gaps = field(default_factory=Gaps)
    attempts: list[list[Any]] = field(default_factory=list)
    guessed: list[str] = field(default_factory=list)
    weak: bool = False  # those lie where others may work, too: they prove nothing about this job
    guess_after: float = 60.0
    seen: bool = False

    @property
    def told(self) -> bool:
        """Whether anything was ever seen of it."""
        return self.seen or bool(self.attempts)

    def take_look(self, answer: Mapping[str, Any], age: float, watched: float, at: float) -> None:
        """The sizes and times of one poll; `watched` are the seconds since the last for which somebody was there."""
        outputs = {row["path"]: row for row in answer.get("outputs", ())[-MOST_OUTPUTS:]}
        grown = 0.0
        for path, row in outputs.items():
            before = self.files[path]["mark"][0] if path in self.files else 0 if self.seen else row["size"]
            grown += max(0, row["size"] - before)
            self._note(self.files, path, [row["size"], row["mtime"]], age, watched, at)
        self.files = {path: known for path, known in self.files.items() if path in outputs}
        saved = {row["path"]: row for row in answer.get("checkpoints", ())[-MOST_CHECKPOINTS:]}
        for path, row in saved.items():
            mark, inside = [row["size"], row["mtime"]], row.get("inside")
            before = self.checkpoints[path]["mark"] if path in self.checkpoints else []
            if inside is not None and before == mark:
                before += inside  # looked into for the first time, which is no change of it
            self._note(self.checkpoints, path, [*mark, *(before[2:] if inside is None else inside)], age, watched, at)
            self.checkpoints[path]["at"] = row["mtime"]
        self.checkpoints = {path: known for path, known in self.checkpoints.items() if path in saved}
        self.missing, self.seen = list(answer.get("missing", ()))[:8], True
        self._grow(grown, age, watched)

    def _note(
        self, known: dict[str, dict[str, Any]], path: str, mark: list[Any], age: float, watched: float, at: float
    ) -> None:
        one = known.get(path)
        if one is None:
            new = self.seen
            age = age if new else 0.0
            known[path] = {"mark": mark, "changed": at if new else None, "age": age, "born": age, "still": 0.0}
        elif one["mark"] != mark:
            judged = "verdict" in one
            one.update(mark=mark, changed=at, age=age, still=0.0, judged=one.get("judged", 0) + judged)
            one.pop("verdict", None)
        else:
            one["still"] += watched

    def _grow(self, grown: float, age: float, watched: float) -> None:
        self.total += grown
        if grown > 0:
            if watched > 0 and self.written:
                self.gaps.note(self.still, watched)
            self.still = 0.0
        else:
            self.still += watched
        if not self.written or age - self.written[-1][0] >= SAMPLE_EVERY:
            self.written.append([age, self.total])
        while len(self.written) > 1 and self.written[1][0] <= age - WINDOW:
            del self.written[0]

    def growth(self, age: float) -> float | None:
        """Bytes per second over the last half an hour of watching; None before that."""
        if not self.written or age - self.written[0][0] < WINDOW:
            return None
        return (self.total - self.written[0][1]) / (age - self.written[0][0])

    def rest(self) -> None:
        """Nobody runs that could write: measuring starts anew with whoever does."""
        self.written, self.still = [], 0.0

    def end_attempt(self, step: float | None) -> None:
        """Remember how far an attempt has come: the newest checkpoint's iteration, else the last step."""
        reached = self.reached(step)
        if reached is not None:
            self.attempts = [*self.attempts, reached][-MOST_ATTEMPTS:]
        self.rest()

    def reached(self, step: float | None) -> list[Any] | None:
        held = [number for path in self.checkpoints if (number := self.iteration(path)) is not None]
        if held:
            return ["checkpoint", max(held)]
        return None if step is None else ["step", step]

    def iteration(self, path: str) -> int | None:
        """What a checkpoint holds: by what is written in it, else by its name."""
        said = (self.checkpoints[path].get("verdict") or {}).get("iteration")
        return said if said is not None else iteration_of(path)

    def by_age(self) -> list[str]:
        """The checkpoints, the oldest first."""
        return sorted(self.checkpoints, key=lambda path: (self.checkpoints[path]["at"], path))

    def newest_intact(self) -> str | None:
        return next((path for path in reversed(self.by_age()) if _verdict(self.checkpoints[path]) == INTACT), None)

    def made(self, age: float, phase: str, ended_at: float | None, ended: bool) -> Made:
        """All of it as the rules see it; `ended_at` is the step where the job stands, if it counts."""
        regular = self.gaps.count >= REGULAR
        now = [self.reached(ended_at)] if ended else []
        attempts = [one for one in (*self.attempts, *now) if one is not None]
        intact = self.newest_intact()
        return Made(
            growth=self.growth(age),
            unchanged=self.still,
            usual=self.gaps.typical,
            silence_limit=self._silence_limit(phase) if regular else None,
            broken=tuple(self.broken_files()),
            spoilt=tuple(self._spoilt()),
            intact=None if intact is None else os.path.basename(intact.rstrip("/")),
            attempts=tuple((str(kind), float(number)) for kind, number in attempts),
        )

    def _silence_limit(self, phase: str) -> float:
        return max(LEAST_PATIENCE, PAUSES * self.gaps.longest, silence_limit({STEADY: self.gaps}, phase))

    def broken_files(self) -> list[Spoilt]:
        """Outputs that are not whole, and since whose last change another one beside them was begun: the newest of its
        kind, or one of several that are written together, may be waiting for its next line, its footer or its flush.
        Where its writer would not be seen, it must have stood still for long as well."""
        suspects = [path for path, one in self.files.items() if _verdict(one) == BROKEN]
        newest: dict[tuple[str, str], float] = {}
        found: list[Spoilt] = []
        if not suspects:
            return found
        for path, one in self.files.items():
            kind = os.path.dirname(path), os.path.splitext(path)[1]
            newest[kind] = max(newest.get(kind, 0.0), one.get("born", 0.0))
        for path in suspects:
            one, kind = self.files[path], (os.path.dirname(path), os.path.splitext(path)[1])
            if newest[kind] > one["age"] and (one["verdict"].get("sure") or one["still"] >= UNSEEN):
                found.append(_told(path, one["verdict"]))
        return found

    def _spoilt(self) -> list[Spoilt]:
        """Checkpoints that are not whole: a later one is there, or they were left alone for long."""
        order = self.by_age()
        found = []
        for place, path in enumerate(order):
            one = self.checkpoints[path]
            if _verdict(one) == BROKEN and (place < len(order) - 1 or one["still"] >= ABANDONED):
                found.append(_told(path, one["verdict"]))
        return found[-2:]


def _told(path: str, judged: Mapping[str, Any]) -> Spoilt:
    return Spoilt(path, str(judged["why"]), remedy(judged["verdict"], judged["why"]))


def _verdict(one: Mapping[str, Any]) -> str | None:
    judged = one.get("verdict")
    return None if judged is None else judged["verdict"]
