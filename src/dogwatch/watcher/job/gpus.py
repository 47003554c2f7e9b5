"""GPUs: when a place is asked for them, which of them are a job's own, and what its memory keeps of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import structs

from dogwatch.clock import recorded
from dogwatch.estimate.gpu_history import NEW, advance
from dogwatch.model import Gpu, GpuPast, GpuProcess, Job, Running, Worker
from dogwatch.sources import kind_of
from dogwatch.text import plain
from dogwatch.watcher.job.extra_probes import extra_probe
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.probe_answer import GpuReport, ProbeAnswer
from dogwatch.watcher.job.stall import living_pids
from dogwatch.watcher.job.state.gpu import GpuState
from dogwatch.watcher.job.watched import WatchedJob
from dogwatch.wire import programs
from dogwatch.wire.answer import CheckedAnswer
from dogwatch.wire.programs import GpuHolder, Gpus, Why, Xid
from dogwatch.wire.requests import ExtraProbe, GpuCall

if TYPE_CHECKING:
    from dogwatch.wire.documents.machine import GpuDocument
    from dogwatch.wire.documents.report import GpuReading

EXTRA_PROBE = "gpus"
YOUNG, OFTEN, SELDOM, NEVER = 15.0, 30.0, 120.0, 1800.0
YOUNG_AGE = 600.0
FAR_POLLS = 5
FIRST_BACKOFF = 60.0
NOBODY = 10.0  # seconds until ten thousand jobs are gone through again
# Here a slow answer is taken by a later poll; a probe over ssh has one poll only, so it waits.
HERE_WAIT, HERE_SECONDS, FAR_SECONDS = 1, 8.0, 5.0
LAST_WAIT = 5
STALE = 900.0  # seconds after which what was read says nothing of now
MOST_GPUS, MOST_PROCESSES = 64, 16
# Raised by what a program does, not by the card: told only of a job that is alone on it.
OF_PROGRAMS = frozenset({13, 31, 43, 45})


class GpuSchedule:
    """When one place is asked for its GPUs: only while a job may use one, seldom where none does, and less and less
    often where asking fails."""

    def __init__(self, far: bool) -> None:
        self._far = far
        self._due = float("-inf")
        self._heard: float | None = None
        self._polls = FAR_POLLS
        self._failures = 0
        self._pending = False
        self._skip: dict[str, float] = {}
        self._host = ""
        self.report: GpuReport | None = None

    def ask(self, jobs: Iterable[WatchedJob], mono: float, *, once: bool) -> dict[str, ExtraProbe] | None:
        """The extra probe to send with this poll, if it is time for one; a poll that is the only `once` waits for
        it."""
        self._polls += 1
        if mono < self._due or (self._far and self._polls < FAR_POLLS):
            return None
        self._polls = 0
        if not any(_wants(one, self._host) for one in jobs):
            self._due = mono + NOBODY
            return None
        return self.extra_probe(mono, once=once)

    @property
    def answers(self) -> bool:
        """Whether the last time that it was asked, it named some at once."""
        return bool(self.report and self.report.count) and not self._pending

    def extra_probe(self, mono: float, *, once: bool) -> dict[str, ExtraProbe]:
        """The question itself. What was late once is not waited for again."""
        seconds = FAR_SECONDS if self._far else HERE_SECONDS
        since = NEVER if self._heard is None else max(60.0, 2 * (mono - self._heard))
        skip = sorted(way for way, until in self._skip.items() if mono < until)
        lives = int(2 * seconds) + 4
        wait = lives if self._far or once else 0 if self._pending else HERE_WAIT
        return {EXTRA_PROBE: extra_probe("gpus", GpuCall(seconds, since, skip), seconds=lives, wait=wait)}

    def heard(self, seen: ProbeAnswer, jobs: Iterable[WatchedJob], mono: float) -> ProbeAnswer:
        """The same probe answer, with what the place said of its GPUs judged: `gpus` is None unless it named some,
        and its facts say how they are read there."""
        self._host = seen.host or self._host
        answer = seen.extra_probes.get(EXTRA_PROBE)
        self._pending = isinstance(answer, Why) and answer.pending
        if isinstance(answer, Gpus):
            failed = "; ".join(f"{way}: {reason}" for way, reason in answer.failed.items())
            self._take(answer, answer.why or failed, jobs, mono)
        elif isinstance(answer, Why) and not answer.pending:
            self._take(None, answer.why, jobs, mono)
        gpus = answer if isinstance(answer, Gpus) and answer.gpus else None
        if seen.facts is None or self.report is None:
            return replace(seen, gpus=gpus)
        return replace(seen, gpus=gpus, facts=structs.replace(seen.facts, gpus=self.report))

    def _take(self, answer: Gpus | None, why: str, jobs: Iterable[WatchedJob], mono: float) -> None:
        by, count, driver = (answer.by, len(answer.gpus), answer.driver) if answer is not None else (None, 0, "")
        self._skip |= {way: mono + NEVER for way in (answer.failed if answer is not None else ())}
        self.report = GpuReport(by, count, driver, plain(why, 300))
        self._failures = self._failures + 1 if why and not count else 0
        self._heard = mono
        self._due = mono + self._pause(bool(count), by, jobs)

    def _pause(self, named: bool, by: str | None, jobs: Iterable[WatchedJob]) -> float:
        if self._failures:
            return min(NEVER, FIRST_BACKOFF * 2.0 ** min(self._failures - 1, 10))
        if not named:
            return NEVER
        users = [one for one in jobs if one.gpus or one.job.track.get("gpus")]
        if not users:
            return SELDOM
        young = any(one.memory.age < YOUNG_AGE for one in users)
        return (YOUNG if young else OFTEN) * (2 if by in ("amd-smi", "rocm-smi") else 1)


def _wants(one: WatchedJob, host: str) -> bool:
    """Whether a job runs and its processes can be told from others there."""
    if not isinstance(one.known.state, Running):
        return False
    return kind_of(one.job.source).runs_on(one.memory.facts, host)


def is_on_node(job: Job, memory: Memory, host: str) -> bool:
    """Whether a scheduler's job runs on the very machine that is asked; elsewhere its GPUs are out of sight."""
    kind = kind_of(job.source)
    return kind.is_scheduler and kind.runs_on(memory.facts, host)


