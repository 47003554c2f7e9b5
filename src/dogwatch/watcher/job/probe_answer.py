"""One request for everything about a place, and its one answer, read into observations and news of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from msgspec import Struct, structs, to_builtins

from dogwatch.model import Answered, Job, Known, Observation, Poll, RareFacts, Unreachable
from dogwatch.sources.interface import RareAnswers, RarelyAsked, Source
from dogwatch.transport.interface import Answer, Transport
from dogwatch.watcher.job import folders, scores
from dogwatch.watcher.job.folders import directories, real_of
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.state.learnt import NOTHING, Learnt
from dogwatch.wire.answer import CheckedAnswer
from dogwatch.wire.commands import NO_COMMANDS
from dogwatch.wire.programs import FileChecks, Gpus, Quota
from dogwatch.wire.questions import Questions
from dogwatch.wire.requests import ExtraProbe, FileRequest, LogRequest, PollRequest
from dogwatch.wire.sections import Clock, Disk, Files, Logs, Usage

SKEWED = 30.0
ANSWER_BYTES = 8 << 20  # what one answer may hold of files
MARKER = "marker "  # before its path, where a row of the answer is about no job


class GpuReport(Struct, omit_defaults=True):
    """How the GPUs of a place are read, and how many there are; or `why` they are not."""

    by: str | None
    count: int
    driver: str
    why: str


class PlaceReport(Struct, omit_defaults=True):
    """What a place says of itself, how many questions were put to its schedulers (`asked`, by command), the
    connections of this tick and the most of any, and which of the files that somebody waits for (`markers`) are
    there."""

    boot: str | None
    host: str | None
    python: str | None
    clock: Clock | None
    connections: int = 0
    asked: dict[str, int] = {}
    gpus: GpuReport | None = None
    most_connections: int = 0
    markers: dict[str, bool] = {}


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """What one round trip brought: the look at the jobs, and what it said of their files.

    `logs` holds, by ref, the answers in the order they were read; `late` the refs whose files did not
    answer, for the reason `why_late`, though the process table did, and `blind` the jobs that the place
    could not be asked about, each with the reason. `usage` is what the processes of silent jobs have used; `gpus` what
    the place said of its GPUs, if it named some; `extra_probes` what came back from those, `closer` what that told of
    the files of jobs. `gathered` is, by ref, what a diagnostics bundle of a job that ended needs of the place."""

    look: Poll
    logs: Mapping[str, list[Logs]] = field(default_factory=dict)
    files: Mapping[str, Files] = field(default_factory=dict)
    disks: Mapping[str, Disk] = field(default_factory=dict)
    quotas: Mapping[str, Sequence[Quota]] = field(default_factory=dict)
    blind: Mapping[str, str] = field(default_factory=dict)
    learnt: dict[str, Learnt] = field(default_factory=dict)
    usage: Mapping[str, Usage] = field(default_factory=dict)
    usage_asked: frozenset[str] = frozenset()
    extra_probes: Mapping[str, object] = field(default_factory=dict)
    closer: Mapping[str, FileChecks] = field(default_factory=dict)
    late: frozenset[str] = frozenset()
    why_late: str = ""
    facts: PlaceReport | None = None
    gpus: Gpus | None = None
    gathered: Mapping[str, CheckedAnswer] = field(default_factory=dict)

    @property
    def skew(self) -> float:
        """Seconds that our clock is ahead of the place's, which file times are by; small ones may be our own delay."""
        clock = None if self.facts is None else self.facts.clock
        ahead = 0.0 if clock is None else self.look.at - clock.wall
        return ahead if abs(ahead) > SKEWED else 0.0

    def teaches(self, ref: str) -> bool:
        """Whether it says more of a job than its state, its logs and its files."""
        return ref in self.learnt or ref in self.closer

    @property
    def host(self) -> str:
        return (self.facts.host if self.facts is not None else "") or ""


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
    extra_probes: dict[str, ExtraProbe] | None = None,
    markers: Sequence[str] = (),
) -> ProbeAnswer:
    """Ask `place` once for all of `jobs`, and for at most so many bytes of their files; of the `silent` ones also what
    the processes with these pids use. `extra_probes` ride with it; `markers` are files that somebody waits for."""
    by_kind = {kind: [job for job in jobs if job.source == kind] for kind in dict.fromkeys(j.source for j in jobs)}
    questions = Questions()
    learnt = {ref: memory.learnt for ref, memory in memories.items()}
    facts = {ref: memory.facts for ref, memory in memories.items()}
    for kind, group in by_kind.items():
        source = sources[kind]
        questions.add(source.ask(group, known, at))
        questions.add(source.also_ask(RarelyAsked(group, known, facts, learnt, turn)))
    for ref, box in (questions.box or {}).items():
        box.real = real_of(learnt[ref])
    unscored = scores.still_wanted(jobs, known, memories)
    asked_files = file_request(jobs, memories)
    asked_files.texts = scores.requests(unscored, learnt)
    asked_files.bytes = most if most < ANSWER_BYTES else None
    asked_files.usage = {ref: list(pids) for ref, pids in (silent or {}).items()}
    asked_files.extra_probes = extra_probes or {}
    asked_files.files |= {f"{MARKER}{path}": FileRequest([path], []) for path in markers}
    answer = transport.ask(questions.to_request() | to_builtins(asked_files), deadline)
    if isinstance(answer, Unreachable):
        return ProbeAnswer(answer)
    seen = replace(_read(answer, sources, by_kind, known, place), usage_asked=frozenset(silent or ()))
    seen = _with_markers(seen, markers) if markers else seen
    answers = RareAnswers(answer.checked.commands or NO_COMMANDS, answer.checked.gpu_metrics.rows)
    for kind, group in by_kind.items():
        seen = with_learnt(seen, sources[kind].also_read(answers, RarelyAsked(group, known, facts, learnt, turn)))
    seen = with_learnt(seen, folders.learnt(answer.checked, learnt))
    return with_learnt(seen, scores.read(answer.checked, unscored))


