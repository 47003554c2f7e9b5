"""What a job's fetch is made of: what it declared, its place, where it goes, and who judges its checkpoints."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dogwatch.actions import identity
from dogwatch.actions.transfer.fetch import Fetch, Judge
from dogwatch.actions.transfer.listing import Sources
from dogwatch.clock import Clock
from dogwatch.errors import NoSuchJob, UsageError
from dogwatch.model.job import Job, Place, is_here
from dogwatch.results.integrity import first_intact
from dogwatch.store.interface import Store
from dogwatch.store.rows import places, transfers
from dogwatch.store.rows.job_columns import job_of
from dogwatch.store.rows.jobs import JobRow
from dogwatch.text import plain
from dogwatch.transport.interface import Transport
from dogwatch.transport.local import Here
from dogwatch.transport.shell import shell_of
from dogwatch.transport.ssh import Ssh

if TYPE_CHECKING:
    from dogwatch.wire.documents.transfer import TransferDocument

JUDGE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody asked for; None is what the job declared, or what was fetched of it before."""

    target: str | None = None
    results: tuple[str, ...] | None = None
    checkpoints: tuple[str, ...] | None = None


def prepare(store: Store, clock: Clock, ref: str, wanted: Wanted) -> Fetch:
    """The fetch of a job, ready to run; UsageError where there is nothing that could be fetched."""
    job = _job(store, ref)
    place = next((place for place in places.known_places(store) if place.name == job.place), None)
    if place is None:
        raise UsageError(f"the host {job.place} was removed; `dogwatch host add {job.place}` adds it again")
    last = transfers.newest(store, ref)
    sources = sources_of(job)
    if wanted.results is not None or wanted.checkpoints is not None:
        sources = replace(sources, results=wanted.results or (), checkpoints=wanted.checkpoints or ())
    elif last is not None and last.source:
        before = last.source
        sources = replace(
            sources,
            results=sources.results or tuple(before.get("results", ())),
            checkpoints=sources.checkpoints or tuple(before.get("checkpoints", ())),
        )
    if not sources.results and not sources.checkpoints:
        raise UsageError(
            f"{plain(job.name, 80)} declares no outputs and no checkpoints; name them:"
            f" dogwatch fetch {plain(job.name, 80)} --results '/path/there/*.json' --checkpoint '/path/there/step_*'"
        )
    target = wanted.target or (last.target if last is not None else _slug(job.name))
    whole = os.path.abspath(os.path.expanduser(target))
    if os.path.lexists(whole) and not os.path.isdir(whole):
        raise UsageError(f"--to {plain(whole, 200)} is no directory; give another one")
    judge = _judge(_transport(place, clock), clock)
    return Fetch(store, clock, shell_of(place), ref, place.name, sources, whole, judge)


def sources_of(job: Job) -> Sources:
    """What a job declared, and by what its box is known again."""
    track = job.track
    chain, machine = str(track.get("chain") or ""), str(track.get("machine") or "")
    expect = track.get("expect_files")
    results = dict.fromkeys((*job.expect.outputs, *(str(glob) for glob in track.get("results") or ())))
    return Sources(
        tuple(results),
        job.expect.checkpoints,
        chain if chain.startswith("/") else "",
        machine,
        expect if isinstance(expect, int) else None,
    )


def last_of(store: Store, refs: Sequence[str] | None = None) -> list[TransferDocument]:
    """The last transfer of each job; one whose process is gone was interrupted."""
    rows = transfers.of(store, None if refs is None else tuple(refs))
    return [transfers.document(row, identity.is_alive(row.process)) for row in rows]


def _job(store: Store, ref: str) -> Job:
    with store.reading() as tx:
        row = tx.find(JobRow, ref)
    if row is None:
        raise NoSuchJob(f"No job named {ref}: `dogwatch ls --all` lists them.")
    return job_of(row)


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:80] or "fetched"


def _transport(place: Place, clock: Clock) -> Transport:
    if is_here(place.kind):
        return Here(place.name, clock)
    return Ssh(place.name, str(place.transport["ssh"]), place.transport.get("config"), clock)


def _judge(there: Transport, clock: Clock) -> Judge:
    """Whoever can read the files: the place itself where it has Python, or else this machine once they are here."""

    def judge(newest_first: Sequence[str], here: bool) -> dict[str, tuple[str, str]]:
        transport = Here("here", clock) if here else there
        try:
            return first_intact(transport, newest_first, JUDGE_SECONDS)
        finally:
            transport.close()

    return judge