def take_gpus(
    one: WatchedJob,
    job: Job,
    workers: Sequence[Worker],
    answer: Gpus | None,
    started: float | None,
    mono: float,
    at: float,
) -> None:
    """The job's own of the GPUs that were read, and its memory of them; what was read lately stands until then."""
    state = one.memory.gpu
    age = mono - (float("-inf") if state.mono is None else state.mono)
    if answer is None:
        if one.gpu_past is not None and not 0 <= age < STALE:
            one.gpus, one.gpu_past = (), None
        elif one.gpu_past is None and state.gpus is not None and 0 <= age < STALE:
            one.gpus, one.gpu_past = recall(state)
        return
    rows = answer.gpus[:MOST_GPUS]
    owned = [_gpu(row, job, workers) for row in rows]
    given = {worker.index: _given(worker.gpu, owned) for worker in workers if worker.gpu}
    keys = {gpu.key for gpus in given.values() for gpu in gpus}
    if not living_pids(workers):  # its processes are gone: its GPUs are still those that they were on
        keys |= {gpu.key for gpu in state.gpus or ()}
    own = [gpu for gpu in owned if gpu.key in keys or any(process.ours for process in gpu.processes)]
    slots = {gpu.key: row.pci for gpu, row in zip(owned, rows, strict=True)}
    xids = [xid for xid in answer.xids or () if started is None or at - xid.age >= started - 1]
    gpus = tuple(replace(gpu, xid=_xids(gpu, slots[gpu.key], xids, workers)) for gpu in own)
    passed = max(
        0.0, one.memory.age - (one.memory.age if state.mono is None else state.age)
    )  # what nobody watched does not count
    away = _away(owned, bool(given), workers)
    strays = list(_strays(owned, rows, workers, given))
    past = advance(state.course, gpus, passed, mono, away=away, strays=strays)
    one.gpus, one.gpu_past = gpus, past
    state.mono, state.at, state.age = mono, at, one.memory.age
    state.gpus = list(gpus)
    state.strays = strays