def _with_markers(seen: ProbeAnswer, markers: Sequence[str]) -> ProbeAnswer:
    """With which of these files are there; what could not be read is not said."""
    if seen.facts is None:
        return seen
    rows = {path: row for path in markers if (row := seen.files.get(f"{MARKER}{path}")) and not row.unreadable}
    present = {path: any(file.path == path for file in row.outputs) for path, row in rows.items()}
    return replace(seen, facts=structs.replace(seen.facts, markers=present))


def with_learnt(seen: ProbeAnswer, more: Mapping[str, RareFacts]) -> ProbeAnswer:
    """The same with more that was learnt of some jobs."""
    if not more:
        return seen
    news = {ref: seen.learnt.get(ref, NOTHING).with_news(facts) for ref, facts in more.items()}
    return replace(seen, learnt=seen.learnt | news)


def with_logs(job: Job, memory: Memory) -> Job:
    """The job with the logs that its place named, where its owner named none; of a run of several stages the log of
    the one that it is at."""
    current = memory.facts.logs if memory.facts.stages else ()
    if job.expect.logs and current in ((), job.expect.logs):
        return job
    if current:
        return replace(job, expect=replace(job.expect, logs=current))
    found = (*memory.facts.logs, *(memory.learnt.script_logs or ()))
    return replace(job, expect=replace(job.expect, logs=found)) if found else job


def file_request(jobs: Sequence[Job], memories: Mapping[str, Memory]) -> PollRequest:
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
            checkpoints = list(expect.checkpoints) or guessed
            files[ref] = FileRequest(list(expect.outputs), checkpoints, real_of(memory.learnt))
        disks.update(disk_paths(job))
    return PollRequest(logs=logs, files=files, disks=sorted(disks))


def disk_paths(job: Job) -> tuple[str, ...]:
    """The directories whose filesystems the job writes to."""
    return directories(job.expect.logs, job.expect.outputs, job.expect.checkpoints)


def _log_request(job: Job, memory: Memory) -> LogRequest:
    """A log that is known is asked for by that alone; its path need not be given twice."""
    paths, known = job.expect.logs, memory.log.cursors
    if own := job.track.get("progress"):
        paths = (*paths, *own)
    return LogRequest([path for path in paths if path not in known], known, real_of(memory.learnt))


def _read(
    answer: Answer,
    sources: Mapping[str, Source],
    by_kind: Mapping[str, Sequence[Job]],
    known: Mapping[str, Known],
    place: str,
) -> ProbeAnswer:
    checked = answer.checked
    asked: set[str] = set()
    observations = {}
    troubles = []
    blind: dict[str, str] = {}
    for kind, group in by_kind.items():
        if not group:
            continue
        section = checked.section(sources[kind].section)
        if not section.ok:
            troubles.append(section.why or "no reason given")
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
    jobs = {job.ref: job for group in by_kind.values() for job in group}
    others = frozenset(ref for ref, seen in observations.items() if _asked_of_others(jobs[ref], seen))
    return _with_files(ProbeAnswer(look, blind=blind), answer, others)


def _asked_of_others(job: Job, seen: Observation) -> bool:
    """Whether the files that were asked for are not those of the job as it is now: its stage has another log, or
    another machine answers."""
    facts = seen.facts
    return seen.is_other or (facts is not None and bool(facts.stages) and facts.logs not in ((), job.expect.logs))


def _with_files(seen: ProbeAnswer, answer: Answer, others: frozenset[str]) -> ProbeAnswer:
    """With what the sections say that every kind of job shares, but nothing of the files of `others`."""
    checked = answer.checked
    logs, files, commands = checked.logs, checked.files, checked.commands
    return replace(
        seen,
        logs={ref: [row] for ref, row in logs.rows.items() if ref not in others},
        files={ref: row for ref, row in files.rows.items() if ref not in others} if others else files.rows,
        disks={} if checked.disks is None else checked.disks.disks,
        usage=checked.usage.rows,
        extra_probes=checked.extra_probes.rows,
        late=frozenset((*logs.late, *files.late)),
        why_late=logs.why or files.why,
        facts=PlaceReport(
            checked.boot,
            checked.host,
            checked.python,
            checked.clock,
            connections=answer.connections,
            asked={} if commands is None else commands.counts,
        ),
    )
