"""What the file reader can do: one function per kind of unit, each given its spec and what it may still read."""

import errno
import fcntl
import json
import os
import re
import stat
import time
import zlib
from collections.abc import Callable
from typing import Any

from dogwatch.remote.probe.allowed_paths import OPEN, RealFolders
from dogwatch.remote.probe.paths import Allowance, entries_of, expand, folder_of, newest, real_folders, regular
from dogwatch.remote.probe.texts import read_texts
from dogwatch.remote.probe.unchanged_logs import SETTLED_AFTER, logs_section
from dogwatch.remote.probe.usage import usage_section
from dogwatch.remote.probe.wire import WRONG_SHAPE, Fields, Refused, dec, enc
from dogwatch.remote.shapes import Disk, Files, GpuMetrics, ListedFile, PidFile, Record, RunRecords, Why

METRICS_TAIL = 64 << 10
WEIGHED, WEIGHED_ENTRIES, WEIGHED_LEVELS = 4, 512, 3


def list_files(spec: Fields, allowance: Allowance) -> "Files":
    """Outputs and checkpoints with size and time of change, newest last; the oldest give way to the cap. Of the
    globs in `folders` only the folders' real names are told."""
    cap, real = spec.number("cap", 1, 100000, 2000), real_folders(spec)
    for glob in spec.texts("folders"):
        real.learn(folder_of(glob))
    answer: "Files" = {"capped": False, "missing": [], "unreadable": {}, "outputs": [], "checkpoints": []}
    for name, listed in (("outputs", answer["outputs"]), ("checkpoints", answer["checkpoints"])):
        finds = expand(spec.texts(name), allowance, real)
        rows = {
            path: row
            for path, row in finds.stats.items()
            if stat.S_ISREG(row.st_mode) or (name == "checkpoints" and stat.S_ISDIR(row.st_mode))
        }
        listed += [listed_file(path, rows[path]) for path in newest(rows, cap)]
        for file in [file for file in listed if file["size"] is None][-WEIGHED:]:
            file["inside"] = weigh(enc(file["path"]), allowance, real)
        answer["capped"] = answer["capped"] or finds.capped or len(rows) > cap
        answer["missing"] += finds.missing
        answer["unreadable"].update(finds.unreadable)
    real.add_to(answer)
    return answer


def listed_file(path: bytes, row: "os.stat_result") -> "ListedFile":
    return {"path": dec(path), "size": row.st_size if stat.S_ISREG(row.st_mode) else None, "mtime": row.st_mtime}


def weigh(top: bytes, allowance: Allowance, real: RealFolders) -> "list[float]":
    """[files, bytes, newest change] in a directory, a few levels deep: what tells whether it is still written."""
    files, size, last, level, left = 0, 0, 0.0, [top], WEIGHED_ENTRIES
    for _ in range(WEIGHED_LEVELS):
        deeper: "list[bytes]" = []
        for folder in level:
            try:
                for entry in entries_of(folder, real):
                    left -= 1
                    if left < 0 or allowance.spent():
                        return [files, size, last]
                    row = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(row.st_mode):
                        deeper.append(folder + b"/" + entry.name)
                    files, size, last = files + 1, size + row.st_size, max(last, row.st_mtime)
            except OSError:
                continue
        level = deeper
    return [files, size, last]


def disk_section(named: str, _: Allowance) -> "Disk | Why":
    """Room for us, in bytes and inodes, where the path is or would be. As in `df`, what is kept for root is nobody's
    room: the whole is what is used and what we may use."""
    try:
        path = enc(named)
    except Refused as problem:
        return {"why": str(problem)}
    while True:
        try:
            row, device = os.statvfs(path), os.stat(path).st_dev
            break
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.EACCES) or path == b"/":
                return {"why": error.strerror}
            path = os.path.dirname(path.rstrip(b"/")) or b"/"
    block = row.f_frsize
    return {
        "total": (row.f_blocks - row.f_bfree + row.f_bavail) * block,
        "free": row.f_bavail * block,
        "mount": str(device),
        "writable": os.access(path, os.W_OK),
        "inodes": row.f_files - row.f_ffree + row.f_favail,
        "inodes_free": row.f_favail,
    }


