"""The time limit to ask for after one was too short."""

from __future__ import annotations

import math

HOUR = 3600.0
SPARE = 1.1  # over what the whole would have taken at the pace that was seen
BLIND = 1.5  # times the limit, where nothing says how far it came
LEAST = 0.005  # a smaller part done says nothing about the pace of the rest


def limit_to_ask(limit: float | None, ran: float | None, done: float | None) -> float | None:
    """Seconds to ask for: what the whole takes at the pace of the part that was done (`done`, a fraction, in `ran`
    seconds) and a tenth more; without that, half as much again as the limit. Never less than the limit, and rounded up
    to what people write."""
    if limit is None and (ran is None or not done):
        return None
    if ran and done is not None and LEAST <= done < 1.0:
        return rounded(max(SPARE * ran / done, limit or 0.0))
    return None if limit is None else rounded(BLIND * limit)


def rounded(seconds: float) -> float:
    """Up to whole tens of minutes; half hours beyond six hours, whole hours beyond a day."""
    step = 600.0 if seconds <= 6 * HOUR else 1800.0 if seconds <= 24 * HOUR else HOUR
    return math.ceil(seconds / step) * step


def spelled(seconds: float) -> str:
    """As Slurm's --time takes it: 45 min, or D-HH:MM:SS for what is longer than an hour."""
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    minutes = round(seconds / 60)
    days, hours = divmod(minutes // 60, 24)
    return f"{days}-{hours:02d}:{minutes % 60:02d}:00" if days else f"{hours:02d}:{minutes % 60:02d}:00"
