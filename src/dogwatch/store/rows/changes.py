"""What a tick concluded, as values: the store writes all of a Tick or none of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dogwatch.model.finding import Finding, Notification
    from dogwatch.model.follow import Known
    from dogwatch.model.state import Evidence
    from dogwatch.store.rows.row import Json
    from dogwatch.wire.documents.diagnosis import DiagnosisDocument
    from dogwatch.wire.documents.job import DetailDocument, EtaDocument, ProgressDocument
    from dogwatch.wire.documents.watch import EventBody, PlaceFacts


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, to be appended to the history; the store gives it its number and time."""

    kind: str
    text: str
    ref: str | None = None
    place: str | None = None
    level: str = "info"
    body: EventBody = field(default_factory=dict)  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class JobUpdate:
    """What is known of a job after a tick, whole: `progress`, `eta`, `diagnosis` and `detail` replace what was there.
    `memory` and `track` do so too unless they are None, which keeps the old ones."""

    ref: str
    known: Known
    started: float | None = None
    progress: ProgressDocument | None = None
    eta: EtaDocument | None = None
    diagnosis: DiagnosisDocument | None = None
    detail: DetailDocument | None = None
    memory: Json = None
    track: Json = None
    name: str | None = None


class Confirmed(NamedTuple):
    """That a job is what it was, by this newer evidence; a memory that is None keeps the old one."""

    ref: str
    at: float
    evidence: tuple[Evidence, ...]
    memory: Json = None


class Reading(NamedTuple):
    """What was measured of a job in a tick; `body` has some of `readings.KEYS`."""

    ref: str
    body: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PlaceUpdate:
    """That a place was polled, and whether it answered; `why` says why it did not, and `facts` of such a place
    only `locked_out`: that it refuses us, so that asking it often would do harm."""

    name: str
    polled_at: float
    answered: bool
    why: str = ""
    facts: PlaceFacts = field(default_factory=dict)  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Tick:
    """Everything one tick concluded. `resolved` holds (subject, rule, what) of findings that ceased, however, and
    `escalated` of those that matter more than before."""

    at: float
    mono: float
    places: tuple[PlaceUpdate, ...] = ()
    jobs: tuple[JobUpdate, ...] = ()
    confirmed: tuple[Confirmed, ...] = ()
    events: tuple[Event, ...] = ()
    opened: tuple[Finding, ...] = ()
    resolved: tuple[tuple[str, str, str], ...] = ()
    escalated: tuple[tuple[str, str, str], ...] = ()
    notifications: tuple[Notification, ...] = ()
    readings: tuple[Reading, ...] = ()
