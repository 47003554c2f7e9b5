"""What the store's tests have in common: jobs and ticks to write, and the whole of what can be read back."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dogwatch.model import Ended, Evidence, Finding, Job, Known, Level, Notification, Outcome, Running
from dogwatch.store.rows import events, jobs, notifications, places, readings, tick
from dogwatch.store.rows.registration import register
from dogwatch.store.sqlite.database import SqliteStore as Store
from dogwatch.store.sqlite.location import open_store

ROOT = Path(__file__).parents[2]
NOW = 1_800_000_000.0


def job(number: int = 1, **more: Any) -> Job:
    return Job(
        **{
            "ref": f"here/process:{number}",
            "place": "here",
            "source": "process",
            "id": str(number),
            "name": f"train-{number}",
            "registered": NOW + number,
            **more,
        }
    )


def running(at: float = NOW) -> Known:
    return Known(Running(NOW, "here"), NOW, "R", "", "a1", 1, at, (Evidence("probe", "running", at),))


def ended(outcome: Outcome = Outcome.SUCCEEDED, at: float = NOW) -> Known:
    return Known(Ended(outcome, 0, None, at), at, "exit 0", "", "a1", 1, at, (Evidence("supervisor", "exit 0", at),))


def numbered(n: int, ref: str = "here/process:1") -> tick.Tick:
    """A tick whose every part carries the same number, so that a half one would show."""
    progress: Any = {"step": n, "at": NOW + n}
    return tick.Tick(
        NOW + n,
        float(n),
        places=(tick.PlaceUpdate("here", NOW + n, True),),
        jobs=(tick.JobUpdate(ref, running(NOW + n), progress=progress, memory={"n": n}),),
        events=(tick.Event("job.state", f"step {n}", ref=ref, body={"percent": n}),),
        opened=(Finding(ref, "numbered", Level.WARNING, str(n)),),
        notifications=(Notification(f"n{n}", ref, Level.INFO, str(n)),),
        readings=(tick.Reading(ref, {"step": n, "rss": n << 20}),),
    )


def filled(home: Path, ticks: int = 5, count: int = 8) -> Store:
    """A store with some jobs, half of them ended, and a history."""
    store = open_store(str(home))
    for number in range(1, count + 1):
        register(store, job(number), NOW, 1.0)
    for n in range(1, ticks + 1):
        tick.commit(store, numbered(n))
    over = [tick.JobUpdate(f"here/process:{n}", ended()) for n in range(count // 2 + 1, count + 1)]
    tick.commit(store, tick.Tick(NOW + ticks, 9.0, jobs=tuple(over)))
    return store


def everything(store: Store) -> dict[str, Any]:
    """All that the interfaces can read of a store."""
    return {
        "documents": jobs.documents(store, everything=True),
        "active": jobs.documents(store),
        "brief": jobs.brief(store),
        "places": places.places(store),
        "events": events.read(store),
        "notifications": notifications.unrouted(store),
        "tracked": [repr(one) for one in tick.load(store, "here")],
        "readings": readings.readings_of(store, "here/process:1"),
        "damage": store.damaged_events(),
    }


def worker(*words: object, wrapper: tuple[str, ...] = (), **more: Any) -> subprocess.Popen[str]:
    """Start one of the programs of workers.py as a process of its own."""
    argv = [*wrapper, sys.executable, "-m", "tests.store.workers", *map(str, words)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(argv, cwd=ROOT, **{**pipes, **more})


def finish(process: subprocess.Popen[str], timeout: float = 120) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


@contextmanager
def mounted(point: Path, *options: str) -> Iterator[Path]:
    """A tmpfs of its own for the time of a test."""
    point.mkdir(mode=0o700, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(("mode=0700", *options)), "tmpfs", point], check=True)
    try:
        yield point
    finally:
        subprocess.run(["umount", "--lazy", point], check=True)


def fill_up(folder: Path, leave: int = 0) -> None:
    """Write until the disk is full, then give back `leave` bytes."""
    fd = os.open(folder / "ballast", os.O_CREAT | os.O_WRONLY)
    size, block = 0, 65536
    while block:
        try:
            size += os.write(fd, bytes(block))
        except OSError:
            block //= 2
    os.ftruncate(fd, max(0, size - leave))
    os.close(fd)
