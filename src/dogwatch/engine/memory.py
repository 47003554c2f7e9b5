"""Memory: what watching a job has taught so far and the next look needs.

It is saved in the same transaction as the events it led to, so a killed watcher starts again from
the very line and size it had taken into account.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from dogwatch.engine.produced import Produced
from dogwatch.engine.spent import Spent
from dogwatch.estimate.lines import Lines
from dogwatch.estimate.patience import Gaps, kind_of
from dogwatch.model import Interval, Point, Step

GROWTH_WINDOW = 90.0
GROWTH_SAMPLES = 12


@dataclass(slots=True)
class Hush:
    """A patience clock: it runs only while we look, and starts again when something moves."""

    seconds: float = 0.0
    longest: float = 0.0

    def moved(self) -> None:
        self.longest = max(self.longest, self.seconds)
        self.seconds = 0.0


@dataclass(slots=True)
class Memory:
    """One job's, bounded whatever the job does; as JSON, `readers` are as of the last save. Its times are
    monotonic, so that a wall clock which is set changes no rate; only those of checkpoints are the place's."""

    age: float = 0.0
    logs: dict[str, dict[str, Any]] = field(default_factory=dict)
    readers: dict[str, dict[str, Any]] = field(default_factory=dict)
    heard: dict[str, dict[str, Any]] = field(default_factory=dict)
    room: dict[str, list[list[float]]] = field(default_factory=dict)
    steps: dict[str, Step] = field(default_factory=dict)
    points: list[Point] = field(default_factory=list)
    earlier: list[Point] = field(default_factory=list)
    totals: list[list[float]] = field(default_factory=list)
    outputs: dict[str, list[list[float]]] = field(default_factory=dict)
    checkpoints: dict[str, float] = field(default_factory=dict)
    worker_steps: dict[str, list[float]] = field(default_factory=dict)
    cpu: dict[str, list[float]] = field(default_factory=dict)
    worker_points: dict[str, list[list[float]]] = field(default_factory=dict)
    errors: dict[str, dict[str, Any]] = field(default_factory=dict)  # lines that error patterns matched, counted
    worker_ends: dict[str, list[Any]] = field(default_factory=dict)  # what the logs of those that ended say of it
    hush: dict[str, Hush] = field(default_factory=dict)
    slow: list[float] | None = None  # while it is called slow: since when, from and to how many units a second
    at_work: list[float] = field(default_factory=list)  # how many workers are done or gone, and since when
    phase: str = "starting"
    gaps: dict[str, Gaps] = field(default_factory=dict)
    counter: Gaps = field(default_factory=Gaps)
    lines: Lines = field(default_factory=Lines)
    usage: list[list[float]] = field(default_factory=list)
    unanswered: int = 0
    ask_after: float = 0.0
    log_seen: bool = False
    held: bool = False  # somebody stopped its processes during this silence: the gap is theirs
    moved_at: float | None = None
    unseen_hush: float = 0.0  # how long it had been silent already when it was last seen to have moved
    written: list[float] = field(default_factory=list)  # the time of its log's newest write, and how far behind ours
    verdict: dict[str, Any] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    milestone: int = 0
    verified_launch: bool = False
    spent: Spent = field(default_factory=Spent)
    gpus: dict[str, Any] = field(default_factory=dict)
    produced: Produced = field(default_factory=Produced)
    ram: dict[str, Any] = field(default_factory=dict)
    losses: dict[str, list[list[float | None]]] = field(default_factory=dict)
    launch: dict[str, Any] | None = None
    attempts: list[dict[str, Any]] = field(default_factory=list)
    may_stop: bool = False  # its logs speak of early stopping: it may end before its total
    intervals: list[Interval] = field(default_factory=list)  # that its logs' configurations state
    tries: int = 0  # looks after the end in which a check got no answer
    unsaid: list[str] = field(default_factory=list)  # state before, and kind, of an ending whose outcome is not decided

    def hush_of(self, what: str) -> Hush:
        hush = self.hush.get(what)
        if hush is None:
            hush = self.hush[what] = Hush()
        return hush

    def gaps_of(self, phase: str) -> Gaps:
        return self.gaps.setdefault(kind_of(phase), Gaps())

    def begin(self, at: float) -> None:
        """Another attempt begins, or the first: its silence starts now, and what was learnt of its gaps stays."""
        for hush in self.hush.values():
            hush.seconds = 0.0
        self.phase, self.usage, self.unanswered, self.held = "starting", [], 0, False
        self.moved_at, self.verdict, self.worker_points, self.gpus = at, None, {}, {}
        self.worker_ends = {}
        self.unseen_hush, self.lines.last = 0.0, ""
        self.ram, self.losses = {}, {}
        self.slow, self.at_work = None, []
        self.launch, self.verified_launch = None, False
        of_the_end = ("sound", "contradiction")
        self.facts = {key: value for key, value in self.facts.items() if key not in of_the_end}
        self.tries, self.may_stop, self.unsaid = 0, False, []

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values, sharing what it can: it is written out before it changes again."""
        body = {f.name: getattr(self, f.name) for f in fields(self)}
        body["steps"] = {log: [s.done, s.total, s.unit, s.rank] for log, s in self.steps.items()}
        body["intervals"] = [[one.what, one.every, one.unit] for one in self.intervals]
        body["gaps"] = {phase: gaps.to_json() for phase, gaps in self.gaps.items()}
        body["counter"] = self.counter.to_json()
        body["lines"] = [self.lines.seen, self.lines.last, self.lines.longest]
        body["spent"] = self.spent.to_json()
        body["produced"] = self.produced.to_json()
        body["hush"] = {what: {"seconds": h.seconds, "longest": h.longest} for what, h in self.hush.items()}
        return body

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Memory:
        """A memory of an older release lacks what it did not know; one of a newer has more: both open."""
        known = {f.name for f in fields(cls)}
        memory = cls(**{key: value for key, value in body.items() if key in known})
        memory.hush = {what: Hush(**hush) for what, hush in body.get("hush", {}).items()}
        memory.gaps = {phase: Gaps(*gaps) for phase, gaps in body.get("gaps", {}).items()}
        memory.counter = Gaps(*body.get("counter", ()))
        memory.lines = Lines(*body.get("lines", ()))
        memory.spent = Spent.from_json(body.get("spent", {}))
        memory.produced = Produced.from_json(body.get("produced", {}))
        memory.points = [Point(at, done) for at, done in memory.points]
        memory.earlier = [Point(at, done) for at, done in memory.earlier]
        memory.intervals = [Interval(what, every, unit) for what, every, unit in body.get("intervals", ())]
        steps = body.get("steps", {}).items()
        memory.steps = {log: Step(done, total, unit, None, rank) for log, (done, total, unit, rank) in steps}
        return memory


def grow(samples: list[list[float]], at: float, size: float) -> None:
    """Remember a size at a monotonic time; keeps about the last minute and a half of this boot."""
    samples[:] = [sample for sample in samples if sample[0] <= at]
    samples.append([at, size])
    while len(samples) > 2 and (samples[0][0] < at - GROWTH_WINDOW or len(samples) > GROWTH_SAMPLES):
        del samples[0]


def growth_per_minute(samples: list[list[float]]) -> float | None:
    if len(samples) < 2 or samples[-1][0] <= samples[0][0]:
        return None
    return (samples[-1][1] - samples[0][1]) / (samples[-1][0] - samples[0][0]) * 60
