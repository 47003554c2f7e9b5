"""How sure an answer is: how often answers of its kind were right on labelled logs that nobody had seen.

A kind is what the answer stands on: an exception that a row knows well, one that no row knows, a line that no job
survives, mere words, a consequence, one root among several. `MEASURED` is the count of each; a kind that was seen
seldom is believed less, and none more than `MOST`.
"""

from __future__ import annotations

from collections.abc import Iterable

from dogwatch.diagnosis.collected_lines import Hit
from dogwatch.diagnosis.interface import Role

MOST = 0.97
WORDS = 0.06  # less for words, where nobody else says that the job failed
VAGUE = 0.75
UNKNOWN_EXCEPTION = 0.6
FOLLOWED = 0.88  # at most for a consequence: a root that no log holds may be behind it
# Right answers of all, on 1,130 logs: two in three of real jobs, the rest written to be hard, none learnt from before.
MEASURED = {
    "exception known well": (391, 392),
    "exception known": (140, 146),
    "exception known by half": (32, 35),
    "exception of a general name": (47, 68),
    "exception of an unknown name": (32, 51),
    "line that no job survives": (217, 219),
    "plain words": (54, 56),
    "weak words": (12, 13),
    "consequence": (56, 61),
    "one of several": (52, 58),
}


def confidence(hit: Hit, hits: Iterable[Hit], seconded: bool, known_bad: bool) -> float:
    """Of the answers given with 0.9, nine in ten shall be right. `seconded`: something outside the logs says the
    same; `known_bad`: nobody has to conclude from the log that the job failed."""
    if seconded:
        return MOST
    right, given = MEASURED[kind(hit, hits)]
    value = min((right + 1) / (given + 2), MOST if hit.role is Role.ROOT else FOLLOWED)
    if not hit.raised and not hit.fatal and not known_bad:
        value -= WORDS
    return round(max(0.3, min(MOST, value)), 2)


def kind(hit: Hit, hits: Iterable[Hit]) -> str:
    """What an answer stands on; a key of `MEASURED`."""
    rivals = {one.cause for one in hits if one.role is Role.ROOT and one.weight >= VAGUE and not one.quiet}
    if hit.role is not Role.ROOT:
        return "consequence"
    if hit.raised and hit.cause == "code_error" and hit.weight < VAGUE:
        return "exception of a general name" if hit.weight > UNKNOWN_EXCEPTION else "exception of an unknown name"
    if rivals - {hit.cause, ""}:
        return "one of several"
    if hit.raised:
        well = "exception known well" if hit.weight >= 0.93 else "exception known"
        return well if hit.weight >= 0.85 else "exception known by half"
    if hit.fatal:
        return "line that no job survives"
    return "plain words" if hit.weight >= 0.85 else "weak words"
