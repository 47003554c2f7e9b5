"""Tracks as typed values: what a source keeps with a job is JSON in the store, and has one type in its source."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct, ValidationError, convert
from msgspec.structs import fields

from dogwatch.model import Job

MOST = 50_000

T = TypeVar("T", bound=Struct)


class Tracks(Generic[T]):
    """The tracks of all jobs of a source, each read once: a track is replaced, and never changed. A field that does not
    fit is as if it was not there."""

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind
        self._read: dict[str, tuple[Mapping[str, Any], T]] = {}

    def of(self, job: Job) -> T:
        held = self._read.get(job.ref)
        if held is None or held[0] is not job.track:
            if len(self._read) >= MOST:
                self._read.clear()
            held = self._read[job.ref] = job.track, self._convert(job.track)
        return held[1]

    def _convert(self, track: Mapping[str, Any]) -> T:
        try:
            return convert(track, self._kind)
        except ValidationError:
            return self._kind(**dict(self._readable(track)))

    def _readable(self, track: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for each in fields(self._kind):
            with contextlib.suppress(ValidationError, KeyError):
                yield each.name, convert(track[each.name], each.type)
