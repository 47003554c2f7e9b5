"""`python -m dogwatch.cli.poll_once PLACE…`: what `ls` and `status` start when no watcher runs. It polls these places
once, commits and sends what follows as any watcher would, and ends after a bounded time."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from dogwatch import assemble
from dogwatch.clock import Clock
from dogwatch.errors import FINE, DogwatchError

# So long may a host take to answer: a watcher would wait for longer, but a watcher that starts meanwhile waits for us.
DEADLINE = 15.0


def main(places: Sequence[str]) -> int:
    """Poll, and tell the waiting by closing stdout as soon as the answers are in the store."""
    try:
        with assemble.store() as store:
            assemble.poll_once(store, Clock(), only=places, who=assemble.POLL, deadline=DEADLINE, polled=_release)
    except DogwatchError as error:  # whoever waits shows what is known, with its age
        return error.exit_code
    return FINE


def _release() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
