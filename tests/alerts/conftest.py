"""A receiver, and messages to send."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

import pytest
from aiosmtpd.controller import Controller

from dogwatch.channels import http
from dogwatch.channels.email import Smtp
from dogwatch.model import Item, Level, Message
from tests.alerts.receiver import Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Box:
    """Keeps mail; answers with `says` where that is given."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.says: dict[str, str] = {}

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if "RCPT" in self.says:
            return self.says["RCPT"]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if "DATA" in self.says:
            return self.says["DATA"]
        self.mails.append(message_from_bytes(envelope.content, policy=default))
        return "250 OK"


@pytest.fixture
def box(request: pytest.FixtureRequest) -> Iterator[tuple[Box, Smtp]]:
    """A real SMTP server and the box that it fills; a test may name another kind of box."""
    handler = getattr(request, "param", Box)()
    port = free_port()
    controller = Controller(handler, hostname="127.0.0.1", port=port)
    controller.start()
    yield handler, Smtp("127.0.0.1", port, "watch@example.org")
    controller.stop()


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> float:
    """Deadlines of two seconds, so that a test of one that passes is not twenty seconds long."""
    from dogwatch.channels import email

    monkeypatch.setattr(http, "DEADLINE", 2.0)
    monkeypatch.setattr(email, "DEADLINE", 2.0)
    return 2.0


def message(*texts: str, name: str = "train", key: str = "k" * 32) -> Message:
    texts = texts or ("ended, failed: exit code 1",)
    items = tuple(
        Item(f"{n:032d}", f"here/process:{name}-{n}", f"{name}-{n}", Level.CRITICAL, "worker_gone", text, 1.8e9)
        for n, text in enumerate(texts)
    )
    return Message(key, items, 1.8e9)
