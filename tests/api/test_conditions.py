"""What `wait` may wait for: how it is written, and what follows from a job as it stands."""

from __future__ import annotations

from typing import Any

import pytest

from dogwatch.api.conditions import answer, check_stage, condition
from dogwatch.errors import UsageError


def job(state: str = "running", outcome: str | None = None, **more: Any) -> Any:
    """As much of a job as a condition reads."""
    whole: dict[str, Any] = {
        "name": "train",
        "ref": "here/process:train-1",
        "state": state,
        "outcome": outcome,
        "checks": [],
    }
    return {**whole, "findings": [], "attempts": 1, "progress": None, "confirmed_at": None, **more}


def chain(eval_state: str, **more: Any) -> Any:
    """A job of two stages, of which the first is done."""
    states = {"train": "done", "eval": eval_state}
    return job(stages=[{"name": name, "state": state, "exit_code": None} for name, state in states.items()], **more)


@pytest.mark.parametrize(
    "text",
    [
        *("", "end", "ended:", "progress", "progress:", "progress:0%", "progress:50", "progress:101%", "progress:x%"),
        *("stage:", "stage: ", "marker:", "marker:DONE", "marker:/tmp/*", "marker:/a\nb", "marker:/\udcff", "Running"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(text: str) -> None:
    """Before anything is polled; the sentence has nothing in it that a terminal would obey."""
    with pytest.raises(UsageError) as refused:
        condition(text)
    assert "--for" in str(refused.value)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("text", "given", "holds"),
    [
        ("ended", job(), None),
        ("ended", job("ended"), None),
        ("ended", job("ended", "failed"), False),
        ("ended", job("ended", "completed"), True),
        ("ended", job("ended", "succeeded", checks=[{"word": "pending"}]), None),
        ("running", job("waiting"), None),
        ("running", job(), True),
        ("running", job("ended", "failed"), False),
        ("stage:train", chain("running"), True),
        ("stage:eval", chain("running"), None),
        ("stage:eval", chain("failed"), None),
        ("stage:eval", chain("failed", state="ended", outcome="failed"), False),
        ("stage:eval", chain("unknown", state="ended", outcome="unknown"), False),
        ("stage:eval", chain("done", state="ended", outcome="succeeded"), True),
        ("progress:50%", job(), None),
        ("progress:50%", job(progress={"fraction": 0.499}), None),
        ("progress:50 %", job(progress={"fraction": 0.5}), True),
        ("progress:12.5%", job("ended", "failed", progress={"fraction": 0.12}), False),
        ("progress:100%", job("ended", "completed", progress={"fraction": 0.97}), True),
        ("progress:100%", job("ended", "incomplete", progress={"fraction": 0.97}), False),
    ],
)
def test_a_condition_holds_never_will_or_is_not_yet_known(text: str, given: Any, holds: bool | None) -> None:
    """None goes on waiting; False is only for what can never come any more."""
    found = answer(condition(text), given, given)
    assert (None if found is None else found.holds) is holds


@pytest.mark.parametrize(
    ("state", "marker", "holds"),
    [
        ("running", None, None),
        ("running", False, None),
        ("running", True, True),
        ("ended", None, None),
        ("ended", False, False),
        ("ended", True, True),
    ],
)
def test_a_file_that_nobody_could_ask_for_is_not_absent(state: str, marker: bool | None, holds: bool | None) -> None:
    """Only the place's own answer after the end of the job decides against it."""
    given = job(state, "succeeded" if state == "ended" else None)
    found = answer(condition("marker:/data/DONE"), None, given, marker)
    assert (None if found is None else found.holds) is holds


def test_a_change_is_one_of_state_findings_attempts_or_stages() -> None:
    """And not one of the time at which it was confirmed."""
    first, wanted = chain("waiting"), condition("change")
    assert answer(wanted, first, chain("waiting", confirmed_at="2026-11-18T20:00:00.000Z")) is None
    for later in (chain("running"), chain("waiting", attempts=2), chain("waiting", state="ended")):
        assert answer(wanted, first, later)


def test_a_stage_that_is_not_there_is_named_with_those_that_are() -> None:
    """A wait for it would never end."""
    with pytest.raises(UsageError, match="no stage 'evaluate'; its stages: train, eval"):
        check_stage(condition("stage:evaluate"), chain("running"))
    with pytest.raises(UsageError, match="has no stages"):
        check_stage(condition("stage:eval"), job())
