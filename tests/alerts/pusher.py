"""A process that writes notifications and sends them, made to be killed: `python -m tests.alerts.pusher HOME COUNT`.

It goes on from what the store holds, so that after any number of kills notifications 0 to COUNT - 1 were written. It
prints a line for every silence, after the store has taken it.
"""

from __future__ import annotations

import sys

from dogwatch.assemble import channel
from dogwatch.channels.terminal import Terminal
from dogwatch.clock import Clock
from dogwatch.model import Level, Notification
from dogwatch.settings import Settings
from dogwatch.store.rows import deliveries, notifications
from dogwatch.store.rows import findings as finding_rows
from dogwatch.store.rows.notifications import queue_all
from dogwatch.store.sqlite.database import SqliteStore as Store
from dogwatch.store.sqlite.location import open_store
from dogwatch.watcher.alerts.dispatch import Dispatch
from dogwatch.watcher.alerts.policy import Pace

BATCH = 20


def written(store: Store) -> int:
    with store.reading() as tx:
        return int(tx.query("SELECT count(*) FROM notifications")[0][0])


def notification(number: int, now: float) -> Notification:
    return Notification(f"{number:032d}", f"job-{number}", Level.CRITICAL, f"number {number}", "worker_gone", "0", now)


def main(home: str, count: int) -> None:
    clock = Clock()
    with open_store(home) as store:
        dispatch = Dispatch(
            store, clock, lambda row: channel(row, Settings(), clock), pace=Pace(0.0, 0.0), terminal=Terminal(None)
        )
        while True:
            done = written(store)
            if done < count:
                now = clock.now()
                queue_all(store, [notification(done + n, now) for n in range(min(BATCH, count - done))], now)
                if done // BATCH % 10 == 0:
                    print(
                        "silence",
                        finding_rows.silence(store, f"other-{done}", "", None, now + 9999, "", now),
                        flush=True,
                    )
            dispatch.step()
            if done >= count and not deliveries.messages(store) and not notifications.unrouted(store):
                dispatch.end()
                if not deliveries.messages(store):
                    print("done", flush=True)
                    return


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
