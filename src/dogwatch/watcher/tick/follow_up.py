"""Follow-up: one more request for everything that is wanted of jobs that have ended.

Whatever ends in a tick, and however many, the place is asked once more and not again: for the rest of their logs, their
scores, whether their files are whole, what their GPUs said last, and the log tails of their diagnostics bundles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dogwatch.model import Answered, Ended, Job, Known, Outcome
from dogwatch.transport.interface import Answer, Transport
from dogwatch.transport.log_tails import BYTES as TAIL_BYTES
from dogwatch.transport.log_tails import MOST_LOGS, tails
from dogwatch.watcher.job import final_integrity, scores
from dogwatch.watcher.job.folders import real_of
from dogwatch.watcher.job.gpus import with_last
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.probe_answer import ProbeAnswer, with_learnt, with_logs
from dogwatch.watcher.job.state.learnt import NOTHING, Learnt

MOST_OF_A_LOG = 16 << 20
FIRST_SIGHT = 1 << 20  # of a log that nobody knew of before
LEAST_OF_A_LOG = 64 << 10
BUDGET = 3  # times what a poll may bring
# Many jobs that fail together most likely fail for one reason: the first few tell it.
MOST_BUNDLES = 8
# Whoever cancelled or preempted a job knows why.
NO_BUNDLE = (Outcome.CANCELLED, Outcome.PREEMPTED)


@dataclass(frozen=True, slots=True)
class FollowUp:
    """What is wanted of the jobs that have just ended (`over`) and of those that ended before and whose files were not
    judged yet (`unconfirmed`); `gpus` is the extra probe that asks for them, if any; `learnt` says where their folders
    are."""

    over: Sequence[Job]
    unconfirmed: final_integrity.Question
    bundles: Sequence[Job] = ()
    logs: Mapping[str, Any] = field(default_factory=dict)
    gpus: Mapping[str, Any] = field(default_factory=dict)
    most: int = 0
    learnt: Mapping[str, Learnt] = field(default_factory=dict)

    def request(self) -> dict[str, Any]:
        """One request for all of it; empty where nothing is wanted."""
        logs = {ref: {**spec, **self._real(ref)} for ref, spec in self.logs.items()}
        request: dict[str, Any] = {"logs": logs} if logs else {}
        texts = scores.request(self.over, self.learnt).get("texts") or {}
        told = [job for job in self.bundles if job.expect.logs]
        texts |= {_bundle_key(job.ref): {**tails(job.expect.logs), **self._real(job.ref)} for job in told}
        extra_probes = {**self.unconfirmed.extra_probes(self.learnt), **self.gpus}
        request |= ({"texts": texts} if texts else {}) | ({"extra_probes": extra_probes} if extra_probes else {})
        return request | {"bytes": self.most} if request else {}

    def _real(self, ref: str) -> dict[str, Any]:
        return real_of(self.learnt.get(ref, NOTHING))

    def has_logs(self, answer: Answer) -> bool:
        """Whether it says something of the logs of every job that was asked for."""
        section = answer.body.get("logs")
        return not self.logs or (isinstance(section, dict) and all(ref in section for ref in self.logs))

    def take(self, seen: ProbeAnswer, answer: Answer | None, why: str) -> ProbeAnswer:
        """The probe answer with what the answer brought; `why` says why there is none."""
        body = {} if answer is None else answer.body
        logs = dict(seen.logs)
        section = body.get("logs")
        for ref in self.logs:
            if isinstance(section, dict) and isinstance(section.get(ref), dict):
                logs[ref] = [*logs.get(ref, ()), section[ref]]
        gathered = {job.ref: _bundle_body(job.ref, seen, body, why) for job in self.bundles}
        seen = with_last(replace(seen, logs=logs, gathered=gathered), body)
        return with_learnt(with_learnt(seen, scores.read(body, self.over)), self.unconfirmed.read(body))


def ask(follow_up: FollowUp, transport: Transport, seen: ProbeAnswer, deadline: float) -> tuple[ProbeAnswer, bool]:
    """The probe answer with all that could be had in one request, and whether every log was read that was asked for: a
    place may answer, and its file system not."""
    request = follow_up.request()
    if not request:
        return follow_up.take(seen, None, "nothing to ask"), True
    if "python" in seen.facts and seen.facts["python"] is None:
        return follow_up.take(seen, None, "it has no python3 to read them with"), True
    answer = transport.ask(request, deadline)
    if made := seen.facts.get("connections"):
        seen = replace(seen, facts={**seen.facts, "connections": made + (getattr(answer, "connections", 0) or 1)})
    if isinstance(answer, Answer):
        return follow_up.take(seen, answer, ""), follow_up.has_logs(answer)
    return follow_up.take(seen, None, answer.why), False


def wanted(
    seen: ProbeAnswer,
    look: Answered,
    jobs: Sequence[Job],
    ending: Sequence[str],
    after: Mapping[str, Known],
    memories: Mapping[str, Memory],
    *,
    most: int,
    bundles: bool,
    gpus: Mapping[str, Any],
) -> FollowUp:
    """What is to be asked after a poll in which the jobs `ending` ended; `most` is what a poll may bring now."""
    checked = [job for job in final_integrity.wanted(jobs, after, memories) if job.ref in look.asked]
    over = [_with_told_logs(job, look) for job in _in_order(jobs, ending)]
    unconfirmed = [_with_told_logs(job, look) for job in checked]
    ended = {job.ref: job for job in (*over, *unconfirmed)}
    asked_for = [job for job in ended.values() if bundles and _may_need_bundle(after[job.ref])]
    asked_for = sorted(asked_for, key=lambda job: _is_success(after[job.ref]))[:MOST_BUNDLES]
    budget = BUDGET * most
    reserve = min(budget // 3, sum(TAIL_BYTES * min(MOST_LOGS, len(job.expect.logs)) for job in asked_for))
    learnt = {ref: memories[ref].learnt.with_news(seen.learnt.get(ref, NOTHING)) for ref in ended if ref in memories}
    logs = _logs(seen, over, budget - reserve)
    return FollowUp(over, final_integrity.question(unconfirmed, seen.files), asked_for, logs, gpus, budget, learnt)


def _in_order(jobs: Sequence[Job], refs: Sequence[str]) -> list[Job]:
    """The jobs of these refs, in that order; most polls end none of ten thousand."""
    by_ref = {job.ref: job for job in jobs} if refs else {}
    return [by_ref[ref] for ref in refs if ref in by_ref]


def _with_told_logs(job: Job, look: Answered) -> Job:
    """The job with the logs that this poll named, where nobody knew of any before."""
    observation = look.observations.get(job.ref)
    facts = None if observation is None else observation.facts
    return job if facts is None else with_logs(job, Memory(facts=facts))


def _logs(seen: ProbeAnswer, over: Sequence[Job], budget: int) -> dict[str, Any]:
    """The logs that the poll did not know of, and those of which there is more than it read. Each gets its share of the
    budget, the short ones first; of one that is longer than its share the end is read, and what is left out is told."""
    behind = {job.ref: _behind(seen.logs[job.ref][-1]) for job in over if job.ref in seen.logs}
    needs = {(ref, path): row["size"] - row["offset"] for ref, files in behind.items() for path, row in files.items()}
    unread = [job for job in over if job.ref not in seen.logs and job.expect.logs]
    needs |= {(job.ref, path): FIRST_SIGHT for job in unread for path in job.expect.logs}
    shares: dict[str, int] = {}
    for at, ((ref, _), need) in enumerate(sorted(needs.items(), key=lambda one: one[1])):
        share = max(LEAST_OF_A_LOG, min(need, MOST_OF_A_LOG, budget // (len(needs) - at)))
        budget = max(0, budget - share)
        shares[ref] = max(shares.get(ref, 0), share)
    asked = {ref: {"globs": sorted(files), "known": _known(files)} for ref, files in behind.items() if files}
    asked |= {job.ref: {"globs": list(job.expect.logs), "known": {}} for job in unread}
    return {ref: {**spec, "max": shares[ref], "last": True} for ref, spec in asked.items()}


def _behind(answer: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The files of which there is more than was read, each known as far as it was."""
    return {
        path: {**{key: found[key] for key in ("dev", "ino", "head", "headlen", "size")}, "offset": _end(found)}
        for path, found in answer.get("files", {}).items()
        if not found.get("stale") and _end(found) < found["size"]
    }


