"""How a job ended, by Slurm's words: every trap that the real thing sets."""

from __future__ import annotations

from typing import Any

import pytest

from dogwatch.model import Ended, Evidence, Known, Missing, Outcome, Running, Waiting
from tests.sources.slurm.lines import (
    DISABLED,
    GONE,
    NOW,
    REFUSED,
    SUBMIT,
    Watcher,
    ended,
    job,
    ran,
    record,
    row,
    running,
    whole,
)


@pytest.mark.parametrize(
    ("state", "exit_code", "outcome", "code", "signal", "reason"),
    [
        ("COMPLETED", "0:0", Outcome.SUCCEEDED, 0, None, ""),
        ("FAILED", "1:0", Outcome.FAILED, 1, None, "exit code 1"),
        ("FAILED", "0:0", Outcome.FAILED, 0, None, "Slurm says FAILED although the exit code is 0"),
        ("FAILED", "0:9", Outcome.FAILED, None, 9, "killed by SIGKILL; sender and reason unknown"),
        ("FAILED", "0:11", Outcome.FAILED, None, 11, "killed by SIGSEGV"),
        ("FAILED", "0:53", Outcome.FAILED, None, None, "could not open its output file"),
        ("FAILED", "9:0", Outcome.FAILED, 9, None, "exit code 9, or 137"),
        (
            "FAILED",
            "137:0",
            Outcome.FAILED,
            137,
            None,
            "which programs use for SIGKILL; a program may also exit with that number itself",
        ),
        ("COMPLETED", "1:0", Outcome.FAILED, 1, None, "Slurm says COMPLETED, but: exit code 1"),
        ("CANCELLED by 1000", "0:15", Outcome.CANCELLED, None, 15, "cancelled by its owner (alice)"),
        ("CANCELLED by 0", "0:0", Outcome.CANCELLED, None, None, "cancelled by root"),
        ("CANCELLED by 77", "0:0", Outcome.CANCELLED, None, None, "cancelled by uid 77"),
        ("TIMEOUT", "0:0", Outcome.TIMED_OUT, None, None, "it reached its time limit of 1 h"),
        ("DEADLINE", "0:0", Outcome.TIMED_OUT, None, None, "its deadline passed"),
        ("OUT_OF_MEMORY", "0:125", Outcome.OUT_OF_MEMORY, None, None, "it ran out of memory"),
        ("NODE_FAIL", "0:0", Outcome.NODE_FAILED, None, None, "a node failed (gpu01)"),
        ("BOOT_FAIL", "0:0", Outcome.NODE_FAILED, None, None, "its node did not boot (gpu01)"),
        ("REVOKED", "0:0", Outcome.UNKNOWN, None, None, "REVOKED, which does not say how it ended"),
    ],
)
def test_the_accounting_s_word_becomes_an_outcome_with_a_reason(
    state: str, exit_code: str, outcome: Outcome, code: int | None, signal: int | None, reason: str
) -> None:
    """State, exit code and signal together, in words that claim no more than they show."""
    watcher = running()
    known = watcher.look("", whole(state, exit_code))
    end = ended(watcher)
    assert (end.outcome, end.exit_code, end.signal, end.at) == (outcome, code, signal, SUBMIT + 70)
    assert reason in end.reason if reason else end.reason == ""
    assert (known.native, known.evidence) == (state, (Evidence("Slurm", f"{state} {exit_code}", NOW),))
    assert known.attempts == 1


def test_a_time_limit_wins_over_a_script_that_exits_cleanly_when_told_to_stop() -> None:
    """A trap on TERM that exits 0 leaves a COMPLETED step and a TIMEOUT job, and the limit to ask for is given."""
    watcher = running()
    watcher.look("", whole("TIMEOUT", "0:0", ElapsedRaw=3625))
    assert ended(watcher).outcome is Outcome.TIMED_OUT
    efficiency = watcher.facts.efficiency
    assert efficiency is not None
    assert (efficiency.exceeded, efficiency.limit_seconds, efficiency.ask_for_seconds) == (True, 3600, 5400)


def test_memory_that_ran_out_in_a_step_is_found_though_the_job_only_says_failed() -> None:
    """The job's row says FAILED 1:0 in every version of Slurm; the step is the evidence."""
    step = record("OUT_OF_MEMORY", "0:125", "12.0", JobName="python3")
    watcher = running()
    watcher.look("", whole("FAILED", "1:0", DerivedExitCode="0:125") + step)
    assert ended(watcher).outcome is Outcome.OUT_OF_MEMORY
    assert ended(watcher).reason == "step 12.0 (python3) ran out of memory (OUT_OF_MEMORY 0:125)"


