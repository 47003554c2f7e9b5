"""Runs without python3: the questions about them as lines for `remote/box.sh`, and what it tells as the sections that
the probe would have sent. What cannot be had this way is said: searches by name, GPUs, outputs and checkpoints."""

from __future__ import annotations

import re
import shlex
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from dogwatch.wire.json_value import JsonObject
from dogwatch.wire.questions import BoxQuestion
from dogwatch.wire.requests import FileRequest, LogRequest

SECTION = "box"
NO_SEARCH = "there is no python3, so no process can be found by its name; give --tmux or --pid"
TMUX = "#{session_created} #{pane_pid} #{pane_dead} #{pane_dead_status}.#{pane_current_command} #{session_name}"
_PANE = re.compile(r"(\d{1,12}) (\d{1,9}) ([01]?) (\d{0,6})\.(\S*) (.*)")
_NO_SERVER = re.compile(r"no server running|error connecting to .*No such file|failed to connect to server")
_WILD = re.compile(r"(\*+|\?|\[[^\]/]*\])")
_RECORD = re.compile(
    r"lock/owner\.json|(spec|heartbeat|end|pushed|cancelled|attempt-\d{1,6}|stage-\d{1,4}\.(start|waits|end))\.json"
    r"|stage-\d{1,4}\.done"
)
_DOING = {"R": "running", "D": "uninterruptible", "T": "stopped", "t": "stopped", "Z": "zombie", "X": "zombie"}
PAGE = 4096


class Unreadable(ValueError):
    """An answer that is not what was asked for."""


def lines(request: JsonObject) -> list[str]:
    """The functions `box_rows` and `box_files` of a script; empty ones where nothing is asked about runs."""
    asked = _questions(request)
    rows = [line for number, question in enumerate(asked.values()) for line in _row(number, question)]
    if any(question.tmux for question in asked.values()):
        rows.append(f"panes {shlex.quote(TMUX)}")
    files = [line for ref, log in _logs(request).items() if ref in asked for line in _log_lines(log)]
    disks = request.get("disks")
    files += [f"disk {shlex.quote(str(path))}" for path in (disks if isinstance(disks, list) else [])]
    return ["box_rows() {", *(rows or [":"]), "}", "box_files() {", *(files or [":"]), "}"]


def _questions(request: JsonObject) -> dict[str, BoxQuestion]:
    return msgspec.convert(request.get(SECTION) or {}, dict[str, BoxQuestion])


def _logs(request: JsonObject) -> dict[str, LogRequest]:
    return msgspec.convert(request.get("logs") or {}, dict[str, LogRequest])


def _row(number: int, question: BoxQuestion) -> Iterator[str]:
    yield f"row {number}"
    if question.chain is not None:
        yield f"chain {shlex.quote(question.chain)}"
    wanted = [pid for pid, _, _ in question.pids]
    wanted += (question.find.pids or []) if question.find is not None else []
    yield from (f"process {pid}" for pid in wanted)
    if question.markers:
        yield f"markers {' '.join(map(glob_word, question.markers))}"
    if question.results:
        yield f"count {' '.join(map(glob_word, question.results))}"


def _log_lines(request: LogRequest) -> Iterator[str]:
    for path, cursor in request.known.items():
        yield f"log {shlex.quote(path)} {cursor.ino} {cursor.offset}"
    for glob in request.globs:
        if glob in request.known:
            continue
        skip = "".join(f"{shlex.quote(path)}) continue;; " for path in request.known)
        yield f'for one in {glob_word(glob)}; do case "$one" in {skip}esac; log "$one" 0 0; done'


def glob_word(glob: str) -> str:
    """A glob as one word of a shell: its wildcards work, and everything else is quoted."""
    parts = _WILD.split(glob)
    return "".join(part if at % 2 and _is_plain(part) else shlex.quote(part) for at, part in enumerate(parts) if part)


def _is_plain(wild: str) -> bool:
    """Whether a wildcard holds nothing that a shell would take for something else."""
    return re.fullmatch(r"\*+|\?|\[[A-Za-z0-9_.!-]+\]", wild) is not None


