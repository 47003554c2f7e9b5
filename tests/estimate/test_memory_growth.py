"""When memory will be full: leaks are told, plateaus and saw-teeth are not."""

from __future__ import annotations

import random

import pytest

from dogwatch.estimate import memory_growth

LIMIT = 64e9


def fed(used, hours=2.0, own=lambda t: 0.0):
    """Samples of two minutes each of what is used at a time in hours."""
    samples: list[list[float]] = []
    for tick in range(int(hours * 30)):
        memory_growth.sample(samples, 120.0 * tick, used(tick / 30), own(tick / 30))
    return samples


def test_a_leak_is_told_with_its_time():
    """Four gigabytes an hour from 20 of 64: nine more hours from the second."""
    seconds = memory_growth.full_in(fed(lambda t: 20e9 + 4e9 * t), LIMIT)
    assert seconds == pytest.approx(9 * 3600, rel=0.1)


def test_a_leak_under_garbage_collection_is_told():
    """The floors rise as well as the tops."""
    seconds = memory_growth.full_in(fed(lambda t: 20e9 + 6e9 * t + 3e9 * ((t * 7) % 1)), LIMIT)
    assert seconds is not None
    assert 4 * 3600 < seconds < 9 * 3600


@pytest.mark.parametrize(
    "used",
    [
        lambda t: 30e9,
        lambda t: min(30e9, 2e9 + 80e9 * t),
        lambda t: 40e9 * (1 - 2.718 ** (-3 * t)),
        lambda t: 20e9 + 10e9 * ((t * 3) % 1),
        lambda t: 20e9 + 12e9 * ((t * 1.7) % 1),
        lambda t: 30e9 + 2e8 * t,
        lambda t: 50e9 - 5e9 * t,
        lambda t: 20e9 + 6e9 * int(t / 1.2),
    ],
    ids=[
        "flat",
        "loading, then flat",
        "slowing down",
        "saw-tooth",
        "slow saw-tooth",
        "a trickle",
        "falling",
        "one step",
    ],
)
def test_what_is_no_leak_is_not_told(used):
    """Nor at any moment on the way to it."""
    samples: list[list[float]] = []
    for tick in range(60):
        memory_growth.sample(samples, 120.0 * tick, used(tick / 30), 0.0)
        if tick > 18:
            assert memory_growth.full_in(samples, LIMIT) is None, tick


def test_noise_on_a_plateau_is_no_leak():
    """Of a hundred noisy plateaus none is told."""
    for seed in range(100):
        noise = random.Random(seed)
        assert memory_growth.full_in(fed(lambda t, noise=noise: 30e9 + 2e9 * noise.random()), LIMIT) is None


def test_memory_is_bounded_and_forgets_another_boot():
    """A clock that began again is another boot's."""
    samples = fed(lambda t: 1e9, hours=20)
    assert len(samples) == memory_growth.MOST
    memory_growth.sample(samples, 5.0, 2e9, 0.0)
    assert samples == [[5.0, 2e9, 0.0]]


def test_a_rise_of_others_is_not_the_jobs_own():
    """On a machine without limits only who rises is told of."""
    mine = fed(lambda t: 20e9 + 4e9 * t, own=lambda t: 1e9 + 3e9 * t)
    others = fed(lambda t: 20e9 + 4e9 * t, own=lambda t: 1e9)
    assert memory_growth.own_share(mine) == pytest.approx(0.75)
    assert memory_growth.own_share(others) == 0
