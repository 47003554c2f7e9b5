"""What one poll shows of a run's processes and of its machine, whoever started the run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from dogwatch.model import BoxFacts, Evidence, Job, Observation, Stage, Worker
from dogwatch.model.facts import EarlierRun, Facts
from dogwatch.model.stages import current, position
from dogwatch.model.state import Ended, Outcome, State
from dogwatch.sources.box.decisions import decide
from dogwatch.sources.box.track import BoxTrack
from dogwatch.text import plain
from dogwatch.wire.box import BoxMachine, BoxRow, BoxSection
from dogwatch.wire.sections import Process, Who

GONE = frozenset({"gone", "zombie"})
MOST_TEXT = 2000


class PolledRun(NamedTuple):
    """One run in one poll: what is kept of it, what the probe says of it and of its machine, and when we asked."""

    job: Job
    track: BoxTrack
    row: BoxRow
    machine: BoxMachine
    section: BoxSection
    at: float

    @property
    def lost(self) -> str:
        """Why what answers is not the machine of this run; nothing where it is, or nobody can tell."""
        return other_machine(self.track.machine, self.machine)

    def process(self, who: Who) -> Process | None:
        """The process that was asked for, whether it is there or not."""
        pid, start, _ = who
        for process in self.row.processes:
            if process.pid == pid and start in (None, process.start):
                return process
        return None

    def restarted(self, boot: str | None, start: int | None) -> str:
        """Why a process of that boot and that start time cannot be there any more; nothing where it can."""
        machine = self.machine
        if boot and machine.boot and boot != machine.boot:
            return "the box was rebooted"
        if start and machine.init_start and machine.init_start > start:
            return "the container was restarted"
        return ""


def other_machine(known: str | None, machine: BoxMachine) -> str:
    if not known or not machine.id or known == machine.id:
        return ""
    return f"another machine answers at this address: machine id {machine.id[:12]}…, and the run is on {known[:12]}…"


def is_alive(process: Process | None) -> bool:
    return process is not None and process.doing not in GONE


def worker(
    process: Process | None, log: str | None, ended: Ended | None = None, started: float | None = None
) -> tuple[Worker, ...]:
    """The process of the current stage; none where nobody knows of one."""
    if process is None and ended is None:
        return ()
    made = Worker(0, "gone" if process is None else process.doing, log=log, logs=(log,) if log else (), started=started)
    if process is not None:
        memory = process.oom
        made = Worker(
            index=0,
            doing=process.doing,
            pid=process.pid,
            log=log,
            logs=(log,) if log else (),
            started=started or process.started,
            cpu_seconds=process.cpu,
            memory_bytes=process.rss,
            children=process.children,
            memory_used=None if memory is None else memory.used,
            memory_limit=None if memory is None else memory.limit,
            memory_shared=memory is not None and memory.machine,
        )
    if ended is None:
        return (made,)
    return (
        Worker(
            index=0,
            doing="gone",
            pid=made.pid,
            log=log,
            logs=made.logs,
            started=made.started,
            ended=ended.at,
            exit_code=ended.exit_code,
            signal=ended.signal,
            outcome=ended.outcome.value,
            reason=ended.reason,
        ),
    )


def box_facts(polled: PolledRun, living: Iterable[Process], kind: str, **more: object) -> BoxFacts:
    """What is worth showing of the machine and of what the run left."""
    row, machine, track = polled.row, polled.machine, polled.track
    held = next((process.oom for process in living if process.oom is not None), None)
    limited = held is not None and not held.machine
    results = row.results
    known: dict[str, object] = {
        "kind": kind,
        "wall": round(machine.wall, 1),
        "machine": machine.id,
        "boot": machine.boot,
        "memory_used": held.used if held is not None and limited else None,
        "memory_limit": held.limit if held is not None and limited else None,
        "kills": 0 if held is None else max(0, held.kills - (held.kills if track.kills is None else track.kills)),
        "cpus": float(machine.cpus),
        "quota": machine.quota,
        "threads": None if row.threads is None else row.threads.count,
        "threads_running": None if row.threads is None else row.threads.running,
        "load": machine.load,
        "results_expected": track.expect_files,
    }
    if results is not None:
        last = results.newest[-1] if results.newest else None
        known |= {
            "results": results.count,
            "results_bytes": results.bytes,
            "results_capped": results.capped,
            "results_newest": None if last is None else last.path,
            "results_text": plain(results.text, MOST_TEXT, keep="\n"),
            "unread": "; ".join(f"{plain(path, 100)}: {why}" for path, why in list(results.unreadable.items())[:2]),
        }
    return BoxFacts(**(known | more))  # type: ignore[arg-type]


def observation(
    polled: PolledRun,
    attempt: str,
    state: State,
    stages: Sequence[Stage],
    facts: BoxFacts,
    *,
    says: str,
    by: str,
    native: str = "",
    process: Process | None = None,
    logs: tuple[str, ...] = (),
    log_starts: dict[str, int] | None = None,
    began: float | None = None,
    runs: tuple[EarlierRun, ...] = (),
    settled: bool = True,
    restarts: int = 0,
) -> Observation:
    """One poll's word on one run, which `began` then; `native` names the stage."""
    at, ended = current(stages), state if isinstance(state, Ended) else None
    log = logs[0] if logs else (polled.job.expect.logs[0] if len(polled.job.expect.logs) == 1 else None)
    place = position(stages)
    return Observation(
        polled.job.ref,
        attempt,
        state,
        native=", ".join(word for word in (place, native) if word),
        reason=getattr(state, "reason", "") or "",
        evidence=(Evidence(by, says, polled.at),),
        workers=worker(process, log, ended, began),
        facts=Facts(
            logs=logs,
            stages=tuple(stages),
            box=replace(facts, decisions=decide(polled.job, state, stages, facts)),
            log_starts=log_starts or {},
            runs=runs,
        ),
        settled=settled,
        restarts=restarts,
        part="" if at is None or not logs else f"stage {at}",
    )


def lost_observation(polled: PolledRun, attempt: str, stages: Sequence[Stage]) -> Observation:
    """A run whose machine is gone: nothing that answers there now is about it."""
    facts = BoxFacts("lost", wall=round(polled.machine.wall, 1), machine=polled.track.machine, lost=polled.lost)
    state = Ended(Outcome.NODE_FAILED, reason=f"lost: {polled.lost}")
    facts = replace(facts, decisions=decide(polled.job, state, stages, facts))
    return Observation(
        polled.job.ref,
        attempt,
        state,
        native="lost",
        reason=state.reason,
        evidence=(Evidence("machine id", polled.lost, polled.at),),
        workers=worker(None, None, state),
        facts=Facts(stages=tuple(stages), box=facts),
        is_other=True,
    )
