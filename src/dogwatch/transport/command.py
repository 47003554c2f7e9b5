"""Run a command of the owner's to its end, with a deadline that also ends all it started."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress


class Late(Exception):
    """It did not end in time, and was ended."""


class NotStarted(Exception):
    """It could not be started: why."""


def run(argv: Sequence[str], given: bytes, env: Mapping[str, str], deadline: float) -> tuple[int, bytes]:
    """(exit code, the end of what it said). Its whole session is ended when it is late."""
    try:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd="/",
            env=env,
        )
    except (OSError, ValueError) as error:
        raise NotStarted(getattr(error, "strerror", None) or str(error)) from None
    try:
        said, _ = child.communicate(given, deadline)
    except subprocess.TimeoutExpired:
        raise Late from None
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            child.wait(1.0)
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
    return child.returncode, said[-4096:]
