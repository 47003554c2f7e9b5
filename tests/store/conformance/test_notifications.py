"""A notification is written once, and what becomes of it on a channel is decided once."""

from __future__ import annotations

from dogwatch.model import Level, Notification
from dogwatch.store.interface import Store
from dogwatch.store.rows import channels, deliveries, notifications
from dogwatch.store.rows.deliveries import Decision
from tests.store.conformance.conftest import Start, heard
from tests.store.sample import NOW

WAITS = Decision(channels.WAITING, "it goes out", NOW)


def test_the_same_notification_from_many_is_one(store: Store, start: Start) -> None:
    """Its key decides, also between processes that write at once, and after it was shown."""
    writers = [start("notify", 25) for _ in range(4)]
    assert [heard(process) for process in writers] == ["queued"] * 4
    waiting = notifications.unrouted(store)
    assert sorted(row.key for row in waiting) == sorted(f"key {n}" for n in range(25))
    deliveries.route(store, [(waiting[0].id, {"terminal": Decision(channels.ALONE, "", NOW)})], NOW)
    (message,) = deliveries.messages(store)
    deliveries.tried(store, message.key, NOW, deliveries.Try(channels.SENT, "", NOW))
    again = Notification(waiting[0].key, "watch", Level.INFO, "text", "rule", "", NOW)
    notifications.queue_all(store, [again], NOW)
    assert len(deliveries.unshown(store)) == 24


def test_what_is_routed_is_not_routed_again(store: Store) -> None:
    """A second decision about it changes nothing: one delivery for each channel."""
    channels.add_channel(store, "hook", "webhook", {}, {}, NOW)
    notifications.queue_all(store, [Notification("k", "watch", Level.INFO, "text", "rule", "", NOW)], NOW)
    (row,) = notifications.unrouted(store)
    for _ in range(2):
        deliveries.route(store, [(row.id, {"hook": WAITS})], NOW)
    assert notifications.unrouted(store) == []
    (delivery,) = deliveries.open_deliveries(store)
    assert (delivery.about.key, delivery.channel) == ("k", "hook")


def test_a_message_takes_its_deliveries_once(store: Store) -> None:
    """Composed twice by whoever was restarted, it is one message with the same contents."""
    channels.add_channel(store, "hook", "webhook", {}, {}, NOW)
    notifications.queue_all(store, [Notification("k", "watch", Level.INFO, "text", "rule", "", NOW)], NOW)
    deliveries.route(store, [(notifications.unrouted(store)[0].id, {"hook": WAITS})], NOW)
    waiting = deliveries.open_deliveries(store)
    for _ in range(2):
        deliveries.compose(store, "hook", waiting, NOW)
    (message,) = deliveries.messages(store)
    assert [row.key for row in deliveries.notifications_of(store, message.key)] == ["k"]
    deliveries.tried(store, message.key, NOW, deliveries.Try(channels.SENT, "200", NOW))
    assert deliveries.pending(store) == (0, 0, 0)
