"""Verify: the SHA-256 of files on both sides."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence

from dogwatch import remote
from dogwatch.actions.transfer.listing import TransferFailed
from dogwatch.transport.shell import STALL, Shell

SLOWEST = 20e6  # bytes per second of a disk that is worth waiting for
CANNOT_HASH, NO_FOLDER = 8, 9
_LINE = re.compile(r"\\?([0-9a-f]{64}) [ *]\./(.+)", re.DOTALL)


def differing(
    shell: Shell, base: str, files: Mapping[str, str], size: int, observe: Callable[[], None] = lambda: None
) -> list[str]:
    """Which files (name below `base` there → path here) do not have the same content on both sides."""
    if not files:
        return []
    with shell.session(remote.script("hash_files"), [base], STALL + size / SLOWEST) as session:
        session.feed(listed(files))
        here = {name: hash_here(path, observe) for name, path in files.items()}  # while the other side does the same
        there = _read(b"".join(session.chunks()))
        _check(shell, session.finish().code)
    return [name for name in files if here[name] is None or here[name] != there.get(name)]


def hashes_there(shell: Shell, base: str, names: Sequence[str], size: int) -> dict[str, str]:
    """The SHA-256 of those of the files that are there."""
    if not names:
        return {}
    with shell.session(remote.script("hash_files"), [base], STALL + size / SLOWEST) as session:
        session.feed(listed(names))
        there = _read(b"".join(session.chunks()))
        code = session.finish().code
    if code == NO_FOLDER:
        return {}
    _check(shell, code)
    return there


def hash_here(path: str, observe: Callable[[], None] = lambda: None) -> str | None:
    """The SHA-256 of a regular file; None of anything else."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(fd, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        total = hashlib.sha256()
        while chunk := file.read(1 << 20):
            total.update(chunk)
            observe()
    return total.hexdigest()


def listed(names: Mapping[str, str] | Sequence[str]) -> bytes:
    """Names as the scripts read them: each below the folder, so that none reads as an option."""
    return b"".join(f"./{name}".encode("utf-8", "surrogateescape") + b"\0" for name in names)


def _read(out: bytes) -> dict[str, str]:
    lines = (_LINE.fullmatch(line) for line in out.decode("utf-8", "surrogateescape").split("\0"))
    return {line[2]: line[1] for line in lines if line}


def _check(shell: Shell, code: int) -> None:
    if code == CANNOT_HASH:
        raise TransferFailed(
            f"{shell.place} has neither sha256sum nor python3 nor openssl, so that what was copied cannot be verified"
        )
    if code:
        raise TransferFailed(f"the files on {shell.place} could not be read again to verify them (exit code {code})")
