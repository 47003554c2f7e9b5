"""Jobs in a Slurm queue: what to ask a cluster, and what its answer means.

`queue.py` and `accounting.py` are squeue and sacct (command line and parser), `words.py` and `reasons.py` tables of
what Slurm says, `identity.py` tells our job from another with its id, `verdict.py` judges one line or record,
`tasks.py` puts the pieces of a job together, `judge.py` makes an Observation of all of it, `track.py` has what is
kept with a job. Everything is pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from dogwatch.model import Ended, Job, Known, Missing, Observation, RareFacts
from dogwatch.sources.interface import RareAnswers, RarelyAsked, SourcePlugin
from dogwatch.sources.slurm import accounting, queue, rarely_asked, requests, words
from dogwatch.sources.slurm.accounting import Record
from dogwatch.sources.slurm.judge import Books, Said, judge_job
from dogwatch.sources.slurm.logs import logs_of, usual_logs
from dogwatch.sources.slurm.times import number
from dogwatch.sources.slurm.track import SlurmTrack, tracks
from dogwatch.sources.slurm.unchanged import Unchanged
from dogwatch.wire.commands import CommandsSection
from dogwatch.wire.questions import Questions

if TYPE_CHECKING:
    from dogwatch.sources.interface import Section

__all__ = ["SlurmSource", "logs_of", "source"]

DAY = 86400.0
LONG_AGO = 30 * DAY  # a job whose submit time nobody knows may have ended long before somebody asked about it


class SlurmSource:
    """See the module: one squeue and at most one sacct for all jobs of a cluster; one observation per job."""

    kind = "slurm"
    section = "commands"

    def ask(self, jobs: Sequence[Job], known: Mapping[str, Known], at: float) -> Questions:
        ours = [(job, tracks.of(job)) for job in jobs if number(job.id) is not None]
        ids = sorted({job.id for job, _ in ours}, key=int)
        owners = {track.user or "" for _, track in ours}
        cluster_unknown = not all(track.cluster for _, track in ours)
        users = sorted(owners) if all(map(queue.is_user, owners)) else []
        commands = requests.poll(users, ids, _history(ours, known), _since(ours, at), at)
        return Questions(commands=commands | (requests.about(requests.QUEUE) if cluster_unknown else {}))

    def read(
        self, answer: Section, jobs: Sequence[Job], known: Mapping[str, Known], at: float
    ) -> tuple[frozenset[str], dict[str, Observation]]:
        answer = _commands(answer)
        blind = self.blind(answer, jobs)
        ours = [job for job in jobs if job.ref not in blind]
        wanted = _wanted(jobs)
        rows, _ = _queue(answer, wanted)
        if rows is None:
            return frozenset(), {}
        books, why, records = _books(answer, wanted)
        consulted = _consulted(answer, rows, ours, known)
        cluster = requests.cluster(answer).name or ""
        accounting_run = answer.ran.get(requests.ACCOUNTING)
        names = {} if accounting_run is None else accounting_run.users
        observations, requeues = {}, requests.requeues(answer)
        for job in ours:
            asked = books if job.id in consulted or books is Books.NONE else Books.NOT_ASKED
            again = requeues.get(job.id)
            said = Said(rows.get(job.id, ()), records.get(job.id, ()), asked, why, cluster, again, names)
            before = known.get(job.ref, _UNKNOWN)
            observations[job.ref] = _unchanged.again(job, before, said, at) or _unchanged.keep(
                job, before, said, _with_logs(job, before, judge_job(job, before, said, at))
            )
        return frozenset(observations), observations

    def also_ask(self, about: RarelyAsked) -> Questions:
        return rarely_asked.ask(about)

    def also_read(self, answers: RareAnswers, about: RarelyAsked) -> dict[str, RareFacts]:
        return rarely_asked.read(answers, about)

    def trouble(self, answer: Section, jobs: Sequence[Job]) -> str | None:
        """Why this answer says nothing about any job, in one sentence; None when it does."""
        rows, why = _queue(_commands(answer), _wanted(jobs))
        return why if rows is None else None

    def blind(self, answer: Section, jobs: Sequence[Job]) -> dict[str, str]:
        """The jobs that this answer cannot speak for: what has no Slurm id, or lives on another cluster."""
        cluster = requests.cluster(_commands(answer)).name
        unseen = {}
        for job in jobs:
            home = tracks.of(job).cluster
            if number(job.id) is None:
                unseen[job.ref] = f"{job.id!r} is not the id of a Slurm job"
            elif cluster and home and home != cluster:
                unseen[job.ref] = f"this host is now the cluster {cluster}, but the job is on the cluster {home}"
        return unseen

    def without_accounting(self, answer: CommandsSection) -> bool:
        """Whether this cluster keeps no accounting at all, so that none will ever say more."""
        return _books(answer, frozenset())[0] is Books.NONE

    def ask_mine(self, at: float) -> Questions:
        """For all jobs of the user who asks; `listed` reads the answer."""
        return Questions(commands=requests.poll([], [], [], max(1_000_000, int(at - DAY)), at))

    def listed(self, answer: CommandsSection) -> list[queue.Row]:
        """One row per job that the queue lists and that has not ended, for those who look for a job to watch."""
        rows, _ = _queue(answer, None)
        active = ([row for row in group if row.active] for group in (rows or {}).values())
        return [group[0] for group in active if group]


source = SlurmSource()
PLUGIN = SourcePlugin("slurm", "jobs in the queue of a cluster", lambda: source)
_unchanged = Unchanged()
_UNKNOWN = Known()


def _with_logs(job: Job, before: Known, observation: Observation) -> Observation:
    """The logs that Slurm names, unless the owner named one; of a job that no queue listed, the usual ones."""
    facts = observation.facts
    if facts is None or tracks.of(job).log_given:
        return observation
    logs: tuple[str, ...] = ()
    if facts.stdout:
        logs = logs_of(facts, job.id)
    elif before.state is None and facts.workdir:
        logs = usual_logs(facts, job.id)
    return replace(observation, facts=replace(facts, logs=logs)) if logs else observation


def _wanted(jobs: Sequence[Job]) -> frozenset[str]:
    return frozenset(job.id for job in jobs if number(job.id) is not None)


def _history(jobs: Iterable[tuple[Job, SlurmTrack]], known: Mapping[str, Known]) -> list[str]:
    """The ids that only the accounting can tell more about: ended, missing, or looked for in vain before."""
    wanted = set()
    for job, track in jobs:
        before = known.get(job.ref)
        if before is None:
            continue
        if track.run_polls is not None:
            wanted.add(job.id)
        if isinstance(before.state, (Ended, Missing)) or (before.state is None and before.reason):
            wanted.add(job.id)
    return sorted(wanted, key=int)


def _since(jobs: Iterable[tuple[Job, SlurmTrack]], at: float) -> int:
    """From when on to ask the accounting: it leaves out what ended before."""
    earliest = at
    for job, track in jobs:
        submit = track.submit
        if submit is not None and submit > 0:
            earliest = min(earliest, submit - DAY)
        else:
            earliest = min(earliest, (job.registered or at) - LONG_AGO)
    return max(1_000_000, int(earliest))  # sacct takes nothing smaller for a unix time


def _queue(answer: CommandsSection, wanted: frozenset[str] | None) -> tuple[dict[str, list[queue.Row]] | None, str]:
    """The rows of squeue by id; None and the reason when it did not answer."""
    run = answer.ran.get(requests.QUEUE)
    if run is None:
        return None, "squeue was not asked"
    if run.why or run.rc != 0:
        if not run.why and words.INVALID_ID in run.err.lower() and wanted and len(wanted) == 1:
            return {}, ""
        return None, f"squeue: {words.fault(run.why, run.rc, run.err)}"
    rows = _rows(run.out, wanted)
    return rows, "" if rows is not None else "squeue printed something that Dogwatch cannot parse"


@lru_cache(maxsize=1)
def _rows(out: str, wanted: frozenset[str] | None) -> dict[str, list[queue.Row]] | None:
    """Read once, though both `trouble` and `read` want to know."""
    return queue.parse(out, wanted)


def _books(answer: CommandsSection, wanted: frozenset[str]) -> tuple[Books, str, dict[str, list[Record]]]:
    """How the accounting fared, why, and its records by id."""
    run = answer.ran.get(requests.ACCOUNTING)
    if run is None:
        return Books.NOT_ASKED, "the accounting was not asked yet", {}
    if run.why or run.rc != 0:
        why = words.fault(run.why, run.rc, run.err, "sacct")
        missing = run.why == "not found" or why.startswith(words.NO_ACCOUNTING)
        return (Books.NONE if missing else Books.DOWN), why, {}
    records = accounting.parse(run.out, wanted)
    if records is None:
        return Books.DOWN, "sacct printed something that Dogwatch cannot parse", {}
    return Books.ANSWERED, "", records


def _consulted(
    answer: CommandsSection, rows: Mapping[str, Sequence[queue.Row]], jobs: Sequence[Job], known: Mapping[str, Known]
) -> frozenset[str]:
    """The ids that the accounting was asked about: as the probe says, else those it should have asked about."""
    run = answer.ran.get(requests.ACCOUNTING)
    if run is None:
        return frozenset()
    if run.ids:
        return frozenset(run.ids)
    idle = {job.id for job in jobs if not any(row.word in words.ACTIVE for row in rows.get(job.id, ()))}
    return frozenset(idle | set(_history(((job, tracks.of(job)) for job in jobs), known)))


def _commands(answer: Section) -> CommandsSection:
    assert isinstance(answer, CommandsSection)
    return answer
