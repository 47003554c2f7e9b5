"""Produced: what watching has taught about a job's outputs and checkpoints, by change between polls and not by clocks.

A file stands still when its size and time of change were the same for so long while somebody looked. What is judged
of it belongs to that state of it, and is forgotten when it changes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from msgspec import Struct, field

from dogwatch.estimate.silence_limit import STEADY, Gaps, silence_limit
from dogwatch.results.integrity import BROKEN, INTACT, remedy
from dogwatch.results.iteration import iteration_of
from dogwatch.rules.interface import Made, Spoilt
from dogwatch.wire.sections import Files, ListedFile, Output

MOST_OUTPUTS, MOST_CHECKPOINTS = 512, 64
WINDOW, SAMPLE_EVERY = 1800.0, 30.0  # over which growth is measured, and how finely
REGULAR = 4  # gaps that were seen before outputs are said to grow regularly
# A checkpoint is written in one go: one that is not whole and has not moved for so long will not become so.
ABANDONED = 900.0
UNSEEN = 1800.0
# Outputs may wait for an evaluation that is logged and written nowhere.
LEAST_LIMIT, PAUSES = 1200.0, 3.0
MOST_ATTEMPTS = 8


class Judgement(Struct, omit_defaults=True):
    """Whether a file or a checkpoint is whole. `sure`: nobody had it open for writing, and that could be seen."""

    verdict: str
    why: str
    records: int | None = None
    sure: bool = False
    iteration: int | None = None
    latest: str = ""


class ProducedFile(Struct, omit_defaults=True):
    """An output or a checkpoint: its size and times (`inside`: of what lies in a folder), when a change of it was seen
    (`changed`, and the `age` of the job then), for how long it stands still, and how often it changed after it was
    `judged`. `lines` are those of a text, up to an offset."""

    size: int | None
    mtime: float
    inside: tuple[float, float, float] | None = None
    changed: float | None = None
    age: float = 0.0
    born: float = 0.0
    still: float = 0.0
    judged: int = 0
    verdict: Judgement | None = None
    lines: tuple[int, int, int] | None = None
    counted: bool = False

    def note(self, row: Output | ListedFile, age: float, watched: float, at: float) -> None:
        """One more look at it. To look into a folder for the first time is no change of it."""
        inside = row.inside if isinstance(row, ListedFile) and row.inside is not None else self.inside
        same_inside = self.inside is None or self.inside == inside
        if (self.size, self.mtime) == (row.size, row.mtime) and same_inside:
            self.still += watched
        else:
            self.changed, self.age, self.still = at, age, 0.0
            self.judged, self.verdict = self.judged + (self.verdict is not None), None
        self.size, self.mtime, self.inside = row.size, row.mtime, inside


class Produced(Struct, omit_defaults=True):
    """One job's files and checkpoints by path. `attempts` are how far each came: its newest checkpoint, or its step."""

    files: dict[str, ProducedFile] = field(default_factory=dict)
    checkpoints: dict[str, ProducedFile] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    written: list[list[float]] = field(default_factory=list)
    total: float = 0.0
    still: float = 0.0
    gaps: Gaps = field(default_factory=Gaps)
    attempts: list[tuple[str, float]] = field(default_factory=list)
    guessed: list[str] = field(default_factory=list)
    weak: bool = False  # those lie where others may work, too: they prove nothing about this job
    guess_after: float = 60.0
    seen: bool = False

    @property
    def told(self) -> bool:
        """Whether anything was ever seen of it."""
        return self.seen or bool(self.attempts)

    def take_poll(self, answer: Files, age: float, watched: float, at: float) -> None:
        """The sizes and times of one poll; `watched` are the seconds since the last for which somebody was there."""
        outputs, grown = answer.outputs[-MOST_OUTPUTS:], 0.0
        for row in outputs:
            known = self.files.get(row.path)
            before = (known.size or 0) if known is not None else 0 if self.seen else row.size
            grown += max(0, row.size - before)
        self.files = self._noted(self.files, outputs, age, watched, at)
        self.checkpoints = self._noted(self.checkpoints, answer.checkpoints[-MOST_CHECKPOINTS:], age, watched, at)
        self.missing, self.seen = answer.missing[:8], True
        self._grow(grown, age, watched)

    def _noted(
        self,
        before: dict[str, ProducedFile],
        rows: Iterable[Output | ListedFile],
        age: float,
        watched: float,
        at: float,
    ) -> dict[str, ProducedFile]:
        """The files that are there now. When the first ones changed that are seen at all, nobody knows."""
        now = {}
        for row in rows:
            file = now[row.path] = before.get(row.path) or self._new(row, age, at)
            if row.path in before:
                file.note(row, age, watched, at)
        return now

    def _new(self, row: Output | ListedFile, age: float, at: float) -> ProducedFile:
        inside, born = row.inside if isinstance(row, ListedFile) else None, age if self.seen else 0.0
        return ProducedFile(row.size, row.mtime, inside, at if self.seen else None, born, born)

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

    def reached(self, step: float | None) -> tuple[str, float] | None:
        held = [number for path in self.checkpoints if (number := self.iteration(path)) is not None]
        if held:
            return "checkpoint", max(held)
        return None if step is None else ("step", step)

    def iteration(self, path: str) -> int | None:
        """What a checkpoint holds: by what is written in it, else by its name."""
        verdict = self.checkpoints[path].verdict if path in self.checkpoints else None
        return verdict.iteration if verdict is not None and verdict.iteration is not None else iteration_of(path)

    def by_age(self) -> list[str]:
        """The checkpoints, the oldest first."""
        return sorted(self.checkpoints, key=lambda path: (self.checkpoints[path].mtime, path))

    def newest_intact(self) -> str | None:
        return next((path for path in reversed(self.by_age()) if _verdict(self.checkpoints[path]) == INTACT), None)

    def made(self, age: float, phase: str, ended_at: float | None, ended: bool) -> Made:
        """All of it as the rules see it; `ended_at` is the step where the job stands, if it counts."""
        regular = self.gaps.count >= REGULAR
        now = [self.reached(ended_at)] if ended else []
        intact = self.newest_intact()
        return Made(
            growth=self.growth(age),
            unchanged=self.still,
            usual=self.gaps.typical,
            silence_limit=self._silence_limit(phase) if regular else None,
            broken=tuple(self.broken_files()),
            spoilt=tuple(self._spoilt()),
            intact=None if intact is None else os.path.basename(intact.rstrip("/")),
            attempts=tuple(reached for reached in (*self.attempts, *now) if reached is not None),
        )

    def _silence_limit(self, phase: str) -> float:
        return max(LEAST_LIMIT, PAUSES * self.gaps.longest, silence_limit({STEADY: self.gaps}, phase))

    def broken_files(self) -> list[Spoilt]:
        """Outputs that are not whole, and since whose last change another one beside them was begun: the newest of its
        kind, or one of several that are written together, may be waiting for its next line, its footer or its flush.
        Where its writer would not be seen, it must have stood still for long as well."""
        suspects = [path for path, file in self.files.items() if _verdict(file) == BROKEN]
        newest: dict[tuple[str, str], float] = {}
        broken: list[Spoilt] = []
        for path, file in self.files.items() if suspects else ():
            kind = os.path.dirname(path), os.path.splitext(path)[1]
            newest[kind] = max(newest.get(kind, 0.0), file.born)
        for path in suspects:
            file, kind = self.files[path], (os.path.dirname(path), os.path.splitext(path)[1])
            sure = file.verdict is not None and file.verdict.sure
            if newest[kind] > file.age and (sure or file.still >= UNSEEN):
                broken += _spoilt(path, file)
        return broken

    def _spoilt(self) -> list[Spoilt]:
        """Checkpoints that are not whole: a later one is there, or they were left alone for long."""
        order = self.by_age()
        spoilt: list[Spoilt] = []
        for place, path in enumerate(order):
            file = self.checkpoints[path]
            if _verdict(file) == BROKEN and (place < len(order) - 1 or file.still >= ABANDONED):
                spoilt += _spoilt(path, file)
        return spoilt[-2:]


def _spoilt(path: str, file: ProducedFile) -> Iterable[Spoilt]:
    verdict = file.verdict
    return () if verdict is None else (Spoilt(path, verdict.why, remedy(verdict.verdict, verdict.why)),)


def _verdict(file: ProducedFile) -> str | None:
    return None if file.verdict is None else file.verdict.verdict
