"""The probe: one file that travels, looks at a machine and says in one line of JSON what it saw.

It reads one request per line and answers each with one line and a sentinel that counts its bytes. It
never opens a watched path itself: the file hand does, a forked child that may hang and be lost while
processes still get answered.
"""

import errno
import fnmatch
import json
import os
import re
import select
import signal
import stat
import sys
import time
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
BOOTTIME = getattr(time, "CLOCK_BOOTTIME", 7)  # the name is Python 3.7's; the number is Linux's
FILE_SECTIONS = ("logs", "tail", "files", "disks")
RESERVED = frozenset(("ok", "seconds", "why", "late"))
WRONG_SHAPE = (TypeError, ValueError, LookupError, AttributeError, OverflowError, RecursionError)
REQUEST_CAP = 16 << 20


class Refused(ValueError):
    """A request that does not have the shape of the protocol; said in the answer, never a crash."""


def number(value: "Any", what: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Refused("%s must be a whole number from %d to %d" % (what, low, high))
    return value


def mapping(value: "Any", what: str) -> "dict[str, Any]":
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Refused("%s must be an object" % what)
    return value


def texts(value: "Any", what: str) -> "list[str]":
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Refused("%s must be a list of texts" % what)
    return value


def enc(path: str) -> bytes:
    """The bytes of a path: under LC_ALL=C Python 3.6 would not take an accent in a str path."""
    try:
        raw = path.encode("utf-8", "surrogateescape")
    except WRONG_SHAPE:
        raw = b""
    if not raw.startswith(b"/") or b"\0" in raw:
        raise Refused("is not an absolute path")
    return raw


def dec(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def compact(value: "Any") -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def slurp(path: "str | bytes", cap: int = 4096) -> bytes:
    """The first bytes of a small kernel file."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, cap)
    finally:
        os.close(fd)


DOING = {
    "R": "running",
    "D": "uninterruptible",
    "T": "stopped",
    "t": "stopped",
    "Z": "zombie",
    "X": "zombie",
    "x": "zombie",
}
INIT_PID_NAMESPACE = "pid:[4026531836]"
OOM_AGE = 3.0
FACTS_AGE = 60.0
YOUNG = 5.0
KEPT_FDS = 256
KERNEL_LOG_CAP = 2 << 20
VERBS = frozenset(
    ["run", "watch", "add", "forget", "ls", "status", "logs", "events", "wait", "patrol", "daemon", "doctor"]
    + ["demo", "why", "silence"]
)
OOM_LINE = re.compile(r"^oom-kill:.*,pid=(\d+),uid=\d+$|^(?:[\w ]+: )?Killed process (\d+) \(")


class Kept:
    """What is remembered of one process between requests; its open stat file names it beyond pid reuse."""

    __slots__ = ("cgroup", "command", "fresh_until", "gone", "kids_fd", "stat_fd", "uid")

    def __init__(self, stat_fd: int, uid: "int | None") -> None:
        self.stat_fd = stat_fd
        self.kids_fd = -1
        self.uid = uid
        self.command = ""
        self.cgroup: "tuple[str, str] | None" = None
        self.fresh_until = 0.0
        self.gone: "dict[str, Any] | None" = None

    def close(self) -> None:
        for fd in (self.stat_fd, self.kids_fd):
            if fd >= 0:
                os.close(fd)
        self.stat_fd = self.kids_fd = -1


def stat_fields(text: bytes) -> "tuple[str, list[bytes]]":
    """The short name and the fields of /proc/PID/stat from the third on; the name may hold anything."""
    end = text.rindex(b")")
    return text[text.index(b"(") + 1 : end].decode("utf-8", "replace"), text[end + 2 :].split()


def doing_of(fields: "list[bytes]") -> str:
    doing = DOING.get(fields[0].decode("ascii"), "sleeping")
    # A main thread that has left while others work shows as Z: that process has not ended.
    return "running" if doing == "zombie" and int(fields[17]) > 1 else doing


def sight(pid: int, doing: str, start: "int | None", boot: "str | None") -> "dict[str, Any]":
    """The PROC of a process of which nothing more than this is known."""
    unknown = dict.fromkeys(("started", "cpu", "rss", "children", "threads", "uid", "command"))
    return dict(unknown, pid=pid, doing=doing, start=start, boot=boot, exit=None, oom=None, kernel_log=None)


def open_stat(pid: int) -> "tuple[int, str]":
    """(fd, "") of a process that can be seen, or (-1, gone | hidden): only a failed kill proves gone."""
    try:
        return os.open("/proc/%d/stat" % pid, os.O_RDONLY | os.O_CLOEXEC), ""
    except (FileNotFoundError, ProcessLookupError):
        pass
    except OSError:
        return -1, "hidden"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return -1, "gone"
    except OSError:
        pass
    return -1, "hidden"


def owner_of(pid: int) -> "int | None":
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def argv_of(pid: int, cap: int = 4096) -> "list[str]":
    try:
        raw = slurp("/proc/%d/cmdline" % pid, cap)
    except OSError:
        return []
    return [part.decode("utf-8", "replace") for part in raw.rstrip(b"\0").split(b"\0")] if raw else []


class Processes:
    """Looks at processes by (boot, pid, start time), cheaply when the same ones are asked for again."""

    def __init__(self) -> None:
        self.boot = slurp("/proc/sys/kernel/random/boot_id").decode("ascii").strip()
        self.kept: "dict[tuple[int, int | None], Kept]" = {}
        self.asked: "set[tuple[int, int | None]]" = set()
        self.oom: "dict[str, tuple[float, int | None]]" = {}
        self.mounts: "tuple[tuple[str, str] | None, tuple[str, str] | None] | None" = None
        self.deaths: "list[tuple[float, int, str]] | None" = None
        self.now = self.wall = self.since_boot = 0.0

    def begin(self) -> None:
        self.asked = set()
        self.deaths = None
        self.now, self.wall, self.since_boot = time.monotonic(), time.time(), time.clock_gettime(BOOTTIME)

    def finish(self) -> None:
        for key in [key for key in self.kept if key not in self.asked]:
            self.kept.pop(key).close()

    def look(self, pid: int, start: "int | None", boot: "str | None") -> "dict[str, Any]":
        """The PROC of one process; another boot id comes first, because then the pid means nothing."""
        if boot and boot != self.boot:
            return dict(sight(pid, "gone", start, boot), rebooted=True)
        self.asked.add((pid, start))
        kept = self.kept.get((pid, start))
        if kept is None:
            fd, doing = open_stat(pid)
            if doing == "hidden":
                return sight(pid, "hidden", start, self.boot)
            kept = self.kept[(pid, start)] = Kept(fd, owner_of(pid))
            if doing == "gone":
                return self._gone(kept, pid, start)
        return kept.gone or self._read(kept, pid, start)

    def _read(self, kept: Kept, pid: int, start: "int | None") -> "dict[str, Any]":
        try:
            # ESRCH from a file that was open is proof of gone, even if the pid lives again.
            name, fields = stat_fields(os.pread(kept.stat_fd, 2048, 0))
        except ProcessLookupError:
            return self._gone(kept, pid, start)
        began, doing = int(fields[19]), doing_of(fields)
        if start is not None and began != start:
            return self._gone(kept, pid, start)
        if doing != "zombie":
            self._refresh(kept, pid, name, fields)
        answer = {
            "pid": pid,
            "doing": doing,
            "start": began,
            "boot": self.boot,
            "started": round(self.wall - self.since_boot + began / TICKS, 2),
            "cpu": (int(fields[11]) + int(fields[12])) / TICKS,
            "rss": int(fields[21]) * PAGE,
            "children": self._children(kept, pid),
            "threads": int(fields[17]),
            "uid": kept.uid,
            "command": kept.command or f"[{name}]",
            "exit": None,
            "oom": self._oom(kept, 0.0 if doing == "zombie" else OOM_AGE),
            "kernel_log": None,
        }
        # To a stranger the kernel prints 0 here, which would read as success.
        if doing == "zombie" and len(fields) > 49 and os.geteuid() in (0, kept.uid):
            answer["exit"] = int(fields[49])
        if len(self.kept) > KEPT_FDS or start is None:
            self.kept.pop((pid, start)).close()
        return answer

    def _refresh(self, kept: Kept, pid: int, name: str, fields: "list[bytes]") -> None:
        """Command and cgroup, seldom; a young process may still be about to exec."""
        if self.now < kept.fresh_until and kept.command:
            return
        young = self.since_boot - int(fields[19]) / TICKS < YOUNG
        kept.fresh_until = self.now + (0 if young else FACTS_AGE)
        # cmdline waits for the memory lock, which a process stuck in D may hold for ever.
        argv = [] if fields[0] == b"D" else argv_of(pid)
        kept.command = " ".join(argv)[:200] or kept.command or "[%s]" % name
        kept.cgroup = self._cgroup(pid) or kept.cgroup

    def _children(self, kept: Kept, pid: int) -> "int | None":
        try:
            if kept.kids_fd < 0:
                kept.kids_fd = os.open("/proc/%d/task/%d/children" % (pid, pid), os.O_RDONLY | os.O_CLOEXEC)
            return os.pread(kept.kids_fd, 65536, 0).count(b" ")
        except OSError:
            return None

    def _gone(self, kept: Kept, pid: int, start: "int | None") -> "dict[str, Any]":
        """Gone, said once and remembered, with what the counters and the kernel log say right after."""
        kept.close()
        kept.gone = dict(sight(pid, "gone", start, self.boot), uid=kept.uid, command=kept.command or None)
        kept.gone["oom"] = self._oom(kept, 0.0)
        kept.gone["kernel_log"] = self._obituary(pid, start)
        if start is None:
            del self.kept[(pid, start)]
        return kept.gone

    def _obituary(self, pid: int, start: "int | None") -> "str | None":
        if self.deaths is None:
            self.deaths = kernel_deaths()
        # The kernel log's clock stands still while the machine sleeps; a start time's does not.
        asleep = time.clock_gettime(BOOTTIME) - time.monotonic()
        since = (start or 0) / TICKS - asleep - 1
        lines = [line for at, dead, line in self.deaths if dead == pid and at >= since]
        return lines[-1] if lines else None

    def _cgroup(self, pid: int) -> "tuple[str, str] | None":
        """The name of a process's memory cgroup and the file that counts its OOM kills."""
        if self.mounts is None:
            self.mounts = memory_mounts()
        try:
            lines = slurp("/proc/%d/cgroup" % pid, 16384).decode("utf-8", "replace").splitlines()
        except OSError:
            return None
        rows = [line.split(":", 2) for line in lines if line.count(":") >= 2]
        for row, controllers, path in rows:
            old = "memory" in controllers.split(",")
            mount = self.mounts[0] if old else self.mounts[1] if row == "0" else None
            if mount:
                inside = path[len(mount[1]) :] if mount[1] != "/" and path.startswith(mount[1]) else path
                leaf = "memory.oom_control" if old else "memory.events"
                return path, f"{mount[0]}{inside.rstrip('/')}/{leaf}"
        return None

    def _oom(self, kept: Kept, age: float) -> "dict[str, Any] | None":
        if kept.cgroup is None:
            return None
        path, counter = kept.cgroup
        read_at, kills = self.oom.get(counter, (float("-inf"), None))
        if self.now - read_at > age:
            kills = oom_kills(counter)
            self.oom[counter] = (self.now, kills)
        return None if kills is None else {"cgroup": path, "kills": kills}


def oom_kills(counter: str) -> "int | None":
    try:
        found = re.search(rb"^oom_kill (\d+)", slurp(counter), re.M)
    except OSError:
        return None
    return int(found.group(1)) if found else None


def memory_mounts() -> "tuple[tuple[str, str] | None, tuple[str, str] | None]":
    """Where cgroup v1 memory and cgroup v2 are mounted, each as (mount point, the cgroup shown there)."""
    old = new = None
    with open("/proc/self/mountinfo", "rb") as lines:
        for raw in lines:
            left, _, right = raw.decode("utf-8", "replace").partition(" - ")
            fields, kind = left.split(), right.split()
            if kind and kind[0] == "cgroup2" and new is None:
                new = (fields[4], fields[3])
            elif len(kind) > 2 and kind[0] == "cgroup" and "memory" in kind[2].split(","):
                old = (fields[4], fields[3])
    return old, new


def kernel_deaths() -> "list[tuple[float, int, str]]":
    """(seconds since boot, pid, line) of every kill for lack of memory that the kernel's own log still holds.

    Only where pids mean the same to the kernel as to us, and only records that the kernel itself wrote.
    """
    found: "list[tuple[float, int, str]]" = []
    try:
        if os.readlink("/proc/self/ns/pid") != INIT_PID_NAMESPACE:
            return found
        fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return found
    seen = 0
    while seen < KERNEL_LOG_CAP:
        try:
            record = os.read(fd, 8192)
        except BrokenPipeError:  # overwritten while we read: the next read goes on behind it
            seen += 1024
            continue
        except OSError:
            break
        seen += len(record) or KERNEL_LOG_CAP
        head, _, text = record.decode("utf-8", "replace").partition(";")
        line = text.split("\n", 1)[0]
        match, marks = OOM_LINE.search(line), head.split(",")
        if match and int(marks[0]) < 8:
            found.append((int(marks[2]) / 1e6, int(match.group(1) or match.group(2)), line[:300]))
    os.close(fd)
    return found


def is_dogwatch(argv: "list[str]") -> bool:
    """Whether a command line is Dogwatch's own, also inside a wrapper's or a shell's argument."""
    words = [word for part in argv for word in part.split()]
    for at, word in enumerate(words):
        after = words[at + 1] if at + 1 < len(words) else ""
        if word.endswith(("dogwatch/aboard/probe.py", "dogwatch/aboard/keeper.py")):
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


def one_run(papers: "dict[str, Any]", eyes: Processes) -> "dict[str, Any]":
    """A run directory's records beside what the processes they name are doing."""
    keeper, count = papers.get("keeper"), papers.get("workers")
    who = document_identity(keeper)
    alive = None if papers.get("problem") and who is None else False
    if who is not None:
        alive = eyes.look(*who)["doing"] not in ("gone", "zombie")
    starts, ends = papers.get("starts", {}), papers.get("ends", {})
    indexes = sorted(set(range(count or 0)) | set(int(k) for k in starts) | set(int(k) for k in ends))
    workers = []
    for index in indexes:
        start, end = starts.get(str(index)), ends.get(str(index))
        named = None if end else document_identity(start)
        workers.append({"index": index, "start": start, "end": end, "process": eyes.look(*named) if named else None})
    return {
        "keeper": keeper,
        "keeper_alive": alive,
        "spec_workers": count,
        "workers": workers,
        "problem": papers.get("problem"),
    }


def process_section(spec: "dict[str, Any]", eyes: Processes, hand: "Hand", until: float) -> "dict[str, Any]":
    """Run directories and pid files are read by the hand first, within a third of the time, then /proc is."""
    began = time.monotonic()
    eyes.begin()
    runs, pids, find = (mapping(spec.get(name), "process." + name) for name in ("runs", "pids", "find"))
    units = [("run", key, path) for key, path in runs.items()]
    units += [
        ("pidfile", key, one["pidfile"]) for key, one in find.items() if mapping(one, "find").get("pidfile") is not None
    ]
    got, why = hand.ask(units, began + (until - began) / 3)[:2] if units else ({}, "")
    papers: "dict[tuple[str, str], dict[str, Any]]" = {}
    for at, unit in enumerate(units):
        papers[unit[:2]] = json.loads(got[at].decode("ascii")) if at in got else {"why": why, "problem": why}
    answer: "dict[str, Any]" = {"ok": True, "seconds": 0.0, "runs": {}, "pids": {}, "find": {}}
    for key in runs:
        answer["runs"][key] = one_run(papers[("run", key)], eyes)
    for key, rows in pids.items():
        answer["pids"][key] = [eyes.look(*identity(row)) for row in rows]
    for key, one in find.items():
        answer["find"][key] = find_one(one, papers.get(("pidfile", key)), eyes)
    eyes.finish()
    answer["seconds"] = round(time.monotonic() - began, 6)
    return answer


OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
HEAD = 1024
MAX = 262144
BYTES_PER_REQUEST = 8 << 20
ENTRIES_PER_REQUEST = 100000
SIBLINGS = 1000
MAGIC = re.compile(r"[*?\[]")
KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
PATTERNS: "dict[str, Any]" = {}


class Allowance:
    """What one request may still read and scan; a tree of a million files must not cost the look."""

    def __init__(self, seconds: float) -> None:
        self.bytes = BYTES_PER_REQUEST
        self.entries = ENTRIES_PER_REQUEST
        self.until = time.monotonic() + seconds / 2

    def spent(self) -> bool:
        self.entries -= 1
        return self.entries < 0 or (self.entries % 256 == 0 and time.monotonic() > self.until)


class Finds:
    """What globs led to: paths with their lstat, and what stood in the way."""

    def __init__(self) -> None:
        self.stats: "dict[bytes, os.stat_result]" = {}
        self.missing: "list[str]" = []
        self.unreadable: "dict[str, str]" = {}
        self.capped = False

    def trouble(self, path: bytes, error: OSError) -> None:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            self.unreadable[dec(path)] = error.strerror or str(error)

    def lstat(self, path: bytes) -> bool:
        try:
            self.stats[path] = os.lstat(path)
        except OSError as error:
            self.trouble(path, error)
        return path in self.stats


def unfit(mode: int) -> "str | None":
    """Why this is not a file to read, or None for a regular one."""
    if stat.S_ISREG(mode):
        return None
    return "is %s, not a regular file" % next((word for test, word in KINDS if test(mode)), "something else")


def regular(row: "os.stat_result") -> None:
    """Asked before opening, since to open some devices is to use them."""
    reason = unfit(row.st_mode)
    if reason:
        raise Refused(reason)


def matcher(part: str) -> "Any":
    if part not in PATTERNS:
        if len(PATTERNS) > 4096:
            PATTERNS.clear()
        try:
            PATTERNS[part] = re.compile(fnmatch.translate(part)).match
        except re.error:  # a backward range such as [z-a]
            PATTERNS[part] = re.compile(re.escape(part) + r"\Z").match
    return PATTERNS[part]


def expand(globs: "list[str]", allowance: Allowance) -> Finds:
    """Everything that absolute globs name; `**` means `*`, links to directories are not walked into."""
    finds = Finds()
    for glob in globs:
        before, known_troubles = len(finds.stats), len(finds.unreadable)
        try:
            path = enc(glob)
            if path in finds.stats:
                continue
            if MAGIC.search(glob):
                walk([part for part in glob.split("/") if part], finds, allowance)
            else:
                finds.lstat(path)
        except Refused as problem:
            finds.unreadable[glob] = str(problem)
        if len(finds.stats) == before and len(finds.unreadable) == known_troubles:
            finds.missing.append(glob)
    return finds


def walk(parts: "list[str]", finds: Finds, allowance: Allowance) -> None:
    heads = [b""]
    for depth, part in enumerate(parts):
        last = depth == len(parts) - 1
        if MAGIC.search(part):
            heads = [path for head in heads for path in scan(head, part, last, finds, allowance)]
        else:
            heads = [head + enc("/" + part) for head in heads]
            if last:
                for path in heads:
                    finds.lstat(path)


def scan(head: bytes, part: str, last: bool, finds: Finds, allowance: Allowance) -> "list[bytes]":
    """The directories that match, or, for the last part of a glob, everything that matches, into `finds`."""
    match, found = matcher(part), []
    try:
        with os.scandir(head or b"/") as entries:
            for entry in entries:
                if allowance.spent():
                    finds.capped = True
                    break
                name = dec(entry.name)
                if (name[0] == "." and part[0] != ".") or not match(name):
                    continue
                path = head + b"/" + entry.name
                if not last and entry.is_dir(follow_symlinks=False):
                    found.append(path)
                elif last:
                    finds.lstat(path)
    except OSError as error:
        finds.trouble(head or b"/", error)
    return found


def newest(stats: "dict[bytes, os.stat_result]", cap: int) -> "list[bytes]":
    return sorted(stats, key=lambda path: (stats[path].st_mtime, path))[-cap:]


class KnownLog:
    """What the caller remembers of a log file: its identity and how far it was read."""

    __slots__ = ("dev", "head", "headlen", "ino", "offset", "stale_seen")

    def __init__(self, row: "Any") -> None:
        self.dev, self.ino, self.head = row["dev"], row["ino"], row["head"]
        self.headlen, self.offset = row["headlen"], row["offset"]
        for value in (self.dev, self.ino, self.head, self.headlen, self.offset):
            if type(value) is not int or not 0 <= value < 1 << 64:
                raise Refused("dev, ino, head, headlen and offset of a known log must be whole numbers")
        self.stale_seen = row.get("stale_seen") is True

    def resume(self, size: int, head: bytes) -> "tuple[int, str | None, bool]":
        """(where to go on, reset, stale) in a file with the same inode."""
        whole = len(head) >= self.headlen
        same = whole and zlib.crc32(head[: self.headlen]) == self.head
        if size >= max(self.offset, self.headlen):
            return (self.offset, None, False) if same else (0, "replaced", False)
        if (whole and not same) or self.stale_seen:
            return 0, "truncated", False
        return self.offset, None, True  # an attribute cache may show an old size: not yet a truncation


def find_moved(known: "dict[bytes, KnownLog]", finds: Finds) -> "dict[bytes, bytes]":
    """New path to old path of known inodes that left their place for a matched name, or one beside it."""
    held = {log.ino for path, log in known.items() if path in finds.stats and finds.stats[path].st_ino == log.ino}
    lost: "dict[int, bytes]" = {}
    for path, log in sorted(known.items(), key=lambda row: row[1].offset):
        if log.ino not in held:
            lost[log.ino] = path
    if not lost:
        return {}
    now = {row.st_ino: path for path, row in finds.stats.items()}
    for directory in {os.path.dirname(lost[ino]) for ino in lost if ino not in now}:
        for ino, path in siblings(directory):
            if ino in lost and ino not in now:
                now[ino] = path
    return {now[ino]: lost[ino] for ino in lost if ino in now}


def siblings(directory: bytes) -> "list[tuple[int, bytes]]":
    found: "list[tuple[int, bytes]]" = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                found.append((entry.inode(), directory.rstrip(b"/") + b"/" + entry.name))
                if len(found) >= SIBLINGS:
                    break
    except OSError:
        pass  # the directory's own trouble was told when its path was looked for
    return found


def read_log(path: bytes, log: "KnownLog | None", most: int, first: bool, allowance: Allowance) -> "dict[str, Any]":
    """One log from where it was left. `first` sight of a long file starts near its end, and so does a
    backlog that could never be caught up with; both say how much was skipped."""
    fd = os.open(path, OPEN)
    try:
        row = os.fstat(fd)
        if not stat.S_ISREG(row.st_mode) or (log is not None and log.ino != row.st_ino):
            raise Refused("was replaced while it was being opened")
        head = os.pread(fd, HEAD, 0)
        size = row.st_size
        at, reset, stale = log.resume(size, head) if log is not None else (0, None, False)
        skipped = max(0, size - most - at) if size - at > (most if first else 64 * most) else 0
        at += skipped
        wish = 0 if stale else min(most, size - at, allowance.bytes)
        text = os.pread(fd, wish, at) if wish > 0 else b""
    finally:
        os.close(fd)
    allowance.bytes -= len(text)
    entry: "dict[str, Any]" = {
        "dev": row.st_dev,
        "ino": row.st_ino,
        "head": zlib.crc32(head),
        "headlen": len(head),
        "size": size,
        "mtime": row.st_mtime,
        "from": at,
        "text": text.decode("latin-1"),
        "reset": reset,
        "skipped": skipped,
    }
    if stale and log is not None:
        entry.update({"stale": True, "head": log.head, "headlen": log.headlen})
    return entry


def read_moved(path: bytes, old: bytes, log: KnownLog, most: int, allowance: Allowance) -> "dict[str, Any] | None":
    """The rest of a log under its new name; None if it is another file that merely got the old inode."""
    if not log.headlen and not path.startswith(old):
        return None
    try:
        regular(os.lstat(path))
        entry = read_log(path, log, 8 * most, False, allowance)
    except (OSError, Refused):
        return None
    if entry["reset"] or "stale" in entry or entry["dev"] != log.dev:
        return None
    return dict(entry, rotated_from=dec(old))


def read_logs(spec: "dict[str, Any]", allowance: Allowance) -> "dict[str, Any]":
    """Every log of one job; a known inode under a new name goes on where it was left, and comes first."""
    most = number(spec.get("max", MAX), "max", 1, 4 << 20)
    cap = number(spec.get("files", 64), "files", 1, 4096)
    known = {enc(path): KnownLog(row) for path, row in mapping(spec.get("known"), "known").items()}
    finds = expand(texts(spec.get("globs"), "globs"), allowance)
    gone = [dec(path) for path in known if path not in finds.stats and not finds.lstat(path)]
    files: "dict[str, Any]" = {}
    for path, old in sorted(find_moved(known, finds).items()):
        entry = read_moved(path, old, known[old], most, allowance)
        if entry:
            files[dec(path)] = entry
    arrived = {entry["ino"] for entry in files.values()}
    for path in sorted(newest(finds.stats, cap)):
        if dec(path) in files:
            continue
        mine = known.get(path)
        same = mine is not None and mine.ino == finds.stats[path].st_ino
        try:
            regular(finds.stats[path])
            entry = read_log(path, mine if same else None, most, mine is None, allowance)
            if mine is not None and not same:
                entry["reset"] = "rotated" if mine.ino in arrived else "replaced"
            files[dec(path)] = entry
        except OSError as error:
            finds.trouble(path, error)
        except Refused as problem:
            finds.unreadable[dec(path)] = str(problem)
    answer = {"files": files, "missing": finds.missing, "unreadable": finds.unreadable}
    answer["gone"] = [path for path in gone if path not in finds.unreadable]
    return dict(answer, capped=finds.capped or len(finds.stats) > cap)


def list_files(spec: "dict[str, Any]", allowance: Allowance) -> "dict[str, Any]":
    """Outputs and checkpoints with size and time of change, newest last; the oldest give way to the cap."""
    cap = number(spec.get("cap", 2000), "cap", 1, 100000)
    answer: "dict[str, Any]" = {"capped": False, "missing": [], "unreadable": {}}
    for name in ("outputs", "checkpoints"):
        finds = expand(texts(spec.get(name), name), allowance)
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
        answer["capped"] = answer["capped"] or finds.capped or len(rows) > cap
        answer["missing"] += finds.missing
        answer["unreadable"].update(finds.unreadable)
    return answer


def look_at_disk(spec: "Any", _: Allowance) -> "dict[str, Any]":
    """Room for us, in bytes and inodes, where the path is or would be."""
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
        "total": row.f_blocks * block,
        "free": row.f_bavail * block,
        "mount": str(device),
    }
    return dict(answer, inodes=row.f_files, inodes_free=row.f_favail)


def read_tail(spec: "dict[str, Any]", _: Allowance) -> "dict[str, Any]":
    """The last lines of a file, or what follows an offset."""
    most = number(spec.get("max", MAX), "max", 1, 8 << 20)
    lines = number(spec.get("lines", 0), "lines", 0, 1 << 31)
    offset = spec.get("offset")
    try:
        path = enc(spec["path"])
        reason = unfit(os.lstat(path).st_mode)
        if reason:
            return {"why": reason}
        fd = os.open(path, OPEN)
    except OSError as error:
        return {"why": error.strerror}
    try:
        row = os.fstat(fd)
        size = row.st_size if stat.S_ISREG(row.st_mode) else 0
        at = max(0, size - most) if offset is None else number(offset, "offset", 0, 1 << 62)
        reset = at > size
        at = 0 if reset else at
        text = os.pread(fd, min(most, size - at), at)
    except OSError as error:
        return {"why": error.strerror}
    finally:
        os.close(fd)
    if offset is None:
        cut = last_lines(text, lines)
        at, text = at + cut, text[cut:]
    return {
        "text": text.decode("latin-1"),
        "from": at,
        "offset": at + len(text),
        "size": size,
        "reset": reset,
    }


def last_lines(text: bytes, lines: int) -> int:
    """Where the last `lines` lines begin; an unfinished last line counts as one."""
    cut = len(text) - 1 if text.endswith(b"\n") else len(text)
    for _ in range(lines):
        cut = text.rfind(b"\n", 0, max(cut, 0))
        if cut < 0:
            return 0
    return cut + 1 if lines else len(text)


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
        reason = unfit(os.lstat(path).st_mode)
        return {"why": reason} if reason else {"text": read_paper(path, 65536).decode("latin-1")}
    except OSError as error:
        return {"why": error.strerror}
    except Refused as problem:
        return {"why": str(problem)}


PAPERS: "dict[bytes, dict[bytes, tuple[int, Any]]]" = {}
PAPER_NAME = re.compile(rb"^(?:(spec|keeper)|worker-(\d{1,6})\.(start|end))\.json$")


def load_paper(path: bytes) -> "dict[str, Any]":
    return mapping(json.loads(read_paper(path).decode("utf-8")), "a record")


def read_run(spec: "Any", _: Allowance) -> "dict[str, Any]":
    """The records of a run directory; each is written once, by rename, so a known inode is not read again."""
    directory, problem = enc(spec), None
    before = PAPERS.pop(directory, {})
    now: "dict[bytes, tuple[int, Any]]" = {}
    inodes: "dict[bytes, int]" = {}
    try:
        with os.scandir(directory) as entries:
            inodes = {entry.name: entry.inode() for entry in entries if PAPER_NAME.match(entry.name)}
    except OSError as error:
        problem = f"{spec}: {error.strerror}"
    for name, inode in inodes.items():
        try:
            known = name in before and before[name][0] == inode
            now[name] = before[name] if known else (inode, load_paper(directory + b"/" + name))
        except OSError as error:
            problem = f"{spec}/{dec(name)}: {error.strerror}"
        except WRONG_SHAPE as error:
            problem = f"{spec}/{dec(name)} is not a record: {str(error)[:100]}"
    while len(PAPERS) > 256:
        PAPERS.pop(next(iter(PAPERS)))
    PAPERS[directory] = now
    return file_papers({name: row[1] for name, row in now.items()}, problem)


def file_papers(papers: "dict[bytes, Any]", problem: "str | None") -> "dict[str, Any]":
    """Records sorted by kind; a record of another run is nobody's here."""
    plan = papers.get(b"spec.json", {})
    answer: "dict[str, Any]" = {"keeper": None, "workers": None, "starts": {}, "ends": {}}
    count = plan.get("workers")
    if isinstance(count, int) and 0 < count <= 4096:
        answer["workers"] = int(count)
    for name, paper in papers.items():
        kind, index, moment = PAPER_NAME.match(name).groups()  # type: ignore[union-attr]
        if plan.get("run") is not None and paper.get("run", plan["run"]) != plan["run"]:
            problem = "%s belongs to another run" % dec(name)
        elif kind == b"keeper":
            answer["keeper"] = paper
        elif index is not None:
            answer[moment.decode() + "s"][str(int(index))] = paper
    answer["problem"] = problem
    return answer


UNITS: "dict[str, Any]" = {
    "logs": read_logs,
    "files": list_files,
    "disks": look_at_disk,
    "tail": read_tail,
    "run": read_run,
    "pidfile": read_pidfile,
}


STUCK_MOST = 3


def read_exactly(fd: int, count: int) -> bytes:
    text = b""
    while len(text) < count:
        chunk = os.read(fd, count - len(text))
        if not chunk:
            os._exit(0)
        text += chunk
    return text


def write_all(fd: int, text: bytes) -> None:
    rest = memoryview(text)
    while rest:
        rest = rest[os.write(fd, rest) :]


def hand_life(inward: int, outward: int) -> None:
    """The child: one frame of units in, one frame per unit out as each is done, until the pipe closes."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    low, high = sorted((inward, outward))
    for first, end in ((3, low), (low + 1, high), (high + 1, 4096)):
        os.closerange(first, end)
    while True:
        order = json.loads(read_exactly(inward, int.from_bytes(read_exactly(inward, 4), "big")).decode("ascii"))
        allowance = Allowance(order["seconds"])
        for at, kind, spec in order["units"]:
            try:
                text = compact(UNITS[kind](spec, allowance))
            except WRONG_SHAPE as problem:
                text = b"!" + ("%s: %s" % (kind, problem)).encode("ascii", "backslashreplace")
            write_all(outward, len(text).to_bytes(4, "big") + at.to_bytes(4, "big") + text)


class Hand:
    """The file hand as its parent sees it: asked with a deadline, killed and replaced when late."""

    def __init__(self) -> None:
        self.pid = 0
        self.to = self.back = -1
        self.stuck: "list[int]" = []
        self.suspects: "set[tuple[str, str]]" = set()
        self.turn = 0

    def ask(
        self, units: "list[tuple[str, str, Any]]", until: float
    ) -> "tuple[dict[int, bytes], str, dict[int, float]]":
        """(answers by unit number, why some are missing, when each came); Refused if any unit was refused."""
        began = time.monotonic()
        self._bury()
        if len(self.stuck) >= STUCK_MOST:
            return {}, "%d earlier readers are still stuck in the filesystem" % len(self.stuck), {}
        try:
            if not self.pid:
                self._fork()
        except OSError as error:
            return {}, "no file reader could be started: %s" % error.strerror, {}
        # What hung last time comes last; the rest take turns, so that a spent allowance starves nobody.
        self.turn += 1
        order = [(at + self.turn) % len(units) for at in range(len(units))]
        order.sort(key=lambda at: units[at][:2] in self.suspects)
        frame = compact({"seconds": until - began, "units": [[at, units[at][0], units[at][2]] for at in order]})
        got: "dict[int, bytes]" = {}
        came: "dict[int, float]" = {}
        why = self._talk(len(frame).to_bytes(4, "big") + frame, len(units), until, got, came)
        self.suspects.difference_update(units[at][:2] for at in got)
        if why:
            self.suspects.update(units[at][:2] for at in [at for at in order if at not in got][:1])
            self.drop()
        for text in got.values():
            if text[:1] == b"!":
                raise Refused(text[1:].decode("ascii"))
        return got, why, came

    def _talk(self, frame: bytes, count: int, until: float, got: "dict[int, bytes]", came: "dict[int, float]") -> str:
        """Write the frame and collect answers into `got`; returns why it stopped short, or nothing."""
        rest, inbox, began = memoryview(frame), bytearray(), time.monotonic()
        while len(got) < count:
            left = until - time.monotonic()
            ready, writable, _ = select.select([self.back], [self.to] if rest else [], [], max(0.0, left))
            if not ready and not writable:
                return f"the filesystem did not answer in {time.monotonic() - began:.1f} s"
            try:
                if writable:
                    rest = rest[os.write(self.to, rest[:65536]) :]
                chunk = os.read(self.back, 1 << 20) if ready else None
            except BrokenPipeError:
                chunk = b""
            if chunk == b"":
                return "the file reader ended before it had answered"
            inbox += chunk or b""
            while len(inbox) >= 8 and len(inbox) >= 8 + int.from_bytes(inbox[:4], "big"):
                end = 8 + int.from_bytes(inbox[:4], "big")
                at = int.from_bytes(inbox[4:8], "big")
                got[at], came[at] = bytes(inbox[8:end]), time.monotonic()
                del inbox[:end]
        return ""

    def _fork(self) -> None:
        inward, self.to = os.pipe()
        self.back, outward = os.pipe()
        os.set_blocking(self.to, False)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                hand_life(inward, outward)
            finally:
                os._exit(1)
        os.close(inward)
        os.close(outward)

    def drop(self) -> None:
        """Kill the child without waiting: in uninterruptible sleep it dies when the filesystem lets go."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            self.stuck.append(self.pid)
            os.close(self.to)
            os.close(self.back)
        self.pid = 0
        self._bury()

    def _bury(self) -> None:
        for pid in list(self.stuck):
            try:
                if os.waitpid(pid, os.WNOHANG)[0] == pid:
                    self.stuck.remove(pid)
            except ChildProcessError:
                self.stuck.remove(pid)


def file_units(request: "dict[str, Any]") -> "list[tuple[str, str, Any]]":
    units: "list[tuple[str, str, Any]]" = []
    for name in ("logs", "files"):
        for key, spec in mapping(request.get(name), name).items():
            if key in RESERVED:
                raise Refused("%s: %r cannot be a key" % (name, key))
            units.append((name, key, mapping(spec, name)))
    units += [("disks", path, path) for path in dict.fromkeys(texts(request.get("disks"), "disks"))]
    if request.get("tail") is not None:
        units.append(("tail", "", mapping(request["tail"], "tail")))
    return units


def file_sections(request: "dict[str, Any]", hand: Hand, until: float) -> "list[bytes]":
    """The file sections as JSON text; the hand's own text goes in as it is, since it may be megabytes."""
    units = file_units(request)
    began = time.monotonic()
    got, why, came = hand.ask(units, until) if units else ({}, "", {})
    sections = []
    for name in FILE_SECTIONS:
        if request.get(name) is not None:
            last = max([came[at] for at in came if units[at][0] == name] or [began])
            sections.append(compact(name) + b":" + one_section(name, units, got, why, last - began))
    return sections


def one_section(
    name: str, units: "list[tuple[str, str, Any]]", got: "dict[int, bytes]", why: str, seconds: float
) -> bytes:
    mine = [at for at, unit in enumerate(units) if unit[0] == name]
    late = [units[at][1] for at in mine if at not in got]
    head: "dict[str, Any]" = {"ok": True, "seconds": round(seconds, 6)}
    if late:
        head = {"ok": False, "why": why, "late": late}
    if name == "tail":
        if not late and got[mine[0]].startswith(b'{"why"'):
            head = {"ok": False}
        return b",".join([compact(head)[:-1]] + [got[at][1:-1] for at in mine if at in got]) + b"}"
    rows = [at for at in mine if at in got]
    if name == "disks":
        fine = {units[at][1]: json.loads(got[at].decode("ascii")) for at in rows}
        head["unreadable"] = {path: row["why"] for path, row in fine.items() if "why" in row}
        head["disks"] = {path: row for path, row in fine.items() if "why" not in row}
        return compact(head)
    return b",".join([compact(head)[:-1]] + [compact(units[at][1]) + b":" + got[at] for at in rows]) + b"}"


def reply(line: bytes, eyes: Processes, hand: Hand) -> bytes:
    """The answer to one request line, sentinel included; what is wrong with a request is said in it."""
    nonce = "-"
    began = time.monotonic()
    try:
        request = mapping(json.loads(line.decode("utf-8")), "a request")
        if not isinstance(request.get("nonce"), str) or not re.match(r"^[0-9A-Za-z]{1,64}\Z", request["nonce"]):
            raise Refused("nonce must be 1 to 64 letters and digits")
        nonce = request["nonce"]
        deadline = request.get("deadline", 10.0)
        if isinstance(deadline, bool) or not isinstance(deadline, (int, float)) or not 0 < deadline <= 3600:
            raise Refused("deadline must be a number of seconds up to 3600")
        until = began + deadline - min(1.0, 0.2 * deadline)
        top = {"nonce": nonce, "clock": {"wall": time.time(), "boottime": time.clock_gettime(BOOTTIME)}}
        top.update(boot=eyes.boot, host=os.uname().nodename, python=sys.version.split()[0])
        parts = [compact(top)[1:-1]]
        if request.get("process") is not None:
            try:
                section = process_section(mapping(request["process"], "process"), eyes, hand, until)
            except OSError as error:
                section = {"ok": False, "why": f"/proc could not be read: {error.strerror}"}
            parts.append(b'"process":' + compact(section))
        parts += file_sections(request, hand, until)
        text = b"{" + b",".join(parts) + b"}"
    except WRONG_SHAPE as problem:
        text = compact({"nonce": nonce, "error": "%s: %.300s" % (type(problem).__name__, problem)})
    return text + ("\nDOGWATCH-END %s %d\n" % (nonce, len(text))).encode("ascii")


def requests() -> "Iterator[bytes]":
    """Lines from stdin until it closes; one that never ends is given out as it is, and is the last."""
    inbox, searched = bytearray(), 0
    while True:
        end = inbox.find(b"\n", searched)
        if end >= 0:
            yield bytes(inbox[:end])
            del inbox[: end + 1]
            searched = 0
            continue
        searched = len(inbox)
        chunk = os.read(0, 65536) if searched < REQUEST_CAP else b""
        if not chunk:
            if inbox:
                yield bytes(inbox)
            return
        inbox += chunk


def main() -> int:
    """Answer the first line of stdin or, with --serve, every line until stdin closes."""
    eyes, hand = Processes(), Hand()
    try:
        for line in requests():
            write_all(1, reply(line, eyes, hand))
            if "--serve" not in sys.argv[1:]:
                break
    except (BrokenPipeError, KeyboardInterrupt):
        pass
    hand.drop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
