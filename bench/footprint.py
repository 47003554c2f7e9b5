"""What watching 32 workers costs in CPU and memory."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable

from bench.figures import Figure
from bench.proc import cpu_seconds, family, memory
from bench.stage import DOGWATCH, Stage

WORKERS, RATE, INTERVAL, WARM_UP, SECONDS = 32, 10, 1.0, 12.0, 40.0
WORK = (
    f"One job of {WORKERS} workers, each logging {RATE} lines a second, watched every {INTERVAL:g} s by `dogwatch "
    f"daemon` for {SECONDS:.0f} s after {WARM_UP:.0f} s of warm-up, then the same by `dogwatch watch` on an 80×24 "
    "terminal; CPU of the watcher, its probe and the probe's file reader against one core."
)


def measure() -> list[Figure]:
    with Stage() as stage:
        ref = stage.run_job(WORKERS, "log", str(RATE))
        daemon = stage.daemon(INTERVAL)
        share, held = watch_the_watcher("daemon", daemon.pid, time.sleep)
        stage.stop(daemon)
        screen, drain = on_a_terminal(stage, ["watch", ref, "--check-interval", f"{INTERVAL:g}"])
        live_share, live_held = watch_the_watcher("live screen", screen.pid, drain)
        stage.stop(screen)
    return [
        Figure("CPU of the daemon / one core", share, "%", limit=1.0, aim=0.3),
        Figure("memory of the daemon (PSS)", held, "MB", limit=50.0, aim=35.0),
        Figure("CPU of the live screen / one core", live_share, "%"),
        Figure("memory of the live screen (PSS)", live_held, "MB"),
    ]


def watch_the_watcher(name: str, pid: int, pause: Callable[[float], None]) -> tuple[float, float]:
    """(percent of one core, megabytes) of a process and its children, while `pause` passes the time."""
    pause(WARM_UP)
    before, began = {one: cpu_seconds([one]) for one in family(pid)}, time.monotonic()
    pause(SECONDS)
    pids, wall = family(pid), time.monotonic() - began
    after = {one: cpu_seconds([one]) for one in pids}
    share = 100 * (sum(after.values()) - sum(before.values())) / wall
    held = memory(pids)
    each = ", ".join(f"{100 * (after[one] - before.get(one, 0.0)) / wall:.2f} %" for one in pids)
    print(f"  {name}: {share:.2f} % CPU ({len(pids)} processes: {each})")
    print(f"  {name}: {held.shared_out:.1f} MB PSS, {held.resident:.1f} MB RSS summed, {held.own:.1f} MB its own")
    return share, held.shared_out


def on_a_terminal(stage: Stage, words: list[str]) -> tuple[subprocess.Popen[bytes], Callable[[float], None]]:
    """A verb on a pseudo terminal of 80×24, and a way to wait that reads what it draws."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**stage.environment, "TERM": "xterm-256color"}
    command = [DOGWATCH, *words]
    process = subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)

    def drain(seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if select.select([ours], [], [], left)[0]:
                os.read(ours, 65536)

    return stage.adopt(process), drain
