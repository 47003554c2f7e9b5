"""A receiver, and messages to send."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dogwatch.channels import http
from dogwatch.model import Item, Level, Message
from tests.alerts.receiver import Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


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
