"""A job's history as the watcher keeps it: what it recalls, what a restart leaves, what is made of it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from dogwatch.estimate.series import combine, rates
from dogwatch.model import Ended, Eta, Job, Outcome, Progress, Running, Step
from dogwatch.transport.interface import Answer
from dogwatch.transport.local import Here
from dogwatch.watcher.job.eta import good_for, outlook
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.read_files import News, Readers, read_logs
from dogwatch.watcher.job.state.progress import counted_at, recall, remember
from dogwatch.watcher.job.state.workers import keep_worker_point

JOB = Job("here/process:x", "here", "process", "x", "x")


def progress(memory: Memory, total: float) -> Progress:
    return Progress(memory.progress.points[-1].done, total, "steps", None, None, 0.0)


def looked(path: Path, memory: Memory) -> News:
    """What the real probe reads of a real log at first sight, taken into the memory."""
    transport, news = Here(), News()
    try:
        answer = transport.ask({"logs": {"job": {"globs": [str(path)], "known": {}}}}, 10.0)
    finally:
        transport.close()
    assert isinstance(answer, Answer)
    read_logs(memory, Readers(None), answer.checked.logs.rows["job"], news)
    memory.progress.steps.update(news.steps)
    return news


def test_a_job_that_is_met_in_its_middle_has_an_estimate_at_once(tmp_path: Path) -> None:
    """Its log has told its pace by its own clock, though it was looked at only once."""
    log = tmp_path / "train.log"
    rows = (f"2026-01-02 {n // 60:02d}:{n % 60:02d}:00 step {n}/1000 loss: 0.5\n" for n in range(301))
    log.write_text("".join(rows))
    memory = Memory()
    news = looked(log, memory)
    whole = combine(memory.progress.steps)
    assert whole is not None
    mono = 5000.0
    recall(memory.progress, news.told, news.ages(log.stat().st_mtime + 20), whole, mono)
    remember(memory.progress, mono, whole)
    eta = outlook(memory, progress(memory, 1000), mono, JOB)
    assert eta is not None
    assert eta.remaining == pytest.approx(700 * 60 - 20, rel=0.05)


def test_a_log_without_times_tells_no_history(tmp_path: Path) -> None:
    """One look at it is one point, and no estimate."""
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {n}/1000 loss: 0.5\n" for n in range(301)))
    memory = Memory()
    news = looked(log, memory)
    whole = combine(memory.progress.steps)
    assert whole is not None
    recall(memory.progress, news.told, news.ages(0.0), whole, 5000.0)
    remember(memory.progress, 5000.0, whole)
    assert len(memory.progress.points) == 1
    assert outlook(memory, progress(memory, 1000), 5000.0, JOB) is None


def test_an_attempt_that_starts_over_is_foretold_by_the_one_before() -> None:
    """The first died at 900 of 1000; the second has not moved yet and is known all the same, also after a save."""
    memory = Memory()
    for step in range(0, 901, 10):
        remember(memory.progress, 2.0 * step, Step(float(step), 1000.0, "steps"))
    remember(memory.progress, 5000.0, Step(0.0, 1000.0, "steps"))
    memory = Memory.from_json(json.loads(json.dumps(memory.to_json())))
    assert memory.progress.points[-1].done == 0
    eta = outlook(memory, progress(memory, 1000), 5000.0, JOB)
    assert eta is not None
    assert eta.remaining == pytest.approx(2000, rel=0.05)
    assert eta.confidence < 0.9


def test_a_total_that_grows_with_the_work_is_followed() -> None:
    """Half a step of new work for each that is done."""
    memory = Memory()
    for step in range(0, 1001, 50):
        remember(memory.progress, float(step), Step(float(step), 1000.0 + step / 2, "items"))
    eta = outlook(memory, progress(memory, 1500), 1000.0, JOB)
    assert eta is not None
    assert eta.remaining == pytest.approx(1000, rel=0.03)


def test_a_job_waits_for_its_slowest_worker() -> None:
    """Four workers with logs and totals of their own, one of them at half the pace of the others."""
    memory = Memory()
    logs = [f"/l/worker_{i}.log" for i in range(4)]
    for second in range(0, 401, 20):
        for i, log in enumerate(logs):
            memory.progress.steps[log] = Step(second / (2 if i == 3 else 1), 1000.0, "items")
            keep_worker_point(memory.workers, str(i), float(second), memory.progress.steps[log].done)
        whole = combine(memory.progress.steps)
        assert whole is not None
        remember(memory.progress, float(second), whole)
    eta = outlook(memory, progress(memory, 4000), 400.0, replace(JOB, track={"logs": logs}))
    assert eta is not None
    assert eta.remaining == pytest.approx(1600, rel=0.08)


def test_an_estimate_is_made_anew_when_it_could_look_different() -> None:
    """Soon where little is left, within half a minute always; and where there was none, once the counter moves."""
    assert good_for(Eta(100.0, 90.0, 120.0, 0.9), stands=False) == pytest.approx(2.0)
    assert good_for(Eta(1e6, 9e5, 2e6, 0.9), stands=True) == 30.0
    assert good_for(None, stands=False) == 0.0
    assert good_for(None, stands=True) == math.inf


def test_a_job_that_ended_while_nobody_looked_was_as_fast_as_it_was() -> None:
    """Its last step was made before its end, not at the poll that found it an hour later."""
    memory, at = Memory(), 1_800_000_000.0
    remember(memory.progress, 1000.0, Step(10.0, 100.0))
    remember(memory.progress, 1010.0, Step(20.0, 100.0))
    over = Ended(Outcome.SUCCEEDED, at=at - 3600.0)
    mono = counted_at(memory.progress, over, at, 1090.0 + 3600.0)
    remember(memory.progress, mono, Step(100.0, 100.0))
    assert rates(memory.progress.points, mono)[1] == pytest.approx(1.0)
    assert counted_at(memory.progress, over, at, 1095.0) == 1090.0
    assert (
        counted_at(memory.progress, Running(), at, 5000.0)
        == counted_at(memory.progress, Ended(Outcome.FAILED), at, 5000.0)
        == 5000.0
    )
