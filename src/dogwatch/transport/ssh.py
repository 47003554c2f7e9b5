"""Ssh: another machine, through one ssh that carries the probe there and its answer back, and then is gone."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from contextlib import suppress

from dogwatch.clock import Clock
from dogwatch.model import Unreachable
from dogwatch.remote import MARK, probe_once
from dogwatch.transport import without_python
from dogwatch.transport.child import Child, KilledChildren, fd_of, start
from dogwatch.transport.interface import Answer
from dogwatch.transport.ssh_failure import GARBLED, LATE, NO_PYTHON, REFUSED, explain_failure, last_line
from dogwatch.transport.target import SSH, Target
from dogwatch.wire.answer import CheckedAnswer, Malformed, read
from dogwatch.wire.json_value import JsonObject

DEADLINE = 90.0  # a queue that hangs takes 30 s, the accounting 40 s, and both are worth waiting for
OUTPUT_CAP = 100_000_000
STDERR_TAIL = 65536
ON_THE_WAY = 8.0  # what connecting and transfer may take of a deadline
REMOTE_MARGIN = 5  # by how much the other side's own deadline is later than ours
EXIT_WAIT = 0.25  # how long ssh may take to end by itself once the answer is here
ASK_AGAIN = 3600.0  # after so long a host without Python may have one
CHUNK = 65536
LONGEST_COUNT = 12  # digits of the length in an end line
# One line for every login shell (bash, csh, fish, ash): no $, no !, no backslash, no newline. The alarm is armed
# before the program arrives, so that a link cut meanwhile leaves nobody waiting for the rest of it.
REMOTE = "exec python3 -I -S -c 'import signal,sys;signal.alarm({:d});exec(sys.stdin.buffer.read())' " + MARK


class _Unreachable(Exception):
    """Why there is no answer: the kind and the sentence of an `Unreachable`."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


class Ssh:
    """The transport to one host. Each request is a connection of its own, never multiplexed; an answer counts only with
    its sentinel, wherever it stands in what the host's login prints, and nothing of it runs on here or there."""

    def __init__(
        self, place: str, alias: str, config: str | None = None, clock: Clock | None = None, ssh: str = SSH
    ) -> None:
        self.place = place
        self.target = Target(alias, config, ssh)
        self._clock = clock or Clock()
        self._killed = KilledChildren()
        self._child: Child | None = None
        self._no_python_until = float("-inf")
        self._connections = 0

    def ask(self, request: JsonObject, deadline: float = DEADLINE) -> Answer | Unreachable:
        at, began = self._clock.now(), self._clock.mono()
        self._connections = 0
        try:
            answer = self._ask_python(request, deadline) if began >= self._no_python_until else None
            if answer is None:  # a host without Python is asked in sh, and for Python again now and then
                self._no_python_until = max(self._no_python_until, began + ASK_AGAIN)
                answer = self._ask_sh(request, round(began + deadline - self._clock.mono(), 1))
        except _Unreachable as unreachable:
            return Unreachable(self.place, at, self._clock.mono() - began, str(unreachable), unreachable.kind)
        return Answer(self.place, at, self._clock.mono() - began, answer, self._connections)

    def _ask_python(self, request: JsonObject, deadline: float) -> CheckedAnswer | None:
        """The probe's answer; None when there is no Python to run it."""
        nonce, budget = os.urandom(16).hex(), max(deadline / 2, deadline - ON_THE_WAY)
        line = json.dumps({**request, "nonce": nonce, "deadline": budget}).encode("ascii")
        try:
            reply = self._converse(REMOTE, probe_once(line, budget + REMOTE_MARGIN / 2), nonce, deadline)
        except _Unreachable as unreachable:
            if str(unreachable) == NO_PYTHON:
                return None
            raise
        return self._opened(reply, nonce)

    def _ask_sh(self, request: JsonObject, deadline: float) -> CheckedAnswer:
        nonce, budget = os.urandom(16).hex(), max(deadline / 2, deadline - ON_THE_WAY)
        try:
            script = without_python.program(request, nonce, budget)
            reply = self._converse(without_python.REMOTE, script, nonce, deadline)
            return without_python.read(reply, request, nonce)
        except without_python.Unusable as error:
            raise _Unreachable(GARBLED, f"{self.place} has no python3, and in sh: {error}") from error

    def close(self) -> None:
        """Also from another thread than the one that asks: its ssh is ended, and it returns an `Unreachable`."""
        child = self._child
        if child is not None and child.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
        self._killed.close()

    def _converse(self, remote: str, program: bytes, nonce: str, deadline: float) -> bytes:
        """Start `remote` there, give it its program, and bring back what it answers before the sentinel."""
        until, mark = self._clock.mono() + deadline, nonce.encode("ascii")
        self._killed.reap()
        try:
            child = start(self.target.argv(remote.format(int(deadline) + REMOTE_MARGIN)), self.target.environment())
        except (OSError, ValueError) as error:
            raise _Unreachable(REFUSED, f"{self.target.ssh} could not be started: {error}") from error
        self._child = child
        self._connections += 1
        try:
            exchange = Exchange(child, program, mark)
            while exchange.answer is None and not exchange.over:
                left = until - self._clock.mono()
                if left <= 0 or not exchange.go_on(left):
                    words = last_line(exchange.stderr_text())
                    raise _Unreachable(
                        LATE, f"{self.place} did not answer in {deadline:g} s" + (f" ({words})" if words else "")
                    )
            if exchange.answer is not None:
                self._wait_for_exit(child, exchange, min(until, self._clock.mono() + EXIT_WAIT))
                return exchange.answer
            with suppress(subprocess.TimeoutExpired):  # its pipes are closed: it is about to end
                child.wait(min(1.0, max(0.0, until - self._clock.mono())))
            exchange.read_stderr()
            raise _Unreachable(
                *explain_failure(self.place, child.poll(), exchange.stderr_text(), mark in exchange.inbox)
            )
        finally:
            self._child = None
            self._killed.kill(child)
            self._killed.close()

    def _wait_for_exit(self, child: Child, exchange: Exchange, until: float) -> None:
        """Let ssh end by itself. It closes its pipes when it does, and that is noticed sooner than its end is."""
        while not exchange.over and (left := until - self._clock.mono()) > 0:
            exchange.go_on(left)
        with suppress(subprocess.TimeoutExpired):
            child.wait(max(0.0, until - self._clock.mono()))

    def _opened(self, reply: bytes, nonce: str) -> CheckedAnswer:
        try:
            answer = read(reply)
        except Malformed as error:
            raise _Unreachable(GARBLED, f"the answer of {self.place} cannot be used: {error}") from error
        if answer.nonce != nonce:
            raise _Unreachable(GARBLED, f"{self.place} answered a different request")
        if answer.error is not None:
            raise _Unreachable(REFUSED, f"the probe on {self.place} refused the request: {answer.error}")
        return answer


