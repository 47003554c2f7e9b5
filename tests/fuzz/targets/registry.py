"""A registry file that other programs write too."""

from __future__ import annotations

import json

from dogwatch.api.registry_file import RegistryRefused, edited, joined, parse
from tests.fuzz.dice import Dice, documents, refused_well

TRUTH = [
    {
        "type": "slurm",
        "id": "12",
        "host": "login",
        "submitted": "2026-11-15 20:00",
        "last_status": "RUNNING",
        "note": [1.10],
    },
    {"type": "nel", "id": "aa11", "host": "x"},
    {"id": 3, "last_status": None},
]


def target(data: bytes) -> None:
    """It is a list of entries or refused with line and column in one sentence; setting the status of an entry or taking
    one out leaves JSON in which every other entry is what it was."""
    text = Dice(data).document(TRUTH)
    try:
        items = parse(text)
    except RegistryRefused as wrong:
        return refused_well(wrong, "line ")
    values = [item.value for item in items]
    assert json.dumps([item.value for item in parse(edited(text, items, {}))]) == json.dumps(values)
    if not items:
        return
    last = len(items) - 1
    fewer = parse(edited(text, items, {last: None}))
    assert json.dumps([item.value for item in fewer]) == json.dumps(values[:-1])
    if isinstance(values[0], dict) and "id" in values[0]:
        changed = parse(edited(text, items, {0: "COMPLETED"}))
        assert json.dumps([item.value for item in changed[1:]]) == json.dumps(values[1:])
        assert changed[0].value["last_status"] == "COMPLETED"
        assert {**values[0], "last_status": 0} == {**changed[0].value, "last_status": 0} or values[0] != values[0]
    assert len(parse(joined(text, ['{"id": "new"}']))) == len(items) + 1


def seeds() -> list[bytes]:
    spaced = json.dumps(TRUTH, indent=2).encode()
    return [*documents(TRUTH, [], {}), b"\0" + spaced, b"\0[ ]\n", b'\0[{"last_status" : "x", "last_status": "y"}]']
