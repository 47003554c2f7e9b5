"""Counting: what the counters in a job's logs say, worker by worker and all together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dogwatch.estimate.series import combine
from dogwatch.model import Job, Step, Tasks
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.read_files import News, worker_of
from dogwatch.watcher.job.state.workers import keep_worker_point
from dogwatch.watcher.job.task_progress import of_tasks
from dogwatch.watcher.job.worker_logs import listed_logs, merged


@dataclass(slots=True)
class Counts:
    """The counters as they were counted at a monotonic time, and until when they were seen to stand so; and what they
    were counted from."""

    whole: Step | None
    by_worker: Mapping[str, Step]
    at: float
    until: float
    said: News | None
    track: object
    total_items: float | None
    tasks: Tasks | None = None


def count(
    memory: Memory,
    news: News,
    job: Job,
    mono: float,
    before: Counts | None,
    *,
    anew: bool,
    tasks: Tasks | None = None,
) -> Counts:
    """Take in what the counters say now, of an array what its `tasks` say too. Where all of it is what it was, nothing
    is counted again, and these are the counts `before`; not so where something else has changed (`anew`)."""
    items = job.expect.total_items
    if before is not None and not anew and are_of(before, news.said, job) and before.tasks == tasks:
        before.until = mono
        return before
    listed = listed_logs(job)
    chosen = news.items if items else {}
    memory.progress.steps.update({path: chosen.get(path, step) for path, step in news.steps.items()})
    told = frozenset(job.track.get("progress") or ())
    exact = {path: step for path, step in memory.progress.steps.items() if path in told}
    streams = merged(exact or memory.progress.steps, listed, job.expect.workers, items=bool(items))
    new = {path: streams[path] for path in news.steps if path in streams}
    by_worker = _by_worker(memory, new, listed, mono, before)
    whole = combine(streams, items)
    if not items and tasks:
        whole = of_tasks(tasks, streams) or whole
    return Counts(whole, by_worker, mono, mono, news.said, job.track, items, tasks)


def are_of(counts: Counts, said: News | None, job: Job) -> bool:
    """Whether they were counted from what the logs still say, for the job as it still is."""
    same = counts.said is not None and counts.said is said
    return same and counts.track is job.track and counts.total_items == job.expect.total_items


def _by_worker(
    memory: Memory, steps: Mapping[str, Step], listed: Mapping[str, int], mono: float, before: Counts | None
) -> dict[str, Step]:
    """The counter of each worker's log, taken into the memory with how fast it went since the last poll."""
    found: dict[str, Step] = {}
    for path, step in steps.items():
        index = worker_of(path, listed)
        if index is None:
            continue
        worker = str(index)
        found[worker] = step
        keep_worker_point(memory.workers, worker, mono, step.done)
        rate = step.rate
        if rate is None and (last := memory.workers.steps.get(worker)):
            since = before.until if before is not None and before.at == last[0] else last[0]
            if mono > since and step.done >= last[1]:
                rate = (step.done - last[1]) / (mono - since)
        memory.workers.steps[worker] = [mono, step.done, *([rate] if rate is not None else [])]
    return found
