"""The log stands still while checkpoints are written: the output is kept in a buffer, and the job is not hung."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level, Running
from dogwatch.rules.interface import Case, Rule
from dogwatch.text import lasting

name = "log_buffered"

LEAST_SECONDS = 600.0  # of a log that stands still
SHARE = 0.25  # of that time, in which a checkpoint must have moved


def judge(case: Case, now: float) -> Iterator[Finding]:
    verdict = case.verdict
    if verdict is None or not case.job.expect.logs:
        return
    quiet = {evidence.by: evidence.quiet for evidence in verdict.evidence if evidence.quiet is not None}
    log, saved = quiet.get("log"), quiet.get("checkpoint")
    if log is None or saved is None or log < LEAST_SECONDS or saved > SHARE * log:
        return
    text = (
        f"its log has said nothing for {lasting(log)}, and it saved a checkpoint {lasting(saved)} ago: its output is "
        "block-buffered, and it works; run python with -u or PYTHONUNBUFFERED=1 next time"
    )
    yield Finding(case.job.ref, name, Level.INFO, text)


PLUGIN = Rule(name, judge=judge, states=(Running,), needs="verdict")
