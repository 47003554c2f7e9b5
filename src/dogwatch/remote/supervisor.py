"""The supervisor: runs the workers of one run, detached, and records durably how each began and ended.

Started as `python -I -S supervisor.py RUN_DIR`; reads RUN_DIR/spec.json and prints one JSON line once every
worker has a start record. No worker executes before its start record is on disk, and no exit code is
dropped while the supervisor lives. Standard library only, Python >= 3.6.
"""

import contextlib
import errno
import fcntl
import json
import os
import re
import select
import signal
import stat
import sys
import time
import traceback
from typing import Any, Dict, List, NoReturn, Optional, Set, Tuple

START_TIMEOUT = 5.0  # for all workers together: start records that do not fit, programs that hang in exec
LOG_TIMEOUT = 0.2  # the kernel sends SIGKILL first and writes its log line after
OUTLIVED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
DIED = '{"error": "the supervisor died before it could report; its supervisor.log may say why"}'
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
NOT_STARTED, NOT_EXECUTABLE = 127, 126
INITIAL_PID_NAMESPACE = "pid:[4026531836]"  # PROC_PID_INIT_INO: only here does the kernel log use our pids
COUNTERS = {"cgroup": "memory.oom_control", "cgroup2": "memory.events"}
MOUNT = re.compile(r"^\S+ \S+ \S+ (\S+) (\S+) .*? - (cgroup2?) \S+ (\S+)$", re.MULTILINE)
KILLED_FOR_MEMORY = re.compile(r"\bKilled process (\d+)\b")

Record = Dict[str, Any]


def _raw(text: str) -> bytes:
    """The bytes a spec's text stands for, whatever locale this interpreter was started in."""
    return text.encode("utf-8", "surrogateescape")


def _note(text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, _raw("%d supervisor %d: %s\n" % (time.time(), os.getpid(), text)))


def _read_text(path: str) -> Optional[str]:
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "surrogateescape")
    except OSError:
        return None


def _start_ticks(pid: int) -> Optional[int]:
    """Field 22 of /proc/PID/stat; it does not change on exec, so it is true before and after."""
    text = _read_text("/proc/%d/stat" % pid)
    try:
        return int(text.rpartition(")")[2].split()[19]) if text else None
    except (IndexError, ValueError):
        return None


def _close_all_but(keep: Set[int]) -> None:
    """By listing, because the descriptor limit can be a billion and closing up to it would take minutes."""
    try:
        fds = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        fds = list(range(3, 65536))
    for fd in fds:
        if fd > 2 and fd not in keep:
            with contextlib.suppress(OSError):
                os.close(fd)


