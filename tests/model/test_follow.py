"""follow(): the one place where states move."""

from __future__ import annotations

from dogwatch.model import (
    Answered,
    Ended,
    Evidence,
    Known,
    Missing,
    Observation,
    Outcome,
    Running,
    State,
    Unreachable,
    Waiting,
    follow,
)

REF = "here/process:train-1"


def seen(state: State | None, at: float, attempt: str = "a", reason: str = "") -> Answered:
    observations = (
        {} if state is None else {REF: Observation(REF, attempt, state, "word", reason, (Evidence("x", "y", at),))}
    )
    return Answered("here", at, 0.1, frozenset({REF}), observations)


def after(*looks: Answered | Unreachable) -> Known:
    known = {REF: Known()}
    for look in looks:
        known, _ = follow(known, look)
    return known[REF]


def test_a_dark_look_changes_nothing_and_proves_nothing() -> None:
    """What was known stays, with the age it had."""
    before = {REF: after(seen(Running(since=1.0), 10.0))}
    known, changes = follow(before, Unreachable("here", 99.0, 5.0, "no answer"))
    assert (known, changes) == (before, ())
    assert known[REF].confirmed_at == 10.0


def test_not_listed_starts_a_clock_once_and_ends_nothing() -> None:
    """Absence is Missing since the first poll that lacked it, however often it is lacking."""
    known = after(seen(Running(), 10.0), seen(None, 20.0), seen(None, 30.0))
    assert known.state == Missing(since=20.0)
    assert known.confirmed_at == 10.0


def test_a_job_nobody_has_seen_yet_is_not_missing() -> None:
    """Before the first observation there is no state to lose."""
    assert after(seen(None, 20.0)).state is None


def test_missing_becomes_running_again_when_it_is_listed_again() -> None:
    """The clock of Missing is not a verdict."""
    assert after(seen(Running(), 10.0), seen(None, 20.0), seen(Running(), 30.0)).state == Running()


def test_a_ref_that_the_look_could_not_judge_keeps_what_was_known() -> None:
    """Neither asked nor sighted: no fact, no change."""
    before = {REF: after(seen(Running(), 10.0))}
    known, changes = follow(before, Answered("here", 20.0, 0.1, frozenset(), {}))
    assert (known, changes) == (before, ())


def test_an_ending_is_final_for_its_attempt() -> None:
    """A later poll that says running about the same attempt does not raise the dead."""
    ended = Ended(Outcome.FAILED, exit_code=3, at=19.0)
    known = after(seen(Running(), 10.0), seen(ended, 20.0), seen(Running(), 30.0))
    assert known.state == ended
    assert known.since == 19.0
    assert known.confirmed_at == 20.0


def test_a_known_outcome_is_never_renamed() -> None:
    """Accounting that returns another record does not rewrite history."""
    known = after(seen(Ended(Outcome.FAILED, 3), 20.0), seen(Ended(Outcome.SUCCEEDED, 0), 30.0))
    assert isinstance(known.state, Ended)
    assert known.state.outcome is Outcome.FAILED


def test_an_unknown_outcome_is_settled_by_a_late_witness() -> None:
    """Unknown means that nobody knew, so whoever knows later may say."""
    before = {REF: after(seen(Ended(Outcome.UNKNOWN), 20.0))}
    known, changes = follow(before, seen(Ended(Outcome.OUT_OF_MEMORY, signal=9), 30.0))
    assert [change.after.state for change in changes] == [Ended(Outcome.OUT_OF_MEMORY, signal=9)]
    assert known[REF].attempts == 1


def test_another_attempt_of_an_ended_job_is_a_new_attempt_of_the_same_job() -> None:
    """A requeue or restart counts up and runs again."""
    known = after(seen(Ended(Outcome.PREEMPTED), 20.0, "a"), seen(Running(), 30.0, "b"))
    assert (known.state, known.attempts, known.attempt) == (Running(), 2, "b")


def test_a_running_job_that_learns_more_about_itself_has_not_changed() -> None:
    """A node name that comes late is no change of state, nor is a new reason for waiting."""
    before = {REF: after(seen(Waiting("Priority"), 10.0))}
    known, changes = follow(before, seen(Waiting("Resources"), 20.0, reason="Resources"))
    assert changes == ()
    assert known[REF].reason == "Resources"
    assert (known[REF].since, known[REF].confirmed_at) == (10.0, 20.0)


