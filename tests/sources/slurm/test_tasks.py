"""Arrays and heterogeneous jobs: one Job with its tasks, rolled up."""

from __future__ import annotations

import pytest

from dogwatch.model import Ended, Missing, Outcome, Running, Waiting
from dogwatch.sources.slurm import spans
from tests.sources.slurm.lines import DISABLED, NOW, SUBMIT, Watcher, ran, record, row, whole

LATER = SUBMIT + 500


@pytest.mark.parametrize(
    ("text", "count"),
    [("3", 1), ("2-9%2", 8), ("[1,5,9,11,13,15]", 6), ("0-100:5%3", 21), ("0-9999", 10000), ("0-999999999", 10**9)],
)
def test_task_lists_are_counted_without_being_listed(text: str, count: int) -> None:
    """Ranges, steps and limits on how many run at once."""
    assert (len(spans.span(text)), spans.span(text).whole) == (count, True)


def test_a_task_list_that_slurm_cut_short_is_known_to_be() -> None:
    """Without SLURM_BITSTR_LEN the list ends in dots."""
    assert not spans.span("1,5,9,11,...").whole


def test_task_lists_are_written_as_slurm_writes_them() -> None:
    """What is noted stays short."""
    assert spans.spell([7, 0, 1, 2, 3, 4, 5, 5]) == "0-5,7"


def test_an_array_runs_while_a_task_of_it_does() -> None:
    """Running, waiting and ended tasks are counted, and the odd ones shown first."""
    watcher = Watcher()
    known = watcher.look(
        row("PENDING", "12_[4-9%2]", Reason="JobArrayTaskLimit", StartTime="N/A", NodeList="")
        + row("RUNNING", "12_2", NodeList="gpu02")
        + row("RUNNING", "12_3")
        + row("COMPLETED", "12_0")
        + row("TIMEOUT", "12_1")
    )
    assert known.state == Running(SUBMIT + 10, "gpu02,gpu01")
    assert known.native == "6 PENDING, 2 RUNNING, 1 COMPLETED, 1 TIMEOUT"
    tasks = watcher.tasks
    assert (tasks.count, tasks.states) == (10, {"running": 2, "succeeded": 1, "timed_out": 1, "waiting": 6})
    assert [task.id for task in tasks.rows] == ["1", "2", "3", "4-9%2", "0"]
    assert tasks.rows[0].outcome == "timed_out"


def test_tasks_that_the_queue_forgot_still_count() -> None:
    """Finished tasks leave the controller's memory one by one, while others still wait."""
    watcher = Watcher()
    watcher.look(row("RUNNING", "12_0") + row("FAILED", "12_1", exit_code="0:9") + row("PENDING", "12_[2-3]"))
    watcher.look(row("COMPLETED", "12_0") + row("RUNNING", "12_2") + row("PENDING", "12_3"), at=NOW + 60)
    watcher.look(row("RUNNING", "12_3"), at=NOW + 120)
    assert watcher.tasks.states == {"failed": 1, "running": 1, "succeeded": 1}
    watcher.look(row("RUNNING", "12_2") + row("RUNNING", "12_3"), at=NOW + 180)
    assert watcher.tasks.states == {"failed": 1, "running": 2, "succeeded": 1}
    assert watcher.job.track["ended"] == {"COMPLETED": "0", "FAILED": "1"}


def test_between_two_tasks_an_array_is_under_way() -> None:
    """It does not fall back to waiting each time that a task ends."""
    known = Watcher().look(row("COMPLETED", "12_0") + row("PENDING", "12_[1-9%1]", Reason="Priority", StartTime="N/A"))
    assert isinstance(known.state, Running)
    assert "other jobs have a higher priority" in known.reason


def test_an_array_that_has_not_begun_waits() -> None:
    """For the reason that its tasks wait for."""
    known = Watcher().look(row("PENDING", "12_[0-9]", Reason="Priority", StartTime="N/A", NodeList=""))
    assert known.state == Waiting("other jobs have a higher priority")


def test_an_array_ends_as_its_worst_task_and_names_it() -> None:
    """One failure among ten is a failure, with its exit code; the accounting tells all of them."""
    watcher = Watcher()
    watcher.look(row("RUNNING", "12_9"))
    booked = "".join(whole("COMPLETED", id=f"12_{task}") for task in range(9))
    watcher.look("", booked + whole("FAILED", "7:0", id="12_9"))
    assert watcher.known.state == Ended(Outcome.FAILED, 7, None, SUBMIT + 70, "1 of 10 tasks failed: 9 (exit code 7)")
    assert watcher.known.native == "9 COMPLETED, 1 FAILED"
    assert watcher.known.settled
    assert watcher.facts.efficiency is not None
    assert watcher.facts.efficiency.cpu_seconds == 900


def test_an_array_whose_waiting_part_was_cancelled_is_counted_whole() -> None:
    """The accounting has one line for all tasks that never started."""
    watcher = Watcher()
    cancelled = record("CANCELLED by 1000", id="12_[1-99]", Start="None", ElapsedRaw=0)
    watcher.look("", whole(id="12_0") + cancelled)
    assert watcher.tasks.states == {"cancelled": 99, "succeeded": 1}
    assert isinstance(watcher.known.state, Ended)
    assert watcher.known.state.outcome is Outcome.CANCELLED


