"""The types by which mypy checks what the programs answer agree with the structs that check every answer."""

from __future__ import annotations

from typing import is_typeddict

import msgspec
import pytest

from dogwatch.remote import shapes
from dogwatch.wire import box, commands, programs, requests, sections

STRUCTS = {name: value for module in (sections, programs, commands, box) for name, value in vars(module).items()}
SHAPES = {name: value for name, value in vars(shapes).items() if is_typeddict(value)}
# A refusal stands in place of the metrics, and of a disk. What is listed as an output is the same on the way there.
MAY_LACK = {
    "Gpus": {"why"},
    "Integrity": {"why"},
    "GpuMetrics": {"why"},
    "Record": {"at", "code", "signal", "error", "oom"},
}
MAY_ADD = {"Record": {"run", "workers"}}


@pytest.mark.parametrize("name", sorted(SHAPES.keys() & STRUCTS.keys() - {"Why"}))
def test_a_program_answers_with_the_fields_that_are_taken(name: str) -> None:
    """No field is sent that would be refused, none that is expected is left out, and what must be there always is."""
    shape, fields = SHAPES[name], {field.encode_name: field for field in msgspec.structs.fields(STRUCTS[name])}
    assert set(shape.__annotations__) - MAY_ADD.get(name, set()) == set(fields) - MAY_LACK.get(name, set())
    required = {key for key, field in fields.items() if field.required}
    assert required - MAY_LACK.get(name, set()) <= shape.__required_keys__


@pytest.mark.parametrize("name", sorted(SHAPES.keys() & vars(requests).keys()))
def test_a_program_knows_every_field_that_it_is_sent(name: str) -> None:
    """What the watcher asks of an extra probe is read there under the same name."""
    sent = {field.encode_name for field in msgspec.structs.fields(getattr(requests, name))}
    assert sent <= set(SHAPES[name].__annotations__)


def test_every_shape_is_compared() -> None:
    """A struct that is renamed does not drop out of the comparison silently."""
    inside = {"MemoryHeld", "PidFile", "RunRecords", "WithFolders", "GpuReading", "Space", "BoxFiles"}
    # Memory is asked with one entry per scheduler; stacks and preflight are asked for by a person.
    loose = {"RamCall", "StacksCall", "PreflightCall", "Program", "ProgramOutput", "Found"}
    assert set(SHAPES) - set(STRUCTS) - set(vars(requests)) == inside | loose
