"""A chain of ours: what its records and processes say together.

A stage is done when its marker is there, and a chain when its supervisor says so, no process of it is left and every
stage has its marker. Whatever else a chain ends like is no success.
"""

from __future__ import annotations

import shlex
import signal as signals
from itertools import pairwise

from msgspec import structs

from dogwatch.model import BoxFacts, Ended, Observation, Outcome, Running, Stage, Waiting
from dogwatch.model import stages as words
from dogwatch.model.facts import EarlierRun, Facts
from dogwatch.model.stages import current
from dogwatch.sources.box.polled_run import PolledRun, box_facts, is_alive, lost_observation, observation, other_machine
from dogwatch.sources.box.records import ChainFiles, Claim, Spec, StageEnd
from dogwatch.text import plain
from dogwatch.wire.sections import Process

RESUME_WAIT = 3600.0  # for so long after a reboot a chain that resumes by itself is waited for


def read_chain(polled: PolledRun, files: ChainFiles, ended_since: float | None) -> Observation | None:
    """What one poll shows of a chain; None where nothing of it is on its machine any more. `ended_since` is when it
    was first seen to have ended."""
    if polled.lost or (files.attempts and other_machine(files.attempts[files.attempt].machine, polled.machine)):
        claimed = files.attempts[files.attempt].machine if files.attempts else None
        polled = polled._replace(track=structs.replace(polled.track, machine=polled.track.machine or claimed))
        return lost_observation(polled, f"{polled.job.id}:{max(1, files.attempt)}", ())
    if files.spec is None:
        return None
    chain = Chain(polled, files, files.spec)
    return chain.observe(ended_since)


