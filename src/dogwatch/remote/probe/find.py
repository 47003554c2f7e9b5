"""The process section: run directories, known pids, and finding processes by name or pid file."""

import json
import os
import time
from typing import Any

from dogwatch.remote.probe.file_reader import FileReader
from dogwatch.remote.probe.matching import MOST_LISTED, Match, find_by_name
from dogwatch.remote.probe.processes import Processes, process_row
from dogwatch.remote.probe.wire import WRONG_SHAPE, Fields, Refused, number
from dogwatch.remote.shapes import Choice, Find, Identity, PidFile, Process, ProcessSection, Record, Run, RunRecords

NEVER = 0  # a start time that no process has
REUSED = 120.0  # seconds after the writing of a pid file; a file server's clock may be that far off
PID_MOST = (1 << 31) - 1


def is_pid(word: str) -> bool:
    """Whether a word is one; not what only looks like a digit (²), nor what int() takes too long for."""
    return word.isdecimal() and len(word) <= 10 and 0 < int(word) <= PID_MOST


def pids_in(text: str) -> "list[int]":
    words = text.split()
    if not words or len(words) > 4096 or not all(is_pid(word) for word in words):
        raise Refused("does not hold process ids")
    return [int(word) for word in words]


def find_workers(spec: Fields, pidfile: "PidFile | None", processes: Processes) -> "Find":
    """The identities that a pid file, a list of pids or a name stand for, and what could not be taken."""
    want = spec.number("want", 1, 100000) if "want" in spec else None
    name = spec.text("name") if "name" in spec else ""
    ended = ""
    if "pidfile" in spec and not (name and (pidfile or {}).get("absent")):
        path = spec.text("pidfile")
        answer = find_in_file(path, pidfile, want, processes)
        if not name or not names_an_old_run(answer, spec):
            return answer
        told = "; all %d processes in %s have ended, and it was written %d min ago"
        ended = told % (answer["named"], path, answer["age"] / 60)
    if "pids" in spec:
        pids = [number(pid, spec.path("pids"), 1, PID_MOST) for pid in spec.words["pids"]]
        return take_pids([(pid, None) for pid in pids], processes)
    if not name:
        raise Refused("find needs a name, a pidfile or pids")
    named = find_by_name(name, want, spec.number("uid", 0, 1 << 32, os.geteuid()))
    answer = take_pids([(match.pid, match.start) for match in named.workers], processes)
    if named.problem:
        answer["problem"], answer["others"] = named.problem + ended, named.others
    if named.choice:
        answer["choice"] = [choice_row(match, processes) for match in named.choice[:MOST_LISTED]]
        answer["count"] = len(named.choice)
    if named.numbers and len(answer["workers"]) == len(named.numbers):
        answer["numbers"] = named.numbers
    return answer


def names_an_old_run(answer: "Find", spec: Fields) -> bool:
    """Whether a pid file names only processes that have ended and was written long ago: by a run before this one."""
    fresh = spec.number("fresh", 0, 1 << 31, 60) or 60
    gone = answer.get("gone")
    return bool(gone) and len(gone or ()) == answer["named"] and answer["age"] > fresh


def choice_row(match: Match, processes: Processes) -> "Choice":
    """What helps a person to tell one match from another."""
    started = processes.inspect(match.pid, match.start, None)["started"]
    return {"pid": match.pid, "uid": match.uid, "command": " ".join(match.argv)[:300], "started": started}


def take_pids(asked: "list[tuple[int, int | None]]", processes: Processes) -> "Find":
    """Those of them that are there; the problem names the others."""
    answer: "Find" = {"workers": [], "process": [], "problem": None}
    lost = []
    for pid, start in asked:
        process = processes.inspect(pid, start, None)
        if process["doing"] == "gone":
            lost.append("%d is not there" % pid)
        elif process["doing"] == "hidden":
            lost.append("%d exists but cannot be seen by this user" % pid)
        else:
            answer["workers"].append((pid, process["start"], processes.boot))
            answer["process"].append(process)
    if lost:
        answer["problem"] = "process " + ", ".join(lost[:8]) + (" and more" if len(lost) > 8 else "")
    return answer


def find_in_file(path: str, pidfile: "PidFile | None", want: "int | None", processes: Processes) -> "Find":
    """Every process that a pid file names, in its order. One that has ended keeps its place, as a process that started
    at 0, which none did; so does one that started after the file was written, since another has its pid now."""
    answer: "Find" = {"workers": [], "process": [], "problem": None}
    try:
        if pidfile is None or "text" not in pidfile:
            raise Refused((pidfile or {}).get("why", "could not be read"))
        pids, mtime = list(dict.fromkeys(pids_in(pidfile["text"]))), pidfile["mtime"]
    except Refused as problem:
        answer["problem"] = "the pid file %s: %s" % (path, problem)
        return answer
    hidden, gone = [], []
    for pid in pids:
        process = processes.inspect(pid, None, None)
        if process["doing"] == "hidden":
            hidden.append(pid)
            continue
        if process["doing"] == "gone" or (process["started"] is not None and process["started"] > mtime + REUSED):
            gone.append(pid)
            process = process_row(pid, "gone", NEVER, processes.boot)
        answer["workers"].append((pid, process["start"], processes.boot))
        answer["process"].append(process)
    answer["age"] = max(0.0, time.time() - mtime)
    answer["gone"], answer["named"] = gone, len(pids)
    answer["problem"] = None if not hidden else "process %d exists but cannot be seen by this user" % hidden[0]
    if want is not None and len(pids) > want:
        answer["problem"] = "the pid file %s names %d processes, where %d are expected" % (path, len(pids), want)
        answer["workers"], answer["process"] = [], []
    return answer


