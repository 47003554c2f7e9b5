"""A run that somebody else started: its tmux session, its processes, and the files that mark its stages.

It has ended when its session is gone or nothing runs in it, no process of it is left, and the marker of its last stage
is there. Without that marker it died; without any marker to look for, its log decides.
"""

from __future__ import annotations

import signal as signals
from collections.abc import Sequence
from fnmatch import fnmatchcase

from msgspec import structs

from dogwatch.model import Ended, Observation, Outcome, Running, Stage, Waiting
from dogwatch.model import stages as words
from dogwatch.model.state import State
from dogwatch.sources.box.polled_run import GONE, PolledRun, box_facts, is_alive, lost_observation, observation
from dogwatch.sources.box.track import BoxTrack
from dogwatch.text import plain
from dogwatch.wire.box import FileCount, Pane
from dogwatch.wire.sections import ListedFile, Process, Who

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish", "csh", "tcsh", "ash", "busybox"})
EARLIER = 1.0  # seconds before a run began at which a file of it may have been written: records round differently


def read_adopted(polled: PolledRun) -> tuple[Observation, BoxTrack]:
    """What one poll shows of it, and what is to be kept of it now."""
    if polled.lost:
        return lost_observation(polled, polled.track.attempt, _stages(polled, {}, "", False)), polled.track
    run = Adopted(polled)
    return run.observe(), run.track


class Adopted:
    """One run in one poll."""

    def __init__(self, polled: PolledRun) -> None:
        self.polled = polled
        session = polled.row.session
        self.panes: Sequence[Pane] = session.panes if session is not None else ()
        self.created = session.created if session is not None else None
        known = [polled.process(who) for who in polled.track.pids]
        found = polled.row.find.process if polled.row.find is not None else []
        shown = [pane.process for pane in self.panes if pane.process is not None]
        self.processes = _once([*(process for process in known if process is not None), *found, *shown])
        self.living = [process for process in self.processes if is_alive(process)]
        self.track = self._learn()
        self.marks = _marks(polled.row.markers, self.track.old)

    @property
    def in_session(self) -> bool:
        """Whether the session is there, with a program in it that has not ended."""
        return any(not pane.dead for pane in self.panes)

    @property
    def is_idle(self) -> bool:
        """Whether all that is left in the session are shells that wait for a command."""
        return self.in_session and all(pane.dead or _waits_for_command(pane) for pane in self.panes)

    def observe(self) -> Observation:
        polled, track = self.polled, self.track
        stages = _stages(polled, self.marks, "", bool(self.living))
        complete = bool(stages) and all(stage.state == words.DONE for stage in stages)
        working = [process for process in self.living if not self._is_shell(process)]
        alive = self.in_session or bool(self.living)
        ended = None if alive and not (complete and self.is_idle and not working) else self._ending(stages, complete)
        if not track.seen:
            return self._not_found()
        stages = _stages(polled, self.marks, "" if ended is None else ended.outcome.value, bool(self.living))
        state: State = ended or Running(since=track.began, where=polled.job.place)
        process = next(iter(working or self.living), None)
        return observation(
            polled,
            track.attempt,
            state,
            stages,
            box_facts(
                polled,
                self.living,
                "tmux" if track.tmux else "process",
                session=track.tmux,
                alive=tuple(self._alive_by()),
                restart=self._restart(),
                idle_session=self.is_idle,
                resume=plain(track.resume, 2000),
            ),
            says=self._says(stages),
            by="tmux" if self.in_session else "stage markers" if stages else "process table",
            native="nothing runs in its session" if ended is None and self.is_idle else "",
            process=process,
            began=track.began,
        )

    def _is_shell(self, process: Process) -> bool:
        return any(pane.process is process and _waits_for_command(pane) for pane in self.panes)

    def _alive_by(self) -> list[str]:
        alive_by = [f"tmux session {plain(self.track.tmux or '', 60)}"] if self.in_session else []
        return alive_by + [f"process {process.pid}" for process in self.living[:8]]

    def _says(self, stages: Sequence[Stage]) -> str:
        alive_by = ", ".join(self._alive_by())
        done = [stage.name for stage in stages if stage.state == words.DONE]
        return "; ".join(
            part
            for part in (alive_by or "no session, no process", f"markers: {', '.join(done)}" if done else "")
            if part
        )

    def _not_found(self) -> Observation:
        find = self.polled.row.find
        reason = (find.problem if find is not None else None) or "nothing of it was found yet"
        return Observation(self.polled.job.ref, "", Waiting(reason), native="not found", reason=reason)

    def _restart(self) -> str:
        """Why what was known of it cannot be there any more."""
        starts = [start for _, start, _ in self.polled.track.pids if start]
        return self.polled.restarted(self.polled.track.boot, max(starts) if starts else None) if not self.living else ""

    def _ending(self, stages: Sequence[Stage], complete: bool) -> Ended:
        codes = [pane.status for pane in self.panes if pane.dead and pane.status is not None]
        code = max(codes) if codes and len(codes) == len(self.panes) else None
        if self.track.cancel is not None and not complete:
            by = plain(self.track.cancel.by, 100)
            reason = f"cancelled by {by} with dogwatch cancel" if by else "cancelled with dogwatch cancel"
            return Ended(Outcome.CANCELLED, reason=reason)
        if complete:
            last = max((mark.mtime for mark in self.marks.values()), default=None)
            return Ended(Outcome.SUCCEEDED, code, at=last, reason="the marker of its last stage is there")
        where = f" during {words.position(stages)}: there is no marker" if stages else ""
        if restart := self._restart():
            return Ended(Outcome.NODE_FAILED, reason=f"{restart}{where}")
        killed = next((process.kernel_log for process in self.processes if process.kernel_log), None)
        if killed:
            reason = f"killed by the kernel (out of memory){where}: {plain(killed, 200)}"
            return Ended(Outcome.OUT_OF_MEMORY, signal=int(signals.SIGKILL), reason=reason)
        gone = "its tmux session is gone" if self.track.tmux else "its processes are gone"
        if code is not None:
            outcome = Outcome.SUCCEEDED if code == 0 and not stages else Outcome.FAILED
            return Ended(outcome, code, reason=f"exit code {code} in its tmux session{where}")
        if stages:
            return Ended(Outcome.FAILED, reason=f"{gone}; it died{where}")
        return Ended(Outcome.UNKNOWN, reason=f"{gone}; exit code unknown (not started by `dogwatch run`)")

    def _learn(self) -> BoxTrack:
        """What is kept of it: the machine from the first poll on that showed something alive; the processes; the files
        that were there before it began."""
        polled, track = self.polled, self.polled.track
        if not self.living and not self.in_session:
            return track
        began = [process.started for process in self.living if process.started is not None]
        anew = not track.seen or (self.created is not None and track.created not in (None, self.created))
        whos: list[Who] = [(process.pid, process.start, process.boot) for process in self.living]
        learnt = structs.replace(
            track,
            machine=track.machine or polled.machine.id,
            boot=polled.machine.boot,
            created=self.created if self.created is not None else track.created,
            pids=_known(track, whos, anew),
            seen=True,
        )
        if anew:
            first = self.created if self.created is not None else min(began, default=None)
            key = f"{self.created:.0f}" if self.created is not None else ":".join(map(str, whos[0][:2])) if whos else ""
            kills = next((process.oom.kills for process in self.living if process.oom is not None), None)
            old = _older(polled.row.markers, first) if first is not None else {}
            learnt = structs.replace(
                learnt, began=first, old=old, kills=kills, attempt=f"{polled.machine.boot or ''}:{key}"
            )
        return learnt


