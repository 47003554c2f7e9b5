"""The owner's patterns: do they say anything of the logs that are there?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dogwatch.api.checklist import Line
from dogwatch.api.preflight.facts import PASS, WARN, Facts, count
from dogwatch.api.preflight.plan import Plan
from dogwatch.logs.user import ANY_CASE, compile_patterns
from dogwatch.text import plain
from dogwatch.wire.preflight import Logs

TOO_OFTEN = 0.2


def judge(plan: Plan, facts: Facts) -> Iterator[Line]:
    if not (plan.progress_patterns or plan.error_patterns):
        return
    patterns = compile_patterns(plan.progress_patterns, plan.error_patterns, plan.source or "the patterns")
    lines = _earlier_lines(facts)
    for gauge in patterns.progress:
        what = f"pattern {plain(gauge.name, 40)}"
        if gauge.regex.search(b""):
            yield Line(WARN, what, "matches an empty line, and so every line", "make it more specific")
        elif not lines:
            yield Line(PASS, what, "can be used; there is no earlier log to try it on")
        else:
            yield _tried(what, [mark for line in lines if (mark := gauge.read(line))], lines)
    for error in patterns.errors:
        what = f"error pattern {plain(error.text.removeprefix(ANY_CASE), 40)}"
        hits = [line for line in lines if error.regex.search(line)]
        if error.regex.search(b""):
            yield Line(WARN, what, "matches an empty line, and so every line", "make it more specific")
        elif lines and len(hits) > TOO_OFTEN * len(lines):
            text = f"matches {len(hits):,} of the last {count(len(lines), 'line')} of earlier logs"
            yield Line(WARN, what, text, "make it narrower: an alert that always fires is ignored")
        else:
            tried = (
                f"{len(hits):,} of {count(len(lines), 'line')} of earlier logs" if lines else "no earlier log to try"
            )
            yield Line(PASS, what, f"can be used ({tried})")


def _tried(what: str, marks: list[Any], lines: list[bytes]) -> Line:
    if not marks:
        text = f"reads nothing from the last {count(len(lines), 'line')} of earlier logs"
        return Line(WARN, what, text, "compare it with a line that it should read")
    last = marks[-1]
    shown = getattr(last, "done", None)
    value = f"{shown:g}" if shown is not None else f"{last.value:g}"
    return Line(PASS, what, f"reads {count(len(marks), 'line')} of earlier logs, the last as {value}")


def _earlier_lines(facts: Facts) -> list[bytes]:
    logs = facts.of("logs", Logs)
    tails = () if isinstance(logs, str) else logs.tails.values()
    lines = [line for text in tails for line in text.encode("latin-1", "replace").split(b"\n")]
    return [line for line in lines if line.strip()]
