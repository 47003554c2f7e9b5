"""Errands: sending one to a place, and what it brought."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dogwatch.aboard import errand
from dogwatch.model import Dark
from dogwatch.reach.interface import Reach


def spec(name: str, call: Mapping[str, Any], **terms: int) -> dict[str, Any]:
    """An errand as a request has it. The look waits for it to the end, unless `terms` say for how long to `wait`: then
    it runs beside the look for at most so many `seconds`, and a later look may get its answer."""
    return {"program": errand(name), "call": call, **terms}


def send(
    reach: Reach, name: str, call: Mapping[str, Any], deadline: float, **terms: int
) -> tuple[dict[str, Any] | None, str]:
    """What one errand brought that is asked for by itself; or nothing, and why."""
    answer = reach.ask({"errands": {name: spec(name, call, **terms)}}, deadline)
    return (None, answer.why) if isinstance(answer, Dark) else brought(answer.body, name)


def brought(body: Mapping[str, Any], key: str) -> tuple[dict[str, Any] | None, str]:
    """What an errand brought by an answer; or nothing, and why."""
    section = body.get("errands")
    row = section.get(key) if isinstance(section, dict) else None
    if not isinstance(row, dict):
        why = section.get("why") if isinstance(section, dict) else None
        return None, str(why or "no reason was given")
    if row.get("pending"):
        return None, "it is not done yet"
    return (None, str(row["why"])) if set(row) == {"why"} else (row, "")
