"""What the logs of a worker that has ended say of its end, and which logs are a worker's own."""

from __future__ import annotations

from dataclasses import replace

from dogwatch.model import Job, Known, Outcome, Step, Worker
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.read_files import Readers
from dogwatch.watcher.job.state.log import LogState
from dogwatch.watcher.job.state.progress import ProgressState
from dogwatch.watcher.job.watched import WatchedJob
from dogwatch.watcher.job.worker_ends import with_ends, with_own_logs
from dogwatch.wire.requests import LogCursor

JOB = Job("here/process:x", "here", "process", "x", "x")
TRACEBACK = b'Traceback (most recent call last):\n  File "/w.py", line 3, in <module>\nKeyError: 3\n'
GONE = Worker(1, "gone", outcome=Outcome.UNKNOWN, reason="exit code unknown (not started by `dogwatch run`)")


def logs(*names: str) -> LogState:
    return LogState(cursors={f"/l/{name}": LogCursor(1, 1, 1, 1, 0) for name in names})


def test_logs_are_told_apart_by_the_number_in_their_names() -> None:
    """The plainest name comes first, and a log that a worker was seen to write is not given to another."""
    memory = Memory(log=logs("worker_0.log", "worker_1.log", "worker_1_stderr.log", "other_0.log"))
    held = Worker(1, "running", log="/l/other_0.log", logs=("/l/other_0.log",))
    zero, one = with_own_logs([Worker(0, "running"), held], memory, JOB)
    assert (zero.log, zero.logs) == ("/l/worker_0.log", ("/l/worker_0.log",))
    assert one.logs == ("/l/other_0.log",)
    _, one = with_own_logs([Worker(0, "running"), Worker(1, "running")], memory, JOB)
    assert one.logs == ("/l/worker_1.log", "/l/worker_1_stderr.log")


def test_logs_that_are_counted_from_one_belong_to_workers_that_are_counted_from_zero() -> None:
    """worker_1.log to worker_2.log of two workers."""
    memory = Memory(log=logs("worker_1.log", "worker_2.log"))
    assert [w.log for w in with_own_logs([Worker(0, "running"), Worker(1, "running")], memory, JOB)] == [
        *memory.log.cursors
    ]


def watched(memory: Memory, **texts: bytes) -> WatchedJob:
    one = WatchedJob(JOB, Known(), memory, Readers(None))
    for name, text in texts.items():
        path = f"/l/{name}.log"
        memory.log.cursors[path] = LogCursor(1, 1, 1, 1, len(text))
        one.readers.log_evidence.hear(path, text, 0, False)
    return one


def test_an_error_in_any_of_its_logs_is_a_failure() -> None:
    """Nobody recorded its exit code; its stderr says enough. What was found is kept while nothing is new."""
    one = watched(Memory(), worker_0=b"ok\n", worker_1=b"ok\n", worker_1_stderr=TRACEBACK)
    _, gone = with_ends([Worker(0, "running"), GONE], one, JOB, None, news=True)
    assert gone.outcome == Outcome.FAILED
    assert gone.reason.startswith("KeyError: 3 (worker_1_stderr.log:3)")
    one.readers = Readers(None)
    assert with_ends([Worker(0, "running"), GONE], one, JOB, None, news=False)[1] == gone


def test_another_workers_error_is_not_its_own() -> None:
    """Each is judged by its own logs."""
    one = watched(Memory(), worker_0=TRACEBACK, worker_1=b"ok\n")
    _, gone = with_ends([Worker(0, "running"), GONE], one, JOB, None, news=True)
    assert (gone.outcome, gone.reason, gone.short) == (Outcome.UNKNOWN, GONE.reason, None)


def test_a_share_that_was_left_undone_is_told() -> None:
    """By its own counter; one at its total has left nothing."""
    progress = ProgressState(steps={"/l/worker_1.log": Step(30, 100, "items")})
    one = watched(Memory(progress=progress), worker_0=b"", worker_1=b"")
    _, gone = with_ends([Worker(0, "running"), GONE], one, JOB, None, news=True)
    assert (gone.outcome, gone.short) == (Outcome.UNKNOWN, True)
    assert gone.reason == "its log stops at 30 of 100 items; exit code unknown (not started by `dogwatch run`)"
    one.memory.progress.steps["/l/worker_1.log"] = Step(100, 100, "items")
    assert with_ends([Worker(0, "running"), GONE], one, JOB, None, news=True)[1].short is False


def test_a_recorded_ending_keeps_its_word_first() -> None:
    """The exit code, then what the log says of it."""
    one = watched(Memory(), worker_1=TRACEBACK)
    failed = replace(GONE, outcome=Outcome.FAILED, exit_code=1, reason="exit code 1")
    (told,) = with_ends([failed], one, JOB, None, news=True)
    assert told.reason.startswith("exit code 1; KeyError: 3")
