"""Extra probes: programs that ride with the one request that needs them, each run by a child, since it may hang or
crash: beside the poll where it says how long to `wait`, else when all else in it is done."""

import os
import select
import signal
import time
import zlib
from collections.abc import Callable
from typing import Any

from dogwatch.remote.probe.command import reap
from dogwatch.remote.probe.file_reader import keep_only
from dogwatch.remote.probe.wire import WRONG_SHAPE, Fields, Refused, compact, write_all

EXTRA_PROBE_CAP = 16 << 20
KEPT: "dict[str, Callable[[Any], Any]]" = {}


def load_extra_probe(program: str) -> "Callable[[Any], Any]":
    """The function of a program, to which our names are known. It comes from whoever sent the probe itself, never from
    a file; a few are kept, since most extra probes are run again."""
    if program not in KEPT:
        import binascii

        if len(KEPT) > 3:
            KEPT.clear()
        names = dict(globals(), __name__="extra_probe")
        try:
            text = zlib.decompress(binascii.a2b_base64(program))
        except zlib.error as error:
            raise Refused("program: %s" % error)
        exec(text, names)  # noqa: S102
        KEPT[program] = names["extra_probe"]
    return KEPT[program]


def run_extra_probe(back: int, spec: Fields, seconds: int) -> None:
    """The child: one extra probe, one answer, and an alarm that ends it whatever it waits for."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    keep_only(back)
    try:
        import resource  # not every Python has it
    except ImportError:
        pass
    else:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a driver's crash leaves nothing behind
    try:
        text = compact(load_extra_probe(spec.text("program"))(spec.mapping("call")))
    except WRONG_SHAPE + (OSError, ImportError) as problem:
        text = compact({"why": "%s: %.200s" % (type(problem).__name__, problem)})
    write_all(back, text)
    os._exit(0)


class ExtraProbe:
    """One child, what it has said so far, and how long it may live."""

    def __init__(self, spec: Fields, left: float) -> None:
        self.began, self.text = time.monotonic(), bytearray()
        self.seconds = spec.number("seconds", 1, 3600, max(1, int(left) + 1))
        load_extra_probe(spec.text("program"))  # here, so that it is read once and not by every child
        self.back, inner = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                run_extra_probe(inner, spec, self.seconds)
            finally:
                os._exit(1)
        os.close(inner)

    def answer(self, until: float) -> "bytes | None":
        """Its answer, or why there is none; None while it may still come."""
        late = compact({"why": "no answer in %d s" % self.seconds})
        over = self.began + self.seconds + 0.5  # its alarm has ended it by then, unless the kernel holds it
        while True:
            left = min(until, over) - time.monotonic()
            if not select.select([self.back], [], [], max(0.0, left))[0]:
                return late if time.monotonic() - self.began > self.seconds else None
            chunk = os.read(self.back, 65536)
            self.text += chunk
            if len(self.text) > EXTRA_PROBE_CAP:
                return compact({"why": "it printed too much"})
            if not chunk:
                code, _ = reap(self.pid, time.monotonic() + 0.5)
                self.pid = 0 if code is not None else self.pid
                if code == -signal.SIGALRM:
                    return late
                ended = "signal %d" % -code if code is not None and code < 0 else "code %s" % code
                return bytes(self.text) if code == 0 else compact({"why": "it ended with " + ended})


class ExtraProbes:
    """The children by key. A poll waits for one to the end, or for as long as it says: then a later poll may get the
    answer. While one cannot be killed, there is no other of its key."""

    def __init__(self) -> None:
        self.running: "dict[str, ExtraProbe]" = {}
        self.dying: "dict[str, int]" = {}
        self.refused: "dict[str, bytes]" = {}

    def start(self, wanted: "dict[str, Fields]", until: float, beside: bool) -> None:
        """Start what is not under way: those that run beside the poll, or the others."""
        self.dying = {key: pid for key, pid in self.dying.items() if reap(pid, 0.0)[0] is None}
        for key, spec in wanted.items():
            spec.number("wait", 0, 3600, 0)
            if key in self.running or ("wait" in spec) is not beside:
                continue
            try:
                if key in self.dying:
                    raise OSError(0, "an earlier one is still stuck in the kernel")
                self.running[key] = ExtraProbe(spec, until - time.monotonic())
            except OSError as error:
                self.refused[key] = compact({"why": "could not be started: %s" % error.strerror})

    def section(self, wanted: "dict[str, Fields]", began: float, until: float) -> bytes:
        """What each said, or `why` it did not; `pending` is one that may still answer when it is asked for again."""
        rows = [b'"ok":true']
        for key, spec in wanted.items():
            text = self.refused.pop(key, None)
            if text is None:
                text = self.running[key].answer(min(until, began + spec.number("wait", 0, 3600, 3600)))
                if text is None and "wait" not in spec:
                    text = compact({"why": "no answer before the poll was over"})
                if text is not None:
                    self._let_go(key)
            rows.append(compact(key) + b":" + (text or b'{"pending":true}'))
        return b"{" + b",".join(rows) + b"}"

    def _let_go(self, key: str) -> None:
        extra_probe = self.running.pop(key)
        os.close(extra_probe.back)
        if extra_probe.pid:
            os.kill(extra_probe.pid, signal.SIGKILL)
            if reap(extra_probe.pid, time.monotonic() + 0.2)[0] is None:
                self.dying[key] = extra_probe.pid

    def drop(self) -> None:
        for key in list(self.running):
            self._let_go(key)
