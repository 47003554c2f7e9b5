"""What is critical goes first: past limits that lesser things began, past acknowledgements of what it was before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dogwatch.api import alerts as desk
from dogwatch.model import Closing, Finding, Level, closing
from dogwatch.store.rows import tick
from dogwatch.store.sqlite.location import open_store
from dogwatch.watcher.tick.announcements import escalation
from tests.alerts.receiver import Receiver, answer
from tests.alerts.stage import Stage, decisions, gone


@pytest.fixture
def stage(home: Path, tmp_path: Path) -> Iterator[Stage]:
    with open_store(str(home)) as store:
        yield Stage(store, tmp_path)


def levels(receiver: Receiver) -> list[str]:
    return [got.json["level"] for got in receiver.got]


def test_a_critical_does_not_wait_for_the_minute_that_an_info_began(stage: Stage, receiver: Receiver) -> None:
    """Five seconds for company, and out, and so does the next of its kind; only the fourth within a minute waits."""
    stage.hook("hook", receiver.url)
    stage.find(gone(stage.job("a"), Level.INFO))
    stage.go(5)
    stage.find(gone(stage.job("b")))
    stage.go(10)
    assert levels(receiver) == ["info", "critical"]
    for name in ("c", "d", "e"):
        stage.find(gone(stage.job(name)))
        stage.go(10)
    assert levels(receiver) == ["info", *["critical"] * 3]
    stage.go(60)
    assert levels(receiver) == ["info", *["critical"] * 4]


def test_that_holds_after_a_restart(stage: Stage, receiver: Receiver) -> None:
    """What was sent lately is read from the store, and by its level."""
    stage.hook("hook", receiver.url)
    stage.find(gone(stage.job("a"), Level.WARNING))
    stage.go(5)
    stage.restart()
    stage.find(gone(stage.job("b")))
    stage.go(10)
    assert levels(receiver) == ["warning", "critical"]


def test_infos_that_keep_coming_do_not_hold_a_critical(stage: Stage, receiver: Receiver) -> None:
    """Only other criticals are waited for."""
    stage.hook("hook", receiver.url)
    stage.find(gone(stage.job("bad")))
    for number in range(4):
        stage.find(gone(stage.job(f"fine{number}"), Level.INFO))
        stage.go(2, every=2)
    assert levels(receiver)[:1] == ["critical"]


def test_a_channel_that_rests_is_tried_once_with_something_critical(stage: Stage, receiver: Receiver) -> None:
    """The rest was asked for when an info was sent."""
    stage.hook("hook", receiver.url)
    receiver.script = [answer(429, b"slow down", Retry_After="600")]
    ref = stage.job("a")
    stage.find(gone(ref, Level.INFO))
    stage.go(5)
    assert levels(receiver) == ["info"]
    stage.find(Finding(ref, "stalled", Level.CRITICAL, "it stalled"))
    stage.go(10)
    assert levels(receiver) == ["info", "critical"]


def test_what_was_said_to_be_over_is_said_before_it_begins_again(stage: Stage, receiver: Receiver) -> None:
    """A critical does not pass a closing about the same job: a receiver would end with the wrong word."""
    stage.hook("hook", receiver.url)
    ref = stage.job("a")
    stage.find(gone(ref))
    stage.go(5)
    receiver.always = answer(503, b"", Retry_After="30")
    stage.resolve(gone(ref))
    stage.go(65)
    stage.find(gone(ref))
    receiver.always = answer(200, b"ok")
    stage.go(120)
    assert [job["resolved"] for got in receiver.got for job in got.json["jobs"]][-2:] == [True, False]


def escalate(stage: Stage, finding: Finding) -> None:
    at = stage.clock.now()
    identity = finding.subject, finding.rule, finding.what
    said = (escalation(finding, at),)
    tick.commit(stage.store, tick.Tick(at, 1.0, opened=(finding,), escalated=(identity,), notifications=said))


def test_an_escalation_is_said_once_also_of_what_was_acknowledged(stage: Stage, receiver: Receiver) -> None:
    """Whoever acknowledged a warning has not seen that it is critical now; up and down again is no news."""
    stage.hook("hook", receiver.url)
    warning = gone(stage.job("a"), Level.WARNING)
    began = stage.clock.now()
    stage.find(warning)
    stage.go(70)
    desk.ack(stage.store, stage.clock, warning.subject, None, "seen")
    critical = replace(warning, level=Level.CRITICAL, text="it is worse", opened=began)
    for _ in range(3):
        escalate(stage, critical)
        stage.go(70)
    assert levels(receiver) == ["warning", "critical"]


def test_what_ended_with_its_job_goes_to_programs_only(stage: Stage, receiver: Receiver, tmp_path: Path) -> None:
    """A webhook may hold it open and is told how it ended, at a level that disturbs nobody; a mailbox is not."""
    stage.hook("hook", receiver.url)
    ref = stage.job("a")
    stage.find(gone(ref))
    stage.go(5)
    at = stage.clock.now()
    over = (ref, "worker_gone", "0")
    said = (closing(gone(ref), Closing.ENDED_WITH_JOB, at),)
    tick.commit(stage.store, tick.Tick(at, 1.0, resolved=(over,), notifications=said))
    stage.go(70)
    last = receiver.got[-1].json["jobs"][-1]
    assert (last["level"], last["resolved"], last["closed"]) == ("info", False, "ended_with_job")
    assert last["text"] == "ended with the job: the worker is gone"
    assert len(decisions(stage.store, ref)) == 2
