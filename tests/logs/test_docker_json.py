"""Lines that Docker wrapped are read as the program wrote them."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dogwatch.logs.docker_json import WITHIN, unwrapped
from dogwatch.logs.reader import Reader
from tests.logs.shapes import SHAPES
from tests.logs.test_shapes import shown

EACH = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
TIME = "2025-03-04T05:06:07.123456789Z"


def wrapped(log: str) -> bytes:
    """The log as Docker keeps it."""
    lines = (json.dumps({"log": line + "\n", "stream": "stderr", "time": TIME}) for line in log.split("\n"))
    return "".join(line.replace('": "', '":"').replace('", "', '","') + "\n" for line in lines).encode()


@EACH
def test_a_wrapped_log_says_what_the_program_said(shape) -> None:
    """Quotes, tabs, returns and escapes are the program's again; only what a line has to begin with may be missed."""
    if shape.format == "build_nanogpt":
        return
    log = wrapped(shape.log)
    whole = Reader().feed(log).step
    assert shown(whole) == (shape.step, shape.total, shape.unit)
    reader = Reader()
    for place in range(0, len(log), 97):
        said = reader.feed(log[place : place + 97])
    assert said.step == whole


@given(st.binary(max_size=60), st.text(max_size=20))
@example(b'{"log":"a\\', "")
@example(b'{"log":"a","stream":"stdout","time":7}', "")
@example(b'{"log":"' + b"[" * 50, "x")
def test_what_only_looks_wrapped_stays_as_it_is(some, word) -> None:
    """A line that is no such object is passed on; nothing raises."""
    text = some.replace(b"\n", b"") + b'","stream":"std' + word.replace("\n", "").encode() + b"\n"
    assert unwrapped(text).endswith(b"\n")
    assert unwrapped(b"plain\n") == b"plain\n"


@pytest.mark.parametrize("size", [97, 1 << 20])
def test_docker_wraps_a_log_from_its_beginning(size) -> None:
    """What a log of other lines quotes later on stays as it is; a wrapped one is known for good, by another reader
    that goes on too; and nothing depends on the pieces."""
    plain = b"nothing to see here\n" * (WITHIN // 20 + 1)
    record, other = wrapped('{"step": 3, "total_steps": 9}'), wrapped('{"step": 4, "total_steps": 9}')
    for log, done in ((plain + record, None), (record + plain + other, 4.0)):
        reader = Reader()
        for place in range(0, len(log), size):
            reader = Reader.restore(reader.state())
            step = reader.feed(log[place : place + size]).step
        assert (step and step.done) == done
