"""Lines as squeue and sacct print them in our formats, and the probe's answer around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import convert

from dogwatch.model import Answered, Ended, Facts, Job, Known, Observation, Tasks, follow
from dogwatch.sources.slurm import accounting, queue, source
from dogwatch.wire.commands import CommandsSection

CAPTURES = Path(__file__).parent / "captures"
MARK = "0123abcd"
REF = "lab/slurm:12"
SUBMIT = 1_790_000_000
NOW = SUBMIT + 1000.0
REFUSED = "sacct: error: Problem talking to the database: Connection refused\n"
DISABLED = "Slurm accounting storage is disabled\n"
GONE = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"


def job(id: str = "12", **track: Any) -> Job:
    """A watched job whose owner and submit time are known unless `track` says otherwise."""
    told = {"user": "alice", "submit": float(SUBMIT), "cluster": "lab", **track}
    return Job(f"lab/slurm:{id}", "lab", "slurm", id, "train", registered=SUBMIT + 5.0, track=told)


def row(state: str = "RUNNING", id: str = "12", **fields: Any) -> str:
    """One line of squeue. `id` is 12, 12_3, 12_[4-9%2] or 12+1."""
    base, task = (id.split("_", 1)[0], id.partition("_")[2].strip("[]")) if "_" in id else (id.split("+")[0], "N/A")
    het, offset = (base, id.split("+")[1]) if "+" in id else ("N/A", "N/A")
    values = {
        "JobArrayID": f"{id}{queue.SEPARATOR}{MARK}",
        "State": state,
        "StateCompact": "R",
        "JobID": base,
        "ArrayJobID": base,
        "ArrayTaskID": task,
        "HetJobID": het,
        "HetJobOffset": offset,
        "UserName": "alice",
        "Partition": "gpu",
        "SubmitTime": SUBMIT,
        "StartTime": SUBMIT + 10,
        "EndTime": SUBMIT + 3610,
        "TimeLimit": "1:00:00",
        "RestartCnt": 0,
        "exit_code": "0:0",
        "NodeList": "gpu01",
        "Reason": "None",
        "Dependency": "(null)",
        "WorkDir": "/home/alice/jobs",
        "STDOUT": f"/home/alice/jobs/slurm-{base}.out",
        "STDERR": "",
        "Name": "train",
        **fields,
    }
    assert list(values) == list(queue.FIELDS)
    return "".join(f"{value}{queue.SEPARATOR}" for value in values.values()) + "\n"


def record(state: str = "COMPLETED", exit_code: str = "0:0", id: str = "12", **fields: Any) -> str:
    """One line of sacct: a job, or with an id such as 12.batch one of its steps."""
    values = dict.fromkeys(accounting.FIELDS, "") | {
        "JobID": id,
        "State": state,
        "ExitCode": exit_code,
        "Submit": SUBMIT,
        "Start": SUBMIT + 10,
        "End": SUBMIT + 70,
        "ElapsedRaw": 60,
        "NCPUS": 2,
        "NodeList": "gpu01",
        "JobName": id.partition(".")[2] or "train",
    }
    if "." not in id:
        values |= {"DerivedExitCode": "0:0", "User": "alice", "UID": 1000, "TimelimitRaw": 60, "Partition": "gpu"}
        values |= {"AllocTRES": "billing=2,cpu=2,gres/gpu=1,mem=200M,node=1", "WorkDir": "/home/alice/jobs"}
    values |= fields
    assert list(values) == list(accounting.FIELDS)
    return f"\x1f{MARK}\x1f".join(str(value) for value in values.values()) + "\n"


def whole(state: str = "COMPLETED", exit_code: str = "0:0", id: str = "12", **fields: Any) -> str:
    """A job with the two steps that every batch job has."""
    steps = record("COMPLETED", "0:0", f"{id}.batch", TotalCPU="01:30", TRESUsageInTot="cpu=00:01:30,mem=100M")
    return record(state, exit_code, id, **fields) + steps + record("COMPLETED", "0:0", f"{id}.extern")


def ran(out: str = "", *, rc: int | None = 0, err: str = "", why: str | None = None) -> dict[str, Any]:
    return {"rc": rc, "out": out, "err": err, "seconds": 0.1, "why": why}


def answer(
    queued: Any = "",
    booked: Any = None,
    *,
    cluster: str | None = "lab",
    requeue: Mapping[str, bool] | None = None,
    names: Mapping[str, str] | None = None,
) -> CommandsSection:
    """The probe's answer; texts stand for commands that went well."""
    runs = {"slurm.queue": queued, "slurm.accounting": booked}
    rows = {name: ran(run) if isinstance(run, str) else run for name, run in runs.items() if run is not None}
    if names is not None:
        rows["slurm.accounting"] = {**rows["slurm.accounting"], "users": dict(names)}
    for id, again in (requeue or {}).items():
        rows[f"slurm.requeue.{id}"] = ran(f"JobId={id} Requeue={again:d} Restarts=0 BatchFlag=1\n")
    if cluster is not None:
        rows["slurm.config"] = ran(f"ClusterName             = {cluster}\nSLURM_VERSION           = 22.05.8\n")
    return convert({"ok": True, "me": "alice", "counts": {}, "ran": rows}, CommandsSection)


class Watcher:
    """What the engine does with one job: ask, read, follow, and remember what was learnt."""

    def __init__(self, watched: Job | None = None, known: Known | None = None) -> None:
        self.job = watched or job()
        self.known = known or Known()
        self.seen: Observation | None = None

    def look(self, queued: Any = "", booked: Any = None, at: float = NOW, **more: Any) -> Known:
        before = {self.job.ref: self.known}
        asked, seen = source.read(answer(queued, booked, **more), [self.job], before, at)
        self.seen = seen.get(self.job.ref)
        if self.seen is not None and self.seen.track is not None:
            self.job = replace(self.job, track=self.seen.track)
        after, _ = follow(before, Answered("lab", at, 0.1, asked, seen))
        self.known = after[self.job.ref]
        return self.known

    @property
    def facts(self) -> Facts:
        assert self.seen is not None
        assert self.seen.facts is not None
        return self.seen.facts

    @property
    def tasks(self) -> Tasks:
        assert self.facts.tasks is not None
        return self.facts.tasks


def capture(version: str, name: str) -> str:
    return (CAPTURES / version / name).read_text(encoding="utf-8")


def columns(text: str) -> list[dict[str, str]]:
    """The rows of a table that sacct printed in columns, by the dashes under its header."""
    _, names, dashes, *lines = text.split("\n")
    spans: list[tuple[int, int]] = []
    at = 0
    for dash in dashes.split(" "):
        spans.append((at, at + len(dash)))
        at += len(dash) + 1
    header: Sequence[str] = [names[first:last].strip() for first, last in spans]
    return [
        dict(zip(header, (line[first:last].strip() for first, last in spans), strict=True)) for line in lines if line
    ]


def running() -> Watcher:
    """Of a job that was seen to run a minute ago."""
    watcher = Watcher()
    watcher.look(row("RUNNING"), at=NOW - 60)
    return watcher


def ended(watcher: Watcher) -> Ended:
    """How its job has ended, which it must have."""
    assert isinstance(watcher.known.state, Ended), watcher.known
    return watcher.known.state
