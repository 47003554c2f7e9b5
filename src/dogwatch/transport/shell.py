"""Shell: the own `sh` of a place, for what moves files or ends processes there; of this machine or over one ssh.

A script is any text of POSIX sh. It arrives on stdin ahead of the script's own input, so that no login shell ever reads
it; its output begins after a line that nobody could know, so that what a login prints does no harm.
"""

from __future__ import annotations

import os
import select
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from dogwatch.errors import CouldNotPoll
from dogwatch.model.job import is_here
from dogwatch.programs import find_program
from dogwatch.transport.ssh_failure import SSH_FAILED, explain_failure, last_line
from dogwatch.transport.target import Target

if TYPE_CHECKING:
    from dogwatch.model.job import Place

DEADLINE = 60.0
STALL = 90.0  # ssh itself gives up a dead link in 25 s
MOST_OUTPUT = 256 << 20
CHUNK = 1 << 18
# See REMOTE in ssh.py for what one line may hold. dd takes the script and not a byte of what follows it.
BOOTSTRAP = "exec sh -c 'eval \"$(dd bs=1 count={:d} 2>/dev/null)\"' dogwatch-shell"
_PASSED = ("HOME", "USER", "LOGNAME", "PATH", "TMPDIR")


class ShellUnreachable(CouldNotPoll):
    """The place did not answer, or its answer broke off."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a script ended: its exit code, its output, and the last of what it said on stderr."""

    code: int
    out: bytes
    err: str


class Session:
    """A script that runs there. `read` is its output; `stdin` its input."""

    def __init__(self, place: str, child: subprocess.Popen[bytes], err: IO[bytes], mark: bytes, stall: float) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        self.stdin: IO[bytes] = child.stdin
        self._place, self._child, self._err, self._stall = place, child, err, stall
        self._mark = b"\n" + mark + b"\n"
        self._out = child.stdout
        self._held = bytearray()
        self._begun = False

    def read(self, most: int = CHUNK) -> bytes:
        """Some of what it prints; nothing at its end. ShellUnreachable when nothing comes for too long."""
        while not self._begun:
            chunk = self._chunk()
            if not chunk:
                raise self.unreachable()
            self._held += chunk
            at = self._held.find(self._mark)
            if at >= 0:
                del self._held[: at + len(self._mark)]
                self._begun = True
            elif len(self._held) > CHUNK:
                del self._held[: -len(self._mark)]
        if not self._held:
            self._held += self._chunk()
        taken = bytes(self._held[:most])
        del self._held[:most]
        return taken

    def chunks(self) -> Iterator[bytes]:
        while chunk := self.read():
            yield chunk

    def feed(self, given: bytes) -> None:
        """Write its whole input beside the reading of its output."""

        def write() -> None:
            with suppress(OSError, ValueError):
                self.stdin.write(given)
                self.stdin.close()

        threading.Thread(target=write, daemon=True).start()

    def finish(self, seconds: float = STALL) -> Ran:
        """How it ended; its input is closed."""
        with suppress(OSError, ValueError):
            self.stdin.close()
        try:
            code = self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            raise ShellUnreachable(f"{self._place} did not end the command in {seconds:g} s") from None
        if not self._begun or code == SSH_FAILED:
            raise self.unreachable()
        return Ran(code, b"", last_line(self._stderr()))

    def unreachable(self) -> ShellUnreachable:
        """Why there is no answer, in a sentence."""
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(1.0)
        _, why = explain_failure(self._place, self._child.poll(), self._stderr(), self._begun)
        return ShellUnreachable(f"{self._place} is unreachable: {why}")

    def _chunk(self) -> bytes:
        if not select.select([self._out], [], [], self._stall)[0]:
            raise ShellUnreachable(f"{self._place} sent nothing for {self._stall:.0f} s")
        return os.read(self._out.fileno(), CHUNK)

    def _stderr(self) -> str:
        self._err.seek(max(0, os.fstat(self._err.fileno()).st_size - 65536))
        return self._err.read().decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Shell:
    """The way to the `sh` of one place; `target` is None for this machine."""

    place: str
    target: Target | None = None

    @contextmanager
    def session(self, script: str, words: Sequence[str] = (), stall: float = STALL) -> Iterator[Session]:
        """A script with its positional words, until the block ends; then nothing of it runs on here. It may be silent
        for `stall` seconds."""
        mark = os.urandom(12).hex()
        head = f"set -- {' '.join(map(shlex.quote, words))}\nprintf '\\n%s\\n' {mark}\n"
        # In braces, so that a script which was cut short on its way does nothing.
        text = f"{{\n{head}{script}\n}}".encode("utf-8", "surrogateescape")
        with tempfile.TemporaryFile() as err:
            child = self._start(BOOTSTRAP.format(len(text)), err)
            try:
                session = Session(self.place, child, err, mark.encode(), stall)
                with suppress(BrokenPipeError):
                    session.stdin.write(text)
                    session.stdin.flush()
                yield session
            finally:
                self._end(child)

    def run(self, script: str, words: Sequence[str] = (), given: bytes = b"", deadline: float = DEADLINE) -> Ran:
        """Run a script to its end."""
        with self.session(script, words, max(STALL, deadline)) as session:
            timer = threading.Timer(deadline, self._late, (session,))
            timer.start()
            try:
                session.feed(given)
                out = bytearray()
                for chunk in session.chunks():
                    out += chunk
                    if len(out) > MOST_OUTPUT:
                        raise ShellUnreachable(f"{self.place} sent more than {MOST_OUTPUT >> 20} MiB")
                ended = session.finish()
            finally:
                timer.cancel()
        return Ran(ended.code, bytes(out), ended.err)

    def rsync(self, folder: str) -> tuple[list[str], str] | None:
        """The options by which an rsync of this machine gets there and its name for a folder; None without rsync."""
        program = find_program("rsync")
        if program is None:
            return None
        if self.target is None:
            return [program], folder
        ssh = self.target.argv()
        ssh = ssh[: ssh.index("--")]
        host = self.target.alias
        user, at, address = host.rpartition("@")
        name = f"{user}{at}[{address}]" if ":" in address else host
        return [program, "-e", " ".join(map(_rsync_word, ssh))], f"{name}:{folder}"

    def environment(self) -> dict[str, str]:
        if self.target is not None:
            return self.target.environment()
        return {name: os.environ[name] for name in _PASSED if name in os.environ} | {"LC_ALL": "C"}

    def _start(self, command: str, err: IO[bytes]) -> subprocess.Popen[bytes]:
        argv = ["/bin/sh", "-c", command] if self.target is None else self.target.argv(command)
        try:
            return subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=err,
                cwd="/",
                env=self.environment(),
                start_new_session=True,
            )
        except OSError as error:
            raise ShellUnreachable(f"{argv[0]} could not be started: {error.strerror}") from error

    @staticmethod
    def _late(session: Session) -> None:
        session._child.kill()

    @staticmethod
    def _end(child: subprocess.Popen[bytes]) -> None:
        for pipe in (child.stdin, child.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        if child.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                child.wait(0.5)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            child.wait(2.0)


def shell_of(place: Place) -> Shell:
    """The shell of a place: of this machine, or of the host that ssh reaches."""
    if is_here(place.kind):
        return Shell("this machine")
    return Shell(place.name, Target(str(place.transport["ssh"]), place.transport.get("config")))


def _rsync_word(word: str) -> str:
    """A word as rsync splits its -e: blanks separate, and a quote in quotes is doubled."""
    return word if word and not set(word) & set(" \t'\"") else "'" + word.replace("'", "''") + "'"
