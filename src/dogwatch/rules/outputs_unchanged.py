"""Outputs that used to grow have not changed, while the job itself seems to go on."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Closing, Finding, Level, Running, StallState
from dogwatch.rules.interface import Case, Rule
from dogwatch.text import lasting

name = "outputs_unchanged"

DONE = 0.999  # of the total: what comes now need not be written there


def judge(case: Case, now: float) -> Iterator[Finding]:
    made = case.made
    if made is None or made.silence_limit is None or made.unchanged <= made.silence_limit:
        return
    if case.verdict is not None and case.verdict.word is StallState.STALLED:
        return  # nothing else moves either, and that has been said
    if case.progress is not None and (case.progress.fraction or 0.0) >= DONE:
        return
    text = (
        f"output files have not grown for {lasting(made.unchanged)}; before, they grew about every "
        f"{lasting(made.usual)}"
    )
    yield Finding(case.job.ref, name, Level.WARNING, f"{text}; check the disk space and its log")


def gone(case: Case, what: str) -> Closing:
    """When they have grown again; not because the job is nearly done."""
    made = case.made
    grew = made is not None and made.silence_limit is not None and made.unchanged <= made.silence_limit
    return Closing.RESOLVED if grew else Closing.OPEN


PLUGIN = Rule(name, judge=judge, states=(Running,), needs="made", gone=gone, gives_way_to=("stalled",))
