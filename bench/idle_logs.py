"""What a tick costs when a thousand logs have nothing new to say: at first, and when the silence has lasted."""

from __future__ import annotations

import os
import subprocess
import time

from bench.figures import Figure
from bench.proc import cpu_seconds, family
from bench.stage import Stage

JOBS, LOGS, INTERVAL = 20, 50, 1.0
# From how many seconds on, and over how many ticks: at first, when nothing is saved yet; and for long enough to see
# each memory saved once, when processes are asked what they do and verdicts are made.
FIRST, LATER = (12.0, 30), (150.0, 120)
WORK = (
    f"{JOBS} jobs with {LOGS} logs each that nobody writes to, watched every {INTERVAL:g} s by `dogwatch daemon`: CPU "
    f"of the watcher, its probe and the probe's file reader over {FIRST[1]} ticks after {FIRST[0]:.0f} s, and over "
    f"{LATER[1]} ticks after {LATER[0]:.0f} s of silence; then the same jobs without logs."
)


def measure() -> list[Figure]:
    idle, later = ticking(LOGS, FIRST, LATER)
    (bare,) = ticking(0, FIRST)
    return [
        Figure(f"CPU of a tick over {JOBS * LOGS} idle logs", idle, "ms", limit=10.0),
        Figure(f"the same after {LATER[0]:.0f} s of silence", later, "ms", limit=10.0),
        Figure("of which the logs alone, at first", idle - bare, "ms"),
    ]


def ticking(logs: int, *windows: tuple[float, int]) -> list[float]:
    """Milliseconds of CPU that a tick takes with so many idle logs to each job, in each window."""
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
        began = time.monotonic()
        return [_spent(daemon.pid, began + start, ticks, logs) for start, ticks in windows]


def _spent(daemon: int, at: float, ticks: int, logs: int) -> float:
    """Milliseconds of CPU a tick of the watcher and all it started, over so many ticks from a moment on."""
    time.sleep(max(0.0, at - time.monotonic()))
    before = {pid: cpu_seconds([pid]) for pid in family(daemon)}
    time.sleep(ticks * INTERVAL)
    spent = [1000 * (cpu_seconds([pid]) - before.get(pid, 0.0)) / ticks for pid in family(daemon)]
    print(f"  {logs * JOBS} logs: {' + '.join(f'{each:.2f}' for each in spent)} ms a tick")
    return sum(spent)
