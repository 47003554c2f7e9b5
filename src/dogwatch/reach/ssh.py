"""Ssh: another machine, through one ssh that carries the probe there and its answer back, and then is gone."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from dogwatch.aboard import MARK, probe_once
from dogwatch.clock import Clock
from dogwatch.model import Dark
from dogwatch.reach import without_python
from dogwatch.reach.child import Child, Graves, fd_of, start
from dogwatch.reach.excuse import GARBLED, LATE, NO_PYTHON, REFUSED, excuse, last_words
from dogwatch.reach.interface import Answer
from dogwatch.reach.target import SSH, Target
from dogwatch.wire.answer import Malformed, read

DEADLINE = 90.0  # a queue that hangs takes 30 s, the accounting 40 s, and both are worth waiting for
OUTPUT_CAP = 100_000_000
STDERR_TAIL = 65536
ON_THE_WAY = 8.0  # what connecting and transfer may take of a deadline
AFTERLIFE = 5  # by how much the other side's own deadline is later than ours
COURTESY = 0.25  # how long ssh may take to end by itself once the answer is here
ASK_AGAIN = 3600.0  # after so long a host without Python may have one
CHUNK = 65536
# One line for every login shell (bash, csh, fish, ash): no $, no !, no backslash, no newline. The alarm is armed
# before the program arrives, so that a link cut meanwhile leaves nobody waiting for the rest of it.
REMOTE = "exec python3 -I -S -c 'import signal,sys;signal.alarm({:d});exec(sys.stdin.buffer.read())' " + MARK


class _Dark(Exception):
    """Why there is no answer: the kind and the sentence of a `Dark`."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


class Ssh:
    """The reach of one host. Each request is a connection of its own, never multiplexed; an answer counts only with
    its sentinel, wherever it stands in what the host's login prints, and nothing of it runs on here or there."""

    def __init__(
        self, place: str, alias: str, config: str | None = None, clock: Clock | None = None, ssh: str = SSH
    ) -> None:
        self.place = place
        self.target = Target(alias, config, ssh)
        self._clock = clock or Clock()
        self._graves = Graves()
        self._child: Child | None = None
        self._no_python_until = float("-inf")

    def ask(self, request: Mapping[str, Any], deadline: float = DEADLINE) -> Answer | Dark:
        at, began = self._clock.now(), self._clock.mono()
        try:
            body = self._ask_python(request, deadline) if began >= self._no_python_until else None
            if body is None:  # a host without Python is asked in sh, and for Python again now and then
                self._no_python_until = max(self._no_python_until, began + ASK_AGAIN)
                body = self._ask_sh(request, round(began + deadline - self._clock.mono(), 1))
        except _Dark as dark:
            return Dark(self.place, at, self._clock.mono() - began, str(dark), dark.kind)
        return Answer(self.place, at, self._clock.mono() - began, body)

    def _ask_python(self, request: Mapping[str, Any], deadline: float) -> dict[str, Any] | None:
        """The probe's answer; None when there is no Python to run it."""
        nonce, budget = os.urandom(16).hex(), max(deadline / 2, deadline - ON_THE_WAY)
        line = json.dumps({**request, "nonce": nonce, "deadline": budget}).encode("ascii")
        try:
            reply = self._converse(REMOTE, probe_once(line, budget + AFTERLIFE / 2), nonce, deadline)
        except _Dark as dark:
            if str(dark) == NO_PYTHON:
                return None
            raise
        return self._opened(reply, nonce)

    def _ask_sh(self, request: Mapping[str, Any], deadline: float) -> dict[str, Any]:
        nonce, budget = os.urandom(16).hex(), max(deadline / 2, deadline - ON_THE_WAY)
        try:
            script = without_python.program(request, nonce, budget)
            reply = self._converse(without_python.REMOTE, script, nonce, deadline)
            return without_python.body(reply, request, nonce)
        except without_python.Unusable as error:
            raise _Dark(GARBLED, f"{self.place} has no python3, and in sh: {error}") from error

    def close(self) -> None:
        """Also from another thread than the one that asks: its ssh is ended, and it comes back with a Dark."""
        child = self._child
        if child is not None and child.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
        self._graves.close()

    def _converse(self, remote: str, program: bytes, nonce: str, deadline: float) -> bytes:
        """Start `remote` there, give it its program, and bring back what it answers before the sentinel."""
        until, mark = self._clock.mono() + deadline, nonce.encode("ascii")
        self._graves.reap()
        try:
            child = start(self.target.argv(remote.format(int(deadline) + AFTERLIFE)), self.target.environment())
        except (OSError, ValueError) as error:
            raise _Dark(REFUSED, f"{self.target.ssh} could not be started: {error}") from error
        self._child = child
        try:
            talk = Talk(child, program, mark)
            while talk.answer is None and not talk.over:
                left = until - self._clock.mono()
                if left <= 0 or not talk.go_on(left):
                    words = last_words(talk.said())
                    raise _Dark(
                        LATE, f"{self.place} did not answer in {deadline:g} s" + (f" ({words})" if words else "")
                    )
            if talk.answer is not None:
                self._see_off(child, talk, min(until, self._clock.mono() + COURTESY))
                return talk.answer
            with suppress(subprocess.TimeoutExpired):  # its pipes are closed: it is about to end
                child.wait(min(1.0, max(0.0, until - self._clock.mono())))
            talk.listen()
            raise _Dark(*excuse(self.place, child.poll(), talk.said(), mark in talk.inbox))
        finally:
            self._child = None
            self._graves.kill(child)
            self._graves.close()

    def _see_off(self, child: Child, talk: Talk, until: float) -> None:
        """Let ssh end by itself. It closes its pipes when it does, and that is noticed sooner than its end is."""
        while not talk.over and (left := until - self._clock.mono()) > 0:
            talk.go_on(left)
        with suppress(subprocess.TimeoutExpired):
            child.wait(max(0.0, until - self._clock.mono()))

    def _opened(self, reply: bytes, nonce: str) -> dict[str, Any]:
        try:
            body = read(reply)
        except Malformed as error:
            raise _Dark(GARBLED, f"the answer of {self.place} cannot be used: {error}") from error
        if body.get("nonce") != nonce:
            raise _Dark(GARBLED, f"{self.place} answered another question")
        if "error" in body:
            raise _Dark(REFUSED, f"the probe on {self.place} refused the request: {body['error']}")
        return body


class Talk:
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
            self.listen()
        if self._out in ready:
            self._read()
        return bool(ready)

    def said(self) -> str:
        return self._stderr.decode("utf-8", "replace")

    def listen(self) -> None:
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
        except BrokenPipeError:  # ssh has given up; its last words say why
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
            raise _Dark(GARBLED, f"it sent more than {OUTPUT_CAP // 1_000_000} MB and no end")

    def _find(self) -> None:
        """The answer stands right before its sentinel, which says how long it is; the rest is the login's noise."""
        at = self.inbox.find(self._sentinel, self._searched)
        self._searched = max(0, len(self.inbox) - len(self._sentinel)) if at < 0 else at
        end = self.inbox.find(b"\n", at + 1) if at >= 0 else -1
        if end < 0:
            return
        size = bytes(self.inbox[at + len(self._sentinel) : end]).strip(b"\r")
        if not size.isdigit() or int(size) > at:
            raise _Dark(GARBLED, "the answer is shorter than it says")
        self.answer = bytes(self.inbox[at - int(size) : at])
