"""Is the job stuck or slow? The verdict of this tick."""

from __future__ import annotations

from dogwatch.model import Running
from dogwatch.watcher.job.gpu_evidence import hear_gpus
from dogwatch.watcher.job.job_tick import JobTick
from dogwatch.watcher.job.slowdown import behind, compared, count_over, due
from dogwatch.watcher.job.stall import judged, stays
from dogwatch.watcher.job.state.tempo import note_at_work, slow_since


def judge_verdict(tick: JobTick) -> None:
    """Is it stuck? A job that does not run is not asked."""
    if not isinstance(tick.after.state, Running) or tick.suspended:
        tick.watched.verdict = tick.memory.silence.verdict = None
        return
    late, before = tick.job.ref in tick.probe_answer.late, tick.watched.verdict
    if not late:
        _judge_tempo(tick)
    if tick.rests and tick.watched.slow is None and verdict_stays(tick):
        return
    tick.watched.verdict = judged(
        tick.job,
        tick.memory,
        tick.workers,
        tick.news,
        tick.progress,
        tick.watched.verdict,
        tick.at,
        late=f"its files could not be read: {tick.probe_answer.why_late}" if late else "",
        slow=tick.watched.slow,
        gpu=hear_gpus(tick.memory, tick.watched.gpus, tick.mono),
    )
    if before is None or before.word is not tick.watched.verdict.word:
        tick.save, tick.rests = True, False


def verdict_stays(tick: JobTick) -> bool:
    """Whether the verdict has the word that it had, since nothing is new but the time."""
    ref, probe_answer = tick.job.ref, tick.probe_answer
    return (
        ref not in probe_answer.usage_asked
        and ref not in probe_answer.late
        and stays(tick.memory, tick.watched.verdict)
    )


def _judge_tempo(tick: JobTick) -> None:
    """Is it slow, or one of its workers? What was found stands until the next time it is asked."""
    watched = tick.watched
    counted = watched.counts.by_worker if watched.counts is not None else {}
    if not counted and tick.progress is None:
        watched.slow = watched.straggler = None
    elif due(tick.memory, watched.slow_at, tick.mono):
        watched.slow_at = tick.mono
        note_at_work(tick.memory.tempo, count_over(counted, tick.workers), tick.mono)
        watched.slow = slow_since(tick.memory.tempo, tick.memory.progress.points, tick.mono, tick.at)
        watched.straggler = behind(tick.job, tick.memory, counted, tick.workers, tick.mono, tick.at)
        watched.fresh.compared = compared(tick.memory, counted, tick.workers)


def judge_steady(tick: JobTick) -> None:
    """The same of a job that says nothing new; it stays steady unless the verdict has another word now."""
    before = tick.watched.verdict
    if isinstance(tick.after.state, Running) and not verdict_stays(tick):
        judge_verdict(tick)
        word = tick.watched.verdict.word if tick.watched.verdict is not None else None
        if word is not (before.word if before is not None else None):
            tick.steady, tick.save = False, True
