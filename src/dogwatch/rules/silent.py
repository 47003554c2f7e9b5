"""Log or output has stood still longer than this job's own pauses explain.

No fixed timeout is right for every job, so patience grows with the longest pause the job came
back from; a stall timeout that the owner set is taken at its word.
"""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level, Running
from dogwatch.rules.interface import Case, Quiet

name = "silent"
states = (Running,)

# 300 s of silence is normal in most healthy mmdetection and JAX runs, so never less than this.
LEAST_PATIENCE = 900.0
SAFETY = 3.0


def judge(case: Case, now: float) -> Iterator[Finding]:
    if not isinstance(case.known.state, Running):
        return
    limit = case.job.expect.stall_timeout
    if limit is not None and case.signs is not None and case.signs.seconds >= limit:
        text = f"stalled: no sign of progress for {_span(case.signs.seconds)} (the limit given is {_span(limit)})"
        yield Finding(case.job.ref, name, Level.CRITICAL, text, "stalled")
        return
    for what, quiet in (("log", case.log), ("output", case.output)):
        if quiet is not None and quiet.seconds >= patience(quiet):
            text = (
                f"its {what} has been silent for {_span(quiet.seconds)} (longest pause before: {_span(quiet.longest)})"
            )
            yield Finding(case.job.ref, name, Level.WARNING, text, what)


def patience(quiet: Quiet) -> float:
    """How long this one may be silent before it is worth a word."""
    return max(LEAST_PATIENCE, SAFETY * quiet.longest)


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
