"""What a configuration says of saving and evaluating, in the estimate: stops that have not come yet, and their cost."""

from __future__ import annotations

import pytest

from dogwatch.estimate.eta import estimate
from dogwatch.estimate.stops import NO_STOPS, Stops
from dogwatch.model import Eta
from tests.estimate.traces import run, until


def asked(said: Stops, share: float, pauses: list[tuple[int, float]]) -> tuple[Eta, float]:
    """Of 6,000 steps of a second each."""
    past, now, truth = until(run(6000, 1.0, every=10, pauses=pauses), share)
    eta = estimate(past, 6000, now, said=said)
    assert eta is not None
    return eta, truth


def test_a_stop_that_has_not_come_yet_keeps_the_interval_wide() -> None:
    """Validation is named for every 3,000 steps; at two fifths of the way nobody knows how long it takes."""
    told, truth = asked(Stops((3000.0,), all=True), 0.4, [(3000, 900)])
    untold, _ = asked(NO_STOPS, 0.4, [(3000, 900)])
    assert told.high > truth
    assert told.high / told.low > untold.high / untold.low


def test_the_first_pause_at_a_stop_tells_what_the_others_will_cost() -> None:
    """One pause of five minutes at step 500, where one was named for every 500: ten more are known."""
    told, truth = asked(Stops((500.0,), all=True), 0.15, [(500, 300)])
    untold, _ = asked(NO_STOPS, 0.15, [(500, 300)])
    assert told.remaining == pytest.approx(truth, rel=0.03)
    assert told.low <= truth <= told.high
    assert abs(told.remaining - truth) < abs(untold.remaining - truth)


def test_two_first_pauses_belong_to_the_stops_where_they_came() -> None:
    """It saves every 400 steps and evaluates every 600; each was seen once."""
    told, truth = asked(Stops((400.0, 600.0), all=True), 0.11, [(400, 60), (600, 300)])
    assert told.remaining == pytest.approx(truth, rel=0.05)


def test_a_job_that_says_all_and_stops_nowhere_has_nothing_more_to_show() -> None:
    """A young run is told a little longer for what it may still do; this one does nothing else."""
    told, truth = asked(Stops((), all=True), 0.08, [])
    untold, _ = asked(NO_STOPS, 0.08, [])
    assert told.remaining == pytest.approx(truth, rel=0.01)
    assert untold.remaining > 1.02 * told.remaining
    assert told.high < untold.high


def test_a_pause_elsewhere_is_not_the_stops() -> None:
    """A hiccup at 700 of a run that evaluates every 2,000 steps says nothing of the evaluations."""
    past, now, _ = until(run(6000, 1.0, every=10), 0.2)
    later = [p if p.done <= 700 else p._replace(at=p.at + 300) for p in past]
    told = estimate(later, 6000, now + 300, said=Stops((2000.0,), all=True))
    assert told is not None
    assert told.remaining < 1.1 * 4800
