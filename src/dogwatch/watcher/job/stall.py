"""Stall: what a poll adds to the question whether a job is stuck, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dogwatch.clock import recorded
from dogwatch.estimate.milestones import UNKNOWN_POSITION, RunPosition, run_position
from dogwatch.estimate.silence_limit import STARTS, STEADY, has_paused
from dogwatch.estimate.stall import (
    COUNTER_MOVES,
    Evidence,
    Gpu,
    ask_after,
    is_steady_work,
    stands_too_long,
    verdict,
)
from dogwatch.logs.interface import EXACT
from dogwatch.model import GpuFigures, Job, Progress, StallState, Verdict, Worker
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.read_files import News
from dogwatch.watcher.job.state.silence import SavedVerdict
from dogwatch.watcher.job.state.usage import usage_of

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import VerdictDocument

# What processes use is asked for at most this often, and often enough that a short silence limit sees two answers.
ASK_EVERY, ASK_SHARE = 15.0, 0.25
SOON = 1.0
UNANSWERED = 3  # looks that asked in vain before the verdict does without
LIVING = frozenset({"running", "sleeping", "uninterruptible", "stopped"})
PAST_SILENCE_LIMIT = frozenset({StallState.STALLED, StallState.SILENT_BUT_BUSY})
KNOWN_PAUSE = 1.25  # times the longest pause that it came back from: no warning of the same again
DONE = 0.999  # of the total: what comes now is a last evaluation, an export, an upload
LASTS = frozenset({STEADY, "validating", "checkpointing"})  # what a job that is done may still be said to do


def asks_usage(memory: Memory, mono: float) -> bool:
    """Whether the job has been silent for so long that its processes are to be asked what they use."""
    if not is_silent(memory):
        return False
    last = memory.usage.samples[-1][0] if memory.usage.samples else float("-inf")
    return not 0 <= mono - last < min(ASK_EVERY, ASK_SHARE * memory.usage.ask_after)


def is_silent(memory: Memory) -> bool:
    """Whether a running job has been silent for half of what it is allowed, so that it is worth a closer poll."""
    silences = memory.silence.clocks.get("signs")
    return silences is not None and memory.silence.verdict is not None and silences.seconds >= memory.usage.ask_after


def silence_left(memory: Memory, found: Verdict | None, workers: Sequence[Worker]) -> float | None:
    """Seconds until a silent job reaches its silence limit, 0 after that; None for a job that is not silent. The use of
    its processes is a difference between two polls, so the first is due at once."""
    if not is_silent(memory):
        return None
    if not memory.usage.samples and not memory.usage.unanswered and living_pids(workers):
        return SOON
    if found is None or found.silence_limit is None:
        return 0.0
    return max(0.0, found.silence_limit - memory.silence.clock("signs").seconds)


def living_pids(workers: Sequence[Worker]) -> tuple[int, ...]:
    return tuple(worker.pid for worker in workers if worker.pid is not None and worker.doing in LIVING)


def judged(
    job: Job,
    memory: Memory,
    workers: Sequence[Worker],
    news: News,
    progress: Progress | None,
    before: Verdict | None,
    at: float,
    *,
    late: str = "",
    slow: tuple[float, str] | None = None,
    gpu: Gpu | None = None,
) -> Verdict:
    """The verdict on a running job after this poll; the memory keeps its word and when to ask the processes."""
    silent = memory.silence.clock("signs").seconds
    limit = job.expect.stall_timeout
    phase = memory.silence.phase
    if phase in LASTS and progress is not None and (progress.fraction or 0.0) >= DONE:
        phase = "exporting"
    memory.usage.ask_after = ask_after(memory.silence.gaps, phase, limit, memory.silence.lines)
    closely = silent >= memory.usage.ask_after
    living = [worker for worker in workers if worker.doing in LIVING]
    stopped = bool(living) and all(worker.doing == "stopped" for worker in living)
    memory.silence.held |= stopped
    usage = usage_of(memory.usage)
    quiet = _quiet(job, memory)
    before = before if before is not None else _remembered(memory)
    slows = is_steady_work(phase) or (
        before is not None and before.word is StallState.SLOW
    )  # what was is not over by a phase
    asking = bool(living_pids(workers)) and closely and usage is None
    found = verdict(
        Evidence(
            at=at,
            quiet=quiet,
            silent=silent,
            moved_at=memory.silence.moved_at if memory.silence.moved_at is not None else at,
            phase=phase,
            gaps=memory.silence.gaps,
            counter=memory.silence.counter,
            limit=limit,
            usage=usage,
            asking=asking and memory.usage.unanswered < UNANSWERED,
            gpu=gpu or _gpu(memory.learnt.gpu),
            stopped=stopped,
            slow_since=slow[0] if slow is not None and slows else None,
            slow_why=slow[1] if slow is not None else "",
            unseen=late or _unseen(memory, news, quiet),
            where=_run_position(memory, progress) if closely else UNKNOWN_POSITION,
            lines=memory.silence.lines,
        ),
        before,
    )
    memory.silence.verdict = SavedVerdict(found.word, found.since)
    return found


def stood(job: Job, memory: Memory, more: float = 0.0) -> float:
    """Seconds without any progress, once they are more than its owner wants to be warned of, and more than a pause that
    the job came back from; else 0. `more` seconds may have passed. A log that goes on is no progress of a job whose
    counter stands."""
    limit = job.expect.stall_warning
    if limit is None:
        return 0.0
    known = [gaps.longest for phase, gaps in memory.silence.gaps.items() if phase not in STARTS]
    silent = memory.silence.clock("signs").seconds + more
    if silent >= max(limit, KNOWN_PAUSE * max(known, default=0.0)):
        return silent
    if memory.silence.counter.count < COUNTER_MOVES or not is_steady_work(memory.silence.phase):
        return 0.0
    counted = more + min(
        memory.silence.clocks[what].seconds
        for what in ("progress", "output", "checkpoint")
        if what in memory.silence.clocks
    )
    return counted if stands_too_long(counted, memory.silence.counter, limit) else 0.0


def _run_position(memory: Memory, progress: Progress | None) -> RunPosition:
    """The position of this job by its one counter; the sum of several counters has none."""
    if progress is None or len(memory.progress.steps) != 1:
        return UNKNOWN_POSITION
    found = run_position(
        memory.progress.points,
        progress.total,
        progress.unit,
        paused=has_paused(memory.silence.gaps),
        intervals=memory.log.intervals,
    )
    target = progress.total is None and all(step.rank == EXACT for step in memory.progress.steps.values())
    return replace(found, to_target=target)


def stays(memory: Memory, before: Verdict | None, more: float = 0.0) -> bool:
    """Whether a verdict still has the same word if only time has passed, and `more` seconds: a working job is judged
    again when it has been silent for long enough to ask its processes, and when it reaches its silence limit."""
    silences = memory.silence.clocks.get("signs")
    if before is None or silences is None:
        return False
    silence_limit = before.silence_limit or 0.0
    if before.word is StallState.WORKING:
        return silences.seconds + more < (
            silence_limit if before.silent >= memory.usage.ask_after else memory.usage.ask_after
        )
    return before.word in PAST_SILENCE_LIMIT and before.silent >= silence_limit > 0


def _remembered(memory: Memory) -> Verdict | None:
    """The word that stood when the last watcher left."""
    if memory.silence.verdict is None:
        return None
    return Verdict(memory.silence.verdict.word, memory.silence.verdict.since)


def _quiet(job: Job, memory: Memory) -> dict[str, float]:
    """The signs of life that this job can show, each with the seconds for which it has not."""
    there = {
        "progress": bool(memory.progress.steps),
        "log": bool(memory.log.cursors) or (bool(job.expect.logs) and not memory.log.seen),
        "output": bool(memory.files.outputs),
        "checkpoint": bool(memory.files.checkpoints) and not memory.produced.weak,
    }
    return {what: memory.silence.clock(what).seconds for what, shown in there.items() if shown}


def _unseen(memory: Memory, news: News, quiet: Mapping[str, float]) -> str:
    """Why its signs of life cannot be seen now, though there were or should be some."""
    if any(what in quiet for what in ("output", "checkpoint")) or memory.log.cursors.keys() - news.unreadable.keys():
        return ""
    if news.unreadable:
        path, why = next(iter(news.unreadable.items()))
        return f"its log cannot be read: {path}: {why}"
    return "its log no longer exists" if memory.log.seen else ""


def _gpu(figures: GpuFigures | None) -> Gpu | None:
    return None if figures is None or figures.gpu_percent is None else Gpu(figures.gpu_percent)


def verdict_document(found: Verdict | None) -> VerdictDocument | None:
    if found is None:
        return None
    return {
        "word": found.word.value,
        "since": recorded(found.since),
        "why": found.why or None,
        "evidence": [
            {
                "by": evidence.by,
                "says": evidence.says,
                "quiet_seconds": evidence.quiet,
                "percent": evidence.percent,
            }
            for evidence in found.evidence
        ],
        "silence_limit_seconds": None if found.silence_limit is None else round(found.silence_limit, 1),
        "silent_seconds": round(found.silent, 1),
    }
