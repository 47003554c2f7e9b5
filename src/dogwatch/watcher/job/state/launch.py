"""Launch: what the first polls of an attempt have shown of its beginning."""

from __future__ import annotations

from typing import TypedDict

from msgspec import Struct


class LaunchRecord(TypedDict, total=False):
    """`seconds` by sign after which it came, `within` those that are a bound only, `lacked` when each was last seen to
    lack, `lacks` in words what still does; `lead` is how long after its beginning it was first seen."""

    state: str
    began: float
    at: float
    lead: float
    age: float
    timeout: float
    seconds: dict[str, float]
    within: list[str]
    lacked: dict[str, float]
    lacks: dict[str, str]
    text: str
    worker: int | None
    why: str


class LaunchState(Struct, omit_defaults=True):
    """The record of the attempt that runs, and whether its launch is decided."""

    record: LaunchRecord | None = None
    verified: bool = False