def identity(row: "Any") -> "Identity":
    if not isinstance(row, list) or len(row) != 3:
        raise Refused("a process is [pid, start, boot]")
    pid, start, boot = row
    if boot is not None and not isinstance(boot, str):
        raise Refused("a boot id must be a text")
    start = None if start is None else number(start, "a start time", 0, 1 << 62)
    return number(pid, "a pid", 1, PID_MOST), start, boot


def record_identity(record: "Record | None") -> "Identity | None":
    """The process that a supervisor's record names; None if it is no such record."""
    try:
        return identity([record["pid"], record["start"], record.get("boot")]) if record is not None else None
    except WRONG_SHAPE:
        return None


def worker_records(records: "RunRecords") -> "list[tuple[int, Record | None, Record | None, Identity | None]]":
    """(index, start record, end record, the process to look at) of every worker."""
    starts, ends = records.get("starts", {}), records.get("ends", {})
    indexes = set(range(records.get("workers") or 0)) | set(int(k) for k in starts) | set(int(k) for k in ends)
    rows = [(index, starts.get(str(index)), ends.get(str(index))) for index in sorted(indexes)]
    return [(index, start, end, None if end else record_identity(start)) for index, start, end in rows]


class KnownRun:
    """The records of a run directory, with what they say of its workers."""

    __slots__ = ("records", "workers")

    def __init__(self, records: "RunRecords") -> None:
        self.records, self.workers = records, worker_records(records)


KNOWN_RUNS: "dict[str, KnownRun]" = {}


def known_run(path: str, records: "RunRecords") -> KnownRun:
    """A run by the records that the file reader sent, or by the earlier ones when it says that they are the same."""
    if records.get("same"):
        return KNOWN_RUNS[path]
    run = KnownRun(records)
    if records.get("problem") is None:
        KNOWN_RUNS[path] = run
    return run


def inspect_run(run: KnownRun, processes: Processes) -> "Run":
    """A run directory's records beside what the processes they name are doing."""
    supervisor, problem = run.records.get("supervisor"), run.records.get("problem")
    process = record_identity(supervisor)
    alive = None if problem and process is None else False
    if process is not None:
        alive = processes.inspect(*process)["doing"] not in ("gone", "zombie")
    return {
        "supervisor": supervisor,
        "supervisor_alive": alive,
        "spec_workers": run.records.get("workers"),
        "workers": [
            {"index": index, "start": start, "end": end, "process": processes.inspect(*worker) if worker else None}
            for index, start, end, worker in run.workers
        ],
        "abandoned": bool(run.records.get("abandoned")) or (supervisor is not None and "pid" not in supervisor),
        "problem": problem,
    }


def lacks_last_record(run: "Run") -> bool:
    """Whether a worker of a supervisor that is gone is gone too, with no record of how."""
    if run["supervisor"] is None or run["supervisor_alive"]:
        return False
    without_end = [row["process"] for row in run["workers"] if not row["end"]]
    return any(process is None or process["doing"] in ("gone", "zombie") for process in without_end)


def inspect_foreign(asked: "Identity", processes: Processes) -> "Process":
    """A process that somebody else started, with the files it writes: one of them may be its log."""
    process, writes = processes.inspect(*asked), processes.writes(asked[0], asked[1])
    return {**process, "writes": writes} if writes else process


def read_units(units: "list[tuple[str, str, Any]]", file_reader: FileReader, until: float) -> "list[Any]":
    """What the file reader answered about each unit; about one that it did not get to, why not."""
    got, why, _ = file_reader.ask(units, until) if units else ({}, "", {})
    late = {"why": why, "problem": why}
    return [json.loads(got[at].decode("ascii")) if at in got else late for at in range(len(units))]


def process_section(spec: Fields, processes: Processes, file_reader: FileReader, until: float) -> "ProcessSection":
    """Run directories and pid files are read by the file reader first, within a third of the time, then /proc is."""
    began = time.monotonic()
    processes.begin()
    runs = spec.text_by_name("runs")
    finds = {key: Fields(row, "process.find") for key, row in spec.mapping("find").items()}
    marks = {path: run.records.get("mark") for path, run in KNOWN_RUNS.items()}
    run_units = [("run", key, {"path": path, "have": marks.get(path)}) for key, path in runs.items()]
    pid_units = [("pidfile", key, row.words["pidfile"]) for key, row in finds.items() if "pidfile" in row]
    read = read_units(run_units + pid_units, file_reader, began + (until - began) / 3)
    for path in set(KNOWN_RUNS).difference(runs.values()):
        del KNOWN_RUNS[path]
    run_rows = {key: inspect_run(known_run(runs[key], records), processes) for key, records in zip(runs, read)}
    # The records were read before the supervisor was looked at; one that ended in between wrote its last record then.
    late = [("run", key, {"path": runs[key]}) for key in runs if lacks_last_record(run_rows[key])]
    for unit, records in zip(late, read_units(late, file_reader, began + (until - began) / 2)):
        run_rows[unit[1]] = inspect_run(known_run(runs[unit[1]], records), processes)
    asked = {key: [identity(row) for row in rows] for key, rows in spec.mapping("pids").items()}
    pids = {key: [inspect_foreign(process, processes) for process in rows] for key, rows in asked.items()}
    pidfiles = {unit[1]: answer for unit, answer in zip(pid_units, read[len(runs) :])}
    find_rows = {key: find_workers(row, pidfiles.get(key), processes) for key, row in finds.items()}
    processes.finish()
    seconds = round(time.monotonic() - began, 6)
    return {"ok": True, "seconds": seconds, "runs": run_rows, "pids": pids, "find": find_rows}
