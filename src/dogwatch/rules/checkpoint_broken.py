"""A checkpoint is not whole: whoever resumes from it cannot."""

from __future__ import annotations

import os
from collections.abc import Iterator

from dogwatch.model import Finding, Level
from dogwatch.rules.interface import Case, Rule

name = "checkpoint_broken"


def judge(case: Case, now: float) -> Iterator[Finding]:
    made = case.made
    for spoilt in made.spoilt if made is not None else ():
        known = (
            f"the newest intact one is {made.intact}" if made is not None and made.intact else "no intact one is known"
        )
        text = f"checkpoint {os.path.basename(spoilt.path.rstrip('/'))} {spoilt.why}; {known}"
        yield Finding(case.job.ref, name, Level.WARNING, f"{text}. {spoilt.do}", spoilt.path)


PLUGIN = Rule(name, judge=judge, needs="made", spans_attempts=True)