def test_a_state_begins_when_the_place_says_so_and_not_when_we_came_by() -> None:
    """The place's own start and end times win over the time of the poll."""
    assert after(seen(Running(since=5.0), 60.0)).since == 5.0
    assert after(seen(Waiting(), 60.0)).since == 60.0


def test_a_look_may_say_why_a_job_is_missing_and_proves_nothing_by_it() -> None:
    """A observation of Missing starts the same clock as none, once, and carries the reason."""
    why = seen(Missing(since=20.0), 20.0, reason="the accounting cannot be asked")
    known = after(seen(Running(), 10.0), why, seen(Missing(since=30.0), 30.0, attempt="", reason="still not"))
    assert known.state == Missing(since=20.0)
    assert (known.reason, known.confirmed_at, known.attempts) == ("still not", 10.0, 1)
    assert after(seen(Ended(Outcome.FAILED), 10.0), why).state == Ended(Outcome.FAILED)
    assert after(why).state is None


def unsettled(state: State, at: float, *, settled: bool, evidence: bool = True, native: str = "word") -> Answered:
    witness = (Evidence("x", native, at),) if evidence else ()
    observation = Observation(REF, "a", state, native, native, witness, settled=settled)
    return Answered("here", at, 0.1, frozenset({REF}), {REF: observation})


def test_an_ending_that_is_not_settled_is_an_ending_and_is_settled_later() -> None:
    """What comes late adds its words and its evidence; it is no second change."""
    ended = Ended(Outcome.CANCELLED)
    before = {REF: after(seen(Running(), 10.0), unsettled(ended, 20.0, settled=False, native="CANCELLED"))}
    assert (before[REF].state, before[REF].settled) == (ended, False)
    later = unsettled(Ended(Outcome.CANCELLED, reason="by 7"), 30.0, settled=True, native="CANCELLED by 7")
    known, changes = follow(before, later)
    assert changes == ()
    assert (known[REF].state, known[REF].settled, known[REF].native) == (ended, True, "CANCELLED by 7")
    assert (known[REF].evidence, known[REF].confirmed_at) == ((Evidence("x", "CANCELLED by 7", 30.0),), 30.0)


def test_waiting_for_more_keeps_the_first_proof() -> None:
    """Its time says since when the ending is known, which is what waiting is measured by."""
    ended = Ended(Outcome.FAILED)
    known = after(unsettled(ended, 20.0, settled=False), unsettled(ended, 30.0, settled=False))
    assert (known.settled, known.evidence[0].at, known.confirmed_at) == (False, 20.0, 30.0)


def test_giving_up_on_more_settles_without_a_proof() -> None:
    """Nothing new was learnt, so that the last evidence keeps its age."""
    ended = Ended(Outcome.FAILED)
    known = after(
        unsettled(ended, 20.0, settled=False), unsettled(ended, 400.0, settled=True, evidence=False, native="")
    )
    assert (known.settled, known.confirmed_at, known.native) == (True, 20.0, "word")


def test_a_witness_that_disagrees_settles_and_renames_nothing() -> None:
    """The outcome stays; that somebody says otherwise is for a rule to tell."""
    known = after(
        unsettled(Ended(Outcome.FAILED), 20.0, settled=False),
        unsettled(Ended(Outcome.OUT_OF_MEMORY), 30.0, settled=True),
    )
    assert (known.state, known.settled, known.confirmed_at) == (Ended(Outcome.FAILED), True, 20.0)


def test_a_settled_ending_does_not_become_unsettled() -> None:
    """Nor does a running job of the same attempt raise the dead."""
    ended = Ended(Outcome.FAILED)
    known = after(seen(ended, 20.0), unsettled(ended, 30.0, settled=False), seen(Running(), 40.0))
    assert (known.state, known.settled) == (ended, True)


def test_a_new_attempt_of_an_unsettled_ending_starts_settled() -> None:
    """Only an ending has something to settle."""
    known = after(unsettled(Ended(Outcome.PREEMPTED), 20.0, settled=False), seen(Running(), 30.0, "b"))
    assert (known.state, known.settled, known.attempts) == (Running(), True, 2)
