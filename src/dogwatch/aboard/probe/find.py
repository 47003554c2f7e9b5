"""The process section: run directories, known pids, and finding processes by name or pid file."""

import json
import os
import time

from dogwatch.aboard.probe.hand import Hand
from dogwatch.aboard.probe.processes import Processes, argv_of, stat_fields
from dogwatch.aboard.probe.wire import WRONG_SHAPE, Refused, mapping, number, slurp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MARK = "dogwatch-probe"  # an argument of every probe, since its text has no path
VERBS = frozenset(
    ["run", "watch", "add", "forget", "ls", "status", "logs", "read", "why", "events", "wait", "patrol", "eta"]
    + ["backtest", "daemon", "doctor", "demo", "host", "sync", "keep", "check", "preflight", "alerts", "report"]
)


def is_dogwatch(argv: "list[str]") -> bool:
    """Whether a command line is Dogwatch's own, also inside a wrapper's or a shell's argument."""
    words = [word for part in argv for word in part.split()]
    for at, word in enumerate(words):
        after = words[at + 1] if at + 1 < len(words) else ""
        if word == MARK or word.endswith("dogwatch/aboard/keeper.py"):
            return True
        if word == "-m" and after.split(".")[0] == "dogwatch":
            return True
        if word.rpartition("/")[2] == "dogwatch" and (at < 2 or after in VERBS):
            return True
    return False


def parent_and_start(pid: int) -> "tuple[int, int, str] | None":
    try:
        name, fields = stat_fields(slurp("/proc/%d/stat" % pid, 2048))
    except (OSError, ValueError):
        return None
    return int(fields[1]), int(fields[19]), name if fields[0] == b"D" else ""


def ancestors() -> "set[int]":
    found, pid = set(), os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        row = parent_and_start(pid)
        pid = row[0] if row else 0
    return found


def find_by_name(name: str, want: "int | None") -> "list[tuple[int, int]]":
    """(pid, start) of processes with `name` in their command line: roots, or their children if `want`ed."""
    ours = ancestors()
    matched: "dict[int, tuple[int, int]]" = {}
    for entry in os.listdir("/proc"):
        pid = int(entry) if entry.isdigit() else 0
        if not pid or pid in ours:
            continue
        row = parent_and_start(pid)
        if row is None or row[0] == os.getpid():
            continue
        argv = [row[2]] if row[2] else argv_of(pid, 65536)
        if name in " ".join(argv) and not is_dogwatch(argv):
            matched[pid] = row[:2]
    roots = [pid for pid in matched if matched[pid][0] not in matched]
    below = [pid for pid in matched if matched[pid][0] in roots]
    chosen = below if want and len(roots) != want and len(below) == want else roots
    return sorted(((pid, matched[pid][1]) for pid in chosen), key=lambda row: (row[1], row[0]))


def pids_in(text: str) -> "list[int]":
    words = text.split()
    if not words or len(words) > 4096 or not all(word.isdigit() and 0 < int(word) < 1 << 31 for word in words):
        raise Refused("does not hold process ids")
    return [int(word) for word in words]


def find_one(spec: "dict[str, Any]", pidfile: "dict[str, Any] | None", eyes: Processes) -> "dict[str, Any]":
    """The identities that a pidfile, a list of pids or a name stand for, and what could not be taken."""
    answer: "dict[str, Any]" = {"workers": [], "process": [], "problem": None}
    want = None if spec.get("want") is None else number(spec["want"], "want", 1, 100000)
    asked: "list[tuple[int, int | None]]" = []
    if spec.get("pidfile") is not None:
        try:
            if pidfile is None or "text" not in pidfile:
                raise Refused((pidfile or {}).get("why", "could not be read"))
            asked = [(pid, None) for pid in pids_in(pidfile["text"])]
        except Refused as problem:
            answer["problem"] = "the pid file %s: %s" % (spec["pidfile"], problem)
            return answer
    elif spec.get("pids") is not None:
        asked = [(number(pid, "a pid", 1, (1 << 31) - 1), None) for pid in spec["pids"]]
    elif isinstance(spec.get("name"), str) and spec["name"]:
        asked = list(find_by_name(spec["name"], want))
        if not asked:
            answer["problem"] = "no process has %r in its command line" % spec["name"]
    else:
        raise Refused("find needs a name, a pidfile or pids")
    lost = []
    for pid, start in asked:
        proc = eyes.look(pid, start, None)
        if proc["doing"] == "gone":
            lost.append("%d is not there" % pid)
        elif proc["doing"] == "hidden":
            lost.append("%d exists but cannot be seen by this user" % pid)
        else:
            answer["workers"].append([pid, proc["start"], eyes.boot])
            answer["process"].append(proc)
    if lost:
        answer["problem"] = "process " + ", ".join(lost[:8]) + (" and more" if len(lost) > 8 else "")
    return answer


