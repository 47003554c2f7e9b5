"""What the file hand can do: one function per kind of unit, each given its spec and what it may still read."""

import errno
import fcntl
import json
import os
import re
import stat
import time
import zlib

from dogwatch.remote.probe.allowed_paths import OPEN
from dogwatch.remote.probe.paths import Allowance, expand, newest, real_folders, unfit
from dogwatch.remote.probe.texts import read_texts
from dogwatch.remote.probe.unchanged_logs import SETTLED_AFTER, logs_section
from dogwatch.remote.probe.usage import usage_section
from dogwatch.remote.probe.wire import WRONG_SHAPE, Refused, dec, enc, mapping, number, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

METRICS_TAIL = 64 << 10
WEIGHED, WEIGHED_ENTRIES, WEIGHED_LEVELS = 4, 512, 3


def list_files(spec: "dict[str, Any]", allowance: Allowance) -> "dict[str, Any]":
    """Outputs and checkpoints with size and time of change, newest last; the oldest give way to the cap."""
    cap = number(spec.get("cap", 2000), "cap", 1, 100000)
    answer: "dict[str, Any]" = {"capped": False, "missing": [], "unreadable": {}}
    real = real_folders(spec)
    for name in ("outputs", "checkpoints"):
        finds = expand(texts(spec.get(name), name), allowance, real)
        rows = {
            path: row
            for path, row in finds.stats.items()
            if stat.S_ISREG(row.st_mode) or (name == "checkpoints" and stat.S_ISDIR(row.st_mode))
        }
        answer[name] = [
            {
                "path": dec(path),
                "size": rows[path].st_size if stat.S_ISREG(rows[path].st_mode) else None,
                "mtime": rows[path].st_mtime,
            }
            for path in newest(rows, cap)
        ]
        for row in [row for row in answer[name] if row["size"] is None][-WEIGHED:]:
            row["inside"] = weigh(enc(row["path"]), allowance)
        answer["capped"] = answer["capped"] or finds.capped or len(rows) > cap
        answer["missing"] += finds.missing
        answer["unreadable"].update(finds.unreadable)
    return real.told(answer)


def weigh(top: bytes, allowance: Allowance) -> "list[float]":
    """[files, bytes, newest change] in a directory, a few levels deep: what tells whether it is still written."""
    files, size, last, level, left = 0, 0, 0.0, [top], WEIGHED_ENTRIES
    for _ in range(WEIGHED_LEVELS):
        deeper: "list[bytes]" = []
        for folder in level:
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        left -= 1
                        if left < 0 or allowance.spent():
                            return [files, size, last]
                        row = entry.stat(follow_symlinks=False)
                        if stat.S_ISDIR(row.st_mode):
                            deeper.append(entry.path)
                        files, size, last = files + 1, size + row.st_size, max(last, row.st_mtime)
            except OSError:
                continue
        level = deeper
    return [files, size, last]


def disk_section(spec: "Any", _: Allowance) -> "dict[str, Any]":
    """Room for us, in bytes and inodes, where the path is or would be. As in `df`, what is kept for root is nobody's
    room: the whole is what is used and what we may use."""
    try:
        path = enc(spec)
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
    answer: "dict[str, Any]" = {
        "total": (row.f_blocks - row.f_bfree + row.f_bavail) * block,
        "free": row.f_bavail * block,
        "mount": str(device),
        "writable": os.access(path, os.W_OK),
    }
    return dict(answer, inodes=row.f_files - row.f_ffree + row.f_favail, inodes_free=row.f_favail)


def read_gpu_metrics(spec: "Any", _: Allowance) -> "dict[str, Any] | None":
    """The header of a CSV that grows, and its last complete lines; a file that is not there is no news."""
    try:
        path, real = enc(spec["path"]), real_folders(spec)
        real.learn(os.path.dirname(path))
        reason = unfit(os.lstat(path).st_mode)
        if reason:
            return {"why": reason}
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
    answer: "dict[str, Any]" = {"header": head.decode("latin-1") if found else "", "text": text.decode("latin-1")}
    answer.update(size=row.st_size, mtime=row.st_mtime)
    return real.told(answer)


def read_paper(path: bytes, cap: int = 1 << 20) -> bytes:
    fd = os.open(path, OPEN)
    try:
        reason = unfit(os.fstat(fd).st_mode)
        if reason:
            raise Refused(reason)
        return os.read(fd, cap)
    finally:
        os.close(fd)


def read_pidfile(spec: "Any", _: Allowance) -> "dict[str, Any]":
    try:
        path = enc(spec)
        row = os.lstat(path)
        reason = unfit(row.st_mode)
        return {"why": reason} if reason else {"text": read_paper(path, 65536).decode("latin-1"), "mtime": row.st_mtime}
    except OSError as error:
        return {"why": error.strerror, "absent": isinstance(error, FileNotFoundError)}
    except Refused as problem:
        return {"why": str(problem)}


