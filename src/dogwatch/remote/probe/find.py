"""The process section: run directories, known pids, and finding processes by name or pid file."""

import json
import os
import time

from dogwatch.remote.probe.file_reader import FileReader
from dogwatch.remote.probe.matching import Match, find_by_name
from dogwatch.remote.probe.processes import Processes, process_row
from dogwatch.remote.probe.wire import WRONG_SHAPE, Refused, mapping, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NEVER = 0  # a start time that no process has
REUSED = 120.0  # seconds after the writing of a pid file; a file server's clock may be that far off


def pids_in(text: str) -> "list[int]":
    words = text.split()
    if not words or len(words) > 4096 or not all(word.isdigit() and 0 < int(word) < 1 << 31 for word in words):
        raise Refused("does not hold process ids")
    return [int(word) for word in words]


def find_one(spec: "dict[str, Any]", pidfile: "dict[str, Any] | None", processes: Processes) -> "dict[str, Any]":
    """The identities that a pid file, a list of pids or a name stand for, and what could not be taken."""
    answer: "dict[str, Any]" = {"workers": [], "process": [], "problem": None}
    want = None if spec.get("want") is None else number(spec["want"], "want", 1, 100000)
    old_news = ""
    named = isinstance(spec.get("name"), str) and bool(spec["name"])
    if spec.get("pidfile") is not None and not (named and (pidfile or {}).get("absent")):
        found = find_in_file(spec["pidfile"], pidfile, want, processes, answer)
        if not named or not is_old_news(found, spec):
            return found
        old = "; all %d processes in %s have ended, and it was written %d min ago"
        old_news = old % (found["named"], spec["pidfile"], found["age"] / 60)
        answer = {"workers": [], "process": [], "problem": None}
    if spec.get("pids") is not None:
        pids = [number(pid, "a pid", 1, (1 << 31) - 1) for pid in spec["pids"]]
        return take_pids([(pid, None) for pid in pids], processes, answer)
    if not named:
        raise Refused("find needs a name, a pidfile or pids")
    uid = os.geteuid() if spec.get("uid") is None else number(spec["uid"], "uid", 0, 1 << 32)
    found = find_by_name(spec["name"], want, uid)
    if "problem" in found:
        answer["problem"] = found["problem"] + old_news
        answer["others"] = found.get("others")
    if "choice" in found:
        answer["choice"] = [choice_row(one, processes) for one in found["choice"]]
        answer["count"] = found["count"]
    take_pids(found.get("workers") or [], processes, answer)
    if found.get("numbers") and len(answer["workers"]) == len(found["numbers"]):
        answer["numbers"] = found["numbers"]
    return answer


def is_old_news(found: "dict[str, Any]", spec: "dict[str, Any]") -> bool:
    """Whether a pid file names only processes that have ended and was written long ago: by a run before this one."""
    fresh = number(spec.get("fresh") or 60, "fresh", 0, 1 << 31)
    gone = found.get("gone") or ()
    return bool(gone) and len(gone) == found["named"] and found["age"] > fresh


def choice_row(one: Match, processes: Processes) -> "dict[str, Any]":
    """What helps a person to tell one match from another."""
    seen = processes.inspect(one.pid, one.start, None)
    return {"pid": one.pid, "uid": one.uid, "command": " ".join(one.argv)[:300], "started": seen["started"]}


def take_pids(
    asked: "list[tuple[int, int | None]]", processes: Processes, answer: "dict[str, Any]"
) -> "dict[str, Any]":
    """Those of them that are there; of the others it is said that they are not."""
    lost = []
    for pid, start in asked:
        proc = processes.inspect(pid, start, None)
        if proc["doing"] == "gone":
            lost.append("%d is not there" % pid)
        elif proc["doing"] == "hidden":
            lost.append("%d exists but cannot be seen by this user" % pid)
        else:
            answer["workers"].append([pid, proc["start"], processes.boot])
            answer["process"].append(proc)
    if lost:
        answer["problem"] = "process " + ", ".join(lost[:8]) + (" and more" if len(lost) > 8 else "")
    return answer


