"""Every job that a poll could speak for: its files read, its progress estimated, its rules judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dogwatch.model import Answered, Change, Finding, Known
from dogwatch.rules.interface import BlindCase
from dogwatch.store.rows.changes import Reading
from dogwatch.store.rows.tick import Confirmed, Event, JobUpdate
from dogwatch.watcher.job.begin import begin_tick
from dogwatch.watcher.job.case import case_of
from dogwatch.watcher.job.describe import describe, events_of, keep, measured_of
from dogwatch.watcher.job.disks import DiskSpace
from dogwatch.watcher.job.job_tick import JobTick
from dogwatch.watcher.job.probe_answer import ProbeAnswer
from dogwatch.watcher.job.readings import due_readings, is_due
from dogwatch.watcher.job.update import update_job
from dogwatch.watcher.job.watched import WatchedJob
from dogwatch.watcher.tick.judge import NOTHING, Identity, Judgement, by_subject, judge_blind, judge_job


@dataclass(slots=True)
class UpdatedJobs:
    """What the updates of all jobs of a place led to. Nearly all of ten thousand jobs stay as they were: of those only
    their `updates` are held, of the others the whole `ticks`."""

    ticks: list[JobTick] = field(default_factory=list)
    updates: list[JobUpdate | Confirmed] = field(default_factory=list)
    jobs: dict[str, WatchedJob] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)
    saves: bool = False

    @property
    def happened(self) -> bool:
        """Whether anything is to be written at once: an event, a finding, or what a job has taught."""
        return self.saves or bool(self.events) or any(tells(each) or each.reworded for each in self.judgements)

    @property
    def endings(self) -> dict[str, Known]:
        """The jobs whose final outcome this tick decided."""
        return {tick.job.ref: tick.after for tick in self.ticks if tick.concluded}

    def keep(self) -> dict[str, WatchedJob]:
        """All jobs as the next tick finds them."""
        self.jobs |= {tick.job.ref: keep(tick) for tick in self.ticks}
        return self.jobs

    def describe(self) -> list[JobUpdate | Confirmed]:
        """All jobs as the store is told of them."""
        return [*self.updates, *(describe(tick) for tick in self.ticks)]

    def readings(self, mono: float) -> tuple[Reading, ...]:
        """The numbers that are due to be kept; asked after `keep`."""
        due = [(job, measured_of(tick)) for tick in self.ticks if is_due(job := self.jobs[tick.job.ref], mono)]
        return due_readings(due, mono)


_NONE: Mapping[Identity, Finding] = {}


def update_jobs(
    probe_answer: ProbeAnswer,
    answered: Answered,
    changes: Sequence[Change],
    after: Mapping[str, Known],
    jobs: Mapping[str, WatchedJob],
    open_now: Mapping[Identity, Finding],
    *,
    watched: float,
    mono: float,
) -> UpdatedJobs:
    """Update and judge each job. A job that the place could not be asked about keeps what is known of it."""
    updated, findings = UpdatedJobs(), by_subject(open_now)
    changed, disk_space = {change.ref: change for change in changes}, DiskSpace(probe_answer.disks, probe_answer.quotas)
    for ref, job in jobs.items():
        found = findings.get(ref, _NONE)
        if ref in probe_answer.blind:
            case = BlindCase(job.job, job.known, probe_answer.blind[ref])
            updated.judgements.append(judge_blind(case, found, answered.at))
        if ref in answered.asked:
            observation = answered.observations.get(ref)
            change, at = changed.get(ref), answered.at
            tick = begin_tick(job, after[ref], observation, change, probe_answer, disk_space, at, mono, watched)
            _update_job(tick, found, updated)
    return updated


def _update_job(tick: JobTick, findings: Mapping[Identity, Finding], updated: UpdatedJobs) -> None:
    update_job(tick)
    judgement = judge_job(case_of(tick), findings, tick.at, new_attempt=tick.anew)
    events = events_of(tick)
    if judgement is not NOTHING:
        tick.save = tick.save or tells(judgement)
        updated.judgements.append(judgement)
    if events:
        tick.save = True
        updated.events += events
    updated.saves = updated.saves or tick.save
    if tick.steady:
        updated.updates.append(describe(tick))
        updated.jobs[tick.job.ref] = keep(tick)
    else:
        updated.ticks.append(tick)


def tells(judgement: Judgement) -> bool:
    """Whether it has something for the history."""
    return bool(judgement.opened or judgement.escalated or judgement.resolved or judgement.closed)
