"""How often to look."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from dogwatch.watcher.tick import poll_interval


def test_the_interval_suits_the_job() -> None:
    """5-10 s while young or short, 10-30 s within the hour, up to 60 s for long ones."""
    assert poll_interval.interval(30, None) == 5
    assert 5 <= poll_interval.interval(400, None) <= 10
    assert 10 <= poll_interval.interval(1800, None) <= 30
    assert 30 <= poll_interval.interval(7200, None) <= 60
    assert poll_interval.interval(10 * 86400, None) == 60


def test_a_long_job_about_to_end_is_looked_at_more_often() -> None:
    """The last two minutes matter as much as the first."""
    assert poll_interval.interval(86400, remaining=90) == 5


@given(st.floats(0, 1e9), st.none() | st.floats(0, 1e9))
def test_no_interval_is_below_five_or_above_sixty(age: float, remaining: float | None) -> None:
    """Whatever the job claims."""
    assert 5 <= poll_interval.interval(age, remaining) <= 60


def test_a_place_is_never_asked_more_often_than_its_floor() -> None:
    """However impatient a job is."""
    assert poll_interval.place_interval(60.0, [5.0, 30.0]) == 60.0
    assert poll_interval.place_interval(1.0, [5.0, 30.0]) == 5.0


def test_a_dark_place_is_asked_ever_more_rarely_up_to_a_limit() -> None:
    """Doubling, jittered, never below the floor, whatever the reason."""
    rng = random.Random(7)
    waits = [poll_interval.backoff(n, 1.0, rng) for n in range(1, 40)]
    assert waits[0] < 7
    assert max(waits) <= 1.2 * poll_interval.LONGEST_BACKOFF
    assert min(waits[12:]) >= 0.8 * poll_interval.LONGEST_BACKOFF
    for kind in ("", "unreachable", "late", "auth"):
        for floor in (1.0, 60.0, 3600.0):
            assert min(poll_interval.backoff(n, floor, rng, kind) for n in range(1, 20)) >= floor
    assert len({poll_interval.backoff(1, 60.0, rng) for _ in range(50)}) == 50


def test_a_silent_job_is_looked_at_when_patience_with_it_ends() -> None:
    """And every quarter of a minute before and after."""
    assert poll_interval.interval(86_400, None, silence_left=400.0) == poll_interval.SILENT
    assert poll_interval.interval(86_400, None, silence_left=6.5) == 6.5
    assert poll_interval.interval(86_400, None, silence_left=0.01) == poll_interval.SOONEST
    assert poll_interval.interval(86_400, None, silence_left=0.0) == poll_interval.SILENT
    assert poll_interval.interval(30, None, silence_left=400.0) == 5
