"""The jobs that are watched in the benchmarks; needs nothing installed, like any stranger's program.

job.py log RATE            logs RATE lines a second, without end
job.py grind FILE          does the same piece of work again and again, and notes what each took
job.py die AFTER UPTO DIR  crashes at a random moment between two, its last act being to note when
"""

from __future__ import annotations

import os
import random
import sys
import time
from array import array

TOTAL = 1_000_000


def still_wanted() -> bool:
    """Whether the benchmark lives: one that is killed must not leave its jobs to grind on for ever."""
    return os.path.exists(f"/proc/{os.environ['BENCH_PID']}")


def log(rate: str) -> None:
    pause, began, done = 1 / float(rate), time.monotonic(), 0
    while done % 64 or still_wanted():
        done += 1
        print(f"Processed {done}/{TOTAL} items ({done / (time.monotonic() - began + pause):.1f} items/s)", flush=True)
        time.sleep(max(0.0, began + done * pause - time.monotonic()))


def grind(path: str) -> None:
    """A record of three numbers per piece: when it was done, its wall seconds, its CPU seconds."""
    here = int(os.environ["DOGWATCH_WORKER"])
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpus[here % len(cpus)]})
    table, told, done = list(range(65536)), 0.0, 0
    with open(f"{path}.{here}", "wb", buffering=0) as file:
        while done % 64 or still_wanted():
            wall, cpu = time.monotonic(), time.process_time()
            table = [(each * 69069 + 1) & 65535 for each in table]
            done += 1
            now = time.monotonic()
            file.write(array("d", [now, now - wall, time.process_time() - cpu]).tobytes())
            if now - told >= 0.1:
                told = now
                print(f"Processed {done}/{TOTAL} items", flush=True)


def die(after: str, upto: str, directory: str) -> None:
    time.sleep(max(0.0, random.uniform(float(after), float(upto)) - time.time()))
    note = os.path.join(directory, f"{os.environ['DOGWATCH_RUN']}.{os.environ['DOGWATCH_WORKER']}")
    fd = os.open(note, os.O_CREAT | os.O_WRONLY, 0o600)
    os.write(fd, repr(time.time()).encode("ascii"))
    os._exit(3)


def main(verb: str, *words: str) -> None:
    if verb == "log":
        log(*words)
    elif verb == "grind":
        grind(*words)
    else:
        die(*words)


if __name__ == "__main__":
    main(*sys.argv[1:])