def identity(row: "Any") -> "tuple[int, int | None, str | None]":
    if not isinstance(row, list) or len(row) != 3:
        raise Refused("a process is [pid, start, boot]")
    pid, start, boot = row
    if boot is not None and not isinstance(boot, str):
        raise Refused("a boot id must be a text")
    start = None if start is None else number(start, "a start time", 0, 1 << 62)
    return number(pid, "a pid", 1, (1 << 31) - 1), start, boot


def document_identity(paper: "Any") -> "tuple[int, int | None, str | None] | None":
    """Whom a keeper's record names; a record that is not one names nobody."""
    try:
        return identity([paper["pid"], paper["start"], paper.get("boot")])
    except WRONG_SHAPE:
        return None


FILED: "dict[str, dict[str, Any]]" = {}


def filed(path: str, papers: "dict[str, Any]") -> "dict[str, Any]":
    """The records of a run as the hand sent them, or as they were when it says that they are the same."""
    if papers.get("same"):
        return FILED[path]
    if papers.get("problem") is None:
        papers["roster"] = roster(papers)
        FILED[path] = papers
    return papers


def roster(papers: "dict[str, Any]") -> "list[tuple[int, Any, Any, Any]]":
    """(index, start record, end record, whom to look at) of every worker."""
    starts, ends = papers.get("starts", {}), papers.get("ends", {})
    indexes = set(range(papers.get("workers") or 0)) | set(int(k) for k in starts) | set(int(k) for k in ends)
    rows = [(index, starts.get(str(index)), ends.get(str(index))) for index in sorted(indexes)]
    return [(index, start, end, None if end else document_identity(start)) for index, start, end in rows]


def one_run(papers: "dict[str, Any]", eyes: Processes) -> "dict[str, Any]":
    """A run directory's records beside what the processes they name are doing."""
    keeper, count = papers.get("keeper"), papers.get("workers")
    who = document_identity(keeper)
    alive = None if papers.get("problem") and who is None else False
    if who is not None:
        alive = eyes.look(*who)["doing"] not in ("gone", "zombie")
    workers = [
        {"index": index, "start": start, "end": end, "process": eyes.look(*named) if named else None}
        for index, start, end, named in papers.get("roster") or roster(papers)
    ]
    return {
        "keeper": keeper,
        "keeper_alive": alive,
        "spec_workers": count,
        "workers": workers,
        "abandoned": bool(papers.get("abandoned")) or (keeper is not None and "pid" not in keeper),
        "problem": papers.get("problem"),
    }


def lacks_last_word(run: "dict[str, Any]") -> bool:
    """Whether a worker of a keeper that is gone is gone too, with no record of how."""
    if run["keeper"] is None or run["keeper_alive"]:
        return False
    rows = [row for row in run["workers"] if not row["end"]]
    return any(row["process"] is None or row["process"]["doing"] in ("gone", "zombie") for row in rows)


def process_section(spec: "dict[str, Any]", eyes: Processes, hand: Hand, until: float) -> "dict[str, Any]":
    """Run directories and pid files are read by the hand first, within a third of the time, then /proc is."""
    began = time.monotonic()
    eyes.begin()
    runs, pids, find = (mapping(spec.get(name), "process." + name) for name in ("runs", "pids", "find"))
    units: "list[tuple[str, str, Any]]" = [
        ("run", key, {"path": path, "have": FILED.get(path, {}).get("mark")}) for key, path in runs.items()
    ]
    units += [
        ("pidfile", key, one["pidfile"]) for key, one in find.items() if mapping(one, "find").get("pidfile") is not None
    ]
    got, why = hand.ask(units, began + (until - began) / 3)[:2] if units else ({}, "")
    papers: "dict[tuple[str, str], dict[str, Any]]" = {}
    for at, unit in enumerate(units):
        papers[unit[:2]] = json.loads(got[at].decode("ascii")) if at in got else {"why": why, "problem": why}
    answer: "dict[str, Any]" = {"ok": True, "seconds": 0.0, "runs": {}, "pids": {}, "find": {}}
    for path in set(FILED).difference(runs.values()):
        del FILED[path]
    for key, path in runs.items():
        answer["runs"][key] = one_run(filed(path, papers[("run", key)]), eyes)
    # The records were read before the keeper was looked at; one that is gone since wrote its last word in between.
    late = [("run", key, {"path": runs[key]}) for key in runs if lacks_last_word(answer["runs"][key])]
    got, why = hand.ask(late, began + (until - began) / 2)[:2] if late else ({}, "")
    for at, (_, key, _) in enumerate(late):
        last = json.loads(got[at].decode("ascii")) if at in got else {"why": why, "problem": why}
        answer["runs"][key] = one_run(filed(runs[key], last), eyes)
    for key, rows in pids.items():
        answer["pids"][key] = [eyes.look(*identity(row)) for row in rows]
    for key, one in find.items():
        answer["find"][key] = find_one(one, papers.get(("pidfile", key)), eyes)
    eyes.finish()
    answer["seconds"] = round(time.monotonic() - began, 6)
    return answer
