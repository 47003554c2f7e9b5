"""What is remembered of each attempt of a job, and what of their logs can still be read."""

from __future__ import annotations

from msgspec.structs import replace

from dogwatch.model import Change, Ended, Facts, Known, Outcome, Point, Running, Waiting
from dogwatch.watcher.job import attempts
from dogwatch.watcher.job.memory import Memory
from dogwatch.wire.requests import LogCursor

LOG = "/out/slurm-7.out"


def cursor(offset: int, head: int = 1) -> LogCursor:
    return LogCursor(dev=1, ino=5, head=head, headlen=64, offset=offset)


def put_back(before: Known, number: int) -> Change:
    return Change("far/slurm:7", before, Known(state=Waiting(""), attempt=f"k{number}", attempts=number), 100.0)


def ran(offset: int, head: int = 1) -> Memory:
    """A first attempt that came to step 40 and was put back, and a second that runs."""
    memory = Memory(facts=Facts(nodes="n1", partition="gpu"))
    attempts.begin(memory, 1, 10.0, 11.0)
    memory.log.cursors[LOG] = cursor(5000)
    memory.progress.points = [Point(1.0, 40.0)]
    change = put_back(Known(state=Running(10.0), attempt="k1", attempts=1), 2)
    attempts.end(memory, change)
    assert not attempts.are_due(memory, change)
    running = Change("far/slurm:7", change.after, Known(state=Running(200.0), attempt="k2", attempts=2), 200.0)
    assert attempts.are_due(memory, running)
    memory.facts = Facts(nodes="n2")
    attempts.begin(memory, 2, 200.0, 201.0)
    memory.log.cursors[LOG] = cursor(offset, head)
    return Memory.from_json(memory.to_json())


def test_each_attempt_is_told_with_where_it_ran_and_from_where_it_wrote():
    """In a log that both wrote, one after the other."""
    first, second = attempts.document(ran(7000))
    assert (first["attempt"], first["how"], first["reached"], first["nodes"]) == (1, "requeued", 40.0, "n1")
    assert (second["attempt"], second["how"], second["nodes"]) == (2, None, "n2")
    assert (first["logs"], second["logs"]) == ({LOG: 0}, {LOG: 5000})


def test_a_log_that_was_begun_anew_holds_the_last_attempt_alone():
    """What the first wrote is gone, and the second begins at the top."""
    first, second = attempts.document(ran(300, 2))
    assert (first["logs"], second["logs"]) == ({}, {LOG: 0})


def test_a_short_log_whose_head_grew_is_the_same_log():
    """A head is known as far as the file went; that it goes further now is no other file."""
    memory = ran(7000)
    marks = memory.attempts[0]["marks"]
    marks[LOG] = replace(marks[LOG], headlen=9, head=0)
    assert [row["logs"] for row in attempts.document(memory)] == [{LOG: 0}, {LOG: 5000}]


def test_an_attempt_that_was_never_seen_running_is_one_all_the_same():
    """It ended between two polls; and an ending of its own is how it ended."""
    memory = ran(7000)
    ended = Known(state=Ended(Outcome.PREEMPTED), since=300.0, attempt="k2", attempts=2)
    attempts.end(memory, put_back(ended, 3))
    assert memory.attempts[-1]["how"] == "preempted"
    gone = Change("r", ended, Known(state=Ended(Outcome.FAILED, 1), attempt="k3", attempts=3), 400.0)
    assert attempts.are_due(memory, gone)


def test_a_job_with_one_attempt_has_nothing_to_tell():
    """Unless others wrote its log before it."""
    memory = Memory()
    attempts.begin(memory, 1, 10.0, 11.0)
    memory.log.cursors[LOG] = cursor(50)
    assert attempts.document(memory) == []
    memory.attempts[-1]["logs"][LOG] = 20
    assert attempts.document(memory)[0]["logs"] == {LOG: 20}
