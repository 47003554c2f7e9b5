"""The final outcome of a job that has ended, from what the place said, the final checks and its logs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from dogwatch.logs.interface import INNER
from dogwatch.model import (
    Ended,
    EndEvidence,
    Evidence,
    Found,
    Job,
    Known,
    LogEnd,
    Outcome,
    Progress,
    Step,
    Word,
    final_outcome,
    final_reason,
)
from dogwatch.rules.interface import Check
from dogwatch.watcher.job.final_checks import FAILED, PASSED, PENDING, Final, short_of
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.read_files import News
from dogwatch.watcher.job.worker_logs import keys, listed_logs, merged

if TYPE_CHECKING:
    from dogwatch.wire.documents.diagnosis import DiagnosisDocument

# Which part of the evidence a check belongs to.
PARTS = {"items": "items", "checkpoint": "checkpoints", "workers": "workers"}
PARTS_IN_ORDER = ("items", "outputs", "checkpoints", "workers")
# How much of a total may lack that was only not reported: a part of it, or one stride from report to report, which is
# hardly longer than a part either, a smaller one where there are many.
SHORT, STRIDE, LONG_STRIDE, MANY = 0.01, 0.05, 0.25, 40


def concluded(
    job: Job,
    memory: Memory,
    progress: Progress | None,
    news: News,
    after: Known,
    checks: Sequence[Check],
    failure: DiagnosisDocument | None,
) -> Known:
    """The ending with its final outcome, as far as that is decided; once decided it stays. `failure` is what its
    logs show of an error that ended it, by themselves."""
    state = after.state
    if not isinstance(state, Ended) or after.final is not None:
        return after
    log, text = _log_end(job, memory, progress, news, after, failure)
    items, outputs, checkpoints, workers = (_part(part, checks) for part in PARTS_IN_ORDER)
    is_at_total = log is LogEnd.FINISHED and progress is not None and (progress.fraction or 0.0) >= 1 - SHORT
    doubt = "" if is_at_total else memory.facts.contradiction
    evidence = EndEvidence(items, outputs, checkpoints, workers, log, text, doubt)
    outcome = final_outcome(state.outcome, evidence)
    if outcome is None:
        return after
    return replace(after, final=outcome, why=final_reason(state, outcome, evidence))


def with_evidence(after: Known, final: Final, news: News, at: float, *, new: bool) -> Known:
    """What else vouches for an ending: what is left of it and, where nobody knows how it ended, its log's claim."""
    more, state = [], after.state
    verified = final.verified
    if verified is not None and verified.ok:
        more.append(Evidence("outputs and counters", verified.text, at))
    if news.finished is not None and isinstance(state, Ended) and state.outcome is Outcome.UNKNOWN:
        more.append(Evidence("log", f"it says: {news.finished.text}", at))
    return replace(after, evidence=(*after.evidence, *more)) if more and (new or final.late) else after


def _part(part: str, checks: Sequence[Check]) -> Found:
    """What the checks of one declared thing found together: the worst of them, in its own words."""
    own = [check for check in checks if PARTS.get(check.what, "outputs") == part]
    if not own:
        return Found()
    for word, which_job in ((FAILED, Word.MISSING), (PENDING, Word.CHECKING)):
        if bad := [check.text for check in own if check.word == word]:
            return Found(which_job, "; ".join(bad))
    open_ = [check.text for check in own if check.word != PASSED]
    if open_:
        return Found(Word.UNKNOWN, "; ".join(open_))
    return Found(Word.THERE, "; ".join(check.text for check in own))


def _log_end(
    job: Job, memory: Memory, progress: Progress | None, news: News, after: Known, failure: DiagnosisDocument | None
) -> tuple[LogEnd, str]:
    """How its logs end, and the words for it. An exit status that is known needs more to be contradicted."""
    state = after.state
    unknown = isinstance(state, Ended) and state.outcome is Outcome.UNKNOWN
    if failure is not None and (unknown or not news.finished):
        return LogEnd.FAILED, error_words(failure)
    against = _stopped_short(job, memory, progress, news) if unknown else ""
    against = against or short_of(job, memory, progress, news.finished, after)
    if against:
        return LogEnd.CONTRADICTS, against
    if unknown and progress is not None and progress.is_too_much:
        return LogEnd.CONTRADICTS, f"its logs count {_counted(progress)}, more than there are"
    done = _finished(job, memory, news)
    return (LogEnd.FINISHED, done) if done else (LogEnd.SILENT, "")


def error_words(failure: DiagnosisDocument) -> str:
    """The line that shows the error, or what it means."""
    quote = next((one for one in failure["evidence"] if one["file"]), None)
    return str(quote["text"] if quote is not None else failure["title"])


def _stopped_short(job: Job, memory: Memory, progress: Progress | None, news: News) -> str:
    """Of a job whose exit nobody recorded: a log of it counted up to a total, stopped before, and does not say why."""
    if progress is None or memory.log.may_stop or not memory.progress.points:
        return ""
    for worker, end in memory.workers.ends.items():
        if end.short and not progress.total:
            return f"worker {worker}: {end.words}"
    done = [0.0, *(point.done for point in memory.progress.points)]
    stride = min((later - earlier for earlier, later in pairwise(done) if later > earlier), default=0.0)
    listed = listed_logs(job)
    for log, step in merged(
        memory.progress.steps, listed, job.expect.workers, items=bool(job.expect.total_items)
    ).items():
        total = step.total or 0.0
        usual = min(stride, max(1.0, (STRIDE if total >= MANY else LONG_STRIDE) * total))
        if log not in news.claims and total - step.done > max(SHORT * total, usual):
            return f"its log stops at {step.done:,.0f} of {total:,.0f} {step.unit}"
    return ""


def _finished(job: Job, memory: Memory, news: News) -> str:
    """What every log that counts says of its end: its words that the work is done, or a counter at its total."""
    listed = listed_logs(job)
    streams: dict[Hashable, str] = {}
    for log, key in keys({**memory.progress.steps, **dict.fromkeys(news.claims)}, listed, job.expect.workers).items():
        told = news.claims.get(log) or _arrived(memory, memory.progress.steps.get(log))
        streams[key] = streams.get(key) or told
    said = [*streams.values()]
    enough = len(said) >= min(job.expect.workers or 1, len(memory.log.cursors))
    return f"its log says: {said[0]}" if said and enough and all(said) else ""


def _arrived(memory: Memory, step: Step | None) -> str:
    """The counter of the whole run at its total; a bar that began again counts parts of it."""
    if step is None or not step.total or step.done < step.total or step.rank < INNER:
        return ""
    again = any(later.done < earlier.done for earlier, later in pairwise(memory.progress.points))
    return "" if step.rank == INNER and again else f"{step.done:,.0f} of {step.total:,.0f} {step.unit}"


def _counted(progress: Progress) -> str:
    return f"{progress.step:,.0f} of {progress.total or 0:,.0f} {progress.unit}"
