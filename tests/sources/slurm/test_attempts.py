"""Which job a line is about, and which run of it: requeues, preemption, and ids that are used again."""

from __future__ import annotations

from dogwatch.model import EarlierRun, Ended, Missing, Outcome, Running, Waiting
from dogwatch.sources.slurm import source
from dogwatch.wire.questions import Questions
from tests.sources.slurm.lines import (
    DISABLED,
    NOW,
    REF,
    SUBMIT,
    Watcher,
    answer,
    ended,
    job,
    ran,
    record,
    row,
    running,
    whole,
)

LATER = SUBMIT + 500


def history(asked: Questions) -> list[str]:
    """The ids that the accounting is asked about whatever the queue says."""
    assert asked.commands is not None
    follow_up = asked.commands["slurm.accounting"].follow_up
    assert follow_up is not None
    return follow_up.always


def test_a_requeue_is_a_new_attempt_that_waits() -> None:
    """Same id, restarts counted up, a new submit time, PENDING until its begin time."""
    watcher = running()
    known = watcher.look(
        row("PENDING", SubmitTime=LATER, RestartCnt=1, Reason="BeginTime", StartTime=LATER + 120, NodeList="")
    )
    assert (known.state, known.attempts) == (Waiting("its begin time has not come"), 2)
    assert watcher.facts.expected_start == LATER + 120
    known = watcher.look(row("RUNNING", SubmitTime=LATER, RestartCnt=1, StartTime=LATER + 120), at=NOW + 60)
    assert (type(known.state), known.attempts) == (Running, 2)
    watcher.look("", whole("NODE_FAIL") + whole(Submit=LATER, End=LATER + 200), at=NOW + 120)
    assert (ended(watcher).outcome, watcher.known.attempts) == (Outcome.SUCCEEDED, 2)


def test_a_requeue_that_keeps_its_submit_time_is_told_by_its_restarts() -> None:
    """A node that fails at the launch leaves the submit time as it was."""
    assert running().look(row("RUNNING", RestartCnt=1, StartTime=LATER)).attempts == 2


def test_the_word_of_the_run_before_is_not_taken_for_the_ending_of_this_one() -> None:
    """Under the same submit time the accounting keeps NODE_FAIL and its end until it hears of the second ending."""
    watcher = running()
    watcher.look(row("RUNNING", RestartCnt=1, StartTime=LATER))
    stale = whole("NODE_FAIL", Start=LATER, End=SUBMIT + 70)
    for queued in (row("FAILED", RestartCnt=1, StartTime=LATER, EndTime=LATER + 60, exit_code="256"), ""):
        watcher.look(queued, stale, at=NOW + 60)
        assert not isinstance(watcher.known.state, Ended)
    watcher.look("", whole("FAILED", "1:0", Start=LATER, End=LATER + 60), at=NOW + 90)
    assert (ended(watcher).outcome, watcher.known.attempts) == (Outcome.FAILED, 2)


def test_a_requeue_counts_once_though_its_submit_time_moves_later() -> None:
    """While the old run is cleaned up the restarts are already counted and the submit time is still the old one."""
    watcher = running()
    assert watcher.look(row("COMPLETING", RestartCnt=1)).attempts == 1
    assert watcher.look(row("PENDING", RestartCnt=1), at=NOW + 10).attempts == 2
    assert watcher.look(row("PENDING", RestartCnt=1, SubmitTime=LATER), at=NOW + 20).attempts == 2
    known = watcher.look("", whole("REQUEUED") + whole("FAILED", "2:0", Submit=LATER), at=NOW + 300)
    assert (ended(watcher).exit_code, known.attempts) == (2, 2)


def test_a_requeue_between_two_looks_is_followed_through_the_accounting() -> None:
    """The run that was known says REQUEUED or NODE_FAIL, and the next one of the same name is ours."""
    watcher = running()
    known = watcher.look("", whole("NODE_FAIL") + whole(Submit=LATER, End=LATER + 60))
    assert (ended(watcher).outcome, known.attempts) == (Outcome.SUCCEEDED, 2)
    assert watcher.job.track["submit"] == LATER


def test_a_requeued_record_alone_is_not_an_ending() -> None:
    """It is on its way back into the queue."""
    assert running().look("", whole("REQUEUED")).state == Missing(NOW)


def test_the_queue_s_running_beats_an_accounting_that_says_node_fail() -> None:
    """Seen on a real cluster for a minute after a requeue."""
    watcher = running()
    known = watcher.look(row("RUNNING", RestartCnt=1), whole("NODE_FAIL"))
    assert isinstance(known.state, Running)


