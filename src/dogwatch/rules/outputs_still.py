"""Outputs that used to grow stand still, while the job itself seems to go on."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Closing, Finding, Level, Running, Standing
from dogwatch.rules.interface import Case
from dogwatch.text import lasting

name = "outputs_still"
states, needs = (Running,), "made"
gives_way_to = ("stalled",)

DONE = 0.999  # of the total: what comes now need not be written there


def judge(case: Case, now: float) -> Iterator[Finding]:
    made = case.made
    if made is None or made.patience is None or made.still <= made.patience:
        return
    if case.verdict is not None and case.verdict.word is Standing.STALLED:
        return  # nothing else moves either, and that has been said
    if case.progress is not None and (case.progress.fraction or 0.0) >= DONE:
        return
    text = f"outputs have not grown for {lasting(made.still)}; they used to about every {lasting(made.usual)}"
    yield Finding(case.job.ref, name, Level.WARNING, f"{text}. See whether the disk is full and what its log says")


def gone(case: Case, what: str) -> Closing:
    """When they have grown again; not because the job is nearly done."""
    made = case.made
    grew = made is not None and made.patience is not None and made.still <= made.patience
    return Closing.RESOLVED if grew else Closing.OPEN
