"""`python -m bench [NAME…]`: run the benchmarks, tell what was measured, exit 1 when a limit is missed."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import textwrap
from collections.abc import Sequence

from bench.figures import Figure, table

NAMES = (
    *("cold_start", "footprint", "slowdown", "latency", "eta", "why", "reading", "slurm", "idle_logs", "stall"),
    "gpus",
)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="What watching costs, measured.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of: {', '.join(NAMES)} (default: all)")
    names = parser.parse_args(words).names or list(NAMES)
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # and so clean up
    figures: list[Figure] = []
    for name in names:
        figures += _run(name)
    busy = os.getloadavg()[0]
    print(f"\n{os.cpu_count()} CPUs, Python {sys.version.split()[0]}, load {busy:.1f}\n{table(figures)}")
    missed = [figure for figure in figures if not figure.kept]
    return 1 if missed else 0


def _run(name: str) -> list[Figure]:
    module = importlib.import_module(f"bench.{name}")
    print(f"{name}\n{textwrap.fill(module.WORK, 110, initial_indent='  ', subsequent_indent='  ')}", flush=True)
    figures: list[Figure] = module.measure()
    for figure in figures:
        if figure.limit is not None:
            print(f"  → {table([figure]).splitlines()[1].strip()}", flush=True)
    return figures


if __name__ == "__main__":
    sys.exit(main())
