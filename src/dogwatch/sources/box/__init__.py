"""Runs on a machine without a scheduler: a rented GPU box that ssh reaches, or this one.

A run is a chain of stages that `dogwatch run` started, known by its run directory, or one that somebody else started,
known by a tmux session or its processes and by the files that mark its stages. All times are by the machine's own
clock, and only differences on that clock count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import structs

from dogwatch.model import Ended, Job, Known, Observation, Waiting
from dogwatch.sources.box.adopted import read_adopted
from dogwatch.sources.box.chain import read_chain
from dogwatch.sources.box.polled_run import PolledRun, lost_observation
from dogwatch.sources.box.records import Unreadable, read
from dogwatch.sources.box.track import tracks
from dogwatch.sources.interface import Source, SourcePlugin
from dogwatch.wire.box import BoxRow, BoxSection
from dogwatch.wire.questions import BoxQuestion, Questions

if TYPE_CHECKING:
    from dogwatch.sources.interface import Section


class BoxSource(Source):
    """See the module: one question about all runs of a machine; one observation per run."""

    kind = "box"
    section = "box"

    def ask(self, jobs: Sequence[Job], known: Mapping[str, Known], at: float) -> Questions:
        asked: dict[str, BoxQuestion] = {}
        for job in jobs:
            track = tracks.of(job)
            if track.chain is not None:
                asked[job.ref] = BoxQuestion(chain=track.chain, results=track.results)
                continue
            find = None if track.seen else track.find
            asked[job.ref] = BoxQuestion(
                tmux=track.tmux, pids=track.pids, find=find, markers=track.markers, results=track.results
            )
        return Questions(box=asked)

    def read(
        self, answer: Section, jobs: Sequence[Job], known: Mapping[str, Known], at: float
    ) -> tuple[frozenset[str], dict[str, Observation]]:
        assert isinstance(answer, BoxSection)
        spoken_for, observations = set(), {}
        for job in jobs:
            row, machine = answer.rows.get(job.ref), answer.machine
            if row is None or machine is None or _problem(job, row, answer) is not None:
                continue
            polled = PolledRun(job, tracks.of(job), row, machine, answer, at)
            observation = _observe(polled, known.get(job.ref, Known()))
            spoken_for.add(job.ref)
            if observation is not None:
                observations[job.ref] = observation
        return frozenset(spoken_for), observations

    def trouble(self, answer: Section, jobs: Sequence[Job]) -> str | None:
        return None  # what cannot be read of one run is said of that run

    def blind(self, answer: Section, jobs: Sequence[Job]) -> dict[str, str]:
        assert isinstance(answer, BoxSection)
        unseen: dict[str, str] = {}
        for job in jobs:
            row = answer.rows.get(job.ref)
            why = "the answer does not speak of it" if row is None else _problem(job, row, answer)
            if why is not None:
                unseen[job.ref] = why
        return unseen


def _observe(polled: PolledRun, known: Known) -> Observation | None:
    if polled.track.chain is None:
        observation, track = read_adopted(polled)
        if track == polled.track:
            return observation
        return _with_track(observation, track.to_json(polled.job))
    chain = polled.row.chain
    if chain is None or not chain.there:
        attempt = known.attempt or f"{polled.job.id}:1"
        if polled.lost:
            return lost_observation(polled, attempt, ())
        if polled.track.sending:
            return Observation(polled.job.ref, attempt, Waiting("being sent"), "being sent", "being sent")
        return None
    since = known.since if isinstance(known.state, Ended) else None
    found = read_chain(polled, read(chain.texts), since)
    if found is None or found.is_other or polled.track.machine or not polled.machine.id or not _is_alive(found):
        return found
    learnt = structs.replace(polled.track, machine=polled.machine.id, seen=True)
    return _with_track(found, learnt.to_json(polled.job))


def _is_alive(observation: Observation) -> bool:
    facts = observation.facts
    return facts is not None and facts.box is not None and bool(facts.box.alive)


def _with_track(observation: Observation, track: Mapping[str, object]) -> Observation:
    return replace(observation, track=track)


def _problem(job: Job, row: BoxRow, answer: BoxSection) -> str | None:
    """Why this answer says nothing of a run; None when it does."""
    track = tracks.of(job)
    if track.chain is not None:
        if row.chain is None:
            return "the records of the run could not be read"
        if row.chain.problem is not None:
            return row.chain.problem
        try:
            files = read(row.chain.texts)
        except Unreadable as error:
            return str(error)
        return "its spec.json is not there" if row.chain.there and files.spec is None else None
    if track.tmux and (answer.tmux is None or not answer.tmux.asked) and not track.pids:
        return "tmux does not answer" + (f": {answer.tmux.why}" if answer.tmux is not None else "")
    return None


source = BoxSource()
PLUGIN = SourcePlugin("box", "runs on a machine without a scheduler", lambda: source)
