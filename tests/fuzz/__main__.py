"""`python -m tests.fuzz [--seconds N] [NAME…]`: targets, two at a time, with a row of figures for each."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz import NAMES, one

HERE = Path(__file__).parents[2]
KEPT = HERE / ".fuzz"  # inputs that reached something new, and crashes; ignored by git
SLACK = 600  # seconds that imports, seeds and the last input may take on a busy machine
ROW = "{:<16} {:>8} {:>8} {:>11} {:>9} {:>9} {:>9}  {}"
HEADINGS = ("target", "wall s", "CPU s", "executions", "per CPU s", "features", "slowest s", "")
SLOWEST = re.compile(rf"^{one.SLOWEST}(\d+\.\d+)", re.MULTILINE)
EXECUTED = re.compile(r"number_of_executed_units:\s*(\d+)|^#(\d+)\s", re.MULTILINE)
REACHED = re.compile(r" ft: (\d+)")


@dataclass(frozen=True)
class Ran:
    """What became of one target. On a busy machine the CPU seconds tell how long it really ran."""

    name: str
    executions: int
    seconds: float
    cpu_seconds: float
    features: int
    slowest: float
    output: str
    crash: Path | None
    code: int

    def row(self) -> str:
        rate = self.executions / max(self.cpu_seconds, 0.001)
        outcome = "no crash" if self.code == 0 else "CRASH" if self.crash else f"ended with {self.code}"
        times = f"{self.seconds:.0f}", f"{self.cpu_seconds:.0f}"
        return ROW.format(
            self.name, *times, self.executions, f"{rate:.0f}", self.features, f"{self.slowest:.2f}", outcome
        )


def run(name: str, seconds: int, folder: Path = KEPT) -> Ran:
    began, before = time.monotonic(), set(folder.glob(f"crash-{name}-*"))
    argv = [sys.executable, "-m", "tests.fuzz.one", name, "--seconds", str(seconds), str(folder / name)]
    with (folder / f"{name}.txt").open("w+b") as output:
        code, cpu_seconds = _wait(subprocess.Popen(argv, cwd=HERE, stdout=output, stderr=output), seconds + SLACK)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    executions = max((int(total or number) for total, number in EXECUTED.findall(text)), default=0)
    features = max(map(int, REACHED.findall(text)), default=0)
    slowest = max(map(float, SLOWEST.findall(text)), default=0.0)
    crash = next(iter(sorted(set(folder.glob(f"crash-{name}-*")) - before)), None)
    code = code or (1 if crash else 0)
    return Ran(name, executions, time.monotonic() - began, cpu_seconds, features, slowest, text, crash, code)


def _wait(child: subprocess.Popen[bytes], limit: float) -> tuple[int, float]:
    """Its exit code (that of a kill after the limit) and its CPU seconds."""
    killer = threading.Timer(limit, child.kill)
    killer.start()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    killer.cancel()
    return child.returncode, used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all without one")
    parser.add_argument("--seconds", type=int, default=600, help="for each target (default: 600)")
    parser.add_argument("--jobs", type=int, default=2, help="targets at a time (default: 2)")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(NAMES):
        parser.error(f"no target is called {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    KEPT.mkdir(exist_ok=True)
    print(ROW.format(*HEADINGS), flush=True)
    bad = False
    with ThreadPoolExecutor(asked.jobs) as pool:
        for ran in pool.map(lambda name: run(name, asked.seconds), asked.names or NAMES):
            print(ran.row(), flush=True)
            bad = bad or ran.code != 0
            if ran.code:
                print("\n".join(["", *_why(ran.output), ""]))
            if ran.crash:
                print(f"  repeat it: {sys.executable} -m tests.fuzz.one {ran.name} {ran.crash.relative_to(HERE)}")
                print(f"  keep it, once mended: mv {ran.crash.relative_to(HERE)} tests/fuzz/crashes/{ran.name}/")
    return 1 if bad else 0


def _why(output: str) -> list[str]:
    """The traceback, or the last words where there is none."""
    lines = output.splitlines()
    start = next((at for at, line in enumerate(lines) if "Uncaught Python exception" in line), len(lines) - 15)
    return [f"  | {line[:200]}" for line in lines[max(0, start) : start + 40] if not line.startswith(("#", "stat::"))]


if __name__ == "__main__":
    sys.exit(main())
