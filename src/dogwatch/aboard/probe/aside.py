"""Asides: errands that may hang or crash, each run by a child of its own while the rest of the look goes on."""

import os
import select
import signal
import time

from dogwatch.aboard.probe.command import reap
from dogwatch.aboard.probe.errands import load_errand, run_errand
from dogwatch.aboard.probe.paths import Allowance
from dogwatch.aboard.probe.wire import WRONG_SHAPE, compact, mapping, number, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ASIDE_CAP = 1 << 20


def aside_life(back: int, spec: "dict[str, Any]", seconds: int) -> None:
    """The child: one errand, one answer, and an alarm that ends it whatever it waits for."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    os.closerange(3, back)
    os.closerange(back + 1, 4096)
    try:
        import resource  # not every Python has it
    except ImportError:
        pass
    else:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a driver's crash leaves nothing behind
    try:
        text = compact(run_errand(spec, Allowance(seconds)))
    except WRONG_SHAPE + (OSError, ImportError) as problem:
        text = compact({"why": "%s: %.200s" % (type(problem).__name__, problem)})
    write_all(back, text)
    os._exit(0)


class Aside:
    """One child, what it has said so far, and how long it may live."""

    def __init__(self, spec: "dict[str, Any]") -> None:
        self.began, self.seconds = time.monotonic(), number(spec.get("seconds", 10), "seconds", 1, 600)
        self.text = b""
        load_errand(spec["program"])  # here, so that it is read once and not by every child
        self.back, inner = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                aside_life(inner, spec, self.seconds)
            finally:
                os._exit(1)
        os.close(inner)

    def answer(self, until: float) -> "bytes | None":
        """Its answer, or why there is none; None while it may still come."""
        while True:
            left = until - time.monotonic()
            if not select.select([self.back], [], [], max(0.0, left))[0]:
                late = time.monotonic() - self.began > self.seconds
                return compact({"why": "no answer in %d s" % self.seconds}) if late else None
            chunk = os.read(self.back, 65536)
            self.text += chunk
            if len(self.text) > ASIDE_CAP:
                return compact({"why": "it said too much"})
            if not chunk:
                code, _ = reap(self.pid, time.monotonic() + 0.5)
                self.pid = 0 if code is not None else self.pid
                if code == -signal.SIGALRM:
                    return compact({"why": "no answer in %d s" % self.seconds})
                ended = "signal %d" % -code if code is not None and code < 0 else "code %s" % code
                return self.text if code == 0 else compact({"why": "it ended with " + ended})


class Asides:
    """The children by key. One that outlasts a look answers a later one; one that cannot be killed forbids more."""

    def __init__(self) -> None:
        self.running: "dict[str, Aside]" = {}
        self.dying: "list[int]" = []

    def start(self, wanted: "dict[str, Any]") -> "dict[str, str]":
        """Start what is not under way; why some could not be."""
        self.dying = [pid for pid in self.dying if reap(pid, 0.0)[0] is None]
        refused = {}
        for key in wanted:
            if key in self.running:
                continue
            if self.dying:
                refused[key] = "an earlier one is still stuck in the kernel"
                continue
            try:
                self.running[key] = Aside(mapping(wanted[key], "aside"))
            except OSError as error:
                refused[key] = "could not be started: %s" % error.strerror
        return refused

    def section(self, wanted: "dict[str, Any]", refused: "dict[str, str]", began: float, until: float) -> bytes:
        """What each said; `pending` is one that may still answer when it is asked for again."""
        rows = [b'"ok":true']
        for key, spec in wanted.items():
            text: "bytes | None" = compact({"why": refused[key]}) if key in refused else None
            if text is None:
                wait = number(spec.get("wait", 10), "wait", 0, 600)
                text = self.running[key].answer(min(until, began + wait))
                if text is not None:
                    self._let_go(key)
            rows.append(compact(key) + b":" + (text or b'{"pending":true}'))
        return b"{" + b",".join(rows) + b"}"

    def _let_go(self, key: str) -> None:
        aside = self.running.pop(key)
        os.close(aside.back)
        if aside.pid:
            os.kill(aside.pid, signal.SIGKILL)
            if reap(aside.pid, time.monotonic() + 0.2)[0] is None:
                self.dying.append(aside.pid)

    def drop(self) -> None:
        for key in list(self.running):
            self._let_go(key)