def test_memory_that_ran_out_in_a_step_is_found_by_the_derived_exit_code_alone() -> None:
    """Where the step's row is missing, the highest exit code of all steps still says 125."""
    watcher = running()
    watcher.look("", whole("FAILED", "1:0", DerivedExitCode="0:125"))
    assert ended(watcher).outcome is Outcome.OUT_OF_MEMORY


@pytest.mark.parametrize(
    ("booked", "text"),
    [
        (whole() + record("FAILED", "1:0", "12.1", JobName="sh"), "its step 12.1 (sh) is FAILED 1:0"),
        (whole(DerivedExitCode="1:0"), "the highest exit code of its steps is 1:0"),
        (whole() + record("OUT_OF_MEMORY", "0:125", "12.0", JobName="x"), "its step 12.0 (x) is OUT_OF_MEMORY 0:125"),
    ],
)
def test_success_with_a_failed_step_is_success_by_slurm_s_word_and_a_contradiction(booked: str, text: str) -> None:
    """The script went on after a step failed: Slurm says COMPLETED 0:0, and something speaks against it."""
    watcher = running()
    watcher.look("", booked)
    assert ended(watcher).outcome is Outcome.SUCCEEDED
    assert text in watcher.facts.contradiction


def test_an_honest_success_has_no_contradiction() -> None:
    """Nothing is made up."""
    watcher = running()
    watcher.look("", whole())
    assert not watcher.facts.contradiction


def test_a_record_that_an_administrator_repaired_is_not_believed() -> None:
    """`sacctmgr fix runaway` writes COMPLETED with an end at the start; the job was seen running long after."""
    watcher = Watcher()
    watcher.look(row("RUNNING"), at=NOW)
    watcher.look("", whole(End=SUBMIT + 10, ElapsedRaw=0), at=NOW + 60)
    assert ended(watcher).outcome is Outcome.UNKNOWN
    assert "COMPLETED with an end at its start" in watcher.facts.contradiction


def test_a_job_that_really_took_no_time_is_believed() -> None:
    """It was never seen running after its end."""
    watcher = Watcher()
    watcher.look("", whole(End=SUBMIT + 10, ElapsedRaw=0))
    assert ended(watcher).outcome is Outcome.SUCCEEDED


def test_a_record_that_a_reset_controller_closed_is_no_cancel() -> None:
    """A controller that comes up without its state has all running jobs closed as CANCELLED, by nobody."""
    steps = record("CANCELLED", "0:0", "12.batch") + record("CANCELLED", "0:0", "12.extern")
    watcher = running()
    watcher.look("", record("CANCELLED", "0:0") + steps)
    assert ended(watcher).outcome is Outcome.UNKNOWN
    assert ended(watcher).reason.startswith("the controller no longer knows it")
    assert watcher.known.native == "CANCELLED"


def test_a_job_that_slurm_cancelled_before_it_started_says_why() -> None:
    """`CANCELLED` without a uid is Slurm's own doing, say for a dependency."""
    watcher = Watcher()
    watcher.look("", record("CANCELLED", "0:0", Start="None", ElapsedRaw=0, Reason="DependencyNeverSatisfied"))
    assert ended(watcher).outcome is Outcome.CANCELLED
    assert ended(watcher).reason.startswith("cancelled by Slurm: the job it depends on ended")


def test_the_queue_s_exit_code_is_taken_where_the_accounting_cuts_it() -> None:
    """sacct before 26.05 takes 128 off; squeue prints the raw status."""
    watcher = running()
    watcher.look(row("FAILED", exit_code=137 << 8), whole("FAILED", "9:0"))
    assert ended(watcher).exit_code == 137


def test_an_ending_in_the_queue_is_taken_at_once_and_settled_by_the_accounting() -> None:
    """The controller remembers for some minutes; the accounting adds what was used, and who cancelled."""
    watcher = running()
    known = watcher.look(row("CANCELLED", EndTime=SUBMIT + 70), "")
    assert (ended(watcher).outcome, known.settled) == (Outcome.CANCELLED, False)
    known = watcher.look("", whole("CANCELLED by 1000", "0:15"), at=NOW + 60)
    assert (ended(watcher).outcome, known.settled, known.native) == (Outcome.CANCELLED, True, "CANCELLED by 1000")
    assert known.reason == "cancelled by its owner (alice)"


def test_an_ending_that_the_accounting_never_books_is_settled_after_five_minutes() -> None:
    """Waiting has an end."""
    watcher = running()
    assert not watcher.look(row("COMPLETED"), "").settled
    assert not watcher.look("", "", at=NOW + 200).settled
    assert watcher.look("", "", at=NOW + 301).settled
    assert ended(watcher).outcome is Outcome.SUCCEEDED