def last_asked(
    schedule: GpuSchedule, seen: ProbeAnswer, failed: Sequence[WatchedJob], mono: float
) -> dict[str, ExtraProbe]:
    """The extra probe for jobs that used GPUs and have just ended badly: if the driver was why, the kernel's log
    says so. A driver that was late before is not asked, because nobody's end waits for it."""
    if seen.gpus is not None or not schedule.answers or not any(one.gpus or one.memory.gpu.gpus for one in failed):
        return {}
    question = schedule.extra_probe(mono, once=False)
    question[EXTRA_PROBE].wait = LAST_WAIT
    return question


def with_last(seen: ProbeAnswer, answer: CheckedAnswer) -> ProbeAnswer:
    """The probe answer with what that extra probe brought."""
    gpus = answer.program(EXTRA_PROBE, Gpus)
    return replace(seen, gpus=gpus) if gpus is not None and gpus.gpus else seen


def readings(jobs: Iterable[WatchedJob]) -> dict[str, GpuReading]:
    """The GPUs of each job together, as the experiment log tells them."""
    found: dict[str, GpuReading] = {}
    for one in jobs:
        uses = [gpu.used for gpu in one.gpus if gpu.used is not None]
        used, total = ([getattr(gpu, name) for gpu in one.gpus] for name in ("memory_used", "memory_total"))
        if one.gpus:
            found[one.job.ref] = {
                "gpu_percent": round(100 * sum(uses) / len(uses), 1) if uses else None,
                "gpu_memory_used_bytes": None if None in used else sum(used),
                "gpu_memory_total_bytes": None if None in total else sum(total),
                "gpus": len(one.gpus),
            }
    return found


def recall(state: GpuState) -> tuple[tuple[Gpu, ...], GpuPast]:
    """What the watcher before us had read, from its memory: without it, what is found would seem to be over."""
    gpus = tuple(state.gpus or ())
    return gpus, advance(replace(state.course), gpus, 0.0, state.mono or 0.0, away=None, strays=state.strays)


def _gpu(row: programs.Gpu, job: Job, workers: Sequence[Worker]) -> Gpu:
    pids = {worker.pid for worker in workers if worker.pid is not None}
    processes = [
        GpuProcess(
            pid=process.pid,
            user=plain(process.user or "", 40),
            memory=process.memory,
            name=plain(process.name, 40),
            ours=_is_ours(process, job, pids),
        )
        for process in row.processes or ()
    ]
    processes.sort(key=lambda process: (not process.ours, -(process.memory or 0)))
    return Gpu(
        index=row.index,
        uuid=plain(row.uuid, 80),
        name=plain(row.name, 80),
        used=row.used,
        memory_used=row.memory_used,
        memory_total=row.memory_total,
        watts=row.watts,
        watts_limit=row.watts_limit,
        celsius=row.celsius,
        throttle=tuple(plain(word, 40) for word in row.throttle[:8]),
        ecc=row.ecc,
        processes=tuple(processes[:MOST_PROCESSES]),
        mhz=row.mhz,
        mhz_most=row.mhz_most,
        parent=plain(row.parent, 80),
        trouble=plain(row.trouble, 120),
        listed=row.processes is not None,
    )


def _is_ours(process: GpuHolder, job: Job, pids: set[int]) -> bool | None:
    """Whether a process is the job's; None where nobody can say, as of one in a container."""
    return kind_of(job.source).owns_process(job.id, process, pids) if process.seen else None


def _given(ids: str | None, gpus: Sequence[Gpu]) -> list[Gpu]:
    """The GPUs that CUDA_VISIBLE_DEVICES names: by index, or by the beginning of a uuid."""
    found = []
    for each in (part.strip() for part in (ids or "").split(",")):
        if each.isdigit():
            found += [gpu for gpu in gpus if gpu.index == int(each) and not gpu.parent]
        elif each:
            found += [gpu for gpu in gpus if gpu.uuid.startswith(each)][:1]
    return found


