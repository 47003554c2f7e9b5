"""How fast logs are read with every shipped pattern on, beside the tools that only search."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Figure
from bench.mix import SHARES, write
from dogwatch.diagnosis import LineCollector
from dogwatch.diagnosis.table import CAUSES, stems
from dogwatch.logs.formats import shipped
from dogwatch.logs.native import library
from dogwatch.logs.reader import Reader
from dogwatch.logs.scan import hyperscan

MEGABYTES = int(os.environ.get("DOGWATCH_BENCH_MB", "1000"))
ROUNDS = 3
LONGEST = 60  # seconds that one run may take
# What is slow is given the beginnings of the logs, or of every so many-th of them.
MEGABYTE, PLAIN_EVERY, LINES_EVERY, LINES_BYTES, PATTERNS_BYTES, SHOWN_EVERY = 1 << 20, 4, 4, 256 << 10, 32 << 10, 8
FAST, COMPILED = "dogwatch with the extra `fast`", "dogwatch without it"
PLAIN, SHOWN = "… and without a compiler", "`dogwatch read`, start and all"
RG, GREP, GREP_LITERALS = "rg -aF, literals of the causes", "grep -E, patterns of the causes", "grep -E, their literals"
LINES = "Python re, line by line"
WORK = (
    f"{MEGABYTES} MB of logs as a group's jobs leave them ({SHARES}; jobs start with their settings and end with a "
    "claim or a traceback), from the page cache. Read, as by a watcher that was long away: progress by every format, "
    "and every line that tells of an ending by every cause. Beside it `rg -aF` with the literals of the causes and "
    "`grep -E` with their patterns, both on one thread and only counting lines, and Python's `re` with the same "
    f"patterns line by line; the slow ones read a part. Each in a process of its own; CPU time, best of {ROUNDS}. "
    "Last, the worst of megabytes without a line end that are made of what one pattern is fond of."
)


@dataclass(frozen=True, slots=True)
class Took:
    """What one run over so many bytes cost; one that was stopped would have cost more."""

    size: int
    cpu: float
    wall: float
    stopped: bool = False

    @property
    def speed(self) -> float:
        """Megabytes per second of CPU."""
        return self.size / self.cpu / 1e6


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="dogwatch-bench-") as directory:
        files = write(Path(directory, "mix"), MEGABYTES * 1_000_000)
        starts = sample(files, Path(directory, "starts"), PATTERNS_BYTES)
        few = sample(files[::LINES_EVERY], Path(directory, "few"), LINES_BYTES)
        runs = {
            FAST: (reader("fast"), files),
            COMPILED: (reader("compiled"), files[::PLAIN_EVERY]),
            RG: (rg(Path(directory)), files),
            GREP: (grep(Path(directory, "patterns"), cause_patterns()), starts),
            GREP_LITERALS: (grep(Path(directory, "literals"), map(escaped, stems())), files),
            PLAIN: (reader("plain"), files[::PLAIN_EVERY]),
            LINES: ([sys.executable, "-m", "bench.line_by_line"], few),
            SHOWN: ([sys.executable, "-m", "dogwatch", "read", "--json"], files[::SHOWN_EVERY]),
        }
        took: dict[str, Took] = {}
        for _ in range(ROUNDS):
            for name, (command, paths) in runs.items():
                if command and not (name in took and took[name].stopped):
                    ran = run(command, paths)
                    took[name] = min(took.get(name, ran), ran, key=lambda each: each.cpu)
    for name, each in took.items():
        clock = each.size / each.wall / 1e6
        less = f", stopped after {LONGEST} s: less than that" if each.stopped else ""
        print(
            f"  {name:32} {each.speed:7.1f} MB/s of CPU, {clock:7.1f} by the clock, over {each.size / 1e6:.0f} MB{less}"
        )
    return figures(took)


def hostile() -> float:
    """Milliseconds that the worst megabyte without a line end takes, of those made of what a pattern is fond of."""
    fond = {fmt.needles[0].strip(b"\n") + more for fmt in shipped() for more in (b"", b" 1/")} | {
        b"9",
        b"1,",
        b"%| 1/1 [",
        b"\x1b[0",
    }
    fond |= {stem.encode() for stem in stems(raised=True)}
    return max(_cost(unit * (MEGABYTE // len(unit))) for unit in sorted(fond))


def _cost(line: bytes) -> float:
    """Milliseconds of CPU; measured again where it seems much."""
    costs: list[float] = []
    while len(costs) < ROUNDS and min(costs, default=99.0) > 25:
        started = time.process_time()
        Reader().feed(line + b"\n")
        gather = LineCollector()
        gather.feed(line)
        gather.collected()
        costs.append(1000 * (time.process_time() - started))
    return min(costs)


def reader(engine: str) -> list[str]:
    """The command that reads logs; none for the extra where it is not installed."""
    if engine == "fast" and hyperscan() is None:
        print("  the extra `fast` is not installed (pip install hyperscan); it is left out")
        return []
    if engine != "plain" and library() is None:
        print("  nothing was compiled when this was installed (is there a C compiler?); that is slower")
    return [sys.executable, "-m", "bench.read_logs", engine]


def rg(directory: Path) -> list[str]:
    if shutil.which("rg") is None:
        print("  rg is not installed (Debian: apt-get install ripgrep); it is left out")
        return []
    literals = directory / "rg-literals"
    literals.write_text("\n".join(stems()) + "\n", encoding="utf-8")
    return ["rg", "-aF", "-j1", "-c", "-f", str(literals)]


def grep(path: Path, patterns: Iterable[str]) -> list[str]:
    path.write_text("\n".join(patterns) + "\n", encoding="utf-8")
    return ["grep", "-aE", "-c", "-f", str(path)]


def cause_patterns() -> list[str]:
    """What the causes are known by, as grep spells it; one that it cannot spell is known by its literals alone."""
    written = []
    for pattern in (pattern for cause in CAUSES.values() for pattern in cause.patterns):
        if not pattern.pattern or re.search(r"\(\?[^:]|[*+}]\?|\[[^\]]*[\[\\]", pattern.pattern):
            written += [escaped(stem) for stem in pattern.stem.split("|")]
        else:
            written.append(pattern.pattern.replace("(?:", "(").replace(r"\d", "[0-9]"))
    return list(dict.fromkeys(written))


def escaped(literal: str) -> str:
    return re.sub(r"([][(){}.*+?^$|\\])", r"\\\1", literal)


def sample(paths: Sequence[Path], directory: Path, size: int) -> list[Path]:
    """The beginnings of some logs."""
    directory.mkdir()
    for path in paths:
        with path.open("rb") as file:
            (directory / path.name).write_bytes(file.read(size))
    return sorted(directory.iterdir())


def run(command: Sequence[str], paths: Sequence[Path]) -> Took:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    words, stopped = [*command, *map(str, paths)], False
    try:
        # As a user has it: where the environment forbids to keep byte code, Python compiles every module again.
        env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | {"LC_ALL": "C"}
        code = subprocess.run(words, env=env, stdout=subprocess.DEVNULL, timeout=LONGEST).returncode
    except subprocess.TimeoutExpired:  # grep, on patterns of which it makes a table that never ends
        code, stopped = 0, True
    if code not in (0, 1):  # 1: nothing was found
        raise RuntimeError(f"{' '.join(command[:3])}: exit code {code}")
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(sum(path.stat().st_size for path in paths), cpu, wall, stopped)


def figures(took: Mapping[str, Took]) -> list[Figure]:
    """Times for the same amount of log, one against the other."""
    found = []
    if fast := took.get(FAST):
        if tool := took.get(RG):
            found.append(Figure("time to read / time of rg -aF", tool.speed / fast.speed, limit=1 / 0.7))
        found.append(Figure("time to read / time of grep -E", took[GREP].speed / fast.speed, limit=0.5))
        found.append(Figure("… of grep -E with literals alone", took[GREP_LITERALS].speed / fast.speed))
    found.append(Figure("1 MB of the worst hostile line", hostile(), "ms", limit=50))
    return [*found, Figure("without the extra / Python re by line", took[LINES].speed / took[PLAIN].speed, limit=0.2)]
