"""Processes as /proc shows them, each known by boot id, pid and start time."""

import os
import re
import time
from collections.abc import Iterator

from dogwatch.remote.probe.wire import slurp
from dogwatch.remote.shapes import MemoryHeld, Oom, Process

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
BOOTTIME = getattr(time, "CLOCK_BOOTTIME", 7)  # the name is Python 3.7's; the number is Linux's
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
KIDS_AGE = 3.0
FACTS_AGE = 60.0
YOUNG = 5.0
KEPT_FDS = 256
SETTLING = 60.0
MOST_FDS, MOST_WRITES = 512, 32
FILE_PAGES = rb"^(?:total_)?(inactive_file|active_file) (\d+)"
KERNEL_LOG_CAP = 4 << 20
OOM_LINE = re.compile(r"^oom-kill:.*,pid=(\d+),uid=\d+$|^(?:[\w ]+: )?Killed process (\d+) \(")


class Kept:
    """What is remembered of one process between requests; its open stat file names it beyond pid reuse."""

    __slots__ = (
        *("cgroup", "command", "counted", "fresh_until", "gone", "kids", "kids_fd", "stat_fd", "uid"),
        *("writes", "writes_until"),
    )

    def __init__(self, stat_fd: int, uid: "int | None") -> None:
        self.stat_fd = stat_fd
        self.kids_fd = -1
        self.kids: "int | None" = None
        self.counted = float("-inf")
        self.uid = uid
        self.command = ""
        self.cgroup: "tuple[str, str, str] | None" = None
        self.fresh_until = 0.0
        self.gone: "Process | None" = None
        self.writes: "list[str]" = []
        self.writes_until = 0.0

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


def process_row(pid: int, doing: str, start: "int | None", boot: "str | None") -> "Process":
    """A process of which nothing more than this is known."""
    row = dict.fromkeys(("started", "cpu", "rss", "children", "threads", "uid", "command", "exit", "oom", "kernel_log"))
    return dict(row, pid=pid, doing=doing, start=start, boot=boot)  # type: ignore[return-value]


def process_stats() -> "Iterator[tuple[int, list[bytes]]]":
    """(pid, the fields of its stat file from the third on) of every process."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                text = slurp("/proc/" + entry + "/stat", 2048)
            except OSError:
                continue
            fields = text[text.rfind(b")") + 2 :].split(None, 22)
            if len(fields) > 21:
                yield int(entry), fields


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
        self.oom: "dict[str, tuple[float, Oom | None]]" = {}
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

    def inspect(self, pid: int, start: "int | None", boot: "str | None") -> "Process":
        """What one process does; another boot id comes first, because then the pid means nothing."""
        if boot and boot != self.boot:
            return {**process_row(pid, "gone", start, boot), "rebooted": True}
        self.asked.add((pid, start))
        kept = self.kept.get((pid, start))
        if kept is None:
            fd, doing = open_stat(pid)
            if doing == "hidden":
                return process_row(pid, "hidden", start, self.boot)
            kept = self.kept[(pid, start)] = Kept(fd, owner_of(pid))
            if doing == "gone":
                return self._gone(kept, pid, start)
        return kept.gone or self._read(kept, pid, start)

    def _read(self, kept: Kept, pid: int, start: "int | None") -> "Process":
        try:
            # ESRCH from a file that was open is evidence of gone, even if the pid lives again.
            name, fields = stat_fields(os.pread(kept.stat_fd, 2048, 0))
        except ProcessLookupError:
            return self._gone(kept, pid, start)
        began, doing = int(fields[19]), doing_of(fields)
        if start is not None and began != start:
            return self._gone(kept, pid, start)
        if doing != "zombie":
            self._refresh(kept, pid, name, fields)
        answer: "Process" = {
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

    def writes(self, pid: int, start: "int | None") -> "list[str]":
        """The files that a process holds open for writing, asked now and then: often while it is young."""
        kept = self.kept.get((pid, start))
        if kept is None or kept.gone is not None:
            return []
        if self.now >= kept.writes_until:
            young = start is not None and self.since_boot - start / TICKS < SETTLING
            kept.writes_until = self.now + (0 if young else FACTS_AGE)
            kept.writes = open_for_writing(pid) or kept.writes
        return kept.writes

    def _children(self, kept: Kept, pid: int) -> "int | None":
        if self.now - kept.counted <= KIDS_AGE:
            return kept.kids
        try:
            if kept.kids_fd < 0:
                kept.kids_fd = os.open("/proc/%d/task/%d/children" % (pid, pid), os.O_RDONLY | os.O_CLOEXEC)
            kept.kids = os.pread(kept.kids_fd, 65536, 0).count(b" ")
        except OSError:
            kept.kids = None
        kept.counted = self.now
        return kept.kids

    def _gone(self, kept: Kept, pid: int, start: "int | None") -> "Process":
        """Gone, remembered with what the counters and the kernel log say right after."""
        kept.close()
        kept.gone = gone = process_row(pid, "gone", start, self.boot)
        gone["uid"], gone["command"] = kept.uid, kept.command or None
        gone["oom"], gone["kernel_log"] = self._oom(kept, 0.0), self._kernel_line(pid, start)
        if start is None:
            del self.kept[(pid, start)]
        return gone

    def _kernel_line(self, pid: int, start: "int | None") -> "str | None":
        if self.deaths is None:
            self.deaths = kernel_deaths()
        # The kernel log's clock stands still while the machine sleeps; a start time's does not.
        asleep = time.clock_gettime(BOOTTIME) - time.monotonic()
        since = (start or 0) / TICKS - asleep - 1
        lines = [line for at, dead, line in self.deaths if dead == pid and at >= since]
        return lines[-1] if lines else None

    def _cgroup(self, pid: int) -> "tuple[str, str, str] | None":
        """The name of a process's memory cgroup, the file that counts its OOM kills, and where its kind is mounted."""
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
                return path, f"{mount[0]}{inside.rstrip('/')}/{leaf}", mount[0]
        return None

    def _oom(self, kept: Kept, age: float) -> "Oom | None":
        if kept.cgroup is None:
            return None
        path, counter, mount = kept.cgroup
        read_at, answer = self.oom.get(counter, (float("-inf"), None))
        if self.now - read_at > age:
            kills = oom_kills(counter)
            answer = None if kills is None else {**memory_held(counter, mount), "cgroup": path, "kills": kills}
            self.oom[counter] = (self.now, answer)
        return answer


