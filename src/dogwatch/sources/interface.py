"""What a source must offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from dogwatch.model import Job, Known, Sighting


class Source(Protocol):
    """A kind of thing that jobs live in. `section` names its part of the probe's request and answer."""

    kind: str
    section: str

    def ask(self, jobs: Sequence[Job], known: Mapping[str, Known], at: float) -> dict[str, Any]:
        """This source's part of the request: one question for all `jobs` of a place."""
        ...

    def read(
        self, answer: Mapping[str, Any], jobs: Sequence[Job], known: Mapping[str, Known], at: float
    ) -> tuple[frozenset[str], dict[str, Sighting]]:
        """The refs that this answer can speak for, and what it says of those it listed.

        A ref in the first and not in the second was really not there; one in neither keeps what was known.
        """
        ...

    def also_ask(
        self, jobs: Sequence[Job], known: Mapping[str, Known], facts: Mapping[str, Mapping[str, Any]], turn: int
    ) -> dict[str, Any]:
        """Further sections, for what is asked once or seldom: `facts` is what is known so far, `turn` counts looks."""
        ...

    def also_read(
        self, body: Mapping[str, Any], jobs: Sequence[Job], facts: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, dict[str, Any]]:
        """What those sections taught, by ref: facts to be added to the known ones."""
        ...

    def trouble(self, answer: Mapping[str, Any], jobs: Sequence[Job]) -> str | None:
        """Why this answer says nothing about any job, in one sentence: then the place is dark. None when it does."""
        ...

    def blind(self, answer: Mapping[str, Any], jobs: Sequence[Job]) -> Mapping[str, str]:
        """The jobs that this answer cannot speak for, each with the reason in words."""
        ...
