"""What Slurm jobs hold, and what they were given: by the memory of their cgroup where this machine is their node, else
by what Slurm's daemons on their nodes count (sstat)."""

import glob
import os
import re

from dogwatch.remote.probe.command import run_command
from dogwatch.remote.probe.commands import command_environment, search_path
from dogwatch.remote.probe.processes import FILE_PAGES
from dogwatch.remote.probe.wire import slurp
from dogwatch.remote.shapes import Memory, SchedulerMemory, SchedulerMemoryCall

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

    def __init__(self, spec: "SchedulerMemoryCall", until: float) -> None:
        self.until = until
        self.counts: "dict[str, int]" = {}
        self.search = search_path(spec.get("path", []))
        self.environment = command_environment(spec.get("environment", {}), spec.get("unset", []))

    def output(self, argv: "list[str]") -> str:
        """What one prints, or nothing; what hangs is killed with all it started."""
        ran = run_command(argv, self.environment, self.search, self.until, SAID_CAP)
        if ran["why"] != "not found":
            self.counts[argv[0]] = self.counts.get(argv[0], 0) + 1
        return ran["out"] if ran["rc"] == 0 else ""


def in_group(folder: str) -> "Memory | None":
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
    row: "Memory" = {"used": max(0, used), "by": "cgroup"}
    if limit.isdigit() and int(limit) < UNSET:
        row["limit"] = int(limit)
    return row


def by_groups(ids: "list[str]", patterns: "list[str]") -> "dict[str, Memory]":
    """Of the jobs that run on this very machine; the fullest of several groups of one."""
    by_job = {}
    for job in ids:
        rows = [in_group(folder) for pattern in patterns for folder in glob.glob(pattern % job)[:16]]
        groups = [row for row in rows if row is not None]
        if groups:
            by_job[job] = max(groups, key=lambda row: row["used"] / float(row.get("limit", UNSET)))
    return by_job


def by_steps(ids: "list[str]", meter: Meter) -> "dict[str, Memory]":
    """As the daemons on the nodes count it: all steps of a job together, the most that one task ever had, and what
    the tasks beside that one have on average."""
    wanted = "--format=JobID,MaxRSS,TRESUsageInTot,NTasks"
    out = meter.output(["sstat", "--noheader", "--parsable2", "--allsteps", wanted, "--jobs=" + ",".join(ids)])
    by_job: "dict[str, Memory]" = {}
    for line in out.splitlines():
        cells = line.split("|")
        base = cells[0].partition(".")[0]
        if len(cells) != 4 or base not in ids:
            continue
        now, top, tasks = octets(tres(cells[2]).get("mem", "")), octets(cells[1]) or 0, cells[3]
        if now is not None:
            row = by_job.setdefault(base, {"used": 0, "top": 0, "usual": 0, "by": "sstat"})
            row["used"] += now
            if top > row["top"]:
                row["top"], row["usual"] = top, now // max(1, int(tasks) if tasks.isdigit() else 1)
    return by_job


class Running:
    """A job, or one piece of an array or heterogeneous job: `piece` of the job `base`, with the memory that it was
    given on all its nodes together and the seconds that it may still run."""

    __slots__ = ("base", "given", "left", "nodes", "piece")

    def __init__(self, base: str, piece: str, nodes: int, given: "int | None", left: "int | None") -> None:
        self.base, self.piece, self.nodes, self.given, self.left = base, piece, nodes, given, left


def running(ids: "list[str]", meter: Meter) -> "dict[str, Running]":
    """What runs of these jobs, by its own id."""
    wanted = "--Format=" + ",".join(name + ":|" for name in RUNNING)
    out = meter.output(["squeue", "--noheader", "--all", "--states=running", wanted, "--jobs=" + ",".join(ids)])
    rows = {}
    for line in out.splitlines():
        cells = line.split("|")
        if len(cells) != len(RUNNING) + 1 or not ID.match(cells[0]) or not cells[5].isdigit():
            continue
        own, array, task, whole, offset = cells[:5]
        base, piece = (whole, "+" + offset) if ID.match(whole) and whole != "0" else (array, task)
        if base in ids:
            memory, left = octets(tres(cells[6]).get("mem", "")), seconds(cells[7])
            plain = piece if ID.match(piece.lstrip("+")) else ""
            rows[own] = Running(base, plain, max(1, int(cells[5])), memory, left)
    return rows


def pieces_to_weigh(many: "dict[str, list[str]]", there: "dict[str, Running]") -> "list[str]":
    """Their ids: of each job those first that were weighed before, then the oldest."""
    chosen = []
    for base, before in many.items():
        own = [job for job, row in there.items() if row.base == base and row.piece]
        own.sort(key=lambda job: (there[job].piece not in before, int(job)))
        chosen += own[:MOST_PIECES]
    return chosen[:MOST_JOBS]


def counted_by(meter: Meter) -> "dict[str, str]":
    """How Slurm's daemons count memory."""
    out = meter.output(["scontrol", "show", "config"])
    return dict(re.findall(r"^(JobAcctGather(?:Type|Params))\s*=\s*(\S+)", out, re.M))


def weigh_jobs(spec: "SchedulerMemoryCall", until: float) -> "SchedulerMemory":
    """`ids` are jobs of one piece; `many` names those of several, each with the pieces that were weighed before."""
    ids = [job for job in spec["ids"] if ID.match(job)][:MOST_JOBS]
    many = {job: pieces for job, pieces in spec.get("many", {}).items() if ID.match(job)}
    meter = Meter(spec, until)
    there = running(sorted(many), meter) if many else {}
    parts = pieces_to_weigh(many, there)
    weighed = by_groups(ids + parts, spec.get("groups", GROUPS))
    elsewhere = [job for job in ids + parts if job not in weighed]
    if elsewhere:
        weighed.update(by_steps(elsewhere, meter))
    new = [job for job in spec.get("new", ()) if job in weighed and "limit" not in weighed[job]]
    there.update(running(new, meter) if new else {})
    answer: "SchedulerMemory" = {"jobs": {}, "pieces": {}, "counts": meter.counts}
    for job, row in weighed.items():
        if job in there:
            row["nodes"], row["given"] = there[job].nodes, there[job].given
        if job in parts:
            row["left"] = there[job].left
            answer["pieces"].setdefault(there[job].base, {})[there[job].piece] = row
        else:
            answer["jobs"][job] = row
    if spec.get("about") and any(row["by"] == "sstat" for row in weighed.values()):
        answer["about"] = counted_by(meter)
    return answer
