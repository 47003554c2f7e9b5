"""Replay: a run by its own clock through the real looks, rules and verdicts, without waiting for it."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from dogwatch.model import Expectation, Finding, Job, Known, StallState, Unreachable, follow
from dogwatch.sources.process import source
from dogwatch.transport.interface import Answer
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.probe_answer import probe_answer
from dogwatch.watcher.job.read_files import Readers
from dogwatch.watcher.job.stall import asks_usage, living_pids, silence_left
from dogwatch.watcher.job.watched import WatchedJob
from dogwatch.watcher.tick import poll_interval
from dogwatch.watcher.tick.conclude import answered_tick
from dogwatch.watcher.tick.judge import Identity, identity
from dogwatch.wire.answer import checked

REF, LOG, BOOT = "here/process:replayed", "/replayed/log", "b"
EPOCH = 1_800_000_000.0
PID, START = 4711, 1
TOO_LONG = 24 * 3600.0
FIRST_LOOK = 2.0


@dataclass(frozen=True, slots=True)
class Run:
    """A job's log as (seconds since its first line, bytes), in order of time."""

    name: str
    family: str
    lines: Sequence[tuple[float, bytes]]

    @property
    def seconds(self) -> float:
        return self.lines[-1][0]

    @property
    def longest_gap(self) -> float:
        return max((later[0] - earlier[0] for earlier, later in pairwise(self.lines)), default=0.0)

    def until(self, moment: float) -> Run:
        """The same run, hung after this moment."""
        return Run(self.name, self.family, [line for line in self.lines if line[0] <= moment])


class Stand:
    """What answers instead of a machine: the log so far, and processes that cannot be inspected (`hidden`), or that
    work while the log moves and are `asleep` or `spinning` for ever after it has ended."""

    def __init__(self, run: Run, processes: str, now: float) -> None:
        self.processes, self.now = processes, now
        self._times = [at for at, _ in run.lines]
        self._text = b"".join(text for _, text in run.lines).decode("latin-1")
        self._ends = [0, *accumulate(len(text) for _, text in run.lines)]

    def close(self) -> None:
        pass

    def ask(self, request: Mapping[str, Any], deadline: float = 0.0) -> Answer | Unreachable:
        body: dict[str, Any] = {"process": self._process(), "disks": {"ok": True, "disks": {}}}
        body["logs"] = {"ok": True, REF: self._log(request["logs"][REF]["known"].get(LOG, {}))}
        if "usage" in request:
            body["usage"] = {"ok": True, REF: self._usage()}
        return Answer("here", EPOCH + self.now, 0.0, checked(body))

    def _process(self) -> dict[str, Any]:
        doing = {"hidden": "hidden", "asleep": "sleeping", "spinning": "running"}[self.processes]
        row: dict[str, Any] = {"pid": PID, "doing": doing, "start": START, "boot": BOOT, "started": EPOCH}
        row |= dict.fromkeys(("exit", "oom", "kernel_log", "cpu", "rss", "children", "threads", "uid", "command"))
        return {"ok": True, "runs": {}, "pids": {REF: [row]}, "find": {}}

    def _log(self, known: Mapping[str, Any]) -> dict[str, Any]:
        offset = known.get("offset", 0)
        lines = bisect_right(self._times, self.now)
        end, written = self._ends[lines], EPOCH + self._times[max(0, lines - 1)]
        found = {"dev": 1, "ino": 1, "head": 0, "headlen": 0, "size": end, "mtime": written, "from": offset}
        return {"files": {LOG: {**found, "text": self._text[offset:end], "reset": None, "skipped": 0}}}

    def _usage(self) -> dict[str, Any]:
        worked = min(self.now, self._times[-1])
        cpu = self.now if self.processes == "spinning" else worked
        moved = {"read": int(worked * 1e6), "write": 0, "unread": 0}
        return {"processes": 1, "cpu": cpu, "blocked": 0, "stopped": 0, "age": self.now + 1.0, **moved}


