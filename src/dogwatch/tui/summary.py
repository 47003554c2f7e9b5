"""summary(): the closing lines of a job that has ended. Plain text, no terminal needed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dogwatch.results.scores import words as score_words
from dogwatch.tui import phrases, stages, words

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import JobDocument
    from dogwatch.wire.documents.machine import WorkerDocument

_MOST = 32  # lines about workers
_LOG_LINE = re.compile(r" \([^()]*:\d+\)")  # where a worker's own log says it
_MOST_INCIDENTS = 8


def summary(job: JobDocument, now: float) -> list[str]:
    """How it ended and who says so, how long it took, what it made, and what went wrong on the way."""
    facts = [
        *_evidence(job),
        *_reason(job),
        *_where(job, now),
        *_why(job),
        *(("requeued", text) for text in phrases.attempts(job)),
        *stages.rows(job),
        *_items(job),
        *_scores(job),
        *_outputs(job),
        *_checkpoints(job, now),
        *_incidents(job, now),
        *_workers(job),
    ]
    lines = [f"{phrases.title(job)} ({phrases.tidy(job.get('ref') or '?', 120)}): {phrases.state(job, now)}"]
    for label, text in facts:
        lines.append(f"  {label:<12} {text}".rstrip())
    return lines


def _evidence(job: JobDocument) -> list[tuple[str, str]]:
    """The evidence, and what was declared but could not be checked."""
    evidence = job.get("evidence") or ()
    verified = job.get("verified")
    said = [f"{phrases.evidence_source(p)}: {phrases.tidy(p.get('says') or '?')}" for p in evidence]
    alone = job.get("outcome") == "succeeded" and len(said) == 1 and verified is None and not job.get("checks")
    nothing = " (nothing else was declared to be checked)" if alone else ""
    lines = [("evidence", text + nothing) for text in said] or [("evidence", "none")]
    unknown = [check for check in job.get("checks") or () if check["word"] == "unknown"]
    lines += [("not checked", phrases.tidy(check["text"])) for check in unknown]
    if verified is not None:
        label = "verified" if verified.get("ok") else "NOT VERIFIED"
        lines.append((label, phrases.tidy(verified.get("text") or "")))
    return _once(lines)


def _reason(job: JobDocument) -> list[tuple[str, str]]:
    reason = phrases.tidy(job.get("reason") or "")
    return [("reason", reason)] if reason else []


def _where(job: JobDocument, now: float) -> list[tuple[str, str]]:
    """Where it ran, how much of its time limit it took, and what it used of what it had asked for."""
    told = [("node", phrases.where(job)), ("limit", phrases.time_limit(job, now)), ("used", phrases.efficiency(job))]
    return [(label, text) for label, text in told if text]


def _why(job: JobDocument) -> list[tuple[str, str]]:
    """The likeliest cause, the line that shows it best, and the first thing to do."""
    found = job.get("diagnosis")
    if not found:
        return []
    lines = [("why", phrases.diagnosis(found))]
    lines += [("", phrases.quote(quote)) for quote in (found.get("evidence") or ())[:1]]
    if found.get("cause") == "unknown":
        return lines + [("", f"or {phrases.alternative(other)}") for other in found.get("alternatives") or ()]
    return lines + [("do", phrases.tidy(advice, 300)) for advice in (found.get("advice") or ())[:1]]


def _items(job: JobDocument) -> list[tuple[str, str]]:
    progress = job.get("progress")
    if not progress or progress.get("step") is None:
        return []
    text = phrases.counts(progress, phrases.unit(job))
    speed = phrases.throughput(job)
    return [("progress", f"{text}, {speed}" if speed else text)]


def _scores(job: JobDocument) -> list[tuple[str, str]]:
    told = [score_words(score) for score in (job.get("scores") or ())[:_MOST_INCIDENTS]]
    return [("scores", ", ".join(told))] if told else []


def _outputs(job: JobDocument) -> list[tuple[str, str]]:
    files = job.get("outputs") or ()
    if not files:
        return []
    total = words.size(sum(file.get("size") or 0 for file in files))
    name = phrases.base(files[0]["path"]) if len(files) == 1 else words.plural(len(files), "file")
    return [("outputs", f"{name}, {total}")]


def _checkpoints(job: JobDocument, now: float) -> list[tuple[str, str]]:
    found = job.get("checkpoints")
    if not found:
        return []
    newest = f", newest {phrases.base(found['newest'])}" if found.get("newest") else ""
    resume = phrases.resume(found, now)
    lines = [("checkpoints", phrases.checkpoints(found, now, ended=True) + newest)]
    return lines + ([("resume from", resume)] if resume and phrases.is_bad(job) else [])


def _incidents(job: JobDocument, now: float) -> list[tuple[str, str]]:
    said_above = {"all_ended", "not_verified"}  # by the reason, the cause and the checks
    found = [pair for pair in phrases.findings([job]) if pair[1].get("rule") not in said_above]
    lines = [
        (
            f"{words.level(str(finding.get('level')))} {words.clock(finding.get('since'), now)}",
            phrases.finding(finding),
        )
        for _, finding in found[:_MOST_INCIDENTS]
    ]
    if len(found) > _MOST_INCIDENTS:
        lines.append(("", f"and {words.plural(len(found) - _MOST_INCIDENTS, 'more finding')}"))
    return lines


def _workers(job: JobDocument) -> list[tuple[str, str]]:
    """Nothing but a number when every worker succeeded; else a line for those that did not and ended alike."""
    workers = job.get("workers") or ()
    bad = [worker for worker in workers if worker.get("outcome") != "succeeded"]
    if not workers:
        return []
    if not bad:
        return [
            (
                "workers",
                f"all {len(workers)} ended with exit code 0" if len(workers) > 1 else "1 ended with exit code 0",
            )
        ]
    unknown = [worker for worker in bad if worker.get("outcome") in (None, "unknown")]
    lost = f"{len(bad) - len(unknown)} of {len(workers)} did not succeed" if len(bad) > len(unknown) else ""
    ended = f"{len(unknown)} of {len(workers)} ended, exit code unknown" if unknown else ""
    lines = [("workers", "; ".join(filter(None, (lost, ended))))]
    alike: dict[str, list[WorkerDocument]] = {}
    for worker in bad:
        alike.setdefault(_LOG_LINE.sub("", _ending(worker)), []).append(worker)
    groups = list(alike.items())
    lines += [(f"  {_numbers(them)}", _ending(them[0]) if len(them) == 1 else text) for text, them in groups[:_MOST]]
    if len(groups) > _MOST:
        lines.append(("", f"and {sum(len(them) for _, them in groups[_MOST:])} more"))
    return lines


def _numbers(workers: Sequence[WorkerDocument]) -> str:
    """Their numbers, as in 0-3, 7."""
    runs: list[list[int]] = []
    for number in sorted(worker["index"] for worker in workers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _ending(worker: WorkerDocument) -> str:
    outcome = str(worker.get("outcome") or worker.get("doing") or "unknown").replace("_", " ")
    how, why = phrases.exit_words(worker), phrases.tidy(worker.get("reason") or "")
    parts = [phrases.tidy(outcome, 24), "" if how in why else how, why]
    return ": ".join(part for part in parts if part)


def _once(lines: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """A label is said once; the lines below it carry on."""
    return [(label if not at or lines[at - 1][0] != label else "", text) for at, (label, text) in enumerate(lines)]
