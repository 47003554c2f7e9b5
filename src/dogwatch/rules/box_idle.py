"""A machine that is paid for by the hour does nothing: all its runs have ended, or nothing runs on its GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Finding, Level
from dogwatch.rules.interface import PlaceCase, Rule
from dogwatch.text import lasting

name = "box_idle"

LEAST_SECONDS = 1800.0  # without anything on its GPUs: preparing data and compiling take a while
REMIND = 3600.0


def judge_place(case: PlaceCase, now: float) -> Iterator[Finding]:
    idle = case.idle
    if idle is None:
        return
    if idle.all_over:
        why = "all its runs have ended"
    elif idle.gpus_free >= LEAST_SECONDS:
        why = f"nothing has run on its GPUs for {lasting(idle.gpus_free)}"
    else:
        return
    price = "" if idle.price_per_hour is None else f" and costs {idle.price_per_hour:g} per hour"
    stop = idle.stop or "how to stop it is not known here; see its provider's console"
    text = f"{case.place} is idle{price}: {why}; stop it: {stop}; to keep it on: dogwatch alerts ack place:{case.place}"
    yield Finding(f"place:{case.place}", name, Level.WARNING, text)


PLUGIN = Rule(name, judge_place=judge_place, needs_answer=True, reminds=REMIND)