def sections(request: JsonObject, part: str, wall: float, boot: str | None) -> dict[str, Any]:
    """The sections box, logs and disks as the probe has them."""
    told = Told(part)
    asked = _questions(request)
    found: dict[str, Any] = {SECTION: told.box(asked, wall, boot)}
    logs = _logs(request)
    if "logs" in request:
        rows = {ref: told.logs(log) for ref, log in logs.items() if ref in asked}
        late = [ref for ref in logs if ref not in asked]
        found["logs"] = (
            {"ok": True, **rows} if not late else {"ok": False, "why": "not read in sh", "late": late, **rows}
        )
    if "files" in request:
        wanted = msgspec.convert(request["files"], dict[str, FileRequest])
        listed = {ref: told.files(number, wanted[ref]) for number, ref in enumerate(asked) if ref in wanted}
        found["files"] = {"ok": True, **listed}
        if late := [ref for ref in wanted if ref not in asked]:
            found["files"] |= {"ok": False, "why": "not read in sh", "late": late}
    if "disks" in request:
        found["disks"] = {"ok": True, "disks": told.disks()}
    return found


class Told:
    """The lines of an answer, each by its first letter."""

    def __init__(self, part: str) -> None:
        self.machine: dict[str, str] = {}
        self.rows: dict[int, list[list[str]]] = {}
        self.processes: dict[int, list[str]] = {}
        self.tmux: tuple[int, str] | None = None
        self.log_rows: list[list[str]] = []
        self.disk_rows: list[list[str]] = []
        current: list[list[str]] = []
        for line in part.split("\n"):
            mark, *words = line.split(" ")
            match mark, words:
                case "m", [name, value]:
                    self.machine[name] = text_of(value).strip()
                case "r", [number]:
                    current = self.rows.setdefault(_whole(number), [])
                case "p", [pid, *_]:
                    self.processes[_whole(pid)] = words
                case "t", [code, *said]:
                    self.tmux = (_whole(code), text_of("".join(said)))
                case "l", _:
                    self.log_rows.append(words)
                case "d", _:
                    self.disk_rows.append(words)
                case (("c" | "f" | "k" | "n" | "o" | "x"), _):
                    current.append([mark, *words])
                case "", []:
                    continue
                case _:
                    raise Unreadable("the answer has a line that was not requested")

    def box(self, asked: Mapping[str, BoxQuestion], wall: float, boot: str | None) -> dict[str, Any]:
        machine = self.machine
        load, cpus, first = machine.get("load", ""), machine.get("cpus", ""), _stat(machine.get("init", ""))
        identity = machine.get("id", "")
        section: dict[str, Any] = {
            "ok": True,
            "machine": {
                "id": identity if re.fullmatch(r"[0-9a-f]{32}", identity) else None,
                "wall": wall,
                "boot": boot,
                "init_start": None if first is None else int(first[1][19]),
                "cpus": int(cpus) if cpus.isdecimal() else 1,
                "quota": _quota(machine.get("quota", "")),
                "load": float(load.split()[0]) if re.match(r"[0-9.]+\s", load + " ") else None,
            },
            "rows": {ref: self._row(number, question, boot) for number, (ref, question) in enumerate(asked.items())},
        }
        if self.tmux is not None:
            code, said = self.tmux
            failed = code != 0 and not _NO_SERVER.search(said)
            section["tmux"] = {"asked": not failed, "why": f"tmux: {said[:300]}" if failed else ""}
        return section

    def _row(self, number: int, question: BoxQuestion, boot: str | None) -> dict[str, Any]:
        told = self.rows.get(number, [])
        row: dict[str, Any] = {
            "processes": [self._process(pid, start, boot, known) for pid, start, known in question.pids]
        }
        if question.chain is not None:
            row["chain"] = chain = _chain(told)
            named = (claim for name, text in chain["texts"].items() if (claim := _claim(name, text)) is not None)
            row["processes"] += [self._process(pid, start, boot, known) for pid, start, known in dict.fromkeys(named)]
        if question.find is not None:
            row["find"] = self._find(question, boot)
        if question.tmux is not None and self.tmux is not None and self.tmux[0] == 0:
            row["session"] = self._session(question.tmux, boot)
        if question.markers:
            row["markers"] = _markers(told)
        if question.results:
            row["results"] = _counted(told)
        return row

    def _find(self, question: BoxQuestion, boot: str | None) -> dict[str, Any]:
        assert question.find is not None
        pids = question.find.pids
        if not pids:
            return {"workers": [], "process": [], "problem": NO_SEARCH}
        found = [self._process(pid, None, boot, boot) for pid in pids]
        alive = [process for process in found if process["doing"] != "gone"]
        gone = [f"{process['pid']} is not there" for process in found if process["doing"] == "gone"]
        workers = [(process["pid"], process["start"], boot) for process in alive]
        return {"workers": workers, "process": alive, "problem": f"process {', '.join(gone)}" if gone else None}

    def _session(self, name: str, boot: str | None) -> dict[str, Any] | None:
        assert self.tmux is not None
        panes, created = [], 0
        for line in self.tmux[1].splitlines():
            match = _PANE.fullmatch(line)
            if match is None or match[6] != name:
                continue
            created = int(match[1])
            process = self._process(int(match[2]), None, boot, boot) if match[3] != "1" else None
            status = int(match[4]) if match[4] else None
            panes.append({"dead": match[3] == "1", "status": status, "command": match[5], "process": process})
        return {"name": name, "created": float(created), "panes": panes} if panes else None

    def _process(self, pid: int, start: int | None, boot: str | None, known: str | None) -> dict[str, Any]:
        """A process by its stat file; gone where there is none, or another one has its pid."""
        blank = dict.fromkeys(
            ("started", "cpu", "rss", "children", "threads", "uid", "command", "exit", "oom", "kernel_log")
        )
        gone = {**blank, "pid": pid, "doing": "gone", "start": start, "boot": known or boot}
        if known and boot and known != boot:
            return {**gone, "rebooted": True}
        words = self.processes.get(pid)
        stat = _stat(text_of(words[2])) if words is not None and len(words) > 2 else None
        if words is None or stat is None or (start is not None and int(stat[1][19]) != start):
            return gone
        name, fields = stat
        return {
            **blank,
            "pid": pid,
            "doing": _DOING.get(fields[0], "sleeping"),
            "start": int(fields[19]),
            "boot": boot,
            "rss": int(fields[21]) * PAGE,
            "children": _whole(words[1]),
            "threads": int(fields[17]),
            "command": f"[{name[:200]}]",
            "oom": _memory(text_of(words[3])) if len(words) > 3 else None,
        }

    def logs(self, request: LogRequest) -> dict[str, Any]:
        """The answer about the logs of one job."""
        row: dict[str, Any] = {"files": {}, "unchanged": [], "missing": [], "unreadable": {}, "gone": []}
        globs = [re.compile(_pattern(glob)) for glob in request.globs]
        for words in self.log_rows:
            path = text_of(words[0])
            cursor = request.known.get(path)
            if cursor is None and not any(glob.fullmatch(path) for glob in globs):
                continue
            if words[1:] == ["missing"]:
                row["gone" if cursor is not None else "missing"].append(path)
                continue
            if words[1:] == ["unreadable"] or len(words) != 8:
                row["unreadable"][path] = "could not be read in sh"
                continue
            dev, ino, size, mtime, start = map(_whole, words[1:6])
            head, text = bytes_of(words[6]), bytes_of(words[7])
            same = cursor is not None and cursor.ino == ino
            offset = cursor.offset if cursor is not None and same else 0
            reset = None if cursor is None or (same and size >= offset) else "truncated" if same else "replaced"
            if cursor is not None and same and not reset and size == offset:
                row["unchanged"].append(path)
                continue
            row["files"][path] = {
                "dev": dev,
                "ino": ino,
                "head": zlib.crc32(head),
                "headlen": len(head),
                "size": size,
                "mtime": float(mtime),
                "from": start,
                "text": text.decode("latin-1"),
                "reset": reset,
                "skipped": max(0, start - (0 if reset else offset)),
            }
        return row

    def files(self, number: int, wanted: FileRequest) -> dict[str, Any]:
        """The outputs of one run, as far as its result files are known by name; checkpoints are not listed."""
        told = self.rows.get(number, [])
        globs = [re.compile(_pattern(glob)) for glob in wanted.outputs]
        named = [row for row in _named(told, "o") if any(glob.fullmatch(row["path"]) for glob in globs)]
        missing = [
            text
            for text, glob in zip(wanted.outputs, globs, strict=True)
            if not any(map(glob.fullmatch, (row["path"] for row in named)))
        ]
        unread = dict.fromkeys(wanted.checkpoints, "there is no python3 to list checkpoints")
        return {
            "capped": _counted(told)["count"] > len(named),
            "missing": missing,
            "unreadable": unread,
            "outputs": named,
            "checkpoints": [],
        }

    def disks(self) -> dict[str, Any]:
        found = {}
        for words in self.disk_rows:
            if len(words) != 4:
                continue
            room, inodes = text_of(words[2]).split(), text_of(words[3]).split()
            if len(room) < 6 or not all(word.isdecimal() for word in room[1:4]):
                continue
            count = [int(word) if word.isdecimal() else 0 for word in inodes[1:4]] if len(inodes) >= 6 else [0, 0, 0]
            used, free = int(room[2]) << 10, int(room[3]) << 10
            found[text_of(words[0])] = {
                "total": used + free,
                "free": free,
                "mount": room[5],
                "writable": words[1] == "yes",
                "inodes": count[0],
                "inodes_free": count[2],
            }
        return found