def test_a_failure_waits_for_the_steps_that_may_say_memory() -> None:
    """FAILED 1:0 may be memory: with an accounting that answers and lags, it is not called failed yet."""
    watcher = running()
    known = watcher.look(row("FAILED", exit_code="1:0"), "")
    assert (known.state, known.native) == (Running(SUBMIT + 10, "gpu01"), "FAILED")
    assert "the accounting does not say why yet" in known.reason
    watcher.look("", whole("FAILED", "1:0", DerivedExitCode="0:125"), at=NOW + 60)
    assert ended(watcher).outcome is Outcome.OUT_OF_MEMORY


def test_a_failure_is_called_one_when_the_accounting_stays_behind() -> None:
    """After five minutes of answers without a record the queue's word has to do."""
    watcher = running()
    watcher.look(row("FAILED", exit_code="1:0"), "")
    watcher.look(row("FAILED", exit_code="1:0"), "", at=NOW + 301)
    assert (ended(watcher).outcome, ended(watcher).exit_code) == (Outcome.FAILED, 1)


@pytest.mark.parametrize("err", [REFUSED, DISABLED])
def test_without_accounting_the_queue_is_judged_alone(err: str) -> None:
    """slurmdbd down, or no accounting at all: what the queue still shows is enough."""
    watcher = running()
    known = watcher.look(row("FAILED", exit_code="3:0"), ran(rc=1, err=err))
    assert (ended(watcher).outcome, ended(watcher).exit_code) == (Outcome.FAILED, 3)
    assert known.settled is (err == DISABLED)


def test_memory_that_is_found_after_a_failure_was_told_is_a_contradiction() -> None:
    """A known outcome is never renamed; what speaks against it is said."""
    watcher = running()
    watcher.look(row("FAILED", exit_code="1:0"), ran(rc=1, err=REFUSED))
    known = watcher.look("", whole("FAILED", "1:0", DerivedExitCode="0:125"), at=NOW + 60)
    assert (ended(watcher).outcome, known.settled) == (Outcome.FAILED, True)
    assert "a step ran out of memory" in watcher.facts.contradiction


def test_a_job_that_left_the_queue_stays_missing_while_the_accounting_cannot_be_asked() -> None:
    """Absence is a clock and not an ending, however long it runs, and the reason is said."""
    watcher = running()
    for minutes in (0, 10, 60, 6000):
        known = watcher.look("", ran(rc=1, err=REFUSED), at=NOW + 60 * minutes)
        assert known.state == Missing(NOW)
        assert "(slurmdbd) cannot be reached" in known.reason
        assert known.confirmed_at == NOW - 60


@pytest.mark.parametrize(
    ("booked", "words"),
    [
        (ran(rc=1, err=DISABLED), "this cluster keeps no accounting (Slurm accounting storage is disabled)"),
        (ran(rc=None, why="not found"), "sacct is not installed there"),
    ],
)
def test_where_there_is_no_accounting_a_job_that_left_the_queue_ends_unknown(booked: Any, words: str) -> None:
    """Missing for five minutes; after that nobody will come and tell, and nothing is claimed."""
    watcher = running()
    known = watcher.look("", booked)
    assert (known.state, known.reason) == (Missing(NOW), f"it left the queue, and how it ended is not known: {words}")
    assert watcher.look("", booked, at=NOW + 299).state == Missing(NOW)
    known = watcher.look("", booked, at=NOW + 301)
    assert ended(watcher).outcome is Outcome.UNKNOWN
    assert known.reason == f"it left the queue, and {words}; outcome unknown"
    assert known.settled
    assert isinstance(watcher.look(row(), booked, at=NOW + 400).state, Running), "back in the queue after all"


def test_a_job_that_left_the_queue_is_missing_and_then_ended_by_the_accounting() -> None:
    """The accounting lags for a while."""
    watcher = running()
    known = watcher.look("", "")
    assert known.state == Missing(NOW)
    assert known.reason == "it left the queue, and the accounting has no record of it yet"
    known = watcher.look("", record("RUNNING", End="Unknown"), at=NOW + 60)
    assert (known.state, "still says RUNNING" in known.reason) == (Missing(NOW), True)
    watcher.look("", whole(), at=NOW + 120)
    assert ended(watcher).outcome is Outcome.SUCCEEDED


def test_a_job_that_nobody_has_a_record_of_ends_unknown_after_five_minutes() -> None:
    """Five minutes of answers without a record; and a late record is still taken."""
    watcher = running()
    watcher.look("", "")
    assert watcher.look("", "", at=NOW + 299).state == Missing(NOW)
    known = watcher.look("", "", at=NOW + 301)
    assert ended(watcher).outcome is Outcome.UNKNOWN
    assert known.reason == "it left the queue, and the accounting has no record of it; outcome unknown"
    assert not known.settled
    watcher.look("", whole("FAILED", "1:0"), at=NOW + 400)
    assert ended(watcher).outcome is Outcome.FAILED


