"""A real sshd on loopback with keys, port and client configuration of the test's own, and a link that can be cut."""

from __future__ import annotations

import contextlib
import os
import pwd
import select
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

from tests.support import wait_until

SSHD = shutil.which("sshd", path="/usr/sbin:/sbin:/usr/local/sbin:" + os.environ.get("PATH", ""))
USER = pwd.getpwuid(os.geteuid()).pw_name


def make_key(path: Path) -> None:
    for old in (path, path.with_name(path.name + ".pub")):
        old.unlink(missing_ok=True)
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(path)]
    subprocess.run(argv, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Sshd:
    """One sshd for the user who runs the tests. Sessions have `home` as their home directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self.home = directory / "home"
        self.home.mkdir()
        self.known_hosts = directory / "known_hosts"
        self.config = directory / "config"
        self.process: subprocess.Popen[bytes] | None = None
        for name in ("host", "client", "stranger"):
            make_key(directory / name)
        shutil.copy(directory / "client.pub", directory / "authorized_keys")
        self.trust()
        self.write_config()

    def write_config(self, *more: str, alias: str = "box", port: int | None = None, key: str = "client") -> None:
        """The client's configuration; `more` lines of it come first."""
        lines = [f"Host {alias}", *more, "HostName 127.0.0.1", f"Port {port or self.port}", f"User {USER}"]
        lines += [f"IdentityFile {self.directory / key}", "IdentitiesOnly yes", "IdentityAgent none"]
        lines += [f"UserKnownHostsFile {self.known_hosts}", "GlobalKnownHostsFile /dev/null"]
        self.config.write_text("\n  ".join(lines) + "\n")

    def trust(self, *ports: int) -> None:
        """The client knows the host key as it is now, on these ports too."""
        key = (self.directory / "host.pub").read_text()
        self.known_hosts.write_text("".join(f"[127.0.0.1]:{port} {key}" for port in (self.port, *ports)))

    def start(self, *more: str, shell: str | None = None, env: str = "") -> None:
        """`shell` runs each command as that login shell would; `env` is what sshd sets for each session."""
        lines = [f"ListenAddress 127.0.0.1:{self.port}", f"HostKey {self.directory / 'host'}", "PidFile none"]
        lines += [f"AuthorizedKeysFile {self.directory / 'authorized_keys'}", "StrictModes no", "UsePAM no"]
        lines += ["PasswordAuthentication no", "KbdInteractiveAuthentication no", "PermitRootLogin prohibit-password"]
        lines += [f"SetEnv HOME={self.home} {env}", "PrintMotd no", "UseDNS no", *more]
        if shell is not None:
            lines.append(f'ForceCommand exec {shell} -c "$SSH_ORIGINAL_COMMAND"')
        (self.directory / "sshd_config").write_text("\n".join(lines) + "\n")
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        assert SSHD is not None
        argv = [SSHD, "-D", "-e", "-f", str(self.directory / "sshd_config")]
        with (self.directory / "sshd.log").open("ab") as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(self._listens)

    def _listens(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.directory / "sshd.log").read_text()
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self) -> None:
        """SIGSTOP of the listener: the kernel takes connections, and nobody answers them."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)
        pid = self.process.pid
        wait_until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")

    def end(self) -> None:
        if self.process is not None:
            self.end_sessions()
            self.process.kill()
            self.process.wait()
            self.process = None

    def end_sessions(self) -> None:
        """SIGKILL for every process below the listener."""
        assert self.process is not None
        for pid in descendants(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def descendants(root: int) -> list[int]:
    """The pids below a process."""
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        with contextlib.suppress(OSError):
            threads = os.listdir(f"/proc/{pid}/task")
            words = " ".join(Path(f"/proc/{pid}/task/{thread}/children").read_text() for thread in threads)
            kids = [int(word) for word in words.split()]
            found += kids
            todo += kids
    return found


def name_of(pid: int) -> str:
    """The short name of a process, a dead one that nobody reaped included."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def probes() -> list[int]:
    """The pids of all probes of this machine that came over ssh, and of what they forked."""
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            words = Path("/proc", entry, "cmdline").read_bytes().split(b"\0") if entry.isdigit() else []
            if b"dogwatch-probe" in words and b"--serve" not in words:
                found.append(int(entry))
    return found


class Link:
    """A TCP relay before an sshd. It can be cut (both ends notice) or fall silent (nobody does) after so many bytes."""

    def __init__(self, port: int) -> None:
        self.to = port
        self.cut_after: int | None = None  # bytes from the server
        self.cut_after_sent: int | None = None  # bytes from the client
        self.silent_after: int | None = None  # bytes from the client
        self.carried = 0  # bytes from the server, on the last connection
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self.carried = 0
                far = socket.create_connection(("127.0.0.1", self.to))
                self._pairs.append((near, far))
                threading.Thread(target=self._carry, args=(near, far), daemon=True).start()

    def _carry(self, near: socket.socket, far: socket.socket) -> None:
        sent = 0
        with contextlib.suppress(OSError, ValueError):
            while True:
                for one in select.select([near, far], [], [])[0]:
                    most = 65536
                    if one is far and self.cut_after is not None:
                        most = min(most, self.cut_after - self.carried)
                    chunk = one.recv(most) if most > 0 else b""
                    if not chunk:
                        self._close(near, far)
                        return
                    if one is far:
                        self.carried += len(chunk)
                    else:
                        sent += len(chunk)
                    if self.cut_after_sent is not None and sent > self.cut_after_sent:
                        self._close(near, far)
                        return
                    if self.silent_after is not None and sent > self.silent_after:
                        return  # both ends stay connected to a link that carries nothing
                    (near if one is far else far).sendall(chunk)

    def _close(self, *ends: socket.socket) -> None:
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def cut(self) -> None:
        """Cut every connection now."""
        for pair in self._pairs:
            self._close(*pair)
        self._pairs.clear()

    def close(self) -> None:
        self._listener.close()
        self.cut()


@contextlib.contextmanager
def running(directory: Path) -> Iterator[Sshd]:
    """An sshd that is ended when the block is left, with all that it started."""
    one = Sshd(directory)
    try:
        yield one
    finally:
        one.end()
