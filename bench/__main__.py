"""`python -m bench [NAME…]`: run the benchmarks, tell what was measured, exit 1 when a limit is missed, a figure got
worse or a benchmark failed. `python -m bench accept` accepts what the last run measured."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bench import accepted
from bench.figures import Figure, table

NAMES = (
    *("cold_start", "footprint", "slowdown", "latency", "eta", "why", "reading", "slurm", "idle_logs", "stall"),
    *("gpus", "read_command", "counts", "push", "box"),
)


class Run:
    """What was measured so far. Each figure is kept on disk as it comes, so that nothing later can lose it."""

    def __init__(self, kept: Path = accepted.LAST) -> None:
        self._kept = kept
        self.figures: dict[str, Figure] = {}
        self.failed: list[str] = []

    def measure(self, name: str) -> None:
        module = importlib.import_module(f"bench.{name}")
        print(f"{name}\n{textwrap.fill(module.WORK, 110, initial_indent='  ', subsequent_indent='  ')}", flush=True)
        self.run(name, module.measure)

    def run(self, name: str, measure: Callable[[], Iterable[Figure]]) -> None:
        try:
            self.take(name, measure())
        except Exception:  # noqa: BLE001 - what it has measured stays, and the others are still run
            traceback.print_exc()
            self.failed.append(name)

    def take(self, name: str, figures: Iterable[Figure]) -> None:
        for figure in figures:
            self.figures[f"{name}: {figure.what}"] = figure
            accepted.keep_last(self.figures, self._kept)
            if figure.limit is not None:
                print(f"  → {table([figure]).splitlines()[1].strip()}", flush=True)

    @property
    def missed(self) -> bool:
        """Whether a limit was missed, which no accepting mends."""
        return any(not figure.kept for figure in self.figures.values())

    def conclude(self) -> int:
        """Tell all of it, and the exit code."""
        busy = os.getloadavg()[0]
        print(f"\n{os.cpu_count()} CPUs, Python {sys.version.split()[0]}, load {busy:.1f}")
        print(table(list(self.figures.values())))
        changed = accepted.changes(self.figures, accepted.load())
        print(f"\n{accepted.report(changed) or 'nothing differs from the accepted figures by more than the noise'}")
        for name in self.failed:
            print(f"{name} failed: what it measured before that is above")
        return 1 if self.missed or self.failed or any(change.worse for change in changed) else 0


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="What watching costs, measured.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"some of: {', '.join(NAMES)} (default: all); or accept"
    )
    parser.add_argument("--accept", action="store_true", help="accept the figures of this run")
    args = parser.parse_args(words)
    if args.names == ["accept"]:
        accepted.accept(accepted.last())
        return 0
    unknown = [name for name in args.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # and so clean up
    run = Run()
    for name in args.names or NAMES:
        run.measure(name)
    code = run.conclude()
    if args.accept:
        accepted.accept(run.figures)
        print(f"accepted: {len(run.figures)} figures in {accepted.ACCEPTED.name}")
        return 1 if run.failed or run.missed else 0
    return code


if __name__ == "__main__":
    sys.exit(main())
