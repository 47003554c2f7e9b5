"""inspect-ai's logs: one task each, as JSON or as an archive (`.eval`) whose header.json is written last.

Of a large archive only the end is at hand; that is where the header lies. What an archive says of its own sizes is not
believed: every read is bounded. Archives of today are packed with Zstandard, which takes the extra `inspect`.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any

from dogwatch.results.interface import Score, figure

HEADER, LARGEST = "header.json", 4 << 20
LOCAL = struct.Struct("<4s5H3I2H")  # what stands before each member
STORED, DEFLATED, ZSTANDARD = 0, 8, 93
LARGEST_WINDOW = 64 << 20


class InspectJson:
    """The log as one JSON document."""

    globs: tuple[str, ...] = ("20??-*_*_*.json", "*/20??-*_*_*.json")

    def read(self, text: str) -> list[Score] | None:
        try:
            return _headline(json.loads(text))
        except (ValueError, RecursionError):
            return None


class InspectArchive:
    """The log as a zip, or the end of one."""

    globs: tuple[str, ...] = ("*.eval", "*/*.eval")

    def read_bytes(self, raw: bytes) -> list[Score] | None:
        header = _header(raw)
        return None if header is None else reader.read(header.decode("utf-8", "replace"))


def _header(raw: bytes) -> bytes | None:
    """What header.json holds; None while it is not written, and for what is no such archive."""
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            member = archive.getinfo(HEADER)
        start, length = member.header_offset, LOCAL.size
        fields = LOCAL.unpack_from(raw, start) if start >= 0 else ()
        if not fields or fields[0] != b"PK\x03\x04" or member.flag_bits & 1:
            return None
        at = start + length + fields[9] + fields[10]
        return _unpacked(raw[at : at + member.compress_size], member.compress_type)
    except (zipfile.BadZipFile, KeyError, ValueError, NotImplementedError, struct.error, zlib.error, OverflowError):
        return None


def _unpacked(packed: bytes, method: int) -> bytes | None:
    """At most so much of it as a header can be."""
    if method == STORED:
        return packed[:LARGEST]
    if method == DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, LARGEST)
    return _unpacked_zstandard(packed) if method == ZSTANDARD else None


def _unpacked_zstandard(packed: bytes) -> bytes | None:
    try:
        import zstandard
    except ImportError:
        return None
    unpacker = zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW)
    try:
        with unpacker.stream_reader(io.BytesIO(packed), read_across_frames=True) as stream:
            return stream.read(LARGEST)
    except zstandard.ZstdError:
        return None


def _headline(log: Any) -> list[Score] | None:
    """The figure that the log itself calls its headline, else the first; nothing of a run that did not succeed."""
    task, results = _mapping(_mapping(log).get("eval")).get("task"), _mapping(_mapping(log).get("results"))
    if not isinstance(task, str) or not isinstance(log.get("status"), str):
        return None
    if log["status"] != "success" or log.get("invalidated") is True:
        return []
    named = _mapping(results.get("headline"))
    scores = results.get("scores")
    rows = [row for row in scores if isinstance(row, dict)] if isinstance(scores, list) else []
    chosen = [row for row in rows if row.get("name") == named.get("score") and row.get("scorer") == named.get("scorer")]
    for row in chosen or rows:
        metrics = _mapping(row.get("metrics"))
        order = sorted(metrics, key=lambda metric: metric != named.get("metric"))
        for metric in order:
            value = figure(_mapping(metrics[metric]).get("value"))
            if value is not None and metric != "stderr":
                return [Score(task, metric, value, figure(_mapping(metrics.get("stderr")).get("value")))]
    return []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


reader = InspectJson()
archive = InspectArchive()
