"""What a tick concludes of a job that has ended, and of one that has just begun."""

from __future__ import annotations

from dataclasses import replace

from dogwatch.model.outcome import GOOD
from dogwatch.sources import kind_of
from dogwatch.store.rows.tick import Event
from dogwatch.watcher.job import attempts, document, launch
from dogwatch.watcher.job.final_checks import final
from dogwatch.watcher.job.final_outcome import concluded, with_evidence
from dogwatch.watcher.job.job_tick import JobTick


def end_job(tick: JobTick) -> None:
    """The final checks of a job that has ended, its final outcome, and why it failed if it did."""
    tick.memory.facts = document.with_limit(tick.memory.facts, tick.progress)
    listed = tick.probe_answer.files.get(tick.job.ref)
    workers_at_end = tick.workers or tick.watched.workers
    tick.final = final(
        tick.job, tick.memory, tick.progress, listed, tick.after, tick.observation, workers_at_end, tick.started
    )
    command_id = kind_of(tick.job.source).command_id(tick.job.id)
    fell = tick.watched.readers.log_evidence.diagnosis(tick.final.known, tick.disks, tick.watched.gpus, command_id)
    undecided = tick.final.known.final is None
    tick.after = concluded(tick.job, tick.memory, tick.progress, tick.news, tick.final.known, tick.final.checks, fell)
    tick.concluded = undecided and tick.after.final is not None
    if tick.after.final is not None and tick.after.final not in GOOD:
        tick.diagnosis = document.with_advice(attempts.with_doubt(tick.memory, fell), tick.memory.facts)
    tick.after = with_evidence(tick.after, tick.final, tick.news, tick.at, new=tick.change is not None)
    if tick.final.verified is not None and tick.final.verified.ok and tick.after.final not in (None, *GOOD):
        tick.final = replace(tick.final, verified=None)  # what was checked is there, but it did not end well


def launch_events(tick: JobTick) -> list[Event]:
    """What this poll shows of the beginning of the attempt."""
    watched, memory = tick.watched, tick.memory
    seen = (tick.workers, tick.probe_answer, tick.started, tick.progress, watched.gpus, watched.gpu_past)
    evidence = launch.launch_evidence(tick.job, memory, *seen, tick.news.first_step_age(tick.at))
    why = watched.readers.log_evidence.of_worker
    return launch.advance(memory, tick.job, tick.after, evidence, tick.started, tick.at, why)
