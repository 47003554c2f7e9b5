"""inspect-ai's logs: the headline of a run that succeeded, out of JSON and out of archives that nobody trusts."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.results import inspect_ai, scores
from dogwatch.results.interface import Score
from dogwatch.wire.sections import TextFile

STAMP = "2031-02-03T04-05-06+00-00_rivers_Zk3"


def log(**more: Any) -> Any:
    """A log with two scores, of which the second is the headline."""
    found = [
        {"name": "length", "scorer": "length", "metrics": {"mean": {"value": 71.5}}},
        {
            "name": "choice",
            "scorer": "choice",
            "metrics": {"std": {"value": 0.4}, "stderr": {"value": 0.03}, "accuracy": {"value": 0.625}},
        },
    ]
    headline = {"scorer": "choice", "score": "choice", "metric": "accuracy"}
    results = {"total_samples": 8, "completed_samples": 8, "scores": found, "headline": headline}
    return {"version": 2, "status": "success", "eval": {"task": "rivers"}, "results": results, **more}


def archive(header: bytes | None, method: int = zipfile.ZIP_DEFLATED, samples: int = 3) -> bytes:
    """An archive as the tool writes it, the header last."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as made:
        for number in range(samples):
            made.writestr(f"samples/{number}_epoch_1.json", "{}" * 500)
        if header is not None:
            made.writestr("header.json", header, method)
    return file.getvalue()


def with_zstandard(header: bytes, said: int | None = None) -> bytes:
    """The same with a header in two Zstandard frames, which the library of this Python cannot write; `said` is the
    size that it claims to unpack to."""
    half = len(header) // 2
    packed = zstandard.compress(header[:half]) + zstandard.compress(header[half:])
    raw = bytearray(archive(packed, zipfile.ZIP_STORED))
    central = raw.rindex(b"PK\x01\x02")
    local = struct.unpack_from("<I", raw, central + 42)[0]
    for at in (central + 10, local + 8):
        struct.pack_into("<H", raw, at, 93)
    for at in (central + 16, local + 14):
        struct.pack_into("<I", raw, at, zlib.crc32(header))
    for at in (central + 24, local + 22):
        struct.pack_into("<I", raw, at, len(header) if said is None else said)
    return bytes(raw)


def found(raw: bytes, name: str = f"{STAMP}.eval") -> Any:
    return scores.read({f"/out/logs/{name}": TextFile(raw.decode("latin-1"), 0, len(raw), len(raw), 1.0, False)}, None)


RIVERS = [{"task": "rivers", "metric": "accuracy", "value": 0.625, "stderr": 0.03}]


def test_the_headline_is_what_the_log_calls_so_and_else_the_first_figure() -> None:
    """A spread is no figure of merit."""
    assert inspect_ai.reader.read(json.dumps(log())) == [Score("rivers", "accuracy", 0.625, 0.03)]
    plain = log()
    plain["results"]["headline"] = None
    assert inspect_ai.reader.read(json.dumps(plain)) == [Score("rivers", "mean", 71.5)]
    assert found(json.dumps(log()).encode(), f"{STAMP}.json") == RIVERS


@pytest.mark.parametrize(
    "more", [{"status": "error"}, {"status": "started"}, {"invalidated": True}, {"results": None}, {"results": []}]
)
def test_a_run_that_did_not_succeed_has_no_score(more: dict[str, Any]) -> None:
    """Nor has one that somebody declared invalid."""
    assert inspect_ai.reader.read(json.dumps(log(**more))) == []


def test_archives_of_every_packing_are_read() -> None:
    """Stored, deflated as older ones are, and in several Zstandard frames as today's are."""
    header = json.dumps(log()).encode()
    assert found(archive(header, zipfile.ZIP_STORED)) == RIVERS
    assert found(archive(header)) == RIVERS
    assert found(with_zstandard(header)) == RIVERS
    assert found(archive(header, zipfile.ZIP_BZIP2)) == []


def test_the_end_of_a_large_archive_is_enough() -> None:
    """Its directory and its header lie there; a run that goes on has no header yet."""
    header = json.dumps(log()).encode()
    whole = archive(header, samples=400)
    assert len(whole) > scores.TAIL
    assert found(whole[-scores.TAIL :]) == RIVERS
    assert found(whole[-1000:]) == []
    assert found(archive(None)) == []


def test_a_header_that_would_fill_the_memory_is_given_up() -> None:
    """Whatever size it claims, no more is unpacked than a header may have."""
    bomb = json.dumps(log(metadata="a" * (64 << 20))).encode()
    for raw in (archive(bomb), with_zstandard(bomb), with_zstandard(bomb, said=10)):
        assert len(raw) < 1 << 20
        assert found(raw) == []


@given(st.sampled_from([archive(b"{}"), with_zstandard(json.dumps(log()).encode())]), st.data())
def test_no_damage_breaks_the_reader(raw: bytes, data: st.DataObject) -> None:
    """Cut anywhere, with bytes changed anywhere: scores or none, and no exception."""
    start = len(raw) - 600
    torn = bytearray(raw)
    for at in data.draw(st.lists(st.integers(start, len(raw) - 1), max_size=4)):
        torn[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(raw)))
    for text in (bytes(torn), raw[:cut], raw[cut:]):
        assert all(isinstance(score["value"], float) for score in found(text))
