"""The place answers, but this job cannot be seen there: what is shown of it is old."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level
from dogwatch.rules.interface import BlindCase, Rule

name = "cannot_see"


def judge_blind(case: BlindCase, now: float) -> Iterator[Finding]:
    text = f"its state cannot be read, so what is shown is old: {case.why}"
    yield Finding(case.job.ref, name, Level.WARNING, text)


PLUGIN = Rule(name, judge_blind=judge_blind, spans_attempts=True)
