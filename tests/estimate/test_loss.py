"""A loss that is no number, or far above where it had come to, is told; warm-up, noise and rewards are not."""

from __future__ import annotations

import math
import random

import pytest

from dogwatch.estimate import loss
from dogwatch.model import Loss


def fed(values, apart=60.0):
    samples: loss.Samples = []
    for i, value in enumerate(values):
        loss.sample(samples, apart * i, 10.0 * (i + 1), value)
    return {"loss": samples}


def falling(count, noise=0.05, seed=1):
    chance = random.Random(seed)
    return [2.0 + 8.9 * math.exp(-i / 8) + noise * chance.random() for i in range(count)]


def test_a_loss_that_is_no_number_is_told_with_its_step():
    """Once could be a batch; the second time it is."""
    assert loss.judge(fed([*falling(30), None])) is None
    assert loss.judge(fed([*falling(30), None, None])) == Loss("loss", True, since=310.0)


def test_one_that_never_was_a_number_needs_more_patience():
    """At the start of an epoch some print an average of nothing."""
    assert loss.judge(fed([None] * 3)) is None
    assert loss.judge(fed([None] * 4)) == Loss("loss", True, since=10.0)


def test_a_loss_that_comes_back_is_not_told():
    """The newest words count."""
    assert loss.judge(fed([*falling(30), None, None, 2.2])) is None


def test_a_loss_that_has_diverged_is_told_with_both_levels():
    """From 2 back to 7, and it stays there."""
    found = loss.judge(fed([*falling(60), *(7.0 + 0.1 * (i % 3) for i in range(14))]))
    assert found is not None
    assert not found.broken
    assert found.now == pytest.approx(7.1, abs=0.1)
    assert found.best == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(
    "values",
    [
        falling(90),
        [*falling(40), *([8.0] * 4), *falling(40)[20:]],
        [3.0 + 2.0 * (i % 2) for i in range(90)],
        [0.1 * i for i in range(90)],
        [2.3 * math.exp(-i / 10) + 0.004 * (i % 7) for i in range(90)],
        [-1.0 + 0.3 * (i % 5) for i in range(90)],
        [*falling(40), *(3.4 for _ in range(30))],
    ],
    ids=["falling", "a spike", "noisy", "rising from nothing", "tiny and noisy", "negative", "harder data"],
)
def test_what_losses_do_is_not_told(values):
    """At no moment of the run."""
    samples: loss.Samples = []
    for i, value in enumerate(values):
        loss.sample(samples, 60.0 * i, float(i), value)
        assert loss.judge({"loss": samples}) is None, i


def test_the_height_of_a_loss_beside_a_reward_says_nothing():
    """Policies and players against each other have losses that may rise; no number is none there, too."""
    series = fed([*falling(60), *([7.0] * 14)])
    assert loss.judge(series, ["loss", "reward_mean"]) is None
    assert loss.judge(fed([*falling(60), None, None]), ["reward"]) is not None


def test_another_training_in_the_same_log_begins_anew():
    """A counter that goes back belongs to the next fold, not to a loss that rose."""
    samples: loss.Samples = []
    for i, value in enumerate([*falling(60), *falling(60)]):
        loss.sample(samples, 60.0 * i, float(i % 60), value)
        assert loss.judge({"loss": samples}) is None


def test_a_long_history_stays_small_and_keeps_its_beginning():
    """Older samples are thinned, never the first."""
    samples: loss.Samples = []
    for i in range(5000):
        loss.sample(samples, 60.0 * i, float(i), 1.0)
    assert len(samples) <= loss.MOST
    assert samples[0][0] == 0.0


def test_names_of_losses():
    """A training's own loss, by the names that people give it; not a validation's, a scale's or a reward's."""
    assert [loss.is_loss(name) for name in ("loss", "lm loss", "train/loss", "Train_Loss")] == [True] * 4
    assert not any(loss.is_loss(name) for name in ("val_loss", "loss scale", "reward", "grad_norm", "map"))
