"""How long `dogwatch ls --no-poll` takes against an interpreter that does nothing."""

from __future__ import annotations

import os
import sys
import time
from statistics import median
from typing import Any

from bench.figures import Figure
from bench.stage import DOGWATCH, Stage
from dogwatch.model import Ended, Evidence, Expectation, Job, Known, Outcome, Running
from dogwatch.store.rows.registration import register
from dogwatch.store.rows.tick import Event, JobUpdate, Tick, commit
from dogwatch.store.sqlite.database import SqliteStore as Store
from dogwatch.store.sqlite.location import open_store

ENDED, ACTIVE, BATCH, RUNS = 10_000, 20, 1000, 60
WORK = (
    f"`dogwatch ls --no-poll` on a store of {ENDED:,} ended and {ACTIVE} active jobs, and `python -c pass` with the "
    f"same interpreter, {RUNS} times each in turn; medians."
)


def measure() -> list[Figure]:
    with Stage() as stage:
        os.mkdir(stage.home, 0o700)
        with open_store(stage.home) as store:
            fill(store, 1_800_000_000.0)
        shown = stage.dogwatch("ls", "--no-poll").splitlines()
        if len(shown) != ACTIVE + 1:
            raise RuntimeError(f"`dogwatch ls --no-poll` printed {len(shown)} lines where {ACTIVE + 1} were expected")
        programs = {"ls": [DOGWATCH, "ls", "--no-poll"], "nothing": [sys.executable, "-c", "pass"]}
        for command in programs.values():
            seconds(command, stage.environment)
        took: dict[str, list[float]] = {name: [] for name in programs}
        for turn in range(RUNS):
            for name in sorted(programs, reverse=bool(turn % 2)):
                took[name].append(seconds(programs[name], stage.environment))
    ours, theirs = took["ls"], took["nothing"]
    print(f"  ls {median(ours) * 1e3:.1f} ms, python {median(theirs) * 1e3:.1f} ms; ", end="")
    print(f"the fastest of each {min(ours) / min(theirs):.2f} ×")
    return [Figure("cold start of ls / python -c pass", median(ours) / median(theirs), "×", limit=3.0)]


def seconds(command: list[str], environment: dict[str, str]) -> float:
    """Wall time of one run, with as little of our own in it as can be."""
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    began = time.perf_counter()
    pid = os.posix_spawn(command[0], command, environment, file_actions=quiet)
    _, status = os.waitpid(pid, 0)
    took = time.perf_counter() - began
    if status:
        raise RuntimeError(f"{command} ended with status {status}")
    return took


def fill(store: Store, now: float) -> None:
    """A store as months of use leave it, written by the store's own hand."""
    store.db.execute("PRAGMA synchronous = OFF")  # 10,000 fsyncs are not what is measured
    jobs = [_job(number, now) for number in range(ENDED + ACTIVE)]
    for job in jobs:
        register(store, job, now, now)
    for first in range(0, ENDED, BATCH):
        some = jobs[first : first + BATCH]
        events = tuple(Event("job.state", "running → ended, succeeded", ref=job.ref) for job in some)
        commit(store, Tick(now, now, jobs=tuple(_update(job, _ended(now), now) for job in some), events=events))
    commit(store, Tick(now, now, jobs=tuple(_update(job, _running(now), now) for job in jobs[ENDED:])))


def _job(number: int, now: float) -> Job:
    run = f"train-{number:06x}"
    logs = tuple(f"/home/user/.local/state/dogwatch/runs/{run}/worker-{k}.log" for k in range(4))
    return Job(
        ref=f"here/process:{run}",
        place="here",
        source="process",
        id=run,
        name=f"train-{number % 100}",
        submitted=now - number,
        registered=now - number,
        track={"run": os.path.dirname(logs[0]), "logs": list(logs), "gpus": []},
        expect=Expectation(workers=4, logs=logs),
    )


def _running(now: float) -> Known:
    return Known(
        Running(now - 60), since=now - 60, attempt="1", attempts=1, confirmed_at=now, evidence=(_evidence(now),)
    )


def _ended(now: float) -> Known:
    state = Ended(Outcome.SUCCEEDED, exit_code=0, at=now)
    return Known(state, since=now, attempt="1", attempts=1, confirmed_at=now, evidence=(_evidence(now),))


def _evidence(now: float) -> Evidence:
    return Evidence("supervisor", "exit code 0", now)


def _update(job: Job, known: Known, now: float) -> JobUpdate:
    progress: Any = {"step": 600, "total": 1000, "unit": "items", "fraction": 0.6, "rate": 10.0, "rate_average": 10.0}
    eta: Any = {"remaining_seconds": 40.0, "low_seconds": 30.0, "high_seconds": 60.0, "confidence": 0.9, "at": now + 40}
    workers = [{"index": k, "pid": 1000 + k, "doing": "running", "rate": 2.5, "step": 150} for k in range(4)]
    detail: Any = {"workers": workers}
    return JobUpdate(job.ref, known, now - 60, progress, eta, detail=detail)