def read_gpu_metrics(spec: Fields, _: Allowance) -> "GpuMetrics | Why | None":
    """The header of a CSV that grows, and its last complete lines; a file that is not there is no news."""
    try:
        path, real = enc(spec.text("path")), real_folders(spec)
        real.learn(os.path.dirname(path))
        regular(os.lstat(path))
        fd = real.open(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return {"why": error.strerror}
    except Refused as problem:
        return {"why": str(problem)}
    try:
        row = os.fstat(fd)
        head, found, _rest = os.pread(fd, 4096, 0).partition(b"\n")
        at = max(len(head) + 1, row.st_size - METRICS_TAIL)
        text = os.pread(fd, METRICS_TAIL, at) if found else b""
        if at > len(head) + 1:
            text = text.partition(b"\n")[2]
    except OSError as error:
        return {"why": error.strerror}
    finally:
        os.close(fd)
    text = text[: text.rfind(b"\n") + 1]
    header, content = head.decode("latin-1") if found else "", text.decode("latin-1")
    answer: "GpuMetrics" = {"header": header, "text": content, "size": row.st_size, "mtime": row.st_mtime}
    real.add_to(answer)
    return answer


def read_small_file(path: bytes, cap: int = 1 << 20) -> bytes:
    fd = os.open(path, OPEN)
    try:
        regular(os.fstat(fd))
        return os.read(fd, cap)
    finally:
        os.close(fd)


def read_pidfile(named: str, _: Allowance) -> "PidFile":
    try:
        path = enc(named)
        row = os.lstat(path)
        regular(row)
        return {"text": read_small_file(path, 65536).decode("latin-1"), "mtime": row.st_mtime}
    except OSError as error:
        return {"why": error.strerror, "absent": isinstance(error, FileNotFoundError)}
    except Refused as problem:
        return {"why": str(problem)}


RUN_FOLDERS: "dict[bytes, RunFolder]" = {}
RECORD_NAME = re.compile(rb"^(?:(spec|supervisor)|worker-(\d{1,6})\.(start|end))\.json$")


RECORD_NUMBERS = {"pid": 0, "start": 0, "workers": 0, "at": -(1 << 40), "code": -(1 << 40), "signal": -(1 << 40)}
RECORD_TEXTS = ("run", "boot", "error")


def load_record(path: bytes) -> "Record":
    return usable_record(json.loads(read_small_file(path).decode("utf-8")))


def usable_record(found: "Any") -> "Record":
    """The fields of a record that are used. One of a wrong kind is refused here: in the answer it would be refused with
    what is said of every other job."""
    if not isinstance(found, dict):
        raise Refused("a record must be an object")
    used: "Any" = {name: found[name] for name in (*RECORD_NUMBERS, *RECORD_TEXTS) if found.get(name) is not None}
    for name, value in used.items():
        if name in RECORD_TEXTS:
            if not isinstance(value, str):
                raise Refused("its %s is not a text" % name)
            used[name] = value[:4096]
        elif isinstance(value, bool) or not isinstance(value, (int, float) if name == "at" else int):
            raise Refused("its %s is not a number" % name)
        elif not RECORD_NUMBERS[name] <= value < 1 << 49:
            raise Refused("its %s is out of range" % name)
    oom = found.get("oom")
    if oom is not None:
        used["oom"] = {"counter": bool(oom.get("counter")), "log_read": bool(oom.get("log_read"))}
        used["oom"]["kernel_log"] = str(oom["kernel_log"])[:4096] if oom.get("kernel_log") else None
    return used  # type: ignore[no-any-return]


class RunFolder:
    """A run directory as it was last read. Each record is written once, by rename: a known inode is not read
    again, and a directory is not listed again that was listed after it had stood still for a while."""

    __slots__ = ("records", "settled", "since", "stamp")

    def __init__(self) -> None:
        self.records: "dict[bytes, tuple[int, Record]]" = {}
        self.stamp: "tuple[int, ...]" = ()
        self.since = 0.0
        self.settled = False

    def read(self, directory: bytes) -> "str | None":
        """Bring `records` up to date; what stood in the way, if anything did."""
        try:
            row, now = os.stat(directory), time.monotonic()
            if self.stamp != (row.st_dev, row.st_ino, row.st_mtime_ns):
                self.stamp, self.since, self.settled = (row.st_dev, row.st_ino, row.st_mtime_ns), now, False
            if self.settled:
                return None
            with os.scandir(directory) as entries:
                inodes = {entry.name: entry.inode() for entry in entries if RECORD_NAME.match(entry.name)}
        except OSError as error:
            self.records, self.stamp = {}, ()
            return "%s: %s" % (dec(directory), error.strerror)
        problem = self._load(directory, inodes)
        self.settled = problem is None and now - self.since > SETTLED_AFTER
        return problem

    def _load(self, directory: bytes, inodes: "dict[bytes, int]") -> "str | None":
        before, self.records, problem = self.records, {}, None
        for name, inode in inodes.items():
            try:
                known = name in before and before[name][0] == inode
                self.records[name] = before[name] if known else (inode, load_record(directory + b"/" + name))
            except OSError as error:
                problem = "%s/%s: %s" % (dec(directory), dec(name), error.strerror)
            except WRONG_SHAPE as error:
                problem = "%s/%s is not a record: %s" % (dec(directory), dec(name), str(error)[:100])
        return problem

    def mark(self) -> int:
        """A number that differs when the records do."""
        return zlib.crc32(b"".join(b"%s %d/" % (name, self.records[name][0]) for name in sorted(self.records)))


def read_run(spec: Fields, _: Allowance) -> "RunRecords":
    """The records of a run directory, or that they are those the caller has (by their mark) already."""
    directory = enc(spec.text("path"))
    folder = RUN_FOLDERS.pop(directory, None) or RunFolder()
    unlocked = b"supervisor.json" not in folder.records and nobody_holds(directory)
    while len(RUN_FOLDERS) > 256:
        RUN_FOLDERS.pop(next(iter(RUN_FOLDERS)))
    RUN_FOLDERS[directory] = folder
    problem = folder.read(directory)
    # Asked in this order: whoever let go of the lock before the records were read has written what it ever will.
    abandoned = unlocked and b"spec.json" in folder.records and b"supervisor.json" not in folder.records
    mark = folder.mark() + (abandoned << 32)
    if problem is None and spec.words.get("have") == mark:
        return {"problem": None, "same": True}
    records = sort_records({name: row[1] for name, row in folder.records.items()}, problem)
    records["mark"], records["abandoned"] = mark, abandoned
    return records


def nobody_holds(directory: bytes) -> bool:
    """Whether nobody has a lock on a run directory: neither its launcher nor its supervisor is there."""
    try:
        fd = os.open(directory, OPEN | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def sort_records(records: "dict[bytes, Record]", problem: "str | None") -> "RunRecords":
    """Records sorted by kind; a record of another run is left out."""
    plan = records.get(b"spec.json", {})
    answer: "RunRecords" = {"supervisor": None, "workers": None, "starts": {}, "ends": {}, "problem": None}
    count = plan.get("workers")
    if isinstance(count, int) and 0 < count <= 4096:
        answer["workers"] = int(count)
    for name, record in records.items():
        kind, index, moment = RECORD_NAME.match(name).groups()  # type: ignore[union-attr]
        if plan.get("run") is not None and record.get("run", plan["run"]) != plan["run"]:
            problem = "%s belongs to another run" % dec(name)
        elif kind == b"supervisor":
            answer["supervisor"] = record
        elif index is not None:
            answer["starts" if moment == b"start" else "ends"][str(int(index))] = record
    answer["problem"] = problem
    return answer


UNITS: "dict[str, Callable[[Any, Allowance], Any]]" = {
    "logs": logs_section,
    "files": list_files,
    "disks": disk_section,
    "texts": read_texts,
    "gpu_metrics": read_gpu_metrics,
    "usage": usage_section,
    "run": read_run,
    "pidfile": read_pidfile,
}