def test_preempted_in_the_queue_is_not_over_while_slurm_may_put_it_back() -> None:
    """It runs no more; when Slurm puts it back, that is a new attempt."""
    watcher = running()
    known = watcher.look(row("PREEMPTED"), whole("PREEMPTED"), requeue={"12": True})
    assert (type(known.state), known.native) == (Waiting, "PREEMPTED")
    known = watcher.look(row("PENDING", RestartCnt=1, SubmitTime=LATER, Reason="BeginTime"), at=NOW + 60)
    assert (type(known.state), known.attempts) == (Waiting, 2)


def test_preempted_in_the_queue_is_over_at_once_where_slurm_must_not_put_it_back() -> None:
    """Requeue=0: by the accounting where that knows already, else by the queue alone."""
    for booked in (whole("PREEMPTED"), None):
        watcher = running()
        watcher.look(row("PREEMPTED", EndTime=SUBMIT + 70), booked, requeue={"12": False})
        assert (ended(watcher).outcome, ended(watcher).at) == (Outcome.PREEMPTED, SUBMIT + 70)
        assert ended(watcher).reason == "preempted: another job took its nodes, and Slurm did not put it back"


def test_preempted_in_the_queue_is_over_when_it_stays() -> None:
    """A partition that cancels what it preempts leaves Requeue=1 as it was; on a host without Python nobody tells."""
    for told in ({"12": True}, {}):
        watcher = running()
        assert isinstance(watcher.look(row("PREEMPTED"), requeue=told).state, Waiting)
        watcher.look(row("PREEMPTED"), whole("PREEMPTED"), at=NOW + 60, requeue=told)
        assert ended(watcher).outcome is Outcome.PREEMPTED
    watcher.look(row("PENDING", RestartCnt=1, SubmitTime=LATER, Reason="BeginTime"), at=NOW + 120)
    assert (type(watcher.known.state), watcher.known.attempts) == (Waiting, 2)


def test_the_runs_of_a_job_that_was_put_back_keep_their_times_nodes_and_endings() -> None:
    """The accounting is asked about a job that the queue lists, until it has told of the runs before this one."""
    watcher = running()
    watcher.look(row("PENDING", SubmitTime=LATER, RestartCnt=1, Reason="BeginTime", NodeList=""))
    assert history(source.ask([watcher.job], {REF: watcher.known}, NOW)) == ["12"]
    current = record("RUNNING", Submit=LATER, Start=LATER + 20, End="Unknown", NodeList="gpu02")
    again = row("RUNNING", SubmitTime=LATER, RestartCnt=1, StartTime=LATER + 20, NodeList="gpu02")
    watcher.look(again, whole("REQUEUED") + current, at=NOW + 60)
    assert watcher.facts.runs == (EarlierRun(SUBMIT + 10, SUBMIT + 70, "gpu01", "requeued"),)
    assert history(source.ask([watcher.job], {REF: watcher.known}, NOW)) == []
    ends = whole("FAILED", "1:0", Submit=LATER, Start=LATER + 20, End=LATER + 90)
    watcher.look("", whole("REQUEUED") + ends, at=NOW + 900)
    assert [run.how for run in watcher.facts.runs] == ["requeued"]


def test_an_accounting_that_does_not_tell_of_earlier_runs_is_asked_a_few_times() -> None:
    """And a job that was put back before anybody watched it is in its second attempt."""
    watcher = Watcher()
    again = row("RUNNING", RestartCnt=1, StartTime=LATER)
    assert watcher.look(again).attempts == 2
    for tries in range(5):
        assert history(source.ask([watcher.job], {REF: watcher.known}, NOW)) == ["12"]
        watcher.look(again, "", at=NOW + 60 * tries)
    assert history(source.ask([watcher.job], {REF: watcher.known}, NOW)) == []


def test_preempted_is_over_after_five_minutes_out_of_the_queue() -> None:
    """Cancelled by preemption: it does not come back."""
    watcher = running()
    assert watcher.look("", whole("PREEMPTED")).state == Missing(NOW)
    assert "may still put it back" in watcher.known.reason
    watcher.look("", whole("PREEMPTED"), at=NOW + 301)
    assert ended(watcher).outcome is Outcome.PREEMPTED


