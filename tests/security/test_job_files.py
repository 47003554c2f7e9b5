"""A job file may be somebody else's: it obtains no credentials and leads nowhere that its author could not go."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from dogwatch.assemble import channel
from dogwatch.channels.email import Smtp
from dogwatch.clock import Clock
from dogwatch.settings import Settings
from dogwatch.store.rows.channels import ChannelRow
from tests.alerts.conftest import message
from tests.alerts.receiver import Receiver
from tests.security.conftest import MailTrap

PASSWORD = "the-owners-own-password"


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.close()


def row(**settings: object) -> ChannelRow:
    kept = {"to": "me@example.org", **settings}
    return ChannelRow(name="mail", kind="email", settings=kept, route={}, added=0.0, after=0)


@pytest.fixture
def smtp(monkeypatch: pytest.MonkeyPatch, mail_trap: MailTrap) -> Smtp:
    """The owner's mail server, with a password; a trap on another port is not it."""
    monkeypatch.setenv("OWN_PASSWORD", PASSWORD)
    return Smtp("localhost", 2, "me@example.org", "owner", "env:OWN_PASSWORD", "none")


def test_credentials_go_only_to_the_server_they_were_configured_for(smtp: Smtp, mail_trap: MailTrap) -> None:
    """The server that a channel names takes the mail and is told neither user nor password."""
    made = channel(row(host="localhost", port=mail_trap.port), Settings({"smtp": smtp}), Clock())
    assert made.deliver(message()).ok
    assert mail_trap.heard
    assert not any(b"AUTH" in said for said in mail_trap.heard)


def test_the_configured_server_still_gets_them(smtp: Smtp, mail_trap: MailTrap) -> None:
    """Also where a job file names that very server."""
    own = Smtp("localhost", mail_trap.port, smtp.sender, smtp.user, smtp.password, "none")
    for settings in ({}, {"host": "LOCALHOST.", "port": mail_trap.port, "outside": True}):
        assert channel(row(**settings), Settings({"smtp": own}), Clock()).deliver(message()).ok
        assert b"AUTH" in mail_trap.heard[-1]


def test_the_encryption_is_decided_for_the_server_really_used() -> None:
    """The owner's "none" is for this machine and not for a server elsewhere."""
    own = Smtp("localhost", 25, tls="none")
    assert own.at("mail.example.org", None).tls == "starttls"
    assert own.at("mail.example.org", 465).tls == "tls"
    assert own.at(None, None) is own
    assert own.at("localhost", 26).tls == "starttls"


def job_file(tmp_path: Path, alerts: str) -> Path:
    file = tmp_path / "job.yaml"
    file.write_text(f"job: {{name: far}}\nalerts:\n  {alerts}\n")
    return file


@pytest.mark.parametrize(
    "server",
    [
        *("127.0.0.1", "localhost", "10.0.0.1", "192.168.1.1", "169.254.169.254", "::1", "mail.internal"),
        *("::ffff:10.0.0.1", "100.64.0.1", "0.0.0.0", "fe80::1", "64:ff9b::a00:1", "::127.0.0.1", "fec0::1"),
        *("64:ff9b:1::a00:1", "::ffff:0:10.0.0.1", "127.1", "0x7f000001", "2130706433", "0177.0.0.1"),
    ],
)
def test_a_private_mail_server_in_a_job_file_is_refused(dogwatch, tmp_path: Path, server: str) -> None:
    """Before anything connects to it; the sentence says where it may be named instead."""
    file = job_file(tmp_path, f"email: {{address: me@example.org, smtp_server: '{server}', smtp_port: 26}}")
    done = dogwatch("watch", "--config", file, "--pid", "1")
    assert done.returncode == 2, done.stderr
    assert "private network" in done.stderr
    assert "[smtp]" in done.stderr
    assert json.loads(dogwatch("alerts", "ls", "--json").stdout)["channels"] == []


@pytest.mark.parametrize("form", ["file", "env"])
def test_a_reference_in_a_job_file_leads_nowhere_private_either(
    dogwatch, tmp_path: Path, receiver: Receiver, form: str
) -> None:
    """The reference may lead to a file that the job file's author wrote."""
    hook = tmp_path / "hook"
    hook.write_text(receiver.url)
    hook.chmod(0o600)
    reference = f"file:{hook}" if form == "file" else "env:HOOK"
    file = job_file(tmp_path, f"slack: {{webhook: '{reference}'}}")
    environment = {"HOOK": receiver.url}
    with subprocess.Popen(["sleep", "1"]) as job:
        dogwatch("watch", "--config", file, "--pid", job.pid, env=environment)
    tried = dogwatch("alerts", "test", "far-slack", env=environment)
    assert "private network" in tried.stdout + tried.stderr
    assert receiver.got == []
    said = dogwatch("preflight", file, "--", "true", env=environment)
    assert "private network" in said.stdout + said.stderr
    assert receiver.got == []
