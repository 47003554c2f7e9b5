"""One job in one tick, from its files to what is concluded of it."""

from __future__ import annotations

from dogwatch.estimate.series import rates
from dogwatch.model import Ended, Eta, Progress, Running, Waiting
from dogwatch.sources import kind_of
from dogwatch.watcher.job import attempts, launch
from dogwatch.watcher.job.counting import count
from dogwatch.watcher.job.end import end_job, launch_events
from dogwatch.watcher.job.error_groups import count_errors
from dogwatch.watcher.job.eta import good_for, outlook
from dogwatch.watcher.job.events import begins
from dogwatch.watcher.job.file_checks import take_in
from dogwatch.watcher.job.freshness import hear
from dogwatch.watcher.job.gpus import take_gpus
from dogwatch.watcher.job.job_tick import JobTick
from dogwatch.watcher.job.memory_checks import with_trees
from dogwatch.watcher.job.read_files import (
    OTHER_CLOCKS,
    OTHERS,
    Beginning,
    Readers,
    is_quiet,
    pass_quietly,
    pass_time,
    read_files,
    read_last_lines,
    read_logs,
)
from dogwatch.watcher.job.resources import add_up, sampled
from dogwatch.watcher.job.state.learnt import NOTHING
from dogwatch.watcher.job.state.log import names
from dogwatch.watcher.job.state.progress import counted_at, recall, remember
from dogwatch.watcher.job.state.usage import take_usage
from dogwatch.watcher.job.unchanged import is_at_rest, is_told, must_save
from dogwatch.watcher.job.verdict import judge_steady, judge_verdict
from dogwatch.watcher.job.worker_ends import OVER, with_ends, with_own_logs


def update_job(tick: JobTick) -> None:
    """One job in one tick: read → count → estimate → judge → conclude. One of which nothing is new is passed over."""
    if tick.idle:
        return _pass_idle(tick)
    if tick.steady:
        pass_quietly(tick.memory, tick.watched_for)
        return judge_steady(tick)
    _begin_attempt(tick)
    _read(tick)
    reached = _reached(tick)
    tick.progress = _count(tick)
    _pass_time(tick, reached)
    _measure(tick)
    _see_rest(tick)
    tick.eta = _estimate(tick)
    hear(tick.watched, tick.news, tick.progress, tick.workers, tick.mono)
    judge_verdict(tick)
    tick.workers = with_ends(tick.workers, tick.watched, tick.job, tick.progress, news=tick.news.log_grew)
    if isinstance(tick.after.state, Ended):
        end_job(tick)
    if launch.is_open(tick.memory):
        tick.launched = launch_events(tick)


def _begin_attempt(tick: JobTick) -> None:
    """Where another attempt begins, or another part of the work, what the one before has shown is put away."""
    change = tick.change
    if tick.new_part:
        tick.memory.begin_part(tick.at)
        tick.watched.readers = Readers(tick.watched.readers.patterns, tick.memory)
        tick.watched.counts = tick.watched.progress = tick.watched.eta = None
    if change is None:
        return
    if tick.anew:
        tick.watched.readers.begin_attempt()
        attempts.end(tick.memory, change)
    if begins(change):
        tick.memory.begin(tick.at)
    if attempts.are_due(tick.memory, change):
        # What came between its queueing and this was said by whoever wrote there before it.
        tick.watched.readers.begin_attempt()
        attempts.begin(tick.memory, tick.after.attempts, tick.started, tick.at)


def _read(tick: JobTick) -> None:
    """Take in what its logs and files say that is new."""
    ref, memory = tick.job.ref, tick.memory
    for answer in tick.probe_answer.logs.get(ref, ()):
        read_logs(memory, tick.watched.readers, answer, tick.news, _beginning(tick))
    read_last_lines(memory, tick.watched.readers, _logs_at_end(tick), tick.news)
    count_errors(memory, tick.news.troubles, tick.at)
    if ref in tick.probe_answer.files:
        read_files(memory, tick.probe_answer.files[ref], tick.mono, tick.news)
    if not is_quiet(tick.news):
        tick.watched.heard = tick.mono
    elif tick.change is None and tick.job.track is tick.watched.job.track:
        tick.save = must_save(tick.watched, tick.mono)


def _logs_at_end(tick: JobTick) -> set[str]:
    """The logs of workers that have ended; all of them once the job has."""
    if isinstance(tick.after.state, Ended):
        return names(tick.memory.log)
    over = [worker for worker in tick.workers if worker.doing in OVER and worker.outcome is not None]
    own = with_own_logs(tick.workers, tick.memory, tick.job) if over else ()
    return {log for worker in own if worker.doing in OVER for log in worker.logs} & names(tick.memory.log)


def _reached(tick: JobTick) -> float | None:
    """Where its counter stands."""
    points = tick.memory.progress.points
    return points[-1].done if points else None


