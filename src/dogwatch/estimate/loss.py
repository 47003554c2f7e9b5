"""Loss: whether what a training minimises is still a number, and still where it had come to; pure.

A loss starts high, falls, and is noisy; it jumps for a while when the data or the rate of learning change. It has
diverged only if for long it lies far above the level it had come to, near where it began. Rewards, losses that may be
negative, and those of players against each other say nothing by their height.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from dogwatch.model import Loss

EVERY = 20.0  # seconds between two samples
MOST = 96
NAN_SAMPLES = 2  # in a row, and none of them right at the start of a log
NAN_FROM_START = 4
LEAST_SAMPLES = 24  # before a level is believed
LATELY = 12  # samples for which it must have been high
LASTS = 600.0  # seconds, likewise
TIMES = 2.5  # of the level it had come to
START = 0.5  # of the level it began with
MOST_NAMES = 8
NAMES = frozenset(
    ("loss", "train_loss", "training_loss", "lm_loss", "train/loss", "loss/train", "loss_train", "total_loss")
)
_NOT_MINIMISED = (
    "reward",
    "kl",
    "actor",
    "critic",
    "policy",
    "entropy",
    "advantage",
    "d_loss",
    "g_loss",
    "discriminator",
)

Samples = list[list[float | None]]


def is_loss(name: str) -> bool:
    """Whether a metric is the loss of a training, as far as its name tells."""
    return name.strip().lower().replace(" ", "_") in NAMES


def climbs(names: Iterable[str]) -> bool:
    """Whether a log speaks of things that are not minimised, so that the height of its loss means nothing."""
    return any(word in name.lower() for name in names for word in _NOT_MINIMISED)


def sample(samples: Samples, at: float, step: float | None, value: float | None) -> bool:
    """Remember a value, None for one that is no number, at a monotonic time and a count of steps; of a long history
    every second sample of the older half stays. Whether it was kept."""
    if samples:
        last_at, last_step = samples[-1][0] or 0.0, samples[-1][1]
        if at < last_at or (step is not None and last_step is not None and step < last_step):
            samples.clear()  # the machine was booted since, or another training begins
        elif at - last_at < EVERY or (step is not None and step == last_step):
            return False
    samples.append([at, step, value])
    if len(samples) > MOST:
        del samples[1 : MOST // 2 : 2]
    return True


def judge(series: Mapping[str, Samples], others: Iterable[str] = ()) -> Loss | None:
    """The first loss with which something is wrong; `others` are the names of what else the log measures."""
    players = climbs(others)
    for name, samples in series.items():
        found = _broken(name, samples) or (None if players else _diverged(name, samples))
        if found is not None:
            return found
    return None


def _broken(name: str, samples: Samples) -> Loss | None:
    """Not a number at the newest samples; one that never was needs more of them."""
    count = next((i for i, sample in enumerate(reversed(samples)) if sample[2] is not None), len(samples))
    if count < (NAN_SAMPLES if count < len(samples) else NAN_FROM_START):
        return None
    return Loss(name, True, since=samples[-count][1])


def _diverged(name: str, samples: Samples) -> Loss | None:
    values = [value for _, _, value in samples if value is not None]
    if len(values) < LEAST_SAMPLES or len(values) < 0.8 * len(samples) or min(values) <= 0:
        return None
    earlier, lately = values[:-LATELY], values[-LATELY:]
    first, last = samples[-LATELY][0] or 0.0, samples[-1][0] or 0.0
    if last - first < LASTS:
        return None
    best, start = min(_levels(earlier)), median(earlier[:5])
    now = median(lately)
    if min(lately) < 0.8 * TIMES * best or now < TIMES * best or now < START * start or now < 1.5 * median(earlier):
        return None
    return Loss(name, False, now, best, samples[-LATELY][1])


def _levels(values: Sequence[float]) -> list[float]:
    """Medians of five in a row: a level, not a lucky batch."""
    return [median(values[i : i + 5]) for i in range(len(values) - 4)]
