"""SIGKILL at random moments of a process that writes and sends alerts: none lost, at most one repeat for each kill."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from dogwatch.clock import Clock
from dogwatch.store.rows import channels as channel_rows
from dogwatch.store.rows import findings as finding_rows
from dogwatch.store.sqlite.location import open_store
from tests.alerts.pusher import written
from tests.alerts.receiver import Receiver

SLOWEST = 120.0  # seconds that one life may take to come to its end when nobody kills it


@dataclass(frozen=True)
class Figures:
    """What a storm did."""

    kills: int
    written: int
    messages: int
    lost: int
    repeats: int
    silences: int
    silences_lost: int
    faults: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.kills} kills over {self.written} alerts in {self.messages} messages, {self.seconds:.0f} s: "
            f"{self.lost} lost, {self.repeats} repeated, {self.silences_lost} of {self.silences} silences lost"
        )


def storm(home: Path, kills: int, count: int, seed: int) -> Figures:
    """Write and send `count` alerts in a process that is killed `kills` times on the way."""
    rng, receiver, began = random.Random(seed), Receiver(), time.monotonic()
    home.mkdir(mode=0o700, exist_ok=True)
    clock = Clock()
    with open_store(str(home)) as store:
        path = home / "hook"
        path.touch(mode=0o600)
        path.write_text(receiver.url)
        channel_rows.add_channel(store, "hook", "webhook", {"url": f"file:{path}"}, {}, clock.now() - 1)
    killed, promised = 0, set[int]()
    try:
        while True:
            target = count * (killed + 1) // (kills + 1) if killed < kills else count
            code, said = _life(home, target, rng.uniform(0.0, 0.4) if killed < kills else None)
            promised |= {int(line.split()[1]) for line in said.splitlines() if line.startswith("silence ")}
            killed += code == -9
            if killed >= kills and code == 0:
                break
            assert code in (0, -9), said
        with open_store(str(home)) as store:
            held = {row.key for row in finding_rows.silences(store)}
            faults, total = tuple(store.check()), written(store)
    finally:
        receiver.close()
    names = Counter(receiver.names())
    keys = Counter(got.key for got in receiver.got)
    return Figures(
        kills=killed,
        written=total,
        messages=len(keys),
        lost=sum(f"job-{n}" not in names for n in range(total)),
        repeats=sum(times - 1 for times in keys.values()),
        silences=len(promised),
        silences_lost=len(promised - held),
        faults=faults,
        seconds=time.monotonic() - began,
    )


def _life(home: Path, count: int, seconds: float | None) -> tuple[int, str]:
    """Run a pusher up to `count` alerts; killed after `seconds` from its first words, or left to end."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    argv = [sys.executable, "-m", "tests.alerts.pusher", str(home), str(count if seconds is None else 10**9)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env) as child:
        if seconds is not None:
            time.sleep(0.25 + seconds)
            child.kill()
        said, _ = child.communicate(timeout=SLOWEST)
    return child.returncode, said
