"""The decision table of the patrol, as data: what is seen → what is said and one fixed remedy. Nothing here acts: no
remedy is carried out, and nothing is ever restarted because of what was seen.

A row holds when all that it names was seen and nothing in `unless`. The words in braces are filled in by `words_of`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dogwatch.model import BoxFacts, Ended, Job, Level, Outcome, Stage
from dogwatch.model.decision import Decision
from dogwatch.model.stages import DONE, current, position
from dogwatch.model.state import State

MEMORY_HIGH = 0.9  # of the cgroup's limit
MEMORY_ROOMY = 0.7
STORM = 2.0  # threads that want a CPU, per CPU
STORM_LEAST = 4  # and so many more than there are CPUs
BUSY_HOST = 1.5  # load per CPU
MOST_RESULT = 400


class Row(NamedTuple):
    """One row of the table."""

    name: str
    level: Level
    seen: frozenset[str]
    says: str
    do: str
    unless: frozenset[str] = frozenset()
    alerts: bool = False


def _row(name: str, level: Level, seen: str, says: str, do: str, unless: str = "", alerts: bool = False) -> Row:
    return Row(name, level, frozenset(seen.split()), says, do, frozenset(unless.split()), alerts)


TABLE = (
    _row(
        "unreachable",
        Level.WARNING,
        "unreachable",
        "{place} does not answer; last sign of life {last}",
        "look at the provider's console: is the box on, and is there money on the account? Only you can see that",
    ),
    _row(
        "other_key",
        Level.CRITICAL,
        "other_key",
        "another host key answers for {place}: its address may belong to another machine now, and nothing there "
        "was read; last sign of life {last}",
        "find the box in the provider's console; trust the new key only if it is the same box",
    ),
    _row(
        "lost",
        Level.CRITICAL,
        "lost",
        "lost: {lost}; nothing there was read",
        "find the box in the provider's console; if it has another address: dogwatch host add {place} --ssh ADDRESS",
    ),
    _row("restarted", Level.CRITICAL, "ended restarted", "{restart} during {stage}", "{resume}", unless="resumes done"),
    _row(
        "resumes",
        Level.WARNING,
        "ended restarted resumes",
        "{restart} during {stage}; the chain resumes by itself",
        "wait for the next attempt; if none comes: {resume}",
        unless="done",
    ),
    _row("died", Level.CRITICAL, "ended bad", "died in {stage}: {reason}", "{resume}", unless="lost restarted"),
    _row("results", Level.INFO, "ended done results", "results in {newest}:\n{text}", "dogwatch fetch {ref}"),
    _row(
        "incomplete",
        Level.WARNING,
        "ended short",
        "{results} of {expected} result files are there: what writes or transfers them did not finish",
        "resume a transfer: dogwatch fetch {ref}; if files are missing on the box itself: {resume}",
        alerts=True,
    ),
    _row(
        "supervisor_gone",
        Level.WARNING,
        "running unsupervised",
        "the supervisor of the chain was killed: {stage} goes on, and no stage after it will start",
        "when the stage has ended: {resume}",
        alerts=True,
    ),
    _row(
        "session_idle",
        Level.WARNING,
        "running idle_session",
        "nothing runs in the tmux session {session}, and {stage} has no marker",
        "look at it: ssh -t {place} tmux attach -t {session}; then {resume}",
        unless="done",
        alerts=True,
    ),
    _row(
        "memory_high",
        Level.WARNING,
        "running memory_high",
        "its memory is at {memory} of its cgroup's limit",
        "use fewer data-loading workers or a smaller batch before the kernel kills it",
        alerts=True,
    ),
    _row(
        "killed",
        Level.WARNING,
        "killed",
        "the kernel killed {kills} in its cgroup for lack of memory since the run was first seen",
        "use fewer data-loading workers or a smaller batch; check that all its processes are still there",
        alerts=True,
    ),
    _row(
        "thread_storm",
        Level.WARNING,
        "running storm",
        "{running} threads want to run on {cpus} CPUs (its quota, not the CPUs that the machine shows)",
        "set OMP_NUM_THREADS={threads} before the program starts, and use fewer data-loading workers",
        alerts=True,
    ),
    _row(
        "noisy_neighbour",
        Level.INFO,
        "running host_busy own_roomy",
        "the host is busy (load {load} on {host_cpus} CPUs), but this run has room: the load is somebody else's",
        "nothing to do on the box; if the run is slow, ask the provider for another host",
        unless="storm",
    ),
    _row(
        "done",
        Level.INFO,
        "ended done",
        "{what} done",
        "dogwatch fetch {ref}, then stop the box; dogwatch forget {ref} stops watching",
    ),
)
ROWS: Mapping[str, Row] = {row.name: row for row in TABLE}


def decide(job: Job, state: State, stages: Sequence[Stage], box: BoxFacts) -> tuple[Decision, ...]:
    """The rows that hold now, in the order of the table."""
    observed, words = observed_in(state, stages, box), words_of(job, state, stages, box)
    return tuple(filled(row, words) for row in TABLE if row.seen <= observed and not row.unless & observed and row.seen)


def filled(row: Row, words: Mapping[str, str]) -> Decision:
    return Decision(row.name, row.level, row.says.format_map(words), row.do.format_map(words), row.alerts)


def observed_in(state: State, stages: Sequence[Stage], box: BoxFacts) -> frozenset[str]:
    """What is seen, as the table names it."""
    ended = isinstance(state, Ended)
    good = isinstance(state, Ended) and state.outcome is Outcome.SUCCEEDED
    cpus = box.quota or box.cpus or 0.0
    running, limit = box.threads_running or 0, box.memory_limit or 0
    used = (box.memory_used or 0) / limit if limit else None
    host_busy = box.load is not None and box.cpus is not None and box.load > BUSY_HOST * box.cpus
    marks = {
        "lost": bool(box.lost),
        "ended": ended and not box.lost,
        "running": not ended,
        "restarted": bool(box.restart),
        "resumes": box.resumes_itself,
        "bad": isinstance(state, Ended) and state.outcome not in (Outcome.SUCCEEDED, Outcome.CANCELLED),
        "done": good or (bool(stages) and all(stage.state == DONE for stage in stages)),
        "results": bool(box.results),
        "short": box.results_expected is not None and (box.results or 0) < box.results_expected,
        "unsupervised": box.supervisor is False,
        "idle_session": box.idle_session,
        "memory_high": used is not None and used > MEMORY_HIGH,
        "killed": box.kills > 0,
        "storm": cpus > 0 and running > STORM * cpus and running >= cpus + STORM_LEAST,
        "host_busy": host_busy,
        "own_roomy": box.threads_running is not None and running <= cpus and (used is None or used < MEMORY_ROOMY),
    }
    return frozenset(name for name, holds in marks.items() if holds)


def words_of(job: Job, state: State, stages: Sequence[Stage], box: BoxFacts) -> dict[str, str]:
    """What stands in braces in the table."""
    cpus = box.quota or box.cpus or 0.0
    stage = position(stages) if current(stages) is not None else "the run"
    reason = getattr(state, "reason", "").removeprefix(f"{stage}: ")
    limit = box.memory_limit or 0
    many = "process" if box.kills == 1 else "processes"
    words = {
        "ref": job.ref,
        "place": job.place,
        "lost": box.lost,
        "last": "",
        "restart": box.restart,
        "stage": stage,
        "reason": reason or "no reason recorded",
        "resume": box.resume or "resume it with the command that started it; stages with a marker need not run again",
        "results": f"{box.results or 0:,}",
        "expected": f"{box.results_expected or 0:,}",
        "newest": box.results_newest or "",
        "text": box.results_text[:MOST_RESULT].rstrip("\n"),
        "session": box.session or "",
        "memory": f"{100 * (box.memory_used or 0) / limit:.0f} % ({_size(box.memory_used or 0)} of {_size(limit)})"
        if limit
        else "",
        "kills": f"{box.kills} {many}",
        "running": str(box.threads_running or 0),
        "threads": f"{max(1, int(cpus))}",
        "cpus": f"{cpus:g}",
        "host_cpus": f"{box.cpus or 0:g}",
        "load": f"{box.load or 0:.1f}",
        "what": f"all of its {len(stages)} stages are" if len(stages) > 1 else "the run is",
    }
    # A name out of a job or host never names a word of the table.
    return {key: value.replace("{", "(").replace("}", ")") for key, value in words.items()}


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 10**9 else f"{count / 1e6:.0f} MB"
