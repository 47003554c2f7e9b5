"""Findings about runs on boxes and about the boxes: when they open, when they do not, and what they say."""

from __future__ import annotations

import pytest

from dogwatch.model import Expectation, Finding, Job, Known, Level, Running, StallEvidence, StallState, Verdict
from dogwatch.model.decision import Decision
from dogwatch.model.facts import Facts
from dogwatch.model.stages import BoxFacts
from dogwatch.rules import box, box_idle, log_buffered
from dogwatch.rules.interface import Case, Idle, PlaceCase
from dogwatch.watcher.alerts.periodic import repeats
from dogwatch.watcher.tick.idle import FreeGpus
from dogwatch.watcher.tick.judge import identity, judge_place
from dogwatch.wire.programs import Gpu, Gpus

JOB = Job("gpu/box:x", "gpu", "box", "x", "x", expect=Expectation(logs=("/w/x.log",)))


def verdict(log: float, checkpoint: float | None) -> Case:
    rows = [StallEvidence("log", "still", log), StallEvidence("checkpoint", "moves", checkpoint)]
    return Case(JOB, Known(state=Running()), verdict=Verdict(StallState.WORKING, 0.0, tuple(rows)))


@pytest.mark.parametrize(("log", "checkpoint", "opens"), [(900, 60, True), (900, 800, False), (300, 5, False)])
def test_a_log_that_stands_while_checkpoints_come_is_block_buffered(log: float, checkpoint: float, opens: bool) -> None:
    """It is said as a fact, and only after ten minutes."""
    found = list(log_buffered.judge(verdict(log, checkpoint), 0.0))
    assert bool(found) is opens
    assert all(finding.level is Level.INFO and "block-buffered" in finding.text for finding in found)


def test_only_the_rows_that_people_must_hear_of_are_findings() -> None:
    """Each has its remedy in its text, and its row as what it is about."""
    rows = (
        Decision("memory_high", Level.WARNING, "its memory is full", "use less", alerts=True),
        Decision("done", Level.INFO, "all is done", "stop it"),
    )
    case = Case(JOB, Known(state=Running()), facts=Facts(box=BoxFacts("chain", decisions=rows)))
    (found,) = box.judge(case, 0.0)
    assert (found.what, found.text) == ("memory_high", "its memory is full; use less")


@pytest.mark.parametrize(
    ("idle", "said"),
    [
        (Idle(True, 0.0, 1.5, "runpodctl stop"), "gpu is idle and costs 1.5 per hour: all its runs have ended"),
        (Idle(False, 2400.0, None, ""), "gpu is idle: nothing has run on its GPUs for 40 min"),
        (Idle(False, 600.0, 1.5, "x"), ""),
        (None, ""),
    ],
)
def test_an_idle_box_is_reported_with_its_price_and_what_stops_it(idle: Idle | None, said: str) -> None:
    """What is not known is said to be so, and never guessed."""
    found = [finding.text for finding in box_idle.judge_place(PlaceCase("gpu", 0, None, "", 1, idle=idle), 0.0)]
    assert [text.startswith(said) for text in found] == ([True] if said else [])
    assert all("dogwatch alerts ack place:gpu" in text for text in found)


def test_an_idle_box_that_does_not_answer_is_not_said_to_work() -> None:
    """The finding stays open while nobody can look, and resolves when a run is there again."""
    (finding,) = box_idle.judge_place(PlaceCase("gpu", 0, None, "", 1, idle=Idle(True)), 0.0)
    open_now = {identity(finding): finding}
    silent = judge_place(PlaceCase("gpu", 3, 0.0, "no answer", 1), open_now, 0.0)
    assert (silent.resolved, silent.closed) == ((), ())
    busy = judge_place(PlaceCase("gpu", 0, None, "", 1, idle=Idle(False)), open_now, 0.0)
    assert busy.resolved == (finding,)


def test_it_is_said_again_every_hour() -> None:
    """A warning of another rule is not."""
    texts = [Finding("place:gpu", rule, Level.WARNING, rule, opened=0.0) for rule in ("box_idle", "disk_low")]
    assert [told.rule for told in repeats(texts, 3500.0, 14400.0)] == []
    assert [told.rule for told in repeats(texts, 7300.0, 14400.0)] == ["box_idle"]


def gpus(used: float | None) -> Gpus:
    card = Gpu(0, "u", "H100", "p", "", "", [], [], used, *[None] * 8)
    return Gpus("nvml", [card], "550", None, {}, 0.1)


def test_gpus_are_free_from_the_first_poll_that_saw_nothing_on_them() -> None:
    """A poll that did not ask changes nothing; one GPU that computes ends it."""
    free = FreeGpus()
    free.take(gpus(0.0), 100.0)
    free.take(None, 200.0)
    free.take(gpus(0.0), 300.0)
    assert free.seconds(400.0) == 300.0
    free.take(gpus(80.0), 500.0)
    assert free.seconds(600.0) == 0.0