def test_preempted_is_over_without_accounting_too() -> None:
    """The queue's last word and five minutes of absence."""
    watcher = running()
    watcher.look(row("PREEMPTED"), requeue={"12": True})
    disabled = ran(rc=1, err=DISABLED)
    assert watcher.look("", disabled, at=NOW + 60).state == Missing(NOW + 60)
    watcher.look("", disabled, at=NOW + 400)
    assert ended(watcher).outcome is Outcome.PREEMPTED


def test_an_old_record_of_the_same_id_is_not_ours() -> None:
    """Another year's job, or another user's: submit time and owner must match."""
    watcher = running()
    stale = whole("FAILED", "1:0", Submit=SUBMIT - 9_000_000) + whole("COMPLETED", Submit=SUBMIT, User="bob")
    assert watcher.look("", stale).state == Missing(NOW)
    watcher.look("", stale + whole("COMPLETED", Submit=SUBMIT + 1), at=NOW + 60)
    assert ended(watcher).outcome is Outcome.SUCCEEDED


def test_an_id_that_now_is_another_job_s_ends_ours_unknown() -> None:
    """A controller that lost its state counts from 1 again: what runs under our id is not ours."""
    watcher = running()
    other = row("RUNNING", SubmitTime=LATER, Name="other")
    known = watcher.look(other)
    assert known.state == Missing(NOW)
    known = watcher.look(other, record("RUNNING", End="Unknown"), at=NOW + 60)
    assert ended(watcher).outcome is Outcome.UNKNOWN
    assert known.reason.startswith("the controller no longer knows it: the id now belongs to another job of alice")
    assert known.attempts == 1


def test_an_id_that_now_is_another_s_still_gets_its_own_ending_from_the_accounting() -> None:
    """Our record is there, beside the new owner's."""
    watcher = running()
    booked = whole("TIMEOUT") + record("RUNNING", Submit=LATER, End="Unknown")
    watcher.look(row("RUNNING", SubmitTime=LATER, UserName="bob"), {**ran(booked), "ids": ["12"]})
    assert ended(watcher).outcome is Outcome.TIMED_OUT


def test_who_the_job_is_is_learnt_from_the_first_line_that_lists_it() -> None:
    """A job that was added by its bare id gets its owner, submit time and cluster."""
    watcher = Watcher(job(user=None, submit=None, cluster=None))
    watcher.look(row("RUNNING"))
    assert watcher.job.track == {"user": "alice", "submit": SUBMIT, "cluster": "lab"}
    assert watcher.known.attempt == f"{SUBMIT}:0"


def test_a_job_that_was_added_after_its_end_gets_its_newest_record() -> None:
    """Nobody knows its submit time, so the latest run of that id is meant."""
    watcher = Watcher(job(user=None, submit=None))
    watcher.look("", whole("FAILED", "1:0", Submit=SUBMIT - 9_000_000) + whole())
    assert ended(watcher).outcome is Outcome.SUCCEEDED


def test_another_cluster_s_answer_says_nothing() -> None:
    """The same id lives on two clusters."""
    watcher = running()
    before = watcher.known
    assert watcher.look(row("COMPLETED"), cluster="elsewhere") == before
    words = "this host is now the cluster elsewhere, but the job is on the cluster lab"
    assert source.blind(answer(cluster="elsewhere"), [watcher.job]) == {REF: words}


def test_a_job_whose_id_is_no_number_is_never_asked_about() -> None:
    """An id that is not one cannot become an argument of a command."""
    watcher = Watcher(job("--help"))
    assert watcher.look("").state is None
    assert source.blind(answer(), [watcher.job, job()]) == {watcher.job.ref: "'--help' is not the id of a Slurm job"}


def test_an_older_job_of_the_same_owner_and_id_is_no_task_of_an_array() -> None:
    """Nobody knows the submit time yet: what the queue lists, or else the newest record, says which job is meant."""
    older = whole("FAILED", "1:0", Submit=SUBMIT - 5000) + whole("FAILED", "1:0", "12_9", Submit=SUBMIT - 9000)
    tasks = whole(id="12_1") + whole(id="12_2")
    watcher = Watcher(job(submit=None))
    watcher.look(row("COMPLETED", "12_1") + row("COMPLETED", "12_2"), older + tasks)
    assert (ended(watcher).outcome, watcher.tasks.count) == (Outcome.SUCCEEDED, 2)
    watcher = Watcher(job(submit=None))
    watcher.look("", whole("FAILED", "1:0", Submit=SUBMIT - 5000) + tasks)
    assert (ended(watcher).outcome, watcher.tasks.count) == (Outcome.SUCCEEDED, 2)
