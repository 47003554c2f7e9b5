"""sacct: the one command line for what the queue no longer shows, and what it prints.

The delimiter holds a mark that nobody could know beforehand, so that no name or path can pass for a record.
A record is a job (or a task of one) with its steps; `--duplicates` brings every run of a requeued job.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from dogwatch.sources.slurm import words
from dogwatch.sources.slurm.times import length, minutes, moment, number, resources, size
from dogwatch.sources.slurm.words import Exit

# No --allocations: the steps tell what the job's own row hides. Only fields that 22.05 has, too.
ARGV = ("--noheader", "--parsable2", "--duplicates")
JOBS = "--jobs="
FIELDS = (
    "JobID",
    "State",
    "ExitCode",
    "DerivedExitCode",
    "User",
    "UID",
    "Submit",
    "Start",
    "End",
    "ElapsedRaw",
    "TimelimitRaw",
    "NCPUS",
    "NodeList",
    "ReqTRES",
    "AllocTRES",
    "ReqMem",
    "MaxRSS",
    "TotalCPU",
    "TRESUsageInTot",
    "TRESUsageInAve",
    "TRESUsageInMax",
    "Partition",
    "Reason",
    "WorkDir",
    "JobName",
)
_HEAD = re.compile(r"([0-9]{1,10})(?:([_+])([^.\x1f\n]*))?(?:\.([^\x1f\n]*))?(\x1f[0-9a-f]{8}\x1f)")
_TEXT = 1000


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a job: what ran, how it ended, what it used."""

    id: str
    word: str
    native: str
    exit: Exit | None
    name: str
    cpu: float | None
    memory: int | None
    gpu_percent: float | None
    gpu_memory: int | None


@dataclass(frozen=True, slots=True)
class Record:
    """One run of a job or of one of its tasks, as the accounting has it."""

    base: str
    task: str
    word: str
    native: str
    exit: Exit | None
    derived: Exit | None
    user: str
    uid: str
    submit: float | None
    start: float | None
    end: float | None
    elapsed: float | None
    limit: float | None
    cpus: int
    nodes: str
    memory: int | None
    cpu: float | None
    reason: str
    partition: str
    workdir: str
    name: str
    steps: Sequence[Step] = ()
    gpus: int = 0

    @property
    def id(self) -> str:
        if not self.task:
            return self.base
        return self.base + (self.task if self.task.startswith("+") else f"_{self.task}")

    @property
    def final(self) -> bool:
        """Whether its word is about this run: one that is put back under the same submit time keeps the word and
        the end of the run before it, beside its own start."""
        if self.start is not None and self.end is not None and self.end < self.start:
            return False
        return self.word in words.ENDED or self.word == "REVOKED"

    @property
    def whole(self) -> bool:
        """Whether every step has ended too, so that what was used is known. One that never started has none."""
        if self.start is None or not self.elapsed:
            return True
        return bool(self.steps) and all(step.word in words.ENDED for step in self.steps)


def argv(ids: Sequence[str], since: float, mark: str) -> list[str]:
    """sacct's arguments. The last one ends with the ids, so that without any the asker can add its own."""
    delimiter = f"--delimiter=\x1f{mark}\x1f"
    return [*ARGV, delimiter, f"--format={','.join(FIELDS)}", f"--starttime=uts{int(since)}", JOBS + ",".join(ids)]


def parse(out: str, wanted: Collection[str] | None = None) -> dict[str, list[Record]] | None:
    """The records of sacct by base id, in its order; None when what it printed is not whole or not understood."""
    lines, delimiter = _lines(out)
    if not lines:
        return None if out.strip(" \n\r\t") else {}
    if not out.endswith("\n"):
        return None
    records: dict[str, list[Record]] = {}
    steps: list[Step] = []
    for base, task, step, line in lines:
        fields = line.split(delimiter, len(FIELDS) - 1)
        if len(fields) < len(FIELDS):
            return None
        if wanted is not None and base not in wanted:
            continue
        runs = records.setdefault(base, [])
        if step is None:
            steps = []
            runs.append(_record(base, task, fields, steps))
        elif runs and runs[-1].task == task:
            steps.append(_step(step, fields))
    return records


def _lines(out: str) -> tuple[list[tuple[str, str, str | None, str]], str]:
    """The lines that begin with an id and the delimiter of the first, each with what follows up to the next."""
    lines: list[tuple[str, str, str | None, str]] = []
    delimiter = ""
    for line in out.split("\n"):
        head = _HEAD.match(line)
        if head is not None and head[5] == (delimiter or head[5]):
            delimiter = head[5]
            task = f"+{head[3]}" if head[2] == "+" else (head[3] or "").strip("[]")
            lines.append((head[1], task, head[4], line))
        elif lines:
            base, task, step, before = lines[-1]
            lines[-1] = (base, task, step, f"{before}\n{line}")
    return lines, delimiter


def _record(base: str, task: str, fields: Sequence[str], steps: Sequence[Step]) -> Record:
    named = dict(zip(FIELDS, fields, strict=True))
    elapsed = number(named["ElapsedRaw"])
    return Record(
        base=base,
        task=task,
        word=words.bare(named["State"]),
        native=named["State"][:60],
        exit=words.exit_of(named["ExitCode"]),
        derived=words.exit_of(named["DerivedExitCode"]),
        user=named["User"],
        uid=named["UID"],
        submit=moment(named["Submit"]),
        start=moment(named["Start"]),
        end=moment(named["End"]),
        elapsed=None if elapsed is None else float(elapsed),
        limit=minutes(named["TimelimitRaw"]),
        cpus=number(named["NCPUS"]) or 0,
        nodes="" if named["NodeList"] == "None assigned" else named["NodeList"][:_TEXT],
        memory=_asked_memory(named),
        cpu=length(named["TotalCPU"]),
        reason="" if named["Reason"] == "None" else named["Reason"][:200],
        partition=named["Partition"],
        workdir=named["WorkDir"][:_TEXT],
        name=named["JobName"].rstrip("\n")[:200],
        steps=steps,
        gpus=number(resources(named["AllocTRES"]).get("gres/gpu", "")) or 0,
    )


def _asked_memory(named: dict[str, str]) -> int | None:
    """All the memory it was given: the allocation names the sum, the request may name a part."""
    for field in ("AllocTRES", "ReqTRES"):
        found = size(resources(named[field]).get("mem", ""))
        if found:
            return found
    return size(named["ReqMem"]) or None


def _step(step: str, fields: Sequence[str]) -> Step:
    named = dict(zip(FIELDS, fields, strict=True))
    total, mean, most = (resources(named[f"TRESUsageIn{how}"]) for how in ("Tot", "Ave", "Max"))
    percent = number(mean.get("gres/gpuutil", ""))
    return Step(
        id=step[:40],
        word=words.bare(named["State"]),
        native=named["State"][:60],
        exit=words.exit_of(named["ExitCode"]),
        name=named["JobName"].rstrip("\n")[:60],
        cpu=length(named["TotalCPU"]),
        memory=size(total.get("mem", "")) or size(named["MaxRSS"]),
        gpu_percent=None if percent is None else float(percent),
        gpu_memory=size(most.get("gres/gpumem", "")),
    )
