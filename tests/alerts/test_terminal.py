"""The terminal as a channel of the outbox: each notification at once, alone, once, and recorded."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from dogwatch.api import alerts as api
from dogwatch.channels.terminal import Terminal
from dogwatch.clock import Clock
from dogwatch.errors import UsageError
from dogwatch.model import Level
from dogwatch.store.rows import channels as channel_rows
from dogwatch.store.rows import deliveries
from dogwatch.store.sqlite.location import open_store
from dogwatch.watcher.alerts.policy import Quiet
from tests.alerts.receiver import Receiver
from tests.alerts.stage import Stage, gone


@pytest.fixture
def stage(home: Path, tmp_path: Path) -> Iterator[Stage]:
    with open_store(str(home)) as store:
        yield Stage(store, tmp_path)


def test_each_notification_is_one_line_at_once_and_never_again(stage: Stage) -> None:
    """Whatever is silenced or quiet, in its order, also after a restart."""
    screen = io.StringIO()
    stage.restart(terminal=Terminal(screen), quiet=Quiet(0, 1439))
    api.silence(stage.store, stage.clock, "*", "", 3600.0, "")
    stage.find(gone(stage.job("a")), gone(stage.job("b"), Level.INFO))
    stage.find(gone(stage.job("c")))
    stage.dispatch.step()
    assert [line.split(": ")[1].split()[0] for line in screen.getvalue().splitlines()] == ["a", "b", "c"]
    assert {len(deliveries.notifications_of(stage.store, row.key)) for row in sent(stage)} == {1}
    stage.restart(terminal=Terminal(screen))
    stage.go(60)
    assert len(screen.getvalue().splitlines()) == 3


def sent(stage: Stage) -> list[channel_rows.MessageRow]:
    return deliveries.messages(stage.store, channel_rows.SENT)


def test_what_a_watcher_without_a_terminal_found_is_shown_by_the_next_that_has_one(stage: Stage) -> None:
    """With the time at which it was found; until then nobody calls it undelivered."""
    stage.restart(terminal=None)
    stage.find(gone(stage.job("a")))
    stage.go(60)
    assert [notification.text for notification in deliveries.unshown(stage.store)] == ["the worker is gone"]
    assert api.overview(stage.store, stage.clock.now())["undelivered"] == []
    found_at = stage.clock.now() - 65
    screen = io.StringIO()
    stage.restart(terminal=Terminal(screen))
    stage.beat()
    (row,) = sent(stage)
    assert abs(row.created - found_at) < 10
    assert screen.getvalue().count("the worker is gone") == 1
    assert deliveries.unshown(stage.store) == []


def test_a_terminal_that_was_closed_is_no_news(stage: Stage, receiver: Receiver) -> None:
    """It is noted, no other channel is told, and the channels' health does not depend on it."""
    stage.hook("hook", receiver.url)
    screen = io.StringIO()
    screen.close()
    stage.restart(terminal=Terminal(screen))
    stage.find(gone(stage.job("a")))
    stage.go(120)
    assert receiver.names() == ["a"]
    (dead,) = deliveries.messages(stage.store, channel_rows.DEAD)
    assert (dead.channel, "the terminal is gone" in dead.detail) == ("terminal", True)
    assert channel_rows.refusing(stage.store) == ({}, True)


def test_no_channel_can_take_the_name_of_the_terminal(stage: Stage, tmp_path: Path) -> None:
    """Deliveries are known by the name of their channel."""
    with pytest.raises(UsageError, match="every watcher has"):
        api.add(stage.store, Clock(), "file", {"path": str(tmp_path / "x")}, {}, "terminal")