class Ledger:
    """The run directory. A record is durable before the wake-up is rung; one that does not fit waits here."""

    def __init__(self, directory: int, run: str, wake: str) -> None:
        self.directory = directory
        self.run = run
        self.wake = wake
        self.pending: List[Tuple[str, Record]] = []

    def write(self, name: str, record: Record, exclusive: bool = False) -> None:
        """tmp + fsync + rename + fsync of the directory; `exclusive` links, so that only one succeeds."""
        there = self.directory
        tmp = ".%s.%d.tmp" % (name, os.getpid())
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(tmp, flags, 0o600, dir_fd=there), "wb") as file:
            file.write(json.dumps(record, sort_keys=True).encode("ascii") + b"\n")
            file.flush()
            os.fsync(file.fileno())
        if exclusive:
            try:
                os.link(tmp, name, src_dir_fd=there, dst_dir_fd=there, follow_symlinks=False)
            finally:
                os.unlink(tmp, dir_fd=there)
        else:
            os.rename(tmp, name, src_dir_fd=there, dst_dir_fd=there)
        os.fsync(there)

    def write_until(self, name: str, record: Record, limit: float) -> Optional[str]:
        """None once it is durable, or why it still was not at `limit`; tries at least once."""
        while True:
            try:
                self.write(name, record)
                return None
            except OSError as why:
                if time.monotonic() >= limit:
                    return why.strerror or str(why)
                time.sleep(FIRST_PAUSE)

    def flush(self) -> bool:
        """Write what waits, in order; False when something still has to wait."""
        while self.pending:
            try:
                self.write(*self.pending[0])
                self.ring()
            except OSError:
                if os.fstat(self.directory).st_nlink:
                    return False
                _note("the run directory was removed, so %s cannot be read any more" % self.pending[0][0])
            del self.pending[0]
        return True

    def ring(self) -> None:
        """Tell the watcher, if one listens; one that does not will find the record at its next poll."""
        with contextlib.suppress(OSError):
            fd = os.open(_raw(self.wake), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
            try:
                if stat.S_ISFIFO(os.fstat(fd).st_mode):
                    os.write(fd, _raw(self.run)[:200] + b"\n")
            finally:
                os.close(fd)


def _find_counter(cgroups: str, mounts: str) -> Optional[str]:
    """The file with the `oom_kill` line of the memory cgroup in a /proc/PID/cgroup text, v1 before v2."""
    first = re.search(r"^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(/.*)$", cgroups, re.MULTILINE)
    found = first or re.search(r"^0::(/.*)$", cgroups, re.MULTILINE)
    if found is None or found.group(1).startswith("/.."):
        return None
    kind, path = "cgroup" if first else "cgroup2", found.group(1)
    for root, top, filesystem, options in MOUNT.findall(mounts):
        if filesystem == kind and (kind == "cgroup2" or "memory" in options.split(",")):
            inner = path[len(root) :] if (path + "/").startswith(root.rstrip("/") + "/") else path
            return os.path.join(top, inner.strip("/"), COUNTERS[kind])
    return None


class Memory:
    """Evidence that the kernel killed for memory: our cgroup's `oom_kill` counter and the kernel log.

    Several workers share one counter, so a kill that explains one death is not counted for another.
    """

    def __init__(self) -> None:
        cgroups, mounts = _read_text("/proc/self/cgroup"), _read_text("/proc/self/mountinfo")
        self.counter = _find_counter(cgroups, mounts) if cgroups and mounts else None
        self.before = self._kills()
        self.claimed = 0
        self.lines: Dict[int, str] = {}
        self.log = self._open_log()

    def evidence(self, pid: int, signalled: Optional[int]) -> Record:
        kills = self._kills()
        count = None if kills is None or self.before is None else max(0, kills - self.before - self.claimed)
        line = None
        if signalled == signal.SIGKILL:
            line = self._line_of(pid, LOG_TIMEOUT if count else 0.0)
            if count and (line or self.log < 0):
                self.claimed += 1
        return {"counter": count, "kernel_log": line, "log_read": self.log >= 0}

    def _kills(self) -> Optional[int]:
        text = _read_text(self.counter) if self.counter else None
        found = re.search(r"^oom_kill (\d+)$", text, re.MULTILINE) if text else None
        return int(found.group(1)) if found else None

    def _open_log(self) -> int:
        """The kernel log from its end on, so that whatever is read is newer than every worker; or -1."""
        with contextlib.suppress(OSError):
            if os.readlink("/proc/self/ns/pid") == INITIAL_PID_NAMESPACE:
                log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
                os.lseek(log, 0, os.SEEK_END)
                return log
        return -1

    def _line_of(self, pid: int, silence_limit: float) -> Optional[str]:
        limit = time.monotonic() + silence_limit
        while True:
            self._drain()
            if pid in self.lines or self.log < 0 or time.monotonic() >= limit:
                return self.lines.get(pid)
            time.sleep(0.01)

    def _drain(self) -> None:
        while self.log >= 0:
            try:
                record = os.read(self.log, 8192).decode("utf-8", "replace")
            except BlockingIOError:
                return
            except BrokenPipeError:
                continue  # the ring ran over old lines; reading goes on at the oldest that is left
            except OSError as why:
                os.close(self.log)
                self.log = -1
                return _note("the kernel log cannot be read any more: %s" % why)
            head, _, text = record.partition(";")
            found = KILLED_FOR_MEMORY.search(text)
            # Facility 0 is the kernel's own; what a program wrote into /dev/kmsg is not evidence.
            if found and head.split(",")[0].isdigit() and int(head.split(",")[0]) >> 3 == 0:
                self.lines[int(found.group(1))] = text.splitlines()[0][:500]


class Worker:
    """One worker from fork to end. `failure` is the pipe on which a failed exec says why, while open."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.pid: Optional[int] = None
        self.start: Optional[int] = None
        self.error: Optional[str] = None
        self.failure: Optional[int] = None

    def exec_error(self, silence_limit: float) -> Optional[str]:
        """What exec said: an error, or None while the pipe is silent or once exec has closed it."""
        if self.failure is None:
            return None
        poll = select.poll()
        poll.register(self.failure, select.POLLIN)
        if not poll.poll(max(0, int(silence_limit * 1000))):
            return None
        with open(self.failure, "rb") as pipe:
            self.failure = None
            return pipe.read(4096).decode("utf-8", "replace") or None


class Spec:
    """What to run, as the launcher wrote it into spec.json."""

    def __init__(self, document: Record, umask: int) -> None:
        self.run = str(document["run"])
        self.argv = [_raw(word) for word in document["argv"]]
        self.program = _raw(document.get("program") or document["argv"][0])
        self.cwd = _raw(document["cwd"])
        self.directory = _raw(document["directory"])
        self.added = {_raw(key): _raw(value) for key, value in document.get("env", {}).items()}
        self.workers = int(document["workers"])
        self.gpus = document.get("gpus")
        self.wake = str(document.get("wake") or "")
        self.umask = int(document.get("umask", umask))
        if not self.argv or self.workers < 1 or (self.gpus and len(self.gpus) != self.workers):
            raise ValueError("argv, workers and gpus do not fit together")

    def environment(self, index: int) -> Dict[bytes, bytes]:
        env = {**os.environb, **self.added}
        if self.gpus:
            env[b"CUDA_VISIBLE_DEVICES"] = _raw(str(self.gpus[index]))
        env.update({b"DOGWATCH_WORKER": b"%d" % index, b"DOGWATCH_WORKERS": b"%d" % self.workers})
        env[b"DOGWATCH_PROGRESS"] = b"%s/worker-%d.progress" % (self.directory, index)
        env[b"DOGWATCH_RUN"] = _raw(self.run)
        return env


def _default_signals() -> None:
    for number in range(1, signal.NSIG):
        with contextlib.suppress(OSError, ValueError):  # SIGKILL, SIGSTOP, the two that libc keeps
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _exec_worker(spec: Spec, index: int, directory: int) -> NoReturn:
    os.chdir(spec.cwd)
    null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
    log = os.open("worker-%d.log" % index, flags, 0o600, dir_fd=directory)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.umask(spec.umask)
    os.execvpe(spec.program, spec.argv, spec.environment(index))


def _why_not(spec: Spec, why: OSError) -> str:
    about = os.fsencode(why.filename or spec.program)
    missing = why.errno == errno.ENOENT and os.path.exists(about)
    hint = " (is the interpreter missing that its first line names?)" if missing else ""
    return "%s: %s%s" % (about.decode("utf-8", "replace"), why.strerror, hint)


def _be_worker(spec: Spec, index: int, directory: int, gate: int, failure: int) -> NoReturn:
    """The forked child: become the worker when told that its start record is durable. End of file on the
    gate means that the supervisor died first, and then nothing is executed."""
    code = NOT_STARTED
    try:
        os.setsid()
        _close_all_but({directory, gate, failure})
        _default_signals()
        if os.read(gate, 1):
            _exec_worker(spec, index, directory)
    except OSError as why:
        if why.errno in (errno.EACCES, errno.EPERM, errno.ENOEXEC, errno.EISDIR, errno.ETXTBSY):
            code = NOT_EXECUTABLE
        os.write(failure, _why_not(spec, why).encode("utf-8", "replace")[:4000])
    finally:
        os._exit(code)


class Supervisor:
    """Starts the workers of one run, waits for each, and leaves when the last end record is durable."""

    def __init__(self, spec: Spec, ledger: Ledger) -> None:
        self.spec = spec
        self.ledger = ledger
        self.memory = Memory()
        self.alive: Dict[int, Worker] = {}
        self.boot = (_read_text("/proc/sys/kernel/random/boot_id") or "").strip() or None
        self.start_limit = time.monotonic() + START_TIMEOUT

    def claim(self) -> None:
        """Make this run ours, once and for all; a second supervisor, or a discarded run, fails here."""
        record = {"run": self.spec.run, "pid": os.getpid(), "boot": self.boot, "at": time.time()}
        record["start"] = _start_ticks(os.getpid())
        self.ledger.write("supervisor.json", record, exclusive=True)

    def start_all(self) -> Record:
        workers = [self._start(index) for index in range(self.spec.workers)]
        return {
            "supervisor": os.getpid(),
            "workers": [None if worker.error else worker.pid for worker in workers],
            "errors": {str(worker.index): worker.error for worker in workers if worker.error},
        }

    def keep(self) -> None:
        """Reap until nobody is left and nothing waits to be written."""
        pause = FIRST_PAUSE
        while self.alive or self.ledger.pending:
            if self.ledger.flush():
                pause = FIRST_PAUSE
                self._reap(0)
            elif not self._reap(os.WNOHANG):
                time.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)

    def _start(self, index: int) -> Worker:
        worker = Worker(index)
        opened: List[int] = []
        try:
            opened.extend(os.pipe())
            opened.extend(os.pipe())
            worker.pid = os.fork()
        except OSError as why:
            for fd in opened:
                os.close(fd)
            self._put_error(worker, "cannot start a process: %s" % why.strerror)
            self._put_end(worker, NOT_STARTED, None, None)
            return worker
        gate, release, failure, tell = opened
        if worker.pid == 0:
            _be_worker(self.spec, index, self.ledger.directory, gate, tell)
        os.close(gate)
        os.close(tell)
        worker.start = _start_ticks(worker.pid)
        worker.failure = failure
        self.alive[worker.pid] = worker
        self._release(worker, release)
        return worker

    def _release(self, worker: Worker, gate: int) -> None:
        """Let the child go on to exec once its start record is on disk; closing the gate unsaid ends it."""
        record = self._record(worker, pid=worker.pid, start=worker.start, boot=self.boot)
        why = self.ledger.write_until("worker-%d.start.json" % worker.index, record, self.start_limit)
        if why is None:
            with contextlib.suppress(OSError):  # killed at the gate; reaping it will say how
                os.write(gate, b"g")
        os.close(gate)
        if why is None:
            self._put_error(worker, worker.exec_error(self.start_limit - time.monotonic()))
        else:
            self._put_error(worker, "its start record cannot be written: %s" % why)

    def _reap(self, options: int) -> bool:
        try:
            pid, status, usage = os.wait4(-1, options)
        except ChildProcessError:
            self.alive.clear()
            return False
        worker = self.alive.pop(pid, None) if pid else None
        if worker is None:
            return bool(pid)
        self._put_error(worker, worker.exec_error(0))
        signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        self._put_end(worker, code, signalled, usage)
        return True

    def _record(self, worker: Worker, **fields: Any) -> Record:
        record: Record = {"run": self.spec.run, "worker": worker.index, "at": time.time()}
        record.update(fields)
        return record

    def _put(self, which: str, record: Record) -> None:
        self.ledger.pending.append(("worker-%d.%s.json" % (record["worker"], which), record))

    def _put_error(self, worker: Worker, why: Optional[str]) -> None:
        """The start record of a worker that never became its program; the first reason stays."""
        if why is None or worker.error:
            return
        worker.error = why
        self._put("start", self._record(worker, error=why))
        self.ledger.flush()

    def _put_end(self, worker: Worker, code: Optional[int], signalled: Optional[int], usage: Any) -> None:
        record = self._record(worker, pid=worker.pid, start=worker.start, code=code, signal=signalled)
        user, system, rss = (usage.ru_utime, usage.ru_stime, usage.ru_maxrss) if usage else (0.0, 0.0, 0)
        record.update(oom=self.memory.evidence(worker.pid or 0, signalled), max_rss_bytes=rss * 1024)
        record.update(cpu_user=user, cpu_system=system)
        self._put("end", record)


def _stay(_number: int, _frame: Any) -> None:
    """Outlive the signal. Not SIG_IGN: that would be inherited, and a worker must be able to die."""


def _detach(directory: int, report: int) -> None:
    """Leave the launcher's session, streams and open files behind; keep the run directory and the report."""
    for number in OUTLIVED:
        signal.signal(number, _stay)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    log = os.open("supervisor.log", flags, 0o600, dir_fd=directory)
    for source, target in ((null, 0), (null, 1), (log, 2)):
        os.dup2(source, target)
    os.chdir("/")
    _close_all_but({directory, report})


def _be_supervisor(spec: Spec, directory: int, report: int) -> None:
    supervisor = None
    try:
        _detach(directory, report)
        supervisor = Supervisor(spec, Ledger(directory, spec.run, spec.wake))
        supervisor.claim()
        said = supervisor.start_all()
    except FileExistsError:
        said = {"error": "it was already started or discarded"}
    except OSError as why:
        said = {"error": "its run directory cannot be used: %s" % (why.strerror or why)}
    with contextlib.suppress(OSError):  # the launcher may be gone; the records say the same
        os.write(report, json.dumps(said).encode("ascii") + b"\n")
        os.close(report)
    if supervisor and "error" not in said:
        supervisor.ledger.ring()
        supervisor.keep()


def _fork_supervisor(spec: Spec, directory: int) -> int:
    """Fork twice, so that the supervisor leads no session and can gain no terminal; returns the report."""
    hear, report = os.pipe()
    middle = os.fork()
    if middle:
        os.close(report)
        os.waitpid(middle, 0)
        return hear
    code = 1
    try:
        os.setsid()
        if os.fork() == 0:
            _be_supervisor(spec, directory, report)
        code = 0
    finally:
        if code:
            _note(traceback.format_exc())
        os._exit(code)


def main(run_directory: str) -> int:
    # An ignored SIGCHLD is inherited, and then exit codes vanish before wait4 can see them.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    umask = os.umask(0o077)
    try:
        directory = os.open(run_directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(directory, fcntl.LOCK_SH)  # beside the launcher's: while anybody has it, the run may still begin
        written = os.open("spec.json", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        with open(written, "rb") as file:
            spec = Spec(json.loads(file.read().decode("utf-8")), umask)
        with open(_fork_supervisor(spec, directory), "rb") as report:
            said = json.loads(report.readline().decode("ascii") or DIED)
    except OSError as why:
        said = {"error": "%s: %s" % (run_directory, why.strerror or why)}
    except (KeyError, TypeError, ValueError, AttributeError) as why:
        said = {"error": "%s/spec.json is not a run's spec: %s" % (run_directory, why)}
    with contextlib.suppress(OSError):
        os.write(1, json.dumps(said).encode("ascii") + b"\n")
    return 1 if "error" in said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else "usage: supervisor.py RUN_DIR")
