"""Look: one request for everything about a place, one answer, read into observations and file news."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dogwatch.model import Answered, Job, Known, Poll, RareFacts, Unreachable
from dogwatch.sources.interface import Source
from dogwatch.transport.interface import Answer, Transport
from dogwatch.watcher.job import folders, scores
from dogwatch.watcher.job.folders import directories, real_of
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.state.learnt import NOTHING, Learnt

SKEWED = 30.0
ANSWER_BYTES = 8 << 20  # what one answer may hold of files


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """What one round trip brought: the look at the jobs, and what it said of their files.

    `logs` holds, by ref, the answers in the order they were read; `late` the refs whose files did not
    answer, for the reason `why_late`, though the process table did, and `blind` the jobs that the place
    could not be asked about, each with the reason. `usage` is what the processes of silent jobs have used; `gpus` what
    the place said of its GPUs, when it was asked; `extra_probes` what came back from those, `closer` what that told of
    jobs. `gathered` is, by ref, what a diagnostics bundle of a job that ended needs of the place."""

    look: Poll
    logs: Mapping[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    files: Mapping[str, Any] = field(default_factory=dict)
    disks: Mapping[str, Any] = field(default_factory=dict)
    blind: Mapping[str, str] = field(default_factory=dict)
    learnt: dict[str, Learnt] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)
    usage_asked: frozenset[str] = frozenset()
    extra_probes: Mapping[str, Any] = field(default_factory=dict)
    closer: Mapping[str, Any] = field(default_factory=dict)
    late: frozenset[str] = frozenset()
    why_late: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    gpus: Mapping[str, Any] | None = None
    gathered: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def skew(self) -> float:
        """Seconds that our clock is ahead of the place's, which file times are by; small ones may be our own delay."""
        wall = (self.facts.get("clock") or {}).get("wall")
        ahead = 0.0 if wall is None else self.look.at - float(wall)
        return ahead if abs(ahead) > SKEWED else 0.0


def probe_answer(
    transport: Transport,
    sources: Mapping[str, Source],
    jobs: Sequence[Job],
    known: Mapping[str, Known],
    memories: Mapping[str, Memory],
    *,
    place: str,
    at: float,
    deadline: float,
    turn: int = 0,
    most: int = ANSWER_BYTES,
    silent: Mapping[str, Sequence[int]] | None = None,
    extra_probes: Mapping[str, Any] | None = None,
) -> ProbeAnswer:
    """Ask `place` once for all of `jobs`, and for at most so many bytes of their files; of the `silent` ones also what
    the processes with these pids use. `extra_probes` ride with it."""
    by_kind = {kind: [job for job in jobs if job.source == kind] for kind in dict.fromkeys(j.source for j in jobs)}
    request: dict[str, Any] = {}
    learnt = {ref: memory.learnt for ref, memory in memories.items()}
    facts = {ref: memory.facts for ref, memory in memories.items()}
    for kind, group in by_kind.items():
        source = sources[kind]
        asked = {source.section: source.ask(group, known, at)}
        for sections in (asked, source.also_ask(group, known, facts, learnt, turn)):
            for name, spec in sections.items():
                add_section(request, name, spec)
    unscored = scores.still_wanted(jobs, known, memories)
    request |= file_request(jobs, memories) | scores.request(unscored, learnt)
    if most < ANSWER_BYTES:
        request["bytes"] = most
    if silent:
        request["usage"] = {ref: list(pids) for ref, pids in silent.items()}
    if extra_probes:
        request["extra_probes"] = extra_probes
    answer = transport.ask(request, deadline)
    if isinstance(answer, Unreachable):
        return ProbeAnswer(answer)
    seen = replace(_read(answer, sources, by_kind, known, place), usage_asked=frozenset(silent or ()))
    for kind, group in by_kind.items():
        seen = with_learnt(seen, sources[kind].also_read(answer.body, group, facts, learnt))
    seen = with_learnt(seen, folders.learnt(answer.body, learnt))
    return with_learnt(seen, scores.read(answer.body, unscored))


def add_section(request: dict[str, Any], section: str, asked: Mapping[str, Any]) -> None:
    """Ask for one more source; where sources share a section, the questions of both stand in it, by ref."""
    there = request.setdefault(section, {})
    for key, questions in asked.items():
        both = isinstance(questions, dict) and isinstance(there.get(key), dict)
        there[key] = {**there[key], **questions} if both else questions


