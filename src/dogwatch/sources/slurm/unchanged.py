"""Unchanged: a job of which Slurm prints the same line as at the last poll is not judged again."""

from __future__ import annotations

from typing import NamedTuple

from dogwatch.model import Evidence, Job, Known, Observation, Running, Waiting
from dogwatch.sources.slurm.judge import Books, Said
from dogwatch.sources.slurm.queue import Row
from dogwatch.sources.slurm.track import SlurmTrack, tracks

MOST = 50_000


class _Held(NamedTuple):
    row: Row
    track: SlurmTrack
    cluster: str
    observation: Observation


class Unchanged:
    """The last observations of jobs that run or wait as one line of the queue. One is given again only if all that
    it was made of is the same; only the time of its evidence is new."""

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}
        self._at = float("nan")
        self._evidence_seen: dict[tuple[str, str], tuple[Evidence]] = {}

    def again(self, job: Job, known: Known, said: Said, at: float) -> Observation | None:
        held = self._held.get(job.ref)
        if held is None or len(said.rows) != 1 or said.records or said.books is not Books.NOT_ASKED:
            return None
        before = held.observation
        same_state = known.state is before.state or known.state == before.state
        row = said.rows[0]
        same = same_state and (row is held.row or row == held.row) and known.attempt == before.attempt
        if not same or tracks.of(job) != held.track or said.cluster != held.cluster:
            return None
        evidence = self._evidence(before.evidence[0].by, before.evidence[0].says, at)
        said_before = (before.attempt, before.state, before.native, before.reason)
        return Observation(job.ref, *said_before, evidence, facts=before.facts, restarts=before.restarts)

    def _evidence(self, by: str, says: str, at: float) -> tuple[Evidence]:
        """One evidence for all jobs of a poll of which the same is said."""
        if at != self._at:
            self._at, self._evidence_seen = at, {}
        found = self._evidence_seen.get((by, says))
        if found is None:
            found = self._evidence_seen[by, says] = (Evidence(by, says, at),)
        return found

    def keep(self, job: Job, known: Known, said: Said, observation: Observation) -> Observation:
        """Remember a observation that says nothing new, so that the next like it says the same."""
        steady = isinstance(observation.state, (Running, Waiting)) and known.state == observation.state
        alone = len(said.rows) == 1 and said.rows[0].active and not said.rows[0].task and not said.records
        nothing_learnt = (
            observation.track is None and tracks.of(job).missing_since is None and known.attempt == observation.attempt
        )
        plain = said.books is Books.NOT_ASKED and len(observation.evidence) == 1 and observation.settled
        if steady and alone and nothing_learnt and plain:
            if len(self._held) >= MOST:
                self._held.clear()
            self._held[job.ref] = _Held(said.rows[0], tracks.of(job), said.cluster, observation)
        else:
            self._held.pop(job.ref, None)
        return observation
