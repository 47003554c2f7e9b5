"""A small program to be run on a pty: shows one sample live until a file appears, and records how that ended.

python -m tests.tui.stage VIEW SEED-FILE-OF-DONE RESULT-FILE [ascii]
"""

from __future__ import annotations

import os
import sys

from dogwatch.clock import Clock
from dogwatch.tui.live import show
from dogwatch.tui.view import View
from tests.tui import sample


def main() -> None:
    name, until, result, *more = sys.argv[1:]
    clock = Clock()

    def fetch() -> View:
        now = clock.now()
        if os.path.exists(until):
            return sample.view(jobs=[sample.ended(now=now)], now=now)
        if name == "several":
            jobs = [sample.job(4, now, name=f"job-{i}", ref=f"here/process:{i}") for i in range(3)]
            return sample.view(jobs=jobs, now=now)
        return sample.hostile(now) if name == "hostile" else sample.view(int(name), now)

    try:
        ending = str(show(fetch, lambda view: os.path.exists(until), clock, 0.25, ascii_only="ascii" in more))
    except KeyboardInterrupt:
        ending = "KeyboardInterrupt"
    with open(result + ".new", "w") as file:
        file.write(ending)
    os.replace(result + ".new", result)


main()
