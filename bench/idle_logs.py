"""What a tick costs when a thousand logs have nothing new to say."""

from __future__ import annotations

import os
import subprocess
import time

from bench.figures import Figure
from bench.proc import cpu_seconds, family
from bench.stage import Stage

JOBS, LOGS, INTERVAL, WARM_UP, TICKS = 20, 50, 1.0, 12.0, 30
WORK = (
    f"{JOBS} jobs with {LOGS} logs each that nobody writes to, watched every {INTERVAL:g} s by `dogwatch daemon`: CPU "
    f"of the watcher, its probe and the probe's file reader over {TICKS} ticks after {WARM_UP:.0f} s of warm-up; then "
    "the same jobs without logs."
)


def measure() -> list[Figure]:
    idle, bare = ticking(LOGS), ticking(0)
    return [
        Figure(f"CPU of a tick over {JOBS * LOGS} idle logs", idle, "ms", limit=10.0),
        Figure("of which the logs alone", idle - bare, "ms"),
    ]


def ticking(logs: int) -> float:
    """Milliseconds of CPU that a tick takes with so many idle logs to each job."""
    with Stage() as stage:
        for job in range(JOBS):
            process = stage.adopt(subprocess.Popen(["sleep", "3600"]))
            directory = os.path.join(stage.directory, f"job-{job}")
            os.mkdir(directory)
            for log in range(logs):
                with open(os.path.join(directory, f"rank-{log}.log"), "w", encoding="ascii") as file:
                    file.writelines(f"step {at}/1000 loss {1 / (at + 1):.4f}\n" for at in range(500))
            words = ["--log", os.path.join(directory, "rank-*.log")] if logs else []
            stage.dogwatch("add", "process", str(process.pid), "--name", f"idle-{job}", *words)
        daemon = stage.daemon(INTERVAL)
        time.sleep(WARM_UP)
        before = {pid: cpu_seconds([pid]) for pid in family(daemon.pid)}
        time.sleep(TICKS * INTERVAL)
        spent = [1000 * (cpu_seconds([pid]) - before.get(pid, 0.0)) / TICKS for pid in family(daemon.pid)]
        print(f"  {logs * JOBS} logs: {' + '.join(f'{each:.2f}' for each in spent)} ms a tick")
        return sum(spent)
