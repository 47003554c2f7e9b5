"""Cancel: end a job on its owner's word.

The intent is in the store first. What is signalled is known by pid, start time and boot, never by a name; where that
identity does not hold any more, nothing is signalled.
"""

from __future__ import annotations

import getpass
import json
import re
import signal as signals
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from dogwatch import remote
from dogwatch.actions.identity import ProcessIdentity
from dogwatch.clock import Clock
from dogwatch.errors import NoSuchJob, UsageError
from dogwatch.model.job import Job, Place
from dogwatch.store.interface import Store
from dogwatch.store.rows import cancellations, places
from dogwatch.store.rows.cancellations import DONE, REFUSED
from dogwatch.store.rows.job_columns import job_of
from dogwatch.store.rows.jobs import JobRow
from dogwatch.text import plain
from dogwatch.transport.shell import Shell, ShellUnreachable, shell_of

GRACE, MOST_GRACE = 30.0, 3600.0
MARGIN = 90.0
MOST_WORKERS = 1024
_JOB_ID = re.compile(r"[0-9A-Za-z]{1,20}([_+.][0-9A-Za-z]{1,40})?")


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What came of it. `ended` is true when nothing of the job is left, or its scheduler took the command."""

    ref: str
    by: str
    ended: bool
    signalled: tuple[int, ...]
    left: tuple[int, ...]
    detail: str


def job_to_cancel(store: Store, ref: str) -> Job:
    """The job, if there is anything of it to end."""
    with store.reading() as tx:
        row = tx.find(JobRow, ref)
    if row is None:
        raise NoSuchJob(f"No job named {ref}: `dogwatch ls --all` lists them.")
    if row.state == "ended":
        raise UsageError(f"{plain(row.name, 80)} has ended already ({row.outcome or 'outcome unknown'})")
    return job_of(row)


def signal_number(text: str) -> str:
    """The name of a signal as `kill` takes it."""
    name = text.upper().removeprefix("SIG")
    if name not in {one.name.removeprefix("SIG") for one in signals.Signals} or name in ("KILL", "STOP", "CONT"):
        raise UsageError(f"--signal takes the name of a signal such as TERM, INT or USR1, not '{plain(text, 40)}'")
    return name


def cancel(
    store: Store, clock: Clock, job: Job, signal: str = "TERM", grace: float = GRACE, who: str | None = None
) -> Cancelled:
    """End a job and all that belongs to it, and say what came of it."""
    place = next((place for place in places.known_places(store) if place.name == job.place), None)
    if place is None:
        raise UsageError(f"the host {job.place} was removed; `dogwatch host add {job.place}` adds it again")
    by = who or f"{getpass.getuser()}@{socket.gethostname()}"
    key = cancellations.begin(store, job.ref, job.place, by, clock.now(), clock.mono())
    store.location.wake()
    try:
        done = _end(shell_of(place), place, job, by, clock.now(), signal, grace)
    except (ShellUnreachable, UsageError) as error:
        cancellations.end(store, key, REFUSED, plain(str(error), 300), clock.now(), clock.mono())
        raise
    state = DONE if done.signalled else REFUSED
    cancellations.end(store, key, state, done.detail, clock.now(), clock.mono())
    store.location.wake()
    return done


def _end(shell: Shell, place: Place, job: Job, by: str, at: float, signal: str, grace: float) -> Cancelled:
    if job.source == "slurm":
        return _scancel(shell, job, by, signal)
    chain, run, machine = (str(job.track.get(key) or "") for key in ("chain", "run", "machine"))
    if chain:
        note = json.dumps({"at": round(at, 3), "by": by})
        return _told(job, by, _run(shell, [machine, "", "", chain, note, signal, f"{grace:.0f}"], grace))
    found = _recorded(shell, run) if run else _known(job)
    session, created = _session(job)
    if not found and not session:
        return Cancelled(job.ref, by, False, (), (), "nothing was signalled: nothing of it is known to run")
    words = [machine, session, created, "", "", signal, f"{grace:.0f}"]
    for process in found:
        words += [str(process["pid"]), str(process["start"]), process["boot"]]
    return _told(job, by, _run(shell, words, grace))


def _scancel(shell: Shell, job: Job, by: str, signal: str) -> Cancelled:
    if signal != "TERM":
        raise UsageError("--signal is not for Slurm jobs: scancel sends SIGTERM and, after KillWait, SIGKILL by itself")
    if not _JOB_ID.fullmatch(job.id):
        raise UsageError(f"{plain(job.id, 40)} is no id of a Slurm job")
    lines = _lines(shell.run(remote.script("cancel_slurm"), [job.id]).out, shell)
    refused = [why for kind, _, why in lines if kind == "refused"]
    if refused:
        return Cancelled(job.ref, by, False, (), (), f"not cancelled: {plain(refused[0], 200)}")
    return Cancelled(job.ref, by, True, (0,), (), f"scancel {job.id}: Slurm accepted it")


def _recorded(shell: Shell, run: str) -> list[ProcessIdentity]:
    """The workers of a run under the supervisor that have no end yet."""
    ran = shell.run(remote.script("run_records"), [run])
    if ran.code:
        raise UsageError(f"the records of the run are not at {plain(run, 200)}; nothing was signalled")
    found: list[ProcessIdentity] = []
    for line in ran.out.decode("utf-8", "replace").splitlines()[:MOST_WORKERS]:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and not record.get("error"):
            found += _identity(record.get("pid"), record.get("start"), record.get("boot"))
    return found


def _known(job: Job) -> list[ProcessIdentity]:
    """The workers that somebody else started, as they were known when they were found."""
    found: list[ProcessIdentity] = []
    for key in ("workers", "pids"):
        for who in job.track.get(key) or ():
            if isinstance(who, Sequence) and len(who) == 3:
                found += _identity(*who)
    return found


def _session(job: Job) -> tuple[str, str]:
    """The tmux session by which it was registered, and the second in which that was made; only both are an identity."""
    session, created = job.track.get("tmux"), job.track.get("created")
    return (str(session), f"{created:.0f}") if session and isinstance(created, int | float) else ("", "")


def _identity(pid: object, start: object, boot: object) -> list[ProcessIdentity]:
    if isinstance(pid, int) and isinstance(start, int) and isinstance(boot, str) and pid > 1:
        return [{"pid": pid, "start": start, "boot": boot}]
    return []


def _run(shell: Shell, words: Sequence[str], grace: float) -> list[tuple[str, int, str]]:
    script = remote.script("end_processes")
    return _lines(shell.run(script, words, deadline=2 * grace + MARGIN).out, shell)


def _lines(out: bytes, shell: Shell) -> list[tuple[str, int, str]]:
    """(word, pid, the rest) of each line; the last says that the script came to its end."""
    lines = out.decode("utf-8", "replace").splitlines()
    if not lines or lines[-1] != "done":
        raise ShellUnreachable(f"{shell.place} did not say what came of it; look with `dogwatch status`, and try again")
    parts = [[*line.split(" ", 2), "", ""] for line in lines[:-1]]
    return [(part[0], int(part[1]), part[2]) for part in parts if part[1].isdigit()]


def _told(job: Job, by: str, lines: Sequence[tuple[str, int, str]]) -> Cancelled:
    signalled = tuple(pid for kind, pid, _ in lines if kind == "signalled")
    left = tuple(pid for kind, pid, _ in lines if kind == "left")
    refused = [why for kind, _, why in lines if kind == "refused"]
    if left:
        detail = f"signalled, but {len(left)} of its processes still run"
    elif signalled:
        detail = f"cancelled by {by}"
    else:
        detail = f"nothing was signalled: {plain('; '.join(dict.fromkeys(refused)) or 'nothing of it runs', 300)}"
    return Cancelled(job.ref, by, bool(signalled) and not left, signalled, left, detail)
