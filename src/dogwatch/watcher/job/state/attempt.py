"""Attempts: where each attempt of a job ran, from where on it wrote its logs, how far it came and how it ended."""

from __future__ import annotations

from typing import TypedDict

from dogwatch.wire.requests import LogCursor


class Attempt(TypedDict, total=False):
    """`logs` are the offsets at which it began to write, `marks` the logs as its last poll knew them, `mixed` those in
    which nothing tells where it begins."""

    attempt: int
    began: float
    ended: float | None
    how: str | None
    reached: float | None
    logs: dict[str, int]
    marks: dict[str, LogCursor]
    mixed: list[str]
    nodes: str | None
    partition: str | None
    limit_seconds: float | None