class Replay:
    """One watcher over one replayed job. `step()` makes the next poll, at the pace at which a watcher makes it."""

    def __init__(self, run: Run, processes: str = "hidden", memory: Memory | None = None, now: float = 0.0) -> None:
        self.stand = Stand(run, processes, now)
        job = Job(
            REF,
            "here",
            "process",
            "replayed",
            "replayed",
            track={"workers": [[PID, START, BOOT]]},
            expect=Expectation(logs=(LOG,)),
        )
        self.one = WatchedJob(job, Known(), memory or Memory(), Readers(None))
        self.opened: list[Finding] = []
        self._open: dict[Identity, Finding] = {}
        self._last: float | None = None
        self.nearest = 0.0  # the most of its silence limit that a silence took
        self.stalled_at: float | None = None  # when it was first called so

    @property
    def now(self) -> float:
        return self.stand.now

    @property
    def stalled(self) -> bool:
        return self.one.verdict is not None and self.one.verdict.word is StallState.STALLED

    def interval(self) -> float:
        one = self.one
        remaining = one.eta.remaining if one.eta is not None else None
        return poll_interval.interval(one.memory.age, remaining, silence_left(one.memory, one.verdict, one.workers))

    def step(self) -> None:
        """Let one interval pass, and look."""
        now = self.stand.now = self.stand.now + (FIRST_LOOK if self._last is None else self.interval())
        one, at = self.one, EPOCH + self.stand.now
        silent = {REF: living_pids(one.workers)} if asks_usage(one.memory, now) else {}
        known = {REF: one.known}
        seen = probe_answer(
            self.stand,
            {source.kind: source},
            [one.job],
            known,
            {REF: one.memory},
            place="here",
            at=at,
            deadline=1.0,
            silent={ref: pids for ref, pids in silent.items() if pids},
        )
        assert not isinstance(seen.look, Unreachable)
        after, changes = follow(known, seen.look)
        result = answered_tick(
            seen,
            seen.look,
            changes,
            after,
            {REF: one},
            watched=0.0 if self._last is None else now - self._last,
            was_unreachable=False,
            open_now=self._open,
            mono=now,
            may_wait=True,
        )
        self._last = now
        self.one = result.jobs[REF]
        if self.one.verdict is not None and self.one.verdict.silence_limit:
            self.nearest = max(self.nearest, self.one.verdict.silent / self.one.verdict.silence_limit)
        if self.stalled and self.stalled_at is None:
            self.stalled_at = now
        self.opened += result.opened
        for finding in result.resolved:
            del self._open[identity(finding)]
        self._open.update({identity(finding): finding for finding in result.opened})

    def to_end(self, end: float) -> None:
        while self.now < end:
            self.step()

    def left_to(self, run: Run, processes: str) -> Replay:
        """Another watcher that takes over from what this one would have saved, over a run that goes on otherwise."""
        self.one.readers.keep(self.one.memory)
        memory = Memory.from_json(json.loads(json.dumps(self.one.memory.to_json())))
        other = Replay(run, processes, memory, self.now)
        other.one.known = self.one.known
        other.one.workers = self.one.workers
        other._last = self._last
        return other


@dataclass(frozen=True, slots=True)
class Called:
    """A silence of a healthy run that was called a stall: after how many seconds, how long it lasted, and the longest
    gap before it."""

    after: float
    lasted: float
    before: float


@dataclass(frozen=True, slots=True)
class Measured:
    """The rules that spoke of the healthy run, the first silence of it that was called a stall, and the most of its
    silence limit that it took; and by kind of hang, the seconds from its last line before each cut to the verdict."""

    alarms: Sequence[str]
    called: Called | None
    nearest: float
    noticed: Mapping[str, Sequence[float]]


def measure_run(run: Run, cuts: Sequence[float], kinds: Sequence[str]) -> Measured:
    noticed: dict[str, list[float]] = {kind: [] for kind in kinds}
    healthy = Replay(run)
    for cut in cuts:
        healthy.to_end(cut * run.seconds)
        hung = run.until(healthy.now)
        for kind in kinds:
            noticed[kind].append(_until_stalled(healthy.left_to(hung, kind), hung.seconds))
    healthy.to_end(run.seconds)
    called = None if healthy.stalled_at is None else _called(run, healthy.stalled_at)
    return Measured([finding.rule for finding in healthy.opened], called, healthy.nearest, noticed)


def _called(run: Run, at: float) -> Called:
    times = [moment for moment, _ in run.lines]
    lines = bisect_right(times, at)
    last, following = times[lines - 1], times[min(lines, len(times) - 1)]
    return Called(at - last, following - last, run.until(last).longest_gap)


def _until_stalled(watcher: Replay, since: float) -> float:
    while not watcher.stalled and watcher.now - since < TOO_LONG:
        watcher.step()
    return watcher.now - since
