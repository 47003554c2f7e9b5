"""Files that launchers leave: NeMo Evaluator, NeMo-Run, srtctl, inspect-ai."""

from __future__ import annotations

import json
import math

from dogwatch.api import launcher_traces
from tests.fuzz.dice import Dice, documents, is_clean

NEL = {
    "invocation_id": "aa11",
    "job_id": "aa11.0",
    "timestamp": 1794780000.0,
    "executor": "slurm",
    "data": {"slurm_job_id": "12", "hostname": "login", "username": "ada", "output_dir": "/r"},
    "config": {"evaluation": {"tasks": [{"name": "ifeval"}]}, "execution": {"type": "slurm"}},
}
RUN = {"run_id": "x", "started_at": "2026-11-15T20:00:00Z", "details": {"job_ids": ["12", 13], "hostname": "login"}}
LOCAL = {"app": ["RUNNING", "/home/x/experiments/title/title_1794780000/task"]}
SWEEP = {"job_id": 12, "job_name": "sweep"}
SLURM_JOB = "12 = /e/title/title_1794780000/*,/e/title/title_1794780000/task,SSHTunnel,"


def target(data: bytes) -> None:
    """Nothing is raised; a trace has a finite time, digits as job ids, and clean bounded words."""
    dice = Dice(data)
    document = dice.document([NEL, RUN, LOCAL, SWEEP])
    texts = [document]
    try:
        parsed = json.loads(document)
        texts += [json.dumps(one) for one in parsed] if isinstance(parsed, list) else []
    except (ValueError, RecursionError):
        pass
    for text in texts[:8]:
        found = [*launcher_traces.nel_runs(text, "p", lambda path: "." in path), *launcher_traces.nel_run(text, "p")]
        found += [*launcher_traces.nemo_run_jobs(text, "p"), *launcher_traces.nemo_run_jobs(SLURM_JOB + text, "p")]
        found += [*launcher_traces.nemo_run_local(text, "p"), *launcher_traces.srtctl_output(text, "p", 1.0)]
        found += launcher_traces.inspect_logs([(text, 0.0)], "/f", lambda path: None)
        for trace in found:
            assert math.isfinite(trace.at)
            assert len(trace.id) <= 200
            assert is_clean(trace.id + trace.title + (trace.host or "") + (trace.user or ""))
            assert all(job.isascii() and len(job) <= 40 for job in trace.jobs)


def seeds() -> list[bytes]:
    lines = b"\0" + b"\n".join(json.dumps(one).encode() for one in (NEL, RUN))
    slurm = b"\0" + SLURM_JOB.encode() + b'{"host": "login", "user": "ada"}\n'
    return [
        *documents(NEL, RUN, LOCAL, SWEEP, [NEL, RUN, LOCAL, SWEEP]),
        lines,
        slurm,
        b"\0002026-11-15T20-00-00_gsm8k_x.eval",
    ]
