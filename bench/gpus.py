"""What it costs to read the GPUs of a machine, and what a driver that hangs does to a poll."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import closing
from pathlib import Path
from statistics import median

from bench.figures import Figure
from bench.proc import cpu_seconds, family
from dogwatch.remote import extra_probe, probe_once
from dogwatch.transport.local import Here
from dogwatch.watcher.job.gpus import HERE_WAIT, YOUNG
from tests.gpus.rig import GB, H100, Rig, build, look

GPUS, TIMES, HUNG = 8, 40, 5
WORK = (
    f"{GPUS} GPUs of a library that answers from a file, read {TIMES} times by the probe of this machine, each in a "
    f"child of its own: its CPU with all children, as a share of a core at one reading every {YOUNG:g} s (the most "
    f"often that is done). Then the library hangs, and {HUNG} looks ask for it all the same: how long the longest "
    "of them took. The text that travels, with and without the question about GPUs."
)


def measure() -> list[Figure]:
    before = {name: os.environ.get(name) for name in ("PATH", "LD_LIBRARY_PATH")}
    try:
        with tempfile.TemporaryDirectory(prefix="dogwatch-bench-") as directory:
            rig = Rig(Path(directory), build(Path(directory)))
            os.environ.update(rig.environment())
            return [*_reading(rig), _hanging(rig), *_travelling()]
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            os.environ.update({} if value is None else {name: value})


def _reading(rig: Rig) -> list[Figure]:
    rig.library([H100] * GPUS, *(f"process {gpu} {os.getpid()} {GB} 0 0" for gpu in range(GPUS)))
    with closing(Here()) as here:
        look(here)
        assert here.pid is not None
        spent, began = cpu_seconds(family(here.pid)), time.monotonic()
        for _ in range(TIMES):
            assert len(look(here)["gpus"]) == GPUS
        wall = (time.monotonic() - began) / TIMES
        cpu = (cpu_seconds(family(here.pid)) - spent) / TIMES
        alone = []
        for _ in range(TIMES):
            began = time.monotonic()
            here.ask({"disks": ["/"]})
            alone.append(time.monotonic() - began)
    return [
        Figure(f"reading {GPUS} GPUs, of a core at one every {YOUNG:g} s", 100 * cpu / YOUNG, "%", limit=0.5),
        Figure("CPU of one reading", 1000 * cpu, "ms"),
        Figure("a poll with GPUs", 1000 * wall, "ms"),
        Figure("a poll without", 1000 * median(alone), "ms"),
    ]


def _hanging(rig: Rig) -> Figure:
    rig.library([H100], "hang nvmlInit_v2")
    took = []
    with closing(Here()) as here:
        for turn in range(HUNG):
            began = time.monotonic()
            look(here, wait=HERE_WAIT if turn == 0 else 0, seconds=8.0)
            took.append(time.monotonic() - began)
    return Figure("the longest look while the driver hangs", max(took), "s", limit=HERE_WAIT + 1.0)


def _travelling() -> list[Figure]:
    plain, gpus = len(probe_once(b"{}", 10.0)), len(extra_probe("gpus"))
    return [
        Figure("text of a poll over ssh", plain / 1000, "kB"),
        Figure("and of one that asks for GPUs", (plain + gpus) / 1000, "kB"),
    ]
