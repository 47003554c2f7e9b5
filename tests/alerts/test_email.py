"""Mail through a real SMTP server: what it takes, what it refuses, and what is never sent in the open."""

from __future__ import annotations

import socket
import threading

import pytest

from dogwatch.channels.email import Email, Smtp
from tests.alerts.conftest import message


def test_a_mail_says_what_and_is_the_same_mail_at_every_try(box):
    """Its Message-ID is the message's key."""
    handler, server = box
    for _ in range(2):
        assert Email("me@example.org", server).deliver(message("ended, failed: exit code 1")).ok
    one, two = handler.mails
    assert one["Message-ID"] == two["Message-ID"] == f"<{'k' * 32}@dogwatch>"
    assert one["Subject"] == "[dogwatch] CRITICAL: train-0: ended, failed: exit code 1"
    assert "since 2027-01-15 08:00 UTC" in one.get_content()


@pytest.mark.parametrize("name", ["a\r\nBcc: all@example.org", "x" * 10_000, "\u202egnp.exe", "\x1b]0;t\x07"])
def test_a_job_cannot_write_headers(box, name):
    """Whatever its name is, there is one recipient and a subject of one short line."""
    handler, server = box
    assert Email("me@example.org", server).deliver(message(name=name)).ok
    (mail,) = handler.mails
    assert mail["Bcc"] is None
    assert len(mail["Subject"]) <= 130
    assert "\x1b" not in mail.get_content()


@pytest.mark.parametrize(
    ("at", "says", "permanent"),
    [
        ("RCPT", "550 no such user", True),
        ("RCPT", "450 try later", False),
        ("DATA", "554 refused", True),
        ("DATA", "451 later", False),
    ],
)
def test_the_servers_number_says_whether_to_try_again(box, at, says, permanent):
    """4xx is for now, 5xx for good."""
    handler, server = box
    handler.says[at] = says
    receipt = Email("me@example.org", server).deliver(message())
    assert (receipt.ok, receipt.permanent) == (False, permanent)
    assert says[:3] in receipt.detail


def test_a_server_elsewhere_without_encryption_gets_nothing(box):
    """An offer that somebody has stripped is no offer: no plain text instead."""
    handler, server = box
    elsewhere = Smtp("127.0.0.2", server.port, server.sender)
    receipt = Email("me@example.org", elsewhere).deliver(message())
    assert not receipt.ok
    assert handler.mails == []


@pytest.mark.parametrize("says", [b"", b"2", b"220-hello\r\n"])
def test_a_server_that_never_ends_its_sentence_is_left(short, says):
    """One deadline for the whole conversation, also when a byte comes now and then."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = threading.Event()
        threading.Thread(target=_drip, args=(listener, says, done), daemon=True).start()
        server = Smtp("127.0.0.1", listener.getsockname()[1], "watch@example.org")
        receipt = Email("me@example.org", server).deliver(message())
        done.set()
    assert (receipt.ok, receipt.permanent) == (False, False)


def _drip(listener: socket.socket, says: bytes, done: threading.Event) -> None:
    connection, _ = listener.accept()
    with connection:
        while not done.wait(0.3):
            try:
                connection.sendall(says)
            except OSError:
                return
