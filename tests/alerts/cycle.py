"""One cycle of alerts, to be killed at each of its system calls: `python -m tests.alerts.cycle`.

It loads everything once, then for each line of its stdin (a home) forks a child that waits to be told to go (a FIFO
beside the home), goes through the cycle and ends; the parent prints the child's pid, and then how it ended. In the
child the senders' threads run in place, so that all calls are of one thread and each has its number.
"""

from __future__ import annotations

import os
import ssl
import sys
import threading
from pathlib import Path

from dogwatch.assemble import channel
from dogwatch.channels import apprise, command, email, file, webhook  # noqa: F401 - loaded before the first fork
from dogwatch.channels.terminal import Terminal
from dogwatch.clock import Clock
from dogwatch.model import Level, Notification
from dogwatch.settings import Settings
from dogwatch.store.rows import deliveries
from dogwatch.store.rows import findings as finding_rows
from dogwatch.store.rows.notifications import queue_all
from dogwatch.store.sqlite.location import open_store
from dogwatch.watcher.alerts import senders
from dogwatch.watcher.alerts.dispatch import Dispatch
from dogwatch.watcher.alerts.policy import Pace

NAMES = ("one", "two", "three")


class InPlace(threading.Thread):
    """A thread that is none."""

    def start(self) -> None:
        self.run()

    def join(self, timeout: float | None = None) -> None:
        """It is over already."""


def cycle(home: str) -> None:
    """Write notifications, promise a silence, and send until nothing is left; what was done before is not done
    again."""
    clock = Clock()
    with open_store(home) as store:
        now = clock.now()
        said = [Notification(f"{n:0>32}", f"job-{n}", Level.CRITICAL, n, "worker_gone", "0", now) for n in NAMES]
        queue_all(store, said, now)
        number = finding_rows.silence(store, "other", "", None, now + 9999, "", now)
        with Path(f"{home}.promised").open("a") as promised:
            promised.write(f"{number}\n")
        dispatch = Dispatch(
            store, clock, lambda row: channel(row, Settings(), clock), pace=Pace(0.0, 0.0), terminal=Terminal(None)
        )
        dispatch.step()
        while any(deliveries.pending(store)):
            dispatch.step()
        dispatch.end()


def child(home: str) -> None:
    with open(f"{home}.go", "rb", buffering=0) as gate:
        gate.read(1)
    cycle(home)


def main() -> None:
    ssl.create_default_context()
    senders.threading.Thread = InPlace  # type: ignore[attr-defined]
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            try:
                child(line.rstrip("\n"))
                os._exit(0)
            except BaseException:  # noqa: BLE001 - a child must never become a second parent
                import traceback

                traceback.print_exc()
                os._exit(1)
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
