"""Preflight: is the place ready for a job that is about to start there?

`plan.py` is what was said of the job, `remote/preflight` gathers at the place in one round trip, and the other files
judge what came back, each one part of the checklist, purely: `judge(plan, facts)` yields Lines. Channels are tried
from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dogwatch.api.checklist import Line
from dogwatch.api.preflight import box, directories, gpus, patterns, program
from dogwatch.api.preflight.facts import FAIL, PASS, WARN, Facts
from dogwatch.api.preflight.plan import Plan
from dogwatch.errors import COULD_NOT_POLL, ENDED_BADLY, FINE
from dogwatch.transport import extra_probe
from dogwatch.transport.interface import Transport
from dogwatch.wire.programs import Preflight

if TYPE_CHECKING:
    from dogwatch.wire.documents.commands import PreflightDocument

GRACE = 5.0  # between what the questions may take and the moment we stop waiting for their answers
ON_THE_WAY = 15.0
JUDGES = (program.judge, gpus.judge, directories.judge, patterns.judge, box.judge)

__all__ = ["FAIL", "PASS", "WARN", "Line", "Plan", "document", "examine", "exit_code"]


def examine(
    transport: Transport, plan: Plan, seconds: float, environment: Mapping[str, str] | None
) -> tuple[list[Line], str | None]:
    """The checklist, judged; or no line and why the place could not be asked. `environment` is what the job will
    inherit, where the place itself does not know."""
    call, deadline = plan.call(seconds, environment), seconds + GRACE + ON_THE_WAY
    answer = extra_probe.send(transport, "preflight", call, deadline, Preflight)
    if isinstance(answer, str):
        return [], answer
    facts = Facts(answer)
    return [line for judge in JUDGES for line in judge(plan, facts)], None


def exit_code(lines: Sequence[Line], unreachable: str | None) -> int:
    """0 when nothing fails, 1 when something does, 3 when the place could not be asked."""
    if any(line.verdict == FAIL for line in lines):
        return ENDED_BADLY
    return FINE if unreachable is None else COULD_NOT_POLL


def document(host: str, lines: Sequence[Line], unreachable: str | None) -> PreflightDocument:
    words = {line.verdict for line in lines}
    whole = FAIL if FAIL in words else None if unreachable is not None else WARN if WARN in words else PASS
    return {"host": host, "verdict": whole, "unreachable": unreachable, "checks": [line.document() for line in lines]}
