"""What is not asked at every poll: a job's batch script, once, and its GPU figures, every fifth poll."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from dogwatch.model import Facts, Job, Known, RareFacts, Running
from dogwatch.sources.slurm import gpu_metrics, requests
from dogwatch.sources.slurm.logs import logs_of

EVERY = 5
SCRIPTS_AT_ONCE = 8  # each is a question to the controller
METRICS = "gpu_metrics.csv"

_UNKNOWN = Known()
_NO_FACTS, _NOTHING = Facts(), RareFacts()


def ask(
    jobs: Sequence[Job],
    known: Mapping[str, Known],
    facts: Mapping[str, Facts],
    rare: Mapping[str, RareFacts],
    turn: int,
) -> dict[str, Any]:
    """Commands for batch scripts and the section "gpu_metrics", where there is anything to ask."""
    running = [job for job in jobs if isinstance(known.get(job.ref, _UNKNOWN).state, Running)]
    scripts = [job for job in running if _wants_script(job, facts.get(job.ref, _NO_FACTS), rare.get(job.ref, _NOTHING))]
    asked: dict[str, Any] = {}
    if scripts:
        asked["commands"] = {
            name: spec for job in scripts[:SCRIPTS_AT_ONCE] for name, spec in requests.script(job.id).items()
        }
    if turn % EVERY == 0:
        paths = {job.ref: _metrics_path(job, facts.get(job.ref, _NO_FACTS)) for job in running}
        real = {ref: rare.get(ref, _NOTHING).real or {} for ref in paths}
        found = {ref: {"path": path, "real": real[ref]} for ref, path in paths.items() if path is not None}
        asked |= {"gpu_metrics": found} if found else {}
    return asked


def read(
    body: Mapping[str, Any], jobs: Sequence[Job], facts: Mapping[str, Facts], rare: Mapping[str, RareFacts]
) -> dict[str, RareFacts]:
    """The logs that a script redirects to, and the newest GPU figures."""
    scripts, metrics = requests.scripts(_section(body, "commands")), _section(body, "gpu_metrics")
    learnt = {}
    for job in (job for job in jobs if job.ref in metrics or job.id in scripts) if scripts or metrics else ():
        logs = _script_logs(job, facts.get(job.ref, _NO_FACTS), scripts.get(job.id))
        row = metrics.get(job.ref)
        gpu = gpu_metrics.newest(row.get("header", ""), row.get("text", "")) if row else None
        summary = None if gpu is None else gpu_metrics.add(rare.get(job.ref, _NOTHING).gpu_summary, gpu)
        if logs is not None or gpu is not None:
            learnt[job.ref] = RareFacts(script_logs=logs, gpu=gpu, gpu_summary=summary)
    return learnt


def _section(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = body.get(name)
    return section if isinstance(section, dict) else {}


def _wants_script(job: Job, facts: Facts, rare: RareFacts) -> bool:
    return not job.track.get("log_given") and bool(facts.stdout) and rare.script_logs is None


def _script_logs(job: Job, facts: Facts, run: Mapping[str, Any] | None) -> tuple[str, ...] | None:
    """Slurm gives a script to its owner only, and says nothing with exit code 0 to others: that is no script."""
    if run is None or run.get("why") == "late":
        return None
    script = run["out"] if run.get("rc") == 0 else ""
    if not script.strip():
        return ()
    known = set(logs_of(facts, job.id))
    return tuple(path for path in logs_of(facts, job.id, script) if path not in known)


def _metrics_path(job: Job, facts: Facts) -> str | None:
    folder = os.path.dirname(job.expect.outputs[0]) if job.expect.outputs else facts.workdir
    return os.path.join(folder, METRICS) if folder.startswith("/") else None
