"""Here: this machine, through one long-lived probe child that is killed and replaced when late or mad."""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dogwatch.clock import Clock
from dogwatch.model import Unreachable
from dogwatch.remote import MARK, START_PROBE, probe_text
from dogwatch.transport.child import Child, KilledChildren, fd_of, start
from dogwatch.transport.interface import DEADLINE, Answer
from dogwatch.transport.log_requests import Repeats
from dogwatch.wire.answer import CheckedAnswer, Malformed, read
from dogwatch.wire.json_value import JsonObject

NO_PROC = (
    "this machine has no /proc, so its own processes and files cannot be watched; "
    "jobs on Linux hosts can: dogwatch host add NAME"
)
REPLY_CAP = 64 << 20
SLACK = 1.0  # how long past the deadline bytes that are already there are still read
_ENVIRONMENT = {"PATH": os.defpath, "LANG": "C", "LC_ALL": "C"}
# Where the driver's library lies is said by LD_LIBRARY_PATH on some machines, in containers most of all.
_PASSED = ("PATH", "SLURM_CONF", "LD_LIBRARY_PATH")


class _Void(Exception):
    """Why there is no answer, in words for `Unreachable.why`; `mad` when the child cannot be asked again."""

    def __init__(self, why: str, mad: bool = True) -> None:
        super().__init__(why)
        self.mad = mad


def has_proc() -> bool:
    """Whether this machine can be watched: macOS and some sandboxes cannot."""
    return os.path.exists("/proc/self/stat")


class Here:
    """The transport on this machine. A reply counts only with its sentinel; a child that failed once is never
    asked again, and nobody waits for one to die."""

    def __init__(self, place: str = "here", clock: Clock | None = None, python: str = sys.executable) -> None:
        self.place = place
        self._clock = clock or Clock()
        self._python = python
        self._child: Child | None = None
        self._killed = KilledChildren()
        self._repeats = Repeats()

    @property
    def pid(self) -> int | None:
        """The probe child that the next request would go to, if one was started."""
        return self._child.pid if self._child else None

    def ask(self, request: JsonObject, deadline: float = DEADLINE) -> Answer | Unreachable:
        at, began = self._clock.now(), self._clock.mono()
        try:
            answer = self._ask(self._repeats.shorten(request), deadline, began + deadline)
            if more := self._repeats.again(request, answer):
                self._repeats.add(answer, self._ask(more, deadline, began + deadline))
        except _Void as void:
            why = str(void)
            if void.mad:
                why += self._drop()
            return Unreachable(self.place, at, self._clock.mono() - began, why)
        return Answer(self.place, at, self._clock.mono() - began, answer)

    def close(self) -> None:
        self._drop()
        self._killed.close()

    def _ask(self, request: JsonObject, deadline: float, until: float) -> CheckedAnswer:
        nonce = os.urandom(8).hex()
        line = json.dumps({**request, "deadline": deadline, "nonce": nonce}).encode("ascii") + b"\n"
        reply, sentinel = self._exchange(self._living(), line, until, deadline)
        if sentinel != b"DOGWATCH-END %s %d" % (nonce.encode("ascii"), len(reply)):
            raise _Void("the probe's answer was incomplete")
        try:
            answer = read(reply)
        except Malformed as error:
            raise _Void(f"the probe's answer cannot be used: {error}") from error
        if answer.nonce != nonce:
            raise _Void("the probe answered a different request")
        if answer.error is not None:
            raise _Void(f"the probe refused the request: {answer.error}", mad=False)
        return answer

    def _living(self) -> Child:
        """The child to ask; one that died since the last request is replaced without a word."""
        self._killed.reap()
        if self._child is not None and self._child.poll() is not None:
            self._drop()
        if self._child is None:
            self._child = self._start()
        return self._child

    def _start(self) -> Child:
        if not has_proc():
            raise _Void(NO_PROC, mad=False)
        passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
        try:
            with _program() as text:
                argv = [self._python, "-I", "-S", START_PROBE, f"/dev/fd/{text}", "--serve", MARK]
                return start(argv, {**_ENVIRONMENT, **passed}, pass_fds=(text,))
        except (OSError, ValueError) as error:
            raise _Void(f"the probe could not be started with {self._python}: {error}") from error

    def _exchange(self, child: Child, line: bytes, until: float, deadline: float) -> tuple[bytes, bytes]:
        """Write the request while reading the reply, up to its second newline."""
        inbox, first = bytearray(), -1
        stdin, stdout = fd_of(child.stdin), fd_of(child.stdout)
        rest = memoryview(line)[_write(stdin, memoryview(line)) :]
        waiting = select.poll()
        waiting.register(stdout, select.POLLIN)
        if rest:
            waiting.register(stdin, select.POLLOUT)
        while True:
            left = until - self._clock.mono()
            ready = {fd for fd, _ in waiting.poll(max(0.0, 1000 * left))}
            if not ready or left < -SLACK:
                raise _Void(f"the probe did not answer in {deadline:g} s")
            if stdin in ready:
                rest = rest[_write(stdin, rest) :]
                if not rest:
                    waiting.unregister(stdin)
            if stdout in ready:
                searched = len(inbox)
                inbox += _read(stdout)
                first = inbox.find(b"\n", searched) if first < 0 else first
                second = inbox.find(b"\n", max(searched, first + 1)) if first >= 0 else -1
                if second >= 0:
                    if second + 1 < len(inbox):
                        raise _Void("the probe sent more than was asked for")
                    return bytes(inbox[:first]), bytes(inbox[first + 1 : second])
                if len(inbox) > REPLY_CAP:
                    raise _Void(f"the probe's answer was larger than {REPLY_CAP >> 20} MiB")

    def _drop(self) -> str:
        """Kill the child and all it started, without waiting; returns the last words on its stderr."""
        child, self._child = self._child, None
        self._repeats = Repeats()
        if child is None:
            return ""
        words = _last_words(fd_of(child.stderr))
        self._killed.kill(child)
        return words


@contextmanager
def _program() -> Iterator[int]:
    """The probe's text in a file without a name, which is there for as long as somebody has it open."""
    try:
        fd = os.memfd_create(MARK)
    except OSError:
        import tempfile

        fd, path = tempfile.mkstemp()
        os.unlink(path)
    try:
        os.write(fd, probe_text())
        yield fd
    finally:
        os.close(fd)


def _write(fd: int, rest: memoryview) -> int:
    try:
        return os.write(fd, rest[:65536])
    except BlockingIOError:
        return 0
    except BrokenPipeError as error:
        raise _Void("the probe ended before it was asked") from error


def _read(fd: int) -> bytes:
    try:
        chunk = os.read(fd, 65536)  # what a pipe holds; asking for more costs a fresh mapping each time
    except BlockingIOError:
        return b""
    if not chunk:
        raise _Void("the probe ended before it had answered")
    return chunk


def _last_words(fd: int) -> str:
    try:
        lines = os.read(fd, 65536).decode("utf-8", "replace").split("\n")
    except OSError:
        return ""
    words = [line.strip() for line in lines if line.strip()]
    return f" ({''.join(c for c in words[-1] if c.isprintable())[:200]})" if words else ""
