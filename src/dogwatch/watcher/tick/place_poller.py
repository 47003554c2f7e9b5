"""The poller of one place, from one tick to the next."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from dogwatch.clock import Clock
from dogwatch.logs.user import UserPatterns, compile_patterns
from dogwatch.model import Change, Ended, Finding, Job, Known, Outcome, Place, Unreachable, follow
from dogwatch.model.job import Rent
from dogwatch.rules.interface import Idle
from dogwatch.sources.interface import Source
from dogwatch.store import waiters
from dogwatch.store.interface import Store
from dogwatch.store.rows import places
from dogwatch.store.rows import tick as rows
from dogwatch.transport.interface import Transport
from dogwatch.transport.ssh_failure import GARBLED, LATE
from dogwatch.watcher.job.file_checks import FileChecks
from dogwatch.watcher.job.gpus import GpuSchedule, last_asked
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.memory_checks import MemoryChecks
from dogwatch.watcher.job.probe_answer import ANSWER_BYTES, ProbeAnswer, probe_answer, with_logs
from dogwatch.watcher.job.read_files import Readers
from dogwatch.watcher.job.stall import asks_usage, living_pids, silence_left
from dogwatch.watcher.job.watched import WatchedJob
from dogwatch.watcher.tick import follow_up, poll_interval
from dogwatch.watcher.tick.conclude import TickResult, answered_tick, unreachable_tick
from dogwatch.watcher.tick.idle import FreeGpus, idle
from dogwatch.watcher.tick.judge import Identity, identity

HERE_DEADLINE = 10.0
NO_RENT = Rent()
# A controller that is gone takes squeue 20 to 40 s to say so, and the accounting has its own time-out.
FAR_DEADLINE = 90.0
LEAST_BYTES = 4096
# So many times as long may a round wait to be written that found every job as it was: it moves only times of evidence.
RESTING = 2.5
# A pause between polls beyond this many intervals is our own absence, not the job's silence.
GAP_INTERVALS, GAP_LEAST = 3.0, 15.0


@dataclass(frozen=True, slots=True)
class PollResult:
    """What one poll brought: the probe answer, what is known after it, the changes, and when it was sent out."""

    probe_answer: ProbeAnswer
    after: Mapping[str, Known]
    changes: tuple[Change, ...]
    mono: float


class PlacePoller:
    """Holds what the last tick left, so that a tick costs no reading of the store; reloads when another
    process wrote there. But for numbers that move with every poll, nothing it holds is ahead of the store."""

    def __init__(
        self,
        place: Place,
        transport: Transport,
        sources: Mapping[str, Source],
        clock: Clock,
        every: float | None = None,
        bundles: bool = True,
        rent: Rent = NO_RENT,
    ) -> None:
        self.place, self.transport, self._bundles = place, transport, bundles
        self._rent, self._free_gpus = rent, FreeGpus()
        self._sources, self._clock, self._every = sources, clock, every
        self._jobs: dict[str, WatchedJob] = {}
        self._version: int | None = None
        self._anew = False  # whether every job is read anew from the store, since one was changed halfway
        self._failed_polls, self._most = 0, ANSWER_BYTES
        self._unreachable_since: float | None = None
        self._last_seen: float | None = None
        self._interval = 0.0
        self._most_connections = 0
        self._owed: tuple[str, ...] = ()  # jobs that ended in the last poll, and of which nothing more could be read
        self._rng = random.Random()
        self.due = self._written = self._asked = float("-inf")
        self._deadline = HERE_DEADLINE if place.kind == "here" else FAR_DEADLINE
        self.rung = self.once = False
        self.turn = 0
        self._gpus = GpuSchedule(far=place.kind != "here")
        self._file_checks = FileChecks(place.kind == "here")
        self._memory_checks = MemoryChecks(far=place.kind != "here")
        self._markers: list[str] = []  # files that somebody waits for
        self._there: frozenset[str] = frozenset()  # those of them that are there, as the store has it

    @property
    def jobs(self) -> Mapping[str, WatchedJob]:
        return self._jobs

    def refresh(self, store: Store) -> None:
        """Take up what other processes added or removed since the last tick."""
        self._markers = waiters.markers(store.location, self.place.name)
        version = store.revision_of_others()
        if version == self._version:
            return
        if self._version is None:
            self._take_over(store)
        before = {} if self._anew else self._jobs
        self._jobs, self._anew = {}, False
        for tracked in rows.load(store, self.place.name):
            old = before.get(tracked.job.ref)
            if old is not None and _same_story(old.known, tracked.known):
                if old.job != tracked.job:  # somebody expects something else of it now: all of it is looked at anew
                    old.job, old.case, old.described = tracked.job, None, float("-inf")
                self._jobs[tracked.job.ref] = old
                continue
            memory = Memory.from_json(tracked.memory)
            self._jobs[tracked.job.ref] = WatchedJob(
                tracked.job, tracked.known, memory, Readers(_patterns(tracked.job), memory), tracked.started
            )
        self._version = version

    def _take_over(self, store: Store) -> None:
        """An outage goes on from one watcher to the next: each patrol is a watcher of its own. So does the floor of
        another machine; a time that lies ahead of us was written before the clock was set back, and forbids nothing."""
        self._unreachable_since = places.unreachable_since(store, self.place.name)
        self._failed_polls = 0 if self._unreachable_since is None else max(1, self._failed_polls)
        looked, now = places.polled_at(store, self.place.name), self._clock.now()
        if self.place.kind != "here" and looked is not None and looked <= now:
            self.due = max(self.due, self._clock.mono() + self.place.floor - (now - looked))

    def hurry(self, deadline: float | None) -> None:
        """Wait for an answer no longer than this, where that is less than usual."""
        self._deadline = self._deadline if deadline is None else min(self._deadline, deadline)

    def failed(self, why: str) -> PollResult:
        """A poll that came to nothing by a fault of ours: nothing was learnt, and what was concluded halfway is thrown
        away with it."""
        at, mono = self._clock.now(), self._clock.mono()
        known = {ref: one.known for ref, one in self._jobs.items()}
        self._version, self._anew = None, True
        return PollResult(ProbeAnswer(Unreachable(self.place.name, at, 0.0, why, GARBLED)), known, (), mono)

    def forget_all(self) -> None:
        """Start again from the store: what was concluded since could not be committed."""
        self._jobs, self._version = {}, None

    def tick(self, open_now: Mapping[Identity, Finding], write_every: float = 0.0) -> TickResult:
        """One poll and everything that follows from it, not yet committed; see `conclude`."""
        return self.conclude(self.look(), open_now, write_every)

    def look(self) -> PollResult:
        """Ask the place once, and read what the answer changes. May run in a thread of its own: while it does,
        nobody else touches this post."""
        self._asked = mono = self._clock.mono()
        self.rung = False
        jobs, known, memories = [], {}, {}
        for ref, one in self._jobs.items():
            jobs.append(with_logs(one.job, one.memory))
            known[ref], memories[ref] = one.known, one.memory
        extra_probes = self._file_checks.request(self._jobs, mono)
        beside = self._gpus.ask(self._jobs.values(), mono, once=self.once) or {}
        beside |= self._memory_checks.ask(self._jobs, mono, once=self.once)
        seen = probe_answer(
            self.transport,
            self._sources,
            jobs,
            known,
            memories,
            place=self.place.name,
            at=self._clock.now(),
            deadline=self._deadline,
            turn=self.turn,
            most=self._most,
            silent=self._silent(mono),
            extra_probes={**extra_probes, **beside},
            markers=self._markers,
        )
        seen = self._gpus.heard(self._file_checks.take(seen, extra_probes), self._jobs.values(), mono)
        seen = self._memory_checks.heard(seen, self._jobs, mono)
        self.turn += 1
        self._most = next_most(self._most, seen)
        after, changes = follow(known, seen.look)
        seen = self._with_most_connections(self._follow_up(seen, jobs, after, changes, memories, mono))
        return PollResult(seen, after, changes, mono)

    def _follow_up(
        self,
        seen: ProbeAnswer,
        jobs: Sequence[Job],
        after: dict[str, Known],
        changes: Sequence[Change],
        memories: Mapping[str, Memory],
        mono: float,
    ) -> ProbeAnswer:
        """Ask once more for all that is wanted of what has ended. An ending of which nothing could be read is not
        settled: the next poll asks again."""
        if isinstance(seen.look, Unreachable):
            return seen
        ended = [change.ref for change in changes if isinstance(change.after.state, Ended)]
        again = [ref for ref in self._owed if ref in seen.look.asked and isinstance(after[ref].state, Ended)]
        failed = [self._jobs[change.ref] for change in changes if _bad(change)]
        wanted = follow_up.wanted(
            seen,
            seen.look,
            jobs,
            list(dict.fromkeys([*ended, *again])),
            after,
            memories,
            most=self._most,
            bundles=self._bundles,
            gpus=last_asked(self._gpus, seen, failed, mono),
        )
        seen, answered = follow_up.ask(wanted, self.transport, seen, self._deadline)
        self._owed = () if answered else tuple(ended)
        if not answered:  # a slow link brings less the next time, and then all of it
            self._most = max(LEAST_BYTES, self._most // 4)
        for ref in self._owed:
            after[ref] = replace(after[ref], settled=False)
        return seen

    def _with_most_connections(self, seen: ProbeAnswer) -> ProbeAnswer:
        """With the most connections that any tick of this watcher made to the place."""
        facts = seen.facts
        if facts is None or not facts.connections:
            return seen
        self._most_connections = max(self._most_connections, facts.connections)
        return replace(seen, facts=structs.replace(facts, most_connections=self._most_connections))

    def _silent(self, mono: float) -> dict[str, tuple[int, ...]]:
        """The jobs whose processes are to be asked what they use, with their pids."""
        asked = {ref: living_pids(one.workers) for ref, one in self._jobs.items() if asks_usage(one.memory, mono)}
        return {ref: pids for ref, pids in asked.items() if pids}

    def conclude(
        self, looked: PollResult, open_now: Mapping[Identity, Finding], write_every: float = 0.0
    ) -> TickResult:
        """What follows from a poll, not yet committed; numbers that moved are left to a later round when others
        were written less than `write_every` seconds ago, and a little longer where only times of evidence did."""
        look, mono = looked.probe_answer.look, looked.mono
        if isinstance(look, Unreachable):
            self._failed_polls += 1
            self._unreachable_since = self._unreachable_since or look.at
            return unreachable_tick(look, self._failed_polls, self._unreachable_since, len(self._jobs), open_now, mono)
        there = there_now(looked.probe_answer)
        news, self._there = bool(there - self._there), there
        return answered_tick(
            looked.probe_answer,
            look,
            looked.changes,
            looked.after,
            self._jobs,
            watched=self._watched_seconds(mono),
            was_unreachable=self._failed_polls > 0,
            open_now=open_now,
            mono=mono,
            may_wait=0 <= mono - self._written < write_every and not news,
            may_rest=0 <= mono - self._written < RESTING * write_every and not news,
            idle=self._idle(looked),
        )

    def _idle(self, looked: PollResult) -> Idle | None:
        """Whether a machine that is paid for does nothing; this machine is its owner's."""
        if self.place.kind == "here":
            return None
        self._free_gpus.take(looked.probe_answer.gpus, looked.mono)
        free = self._free_gpus.seconds(looked.mono)
        return idle(self._jobs.values(), looked.after, free, self._rent.price_per_hour, self._rent.stop)

    def accept(self, result: TickResult) -> None:
        """The round is committed: what it concluded is now what is known."""
        mono = self._clock.mono()
        if not result.waits:
            self._written = result.tick.mono
        if result.unreachable is not None:
            self.due = mono + poll_interval.backoff(
                self._failed_polls, self.place.floor, self._rng, result.unreachable.kind
            )
            return
        self._failed_polls, self._unreachable_since = 0, None
        self._last_seen = result.tick.mono
        self._jobs |= result.jobs
        for ref in [ref for ref, one in self._jobs.items() if _is_over(one.known)]:
            del self._jobs[ref]
        self._interval = self.interval()
        self.due = float("-inf") if self.rung else mono + self._interval

    def ring(self) -> None:
        """Something happened there: look at once. A place that does not answer is not asked more often for that than
        its floor allows."""
        self.rung = True
        self.due = min(self.due, self._asked + self.place.floor) if self._failed_polls else float("-inf")

    def interval(self) -> float:
        """Seconds until the next poll that suits the jobs and is polite to the place."""
        if self._every is not None:
            return max(self.place.floor, self._every)
        wanted = (
            one.job.expect.check_interval
            or poll_interval.interval(one.memory.age, one.remaining, silence_left(one.memory, one.verdict, one.workers))
            for one in self._jobs.values()
        )
        return poll_interval.place_interval(self.place.floor, wanted)

    def _watched_seconds(self, mono: float) -> float:
        """Seconds since the last poll for which we were really there; none after a gap of our own."""
        if self._last_seen is None:
            return 0.0
        passed = mono - self._last_seen
        if passed > GAP_LEAST and passed > GAP_INTERVALS * self._interval:
            return 0.0
        return max(0.0, passed)


