"""Extra probes: sending one to a place, and what it found."""

from __future__ import annotations

from typing import TypeVar

from dogwatch.model import Unreachable
from dogwatch.remote import extra_probe
from dogwatch.transport.interface import Transport
from dogwatch.wire.json_value import JsonObject
from dogwatch.wire.programs import Why

Found = TypeVar("Found")


def spec(name: str, call: JsonObject) -> JsonObject:
    """An extra probe as a request has it; the poll waits for it to the end."""
    return {"program": extra_probe(name), "call": call}


def send(transport: Transport, name: str, call: JsonObject, deadline: float, kind: type[Found]) -> Found | str:
    """What one extra probe found that is asked for by itself; or why it found nothing."""
    answer = transport.ask({"extra_probes": {name: spec(name, call)}}, deadline)
    if isinstance(answer, Unreachable):
        return answer.why
    section = answer.checked.extra_probes
    row = section.rows.get(name)
    if isinstance(row, kind):
        return row
    if isinstance(row, Why):
        return "it is not done yet" if row.pending else row.why
    return section.why or "no reason was given"