def test_the_five_minutes_run_only_while_the_accounting_answers() -> None:
    """An accounting that comes back after an hour gets its five minutes."""
    watcher = running()
    watcher.look("", ran(rc=1, err=REFUSED))
    watcher.look("", "", at=NOW + 3600)
    assert isinstance(watcher.look("", "", at=NOW + 3800).state, Missing)
    watcher.look("", ran(rc=1, err=REFUSED), at=NOW + 3860)
    assert isinstance(watcher.look("", "", at=NOW + 4000).state, Missing)
    watcher.look("", "", at=NOW + 4301)
    assert ended(watcher).outcome is Outcome.UNKNOWN


def test_an_unknown_ending_is_asked_about_for_an_hour() -> None:
    """Then nobody will come any more."""
    known = Known(Ended(Outcome.UNKNOWN), attempt="x", evidence=(Evidence("Slurm", "", NOW),), settled=False)
    watcher = Watcher(known=known)
    assert not watcher.look("", "", at=NOW + 3000).settled
    assert watcher.look("", "", at=NOW + 3601).settled


def test_a_job_that_was_given_up_and_is_there_after_all_is_a_new_attempt() -> None:
    """An ending is final for its attempt, so that what runs must be another."""
    known = Known(Ended(Outcome.UNKNOWN), attempt=f"{SUBMIT}:0", attempts=1, evidence=(Evidence("Slurm", "", NOW),))
    watcher = Watcher(known=known)
    known = watcher.look(row("RUNNING"))
    assert (type(known.state), known.attempts) == (Running, 2)
    assert watcher.look(row("RUNNING"), at=NOW + 60).attempts == 2


def test_an_id_that_slurm_never_heard_of_ends_unknown() -> None:
    """A mistyped id is said to be one, after the time that the accounting may lag."""
    watcher = Watcher(job("999", submit=None, user=None))
    invalid = ran(rc=1, err="slurm_load_jobs error: Invalid job id specified\n")
    known = watcher.look(invalid, "")
    assert (known.state, known.reason) == (None, "neither the queue nor the accounting lists it yet")
    watcher.look(invalid, "", at=NOW + 301)
    assert ended(watcher).reason.startswith("Slurm knows no such job")


@pytest.mark.parametrize(
    "queued",
    [
        ran(rc=1, err=GONE),
        ran(rc=1, err="slurm_load_jobs error: Socket timed out on send/recv operation\n"),
        ran(rc=1, err="slurm_load_jobs error: Protocol authentication error\n"),
        ran(rc=None, why="late"),
        ran(rc=None, why="not found"),
        ran("Welcome to the cluster!\n"),
        ran(row("COMPLETED")[:-20]),
        None,
    ],
)
def test_a_queue_that_does_not_answer_says_nothing_about_any_job(queued: Any) -> None:
    """No error, half answer or noise is an empty queue; and the accounting is not believed without the queue."""
    watcher = running()
    before = watcher.known
    assert watcher.look(queued, whole("FAILED", "1:0")) == before
    assert watcher.seen is None


def test_an_id_that_squeue_calls_invalid_is_like_one_that_is_not_listed() -> None:
    """Purged from the controller's memory: the accounting is asked, the host is not at fault."""
    watcher = running()
    watcher.look(ran(rc=1, err="slurm_load_jobs error: Invalid job id specified\n"), whole())
    assert ended(watcher).outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize(
    ("state", "expected", "words"),
    [
        ("COMPLETING", Running, "cleaning up"),
        ("STAGE_OUT", Running, "staged out"),
        ("SUSPENDED", Running, "suspended"),
        ("RESIZING", Running, "resized"),
        ("SIGNALING", Running, "signal"),
        ("CONFIGURING", Waiting, "made ready"),
        ("SPECIAL_EXIT", Waiting, "releases it"),
        ("REQUEUE_HOLD", Waiting, "releases it"),
        ("RESV_DEL_HOLD", Waiting, "reservation was deleted"),
    ],
)
def test_the_words_between_running_and_ended_are_no_endings(state: str, expected: type, words: str) -> None:
    """Each is mapped, explained and shown verbatim."""
    known = Watcher().look(row(state))
    assert type(known.state) is expected
    assert words in known.reason
    assert known.native == state


@pytest.mark.parametrize("state", ["TELEPORTING", "REVOKED"])
def test_a_word_that_does_not_tell_leaves_the_state_and_is_shown(state: str) -> None:
    """A new version's word is kept verbatim and never guessed."""
    watcher = running()
    before = watcher.known.state
    known = watcher.look(row(state))
    assert (known.state, known.native) == (before, state)
    assert state in known.reason or "federation" in known.reason
    waiting = Watcher()
    waiting.look(row("PENDING", StartTime="N/A"))
    assert isinstance(waiting.look(row(state)).state, Waiting)
