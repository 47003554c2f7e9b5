"""Job, Place and Expectation: what is watched, where, and what its owner said should be true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LAUNCH_TIMEOUT = 60.0
HERE = "here"


def scheduler_here(source: str) -> str:
    """The place, and its kind, that stands for the scheduler of this machine."""
    return f"{HERE}-{source}"


def is_here(place_kind: str) -> bool:
    """Whether a place of this kind is this machine, or its scheduler."""
    return place_kind == HERE or place_kind.startswith(f"{HERE}-")


@dataclass(frozen=True, slots=True)
class Place:
    """A host or cluster: its name, the kind of transport that gets there, and how often to ask."""

    name: str
    kind: str = "here"
    transport: Mapping[str, str | None] = field(default_factory=dict)
    floor: float = 1.0


@dataclass(frozen=True, slots=True)
class Rent:
    """What a place costs while it is on, and what ends that, in words."""

    price_per_hour: float | None = None
    stop: str = ""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the user said should be true of a job. Globs are absolute; None means: nothing was said."""

    workers: int | None = None
    logs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    checkpoints: tuple[str, ...] = ()
    total_items: int | None = None
    launch_timeout: float = LAUNCH_TIMEOUT
    stall_timeout: float | None = None
    check_interval: float | None = None
    progress_patterns: Mapping[str, str] = field(default_factory=dict)
    error_patterns: tuple[tuple[str, str], ...] = ()
    min_growth: float | None = None  # bytes per second
    stall_warning: float | None = None  # seconds without progress after which its owner is warned


@dataclass(frozen=True, slots=True)
class Job:
    """What the user cares about. `track` is the source's own note of how to find it on the place."""

    ref: str
    place: str
    source: str
    id: str
    name: str
    description: str = ""
    submitted: float | None = None
    registered: float = 0.0
    track: Mapping[str, Any] = field(default_factory=dict)
    expect: Expectation = field(default_factory=Expectation)
