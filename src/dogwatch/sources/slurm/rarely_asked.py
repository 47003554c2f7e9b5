"""What is not asked at every poll: a job's batch script, once, and its GPU figures, every fifth poll."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

from dogwatch.model import Facts, Job, Known, RareFacts, Running
from dogwatch.sources.interface import RareAnswers, RarelyAsked
from dogwatch.sources.slurm import gpu_metrics, requests
from dogwatch.sources.slurm.logs import logs_of
from dogwatch.sources.slurm.track import tracks
from dogwatch.wire.commands import Ran
from dogwatch.wire.questions import GpuMetricsFile, Questions

EVERY = 5
SCRIPTS_AT_ONCE = 8  # each is a question to the controller
METRICS = "gpu_metrics.csv"

_UNKNOWN = Known()
_NO_FACTS, _NOTHING = Facts(), RareFacts()


def ask(about: RarelyAsked) -> Questions:
    """Commands for batch scripts, and files of GPU figures, where there is anything to ask."""
    facts, rare = about.facts, about.rare
    asked = Questions()
    scripts = (
        job for job in _running(about) if _wants_script(job, facts.get(job.ref, _NO_FACTS), rare.get(job.ref, _NOTHING))
    )
    for job in islice(scripts, SCRIPTS_AT_ONCE):
        asked.add(Questions(commands=requests.script(job.id)))
    if about.turn % EVERY == 0:
        for job in _running(about):
            if path := _metrics_path(job, facts.get(job.ref, _NO_FACTS)):
                asked.gpu_metrics[job.ref] = GpuMetricsFile(path, rare.get(job.ref, _NOTHING).real or {})
    return asked


def _running(about: RarelyAsked) -> Iterator[Job]:
    return (job for job in about.jobs if isinstance(about.known.get(job.ref, _UNKNOWN).state, Running))


def read(answers: RareAnswers, about: RarelyAsked) -> dict[str, RareFacts]:
    """The logs that a script redirects to, and the newest GPU figures."""
    scripts, metrics = requests.scripts(answers.commands), answers.gpu_metrics
    learnt = {}
    for job in (job for job in about.jobs if job.ref in metrics or job.id in scripts) if scripts or metrics else ():
        logs = _script_logs(job, about.facts.get(job.ref, _NO_FACTS), scripts.get(job.id))
        row = metrics.get(job.ref)
        gpu = gpu_metrics.newest(row.header, row.text) if row is not None else None
        summary = None if gpu is None else gpu_metrics.add(about.rare.get(job.ref, _NOTHING).gpu_summary, gpu)
        if logs is not None or gpu is not None:
            learnt[job.ref] = RareFacts(script_logs=logs, gpu=gpu, gpu_summary=summary)
    return learnt


def _wants_script(job: Job, facts: Facts, rare: RareFacts) -> bool:
    return rare.script_logs is None and bool(facts.stdout) and not tracks.of(job).log_given


def _script_logs(job: Job, facts: Facts, run: Ran | None) -> tuple[str, ...] | None:
    """Slurm gives a script to its owner only, and says nothing with exit code 0 to others: that is no script."""
    if run is None or run.why == "late":
        return None
    script = run.out if run.rc == 0 else ""
    if not script.strip():
        return ()
    known = set(logs_of(facts, job.id))
    return tuple(path for path in logs_of(facts, job.id, script) if path not in known)


def _metrics_path(job: Job, facts: Facts) -> str | None:
    folder = os.path.dirname(job.expect.outputs[0]) if job.expect.outputs else facts.workdir
    return os.path.join(folder, METRICS) if folder.startswith("/") else None