def _pattern(glob: str) -> str:
    """What a shell's wildcards match, as a regular expression."""
    parts = _WILD.split(glob)
    wild = {"*": "[^/]*", "?": "[^/]"}
    return "".join(wild.get(part[:1], "[^/]") if at % 2 else re.escape(part) for at, part in enumerate(parts))


def _chain(told: Sequence[Sequence[str]]) -> dict[str, Any]:
    texts = {}
    for char, *words in told:
        if char == "f" and len(words) == 2 and _RECORD.fullmatch(name := text_of(words[0])):
            texts[name] = text_of(words[1])
    there = ["c", "there"] in [list(words) for words in told]
    return {"there": there, "problem": None, "texts": texts}


class _Named(msgspec.Struct):
    pid: int
    start: int | None = None
    boot: str | None = None


def _claim(name: str, text: str) -> tuple[int, int | None, str | None] | None:
    """The process that a record names; whoever reads the record says what is wrong with it."""
    if not re.fullmatch(r"lock/owner\.json|attempt-\d+\.json|stage-\d+\.start\.json", name):
        return None
    try:
        record = msgspec.json.decode(text, type=_Named)
    except msgspec.DecodeError:
        return None
    return record.pid, record.start, record.boot


def _markers(told: Sequence[Sequence[str]]) -> dict[str, Any]:
    files = _named(told, "x")
    size = sum(file["size"] for file in files)
    return {"count": len(files), "bytes": size, "capped": False, "newest": files[-64:], "unreadable": {}}