def _is_sure(ids: str, gpus: Sequence[Gpu]) -> bool:
    """CUDA counts the fastest GPU first, the driver by the bus: an index means the same where all are alike."""
    alike = len({gpu.name for gpu in gpus if not gpu.parent}) <= 1
    return alike or not any(part.strip().isdigit() for part in ids.split(","))


def _away(gpus: Sequence[Gpu], given: bool, workers: Sequence[Worker]) -> bool | None:
    """Whether a job that was given GPUs is on none; None where that cannot be told."""
    if not given or not living_pids(workers):
        return None
    if any(process.ours for gpu in gpus for process in gpu.processes):
        return False
    known = all(gpu.listed and all(process.ours is not None for process in gpu.processes) for gpu in gpus)
    return True if known else None


def _strays(
    gpus: Sequence[Gpu],
    rows: Sequence[programs.Gpu],
    workers: Sequence[Worker],
    given: Mapping[int, Sequence[Gpu]],
) -> Iterable[tuple[int, str, int | None]]:
    for worker in workers:
        if not worker.gpu or worker.pid is None or not _is_sure(worker.gpu, gpus):
            continue
        mine = given[worker.index]
        if not mine:
            yield worker.index, worker.gpu, None
            continue
        allowed = {gpu.key for gpu in mine} | {gpu.parent for gpu in mine if gpu.parent}
        for gpu, row in zip(gpus, rows, strict=True):
            families = (
                (process.pid, *process.above, *process.led_by) for process in row.processes or () if process.seen
            )
            if gpu.key not in allowed and gpu.parent not in allowed and any(worker.pid in kin for kin in families):
                yield worker.index, worker.gpu, gpu.index


def _xids(gpu: Gpu, slot: str, xids: Sequence[Xid], workers: Sequence[Worker]) -> tuple[int, ...]:
    pids = {worker.pid for worker in workers} | {process.pid for process in gpu.processes if process.ours}
    alone = not any(process.ours is False for process in gpu.processes)
    codes = [xid.xid for xid in xids if xid.pci == slot and (xid.xid not in OF_PROGRAMS or xid.pid in pids or alone)]
    return tuple(sorted(set(codes)))


def gpus_document(state: GpuState) -> list[GpuDocument]:
    """The GPUs of a job as `status --json` prints them."""
    return [_document(gpu, state.course.cards.get(gpu.key, NEW).idle or 0.0, state.at) for gpu in state.gpus or ()]


def _document(gpu: Gpu, idle: float, at: float) -> GpuDocument:
    return {
        "index": gpu.index,
        "uuid": gpu.uuid,
        "name": gpu.name,
        "percent": None if gpu.used is None else round(100 * gpu.used, 1),
        "memory_used_bytes": gpu.memory_used,
        "memory_total_bytes": gpu.memory_total,
        "watts": gpu.watts,
        "watts_limit": gpu.watts_limit,
        "celsius": gpu.celsius,
        "mhz": gpu.mhz,
        "mhz_most": gpu.mhz_most,
        "throttle": list(gpu.throttle),
        "ecc_uncorrected": gpu.ecc,
        "xid": list(gpu.xid),
        "trouble": gpu.trouble or None,
        "parent": gpu.parent or None,
        "idle_seconds": round(idle, 1),
        "processes": [
            {
                "pid": one.pid,
                "user": one.user or None,
                "name": one.name or None,
                "memory_bytes": one.memory,
                "ours": one.ours,
            }
            for one in gpu.processes
        ]
        if gpu.listed
        else None,
        "at": recorded(at),
    }


def gpu_percent(gpus: Sequence[Gpu], ids: str | None) -> float | None:
    """How busy the GPUs of one worker are together, by what was read of the job's."""
    own = {gpu.key: gpu.used for gpu in _given(ids, gpus)}
    used = [share for share in own.values() if share is not None]
    return round(100 * sum(used) / len(used), 1) if used else None
