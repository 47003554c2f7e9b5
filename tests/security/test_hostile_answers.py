"""A host that lies in any field of its answer: the poll fails with the name of the field, and nothing is raised."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.transport import extra_probe
from dogwatch.transport.interface import Answer
from dogwatch.transport.local import Here
from dogwatch.wire.answer import LONGEST_SAID, Malformed, read
from dogwatch.wire.json_value import JsonObject

WRAPPED = ("object", lambda value: {"x": value})
LIES = [
    WRAPPED,
    ("list", lambda value: [value]),
    ("text", lambda value: "\x1b]52;c;aGk=\x07 lie"),
    ("nothing", lambda value: None),
    ("negative", lambda value: -(1 << 70)),
    ("huge", lambda value: 1 << 70),
    ("fraction", lambda value: 0.5),
    ("truth", lambda value: True),
]

ROWS: JsonObject = {"ids": ["1"], "separator": "|", "id": 0, "state": 0}
REST: JsonObject = {"of": "list", "states": ["R"]}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        for at, inner in enumerate(value):
            yield from leaves(inner, (*path, at))
    else:
        yield path, value


def with_lie(body: dict[str, Any], path: tuple[Any, ...], lie: Any) -> dict[str, Any]:
    made = copy.deepcopy(body)
    holder = made
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = lie
    return made


def refusal(body: dict[str, Any]) -> str | None:
    """Why a document is refused, if it is."""
    try:
        read(json.dumps(body).encode())
    except Malformed as problem:
        return str(problem)
    return None


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A real answer with every section that this machine can give, and a scheduler's."""
    folder = tmp_path_factory.mktemp("job")
    (folder / "rank-0.log").write_text("step 1/10\n")
    (folder / "out.jsonl").write_text("{}\n")
    (folder / "run").mkdir()
    (folder / "run" / "spec.json").write_text('{"run": "chain", "stages": [{"name": "a"}]}')
    programs = folder / "bin"
    programs.mkdir()
    for name in ("squeue", "sacct", "scontrol"):
        (programs / name).write_text("#!/bin/sh\necho 1; echo said >&2\n")
        (programs / name).chmod(0o755)
    here = Here()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as job:
        request: JsonObject = {
            "process": {"pids": {"job": [[job.pid, None, None]]}, "find": {"one": {"pids": [job.pid]}}},
            "commands": {
                "list": {"argv": ["squeue"], "path": [str(programs)], "rows": ROWS},
                "rest": {"argv": ["sacct", "{ids}"], "path": [str(programs)], "follow_up": REST},
                "about": {"argv": ["scontrol"], "path": [str(programs)]},
            },
            "logs": {"job": {"globs": [f"{folder}/*.log"], "known": {}}},
            "texts": {"job": {"globs": [f"{folder}/*.log"], "known": {}, "lines": 5}},
            "box": {
                "chain": {"chain": str(folder / "run"), "results": [f"{folder}/*.jsonl"]},
                "found": {"pids": [[job.pid, None, None]], "markers": [f"{folder}/*.log"]},
            },
            "files": {"job": {"outputs": [f"{folder}/*.jsonl"], "checkpoints": []}},
            "disks": [str(folder)],
            "usage": {"job": [job.pid]},
            "extra_probes": {
                "integrity": extra_probe.spec(
                    "integrity", {"seconds": 5, "bytes": 1 << 20, "paths": [f"{folder}/out.jsonl"]}
                ),
                "gpus": extra_probe.spec("gpus", {"seconds": 3}),
                "quota": extra_probe.spec("quota", {"seconds": 2, "paths": [str(folder)]}),
                "memory": extra_probe.spec("memory", {"seconds": 3, "pids": [job.pid]}),
            },
        }
        answer = here.ask(request, 60.0)
        job.kill()
    here.close()
    assert isinstance(answer, Answer), answer
    return answer.body


def test_the_truth_is_taken(truth: dict[str, Any]) -> None:
    """What the real probe says goes through, to the letter but for its words."""
    assert read(json.dumps(truth).encode()).body == truth


def test_every_leaf_wrapped_in_an_object_is_refused_by_name(truth: dict[str, Any]) -> None:
    """The kind of lie that ended the daemon; each is refused with the path of the field."""
    taken = []
    for path, value in leaves(truth):
        told = refusal(with_lie(truth, path, {"x": value}))
        if told is None:
            taken.append(path)
        assert told is None or str(path[0]) in told
    assert taken == []


@pytest.mark.parametrize("kind", [name for name, _ in LIES])
def test_whatever_a_leaf_becomes_nothing_is_raised(truth: dict[str, Any], kind: str) -> None:
    """A lie is refused, or it is of the type that the field has."""
    make = dict(LIES)[kind]
    for path, value in leaves(truth):
        told = refusal(with_lie(truth, path, make(value))) or ""
        assert len(told) < 700
        assert "\x1b" not in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"[" * 100_000 + b"]" * 100_000, "not JSON"),
        (b'{"nonce":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}", "not JSON"),
        (b'{"a":1,"a":2}', "twice"),
        (b'{"a" :1,"a":2}', "twice"),
        (b'{"a":1,"a"\n:2}', "twice"),
        (b'{"a":"\\":","a":2, "b\\\\":1}', "twice"),
        (b'{"a":{"b":1,"b":2},"c":"x\\\\":"}', "twice"),
        (b'{"a":[{"b":1,"b":2}]}', "twice"),
        (b'{"clock":{"wall":NaN,"boottime":1}}', "NaN"),
        (b'{"clock":{"wall":1e400,"boottime":1}}', "clock"),
        (b'{"clock":{"wall":' + b"9" * 6000 + b',"boottime":1}}', "not JSON"),
        (b'{"no_such_section":{}}', "not requested"),
        (b'"text"', "not a JSON object"),
        (b"\xff\xfe", "not JSON"),
        (b'{"process":{"ok":true,"more":1}}', "more"),
        (b'{"logs":{"ok":true,"job":{"files":{"/x":{"size":-1}}}}}', "logs.job"),
    ],
)
def test_other_ways_to_lie(text: bytes, told: str) -> None:
    """Depth, duplicates, numbers that are none, sections that nobody asked for."""
    with pytest.raises(Malformed, match=told):
        read(text)


def test_a_hosts_words_are_cleaned_and_bounded() -> None:
    """Sixty megabytes of an error text are refused; a long one is cut, and nothing in it reaches a terminal."""
    words = "\x1b]52;c;aGk=\x07\u202eevil\nDOGWATCH-END " * 1000
    answer = read(json.dumps({"process": {"ok": False, "why": words}, "logs": {"ok": False, "why": words}}).encode())
    assert answer.process is not None
    for why in (answer.process.why, answer.logs.why, *(section["why"] for section in answer.body.values())):
        assert len(why) <= LONGEST_SAID
        assert not any(char in why for char in "\x1b\x07\u202e\n")
    with pytest.raises(Malformed):
        read(json.dumps({"process": {"ok": False, "why": "x" * 2_000_000}}).encode())


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
        max_leaves=20,
    ),
    st.sampled_from(["process", "commands", "logs", "files", "disks", "usage", "extra_probes", "clock", "texts"]),
)
def test_any_json_in_a_section_is_taken_or_refused(value: Any, name: str) -> None:
    """It ends with a document or with Malformed."""
    refusal({name: value})