def _named(told: Sequence[Sequence[str]], char: str) -> list[dict[str, Any]]:
    """Files that are known by name, newest last."""
    files: list[dict[str, Any]] = [
        {"path": text_of(words[3]), "size": _whole(words[1]), "mtime": float(_whole(words[2]))}
        for words in told
        if words[0] == char and len(words) == 4
    ]
    return sorted(files, key=lambda file: (file["mtime"], file["path"]))


def _counted(told: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Result files."""
    answer: dict[str, Any] = {"count": 0, "bytes": 0, "capped": False, "unreadable": {}}
    answer["newest"] = _named(told, "o")
    for words in told:
        if words[0] == "k" and len(words) == 5:
            answer["count"], answer["bytes"] = _whole(words[1]), _whole(words[2])
        elif words[0] == "n" and len(words) == 3:
            text = bytes_of(words[2])
            answer["text"] = "" if b"\0" in text else text.decode("utf-8", "replace")
    return answer


def _stat(text: str) -> tuple[str, list[str]] | None:
    """The name and the fields of a stat file from the third on."""
    end = text.rfind(")")
    fields = text[end + 2 :].split()
    if end < 0 or len(fields) < 22 or not all(fields[at].lstrip("-").isdecimal() for at in (17, 19, 21)):
        return None
    return text[text.find("(") + 1 : end], fields


def _quota(text: str) -> float | None:
    words = text.split()
    if len(words) != 2 or not all(word.isdecimal() for word in words) or not int(words[1]):
        return None
    return int(words[0]) / int(words[1])


def _memory(text: str) -> dict[str, Any] | None:
    """A memory cgroup with a limit of its own."""
    held, files, kills, group = ([*text.split("/", 3), "", "", ""])[:4]
    words = held.split()
    if len(words) != 2 or not all(word.isdecimal() for word in words):
        return None
    given_back = sum(int(word) for word in files.split() if word.isdecimal())
    used = max(0, int(words[0]) - given_back)
    count = int(kills) if kills.strip().isdecimal() else 0
    return {"used": used, "limit": int(words[1]), "cgroup": group or "/", "kills": count}


def _whole(word: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", word):
        raise Unreadable("the answer has a word where a number is expected")
    return int(word)


def bytes_of(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits.rstrip("."))
    except ValueError:
        raise Unreadable("the answer has something that is no text") from None


def text_of(digits: str) -> str:
    return bytes_of(digits).decode("utf-8", "surrogateescape")
