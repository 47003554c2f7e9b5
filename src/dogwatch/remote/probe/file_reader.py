"""The file reader: a forked child that opens watched paths, so that a hung file system costs only what is on it."""

import json
import os
import select
import signal
import time
from typing import Any

from dogwatch.remote.probe.files import UNITS
from dogwatch.remote.probe.inotify import INOTIFY
from dogwatch.remote.probe.paths import BYTES_PER_REQUEST, Allowance
from dogwatch.remote.probe.wire import WRONG_SHAPE, Fields, Refused, compact, write_all

STUCK_MOST = 3
# Answers of a few bytes come one by one: to be woken by each costs both sides more than to look at most files does.
SMALL, GATHER = 4096, 0.002


def read_exactly(fd: int, count: int) -> bytes:
    text = b""
    while len(text) < count:
        chunk = os.read(fd, count - len(text))
        if not chunk:
            os._exit(0)
        text += chunk
    return text


def keep_only(*kept: int) -> None:
    """Close all other descriptors; the first three lead nowhere."""
    nothing, low = os.open(os.devnull, os.O_RDWR), 3
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    for fd in sorted(kept) + [4096]:
        os.closerange(low, fd)
        low = fd + 1


def serve_units(inward: int, outward: int) -> None:
    """The child: one frame of units in, one frame per unit out as each is done, until the pipe closes."""
    keep_only(inward, outward)
    while True:
        order = json.loads(read_exactly(inward, int.from_bytes(read_exactly(inward, 4), "big")).decode("ascii"))
        allowance = Allowance(order["seconds"], order["bytes"])
        INOTIFY.hear()
        for at, kind, spec in order["units"]:
            try:
                text = compact(UNITS[kind](Fields(spec, kind) if isinstance(spec, dict) else spec, allowance))
            except WRONG_SHAPE as problem:
                text = b"!" + ("%s: %s" % (kind, problem)).encode("ascii", "backslashreplace")
            write_all(outward, len(text).to_bytes(4, "big") + at.to_bytes(4, "big") + text)


class FileReader:
    """The file reader as its parent sees it: asked with a deadline, killed and replaced when late."""

    def __init__(self) -> None:
        self.pid = 0
        self.to = self.back = -1
        self.stuck: "list[int]" = []
        self.suspects: "set[tuple[str, str]]" = set()
        self.rotation = 0

    def ask(
        self, units: "list[tuple[str, str, Any]]", until: float, most: int = BYTES_PER_REQUEST
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
        self.rotation += 1
        order = [(at + self.rotation) % len(units) for at in range(len(units))]
        order.sort(key=lambda at: units[at][:2] in self.suspects)
        listed = [[at, units[at][0], units[at][2]] for at in order]
        frame = compact({"seconds": until - began, "bytes": most, "units": listed})
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
                chunk = os.read(self.back, 65536) if ready else None
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
            if chunk and len(chunk) < SMALL and len(got) < count and not rest:
                time.sleep(GATHER)
        return ""

    def _fork(self) -> None:
        inward, self.to = os.pipe()
        self.back, outward = os.pipe()
        os.set_blocking(self.to, False)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                serve_units(inward, outward)
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
