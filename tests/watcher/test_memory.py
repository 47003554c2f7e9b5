"""What watching a job has taught survives a restart of the watcher."""

from __future__ import annotations

import json

from dogwatch.model import Expectation, Interval, Job, Point, Step
from dogwatch.watcher.job.artifact_document import checkpoint_interval
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.read_files import News, pass_time
from dogwatch.watcher.job.state.files import grow, growth_per_minute
from dogwatch.watcher.job.state.progress import ProgressState
from dogwatch.watcher.job.state.usage import UsageState

JOB = Job("here/process:t", "here", "process", "t", "t", expect=Expectation(logs=("/l/*.log",)))


def test_a_memory_is_the_same_after_json() -> None:
    """Every part of it."""
    memory = Memory(
        age=3.5,
        progress=ProgressState(points=[Point(1.0, 2.0)], steps={"/l/1.log": Step(3.0, 9.0, "items")}, milestone=25),
    )
    memory.log.intervals = [Interval("save", 500.0, "steps")]
    memory.silence.lines.seen["0badcafe"] = 3
    memory.silence.clock("log").seconds += 7.0
    grow(memory.files.outputs.setdefault("/o", []), 10.0, 5)
    assert Memory.from_json(json.loads(json.dumps(memory.to_json()))) == memory


def test_a_memory_of_an_older_or_newer_release_still_opens() -> None:
    """Keys that are missing get their defaults, unknown ones are left out."""
    assert Memory.from_json({"age": 2.0, "from_the_future": 1}) == Memory(age=2.0)


def test_a_state_that_cannot_be_read_is_forgotten_alone() -> None:
    """A watcher starts with what is left: one wrong value takes neither the other states nor the watch with it."""
    memory = Memory(age=3.5, progress=ProgressState(milestone=25), usage=UsageState(ask_after=9.0))
    body = memory.to_json() | {"usage": {"ask_after": "soon"}}
    assert Memory.from_json(body) == Memory(age=3.5, progress=ProgressState(milestone=25))


def test_patience_runs_only_while_we_look() -> None:
    """A gap of our own passes no time, and a sign of life starts the clock again but is remembered."""
    memory = Memory()
    for watched in (5.0, 5.0, 0.0):
        pass_time(memory, watched, News(), JOB, moved=False)
    assert memory.silence.clocks["log"].seconds == 10.0
    pass_time(memory, 5.0, News(log_grew=True), JOB, moved=False)
    assert (memory.silence.clocks["log"].seconds, memory.silence.clocks["log"].longest) == (0.0, 10.0)
    assert memory.age == 15.0


def test_the_line_at_which_a_log_stood_counts_when_its_silence_ends() -> None:
    """Whatever ended it, unless nobody was looking; another attempt begins with no line."""
    memory = Memory()
    pass_time(memory, 5.0, News(log_grew=True, last="step"), JOB, moved=False)
    pass_time(memory, 5.0, News(output_grew=True), JOB, moved=False)
    pass_time(memory, 0.0, News(log_grew=True, last="test"), JOB, moved=False)
    assert (memory.silence.lines.seen, memory.silence.lines.last) == ({"step": 1}, "test")
    memory.begin(at=100.0)
    assert (memory.silence.lines.seen, memory.silence.lines.last) == ({"step": 1}, "")


def test_growth_is_measured_over_the_last_minute_or_so() -> None:
    """Old samples leave, so that a file that stands still shows it."""
    samples: list[list[float]] = []
    for second in range(0, 300, 10):
        grow(samples, float(second), min(second, 100) * 60)
    assert growth_per_minute(samples) == 0
    assert len(samples) <= 13


def test_checkpoints_written_together_are_one_wave() -> None:
    """Four workers that save at the same moment do not make an interval of milliseconds."""
    one_wave = [10.0, 10.1, 10.2, 10.3]
    assert checkpoint_interval(one_wave) is None
    assert checkpoint_interval([*one_wave, 70.0, 70.1, 70.3, 130.2, 130.3]) in (59.7, 59.9)
