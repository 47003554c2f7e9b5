"""What launchers leave on a machine, as files laid out the way they lay them out."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any


def _row(run: str, number: int, at: float, executor: str, facts: dict[str, Any], tasks: list[str]) -> str:
    config = {"evaluation": {"tasks": [{"name": task} for task in tasks]}, "execution": {"type": executor}}
    row = {"invocation_id": run, "job_id": f"{run}.{number}", "timestamp": at, "executor": executor}
    return json.dumps({**row, "data": facts, "config": config}) + "\n"


def nel(home: Path, run: str, at: float, jobs: dict[str, str], host: str = "login.hpc", user: str = "ada") -> Path:
    """An invocation of the NeMo Evaluator launcher: task → Slurm id."""
    path = home / ".nemo-evaluator" / "exec-db" / "exec.v1.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        for number, job in enumerate(jobs.values()):
            facts = {"slurm_job_id": job, "remote_rundir_path": f"/r/{run}", "hostname": host, "username": user}
            file.write(_row(run, number, at + number, "slurm", facts, list(jobs)))
    return path


def nel_here(home: Path, run: str, at: float, *, over: bool) -> None:
    """The same without Slurm: its end is a file of its stage."""
    path = home / ".nemo-evaluator" / "exec-db" / "exec.v1.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = home / "results" / f"20261115_175057-{run}" / "ifeval.0"
    (folder / "logs").mkdir(parents=True)
    (folder / "logs" / "stage.running").write_text("2026-11-15T17:51:00Z\n")
    if over:
        (folder / "logs" / "stage.exit").write_text("2026-11-15T17:59:00Z 0\n")
    with path.open("a") as file:
        file.write(_row(run, 0, at, "local", {"output_dir": str(folder), "container": "c"}, ["ifeval"]))


def nel_next(home: Path, run: str, started: str, job: str, host: str = "login.hpc") -> None:
    """A run of NeMo Evaluator from 0.3 on."""
    folder = home / ".local" / "share" / "nel" / "runs" / run
    folder.mkdir(parents=True)
    details = {"job_id": job, "job_ids": [job], "hostname": host, "username": "ada", "is_sharded": False}
    row = {"run_id": run, "executor": "slurm", "started_at": started, "config_summary": "gsm8k", "details": details}
    (folder / "nel_run.json").write_text(json.dumps(row, indent=2))


def inspect(folder: Path, task: str, *, over: bool) -> Path:
    """An inspect log; the header is written when it ends."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"2026-11-15T18-03-15-00-00_{task}_VpzHsdiQAEN4DHWvkLwBCu.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_journal/start.json", "{}")
        if over:
            archive.writestr("header.json", "{}")
    return path


def nemo_run(home: Path, experiment: str, jobs: dict[str, str], host: str = "login.hpc") -> Path:
    """NeMo-Run's index of Slurm jobs: task → Slurm id."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / ".slurm_jobs"
    title = experiment.rpartition("_")[0]
    with path.open("a") as file:
        for task, job in jobs.items():
            tunnel = json.dumps(
                {"job_dir": f"/r/{title}/{experiment}", "host": host, "user": "ada", "packaging_jobs": {}}
            )
            folder = f"{home}/experiments/{title}/{experiment}/{task}"
            file.write(f"{job} = /r/{title}/{experiment}/{task}/log*,{folder},SSHTunnel,{tunnel}\n")
    return path


def srtctl(folder: Path, job: str, name: str) -> None:
    inner = folder / "outputs" / job
    inner.mkdir(parents=True)
    row = {
        "version": "2.0",
        "orchestrator": True,
        "job_id": job,
        "job_name": name,
        "generated_at": "2026-11-15 17:59:02",
    }
    (inner / f"{job}.json").write_text(json.dumps(row, indent=2))
