"""Standing: what a look adds to the question whether a job is stuck, and the verdict on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dogwatch.clock import stamp
from dogwatch.engine.memory import Memory
from dogwatch.engine.reading import News
from dogwatch.estimate.patience import STARTS, STEADY, has_paused
from dogwatch.estimate.places import LOST, Way, way
from dogwatch.estimate.stuck import (
    COUNTER_MOVES,
    Evidence,
    Gpu,
    Usage,
    ask_after,
    is_steady_work,
    stands_too_long,
    verdict,
)
from dogwatch.logs.interface import EXACT
from dogwatch.model import Job, Progress, Standing, Verdict, Worker

# What processes use is asked for at most this often, and often enough that a short patience sees two answers.
ASK_EVERY, ASK_SHARE = 15.0, 0.25
MOST_SAMPLES = 24
SOON = 1.0
UNANSWERED = 3  # looks that asked in vain before the verdict does without
LIVING = frozenset({"running", "sleeping", "uninterruptible", "stopped"})
OUT_OF_PATIENCE = frozenset({Standing.STALLED, Standing.SILENT_BUT_BUSY})
KNOWN_PAUSE = 1.25  # times the longest pause that it came back from: no warning of the same again
DONE = 0.999  # of the total: what comes now is a last evaluation, an export, an upload
LASTS = frozenset({STEADY, "validating", "checkpointing"})  # what a job that is done may still be said to do


def asks_usage(memory: Memory, mono: float) -> bool:
    """Whether the job has been silent for so long that its processes are to be asked what they use."""
    if not is_silent(memory):
        return False
    last = memory.usage[-1][0] if memory.usage else float("-inf")
    return not 0 <= mono - last < min(ASK_EVERY, ASK_SHARE * memory.ask_after)


def is_silent(memory: Memory) -> bool:
    """Whether a running job has been silent for half of what it is allowed, so that it is worth a closer look."""
    hush = memory.hush.get("signs")
    return hush is not None and memory.verdict is not None and hush.seconds >= memory.ask_after


def patience_left(memory: Memory, found: Verdict | None, workers: Sequence[Worker]) -> float | None:
    """Seconds until the patience with a silent job ends, 0 when it has; None for one that is not silent. What its
    processes use is a difference, so they are asked a first time at once."""
    if not is_silent(memory):
        return None
    if not memory.usage and not memory.unanswered and living_pids(workers):
        return SOON
    if found is None or found.patience is None:
        return 0.0
    return max(0.0, found.patience - memory.hush_of("signs").seconds)


def living_pids(workers: Sequence[Worker]) -> tuple[int, ...]:
    return tuple(worker.pid for worker in workers if worker.pid is not None and worker.doing in LIVING)


def take_usage(memory: Memory, answer: Mapping[str, Any] | None, mono: float) -> None:
    """One more sample of what the processes have used, as long as the silence lasts."""
    if not answer or not answer.get("processes"):
        memory.unanswered += 1
        return
    read = answer["read"] + answer["write"] if not answer["unread"] else -1
    usual = answer["cpu"] / answer["age"] if answer.get("age") else -1.0
    sample = [mono, answer["cpu"], read, answer["processes"], answer["blocked"], usual]
    if memory.usage and (mono <= memory.usage[-1][0] or answer["cpu"] < memory.usage[-1][1]):
        memory.usage = []  # another boot, or a process that took its count with it
    memory.usage.append(sample)
    del memory.usage[1 : len(memory.usage) - MOST_SAMPLES + 1]


def usage_of(memory: Memory) -> Usage | None:
    """What was used over the newer half of the silence in which we asked; None before two answers. What is judged
    is what goes on now: the end of a checkpoint that was still being written is not."""
    samples = memory.usage
    if len(samples) < 2:
        return None
    last = samples[-1]
    middle = last[0] - (last[0] - samples[0][0]) / 2
    first = next(sample for sample in reversed(samples[:-1]) if sample[0] <= middle)
    over = last[0] - first[0]
    moved = None if first[2] < 0 or last[2] < 0 else max(0.0, last[2] - first[2]) / over
    usual = samples[0][5] if samples[0][5] >= 0 else None
    return Usage(over, (last[1] - first[1]) / over, moved, int(last[3]), int(last[4]), usual)


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
    """The verdict on a running job after this look; the memory keeps its word and when to ask the processes."""
    silent = memory.hush_of("signs").seconds
    limit = job.expect.stall_timeout
    phase = memory.phase
    if phase in LASTS and progress is not None and (progress.fraction or 0.0) >= DONE:
        phase = "exporting"
    memory.ask_after = ask_after(memory.gaps, phase, limit, memory.lines)
    closely = silent >= memory.ask_after
    living = [worker for worker in workers if worker.doing in LIVING]
    stopped = bool(living) and all(worker.doing == "stopped" for worker in living)
    memory.held |= stopped
    usage = usage_of(memory)
    quiet = _quiet(job, memory)
    before = before if before is not None else _remembered(memory)
    slows = is_steady_work(phase) or (
        before is not None and before.word is Standing.SLOW
    )  # what was is not over by a phase
    asking = bool(living_pids(workers)) and closely and usage is None
    found = verdict(
        Evidence(
            at=at,
            quiet=quiet,
            silent=silent,
            moved_at=memory.moved_at if memory.moved_at is not None else at,
            phase=phase,
            gaps=memory.gaps,
            counter=memory.counter,
            limit=limit,
            usage=usage,
            asking=asking and memory.unanswered < UNANSWERED,
            gpu=gpu or _gpu(memory.facts.get("gpu")),
            stopped=stopped,
            slow_since=slow[0] if slow is not None and slows else None,
            slow_why=slow[1] if slow is not None else "",
            unseen=late or _unseen(memory, news, quiet),
            on=_way(memory, progress) if closely else LOST,
            lines=memory.lines,
        ),
        before,
    )
    memory.verdict = {"word": found.word.value, "since": found.since}
    return found


def stood(job: Job, memory: Memory) -> float:
    """Seconds without any progress, once they are more than its owner wants to be warned of, and more than a pause that
    the job came back from; else 0. A log that goes on is no progress of a job whose counter stands."""
    limit = job.expect.stall_warning
    if limit is None:
        return 0.0
    known = [gaps.longest for phase, gaps in memory.gaps.items() if phase not in STARTS]
    silent = memory.hush_of("signs").seconds
    if silent >= max(limit, KNOWN_PAUSE * max(known, default=0.0)):
        return silent
    if memory.counter.count < COUNTER_MOVES or not is_steady_work(memory.phase):
        return 0.0
    counted = min(memory.hush[what].seconds for what in ("progress", "output", "checkpoint") if what in memory.hush)
    return counted if stands_too_long(counted, memory.counter, limit) else 0.0


def _way(memory: Memory, progress: Progress | None) -> Way:
    """Where on its way this job is by its one counter; the sum of several workers' tells no place."""
    if progress is None or len(memory.steps) != 1:
        return LOST
    found = way(
        memory.points, progress.total, progress.unit, paused=has_paused(memory.gaps), intervals=memory.intervals
    )
    target = progress.total is None and all(step.rank == EXACT for step in memory.steps.values())
    return replace(found, to_target=target)


