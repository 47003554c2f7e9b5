"""Here: this machine, through one long-lived probe child that is killed and replaced when late or mad."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from dogwatch.aboard import PROBE
from dogwatch.clock import Clock
from dogwatch.model import Dark
from dogwatch.reach.interface import DEADLINE, Answer

REPLY_CAP = 64 << 20
SLACK = 1.0  # how long past the deadline bytes that are already there are still read
REAP_PATIENCE = 0.5


class _Void(Exception):
    """Why there is no answer, in words for `Dark.why`; `mad` when the child cannot be asked again."""

    def __init__(self, why: str, mad: bool = True) -> None:
        super().__init__(why)
        self.mad = mad


class Here:
    """The reach of this machine. A reply counts only with its sentinel; a child that failed once is never
    asked again, and nobody waits for one to die."""

    def __init__(self, place: str = "here", clock: Clock | None = None, python: str = sys.executable) -> None:
        self.place = place
        self._clock = clock or Clock()
        self._python = python
        self._child: subprocess.Popen[bytes] | None = None
        self._dying: list[subprocess.Popen[bytes]] = []

    @property
    def pid(self) -> int | None:
        """The probe child that the next request would go to, if one was started."""
        return self._child.pid if self._child else None

    def ask(self, request: Mapping[str, Any], deadline: float = DEADLINE) -> Answer | Dark:
        at, began = self._clock.now(), self._clock.mono()
        try:
            body = self._ask({**request, "nonce": os.urandom(8).hex(), "deadline": deadline}, began + deadline)
        except _Void as void:
            why = str(void)
            if void.mad:
                why += self._drop()
            return Dark(self.place, at, self._clock.mono() - began, why)
        return Answer(self.place, at, self._clock.mono() - began, body)

    def close(self) -> None:
        self._drop()
        for child in self._dying:
            with suppress(subprocess.TimeoutExpired):
                child.wait(REAP_PATIENCE / len(self._dying))
        self._reap()

    def _ask(self, request: dict[str, Any], until: float) -> dict[str, Any]:
        line = json.dumps(request).encode("ascii") + b"\n"
        reply, sentinel = self._exchange(self._living(), line, until, request["deadline"])
        if sentinel != b"DOGWATCH-END %s %d" % (request["nonce"].encode("ascii"), len(reply)):
            raise _Void("the probe's answer was not whole")
        try:
            body = json.loads(reply)
        except (ValueError, RecursionError) as error:
            raise _Void("the probe's answer was not JSON") from error
        if not isinstance(body, dict) or body.get("nonce") != request["nonce"]:
            raise _Void("the probe answered another question")
        if "error" in body:
            raise _Void(f"the probe refused the request: {body['error']}", mad=False)
        return body

    def _living(self) -> subprocess.Popen[bytes]:
        """The child to ask; one that died since the last request is replaced without a word."""
        self._reap()
        if self._child is not None and self._child.poll() is not None:
            self._drop()
        if self._child is None:
            self._child = self._start()
        return self._child

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            child = subprocess.Popen(
                [self._python, "-I", "-S", PROBE, "--serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                close_fds=True,
                start_new_session=True,
                cwd="/",
                env={"PATH": os.environ.get("PATH", os.defpath), "LANG": "C", "LC_ALL": "C"},
            )
        except (OSError, ValueError) as error:
            raise _Void(f"the probe could not be started with {self._python}: {error}") from error
        for pipe in (child.stdin, child.stdout, child.stderr):
            os.set_blocking(_fd(pipe), False)
        return child

    def _exchange(
        self, child: subprocess.Popen[bytes], line: bytes, until: float, deadline: float
    ) -> tuple[bytes, bytes]:
        """Write the request while reading the reply, up to its second newline."""
        rest, inbox, first = memoryview(line), bytearray(), -1
        stdin, stdout = _fd(child.stdin), _fd(child.stdout)
        with selectors.DefaultSelector() as waiting:
            waiting.register(stdout, selectors.EVENT_READ)
            waiting.register(stdin, selectors.EVENT_WRITE)
            while True:
                left = until - self._clock.mono()
                ready = {key.fd for key, _ in waiting.select(max(0.0, left))}
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
                            raise _Void("the probe said more than it was asked")
                        return bytes(inbox[:first]), bytes(inbox[first + 1 : second])
                    if len(inbox) > REPLY_CAP:
                        raise _Void(f"the probe's answer was larger than {REPLY_CAP >> 20} MiB")

    def _drop(self) -> str:
        """Kill the child and all it started, without waiting; returns the last words on its stderr."""
        child, self._child = self._child, None
        if child is None:
            return ""
        words = _last_words(_fd(child.stderr))
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        for pipe in (child.stdin, child.stdout, child.stderr):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._dying.append(child)
        self._reap()
        return words

    def _reap(self) -> None:
        self._dying = [child for child in self._dying if child.poll() is None]


def _fd(pipe: Any) -> int:
    return int(pipe.fileno())


def _write(fd: int, rest: memoryview) -> int:
    try:
        return os.write(fd, rest[:65536])
    except BlockingIOError:
        return 0
    except BrokenPipeError as error:
        raise _Void("the probe ended before it was asked") from error


def _read(fd: int) -> bytes:
    try:
        chunk = os.read(fd, 1 << 20)
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
