"""Is it stuck? One verdict from all the evidence there is; pure.

What each kind of evidence is worth:

- The counter, new bytes in the log, an output that grows, a checkpoint that appears or changes: activity. One of them
  within the job's own silence limit is work, whatever the others do: a log that is flushed by the block does not
  change for minutes while a checkpoint grows.
- Bytes that the processes read and write, or GPU power near what this job usually draws on GPUs that have their lulls:
  work that shows nowhere else. For as long as they last, the job is silent but busy. A trickle proves nothing: loggers
  and heartbeats write while the work hangs.
- CPU time and GPU utilisation: nothing. A hung collective spins, with a full core for each process and every GPU at
  100 %, for ever; and a silence limit that is long enough for jobs whose processes nobody can see is long enough for
  these.
- No CPU and no bytes at all, from processes that usually compute: strong, because a job that loads, compiles,
  validates or saves is not asleep. Then the silence limit is shorter. A launcher that always slept (its work is done on
  another machine) shows nothing by sleeping.
- GPUs that are all fully busy and all far below the power that this job usually draws: a kernel that waits for
  another rank, which is what a hung collective looks like. One rank that validates while the others wait draws its
  power.
- The log alone, before it has counted anything: nothing for hours. What trains in silence until its first epoch ends
  looks like what hangs, and nobody can tell.
- Every process stopped by a signal: evidence. It moves again when somebody continues it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dogwatch.clock import stamp
from dogwatch.estimate.last_lines import Lines
from dogwatch.estimate.milestones import COUNTED, UNKNOWN_POSITION, Position, RunPosition
from dogwatch.estimate.silence_limit import SAFETY, STEADY, Gaps, kind_of, silence_limit
from dogwatch.model import StallEvidence, StallState, Verdict

# Bytes a second: from here on it is work, and up to here it is nothing.
WORK, TRICKLE = 32_768.0, 4096.0
# Cores: busy, and asleep. Below the last, over its life, a process is a launcher or waits for another.
BUSY, ASLEEP, COMPUTES = 0.3, 0.02, 0.1
GPU_BUSY, GPU_IDLE, POWER_SHARE = 50.0, 5.0, 0.6
GPU_FULL, WAITING_SHARE = 90.0, 0.5
GPU_PINNED = 99.5
LONG_ENOUGH = 60.0  # seconds over which sleep must be seen, less where the silence limit is short
STOPPED = 60.0
SERVING = "serving"
# A counter that stands: after so many moves, which an epoch of an hour has to make first, and while nothing else is
# announced.
COUNTER_LIMIT, COUNTER_SAFETY, COUNTER_MOVES = 1800.0, 3.0, 5
# A job whose counter has never moved is not called stalled by its log alone before this: the first epoch of a log that
# tells of epochs only takes an hour and a half as easily as a minute.
UNTOLD = 3 * 3600.0
_FARTHEST = RunPosition(Position.BETWEEN, 1.0)  # from any milestone: there the silence limit is shortest


@dataclass(frozen=True, slots=True)
class Usage:
    """What all processes of a job used over the last `over` seconds: cores and bytes a second (None where it may
    not be read), how many there are and how many hang in the kernel; `usual` is the cores over their whole life."""

    over: float
    cores: float
    bytes: float | None
    processes: int
    blocked: int = 0
    usual: float | None = None


@dataclass(frozen=True, slots=True)
class Gpu:
    """What the GPUs of a job showed lately, as far as is known: how busy they are on average, what they draw in
    all and usually; the largest `share` of its usual power that one of them draws, and how busy the `lowest` was all
    the time."""

    percent: float | None = None
    watts: float | None = None
    usual_watts: float | None = None
    share: float | None = None
    lowest: float | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A running job as one poll left it. `quiet` holds, by kind of activity, the seconds of watching since it moved;
    `asking` is true while the processes have been asked what they use and have not shown it yet."""

    at: float
    quiet: Mapping[str, float]
    silent: float
    moved_at: float
    phase: str
    gaps: Mapping[str, Gaps]
    counter: Gaps = field(default_factory=Gaps)
    limit: float | None = None
    usage: Usage | None = None
    asking: bool = False
    gpu: Gpu | None = None
    stopped: bool = False
    slow_since: float | None = None
    slow_why: str = ""
    unseen: str = ""
    says: Mapping[str, str] = field(default_factory=dict)
    where: RunPosition = UNKNOWN_POSITION
    lines: Lines = field(default_factory=Lines)


def allowed(e: Evidence, *, asleep: bool = False) -> float:
    """Seconds of silence that are no news of this job now."""
    return silence_limit(e.gaps, e.phase, e.limit, asleep=asleep, where=e.where, lines=e.lines)


