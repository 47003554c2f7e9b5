"""One wait: what is to become true of which jobs, and what is known of that now, from the store alone.

Whoever polls asks the places for the files that waiters wait for; only when a job has ended and its file was not seen,
its place is asked once more, so that "not there" is never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import to_builtins

from dogwatch.api import queries
from dogwatch.api.conditions import Answer, Condition, answer, check_stage, never_starts, stages
from dogwatch.errors import COULD_NOT_POLL, ENDED_BADLY, FINE
from dogwatch.model import Unreachable
from dogwatch.store.interface import Store
from dogwatch.store.rows import places
from dogwatch.text import plain
from dogwatch.transport.interface import Transport
from dogwatch.wire.requests import FileRequest, PollRequest

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import JobDocument

WAITS_FOR_ALL = ("ended", "running")
DEADLINE = 30.0
ROW = "marker"


@dataclass(frozen=True, slots=True)
class Verdict:
    """That a wait is over: its exit code, whether what was waited for has come, and why it is over. `job` is the one
    that decided it; `plain_state` says that the state of the jobs tells why."""

    code: int
    reached: bool
    why: str
    job: str = ""
    plain_state: bool = False


class Waiting:
    """The jobs of one wait as they are now, and what follows from that."""

    def __init__(self, store: Store, refs: Sequence[str], wanted: Condition, way: Callable[[str], Transport]) -> None:
        self._store, self._refs, self._wanted, self._way = store, refs, wanted, way
        self._version: int | None = None
        self._asked: dict[str, bool | str] = {}
        self.jobs = queries.documents(store, refs)
        self.first: Mapping[str, JobDocument] = {job["ref"]: job for job in self.jobs}

    @property
    def places(self) -> tuple[str, ...]:
        return tuple(sorted({job["place"] for job in self.first.values()}))

    def verdict(self) -> Verdict | None:
        """None while it goes on. The store is read only after somebody wrote to it."""
        self._store.still_there()
        version = self._store.revision_of_others()
        if version == self._version:
            return None
        self.jobs = queries.still_watched(self._store, self._refs)
        self._version = version
        return self._change() if self._wanted.kind == "change" else self._judged()

    def _change(self) -> Verdict | None:
        """A change is one whether the job fares well or badly; the exit code tells of those that have ended."""
        changed = [job for job in self.jobs if answer(self._wanted, self.first.get(job["ref"]), job)]
        if not changed:
            return None
        over = [job for job in self.jobs if job["state"] == "ended"]
        code = FINE if queries.ended_well(over) else ENDED_BADLY
        return Verdict(code, True, "it changed", changed[0]["ref"], plain_state=True)

    def _judged(self) -> Verdict | None:
        markers = self._markers()
        answers: list[tuple[JobDocument, Answer | None]] = []
        for job in self.jobs:
            if why := never_starts(job):
                return Verdict(ENDED_BADLY, False, why, job["ref"])
            marker = markers.get(job["place"])
            if self._wanted.kind == ROW and not marker and queries.is_over(job):
                asked = self._ask(job["place"])
                if isinstance(asked, str):
                    why = f"it ended, and whether {plain(self._wanted.about, 200)} is there is not known: {asked}"
                    return Verdict(COULD_NOT_POLL, False, why, job["ref"])
                marker = asked
            self._check_stage(job)
            answers.append((job, answer(self._wanted, None, job, marker)))
        return self._decided(answers)

    def _decided(self, answers: Sequence[tuple[JobDocument, Answer | None]]) -> Verdict | None:
        known = [(job, one) for job, one in answers if one is not None]
        failed = [(job, one) for job, one in known if not one.holds]
        if len(known) < len(answers) and (self._wanted.kind in WAITS_FOR_ALL or not failed):
            return None
        ref, why = next(((job["ref"], one.why) for job, one in (*failed, *known)), ("", ""))
        by_state, reached = self._wanted.kind in WAITS_FOR_ALL, not failed or self._wanted.kind == "ended"
        return Verdict(ENDED_BADLY if failed else FINE, reached, why, ref, plain_state=by_state)

    def _check_stage(self, job: JobDocument) -> None:
        """A job that was polled and has no such stage never will; one that nobody has polled yet may."""
        if self._wanted.kind == "stage" and (stages(job) or job["confirmed_at"]):
            check_stage(self._wanted, job)

    def _markers(self) -> dict[str, bool]:
        """By place whether the file was there at the last poll that asked for it."""
        if self._wanted.kind != ROW:
            return {}
        path = self._wanted.about
        rows = {row["name"]: row["facts"].get("markers") or {} for row in places.places(self._store)}
        return {name: bool(marked[path]) for name, marked in rows.items() if path in marked}

    def _ask(self, place: str) -> bool | str:
        """Whether the file is there now, by the place itself; or why that cannot be said."""
        if place not in self._asked:
            transport = self._way(place)
            try:
                self._asked[place] = file_is_there(transport, self._wanted.about)
            finally:
                transport.close()
        return self._asked[place]


def file_is_there(transport: Transport, path: str) -> bool | str:
    """Whether a place has that file, by one question of its own; or why that cannot be said."""
    request = PollRequest(files={ROW: FileRequest([path], [])})
    answered = transport.ask(to_builtins(request), DEADLINE)
    if isinstance(answered, Unreachable):
        return plain(answered.why, 200)
    files = answered.checked.files
    row = files.rows.get(ROW)
    if row is None:
        return plain(files.why, 200) or "its files could not be read"
    if row.unreadable:
        return plain(next(iter(row.unreadable.values())), 200)
    return any(found.path == path for found in row.outputs)
