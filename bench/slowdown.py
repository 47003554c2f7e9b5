"""How much slower a job runs for being watched."""

from __future__ import annotations

import os
import signal
import time
from array import array
from pathlib import Path
from statistics import mean, median, quantiles

from bench.figures import Figure, doubt
from bench.proc import cpu_seconds, family
from bench.stage import Stage, wait_for

WORKERS, INTERVAL, PAIRS, WINDOW, LIMIT = 2, 1.0, 16, 3.0, 1.005
WORK = (
    f"Two workers, one per CPU, repeat one piece of arithmetic; every {WINDOW:.0f} s the watcher (interval "
    f"{INTERVAL:g} s, on the same CPUs) is stopped or continued, {PAIRS} times each; seconds per piece while "
    "watched against those while not, the median over the pairs."
)


def measure() -> list[Figure]:
    with Stage() as stage:
        pieces = os.path.join(stage.directory, "pieces")
        stage.run_job(WORKERS, "grind", pieces)
        daemon = stage.daemon(INTERVAL)
        wait_for(lambda: len(family(daemon.pid)) > 2, "the probe and its file reader")
        crowd = family(daemon.pid)
        for pid in crowd:
            os.sched_setaffinity(pid, sorted(os.sched_getaffinity(0))[:WORKERS])
        time.sleep(2 * INTERVAL)
        began, used = time.monotonic(), cpu_seconds(crowd)
        windows = [_window(crowd, watched=turn % 4 in (0, 3)) for turn in range(2 * PAIRS)]
        used = cpu_seconds(crowd) - used
        watched_for = (time.monotonic() - began) / 2
        records = [_records(path) for path in Path(stage.directory).glob("pieces.*")]
    wall = [_ratio(records, windows[turn : turn + 2], 1) for turn in range(0, 2 * PAIRS, 2)]
    cpu = [_ratio(records, windows[turn : turn + 2], 2) for turn in range(0, 2 * PAIRS, 2)]
    _tell("wall time", wall)
    _tell("CPU time", cpu)
    accounted = 1 + used / watched_for / WORKERS
    print(f"  by account (the watcher's CPU seconds taken from the {WORKERS} CPUs): {accounted:.4f} ×")
    return [_verdict(wall, accounted)]


def _verdict(wall: list[float], accounted: float) -> Figure:
    """Where the machine is too restless for the stopwatch, what the watcher took is counted instead."""
    if doubt(wall) <= LIMIT - 1:
        return Figure("job slow-down when watched", median(wall), "×", limit=LIMIT)
    print(f"  the noise of this machine (± {doubt(wall):.4f}) exceeds the limit, so the account decides")
    return Figure("job slow-down when watched (by account)", accounted, "×", limit=LIMIT)


def _window(crowd: list[int], *, watched: bool) -> tuple[bool, float, float]:
    for pid in crowd:
        os.kill(pid, signal.SIGCONT if watched else signal.SIGSTOP)
    began = time.monotonic()
    time.sleep(WINDOW)
    return watched, began, time.monotonic()


def _records(path: Path) -> list[tuple[float, float, float]]:
    numbers = array("d")
    whole = path.read_bytes()
    numbers.frombytes(whole[: len(whole) // 24 * 24])
    return list(zip(numbers[0::3], numbers[1::3], numbers[2::3], strict=True))


def _ratio(
    records: list[list[tuple[float, float, float]]], pair: list[tuple[bool, float, float]], column: int
) -> float:
    """Mean seconds per piece in the watched window of a pair over those in the other."""
    means = {}
    for watched, began, ended in pair:
        means[watched] = mean(
            row[column] for rows in records for row in rows if began < row[0] - row[1] < row[0] < ended
        )
    return means[True] / means[False]


def _tell(what: str, ratios: list[float]) -> None:
    low, _, high = quantiles(ratios, n=4)
    middle = median(ratios)
    print(f"  by {what}: median {middle:.4f} × ± {doubt(ratios):.4f}, middle half {low:.4f} to {high:.4f}")