def test_a_group_that_queue_and_accounting_spell_differently_is_counted_once() -> None:
    """squeue writes how many may run at once, and the accounting may still have the group as it was before."""
    watcher = Watcher()
    watcher.look(row("RUNNING", "12_0") + row("PENDING", "12_[1-9%2]", StartTime="N/A"))
    cancelled = record("CANCELLED by 1000", id="12_[1-9]", Start="None", ElapsedRaw=0)
    watcher.look(row("COMPLETED", "12_0") + row("CANCELLED", "12_[1-9%2]"), whole(id="12_0") + cancelled, at=NOW + 60)
    assert (watcher.tasks.count, watcher.tasks.states) == (10, {"cancelled": 9, "succeeded": 1})
    stale = record("PENDING", id="12_[0-9]", Start="Unknown", End="Unknown")
    watcher.look("", whole(id="12_0") + stale + cancelled, at=NOW + 600)
    assert (watcher.tasks.count, watcher.tasks.states) == (10, {"cancelled": 9, "succeeded": 1})


def test_one_task_that_nobody_knows_the_ending_of_makes_the_array_wait_and_then_unknown() -> None:
    """A task whose record still says RUNNING has not succeeded."""
    watcher = Watcher()
    watcher.look(row("RUNNING", "12_0") + row("RUNNING", "12_1"))
    booked = whole(id="12_0") + record("RUNNING", id="12_1", End="Unknown")
    assert watcher.look("", booked, at=NOW + 60).state == Missing(NOW + 60)
    watcher.look("", booked, at=NOW + 361)
    assert isinstance(watcher.known.state, Ended)
    assert watcher.known.state.outcome is Outcome.UNKNOWN


def test_a_task_that_is_put_back_does_not_make_a_new_attempt_of_the_array() -> None:
    """Only an array that was over and comes again is a new attempt."""
    watcher = Watcher()
    watcher.look(row("RUNNING", "12_0") + row("RUNNING", "12_1"))
    again = row("PENDING", "12_1", RestartCnt=1, SubmitTime=LATER, Reason="BeginTime")
    known = watcher.look(row("RUNNING", "12_0") + again, at=NOW + 60)
    assert (type(known.state), known.attempts) == (Running, 1)
    both = [whole(id="12_0"), whole("NODE_FAIL", id="12_1"), whole(id="12_1", Submit=LATER)]
    known = watcher.look("", "".join(both), at=NOW + 120)
    assert isinstance(known.state, Ended)
    assert (known.state.outcome, known.attempts) == (Outcome.SUCCEEDED, 1)
    known = watcher.look(row("PENDING", "12_[0-1]", RestartCnt=2, SubmitTime=LATER + 60), at=NOW + 180)
    assert (type(known.state), known.attempts) == (Waiting, 2)


def test_a_task_that_waits_in_the_queue_outranks_its_old_record() -> None:
    """The accounting has the run before the requeue."""
    watcher = Watcher()
    known = watcher.look(row("PENDING", "12_[0-3]", StartTime="N/A"), whole("NODE_FAIL", id="12_2"))
    assert (type(known.state), watcher.tasks.count) == (Waiting, 4)


@pytest.mark.parametrize(("queued", "booked"), [("RUNNING", "PENDING"), ("COMPLETED", "COMPLETED")])
def test_a_record_of_the_array_itself_is_no_task_of_it(queued: str, booked: str) -> None:
    """As Slurm 22.05 answers in the second in which tasks start or end: ten in the queue, and one record `12`."""
    watcher = Watcher()
    watcher.look("".join(row(queued, f"12_{task}") for task in range(1, 11)), record(booked))
    assert (watcher.tasks.count, watcher.known.native) == (10, f"10 {queued}")


def test_a_record_of_the_array_itself_does_not_end_it() -> None:
    """The queue has dropped its tasks, and the accounting does not know yet that it has any: nothing has succeeded."""
    watcher = Watcher()
    watcher.look(row("FAILED", "12_0", exit_code="0:9") + row("RUNNING", "12_1"))
    assert watcher.look("", record("COMPLETED"), at=NOW + 60).state == Missing(NOW + 60)
    known = watcher.look("", whole("FAILED", "9:0", id="12_0") + whole(id="12_1"), at=NOW + 120)
    assert isinstance(known.state, Ended)
    assert known.state.outcome is Outcome.FAILED


def test_without_accounting_an_array_ends_by_what_the_queue_showed() -> None:
    """Every task was seen ending, one poll or another."""
    watcher = Watcher()
    watcher.look(row("COMPLETED", "12_0") + row("RUNNING", "12_1"), ran(rc=1, err=DISABLED))
    known = watcher.look(row("COMPLETED", "12_1"), ran(rc=1, err=DISABLED), at=NOW + 400)
    assert isinstance(known.state, Ended)
    assert (known.state.outcome, known.native, known.settled) == (Outcome.SUCCEEDED, "2 COMPLETED", True)


def test_ten_thousand_tasks_are_told_in_two_hundred_rows() -> None:
    """Bounded, with the failed ones among them."""
    watcher = Watcher()
    lines = [row("RUNNING", f"12_{task}") for task in range(1000)]
    lines.append(row("FAILED", "12_1000", exit_code="0:9") + row("PENDING", "12_[1001-9999%1000]", StartTime="N/A"))
    watcher.look("".join(lines))
    tasks = watcher.tasks
    assert (tasks.count, len(tasks.rows), tasks.rows[0].id) == (10000, 200, "1000")


def test_a_heterogeneous_job_is_one_job_of_its_parts() -> None:
    """Its parts have ids of their own, and the first one's is the job's."""
    watcher = Watcher()
    known = watcher.look(row("RUNNING", "12+0") + row("RUNNING", "12+1", NodeList="cpu01", JobID=13, ArrayJobID=13))
    assert known.state == Running(SUBMIT + 10, "gpu01,cpu01")
    watcher.look("", whole(id="12+0") + whole("FAILED", "2:0", id="12+1"), at=NOW + 60)
    assert watcher.known.reason == "1 of 2 tasks failed: +1 (exit code 2)"
    assert [task.id for task in watcher.tasks.rows] == ["+1", "+0"]