def verdict(evidence: Evidence, before: Verdict | None = None) -> Verdict:
    """The one word, with the evidence it rests on; `before` is the last one, which keeps its beginning while
    its word holds, and stands when this poll could not ask."""
    allowed_silence = allowed(evidence, asleep=asleep(evidence))
    word, since, why = _judged(evidence, before, allowed_silence)
    if before is not None and before.word is word:
        since = before.since
    silent = evidence.quiet["progress"] if stands_past_limit(evidence) else evidence.silent
    return Verdict(word, since, _evidence(evidence), allowed_silence, silent, why)


def _judged(e: Evidence, before: Verdict | None, allowed_silence: float) -> tuple[StallState, float, str]:
    if e.unseen:
        if before is not None and before.word is not StallState.WORKING:
            return before.word, before.since, before.why
        return StallState.CANNOT_TELL, e.at, e.unseen
    if not e.quiet and e.limit is None:
        return StallState.CANNOT_TELL, e.at, "no log, output, checkpoint or counter to judge progress by"
    if e.stopped and e.silent >= min(STOPPED, allowed(e)):
        return StallState.STALLED, e.moved_at, "all its processes are stopped (SIGSTOP)"
    if e.silent < allowed_silence:
        return _moving(e)
    if e.phase == SERVING and e.limit is None:
        return StallState.CANNOT_TELL, e.at, "a server is silent when it gets no requests"
    if e.asking:
        stays = before is not None and before.word in (StallState.STALLED, StallState.SILENT_BUT_BUSY)
        return (before.word, before.since, before.why) if before is not None and stays else _moving(e)
    return _silent(e, allowed_silence)


def _moving(e: Evidence) -> tuple[StallState, float, str]:
    """It is active often enough; but does it make progress?"""
    if stands_past_limit(e):
        since = e.at - e.quiet["progress"]
        why = f"its progress counter has not moved since {moment(since)} (limit: {span(e.limit or 0.0)})"
        return StallState.STALLED, since, f"{why}, although its log is still being written"
    if e.slow_since is not None:
        return StallState.SLOW, e.slow_since, e.slow_why
    stands, known = e.quiet.get("progress", 0.0), is_steady_work(e.phase) and e.counter.count >= COUNTER_MOVES
    if known and stands - e.silent >= max(COUNTER_LIMIT, COUNTER_SAFETY * e.counter.longest):
        since = e.at - stands
        why = f"its progress counter has not moved since {moment(since)} while its log or files still change"
        return StallState.SLOW, since, why
    return StallState.WORKING, e.at, ""


def stands_past_limit(e: Evidence) -> bool:
    """Whether the counter of a job whose owner set a limit has stood for longer, while at most its log moved."""
    if e.limit is None or e.counter.count < COUNTER_MOVES or not is_steady_work(e.phase):
        return False
    made = [e.quiet[what] for what in ("progress", "output", "checkpoint") if what in e.quiet]
    return "progress" in e.quiet and stands_too_long(min(made), e.counter, e.limit)


def is_steady_work(phase: str) -> bool:
    """Whether a phase is the job's steady work, whatever it calls that; no pause that its log announced."""
    return kind_of(phase) == STEADY and phase != SERVING


def stands_too_long(quiet: float, counter: Gaps, allowed_silence: float) -> bool:
    """Whether a counter has stood for longer than the job's silence limit, and than its own moves explain."""
    return quiet >= max(allowed_silence, SAFETY * counter.longest)


def _silent(e: Evidence, allowed_silence: float) -> tuple[StallState, float, str]:
    """Nothing has moved for longer than this job's own pauses explain: do its processes work?"""
    sentence = f"no progress, log or file activity since {moment(e.moved_at)} ({_because(e, allowed_silence)})"
    if e.usage is not None and e.usage.bytes is not None and e.usage.bytes >= WORK:
        return StallState.SILENT_BUT_BUSY, e.moved_at, f"{sentence}, but its processes read and write"
    gpu = e.gpu or Gpu()
    if (share := power_share(gpu)) is not None and share >= POWER_SHARE and not pinned(gpu):
        return StallState.SILENT_BUT_BUSY, e.moved_at, f"{sentence}, but its GPUs draw as much power as usual"
    if pinned(gpu) and not waits(gpu):
        why = "all its GPUs stay at exactly 100 %, as in a hung kernel or collective"
        return StallState.STALLED, e.moved_at, f"{sentence}; {why}"
    if waits(gpu):
        why = f"all its GPUs are busy at {share or 0:.0%} of their usual power or less, as in a hung collective"
        return StallState.STALLED, e.moved_at, f"{sentence}; {why}"
    if spins(e):
        idle = gpu.percent is not None and gpu.percent <= GPU_IDLE
        why = (
            "its processes use the CPU while its GPUs are idle"
            if idle
            else "it uses the CPU or GPU, but a hung collective does that too"
        )
        return StallState.STALLED, e.moved_at, f"{sentence}; {why}"
    if asleep(e):
        return StallState.STALLED, e.moved_at, f"{sentence}, and its processes are idle"
    if e.limit is None and e.silent < UNTOLD and has_hardly_begun(e):
        return StallState.CANNOT_TELL, e.at, f"{sentence}, but it started recently and only its files can be seen"
    return StallState.STALLED, e.moved_at, sentence


