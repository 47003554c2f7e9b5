"""View: everything one frame or one batch of lines is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import JobDocument
    from dogwatch.wire.documents.watch import EventDocument, PlaceDocument, ViewWatch

HINT = "Ctrl-C stops watching, not the job"


@dataclass(frozen=True, slots=True)
class View:
    """What is known at one moment, as the documents every interface prints. `watch` says who keeps it true."""

    jobs: Sequence[JobDocument]
    events: Sequence[EventDocument] = ()
    watch: ViewWatch = field(default_factory=dict)  # type: ignore[assignment]  # an empty one
    places: Sequence[PlaceDocument] = ()
    hint: str = HINT
