"""What Slurm jobs hold, and what they were given: by the memory of their cgroup where this machine is their node, else
by what Slurm's daemons on their nodes count (sstat)."""

import glob
import os
import re

from dogwatch.aboard.probe.command import run_command
from dogwatch.aboard.probe.processes import FILE_PAGES
from dogwatch.aboard.probe.slurm import Scheduler
from dogwatch.aboard.probe.wire import slurp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_JOBS = 64
SAID_CAP = 4 << 20
# Slurm's own groups, of both kinds of cgroup; a machine may have several slurmd with a name each.
GROUPS = ["/sys/fs/cgroup/memory/slurm*/uid_*/job_%s", "/sys/fs/cgroup/system.slice/*slurmstepd.scope/job_%s"]
ID = re.compile(r"^[0-9]{1,10}\Z")
SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)([KMGTPE]?)[ncB]?\Z")
UNSET = 1 << 60  # a limit beyond this is none


def octets(text: str) -> "int | None":
    """Bytes of `3044K`, `6.30G`."""
    found = SIZE.match(text)
    return int(float(found.group(1)) * 1024 ** " KMGTPE".index(found.group(2) or " ")) if found else None


def tres(text: str) -> "dict[str, str]":
    """`cpu=1,mem=200M` as a mapping."""
    pairs = [part.partition("=") for part in text.split(",")]
    return {name: value for name, equals, value in pairs if equals}


class Meter(Scheduler):
    """The Slurm of this host for a few questions with one deadline, and how often each of its programs was run."""

    def __init__(self, until: float) -> None:
        Scheduler.__init__(self, [])
        self.until, self.counts = until, {}  # type: float, dict[str, int]
        self.environment = {name: value for name, value in self.environment.items() if not name.startswith(b"SSTAT_")}

    def said(self, argv: "list[str]") -> str:
        """What one prints, or nothing; what hangs is killed with all it started."""
        ran = run_command(argv, self.environment, self.search, self.until, SAID_CAP)
        if ran["why"] != "not found":
            self.counts[argv[0]] = self.counts.get(argv[0], 0) + 1
        return ran["out"] if ran["rc"] == 0 else ""


def in_group(folder: str) -> "dict[str, Any] | None":
    """What a job's cgroup holds without what the kernel would give back, and its limit."""
    old = os.path.exists(folder + "/memory.usage_in_bytes")
    names = ("memory.usage_in_bytes", "memory.limit_in_bytes") if old else ("memory.current", "memory.max")
    try:
        used = int(slurp(folder + "/" + names[0]))
        files = re.findall(FILE_PAGES, slurp(folder + "/memory.stat", 16384), re.M)
        limit = slurp(folder + "/" + names[1]).strip()
    except (OSError, ValueError):
        return None
    # Of a name that comes twice the last counts the groups below, too.
    used -= sum(int(size) for size in dict(files).values())
    row = {"used": max(0, used), "by": "cgroup"}
    if limit.isdigit() and int(limit) < UNSET:
        row["limit"] = int(limit)
    return row


def by_groups(ids: "list[str]", patterns: "list[str]") -> "dict[str, dict[str, Any]]":
    """Of the jobs that run on this very machine; the fullest of several groups of one."""
    found = {}
    for one in ids:
        rows = [in_group(folder) for pattern in patterns for folder in glob.glob(pattern % one)[:16]]
        told = [row for row in rows if row is not None]
        if told:
            found[one] = max(told, key=lambda row: row["used"] / float(row.get("limit", UNSET)))
    return found


def by_steps(ids: "list[str]", meter: Meter) -> "dict[str, dict[str, Any]]":
    """As the daemons on the nodes count it: all steps of a job together, and the most that one task ever had."""
    wanted = "--format=JobID,MaxRSS,TRESUsageInTot"
    out = meter.said(["sstat", "--noheader", "--parsable2", "--allsteps", wanted, "--jobs=" + ",".join(ids)])
    found = {}  # type: dict[str, dict[str, Any]]
    for line in out.splitlines():
        cells = line.split("|")
        base = cells[0].partition(".")[0]
        if len(cells) != 3 or base not in ids:
            continue
        now, top = octets(tres(cells[2]).get("mem", "")), octets(cells[1])
        if now is not None:
            row = found.setdefault(base, {"used": 0, "top": 0, "by": "sstat"})
            row["used"] += now
            row["top"] = max(row["top"], top or 0)
    return found


def given(ids: "list[str]", meter: Meter) -> "dict[str, dict[str, Any]]":
    """On how many nodes each runs, and how much memory it was given on all of them together."""
    wanted = "--Format=JobID:|,NumNodes:|,tres-alloc:|"
    out = meter.said(["squeue", "--noheader", "--all", "--states=running", wanted, "--jobs=" + ",".join(ids)])
    found = {}
    for line in out.splitlines():
        cells = line.split("|")
        if len(cells) == 4 and cells[0] in ids and cells[1].isdigit():
            memory = octets(tres(cells[2]).get("mem", ""))
            found[cells[0]] = {"nodes": max(1, int(cells[1])), "given": memory}
    return found


def counted_by(meter: Meter) -> "dict[str, str]":
    """How Slurm's daemons count memory."""
    out = meter.said(["scontrol", "show", "config"])
    return dict(re.findall(r"^(JobAcctGather(?:Type|Params))\s*=\s*(\S+)", out, re.M))


def weigh_jobs(spec: "dict[str, Any]", until: float) -> "dict[str, Any]":
    ids = [one for one in spec["ids"] if ID.match(one)][:MOST_JOBS]
    meter = Meter(until)
    found = by_groups(ids, spec.get("groups", GROUPS))
    elsewhere = [one for one in ids if one not in found]
    if elsewhere:
        found.update(by_steps(elsewhere, meter))
    new = [one for one in spec.get("new", ()) if one in found and "limit" not in found[one]]
    for one, row in (given(new, meter) if new else {}).items():
        found[one].update(row)
    answer = {"jobs": found}  # type: dict[str, Any]
    if spec.get("about") and any(row["by"] == "sstat" for row in found.values()):
        answer["about"] = counted_by(meter)
    answer["counts"] = meter.counts
    return answer
