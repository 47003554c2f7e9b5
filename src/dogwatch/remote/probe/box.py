"""The box section: runs on a machine without a scheduler, each by its records, its tmux session or its processes.

Nothing is searched for by a pattern that could match the probe itself: a process is known by pid, start time and boot
id, a session by its exact name, and a search by name leaves the probe out.
"""

import json
import re
import time
from typing import Any

from dogwatch.remote.probe.box_files import CHAIN_OWNER
from dogwatch.remote.probe.box_machine import box_machine, count_threads
from dogwatch.remote.probe.command import run_command
from dogwatch.remote.probe.commands import command_environment, search_path
from dogwatch.remote.probe.file_reader import FileReader
from dogwatch.remote.probe.find import find_workers, identity, inspect_foreign, read_units
from dogwatch.remote.probe.paths import Allowance
from dogwatch.remote.probe.processes import Processes
from dogwatch.remote.probe.usage import Table, process_table
from dogwatch.remote.probe.wire import WRONG_SHAPE, Fields
from dogwatch.remote.shapes import (
    BoxFiles,
    BoxRow,
    BoxSection,
    Identity,
    Pane,
    Process,
    Tmux,
    TmuxPane,
    TmuxSession,
)

TMUX_SECONDS, TMUX_CAP = 5.0, 1 << 20
TMUX_FORMAT = " ".join("#{%s}" % word for word in ("session_created", "pane_pid", "pane_dead", "pane_dead_status"))
TMUX_FORMAT += ".#{pane_current_command} #{session_name}"
TMUX_LINE = re.compile(r"^(\d{1,12}) (\d{1,9}) ([01]?) (\d{0,6})\.(\S*) (.*)\Z", re.S)
NO_SERVER = re.compile(r"no server running|error connecting to .*No such file|failed to connect to server")
NAMED_PROCESS = re.compile(r"^(attempt-\d+\.json|stage-\d+\.start\.json)\Z")
GONE = ("gone", "zombie")


def tmux_sessions(until: float) -> "tuple[Tmux, dict[str, list[TmuxPane]]]":
    """Whether tmux could be asked, and the panes of every session. Without a server there are no sessions."""
    argv = ["tmux", "list-panes", "-a", "-F", TMUX_FORMAT]
    environment = command_environment({}, ["TMUX"])
    ran = run_command(argv, environment, search_path([]), min(until, time.monotonic() + TMUX_SECONDS), TMUX_CAP)
    if ran["why"]:
        return {"asked": False, "why": "tmux: %s" % ran["why"]}, {}
    if ran["rc"]:
        err = ran["err"].strip()
        return ({"asked": True}, {}) if NO_SERVER.search(err) else ({"asked": False, "why": "tmux: " + err[:300]}, {})
    sessions: "dict[str, list[TmuxPane]]" = {}
    for line in ran["out"].splitlines():
        row = TMUX_LINE.match(line)
        if row:
            created, pid, dead, status, command, name = row.groups()
            sessions.setdefault(name, []).append((int(created), int(pid), dead == "1", status, command[:200]))
    return {"asked": True}, sessions


def tmux_session(name: str, panes: "list[TmuxPane]", processes: Processes) -> "TmuxSession":
    rows: "list[Pane]" = []
    for _, pid, dead, status, command in panes[:1000]:
        process = None if dead or not pid else processes.inspect(pid, None, None)
        rows.append({"dead": dead, "status": int(status) if status else None, "command": command, "process": process})
    return {"name": name, "created": float(panes[0][0]), "panes": rows}


def chain_processes(files: "BoxFiles") -> "list[Identity]":
    """The processes that the records of a chain name: its supervisors and its stages."""
    chain = files.get("chain")
    named: "dict[Identity, None]" = {}
    for name, text in chain["texts"].items() if chain else ():
        if name == CHAIN_OWNER.decode("ascii") or NAMED_PROCESS.match(name):
            try:
                record = json.loads(text)
                named[identity([record["pid"], record["start"], record.get("boot")])] = None
            except WRONG_SHAPE:
                continue  # whoever reads the record says what is wrong with it
    return list(named)[:4096]


class BoxRun:
    """One run that is asked about, with what its files say."""

    __slots__ = ("files", "key", "spec")

    def __init__(self, key: str, spec: Fields) -> None:
        self.key, self.spec = key, spec
        self.files: "BoxFiles" = {}

    def take(self, answer: "Any") -> None:
        """What the file reader answered; where it did not get to that, why not is said of the chain."""
        problem = answer.get("problem") or answer.get("why")
        if problem is None:
            self.files = answer
        elif "chain" in self.spec:
            self.files = {"chain": {"there": True, "problem": str(problem), "texts": {}}}

    def lost_its_supervisor(self, processes: Processes) -> bool:
        """Whether a process that its records name is gone, and none of them says that the run is over."""
        chain = self.files.get("chain")
        if chain is None or "end.json" in chain["texts"]:
            return False
        return any(processes.inspect(*process)["doing"] in GONE for process in chain_processes(self.files))

    def row(self, processes: Processes, sessions: "dict[str, list[TmuxPane]]", table: Table) -> "BoxRow":
        known: "list[Process]" = [
            inspect_foreign(identity(row), processes) for row in self.spec.words.get("pids") or []
        ]
        known += [processes.inspect(*named) for named in chain_processes(self.files)]
        row: "BoxRow" = {"processes": known}
        row.update(self.files)  # type: ignore[typeddict-item]
        panes = sessions.get(self.spec.text("tmux")) if "tmux" in self.spec else None
        if panes:
            row["session"] = session = tmux_session(self.spec.text("tmux"), panes, processes)
            known = known + [pane["process"] for pane in session["panes"] if pane["process"]]
        if "find" in self.spec:
            row["find"] = find_workers(self.spec.inner("find"), None, processes)
            known = known + row["find"]["process"]
        alive = [process["pid"] for process in known if process["doing"] not in GONE]
        if alive:
            row["threads"] = count_threads(alive, table)
        return row


def box_section(request: Fields, processes: Processes, file_reader: FileReader, until: float) -> "BoxSection":
    """Files come first, then processes. A chain whose supervisor is gone without having said so is read once more: it
    may have ended in between."""
    began = time.monotonic()
    runs = [BoxRun(key, Fields(row, "box")) for key, row in request.mapping("box").items()]
    answers = read_units([("box", run.key, run.spec.words) for run in runs], file_reader, began + (until - began) / 2)
    for run, answer in zip(runs, answers):
        run.take(answer)
    asked, sessions = tmux_sessions(until) if any("tmux" in run.spec for run in runs) else (None, {})
    if "process" not in request:
        processes.begin()
    late = [run for run in runs if run.lost_its_supervisor(processes)]
    for run, answer in zip(late, read_units([("box", run.key, run.spec.words) for run in late], file_reader, until)):
        run.take(answer)
    table = process_table(Allowance(max(0.1, 2 * (until - time.monotonic()))))
    section: "BoxSection" = {"ok": True, "rows": {run.key: run.row(processes, sessions, table) for run in runs}}
    section["machine"] = box_machine(processes)
    if asked is not None:
        section["tmux"] = asked
    processes.finish()
    section["seconds"] = round(time.monotonic() - began, 6)
    return section
