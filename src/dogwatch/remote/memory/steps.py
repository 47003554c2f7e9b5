"""What Slurm jobs hold, and what they were given: by the memory of their cgroup where this machine is their node, else
by what Slurm's daemons on their nodes count (sstat)."""

import glob
import os
import re
from typing import Any

from dogwatch.remote.probe.command import run_command
from dogwatch.remote.probe.commands import command_environment, search_path
from dogwatch.remote.probe.processes import FILE_PAGES
from dogwatch.remote.probe.wire import slurp

MOST_JOBS = 64
MOST_PIECES = 8  # of a job that are weighed: each is a question to the controller and one to each of its nodes
SAID_CAP = 4 << 20
# Slurm's own groups, of both kinds of cgroup; a machine may have several slurmd with a name each.
GROUPS = ["/sys/fs/cgroup/memory/slurm*/uid_*/job_%s", "/sys/fs/cgroup/system.slice/*slurmstepd.scope/job_%s"]
RUNNING = ("JobID", "ArrayJobID", "ArrayTaskID", "HetJobID", "HetJobOffset", "NumNodes", "tres-alloc", "TimeLeft")
ID = re.compile(r"^[0-9]{1,10}\Z")
SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)([KMGTPE]?)[ncB]?\Z")
LEFT = re.compile(r"(?:([0-9]{1,6})-)?(?:([0-9]{1,6}):)?([0-9]{1,6}):([0-9]{1,2})\Z")
UNSET = 1 << 60  # a limit beyond this is none


def octets(text: str) -> "int | None":
    """Bytes of `3044K`, `6.30G`."""
    found = SIZE.match(text)
    size = int(float(found.group(1)) * 1024 ** " KMGTPE".index(found.group(2) or " ")) if found else UNSET
    return size if size < UNSET else None


def tres(text: str) -> "dict[str, str]":
    """`cpu=1,mem=200M` as a mapping."""
    pairs = [part.partition("=") for part in text.split(",")]
    return {name: value for name, equals, value in pairs if equals}


def seconds(text: str) -> "int | None":
    """Of `1-02:03:04`, `03:04`; nothing for a time without a limit."""
    found = LEFT.match(text)
    days, hours, minutes, rest = (int(part or 0) for part in found.groups()) if found else (0, 0, 0, 0)
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest if found else None


class Meter:
    """The Slurm of this host for a few questions with one deadline, and how often each of its programs was run. `spec`
    says where its programs are and in which environment they run, as in the commands section."""

    def __init__(self, spec: "dict[str, Any]", until: float) -> None:
        self.until, self.counts = until, {}  # type: float, dict[str, int]
        self.search = search_path(spec.get("path", []))
        self.environment = command_environment(spec.get("environment", {}), spec.get("unset", []))

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
    """As the daemons on the nodes count it: all steps of a job together, the most that one task ever had, and what
    the tasks beside that one have on average."""
    wanted = "--format=JobID,MaxRSS,TRESUsageInTot,NTasks"
    out = meter.said(["sstat", "--noheader", "--parsable2", "--allsteps", wanted, "--jobs=" + ",".join(ids)])
    found = {}  # type: dict[str, dict[str, Any]]
    for line in out.splitlines():
        cells = line.split("|")
        base = cells[0].partition(".")[0]
        if len(cells) != 4 or base not in ids:
            continue
        now, top, tasks = octets(tres(cells[2]).get("mem", "")), octets(cells[1]) or 0, cells[3]
        if now is not None:
            row = found.setdefault(base, {"used": 0, "top": 0, "usual": 0, "by": "sstat"})
            row["used"] += now
            if top > row["top"]:
                row.update(top=top, usual=now // max(1, int(tasks) if tasks.isdigit() else 1))
    return found


def running(ids: "list[str]", meter: Meter) -> "dict[str, dict[str, Any]]":
    """What runs of these jobs, by its own id: of which it is which piece, on how many nodes, how much memory it was
    given on all of them together, and how long it may still run."""
    wanted = "--Format=" + ",".join(name + ":|" for name in RUNNING)
    out = meter.said(["squeue", "--noheader", "--all", "--states=running", wanted, "--jobs=" + ",".join(ids)])
    found = {}
    for line in out.splitlines():
        cells = line.split("|")
        if len(cells) != len(RUNNING) + 1 or not ID.match(cells[0]) or not cells[5].isdigit():
            continue
        own, array, task, whole, offset = cells[:5]
        base, piece = (whole, "+" + offset) if ID.match(whole) and whole != "0" else (array, task)
        if base in ids:
            memory, left = octets(tres(cells[6]).get("mem", "")), seconds(cells[7])
            plain = piece if ID.match(piece.lstrip("+")) else ""
            row = {"of": base, "piece": plain, "nodes": max(1, int(cells[5])), "given": memory, "left": left}
            found[own] = row
    return found


def chosen(many: "dict[str, list[str]]", there: "dict[str, dict[str, Any]]") -> "list[str]":
    """The ids of pieces to weigh: of each job those first that were weighed before, then the oldest."""
    found = []
    for base, before in many.items():
        own = [one for one in there if there[one]["of"] == base and there[one]["piece"]]
        own.sort(key=lambda one: (there[one]["piece"] not in before, int(one)))
        found += own[:MOST_PIECES]
    return found[:MOST_JOBS]


def counted_by(meter: Meter) -> "dict[str, str]":
    """How Slurm's daemons count memory."""
    out = meter.said(["scontrol", "show", "config"])
    return dict(re.findall(r"^(JobAcctGather(?:Type|Params))\s*=\s*(\S+)", out, re.M))


def weigh_jobs(spec: "dict[str, Any]", until: float) -> "dict[str, Any]":
    """`ids` are jobs of one piece; `many` names those of several, each with the pieces that were weighed before."""
    ids = [one for one in spec["ids"] if ID.match(one)][:MOST_JOBS]
    many = {one: pieces for one, pieces in spec.get("many", {}).items() if ID.match(one)}
    meter = Meter(spec, until)
    there = running(sorted(many), meter) if many else {}
    parts = chosen(many, there)
    found = by_groups(ids + parts, spec.get("groups", GROUPS))
    elsewhere = [one for one in ids + parts if one not in found]
    if elsewhere:
        found.update(by_steps(elsewhere, meter))
    new = [one for one in spec.get("new", ()) if one in found and "limit" not in found[one]]
    there.update(running(new, meter) if new else {})
    answer = {"jobs": {}, "pieces": {}}  # type: dict[str, Any]
    for one, row in found.items():
        told = there.get(one, {})
        row.update((name, told[name]) for name in ("nodes", "given") if name in told)
        if one in parts:
            answer["pieces"].setdefault(told["of"], {})[told["piece"]] = dict(row, left=told["left"])
        else:
            answer["jobs"][one] = row
    if spec.get("about") and any(row["by"] == "sstat" for row in found.values()):
        answer["about"] = counted_by(meter)
    answer["counts"] = meter.counts
    return answer
