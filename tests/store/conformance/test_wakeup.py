"""Whoever waits for something to do is woken by another process."""

from __future__ import annotations

import select

from dogwatch.store.interface import Store
from tests.store.conformance.conftest import Start, heard


def test_a_call_wakes_a_process_that_waits(store: Store, start: Start) -> None:
    """Without anything being written."""
    waiting = start("sleep")
    assert heard(waiting) == "waiting"
    store.location.wake()
    assert heard(waiting) == "called"


def test_a_call_that_nobody_waits_for_is_no_error(store: Store) -> None:
    """And it never blocks, however often it is made."""
    for _ in range(100):
        store.location.wake()


def test_a_call_between_two_waits_is_not_lost(store: Store) -> None:
    """Many calls are one; when they are taken, it is quiet again."""
    with store.location.wakeup() as calls:
        for _ in range(3):
            store.location.wake()
        assert select.select([calls.fileno()], [], [], 60)[0]
        assert calls.clear()
        assert not calls.clear()
        assert not select.select([calls.fileno()], [], [], 0)[0]