def _pass_time(tick: JobTick, before: float | None) -> None:
    """Run the silence clocks; `before` is where the counter stood in the poll before."""
    ref, memory, answer = tick.job.ref, tick.memory, tick.probe_answer
    reached = _reached(tick)
    counted = reached is not None and reached != before
    # A filesystem that did not answer leaves the silence clocks standing: that silence is ours.
    pass_time(memory, 0.0 if ref in answer.late else tick.watched_for, tick.news, tick.job, counted, tick.at)
    running = isinstance(tick.after.state, Running)
    take_in(memory, answer, ref, watched=tick.watched_for, step=before, running=running, new_attempt=tick.anew)


def _measure(tick: JobTick) -> None:
    """Take in what its processes and GPUs use."""
    ref, watched, answer = tick.job.ref, tick.watched, tick.probe_answer
    if ref in answer.usage_asked:
        take_usage(tick.memory.usage, answer.usage.get(ref), tick.mono)
    take_gpus(watched, tick.job, tick.workers, answer.gpus, tick.started, tick.mono, tick.at)
    tick.sample = sampled(answer.learnt.get(ref, NOTHING).gpu, watched.gpus if answer.gpus is not None else ())
    add_up(tick.memory.spent, tick.memory.age, tick.mono, tick.workers, tick.sample)


def _pass_idle(tick: JobTick) -> None:
    """Of an idle job, what moves with every poll: what its processes hold, how long its counter has stood, and how
    old what was read of its GPUs is. Its verdict, tempo and launch are not due."""
    pass_quietly(tick.memory, tick.watched_for)
    watched, memory, observation = tick.watched, tick.memory, tick.observation
    tick.workers = with_trees(observation.workers if observation is not None else (), memory, tick.mono)
    tick.workers = with_ends(tick.workers, watched, tick.job, watched.progress, news=False)
    add_up(memory.spent, memory.age, tick.mono, tick.workers, None)
    take_gpus(watched, tick.job, tick.workers, None, tick.started, tick.mono, tick.at)
    if watched.counts is not None and watched.counts.whole is not None:
        watched.counts.until = tick.mono
        remember(memory.progress, tick.mono, watched.counts.whole)
    tick.rests, tick.stands, tick.progress = True, True, watched.progress
    tick.eta = _estimate(tick)


def _beginning(tick: JobTick) -> Beginning | None:
    """When the attempt began, if anybody knows."""
    if tick.started is None:
        waits = isinstance(tick.after.state, Waiting) and not any(row["ended"] for row in tick.memory.attempts)
        return Beginning(tick.at, tick.at, waits=True) if waits else None
    writes_from = tick.started - (OTHERS if tick.workers else OTHER_CLOCKS)
    alone = kind_of(tick.job.source).has_log_of_its_own(tick.job)
    return Beginning(tick.started, writes_from, tick.anew, tick.job.id if alone else "")


def _see_rest(tick: JobTick) -> None:
    """See whether it is at rest: silent for a while, and told of not long ago."""
    watched, same = tick.watched, tick.job.track is tick.watched.job.track and tick.change is None
    if same and is_quiet(tick.news) and is_told(watched, tick.mono):
        tick.rests = is_at_rest(watched, tick.after, tick.workers, tick.probe_answer)
    if tick.rests:
        tick.described = watched.described


def _count(tick: JobTick) -> Progress | None:
    before, anew = tick.watched.counts, tick.change is not None
    tasks = tick.memory.facts.tasks
    counts = tick.watched.counts = count(tick.memory, tick.news, tick.job, tick.mono, before, anew=anew, tasks=tasks)
    tick.stands = counts is before
    whole = counts.whole
    if whole is None:
        return None
    mono = counted_at(tick.memory.progress, tick.after.state, tick.at - tick.probe_answer.skew, tick.mono)
    if (
        tick.news.steps
        or not tick.memory.progress.points
        or (tasks and whole.done != tick.memory.progress.points[-1].done)
    ):
        recall(tick.memory.progress, tick.news.told, tick.news.ages(tick.at), whole, tick.mono)
        remember(tick.memory.progress, mono, whole)
    rate, average = rates(tick.memory.progress.points, mono)
    return Progress(whole.done, whole.total, whole.unit, rate, average, tick.at)


def _estimate(tick: JobTick) -> Eta | None:
    """The estimate; one that is still good, less the time that has passed since."""
    if tick.progress is None or tick.progress.is_too_much or not isinstance(tick.after.state, Running):
        return None
    watched, passed = tick.watched, tick.mono - tick.watched.eta_at
    if not tick.rests and not 0 <= passed < good_for(watched.eta, stands=tick.stands):
        watched.eta, watched.eta_at = outlook(tick.memory, tick.progress, tick.mono, tick.job), tick.mono
    if watched.eta is None or watched.eta_at == tick.mono:
        return watched.eta
    left, low, high = (max(0.0, each - passed) for each in (watched.eta.remaining, watched.eta.low, watched.eta.high))
    return Eta(left, low, high, watched.eta.confidence)
