"""Tails: the last lines of a job's logs, as a request of the probe asks for them."""

from __future__ import annotations

from collections.abc import Sequence

from dogwatch.wire.json_value import JsonValue

LINES, BYTES, MOST_LOGS = 500, 256 << 10, 32


def tails(globs: Sequence[str]) -> dict[str, JsonValue]:
    """The row of a `texts` section that brings the last lines of each log."""
    return {"globs": list(globs), "known": {}, "lines": LINES, "max": BYTES, "files": MOST_LOGS}
