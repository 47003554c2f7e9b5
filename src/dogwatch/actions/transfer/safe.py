"""Safe: whether a box can be stopped without losing anything; what speaks against it, a sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dogwatch.clock import Clock
from dogwatch.store.interface import Store
from dogwatch.store.rows import jobs, places, transfers
from dogwatch.store.rows.transfers import DONE
from dogwatch.text import plain

if TYPE_CHECKING:
    from dogwatch.actions.transfer.listing import Sources
    from dogwatch.store.rows.transfers import TransferRow
    from dogwatch.wire.documents.job import JobDocument

# Of these places nobody stops the machine: it is this one, or a scheduler's.
SCHEDULERS = frozenset({"slurm"})
FRESH = 600.0  # a state that was confirmed longer ago says nothing of now
UNIMPORTANT = ("is no file", "is damaged", "matches no file", "is a file of the run")


def judge(store: Store, clock: Clock, ref: str, sources: Sources) -> tuple[bool | None, list[str]]:
    """(whether its box can be stopped, why not); None where there is no box to stop. It is written down with the
    transfer."""
    row = transfers.newest(store, ref)
    documents = jobs.documents(store, everything=True)
    if row is None or not _is_box(store, row.place, documents):
        return None, []
    against = list(_against(store, clock, row, documents, sources))
    safe = not against
    found = {**row.found, "safe_to_stop": safe, "why_not": against}
    transfers.progress(store, row.key, row.updated, found=found)
    return safe, against


def _is_box(store: Store, place: str, documents: Sequence[JobDocument]) -> bool:
    kind = next((known.kind for known in places.known_places(store) if known.name == place), "")
    return kind == "ssh" and not any(job["source"] in SCHEDULERS for job in documents if job["place"] == place)


def _against(
    store: Store, clock: Clock, row: TransferRow, documents: Sequence[JobDocument], sources: Sources
) -> Iterator[str]:
    if row.state != DONE:
        yield f"not everything was fetched ({row.detail or row.state})"
    for left in row.found.get("left_out", ()):
        if not left["why"].startswith(UNIMPORTANT):
            yield f"{plain(left['path'], 120)} was not fetched: it {plain(left['why'], 160)}"
    if row.found.get("left_out") and any(left["why"] == "matches no file" for left in row.found["left_out"]):
        missing = [left["path"] for left in row.found["left_out"] if left["why"] == "matches no file"]
        yield f"nothing matches {plain(', '.join(missing), 200)} there"
    if sources.expect is not None and row.done_files < sources.expect:
        yield f"{row.done_files} files were fetched and {sources.expect} are expected"
    fetched = {other.ref for other in transfers.of(store) if other.state == DONE}
    since = places.unreachable_since(store, row.place)
    if since is not None:
        yield f"{row.place} did not answer the last poll, so what runs there is not known"
    for job in documents:
        if job["place"] == row.place:
            yield from _of_job(job, clock, fetched)


def _of_job(job: JobDocument, clock: Clock, fetched: set[str]) -> Iterator[str]:
    name, state = plain(job["name"], 80), job["state"]
    if state != "ended":
        native = f" ({plain(job['native'], 80)})" if job["native"] else ""
        known = {"running": "still runs", "waiting": "still waits", "missing": "is missing"}
        yield f"{name} {known.get(state or '', 'was never polled')}{native}"
    elif job["ref"] not in fetched and (job["expect"].get("outputs") or job["expect"].get("checkpoints")):
        yield f"the results of {name} were not fetched: dogwatch fetch {name}"