def find_in_file(
    path: str, paper: "dict[str, Any] | None", want: "int | None", processes: Processes, answer: "dict[str, Any]"
) -> "dict[str, Any]":
    """Every process that a pid file names, in its order. One that has ended keeps its place, as a process that started
    at 0, which none did; so does one that started after the file was written, since another has its pid now."""
    try:
        if paper is None or "text" not in paper:
            raise Refused((paper or {}).get("why", "could not be read"))
        pids = pids_in(paper["text"])
    except Refused as problem:
        answer["problem"] = "the pid file %s: %s" % (path, problem)
        return answer
    take_pids([(pid, None) for pid in pids], processes, answer)
    there = dict((row[0], (row, proc)) for row, proc in zip(answer["workers"], answer["process"]))
    for pid, (_, proc) in list(there.items()):
        if proc["started"] is not None and proc["started"] > paper["mtime"] + REUSED:
            del there[pid]
    hidden = [pid for pid in pids if pid not in there and processes.inspect(pid, None, None)["doing"] == "hidden"]
    gone = [pid for pid in pids if pid not in there and pid not in hidden]
    for pid in gone:
        there[pid] = ([pid, NEVER, processes.boot], process_row(pid, "gone", NEVER, processes.boot))
    rows = [there[pid] for pid in dict.fromkeys(pids) if pid in there]
    answer["workers"], answer["process"] = [row for row, _ in rows], [proc for _, proc in rows]
    answer["age"] = max(0.0, time.time() - paper["mtime"])
    answer["gone"], answer["named"] = gone, len(set(pids))
    answer["problem"] = None if not hidden else "process %d exists but cannot be seen by this user" % hidden[0]
    if want is not None and len(set(pids)) > want:
        answer["problem"] = "the pid file %s names %d processes, where %d are expected" % (path, len(set(pids)), want)
        answer["workers"], answer["process"] = [], []
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
    """Whom a supervisor's record names; a record that is not one names nobody."""
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


def one_run(papers: "dict[str, Any]", processes: Processes) -> "dict[str, Any]":
    """A run directory's records beside what the processes they name are doing."""
    supervisor, count = papers.get("supervisor"), papers.get("workers")
    who = document_identity(supervisor)
    alive = None if papers.get("problem") and who is None else False
    if who is not None:
        alive = processes.inspect(*who)["doing"] not in ("gone", "zombie")
    workers = [
        {"index": index, "start": start, "end": end, "process": processes.inspect(*named) if named else None}
        for index, start, end, named in papers.get("roster") or roster(papers)
    ]
    return {
        "supervisor": supervisor,
        "supervisor_alive": alive,
        "spec_workers": count,
        "workers": workers,
        "abandoned": bool(papers.get("abandoned")) or (supervisor is not None and "pid" not in supervisor),
        "problem": papers.get("problem"),
    }


def lacks_last_word(run: "dict[str, Any]") -> bool:
    """Whether a worker of a supervisor that is gone is gone too, with no record of how."""
    if run["supervisor"] is None or run["supervisor_alive"]:
        return False
    rows = [row for row in run["workers"] if not row["end"]]
    return any(row["process"] is None or row["process"]["doing"] in ("gone", "zombie") for row in rows)


def foreign(who: "tuple[int, int | None, str | None]", processes: Processes) -> "dict[str, Any]":
    """A process that somebody else started, with the files it writes: one of them may be its log."""
    seen, writes = processes.inspect(*who), processes.writes(who[0], who[1])
    return dict(seen, writes=writes) if writes else seen


def process_section(
    spec: "dict[str, Any]", processes: Processes, file_reader: FileReader, until: float
) -> "dict[str, Any]":
    """Run directories and pid files are read by the hand first, within a third of the time, then /proc is."""
    began = time.monotonic()
    processes.begin()
    runs, pids, find = (mapping(spec.get(name), "process." + name) for name in ("runs", "pids", "find"))
    units: "list[tuple[str, str, Any]]" = [
        ("run", key, {"path": path, "have": FILED.get(path, {}).get("mark")}) for key, path in runs.items()
    ]
    units += [
        ("pidfile", key, one["pidfile"]) for key, one in find.items() if mapping(one, "find").get("pidfile") is not None
    ]
    got, why = file_reader.ask(units, began + (until - began) / 3)[:2] if units else ({}, "")
    papers: "dict[tuple[str, str], dict[str, Any]]" = {}
    for at, unit in enumerate(units):
        papers[unit[:2]] = json.loads(got[at].decode("ascii")) if at in got else {"why": why, "problem": why}
    answer: "dict[str, Any]" = {"ok": True, "seconds": 0.0, "runs": {}, "pids": {}, "find": {}}
    for path in set(FILED).difference(runs.values()):
        del FILED[path]
    for key, path in runs.items():
        answer["runs"][key] = one_run(filed(path, papers[("run", key)]), processes)
    # The records were read before the supervisor was looked at; one that is gone since wrote its last word in between.
    late = [("run", key, {"path": runs[key]}) for key in runs if lacks_last_word(answer["runs"][key])]
    got, why = file_reader.ask(late, began + (until - began) / 2)[:2] if late else ({}, "")
    for at, (_, key, _) in enumerate(late):
        last = json.loads(got[at].decode("ascii")) if at in got else {"why": why, "problem": why}
        answer["runs"][key] = one_run(filed(runs[key], last), processes)
    for key, rows in pids.items():
        answer["pids"][key] = [foreign(identity(row), processes) for row in rows]
    for key, one in find.items():
        answer["find"][key] = find_one(one, papers.get(("pidfile", key)), processes)
    processes.finish()
    answer["seconds"] = round(time.monotonic() - began, 6)
    return answer