def _known(files: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {path: {key: value for key, value in row.items() if key != "size"} for path, row in files.items()}


def _end(found: Mapping[str, Any]) -> int:
    return int(found["from"]) + len(found.get("text", ""))


def _may_need_bundle(known: Known) -> bool:
    """Whether somebody may want to know why: of a success only what is checked next can tell."""
    return isinstance(known.state, Ended) and known.state.outcome not in NO_BUNDLE


def _is_success(known: Known) -> bool:
    return isinstance(known.state, Ended) and known.state.outcome is Outcome.SUCCEEDED


def _bundle_key(ref: str) -> str:
    return f"bundle {ref}"


def _bundle_body(ref: str, seen: ProbeAnswer, body: Mapping[str, Any], why: str) -> dict[str, Any]:
    """What the poll and its follow-up said of a job, in the shape of a probe's answer to a question about it alone."""
    section = body.get("texts")
    texts: dict[str, Any] = {"ok": False, "why": why or "no answer"}
    if isinstance(section, dict):
        row = section.get(_bundle_key(ref))
        texts = {"ok": True, "log": row} if row is not None else {"ok": False, "why": section.get("why") or "no answer"}
    files = seen.files.get(ref)
    listed = {"ok": True, "job": files} if files is not None else {"ok": False, "why": seen.why_late or "no answer"}
    return {**seen.facts, "texts": texts, "files": listed, "disks": {"ok": True, "disks": dict(seen.disks)}}
