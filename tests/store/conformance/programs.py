"""What other processes do to a store; each says a line when it got there, and some wait for one."""

from __future__ import annotations

import select
import sys

from dogwatch.errors import LeaseHeld
from dogwatch.model import Level, Notification
from dogwatch.store.rows import cursors, notifications, registration
from dogwatch.store.rows.cursors import CursorRow
from tests.store.conformance.stores import located, opened
from tests.store.sample import NOW, job


def say(*words: object) -> None:
    print(*words, flush=True)


def half(name: str) -> None:
    """Write in a transaction, and stay in it."""
    with opened(name) as store, store.writing() as tx:
        tx.put([CursorRow(name="half", seq=1)])
        tx.put([CursorRow(name="half again", seq=1)])
        say("written")
        sys.stdin.readline()


def write(name: str, cursor: str, seq: str) -> None:
    with opened(name) as store:
        cursors.write(store, cursor, int(seq))
    say("committed")


def count(name: str, times: str) -> None:
    """Read a number and write the next one, in one transaction each time."""
    with opened(name) as store:
        for _ in range(int(times)):
            with store.writing() as tx:
                row = tx.row(CursorRow, "WHERE name = ?", "counted")
                tx.put([CursorRow(name="counted", seq=1 if row is None else row.seq + 1)])
    say("counted")


def register(name: str, first: str, many: str) -> None:
    with opened(name) as store:
        for number in range(int(first), int(first) + int(many)):
            registration.register(store, job(number), NOW, 1.0)
    say("registered")


def notify(name: str, many: str) -> None:
    """The same notifications as whoever else runs this."""
    with opened(name) as store:
        for number in range(int(many)):
            notification = Notification(f"key {number}", "watch", Level.INFO, "text", "rule", "", NOW)
            notifications.queue_all(store, [notification], NOW)
    say("queued")


def lease(name: str, of: str) -> None:
    """Take a lease and keep it until told, or say who has it."""
    try:
        with located(name).lease("a program", NOW, of):
            say("held")
            sys.stdin.readline()
    except LeaseHeld as held:
        say("refused", held.pid)


def sleep(name: str) -> None:
    """Wait until somebody calls."""
    with located(name).wakeup() as calls:
        say("waiting")
        ready, _, _ = select.select([calls.fileno()], [], [], 60)
        say("called" if ready and calls.clear() else "nobody called")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
