"""How lines that error patterns match are counted."""

from __future__ import annotations

from dogwatch.model import ErrorGroup, Trouble
from dogwatch.watcher.job.error_groups import count_errors, error_groups
from dogwatch.watcher.job.memory import Memory

REFUSED = Trouble("warning", "Connection refused", "refused", "refused")


def test_matches_of_one_pattern_are_one_group() -> None:
    """Over all polls, with the newest line, and in a memory that was saved between."""
    memory = Memory()
    count_errors(memory, [("/l/0.log", REFUSED)] * 3, 10.0)
    memory = Memory.from_json(memory.to_json())
    last = Trouble("warning", "again refused", "refused", "refused")
    count_errors(memory, [("/l/0.log", REFUSED), ("/l/0.log", last)], 20.0)
    count_errors(memory, [], 30.0)
    assert error_groups(memory) == (ErrorGroup("refused", "warning", 5, "refused", "again refused", 20.0),)


def test_a_line_in_two_logs_of_one_worker_counts_once() -> None:
    """A worker that logs to a file and to stderr says everything twice; two workers say it each for themselves."""
    memory = Memory()
    said = [("/l/worker_0.log", REFUSED), ("/l/worker_0_stderr.log", REFUSED), ("/l/worker_1.log", REFUSED)]
    count_errors(memory, said, 1.0)
    assert error_groups(memory)[0].count == 2
