"""What attacks need: servers that keep every byte they are sent."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.lab.plugin import calm_lab, lab
from tests.security.hosts import Hosts
from tests.transport.sshd import SSHD, running

__all__ = ["calm_lab", "lab", "mail_trap"]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """An honest host and one that lies, behind a real sshd."""
    if SSHD is None:
        pytest.skip("needs sshd, which is not installed (Debian: openssh-server)")
    with running(tmp_path_factory.mktemp("sshd")) as sshd:
        yield Hosts(sshd, tmp_path_factory.mktemp("hosts"))


@dataclass
class MailTrap:
    """A mail server that offers AUTH without encryption, and keeps what clients say, connection by connection."""

    port: int = 0
    heard: list[bytes] = field(default_factory=list)


@pytest.fixture
def mail_trap() -> Iterator[MailTrap]:
    trap = MailTrap()
    server = socket.create_server(("127.0.0.1", 0))
    trap.port = server.getsockname()[1]

    def serve() -> None:
        while True:
            try:
                made, _ = server.accept()
            except OSError:
                return
            with made:
                made.settimeout(5)
                _converse(made, trap)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield trap
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join(5)


def _converse(made: socket.socket, trap: MailTrap) -> None:
    trap.heard.append(b"")
    made.sendall(b"220 trap ESMTP\r\n")
    inside = False
    try:
        for line in made.makefile("rb"):
            trap.heard[-1] += line
            if inside:
                inside = line != b".\r\n"
                answer = b"" if inside else b"250 taken\r\n"
            else:
                word = line.split()[0].upper() if line.split() else b""
                inside = word == b"DATA"
                answer = {
                    b"EHLO": b"250-trap\r\n250 AUTH PLAIN LOGIN\r\n",
                    b"DATA": b"354 go on\r\n",
                    b"AUTH": b"235 in\r\n",
                    b"QUIT": b"221 bye\r\n",
                }.get(word, b"250 ok\r\n")
            made.sendall(answer)
    except OSError:
        return
