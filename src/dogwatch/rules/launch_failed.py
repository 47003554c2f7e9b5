"""Fewer workers than expected were ever seen within the launch timeout."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Ended, Finding, Level, Waiting
from dogwatch.rules.interface import Case, Rule

name = "launch_failed"


def judge(case: Case, now: float) -> Iterator[Finding]:
    state, expect = case.known.state, case.job.expect
    if isinstance(state, Ended) or case.age < expect.launch_timeout:
        return
    if expect.workers is None and case.job.source != "process":
        return
    within = f"within {expect.launch_timeout:g} s"
    if case.job.source == "process" and isinstance(state, Waiting) and not case.workers:
        yield Finding(case.job.ref, name, Level.CRITICAL, f"no worker started {within}: {state.reason}")
        return
    want = expect.workers
    if want is None:
        return
    # One that has ended had started: that is another finding.
    there = [worker for worker in case.workers if worker.started is not None or worker.pid is not None]
    if len(there) >= want:
        return
    missing = sorted(set(range(want)) - {worker.index for worker in there})
    text = (
        f"only {len(there)} of {want} workers started {within}"
        f" (missing: {', '.join(map(str, missing[:16]))}{' …' if len(missing) > 16 else ''})"
    )
    yield Finding(case.job.ref, name, Level.CRITICAL, text)


PLUGIN = Rule(name, judge=judge)
