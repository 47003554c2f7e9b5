"""Alert channels are reached and told nothing."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from tests.preflight.conftest import Preflight, Told


@pytest.fixture
def listener():
    """A server that greets, if told to, and keeps whatever is said to it."""
    servers, heard = [], []

    def start(greeting: bytes = b"") -> tuple[int, list[bytes]]:
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)

        def serve() -> None:
            try:
                made, _ = server.accept()
                made.settimeout(5)
                made.sendall(greeting)
                heard.append(made.recv(1000))
                made.close()
            except OSError:
                return

        threading.Thread(target=serve, daemon=True).start()
        return server.getsockname()[1], heard

    yield start
    for server in servers:
        server.close()


def job(tmp_path: Path, alerts: str) -> Path:
    file = tmp_path / "job.yaml"
    file.write_text(f"job: {{name: train}}\nalerts:\n{alerts}\npreflight: {{command: 'true'}}\n")
    return file


def test_a_webhook_is_connected_to_and_no_word_is_sent(preflight: Preflight, dogwatch, listener) -> None:
    """The URL stays a secret, and so does the path in it."""
    port, heard = listener()
    added = dogwatch("alerts", "add", "--name", "team", "--slack", f"http://127.0.0.1:{port}/T0/hidden")
    assert added.returncode == 0, added.stderr
    told = preflight("--", "true")
    assert told.of("channel team") == ("pass", "127.0.0.1 answers; nothing was sent")
    assert heard == [b""]
    assert "hidden" not in str(told.document)


def test_a_mail_server_greets_and_is_left(preflight: Preflight, tmp_path: Path, listener) -> None:
    """No sender, no recipient, no letter."""
    port, heard = listener(b"220 mail.example.org ESMTP\r\n")
    alerts = f"  email: {{address: me@example.org, smtp_server: 127.0.0.1, smtp_port: {port}}}"
    config = tmp_path / "dogwatch" / "config.toml"
    config.parent.mkdir()
    config.write_text(f'[smtp]\nhost = "127.0.0.1"\nport = {port}\n')
    told = preflight(job(tmp_path, alerts), env={"XDG_CONFIG_HOME": str(tmp_path)})
    assert told.of("channel train-email") == ("pass", f"127.0.0.1 port {port} answers; nothing was sent")
    assert heard == [b"QUIT\r\n"]


def test_channels_that_would_not_answer_fail(preflight: Preflight, tmp_path: Path, dogwatch) -> None:
    """A port where nobody is, a secret that is not set, a program that is not there; each with its remedy."""
    added = dogwatch("alerts", "add", "--name", "team", "--slack", "http://127.0.0.1:1/x")
    assert added.returncode == 0, added.stderr
    assert preflight("--", "true").of("channel team") == ("fail", "cannot be reached: Connection refused")
    assert preflight(job(tmp_path, '  slack: {webhook: "env:NOT_THERE"}')).verdict("channel train-slack") == "fail"
    added = dogwatch("alerts", "add", "--name", "pager", "--command", "/no/such/pager")
    assert added.returncode == 0, added.stderr
    told = preflight("--", "true")
    assert told.of("channel pager") == ("fail", "cannot be reached: /no/such/pager does not exist or is not executable")
    assert told.code == 1


def test_nobody_to_tell_is_a_warning(preflight: Preflight) -> None:
    """A job may do without, knowingly."""
    told: Told = preflight("--", "true")
    assert told.of("alerts") == ("warn", "no alert channel configured: alerts are shown only on a terminal")
    assert told.code == 0
