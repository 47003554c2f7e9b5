"""squeue: the one command line for every job of a cluster, and what it prints.

Fields end in 0x1f and a record in a newline, but names and paths may hold both. So the second field of every
record is a mark that nobody could know beforehand: only a line that has it after an id begins a record, and
whatever else a name holds stays part of that name. Free text comes last.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

from dogwatch.sources.slurm import words
from dogwatch.sources.slurm.times import length, moment, number
from dogwatch.sources.slurm.words import Exit

SEPARATOR = "\x1f"
# --all: jobs of hidden partitions are jobs too. --states=all: what ended stays listed for MinJobAge (300 s).
ARGV = ("--noheader", "--all", "--states=all")
COLUMNS = {"id": 0, "mark": 1, "state": 2}
FIELDS = (
    "JobArrayID",  # followed by the mark
    "State",
    "StateCompact",
    "JobID",
    "ArrayJobID",
    "ArrayTaskID",
    "HetJobID",
    "HetJobOffset",
    "UserName",
    "Partition",
    "SubmitTime",
    "StartTime",
    "EndTime",
    "TimeLimit",
    "RestartCnt",
    "exit_code",
    "NodeList",
    "Reason",
    "Dependency",
    "WorkDir",
    "STDOUT",
    "STDERR",
    "Name",
)
_FIXED = len(FIELDS)  # the fields before the name, the mark among them
_ARGUMENT = 100_000  # Linux takes 128 KiB in one argument
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@$+-]{0,63}")
_HEAD = re.compile(r"[0-9]{1,10}(?:[_+][^\x1f\n]*)?\x1f([0-9a-f]{8})\x1f")
_TEXT = 1000
_NONE = frozenset({"", "(null)", "N/A", "n/a", "None assigned"})


class Row(NamedTuple):  # made ten thousand times in a poll, four times faster than a frozen dataclass
    """One line of squeue. `base` is the id its owner knows; `task` is empty for a job of one piece, `3` or
    `4-9%2` for an array's, `+1` for a heterogeneous job's."""

    base: str
    task: str
    word: str
    native: str
    compact: str
    user: str
    partition: str
    submit: float | None
    start: float | None
    end: float | None
    limit: float | None
    restarts: int
    exit: Exit | None
    nodes: str
    reason: str
    dependency: str
    workdir: str
    stdout: str
    stderr: str
    name: str

    @property
    def active(self) -> bool:
        return self.word not in words.ENDED


def is_user(name: object) -> bool:
    """Whether a name can be an owner's and nothing else, such as an option."""
    return isinstance(name, str) and _USER.fullmatch(name) is not None


def argv(users: Sequence[str], ids: Sequence[str], mark: str) -> list[str]:
    """squeue's arguments: all jobs of `users`, or where an owner is not known, the jobs `ids`; without either,
    those of whoever asks."""
    first, *rest = FIELDS
    fields = [f"{first}:{SEPARATOR}{mark}{SEPARATOR}", *(f"{field}:{SEPARATOR}" for field in rest)]
    arguments = [*ARGV, f"--Format={','.join(fields)}"]
    if users:
        return [*arguments, f"--user={','.join(users)}"]
    if not ids:
        return [*arguments, "--user={me}"]
    wanted = ",".join(ids)
    return [*arguments, f"--jobs={wanted}"] if len(wanted) <= _ARGUMENT else arguments


def parse(out: str, wanted: Collection[str] | None = None) -> dict[str, list[Row]] | None:
    """The rows of squeue by base id; None when what it printed is not whole or cannot be understood."""
    rows: dict[str, list[Row]] = {}
    records = _records(out)
    if not records:
        return None if out.strip(" \n\r\t") else rows
    if not out.endswith(f"{SEPARATOR}\n"):
        return None
    for record in records:
        row = _read(record)
        if row is None:
            return None
        if wanted is None or row.base in wanted:
            rows.setdefault(row.base, []).append(row)
    return rows


@lru_cache(maxsize=16384)  # from one poll to the next most lines stay what they were
def _read(record: str) -> Row | None:
    fields = record.split(SEPARATOR, _FIXED)
    if len(fields) <= _FIXED:
        return None
    array, task, het, offset = fields[5:9]
    base, piece = (het, f"+{offset}") if number(het) else (array, "" if task in _NONE else task)
    return None if number(base) is None else _row(base, piece, fields)


def _records(out: str) -> list[str]:
    """The records, each without its mark, which is another in every poll."""
    records: list[str] = []
    mark = ""
    for line in out.split("\n"):
        head = _HEAD.match(line)
        if head is not None and head[1] == (mark or head[1]):
            mark = head[1]
            records.append(line[: head.start(1)] + line[head.end(1) :])
        elif records:
            records[-1] += "\n" + line
    return records


def _row(base: str, task: str, fields: Sequence[str]) -> Row:
    state, compact = fields[2], fields[3]
    user, partition, submit, start, end, limit, restarts, exit_code = fields[9:17]
    nodes, reason, dependency, workdir, stdout, stderr = (text(field) for field in fields[17:23])
    return Row(
        base=base,
        task=task,
        word=words.bare(state),
        native=state[:60],
        compact=compact[:10],
        user=user,
        partition=partition,
        submit=moment(submit),
        start=moment(start),
        end=moment(end),
        limit=length(limit),
        restarts=number(restarts) or 0,
        exit=words.exit_of(exit_code),
        nodes=nodes,
        reason=reason,
        dependency=dependency,
        workdir=workdir,
        stdout=stdout,
        stderr=stderr,
        name=fields[23].rpartition(SEPARATOR)[0][:200],
    )


def text(field: str) -> str:
    """Free text, without the words that stand for none."""
    return "" if field in _NONE else field[:_TEXT]