def next_most(most: int, seen: ProbeAnswer) -> int:
    """How much to ask for next: much less after an answer that came too late, and then slowly more again, so that a
    slow link brings the logs in parts instead of never."""
    if isinstance(seen.look, Unreachable):
        return max(LEAST_BYTES, most // 4) if seen.look.kind == LATE else most
    return min(ANSWER_BYTES, most + most // 4)


def there_now(seen: ProbeAnswer) -> frozenset[str]:
    """The files that somebody waits for and that are there."""
    return frozenset() if seen.facts is None else frozenset(path for path, there in seen.facts.markers.items() if there)


def _is_over(known: Known) -> bool:
    """Whether nothing more is to be learnt of it; an ending that is not settled is still asked about."""
    return isinstance(known.state, Ended) and known.settled


def _bad(change: Change) -> bool:
    state = change.after.state
    return isinstance(state, Ended) and state.outcome is not Outcome.SUCCEEDED


def _same_story(ours: Known, stored: Known) -> bool:
    """Whether nobody moved the job since; when it was last confirmed, and by what, may be newer here."""
    same_state = type(ours.state) is type(stored.state) and ours.since == stored.since
    return same_state and (ours.attempt, ours.attempts) == (stored.attempt, stored.attempts)


def _patterns(job: Job) -> UserPatterns | None:
    expect = job.expect
    if not expect.progress_patterns and not expect.error_patterns:
        return None
    return compile_patterns(expect.progress_patterns, expect.error_patterns, job.ref)


def index(findings: list[Finding]) -> dict[Identity, Finding]:
    """Open findings by their identity."""
    return {identity(finding): finding for finding in findings}
