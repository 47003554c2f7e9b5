"""How sure an answer is: the weight of the line that shows it, as far as lines of that weight have proved right.

Measured on labelled logs of real jobs: an exception that ended a program is what it says far more often than the
bare words of it are, and a second root in the same fall is the usual reason for being wrong.
"""

from __future__ import annotations

from collections.abc import Iterable

from dogwatch.causes.interface import Role
from dogwatch.causes.notes import Hit

MOST = 0.97
RIVAL, WORDS, FOLLOWED = 0.1, 0.06, 0.06
_RIGHT = ((0.5, 0.5), (0.64, 0.78), (0.74, 0.83), (0.84, 0.88), (0.9, 0.92), (0.95, 0.95), (1.0, MOST))
VAGUE = 0.75


def confidence(hit: Hit, hits: Iterable[Hit], seconded: bool, known_bad: bool) -> float:
    """Of the answers given with 0.9, nine in ten shall be right. `seconded`: something outside the logs says the
    same; `known_bad`: nobody has to conclude from the log that the job failed."""
    if seconded:
        return MOST
    value = next(right for weight, right in _RIGHT if hit.weight <= weight)
    rivals = {one.cause for one in hits if one.role is Role.ROOT and one.weight >= VAGUE and not one.quiet}
    if rivals - {hit.cause, ""} and hit.role is Role.ROOT:
        value -= RIVAL
    if not hit.raised and not hit.fatal and not known_bad:
        value -= WORDS
    if hit.role is not Role.ROOT:
        value -= FOLLOWED
    return round(max(0.3, min(MOST, value)), 2)
