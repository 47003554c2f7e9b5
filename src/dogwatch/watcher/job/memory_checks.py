"""Memory checks: from time to time a place is asked how much memory jobs use: trees of processes there, and jobs of a
scheduler as the scheduler counts them. This runs beside a poll, which does not wait long for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec import structs
from msgspec.structs import asdict

from dogwatch.model import Running, Worker
from dogwatch.sources import kind_of
from dogwatch.sources.interface import Kind
from dogwatch.watcher.job.extra_probes import extra_probe
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.probe_answer import PlaceReport, ProbeAnswer, with_learnt
from dogwatch.watcher.job.stall import living_pids
from dogwatch.watcher.job.state.learnt import Learnt
from dogwatch.watcher.job.state.ram import HeldMemory, Weighed
from dogwatch.watcher.job.watched import WatchedJob
from dogwatch.wire import programs
from dogwatch.wire.programs import Ram, Trees, Why
from dogwatch.wire.requests import ExtraProbe, MemoryCall, SchedulerMemoryCall

EXTRA_PROBE = "memory"
# Every so many seconds here and elsewhere; sites ask users to leave time between two questions to the controller.
HERE, FAR = 60.0, 180.0
LONGEST = 3600.0
SHARE = 0.002  # of a core that it may cost in the long run
HERE_WAIT, HERE_SECONDS, FAR_SECONDS = 1, 4.0, 8.0
MOST_JOBS = 32  # of a scheduler in one question: each is one to the controller and one to each of its nodes
PIECES = 8  # so many jobs is one of several pieces counted as
MOST_PIDS = 1024
STALE = 900.0  # seconds after which what was weighed says nothing of now


class MemoryChecks:
    """When one place is asked, and about which jobs: those first that were asked longest ago, and those seldom that
    nobody answers for."""

    def __init__(self, far: bool) -> None:
        self._far, self._every = far, FAR if far else HERE
        self._due = float("-inf")
        self._after: dict[str, float] = {}
        self._pause: dict[str, float] = {}
        self._asked: dict[str, tuple[Kind, str]] = {}
        self._request: dict[str, ExtraProbe] = {}
        self._pending = False
        self._failures = 0
        self._about: dict[str, Mapping[str, str]] = {}

    def ask(self, jobs: Mapping[str, WatchedJob], mono: float, *, once: bool) -> dict[str, ExtraProbe]:
        """The extra probe to send with this poll, if it is time for one."""
        if self._pending:  # what is under way is only waited for
            return self._request
        if mono < self._due:
            return {}
        self._due = mono + self._every
        seconds = FAR_SECONDS if self._far else HERE_SECONDS
        call: MemoryCall = {"seconds": seconds}
        running = [one for one in jobs.values() if isinstance(one.known.state, Running)]
        if pids := [pid for one in running for pid in tree_roots(one.workers)][:MOST_PIDS]:
            call["pids"] = pids
        chosen = _within(sorted(self._due_jobs(running, mono), key=lambda one: self._after.get(one.job.ref, 0.0)))
        for kind in dict.fromkeys(kind_of(one.job.source) for one in chosen):
            call[kind.memory_section] = self._question(kind, [one for one in chosen if one.job.source == kind.name])
        if len(call) == 1:
            return {}
        self._asked = {one.job.ref: (kind_of(one.job.source), one.job.id) for one in chosen}
        lives = int(seconds) + 4
        wait = lives if self._far or once else HERE_WAIT
        self._request = {EXTRA_PROBE: extra_probe("memory", call, seconds=lives, wait=wait)}
        return self._request

    def _question(self, kind: Kind, chosen: Sequence[WatchedJob]) -> SchedulerMemoryCall:
        alone = [one for one in chosen if not _has_pieces(one)]
        many = {one.job.id: list(one.memory.ram.pieces) for one in chosen if _has_pieces(one)}
        new = [one.job.id for one in alone if not one.memory.ram.whole.limit]
        ids = [one.job.id for one in alone]
        about = kind.name not in self._about
        return SchedulerMemoryCall(ids, many, new, about, **kind.memory_settings())

    def _due_jobs(self, running: Sequence[WatchedJob], mono: float) -> Iterator[WatchedJob]:
        """The jobs of schedulers that it is time to ask about; one that was weighed by another watcher rests."""
        for one in running:
            if not kind_of(one.job.source).memory_section:
                continue
            last = one.memory.ram.weighed
            if self._after.get(one.job.ref, float("-inf")) <= mono and not (
                last is not None and 0 <= mono - last < 0.9 * self._every
            ):
                yield one

    def heard(self, seen: ProbeAnswer, jobs: Mapping[str, WatchedJob], mono: float) -> ProbeAnswer:
        """The same probe answer with what was weighed of the jobs."""
        answer = seen.extra_probes.get(EXTRA_PROBE)
        self._pending = isinstance(answer, Why) and answer.pending
        if isinstance(answer, Why) and not answer.pending:
            self._failures += 1
            self._due = mono + min(LONGEST, self._every * 2.0 ** min(self._failures, 6))
        if not isinstance(answer, Ram):
            return seen
        self._failures = 0
        self._due = mono + max(self._every, answer.cpu / SHARE)
        facts = seen.facts
        for kind in dict.fromkeys(kind for kind, _ in self._asked.values()):
            section = answer.section(kind.memory_section)
            if section.about:
                self._about[kind.name] = section.about
            facts = _counted(facts, section.counts)
        weighed = {**self._of_schedulers(answer, mono), **_of_trees(answer.trees, jobs, mono)}
        return with_learnt(replace(seen, facts=facts), {ref: Learnt(memory=row) for ref, row in weighed.items()})

    def _of_schedulers(self, answer: Ram, mono: float) -> dict[str, Weighed]:
        weighed = {}
        for ref, (kind, native) in self._asked.items():
            section = answer.section(kind.memory_section)
            answered = native in section.jobs or native in section.pieces
            pause = self._every if answered else min(LONGEST, 2 * self._pause.get(ref, self._every))
            self._pause[ref], self._after[ref] = pause, mono + 0.9 * pause
            if native in section.jobs:
                weighed[ref] = Weighed(mono, whole=self._held(kind, section.jobs[native]))
            elif native in section.pieces:
                pieces = {piece: self._held(kind, row) for piece, row in section.pieces[native].items()}
                weighed[ref] = Weighed(mono, pieces=pieces)
        return weighed

    def _held(self, kind: Kind, row: programs.Memory) -> HeldMemory:
        exact = kind.is_exact_memory(row.by, self._about.get(kind.name, {}))
        return HeldMemory(**asdict(row), exact=exact, counter=kind.title)


def _has_pieces(one: WatchedJob) -> bool:
    return one.memory.facts.tasks is not None


def _within(wanted: Sequence[WatchedJob]) -> list[WatchedJob]:
    """As many of them as one question may be about."""
    found, spent = [], 0
    for one in wanted:
        spent += PIECES if _has_pieces(one) else 1
        if spent > MOST_JOBS:
            break
        found.append(one)
    return found


def _of_trees(trees: Trees | None, jobs: Mapping[str, WatchedJob], mono: float) -> dict[str, Weighed]:
    """What each job's trees hold, by the pid of each root."""
    sizes = {} if trees is None else trees.bytes
    weighed = {}
    for ref, one in jobs.items() if sizes else ():
        own = {str(pid): sizes[str(pid)] for pid in tree_roots(one.workers) if str(pid) in sizes}
        if own:
            weighed[ref] = Weighed(mono, trees=own)
    return weighed


def _counted(facts: PlaceReport | None, counts: Mapping[str, int]) -> PlaceReport | None:
    """The questions that were put to a scheduler for this, beside the others."""
    if not counts or facts is None:
        return facts
    asked = facts.asked | {name: facts.asked.get(name, 0) + count for name, count in counts.items()}
    return structs.replace(facts, asked=asked)


def tree_roots(workers: Sequence[Worker]) -> list[int]:
    """The pids of workers that have children, or may have; one without is known by its own size."""
    parents = [worker for worker in workers if worker.children != 0]
    return list(living_pids(parents))


def with_trees(workers: tuple[Worker, ...], memory: Memory, mono: float) -> tuple[Worker, ...]:
    """The workers, each with the memory of all that descend from it, where that was weighed lately."""
    weighed = memory.learnt.memory
    if weighed is None or not weighed.trees or not 0 <= mono - weighed.at < STALE:
        return workers
    return tuple(_with_tree(worker, weighed.trees.get(str(worker.pid))) for worker in workers)


def _with_tree(worker: Worker, held: int | None) -> Worker:
    if held is None or worker.memory_bytes is None:
        return worker
    return replace(worker, memory_bytes=max(held, worker.memory_bytes))