def open_for_writing(pid: int) -> "list[str]":
    """The regular files that a process writes, as far as we may see them; devices and deleted ones are none."""
    found = set()
    try:
        for number in os.listdir("/proc/%d/fd" % pid)[:MOST_FDS]:
            path = os.readlink("/proc/%d/fd/%s" % (pid, number))
            if not path.startswith("/") or path.startswith(("/dev/", "/proc/")) or path.endswith(" (deleted)"):
                continue
            flags = re.search(rb"^flags:\s*([0-7]+)", slurp("/proc/%d/fdinfo/%s" % (pid, number), 1024), re.M)
            if flags and int(flags.group(1), 8) & (os.O_WRONLY | os.O_RDWR):
                found.add(path)
    except OSError:
        pass
    return sorted(found)[:MOST_WRITES]


def oom_kills(counter: str) -> "int | None":
    try:
        found = re.search(rb"^oom_kill (\d+)", slurp(counter), re.M)
    except OSError:
        return None
    return int(found.group(1)) if found else None


def memory_held(counter: str, mount: str) -> "MemoryHeld":
    """What is used of the tightest memory limit above a cgroup, without the files that the kernel keeps there and
    gives back; of the whole machine where none is set."""
    folder, leaf = os.path.split(counter)
    old = leaf == "memory.oom_control"
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if old else ("memory.max", "memory.current")
    try:
        total, free = (int(line.split()[1]) << 10 for line in slurp("/proc/meminfo").splitlines()[:3:2])
        best: "MemoryHeld" = {"used": total - free, "limit": total, "machine": True}
        while folder.startswith(mount):
            try:
                limit = int(slurp(folder + "/" + names[0]) or total)
                if limit < best["limit"]:
                    # Of a name that comes twice the last counts the groups below, too.
                    files = re.findall(FILE_PAGES, slurp(folder + "/memory.stat", 16384), re.M)
                    used = int(slurp(folder + "/" + names[1])) - sum(map(int, dict(files).values()))
                    best = {"used": used, "limit": limit}
            except (OSError, ValueError):  # the root has no limit, and "max" is none
                pass
            folder = os.path.dirname(folder)
    except (OSError, ValueError, IndexError):
        return {}
    return best


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


def kernel_records(path: str) -> "Iterator[tuple[float, str]]":
    """(seconds since boot, line) of each record in its log that the kernel itself wrote."""
    fd, seen = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), 0
    try:
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
            marks = head.split(",")
            if len(marks) > 2 and marks[0].isdigit() and marks[2].isdigit() and int(marks[0]) < 8:
                yield int(marks[2]) / 1e6, text.split("\n", 1)[0]
    finally:
        os.close(fd)


def kernel_deaths() -> "list[tuple[float, int, str]]":
    """(seconds since boot, pid, line) of every kill for lack of memory that the kernel's log still holds; none where
    pids do not mean the same to the kernel as to us."""
    found: "list[tuple[float, int, str]]" = []
    try:
        if os.readlink("/proc/self/ns/pid") == INIT_PID_NAMESPACE:
            for at, line in kernel_records("/dev/kmsg"):
                match = OOM_LINE.search(line)
                if match:
                    found.append((at, int(match.group(1) or match.group(2)), line[:300]))
    except OSError:
        pass
    return found
