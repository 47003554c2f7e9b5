"""Follow-up: one more request for everything that is wanted of jobs that have ended.

Whatever ends in a tick, and however many, the place is asked once more and not again: for the rest of their logs, their
scores, whether their files are whole, what their GPUs said last, and the log tails of their diagnostics bundles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from msgspec import structs, to_builtins

from dogwatch.model import Answered, Ended, Job, Known, Outcome
from dogwatch.transport.interface import Answer, Transport
from dogwatch.transport.log_tails import BYTES as TAIL_BYTES
from dogwatch.transport.log_tails import LINES as TAIL_LINES
from dogwatch.transport.log_tails import MOST_LOGS
from dogwatch.watcher.job import final_integrity, scores
from dogwatch.watcher.job.folders import real_of
from dogwatch.watcher.job.gpus import with_last
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.probe_answer import ProbeAnswer, with_learnt, with_logs
from dogwatch.watcher.job.read_files import cursor
from dogwatch.watcher.job.state.learnt import NOTHING as NOTHING_LEARNT
from dogwatch.watcher.job.state.learnt import Learnt
from dogwatch.wire.answer import CheckedAnswer, Rows
from dogwatch.wire.requests import ExtraProbe, LogRequest, PollRequest, TextRequest
from dogwatch.wire.sections import Disks, Files, LogFile, Logs, Texts

MOST_OF_A_LOG = 16 << 20
FIRST_SIGHT = 1 << 20  # of a log that nobody knew of before
LEAST_OF_A_LOG = 64 << 10
BUDGET = 3  # times what a poll may bring
# Many jobs that fail together most likely fail for one reason: the first few tell it.
MOST_BUNDLES = 8
# Whoever cancelled or preempted a job knows why.
NO_BUNDLE = (Outcome.CANCELLED, Outcome.PREEMPTED)
NOTHING = CheckedAnswer({})


@dataclass(frozen=True, slots=True)
class FollowUp:
    """What is wanted of the jobs that have just ended (`over`) and of those that ended before and whose files were not
    judged yet (`unconfirmed`); `gpus` is the extra probe that asks for them, if any; `learnt` says where their folders
    are."""

    over: Sequence[Job]
    unconfirmed: final_integrity.Question
    bundles: Sequence[Job] = ()
    logs: dict[str, LogRequest] = field(default_factory=dict)
    gpus: Mapping[str, ExtraProbe] = field(default_factory=dict)
    most: int = 0
    learnt: Mapping[str, Learnt] = field(default_factory=dict)

    def request(self) -> PollRequest:
        """One request for all of it."""
        texts = scores.requests(self.over, self.learnt)
        for job in self.bundles:
            if globs := list(job.expect.logs):
                real = real_of(self.learnt.get(job.ref, NOTHING_LEARNT))
                texts[_bundle_key(job.ref)] = TextRequest(globs, MOST_LOGS, TAIL_BYTES, lines=TAIL_LINES, real=real)
        extra_probes = {**self.unconfirmed.extra_probes(self.learnt), **self.gpus}
        return PollRequest(logs=self.logs, texts=texts, extra_probes=extra_probes, bytes=self.most)

    def has_logs(self, answer: Answer) -> bool:
        """Whether it says something of the logs of every job that was asked for."""
        return all(ref in answer.checked.logs.rows for ref in self.logs)

    def take(self, seen: ProbeAnswer, answer: CheckedAnswer, why: str = "") -> ProbeAnswer:
        """The probe answer with what the answer brought; `why` says why that is nothing."""
        logs = dict(seen.logs)
        for ref in self.logs:
            if ref in answer.logs.rows:
                logs[ref] = [*logs.get(ref, ()), answer.logs.rows[ref]]
        gathered = {job.ref: _bundle_answer(job.ref, seen, answer, why) for job in self.bundles}
        seen = with_last(replace(seen, logs=logs, gathered=gathered), answer)
        return with_learnt(with_learnt(seen, scores.read(answer, self.over)), self.unconfirmed.read(answer))


def ask(follow_up: FollowUp, transport: Transport, seen: ProbeAnswer, deadline: float) -> tuple[ProbeAnswer, bool]:
    """The probe answer with all that could be had in one request, and whether every log was read that was asked for: a
    place may answer, and its file system not."""
    request, facts = follow_up.request(), seen.facts
    if request == PollRequest(bytes=follow_up.most):
        return follow_up.take(seen, NOTHING, "nothing to ask"), True
    if facts is not None and facts.python is None:
        return follow_up.take(seen, NOTHING, "it has no python3 to read them with"), True
    answer = transport.ask(to_builtins(request), deadline)
    if facts is not None and facts.connections:
        made = getattr(answer, "connections", 0) or 1
        seen = replace(seen, facts=structs.replace(facts, connections=facts.connections + made))
    if isinstance(answer, Answer):
        return follow_up.take(seen, answer.checked), follow_up.has_logs(answer)
    return follow_up.take(seen, NOTHING, answer.why), False


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
    gpus: Mapping[str, ExtraProbe],
) -> FollowUp:
    """What is to be asked after a poll in which the jobs `ending` ended; `most` is what a poll may bring now."""
    # Where another machine answers in its place, nothing more is asked of a job.
    others = {ref for ref, observed in look.observations.items() if observed.is_other}
    jobs = [job for job in jobs if job.ref not in others] if others else jobs
    checked = [job for job in final_integrity.wanted(jobs, after, memories) if job.ref in look.asked]
    over = [_with_told_logs(job, look) for job in _in_order(jobs, ending)]
    unconfirmed = [_with_told_logs(job, look) for job in checked]
    ended = {job.ref: job for job in (*over, *unconfirmed)}
    asked_for = [job for job in ended.values() if bundles and _may_need_bundle(after[job.ref])]
    asked_for = sorted(asked_for, key=lambda job: _is_success(after[job.ref]))[:MOST_BUNDLES]
    budget = BUDGET * most
    reserve = min(budget // 3, sum(TAIL_BYTES * min(MOST_LOGS, len(job.expect.logs)) for job in asked_for))
    learnt = {
        ref: memories[ref].learnt.with_news(seen.learnt.get(ref, NOTHING_LEARNT)) for ref in ended if ref in memories
    }
    logs = _logs(seen, over, budget - reserve, learnt)
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


def _logs(seen: ProbeAnswer, over: Sequence[Job], budget: int, learnt: Mapping[str, Learnt]) -> dict[str, LogRequest]:
    """The logs that the poll did not know of, and those of which there is more than it read. Each gets its share of the
    budget, the short ones first; of one that is longer than its share the end is read, and what is left out is told."""
    behind = {job.ref: _behind(seen.logs[job.ref][-1]) for job in over if job.ref in seen.logs}
    needs = {(ref, path): file.size - _end(file) for ref, files in behind.items() for path, file in files.items()}
    unread = [job for job in over if job.ref not in seen.logs and job.expect.logs]
    needs |= {(job.ref, path): FIRST_SIGHT for job in unread for path in job.expect.logs}
    shares: dict[str, int] = {}
    for at, ((ref, _), need) in enumerate(sorted(needs.items(), key=lambda row: row[1])):
        share = max(LEAST_OF_A_LOG, min(need, MOST_OF_A_LOG, budget // (len(needs) - at)))
        budget = max(0, budget - share)
        shares[ref] = max(shares.get(ref, 0), share)
    known = {ref: {path: cursor(file, _end(file)) for path, file in files.items()} for ref, files in behind.items()}
    asked = {ref: LogRequest(sorted(cursors), cursors) for ref, cursors in known.items() if cursors}
    asked |= {job.ref: LogRequest(list(job.expect.logs), {}) for job in unread}
    for ref, request in asked.items():
        request.max, request.last = shares[ref], True
        request.real = real_of(learnt.get(ref, NOTHING_LEARNT))
    return asked


def _behind(answer: Logs) -> dict[str, LogFile]:
    """The files of which there is more than was read."""
    return {path: file for path, file in answer.files.items() if not file.stale and _end(file) < file.size}


def _end(file: LogFile) -> int:
    return file.from_ + len(file.text)


def _may_need_bundle(known: Known) -> bool:
    """Whether somebody may want to know why: of a success only what is checked next can tell."""
    return isinstance(known.state, Ended) and known.state.outcome not in NO_BUNDLE


def _is_success(known: Known) -> bool:
    return isinstance(known.state, Ended) and known.state.outcome is Outcome.SUCCEEDED


def _bundle_key(ref: str) -> str:
    return f"bundle {ref}"


def _bundle_answer(ref: str, seen: ProbeAnswer, answer: CheckedAnswer, why: str) -> CheckedAnswer:
    """What the poll and its follow-up said of a job, in the shape of a probe's answer to a question about it alone."""
    facts, files = seen.facts, seen.files.get(ref)
    texts: Rows[Texts] = Rows(why=answer.texts.why or why or "no answer")
    if (row := answer.texts.rows.get(_bundle_key(ref))) is not None:
        texts = Rows(ok=True, rows={"log": row})
    listed: Rows[Files] = Rows(why=seen.why_late or "no answer")
    if files is not None:
        listed = Rows(ok=True, rows={"job": files})
    gathered = CheckedAnswer({}, texts=texts, files=listed, disks=Disks(ok=True, disks=dict(seen.disks)))
    if facts is not None:
        gathered.host, gathered.boot, gathered.python = facts.host, facts.boot, facts.python
        gathered.clock = facts.clock
    return gathered
