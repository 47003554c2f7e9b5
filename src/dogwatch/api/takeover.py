"""Takeover: what the store believes, compared with the run directories, processes and tmux sessions of every place and
with transfers, waiters and alerts. One connection for each place; nothing is changed, and each difference has one
next command."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from dogwatch.api import alerts, queries, waiters
from dogwatch.store.interface import Store
from dogwatch.store.rows import jobs as job_rows
from dogwatch.store.rows.places import known_places
from dogwatch.text import plain
from dogwatch.wire.survey import FoundRun, Owner, Survey

if TYPE_CHECKING:
    from dogwatch.model import Place
    from dogwatch.wire.documents.job import JobDocument
    from dogwatch.wire.documents.takeover import DifferenceDocument, TakeoverDocument

HERE, RUNS_THERE = "here", "~/.dogwatch/runs"
ACTIVE = ("running", "missing")
MOST_WORKERS = 8192
Examine = Callable[["Place", str, Sequence[int]], Survey | str]


class Believed:
    """A job as the store has it: what should be there if it is right. `processes` are (pid, start)."""

    def __init__(self, store: Store, job: JobDocument) -> None:
        self.job, self.ref, self.place = job, job["ref"], job["place"]
        self.name = plain(job["name"], 80)
        track: dict[str, Any] = job_rows.track_of(store, self.ref)
        self.chain: str | None = track.get("chain")
        box = job["box"]
        self.session: str | None = track.get("tmux") or (box and box["session"]) or None
        self.machine: str | None = track.get("machine") or (box and box["machine_id"]) or None
        rows = [row for row in (*(track.get("workers") or ()), *(track.get("pids") or ())) if row and row[0]]
        self.processes = [(int(row[0]), row[1]) for row in rows if _lives(job, int(row[0]))]
        if isinstance(run := track.get("run"), str):
            self.processes += _of_run(run)

    @property
    def is_active(self) -> bool:
        return self.job["state"] in ACTIVE


def _lives(job: JobDocument, pid: int) -> bool:
    """Whether the store has this worker as one that runs."""
    return any(worker["pid"] == pid and worker["doing"] != "gone" for worker in job["workers"])


def _of_run(directory: str) -> list[tuple[int, int | None]]:
    """The workers of a run of ours on this machine that have no record of their end, by their records."""
    found = []
    for number in range(MOST_WORKERS):
        base = os.path.join(directory, f"worker-{number}")
        if not os.path.exists(f"{base}.start.json"):
            break
        if os.path.exists(f"{base}.end.json"):
            continue
        try:
            with open(f"{base}.start.json", "rb") as file:
                start = msgspec.json.decode(file.read(65536), type=Owner)
        except (OSError, msgspec.MsgspecError):
            continue
        if start.pid:
            found.append((start.pid, start.start))
    return found


def document(store: Store, examine: Examine, lost_fetches: Sequence[str]) -> TakeoverDocument:
    """Ask every place once, and say what differs. `lost_fetches` are the jobs whose transfer died."""
    every = queries.listing(store, everything=True)["jobs"]
    believed = [Believed(store, job) for job in every if job["state"] != "ended" or job["source"] == "box"]
    differences: list[DifferenceDocument] = []
    reached, unreachable = [], {}
    for place in known_places(store):
        mine = [one for one in believed if one.place == place.name]
        if place.name == HERE and not mine:
            continue
        runs = store.location.path("runs") if place.name == HERE else RUNS_THERE
        pids = sorted({pid for one in mine if one.is_active for pid, _ in one.processes})
        answer = examine(place, runs, pids)
        if isinstance(answer, str):
            unreachable[place.name] = plain(answer, 300)
            command = shlex.join(["dogwatch", "host", "test", place.name]) if place.name != HERE else "dogwatch doctor"
            text = f"it does not answer: {plain(answer, 300)}"
            differences.append(_row("unreachable", place.name, None, text, command))
            continue
        reached.append(place.name)
        differences += _at(place.name, mine, answer)
    differences += [*_fetches(lost_fetches), *_waiting(store), *_alerts(store)]
    if not queries.watched(store) and any(job["state"] != "ended" for job in every):
        differences.append(_row("no_watcher", None, None, "no watcher is running", "dogwatch daemon"))
    return {"reached": reached, "unreachable": unreachable, "differences": differences}


def _row(kind: str, place: str | None, ref: str | None, text: str, command: str) -> DifferenceDocument:
    return {"kind": kind, "place": place, "ref": ref, "text": text, "command": command}


def _at(place: str, mine: Sequence[Believed], seen: Survey) -> Iterator[DifferenceDocument]:
    known = {os.path.basename(one.chain) for one in mine if one.chain}
    runs = {os.path.basename(run.directory): run for run in seen.runs}
    for one in mine:
        if one.machine and seen.machine and one.machine != seen.machine and one.is_active:
            text = f"{one.name}: another machine answers at this address"
            yield _row("other_machine", place, one.ref, text, _command("status", one.ref))
        elif one.is_active:
            yield from _of_job(one, runs, seen)
    host = [] if place == HERE else ["--host", place]
    for name, run in runs.items():
        if name not in known:
            add = shlex.join(["dogwatch", "add", "box", *host, "--run", run.directory])
            yield _row("unknown_run", place, None, f"a run that is not watched: {plain(name, 80)} ({_how(run)})", add)
    sessions = {one.session for one in mine} | {f"dogwatch-{name}" for name in runs}  # a chain names its own
    for session in seen.sessions:
        if session not in sessions and place != HERE:
            add = shlex.join(["dogwatch", "add", "box", *host, "--tmux", session])
            yield _row("unknown_session", place, None, f"a tmux session that is not watched: {session}", add)


def _how(run: FoundRun) -> str:
    if run.end is not None:
        code = "" if run.end.code is None else f" with exit code {run.end.code}"
        return f"it ended{code}; {run.marks} stages are done"
    return f"its supervisor {'lives' if run.supervised else 'is gone'}; {run.marks} stages are done"


def _of_job(one: Believed, runs: dict[str, FoundRun], seen: Survey) -> Iterator[DifferenceDocument]:
    """What differs of a job that the store has as running. `status` polls, and writes down what the place says."""
    status = _command("status", one.ref)
    if one.chain:
        run = runs.get(os.path.basename(one.chain))
        if run is None:
            text = f"{one.name} runs by the store; its run directory is gone"
            yield _row("gone", one.place, one.ref, text, status)
        elif run.end is not None:
            yield _row("ended", one.place, one.ref, f"{one.name} runs by the store; {_how(run)}", status)
        elif not run.supervised:
            text = f"{one.name} runs by the store; the supervisor of its chain is gone and it has not ended"
            yield _row("unsupervised", one.place, one.ref, text, _command("handbook", one.ref))
    elif one.session:
        if one.session in seen.sessions:
            return
        text = f"{one.name} runs by the store; its tmux session {plain(one.session, 80)} is gone"
        yield _row("gone", one.place, one.ref, text, status)
    elif one.processes and not any(_same(seen, pid, start) for pid, start in one.processes):
        pids = ", ".join(str(pid) for pid, _ in one.processes[:8])
        text = f"{one.name} runs by the store; none of its processes is there any more (pid {pids})"
        yield _row("gone", one.place, one.ref, text, status)


def _same(seen: Survey, pid: int, start: int | None) -> bool:
    found = seen.processes.get(pid)
    return found is not None and start in (None, found)


def _command(verb: str, ref: str) -> str:
    return shlex.join(["dogwatch", verb, ref])


def _fetches(refs: Sequence[str]) -> Iterator[DifferenceDocument]:
    for ref in refs:
        text = "a fetch began and did not end: its process is gone"
        yield _row("transfer", None, ref, text, _command("fetch", ref))


def _waiting(store: Store) -> Iterator[DifferenceDocument]:
    stale = [one["id"] for one in waiters.listing(store) if not one["alive"]]
    if stale:
        text = f"{len(stale)} waiter{'s were' if len(stale) > 1 else ' was'} killed: {', '.join(stale[:10])}"
        yield _row("waiters", None, None, text, "dogwatch waiters rm --stale")


def _alerts(store: Store) -> Iterator[DifferenceDocument]:
    lost = alerts.overview(store, 0.0)["undelivered"]
    given_up = [one for one in lost if one["state"] == "given up"]
    if lost:
        channels = ", ".join(sorted({plain(one["channel"], 60) for one in lost}))
        text = f"{len(lost)} message{'s' if len(lost) > 1 else ''} did not arrive ({channels})"
        yield _row("alerts", None, None, text, "dogwatch alerts retry" if given_up else "dogwatch alerts")