def stays(memory: Memory, before: Verdict | None, more: float = 0.0) -> bool:
    """Whether a verdict has the same word still, where only time has passed since, and so many seconds `more`: a
    working job is judged again when it is silent for long enough to be looked at closely, and when patience with it
    ends."""
    hush = memory.hush.get("signs")
    if before is None or hush is None:
        return False
    patience = before.patience or 0.0
    if before.word is Standing.WORKING:
        return hush.seconds + more < (patience if before.silent >= memory.ask_after else memory.ask_after)
    return before.word in OUT_OF_PATIENCE and before.silent >= patience > 0


def _remembered(memory: Memory) -> Verdict | None:
    """The word that stood when the last watcher left."""
    if memory.verdict is None:
        return None
    return Verdict(Standing(memory.verdict["word"]), memory.verdict["since"])


def _quiet(job: Job, memory: Memory) -> dict[str, float]:
    """The signs of life that this job can show, each with the seconds for which it has not."""
    there = {
        "progress": bool(memory.steps),
        "log": bool(memory.logs) or (bool(job.expect.logs) and not memory.log_seen),
        "output": bool(memory.outputs),
        "checkpoint": bool(memory.checkpoints) and not memory.produced.weak,
    }
    return {what: memory.hush_of(what).seconds for what, shown in there.items() if shown}


def _unseen(memory: Memory, news: News, quiet: Mapping[str, float]) -> str:
    """Why its signs of life cannot be seen now, though there were or should be some."""
    if any(what in quiet for what in ("output", "checkpoint")) or memory.logs:
        return ""
    if news.unreadable:
        path, why = next(iter(news.unreadable.items()))
        return f"its log cannot be read: {path}: {why}"
    return "its log is not there any more" if memory.log_seen else ""


def _gpu(told: Any) -> Gpu | None:
    if not isinstance(told, Mapping):
        return None
    percent = told.get("gpu_percent")
    return Gpu(percent) if isinstance(percent, (int, float)) else None


def verdict_document(found: Verdict | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "word": found.word.value,
        "since": stamp(found.since),
        "why": found.why or None,
        "witnesses": [
            {"by": witness.by, "says": witness.says, "quiet_seconds": witness.quiet} for witness in found.witnesses
        ],
        "patience_seconds": None if found.patience is None else round(found.patience, 1),
        "silent_seconds": round(found.silent, 1),
    }