class Chain:
    """One chain in one poll."""

    def __init__(self, polled: PolledRun, files: ChainFiles, spec: Spec) -> None:
        self.polled, self.files, self.spec = polled, files, spec
        self.number = files.attempt
        self.claim: Claim | None = files.attempts.get(self.number)
        self.over = files.end if files.end is not None and files.end.attempt in (None, self.number) else None
        owner = files.owner or self.claim
        self.supervisor = None if owner is None else polled.process(owner.who)
        self.restart = polled.restarted(self.claim.boot, self.claim.start) if self.claim is not None else ""
        self.stages = [self._stage(index) for index in range(len(spec.stages))]

    @property
    def alive(self) -> bool:
        return is_alive(self.supervisor) or any(is_alive(self._process(index)) for index in self.files.starts)

    def observe(self, ended_since: float | None) -> Observation:
        polled, files = self.polled, self.files
        if self.claim is None:
            reason = "written down, and its supervisor has not started"
            state = Waiting(reason)
            return Observation(polled.job.ref, f"{polled.job.id}:1", state, "prepared", reason, facts=self._facts(()))
        at = current(self.stages)
        log = self.stages[at].log if at is not None else None
        start = files.starts.get(at) if at is not None else None
        ended = self._ending()
        living = [] if at is None else [p for p in (self._process(at), self.supervisor) if is_alive(p)]
        says, by = self._evidence(ended)
        resumes = bool(self.restart) and self.spec.on_reboot == "resume" and ended is not None
        waited = ended_since is not None and polled.at - ended_since > RESUME_WAIT
        return observation(
            polled,
            f"{polled.job.id}:{self.number}",
            ended or Running(since=self.claim.at, where=polled.job.place),
            self.stages,
            self._box(living),
            says=says,
            by=by,
            native=self._native(ended),
            process=living[0] if living else None,
            logs=(log,) if log and log.startswith("/") else (),
            log_starts={log: start.log_from} if log and start is not None else {},
            began=self.claim.at,
            runs=self._earlier(),
            settled=not resumes or waited or ended is None or ended.outcome is not Outcome.NODE_FAILED,
            restarts=self.number - 1,
        )

    def _earlier(self) -> tuple[EarlierRun, ...]:
        """The attempts before this one: each is over when the next has begun, and that says why."""
        claims = [self.files.attempts[number] for number in sorted(self.files.attempts)]
        return tuple(
            EarlierRun(one.at, after.at, "", "node_failed" if after.why == "reboot" else "failed")
            for one, after in pairwise(claims)
            if one.at is not None and after.at is not None
        )

    def _process(self, index: int) -> Process | None:
        start = self.files.starts.get(index)
        return None if start is None else self.polled.process(start.who)

    def _log(self, index: int) -> str:
        name = self.spec.stages[index].log
        name = name if name and "/" not in name and name not in (".", "..") else f"stage-{index}.log"
        return f"{self.polled.track.chain}/{name}"

    def _stage(self, index: int) -> Stage:
        """One stage by its records. A marker counts whichever attempt wrote it; how it failed, only of this one."""
        files, name = self.files, plain(self.spec.stages[index].name, 80)
        start, done, end = files.starts.get(index), files.done.get(index), files.ends.get(index)
        log = self._log(index)
        if done is not None and done.code in (None, 0):
            return Stage(name, words.DONE, done.started, done.ended or done.at, 0, attempt=done.attempt, log=log)
        begun = start is not None and start.attempt == self.number
        if end is not None and end.attempt == self.number:
            return Stage(name, words.FAILED, end.started, end.at, end.code, end.signal, end.attempt, log)
        living = is_alive(self.supervisor)
        if start is not None and begun:
            running = living or is_alive(self._process(index))
            return Stage(name, words.RUNNING if running else words.UNKNOWN, start.at, attempt=start.attempt, log=log)
        wait = files.waits.get(index)
        if living and wait is not None and wait.attempt in (None, self.number):
            return Stage(name, words.WAITING, wait.at, attempt=self.number, log=log, waits_for=plain(wait.for_, 200))
        return Stage(name, words.WAITING if living else words.SKIPPED, log=log)

    def _ending(self) -> Ended | None:
        """How this attempt ended; None while a process of it is there."""
        if self.alive:
            return None
        at = current(self.stages)
        missing = [stage.name for stage in self.stages if stage.state != words.DONE]
        files, over = self.files, self.over
        cancel = files.cancelled is not None or self.polled.track.cancel is not None
        when = over.at if over is not None else None
        if not missing and (over is None or over.why == "done"):
            return Ended(
                Outcome.SUCCEEDED, 0, at=when or max((s.ended or 0.0 for s in self.stages), default=0.0) or None
            )
        if (over is not None and over.why == "cancelled") or cancel:
            return Ended(Outcome.CANCELLED, at=when, reason=self._who_cancelled())
        where = words.position(self.stages)
        if self.restart and over is None:
            return Ended(Outcome.NODE_FAILED, reason=f"{self.restart} during {where}")
        end = files.ends.get(at) if at is not None else None
        if at is not None and end is not None and self.stages[at].state == words.FAILED:
            return self._failed(end, where)
        killed = next((p.kernel_log for p in self.polled.row.processes if p.kernel_log), None)
        if killed:
            reason = f"killed by the kernel (out of memory) during {where}: {plain(killed, 200)}"
            return Ended(Outcome.OUT_OF_MEMORY, signal=int(signals.SIGKILL), reason=reason)
        if over is not None:
            reason = plain(over.error or "", 300) or f"it ended without the marker of {missing[0]}"
            return Ended(Outcome.FAILED, over.code, at=when, reason=f"{where}: {reason}")
        reason = f"its supervisor was killed during {where}, so the exit code is unknown; the stage has no marker"
        return Ended(Outcome.FAILED, reason=reason)

    def _failed(self, end: StageEnd, where: str) -> Ended:
        if end.signal is not None:
            how = f"killed by signal {end.signal}"
        elif end.code is not None:
            how = f"exit code {end.code}"
        else:
            how = "exit code unknown"
        return Ended(Outcome.FAILED, end.code, end.signal, end.at, f"{where}: {how}")

    def _who_cancelled(self) -> str:
        by = self.files.cancelled.by if self.files.cancelled is not None else None
        by = by or (self.polled.track.cancel.by if self.polled.track.cancel is not None else "")
        return f"cancelled by {plain(by, 100)} with dogwatch cancel" if by else "cancelled with dogwatch cancel"

    def _native(self, ended: Ended | None) -> str:
        at = current(self.stages)
        if ended is not None or at is None:
            return ""
        stage = self.stages[at]
        if not is_alive(self.supervisor):
            return "its supervisor is gone"
        return f"waits for {stage.waits_for}" if stage.waits_for else ""

    def _evidence(self, ended: Ended | None) -> tuple[str, str]:
        """What the verdict rests on, and who says it."""
        if ended is None:
            by = "supervisor" if is_alive(self.supervisor) else "process table"
            return f"{words.position(self.stages)} runs", by
        done = sum(stage.state == words.DONE for stage in self.stages)
        return f"{done} of {len(self.stages)} stages have their marker, and no process is left", "stage markers"

    def _facts(self, logs: tuple[str, ...]) -> Facts:
        return Facts(logs=logs, stages=tuple(self.stages), box=self._box([]))

    def _box(self, living: list[Process | None]) -> BoxFacts:
        heartbeat, pushed = self.files.heartbeat, self.files.pushed
        alive = []
        if is_alive(self.supervisor):
            alive.append("supervisor")
        alive += [
            f"stage {self.stages[k].name}" for k in self.files.starts if self._has(k) and is_alive(self._process(k))
        ]
        return box_facts(
            self.polled,
            [process for process in living if process is not None],
            "chain",
            directory=self.polled.track.chain,
            session=self.spec.session,
            alive=tuple(alive),
            supervisor=is_alive(self.supervisor),
            restart=self.restart,
            heartbeat_at=None if heartbeat is None else heartbeat.at,
            last_line="" if heartbeat is None else plain(heartbeat.line, 200),
            pushed="" if pushed is None else self._pushed(),
            resume=f"on {self.polled.job.place}: sh {shlex.quote(self.polled.track.chain or '')}/chain.sh resume",
            resumes_itself=self.spec.on_reboot == "resume",
        )

    def _has(self, index: int) -> bool:
        return index < len(self.stages)

    def _pushed(self) -> str:
        pushed = self.files.pushed
        assert pushed is not None
        how = "sent" if pushed.ok else "not sent"
        return plain(f"{how} by {pushed.way or 'push'}" + (f": {pushed.detail}" if pushed.detail else ""), 200)
