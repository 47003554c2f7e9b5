"""Child processes: started, talked to without blocking, and ended with all that they started."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

REAP_TIMEOUT = 0.5

Child = subprocess.Popen[bytes]


def start(argv: Sequence[str], env: Mapping[str, str], pass_fds: Sequence[int] = (), cwd: str = "/") -> Child:
    """A child in a session of its own, with three pipes that never block us."""
    child = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        pass_fds=pass_fds,
        start_new_session=True,
        cwd=cwd,
        env=env,
    )
    for pipe in (child.stdin, child.stdout, child.stderr):
        os.set_blocking(fd_of(pipe), False)
    return child


def open_pipe() -> tuple[int, int]:
    """The ends of a pipe that never block and that no child inherits."""
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    return ends


def fd_of(pipe: Any) -> int:
    return int(pipe.fileno())


class KilledChildren:
    """The children that were killed. Nobody waits for them: what hangs in the kernel is reaped when it has ended."""

    def __init__(self) -> None:
        self._dying: list[Child] = []

    def kill(self, child: Child) -> None:
        """The child and its whole group, and our ends of its pipes."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        for pipe in (child.stdin, child.stdout, child.stderr):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._dying.append(child)
        self.reap()

    def reap(self) -> None:
        self._dying = [child for child in self._dying if child.poll() is None]

    def close(self) -> None:
        """Give the killed children a moment to end."""
        for child in self._dying:
            with suppress(subprocess.TimeoutExpired):
                child.wait(REAP_TIMEOUT / len(self._dying))
        self.reap()
