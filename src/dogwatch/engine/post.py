"""Post: the watch over one place, from one tick to the next."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dogwatch.clock import Clock
from dogwatch.engine import pace
from dogwatch.engine.judge import Identity, identity
from dogwatch.engine.look import Glance, glance, rest_of_logs
from dogwatch.engine.memory import Memory
from dogwatch.engine.reading import Readers
from dogwatch.engine.round import Round, Watched, dark_round, seen_round
from dogwatch.logs.user import UserPatterns, compile_patterns
from dogwatch.model import Dark, Ended, Finding, Job, Place, follow
from dogwatch.reach.interface import Reach
from dogwatch.sources.interface import Source
from dogwatch.store import tick as rows
from dogwatch.store.database import Store

DEADLINE = 10.0
# A pause between looks beyond this many intervals is our own absence, not the job's silence.
GAP_INTERVALS, GAP_LEAST = 3.0, 15.0


class Post:
    """Holds what the last committed tick left, so that a tick costs no reading of the store; reloads
    when another process wrote there. Nothing it holds is true before the store has it."""

    def __init__(
        self,
        place: Place,
        reach: Reach,
        sources: Mapping[str, Source],
        clock: Clock,
        every: float | None = None,
    ) -> None:
        self.place, self.reach = place, reach
        self._sources, self._clock, self._every = sources, clock, every
        self._jobs: dict[str, Watched] = {}
        self._version: int | None = None
        self._dark_looks = 0
        self._dark_since: float | None = None
        self._last_seen: float | None = None
        self._rng = random.Random()
        self.due = float("-inf")

    @property
    def jobs(self) -> Mapping[str, Watched]:
        return self._jobs

    def refresh(self, store: Store) -> None:
        """Take up what other processes added or removed since the last tick."""
        version = store.changed()
        if version == self._version:
            return
        before = self._jobs
        self._jobs = {}
        for tracked in rows.load(store, self.place.name):
            old = before.get(tracked.job.ref)
            if old is not None and old.known == tracked.known:
                old.job = tracked.job
                self._jobs[tracked.job.ref] = old
                continue
            memory = Memory.from_json(tracked.memory)
            self._jobs[tracked.job.ref] = Watched(
                tracked.job, tracked.known, memory, Readers(_patterns(tracked.job)), tracked.started
            )
        self._version = version

    def forget_all(self) -> None:
        """Start again from the store: what was concluded since could not be committed."""
        self._jobs, self._version = {}, None

    def tick(self, open_now: Mapping[Identity, Finding]) -> Round:
        """One look and everything that follows from it, not yet committed."""
        mono = self._clock.mono()
        jobs = [one.job for one in self._jobs.values()]
        known = {ref: one.known for ref, one in self._jobs.items()}
        memories = {ref: one.memory for ref, one in self._jobs.items()}
        seen = glance(
            self.reach,
            self._sources,
            jobs,
            known,
            memories,
            place=self.place.name,
            at=self._clock.now(),
            deadline=DEADLINE,
        )
        look = seen.look
        after, changes = follow(known, look)
        if isinstance(look, Dark):
            self._dark_looks += 1
            self._dark_since = self._dark_since or look.at
            return dark_round(look, self._dark_looks, self._dark_since, len(jobs), open_now, mono)
        ending = [change.ref for change in changes if isinstance(change.after.state, Ended)]
        seen = self._catch_up(seen, ending)
        return seen_round(
            seen,
            look,
            changes,
            after,
            self._jobs,
            watched=self._watched_seconds(mono),
            was_dark=self._dark_looks > 0,
            open_now=open_now,
            mono=mono,
        )

    def accept(self, round_: Round) -> None:
        """The round is committed: what it concluded is now what is known."""
        mono = self._clock.mono()
        if round_.dark is not None:
            self.due = mono + pace.backoff(self._dark_looks, self.place.floor, self._rng)
            return
        self._dark_looks, self._dark_since = 0, None
        self._last_seen = round_.tick.mono
        self._jobs |= round_.jobs
        for ref in [ref for ref, one in self._jobs.items() if isinstance(one.known.state, Ended)]:
            del self._jobs[ref]
        self.due = mono + self.interval()

    def interval(self) -> float:
        """Seconds until the next look that suits the jobs and is polite to the place."""
        if self._every is not None:
            return max(self.place.floor, self._every)
        wanted = [
            one.job.expect.check_interval or pace.interval(one.memory.age, one.remaining) for one in self._jobs.values()
        ]
        return pace.place_interval(self.place.floor, wanted)

    def _watched_seconds(self, mono: float) -> float:
        """Seconds since the last look for which we were really there; none after a gap of our own."""
        if self._last_seen is None:
            return 0.0
        passed = mono - self._last_seen
        return passed if 0 <= passed <= max(GAP_LEAST, GAP_INTERVALS * self.interval()) else 0.0

    def _catch_up(self, seen: Glance, ending: Sequence[str]) -> Glance:
        """A job that has just ended is read to the end of its logs before anything is said of it."""
        logs = dict(seen.logs)
        for ref in ending:
            if ref in logs:
                logs[ref] = rest_of_logs(self.reach, self._jobs[ref].job, logs[ref], DEADLINE)
        return replace(seen, logs=logs)


def _patterns(job: Job) -> UserPatterns | None:
    expect = job.expect
    if not expect.progress_patterns and not expect.error_patterns:
        return None
    return compile_patterns(expect.progress_patterns, expect.error_patterns, job.ref)


def index(findings: list[rows.OpenFinding]) -> dict[Identity, Finding]:
    """Open findings by their identity."""
    return {identity(one.finding): one.finding for one in findings}
