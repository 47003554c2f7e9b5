"""A process that writes notices and sends them, made to be killed: `python -m tests.alerts.pusher HOME COUNT`.

It goes on from what the store holds, so that after any number of kills notices 0 to COUNT - 1 were written. It prints
a line for every silence, after the store has taken it.
"""

from __future__ import annotations

import sys

from dogwatch.assemble import channel
from dogwatch.clock import Clock
from dogwatch.engine.alerting import Pace
from dogwatch.engine.dispatch import Dispatch
from dogwatch.model import Level, Notice
from dogwatch.settings import Smtp
from dogwatch.store import alerts
from dogwatch.store.database import Store, open_store
from dogwatch.store.tick import queue_notices

BATCH = 20


def written(store: Store) -> int:
    with store.reading() as db:
        return int(db.execute("SELECT count(*) FROM notices").fetchone()[0])


def notice(number: int, now: float) -> Notice:
    return Notice(f"{number:032d}", f"job-{number}", Level.CRITICAL, f"number {number}", "worker_gone", "0", now)


def main(home: str, count: int) -> None:
    clock = Clock()
    with open_store(home) as store:
        dispatch = Dispatch(store, clock, lambda row: channel(row, Smtp(), clock), pace=Pace(0.0, 0.0))
        while True:
            done = written(store)
            if done < count:
                now = clock.now()
                queue_notices(store, [notice(done + n, now) for n in range(min(BATCH, count - done))], now)
                if done // BATCH % 10 == 0:
                    print("silence", alerts.silence(store, f"other-{done}", "", None, now + 9999, "", now), flush=True)
            dispatch.step()
            if done >= count and not alerts.messages(store) and not alerts.unrouted(store):
                dispatch.end()
                if not alerts.messages(store):
                    print("done", flush=True)
                    return


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