def _known(track: BoxTrack, living: list[Who], anew: bool) -> list[Who]:
    """The processes by which it is known: those of a session as they come and go, otherwise the ones found first."""
    if anew or track.tmux:
        return sorted(living, key=lambda who: who[0])[:256]
    return track.pids


def _once(processes: Sequence[Process]) -> list[Process]:
    return list({(process.pid, process.start): process for process in processes}.values())


def _waits_for_command(pane: Pane) -> bool:
    """Whether a pane has only its shell."""
    process = pane.process
    if process is None or process.doing in GONE:
        return True
    return pane.command.lstrip("-").rpartition("/")[2] in SHELLS and process.children == 0


def _older(markers: FileCount | None, began: float) -> dict[str, float]:
    """The markers that an earlier run left: by the clock of the machine, and only when the run is first seen."""
    if markers is None:
        return {}
    return {file.path: file.mtime for file in markers.newest if file.mtime < began - EARLIER}


def _marks(markers: FileCount | None, old: dict[str, float]) -> dict[str, ListedFile]:
    """The markers of this run by path: one that an earlier run left counts when it is written again."""
    if markers is None:
        return {}
    return {file.path: file for file in markers.newest if old.get(file.path) != file.mtime}


def _stages(polled: PolledRun, marks: dict[str, ListedFile], outcome: str, living: bool) -> list[Stage]:
    """One stage per marker, in the order in which they were named. The first without a marker is the one it is at."""
    stages: list[Stage] = []
    log = polled.job.expect.logs[0] if len(polled.job.expect.logs) == 1 else None
    before, reached = polled.track.began, False
    for glob in polled.track.markers:
        hits = [file for path, file in marks.items() if matches(path, glob)]
        if hits:
            at = max(file.mtime for file in hits)
            stages.append(Stage(stage_name(glob), words.DONE, before, at, log=log))
            before = at
            continue
        state = words.WAITING if not outcome else words.SKIPPED
        if not reached:
            state = words.RUNNING if not outcome else words.FAILED
        started = before if not reached else None
        stages.append(Stage(stage_name(glob), state, started, log=log if not reached else None))
        reached = True
    return stages


def matches(path: str, glob: str) -> bool:
    """Whether a path is one that the glob means: a wildcard stands for part of one name."""
    parts, wanted = path.split("/"), glob.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def stage_name(glob: str) -> str:
    """What a marker's stage is called: its name without wildcards, suffix and the words that every marker has."""
    name = glob.rstrip("/").rpartition("/")[2]
    name = "".join(char for char in name if char not in "*?[]")
    stem = name.rpartition(".")[0] or name
    for word in ("_DONE", "-DONE", "_done", "-done", ".DONE", ".done"):
        stem = stem.removesuffix(word)
    stem = plain(stem.strip("._-") or name or "stage", 60)
    return stem.lower() if stem.isupper() else stem
