"""Preflight: is the place ready for a job that is about to start there?

`plan.py` is what was said of the job, `aboard/preflight` gathers at the place in one round trip, and the other files
judge what came back, each one part of the checklist, purely: `judge(plan, facts)` yields Lines. Channels are tried
from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dogwatch.desk.checklist import Line
from dogwatch.desk.preflight import gpus, patterns, places, program
from dogwatch.desk.preflight.facts import FAIL, PASS, WARN, Facts
from dogwatch.desk.preflight.plan import Plan
from dogwatch.errors import COULD_NOT_LOOK, ENDED_BADLY, FINE
from dogwatch.reach import errands
from dogwatch.reach.interface import Reach

GRACE = 5.0  # between what the questions may take and the moment we stop waiting for their answers
ON_THE_WAY = 15.0
JUDGES = (program.judge, gpus.judge, places.judge, patterns.judge)

__all__ = ["FAIL", "PASS", "WARN", "Line", "Plan", "document", "examine", "exit_code"]


def examine(
    reach: Reach, plan: Plan, seconds: float, environment: Mapping[str, str] | None
) -> tuple[list[Line], str | None]:
    """The checklist, judged; or no line and why the place could not be asked. `environment` is what the job will
    inherit, where the place itself does not know."""
    found, why = errands.send(reach, "preflight", plan.call(seconds, environment), seconds + GRACE + ON_THE_WAY)
    if found is None:
        return [], why
    facts = Facts(found)
    return [line for judge in JUDGES for line in judge(plan, facts)], None


def exit_code(lines: Sequence[Line], dark: str | None) -> int:
    """0 when nothing fails, 1 when something does, 3 when the place could not be asked."""
    if any(line.verdict == FAIL for line in lines):
        return ENDED_BADLY
    return FINE if dark is None else COULD_NOT_LOOK


def document(host: str, lines: Sequence[Line], dark: str | None) -> dict[str, Any]:
    words = {line.verdict for line in lines}
    whole = FAIL if FAIL in words else None if dark is not None else WARN if WARN in words else PASS
    return {"host": host, "verdict": whole, "dark": dark, "checks": [line.document() for line in lines]}
