"""How a definition says what a key means, and the types that all documents share."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

# RFC 3339 in UTC. The title is what docs/json.md calls the type.
Time = Annotated[str, Meta(title="time", pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")]


def doc(meaning: str, *examples: object) -> Meta:
    """The meaning of a key, as a sentence of docs/json.md, and examples of its value."""
    return Meta(description=meaning, examples=list(examples) or None)