def _because(e: Evidence, limit: float) -> str:
    if e.limit is not None and limit >= e.limit:
        return f"limit: {span(e.limit)}"
    return f"its longest pause before: {span(max((gaps.longest for gaps in e.gaps.values()), default=0.0))}"


def has_hardly_begun(e: Evidence) -> bool:
    """Whether a job that shows nothing but its files has not yet shown how it goes: a log that tells nothing before its
    first epoch ends looks like one that hangs."""
    seen = sum(gaps.count for gaps in e.gaps.values())
    return e.usage is None and e.gpu is None and not e.counter.count and seen < COUNTED


def power_share(gpu: Gpu) -> float | None:
    """Of its usual power, what the GPU that works most draws; or all together, where that is all that is known."""
    if gpu.share is not None:
        return gpu.share
    return gpu.watts / gpu.usual_watts if gpu.watts is not None and gpu.usual_watts else None


def waits(gpu: Gpu) -> bool:
    """Whether every GPU has been fully busy for several readings, and none at more than half of its usual power."""
    return gpu.lowest is not None and gpu.lowest >= GPU_FULL and gpu.share is not None and gpu.share <= WAITING_SHARE


def pinned(gpu: Gpu) -> bool:
    """Whether every GPU was at 100 % in each of several readings: a kernel that never returns looks like that, while
    work has its lulls."""
    return gpu.lowest is not None and gpu.lowest >= GPU_PINNED


def spins(e: Evidence) -> bool:
    """Whether it uses CPU or GPU; which a hung job may do as well."""
    cores = e.usage is not None and e.usage.cores >= BUSY
    return cores or (e.gpu is not None and e.gpu.percent is not None and e.gpu.percent >= GPU_BUSY)


def asleep(e: Evidence) -> bool:
    """Whether processes that usually compute were seen to do nothing at all, for long enough to mean it; GPUs that all
    only wait for another are no better."""
    usage, gpu = e.usage, e.gpu or Gpu()
    if waits(gpu):
        return True
    if usage is None or usage.cores > ASLEEP or (usage.bytes or 0.0) > TRICKLE:
        return False
    if usage.usual is None or usage.usual < COMPUTES or (gpu.percent or 0.0) > GPU_IDLE:
        return False
    return usage.over >= min(LONG_ENOUGH, 0.25 * allowed(e))


def ask_after(gaps: Mapping[str, Gaps], phase: str, limit: float | None, lines: Lines) -> float:
    """The seconds of silence from which on it is worth asking what the processes use, and at which position the job is:
    until then the silence limit holds at every position."""
    return 0.5 * min(
        silence_limit(gaps, phase, limit, asleep=True, where=where, lines=lines)
        for where in (_FARTHEST, UNKNOWN_POSITION)
    )


def _evidence(e: Evidence) -> tuple[StallEvidence, ...]:
    """Everything that was asked, activity first."""
    evidence = [StallEvidence(by, e.says.get(by) or _unmoved(quiet), round(quiet, 1)) for by, quiet in e.quiet.items()]
    if e.usage is not None:
        evidence.append(StallEvidence("processes", _usage(e.usage)))
    if e.stopped:
        evidence.append(StallEvidence("process table", "all processes are stopped"))
    if e.gpu is not None and e.gpu.percent is not None:
        power = f", {e.gpu.watts:.0f} W" if e.gpu.watts is not None else ""
        evidence.append(StallEvidence("gpu", f"{e.gpu.percent:.0f} % busy{power}", percent=e.gpu.percent))
    return tuple(evidence)


def _unmoved(quiet: float) -> str:
    return "moves" if quiet <= 0 else f"has not moved for {span(quiet)}"


def _usage(usage: Usage) -> str:
    moved = "bytes may not be read" if usage.bytes is None else f"{usage.bytes / 1000:.1f} kB/s read and written"
    hung = f", {usage.blocked} in uninterruptible sleep" if usage.blocked else ""
    many = f"{usage.processes} process{'' if usage.processes == 1 else 'es'}"
    return f"{many}, {usage.cores:.2f} cores and {moved} over {span(usage.over)}{hung}"


def moment(at: float) -> str:
    """A time in a text that stays the same from poll to poll."""
    return (stamp(at) or "?")[:19].replace("T", " ") + " UTC"


def span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
