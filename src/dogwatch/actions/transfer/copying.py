"""Copying: bringing files into the partial directory, by rsync where both sides have it, else by tar."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from dogwatch import remote
from dogwatch.actions.transfer.listing import Entry, TransferFailed
from dogwatch.actions.transfer.partial import Partial, no_space
from dogwatch.text import plain
from dogwatch.transport.shell import Session, Shell, ShellUnreachable
from dogwatch.transport.ssh_failure import last_line

Observe = Callable[[], None]

NOT_SPOKEN = (2, 127)  # what answers is no rsync (a login that prints something), or the shell knows none
CUT = 12  # the stream broke off, at the beginning perhaps because of such a login too
GONE = (23, 24)  # some files could not be sent or vanished; what lacks is seen when it is verified
NO_ROOM = 11
PAUSE = 0.2
IO_TIMEOUT = 60
CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Copying:
    """One way from a folder there into a partial directory. `observe` is called every now and then."""

    shell: Shell
    base: str
    tools: frozenset[str]
    partial: Partial
    observe: Observe

    def copy(self, entries: Sequence[Entry]) -> str:
        """Bring what lacks of these files; the way that was taken, and nothing where nothing lacked."""
        lacking = [entry for entry in entries if self.partial.size(entry.name) != entry.size]
        if not lacking:
            return ""
        if "rsync" in self.tools and self._by_rsync(lacking):
            return "rsync"
        self._by_tar(lacking)
        return "tar"

    def _by_rsync(self, entries: Sequence[Entry]) -> bool:
        """Whether rsync could do it."""
        way = self.shell.rsync(self.base.rstrip("/") + "/")
        if way is None:
            return False
        start, source = way
        kept = [
            "--files-from=-",
            "--from0",
            "--append-verify",
            "--times",
            "--no-links",
            "--no-devices",
            "--no-specials",
        ]
        argv = [*start, *kept, "-s", f"--timeout={IO_TIMEOUT}", "--", source, self.partial.folder + "/"]
        code, said = self._run(argv, b"".join(_raw(entry.name) + b"\0" for entry in entries))
        if code == 0 or code in GONE:
            return True
        if code == NO_ROOM:
            raise TransferFailed(
                f"rsync cannot write into {plain(self.partial.target, 200)}: {said}; free some room and run the same"
                " command again, what has arrived is kept"
            )
        if code in NOT_SPOKEN or (code == CUT and not any(self.partial.size(entry.name) for entry in entries)):
            return False
        raise TransferFailed(
            f"the copying from {self.shell.place} was cut short: {said or f'rsync ended with {code}'};"
            " run the same command again, what has arrived is kept"
        )

    def _run(self, argv: Sequence[str], names: bytes) -> tuple[int, str]:
        with tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as listed:
            listed.write(names)
            listed.seek(0)
            child = subprocess.Popen(
                [*_DIE_WITH_PARENT, *argv],
                stdin=listed,
                stdout=subprocess.DEVNULL,
                stderr=err,
                env=self.shell.environment(),
                pass_fds=(self.partial.lock,),
                start_new_session=True,
            )
            try:
                while child.poll() is None:
                    self.observe()
                    with suppress(subprocess.TimeoutExpired):
                        child.wait(PAUSE)
            finally:
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGTERM)
                    child.wait()
            err.seek(0)
            return child.returncode, last_line(_without_rsync(err.read(1 << 16).decode("utf-8", "replace")))

    def _by_tar(self, entries: Sequence[Entry]) -> None:
        begun = [entry for entry in entries if self.partial.size(entry.name)]
        whole = [entry for entry in entries if not self.partial.size(entry.name)]
        if not {"tar", "xargs"} <= self.tools:
            begun, whole = [*begun, *whole], []
        try:
            for entry in begun:
                self._rest_of(entry)
            if whole:
                self._whole(whole)
        except OSError as error:
            raise no_space(self.partial.target, error) from error
        except ShellUnreachable as error:
            raise TransferFailed(f"{error}; run the same command again, what has arrived is kept") from error

    def _rest_of(self, entry: Entry) -> None:
        words = [self.base, str(self.partial.size(entry.name) or 0), f"./{entry.name}"]
        with self.shell.session(remote.script("send_files"), words) as session:
            with open(self.partial.make_room(entry.name), "ab") as file:
                for chunk in session.chunks():
                    file.write(chunk[: max(0, entry.size - file.tell())])
                    self.observe()
            session.finish()

    def _whole(self, entries: Sequence[Entry]) -> None:
        wanted = {f"./{entry.name}": entry for entry in entries}
        with self.shell.session(remote.script("send_files"), [self.base]) as session:
            session.feed(b"".join(_raw(name) + b"\0" for name in wanted))
            try:
                # xargs may call tar more than once: the archives follow one another.
                with tarfile.open(fileobj=_Stream(session), mode="r|", ignore_zeros=True) as archive:  # type: ignore[call-overload]
                    for member in archive:
                        entry = wanted.get(member.name)
                        body = archive.extractfile(member) if entry is not None and member.isreg() else None
                        if entry is not None and body is not None:
                            self._write(entry, body.read)
            except (tarfile.TarError, EOFError) as error:
                session.finish()
                raise TransferFailed(f"the tar of {self.shell.place} cannot be read: {error}") from error
            session.finish()

    def _write(self, entry: Entry, read: Callable[[int], bytes]) -> None:
        with open(self.partial.make_room(entry.name), "wb") as file:
            while chunk := read(CHUNK):
                file.write(chunk[: max(0, entry.size - file.tell())])
                self.observe()


class _Stream:
    """The output of a session as tarfile reads it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def read(self, size: int) -> bytes:
        parts, left = [], size
        while left > 0 and (chunk := self._session.read(left)):
            parts.append(chunk)
            left -= len(chunk)
        return b"".join(parts)


# An rsync that outlived us would write into files that somebody else has verified. (prctl 1 is PR_SET_PDEATHSIG.)
_PRCTL = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 15); os.execv(sys.argv[1], sys.argv[1:])"
_DIE_WITH_PARENT = (sys.executable, "-I", "-S", "-c", _PRCTL) if sys.platform == "linux" else ()


def _without_rsync(said: str) -> str:
    """What was said without rsync's own last line, which only repeats the code."""
    lines = [line for line in said.splitlines() if not line.startswith("rsync error:")]
    return "\n".join(lines) or said


def _raw(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def throttled(call: Observe, seconds: float) -> Observe:
    """As `call`, but at most that often."""
    last = float("-inf")

    def observe() -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= seconds:
            last = now
            call()

    return observe
