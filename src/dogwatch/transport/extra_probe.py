"""Extra probes: sending one to a place, and what it brought."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dogwatch.model import Unreachable
from dogwatch.remote import extra_probe
from dogwatch.transport.interface import Transport


def spec(name: str, call: Mapping[str, Any], **terms: int) -> dict[str, Any]:
    """An extra probe as a request has it. The poll waits for it to the end, unless `terms` say for how long to
    `wait`: then it runs beside the poll for at most so many `seconds`, and a later poll may get its answer."""
    return {"program": extra_probe(name), "call": call, **terms}


def send(
    transport: Transport, name: str, call: Mapping[str, Any], deadline: float, **terms: int
) -> tuple[dict[str, Any] | None, str]:
    """What one extra probe brought that is asked for by itself; or nothing, and why."""
    answer = transport.ask({"extra_probes": {name: spec(name, call, **terms)}}, deadline)
    return (None, answer.why) if isinstance(answer, Unreachable) else brought(answer.body, name)


def brought(body: Mapping[str, Any], key: str) -> tuple[dict[str, Any] | None, str]:
    """What an extra probe brought by an answer; or nothing, and why."""
    section = body.get("extra_probes")
    row = section.get(key) if isinstance(section, dict) else None
    if not isinstance(row, dict):
        why = section.get("why") if isinstance(section, dict) else None
        return None, str(why or "no reason was given")
    if row.get("pending"):
        return None, "it is not done yet"
    return (None, str(row["why"])) if set(row) == {"why"} else (row, "")
