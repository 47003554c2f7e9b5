"""Commands of the host, run with arguments that are never a shell's: a group, a deadline and a cap for each."""

import os
import select
import signal
import time
from typing import Any, NoReturn

from dogwatch.remote.shapes import Ran

ERR_TAIL = 2048
RUNNING: "set[int]" = set()  # the leaders of groups that are not ours and must not outlive us


def run_command(
    argv: "list[str]", environment: "dict[bytes, bytes]", search: "list[str]", until: float, cap: int
) -> "Ran":
    """RUN: what a command said and how it ended. `why` is set when there is no telling: late, not found, too much."""
    began = time.monotonic()
    ran: "Ran" = {"rc": None, "out": "", "err": "", "seconds": 0.0, "why": "late"}
    if began >= until:
        return ran
    pipes = [os.pipe() for _ in range(3)]
    pid = os.fork()
    if pid == 0:
        become(argv, environment, search, [inner for _, inner in pipes])
    RUNNING.add(pid)
    for _, inner in pipes:
        os.close(inner)
    try:
        (out, err, trouble), why = collect([outer for outer, _ in pipes], until, cap)
        if not why:
            ran["rc"], why = reap(pid, until)
    finally:
        if ran["rc"] is None:
            end_group(pid)
        RUNNING.discard(pid)
        for outer, _ in pipes:
            os.close(outer)
    if trouble:
        ran["rc"], why = None, trouble.decode("utf-8", "replace")
    ran["why"], ran["seconds"] = why or None, round(time.monotonic() - began, 6)
    ran["out"] = "" if why else out.decode("utf-8", "replace")
    ran["err"] = err[-ERR_TAIL:].decode("utf-8", "replace")
    return ran


def become(
    argv: "list[str]", environment: "dict[bytes, bytes]", search: "list[str]", inward: "list[int]"
) -> "NoReturn":
    """The child: become the first program of that name, or say why not. A path that hangs hangs here."""
    why = "not found"
    try:
        os.setsid()
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        out, err, status = inward
        for source, fd in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (err, 2)):
            os.dup2(source, fd)
        # As bytes, because under LC_ALL=C Python 3.6 would not take an accent in a str.
        words = [word.encode("utf-8", "surrogateescape") for word in argv]
        for directory in search:
            try:
                if os.stat(directory).st_mode & 0o002:  # anybody may have put it there
                    continue
                os.execve(directory.encode("utf-8", "surrogateescape") + b"/" + words[0], words, environment)
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                continue
            except (OSError, ValueError) as error:
                why = str(error)
                break
        os.write(status, why.encode("utf-8", "replace")[:200])
    finally:
        os._exit(127)


def collect(fds: "list[int]", until: float, cap: int) -> "tuple[list[bytearray], str]":
    """What came out of each pipe until all are closed, and why that is not all; whoever asked may hang up meanwhile."""
    texts = {fd: bytearray() for fd in fds}
    waiting, open_still = select.poll(), set(fds)
    for fd in fds:
        waiting.register(fd, select.POLLIN)
    waiting.register(1, 0)
    while open_still:
        left = until - time.monotonic()
        ready = waiting.poll(max(0, int(left * 1000) + 1)) if left > 0 else []
        if not ready:
            return [texts[fd] for fd in fds], "late"
        for fd, _event in ready:
            if fd == 1:
                raise BrokenPipeError("the reader closed the connection")
            chunk = os.read(fd, 1 << 18)
            texts[fd] += chunk
            if not chunk:
                waiting.unregister(fd)
                open_still.discard(fd)
        del texts[fds[1]][: -2 * ERR_TAIL]
        if len(texts[fds[0]]) > cap:
            return [bytearray() for _ in fds], "too much"
    return [texts[fd] for fd in fds], ""


def reap(pid: int, until: float) -> "tuple[int | None, str]":
    """(exit code or minus the signal, "") of a child that has closed its pipes, or (None, "late")."""
    pause = 0.0005
    while True:
        gone, status = os.waitpid(pid, os.WNOHANG)
        if gone:
            return (os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)), ""
        if time.monotonic() > until:
            return None, "late"
        time.sleep(pause)
        pause = min(0.05, pause * 2)


def end_group(pid: int) -> None:
    """Kill a command and all it started; not waited for long, because what hangs in the kernel dies later."""
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except OSError:
            continue
    try:
        reap(pid, time.monotonic() + 0.5)
    except ChildProcessError:
        pass


def trusted_program(name: str, folders: "list[str]") -> "str | None":
    """Where a program lies that only root or this user can change; PATH may hold folders of others."""
    for folder in folders:
        path = os.path.join(folder, name)
        if folder.startswith("/") and os.access(path, os.X_OK) and not any(map(others_write, (path, folder))):
            return path
    return None


def others_write(path: str) -> bool:
    try:
        row = os.stat(path)
    except OSError:
        return True
    return row.st_uid not in (0, os.geteuid()) or bool(row.st_mode & 0o022)


def own_group_only(deadline: float) -> None:
    """From now on this process has `deadline` seconds to live, gives way to others, and takes its group with it."""

    def give_up(*_: "Any") -> None:
        for pid in list(RUNNING):
            end_group(pid)
        os.killpg(0, signal.SIGKILL)

    try:
        os.setsid()  # fails where we lead already, as under a shell that became us
    except OSError:
        pass
    os.nice(5)
    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, max(0.1, deadline))


def login_name() -> str:
    """Who we are here, without asking a directory service that may not answer when the session says it."""
    for name in ("USER", "LOGNAME"):
        if os.environ.get(name):
            return os.environ[name]
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