PAPERS: "dict[bytes, Folder]" = {}
PAPER_NAME = re.compile(rb"^(?:(spec|supervisor)|worker-(\d{1,6})\.(start|end))\.json$")


def load_paper(path: bytes) -> "dict[str, Any]":
    return mapping(json.loads(read_paper(path).decode("utf-8")), "a record")


class Folder:
    """A run directory as it was last read. Each record is written once, by rename: a known inode is not read
    again, and a directory is not listed again that was listed after it had stood still for a while."""

    __slots__ = ("papers", "settled", "since", "stamp")

    def __init__(self) -> None:
        self.papers: "dict[bytes, tuple[int, Any]]" = {}
        self.stamp: "tuple[int, ...]" = ()
        self.since = 0.0
        self.settled = False

    def read(self, directory: bytes) -> "str | None":
        """Bring `papers` up to date; what stood in the way, if anything did."""
        try:
            row, now = os.stat(directory), time.monotonic()
            if self.stamp != (row.st_dev, row.st_ino, row.st_mtime_ns):
                self.stamp, self.since, self.settled = (row.st_dev, row.st_ino, row.st_mtime_ns), now, False
            if self.settled:
                return None
            with os.scandir(directory) as entries:
                inodes = {entry.name: entry.inode() for entry in entries if PAPER_NAME.match(entry.name)}
        except OSError as error:
            self.papers, self.stamp = {}, ()
            return "%s: %s" % (dec(directory), error.strerror)
        problem = self._load(directory, inodes)
        self.settled = problem is None and now - self.since > SETTLED_AFTER
        return problem

    def _load(self, directory: bytes, inodes: "dict[bytes, int]") -> "str | None":
        before, self.papers, problem = self.papers, {}, None
        for name, inode in inodes.items():
            try:
                known = name in before and before[name][0] == inode
                self.papers[name] = before[name] if known else (inode, load_paper(directory + b"/" + name))
            except OSError as error:
                problem = "%s/%s: %s" % (dec(directory), dec(name), error.strerror)
            except WRONG_SHAPE as error:
                problem = "%s/%s is not a record: %s" % (dec(directory), dec(name), str(error)[:100])
        return problem

    def mark(self) -> int:
        """A number that differs when the records do."""
        return zlib.crc32(b"".join(b"%s %d/" % (name, self.papers[name][0]) for name in sorted(self.papers)))


def read_run(spec: "dict[str, Any]", _: Allowance) -> "dict[str, Any]":
    """The records of a run directory, or that they are those the caller has (by their mark) already."""
    directory = enc(spec["path"])
    folder = PAPERS.pop(directory, None) or Folder()
    unlocked = b"supervisor.json" not in folder.papers and nobody_holds(directory)
    while len(PAPERS) > 256:
        PAPERS.pop(next(iter(PAPERS)))
    PAPERS[directory] = folder
    problem = folder.read(directory)
    # Asked in this order: whoever let go of the lock before the records were read has written what it ever will.
    abandoned = unlocked and b"spec.json" in folder.papers and b"supervisor.json" not in folder.papers
    mark = folder.mark() + (abandoned << 32)
    if problem is None and spec.get("have") == mark:
        return {"same": True}
    papers = file_papers({name: row[1] for name, row in folder.papers.items()}, problem)
    return dict(papers, mark=mark, abandoned=abandoned)


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


def file_papers(papers: "dict[bytes, Any]", problem: "str | None") -> "dict[str, Any]":
    """Records sorted by kind; a record of another run is nobody's here."""
    plan = papers.get(b"spec.json", {})
    answer: "dict[str, Any]" = {"supervisor": None, "workers": None, "starts": {}, "ends": {}}
    count = plan.get("workers")
    if isinstance(count, int) and 0 < count <= 4096:
        answer["workers"] = int(count)
    for name, paper in papers.items():
        kind, index, moment = PAPER_NAME.match(name).groups()  # type: ignore[union-attr]
        if plan.get("run") is not None and paper.get("run", plan["run"]) != plan["run"]:
            problem = "%s belongs to another run" % dec(name)
        elif kind == b"supervisor":
            answer["supervisor"] = paper
        elif index is not None:
            answer[moment.decode() + "s"][str(int(index))] = paper
    answer["problem"] = problem
    return answer


UNITS: "dict[str, Any]" = {
    "logs": logs_section,
    "files": list_files,
    "disks": disk_section,
    "texts": read_texts,
    "gpu_metrics": read_gpu_metrics,
    "usage": usage_section,
    "run": read_run,
    "pidfile": read_pidfile,
}
