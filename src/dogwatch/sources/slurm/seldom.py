"""What is not asked at every poll: a job's batch script, once, and its GPU figures, every fifth poll."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from dogwatch.model import Job, Known, Running
from dogwatch.sources.slurm import gpu_metrics, requests
from dogwatch.sources.slurm.logs import logs_of

EVERY = 5
SCRIPTS_AT_ONCE = 8  # each is a question to the controller
METRICS = "gpu_metrics.csv"

Facts = Mapping[str, Mapping[str, Any]]
_UNKNOWN = Known()


def ask(jobs: Sequence[Job], known: Mapping[str, Known], facts: Facts, turn: int) -> dict[str, Any]:
    """Commands for batch scripts and the section "gpu_metrics", where there is anything to ask."""
    running = [job for job in jobs if isinstance(known.get(job.ref, _UNKNOWN).state, Running)]
    scripts = [job for job in running if _wants_script(job, facts.get(job.ref, {}))][:SCRIPTS_AT_ONCE]
    asked: dict[str, Any] = {}
    if scripts:
        asked["commands"] = {name: spec for job in scripts for name, spec in requests.script(job.id).items()}
    if turn % EVERY == 0:
        paths = {job.ref: _metrics_path(job, facts.get(job.ref, {})) for job in running}
        real = {ref: facts.get(ref, {}).get("real") or {} for ref in paths}
        found = {ref: {"path": path, "real": real[ref]} for ref, path in paths.items() if path is not None}
        asked |= {"gpu_metrics": found} if found else {}
    return asked


def read(body: Mapping[str, Any], jobs: Sequence[Job], facts: Facts) -> dict[str, dict[str, Any]]:
    """The logs that a script redirects to, and the newest GPU figures."""
    scripts, metrics = requests.scripts(_section(body, "commands")), _section(body, "gpu_metrics")
    learnt: dict[str, dict[str, Any]] = {}
    for job in (job for job in jobs if job.ref in metrics or job.id in scripts) if scripts or metrics else ():
        told = _script_logs(job, facts.get(job.ref, {}), scripts.get(job.id))
        gpu = gpu_metrics.read(metrics.get(job.ref))
        if told is not None or gpu is not None:
            seen = {} if gpu is None else {"gpu": gpu, "gpu_seen": gpu_metrics.add(facts.get(job.ref, {}), gpu)}
            learnt[job.ref] = {**(told or {}), **seen}
    return learnt


def _section(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = body.get(name)
    return section if isinstance(section, dict) else {}


def _wants_script(job: Job, facts: Mapping[str, Any]) -> bool:
    return not job.track.get("log_given") and bool(facts.get("stdout")) and not facts.get("script_read")


def _script_logs(job: Job, facts: Mapping[str, Any], run: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Slurm gives a script to its owner only, and says nothing with exit code 0 to others: that is no script."""
    if not isinstance(run, dict) or run.get("why") == "late":
        return None
    script = run.get("out") if run.get("rc") == 0 else ""
    if not isinstance(script, str) or not script.strip():
        return {"script_read": True}
    known = set(logs_of(facts, job.id))
    found = [path for path in logs_of(facts, job.id, script) if path not in known]
    return {"script_read": True, "script_logs": found}


def _metrics_path(job: Job, facts: Mapping[str, Any]) -> str | None:
    folder = os.path.dirname(job.expect.outputs[0]) if job.expect.outputs else facts.get("workdir")
    return os.path.join(folder, METRICS) if isinstance(folder, str) and folder.startswith("/") else None