class Exchange:
    """One exchange over the pipes of an ssh: the program goes in while noise and answer come out."""

    def __init__(self, child: Child, program: bytes, nonce: bytes) -> None:
        self.inbox = bytearray()
        self.answer: bytes | None = None
        self.over = False
        self._child = child
        self._rest = memoryview(program)
        self._sentinel = b"\nDOGWATCH-END %s " % nonce
        self._searched = 0
        self._stderr = bytearray()
        self._in, self._out, self._err = (fd_of(pipe) for pipe in (child.stdin, child.stdout, child.stderr))
        self._waiting = select.poll()
        self._waiting.register(self._in, select.POLLOUT)
        self._waiting.register(self._out, select.POLLIN)
        self._waiting.register(self._err, select.POLLIN)

    def go_on(self, seconds: float) -> bool:
        """Wait for whatever can be done next and do it; False when nothing could be for so long."""
        ready = {fd for fd, _ in self._waiting.poll(1000 * seconds)}
        if self._in in ready:
            self._write()
        if self._err in ready:
            self.read_stderr()
        if self._out in ready:
            self._read()
        return bool(ready)

    def stderr_text(self) -> str:
        return self._stderr.decode("utf-8", "replace")

    def read_stderr(self) -> None:
        """What there is on stderr; only its end is kept."""
        with suppress(BlockingIOError):
            chunk = os.read(self._err, CHUNK)
            self._stderr += chunk
            del self._stderr[:-STDERR_TAIL]
            if not chunk:
                with suppress(KeyError):
                    self._waiting.unregister(self._err)

    def _write(self) -> None:
        try:
            self._rest = self._rest[os.write(self._in, self._rest[:CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # ssh has ended; its stderr says why
            self._rest = self._rest[:0]
        if not self._rest and self._child.stdin is not None:
            self._waiting.unregister(self._in)
            self._child.stdin.close()

    def _read(self) -> None:
        with suppress(BlockingIOError):
            chunk = os.read(self._out, CHUNK)
            self.over = not chunk
            if self.answer is None:
                self.inbox += chunk
                self._find()
        if self.answer is None and len(self.inbox) > OUTPUT_CAP:
            raise _Unreachable(GARBLED, f"it sent more than {OUTPUT_CAP // 1_000_000} MB and no end")

    def _find(self) -> None:
        """The answer stands right before its sentinel, which says how long it is; the rest is the login's noise."""
        at = self.inbox.find(self._sentinel, self._searched)
        self._searched = max(0, len(self.inbox) - len(self._sentinel)) if at < 0 else at
        if at < 0:
            return
        count = at + len(self._sentinel)
        size, newline, _ = self.inbox[count : count + LONGEST_COUNT + 2].partition(b"\n")
        if not newline and len(size) < LONGEST_COUNT + 2:
            return  # the rest of it is on its way
        size = size.rstrip(b"\r")
        if not newline or not size.isdigit() or int(size) > at:
            raise _Unreachable(GARBLED, "the answer is shorter than it says")
        self.answer = bytes(memoryview(self.inbox)[at - int(size) : at])
        self.inbox = bytearray()