def with_learnt(seen: ProbeAnswer, more: Mapping[str, RareFacts]) -> ProbeAnswer:
    """The same with more that was learnt of some jobs."""
    if not more:
        return seen
    news = {ref: seen.learnt.get(ref, NOTHING).with_news(facts) for ref, facts in more.items()}
    return replace(seen, learnt=seen.learnt | news)


def with_logs(job: Job, memory: Memory) -> Job:
    """The job with the logs that its place named, where its owner named none."""
    if job.expect.logs:
        return job
    found = (*memory.facts.logs, *(memory.learnt.script_logs or ()))
    return replace(job, expect=replace(job.expect, logs=found)) if found else job


def file_request(jobs: Sequence[Job], memories: Mapping[str, Memory]) -> dict[str, Any]:
    """The sections about files that every kind of job shares."""
    logs, files = {}, {}
    disks: set[str] = set()
    for job in jobs:
        ref, expect = job.ref, job.expect
        memory = memories[ref]
        guessed = memory.produced.guessed
        if expect.logs:
            logs[ref] = _log_request(job, memory)
        if guessed or expect.outputs or expect.checkpoints:
            wanted = {"outputs": list(expect.outputs), "checkpoints": list(expect.checkpoints) or guessed}
            files[ref] = wanted | real_of(memory.learnt)
        disks.update(disk_paths(job))
    return {"logs": logs, "files": files, "disks": sorted(disks)}


def disk_paths(job: Job) -> tuple[str, ...]:
    """The directories whose filesystems the job writes to."""
    return directories(job.expect.logs, job.expect.outputs, job.expect.checkpoints)


def _log_request(job: Job, memory: Memory) -> dict[str, Any]:
    """A log that is known is asked for by that alone; its path need not be given twice."""
    paths, known = job.expect.logs, memory.log.cursors
    if own := job.track.get("progress"):
        paths = (*paths, *own)
    return {"globs": [path for path in paths if path not in known], "known": known} | real_of(memory.learnt)


def _read(
    answer: Answer,
    sources: Mapping[str, Source],
    by_kind: Mapping[str, Sequence[Job]],
    known: Mapping[str, Known],
    place: str,
) -> ProbeAnswer:
    body = answer.body
    asked: set[str] = set()
    observations = {}
    troubles = []
    blind: dict[str, str] = {}
    for kind, group in by_kind.items():
        if not group:
            continue
        section = body.get(sources[kind].section) or {"ok": False, "why": "the answer has no processes"}
        if not section.get("ok"):
            troubles.append(str(section.get("why", "no reason given")))
            continue
        trouble = sources[kind].trouble(section, group)
        if trouble is not None:
            troubles.append(trouble)
            continue
        spoken_for, seen = sources[kind].read(section, group, known, answer.at)
        asked |= spoken_for
        observations.update(seen)
        if len(spoken_for) < len(group):
            blind |= sources[kind].blind(section, group)
    if troubles and not asked:
        return ProbeAnswer(Unreachable(place, answer.at, answer.duration, "; ".join(troubles)))
    look = Answered(place, answer.at, answer.duration, frozenset(asked), observations)
    logs, files, disks = (_section(body, name) for name in ("logs", "files", "disks"))
    told = rows(_section(body, "extra_probes"))
    late = frozenset(ref for section in (logs, files) for ref in section.get("late", ()))
    return ProbeAnswer(
        look,
        logs={ref: [news] for ref, news in rows(logs).items()},
        files=rows(files),
        disks=disks.get("disks", {}),
        blind=blind,
        usage=rows(_section(body, "usage")),
        extra_probes=told,
        gpus=told.get("gpus"),
        late=late,
        why_late=str(logs.get("why") or files.get("why") or ""),
        facts={**{key: body.get(key) for key in ("boot", "host", "python", "clock")}, **_asked(answer)},
    )


def _asked(answer: Answer) -> dict[str, Any]:
    """How many questions this poll put to a scheduler, by command, and how many connections it took."""
    counts = _section(answer.body, "commands").get("counts")
    connections = {"connections": answer.connections} if answer.connections else {}
    return connections | ({"asked": counts} if counts else {})


def rows(section: Mapping[str, Any]) -> dict[str, Any]:
    """A section's answers by job, without what the section says of itself."""
    return {key: row for key, row in section.items() if key not in ("ok", "seconds", "why", "late")}


def _section(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = body.get(name)
    return section if isinstance(section, dict) else {}
