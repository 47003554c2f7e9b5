"""View: everything one frame or one batch of lines is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Document: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class View:
    """What is known at one moment, as the documents every face prints. `watch` says who keeps it true:
    {"alive", "who", "last_tick", "ours"}; a place is {"name", "seen_at", "dark_since", "dark_why"}."""

    jobs: Sequence[Document]
    events: Sequence[Document] = ()
    watch: Document = field(default_factory=dict)
    places: Sequence[Document] = ()
