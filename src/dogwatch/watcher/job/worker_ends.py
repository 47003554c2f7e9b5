"""Worker ends: what the logs of a worker that has ended say of its end, read in the poll that found it gone: the others
may go on for hours, and nobody recorded how a worker ended that somebody else started."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dogwatch.model import Job, Outcome, Progress, Step, Worker
from dogwatch.text import plain
from dogwatch.watcher.job.log_evidence import LogEvidence
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.no_eta import is_share_done, own_counters, own_share
from dogwatch.watcher.job.read_files import worker_of
from dogwatch.watcher.job.state.log import names
from dogwatch.watcher.job.state.workers import WorkerEnd
from dogwatch.watcher.job.watched import WatchedJob
from dogwatch.watcher.job.worker_logs import listed_logs

if TYPE_CHECKING:
    from dogwatch.wire.documents.diagnosis import DiagnosisDocument

OVER = frozenset({"gone", "zombie"})
MOST_JUDGED = 16  # workers of one job that are gone; the rest say what these say
LONGEST = 300
FURTHER, WENT_ON = 1.5, 1.25  # times its own count that others reached, and theirs when it was found gone


def with_own_logs(workers: Sequence[Worker], memory: Memory, job: Job) -> tuple[Worker, ...]:
    """Each worker with the logs it writes: those it was given or seen to write, else those with its number in their
    name. Logs are counted from 1 where they number as many as the workers do from there."""
    listed = listed_logs(job)
    known = names(memory.log)
    taken = {path for worker in workers for path in (*worker.logs, worker.log)}
    numbered = {path: number for path in sorted(known - taken) if (number := worker_of(path, listed)) is not None}
    first = 1 if set(numbered.values()) == set(range(1, len(workers) + 1)) and len(workers) > 1 else 0
    return tuple(_with_logs(worker, numbered, first) for worker in workers)


def _with_logs(worker: Worker, numbered: Mapping[str, int], first: int) -> Worker:
    if worker.logs:
        return worker
    if worker.log is not None:
        return replace(worker, logs=(worker.log,))
    own = sorted((path for path, number in numbered.items() if number == worker.index + first), key=_plainest)
    return replace(worker, log=own[0], logs=tuple(own)) if own else worker


def _plainest(path: str) -> tuple[int, str]:
    return len(path), path


def with_ends(
    workers: Sequence[Worker], one: WatchedJob, job: Job, progress: Progress | None, *, news: bool
) -> tuple[Worker, ...]:
    """The workers with their logs, those that have ended with what these say of it. It is kept, and read again where
    there is `news`."""
    memory = one.memory
    own = with_own_logs(workers, memory, job) if workers else ()
    over = [worker for worker in own if worker.doing in OVER and worker.outcome is not None][:MOST_JUDGED]
    if not over:
        return own
    shares = own_counters(memory, job)
    ended = {}
    for worker in over:
        kept = memory.workers.ends.get(str(worker.index))
        if kept is None or news:
            logs = {*worker.logs, *(log for log in names(memory.log) if worker_of(log, {}) == worker.index)}
            said = [one.readers.of(log, memory).meaning.reading() for log in logs]
            claims = any(reading.finished is not None and reading.phase == "finished" for reading in said)
            judged = _judged(worker, memory, shares, one.readers.log_evidence, progress)
            kept = memory.workers.ends[str(worker.index)] = _beside_others(worker, judged, kept, shares, claims)
        ended[worker.index] = _ended(worker, kept.words, kept.short, kept.failed)
    return tuple(ended.get(worker.index, worker) for worker in own)


def _ended(worker: Worker, words: str, short: bool | None, failed: bool) -> Worker:
    """What its logs say comes first where nobody recorded how it ended, and second where somebody did."""
    unknown = worker.outcome == Outcome.UNKNOWN
    outcome = Outcome.FAILED if failed and unknown else worker.outcome
    parts = (words,) if failed and unknown else (words, worker.reason) if unknown else (worker.reason, words)
    return replace(worker, outcome=outcome, reason="; ".join(filter(None, parts)), short=short)


def _judged(
    worker: Worker, memory: Memory, shares: Mapping[str, Step], log_evidence: LogEvidence, progress: Progress | None
) -> WorkerEnd:
    """What its logs say of its end, whether it left before its share was done, and whether they show a failure."""
    if worker.outcome == Outcome.SUCCEEDED:
        return WorkerEnd("", None, False)
    step = own_share(shares, worker, progress)
    done = None if step is None or not step.total else is_share_done(memory, worker, step.done, step.total)
    short = None if done is None else not done
    found = log_evidence.of_worker(worker)
    if found is not None and (words := cause_words(found)):
        return WorkerEnd(words, short, True)
    if short and step is not None:
        return WorkerEnd(f"its log stops at {step.done:,.0f} of {step.total or 0:,.0f} {step.unit}", short, False)
    return WorkerEnd("", short, False)


def _beside_others(
    worker: Worker, judged: WorkerEnd, before: WorkerEnd | None, shares: Mapping[str, Step], claims: bool
) -> WorkerEnd:
    """Where no total tells its share: a worker whose log ends with the words that it is done has done it. One that
    stopped counting without a word, while the others went on far beyond, left early; workers that share one queue stop
    at different counts, but all of them at its end."""
    step = shares.get(str(worker.index))
    rest = [
        other.done for index, other in shares.items() if index != str(worker.index) and step and other.unit == step.unit
    ]
    furthest = max(rest, default=None)
    judged = judged._replace(others=before.others if before is not None else furthest)
    if claims and judged.short is None and not judged.failed:
        return judged._replace(short=False)
    if step is None or step.total or judged.failed or furthest is None or judged.others is None:
        return judged
    if furthest < FURTHER * step.done or furthest < WENT_ON * judged.others:
        return judged
    words = f"its log stops at {step.done:,.0f} {step.unit}, another worker went on to {furthest:,.0f}"
    return judged._replace(words=words, short=True)


def cause_words(diagnosis: DiagnosisDocument) -> str:
    """The line that shows why it ended, where it stands, and what that is; nothing where no log shows it."""
    quote = next((one for one in diagnosis["evidence"] if one["file"]), None)
    if quote is None:
        return ""
    where = os.path.basename(quote["file"]) + (f":{quote['line']}" if quote["line"] is not None else "")
    words = f"{plain(quote['text'], LONGEST)} ({where})"
    return words if diagnosis["cause"] == "unknown" else f"{words}; likely {diagnosis['cause']}: {diagnosis['title']}"
