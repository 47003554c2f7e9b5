"""How fast `dogwatch read` reads one long log as a user runs it, from the start of the program to its end."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench import mix
from bench.figures import Figure
from bench.reading import Took, rg, run
from bench.stage import DOGWATCH

SIZE = int(os.environ.get("DOGWATCH_BENCH_LOG_MB", "100")) * 1_000_000
ROUNDS, SMALL, RANKS = 3, 40_000, 8
FASTEST, QUICKEST = SIZE / 150e6, 0.2  # seconds: 150 MB/s for a long log, and what a small one may take
WORK = (
    f"`dogwatch read --json FILE` on one log of {SIZE // 1_000_000} MB of each kind and on one of {SMALL // 1000} kB, "
    "from the page cache, a process each; beside it `rg -aF` with the literals of the causes and `wc -l`. CPU time, "
    f"best of {ROUNDS}."
)


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="dogwatch-bench-") as directory:
        commands = {"read": [DOGWATCH, "read", "--json"], "rg": rg(Path(directory)), "wc": ["wc", "-l"]}
        took: dict[str, dict[str, Took]] = {}
        path = Path(directory, "job.log")
        for name, kind in KINDS.items():
            path.write_bytes(mix.log(kind, mix.Words(7), SIZE))
            took[name] = {who: _best(command, path) for who, command in commands.items() if command}
            _tell(name, took[name])
        path.write_bytes(mix.log(mix.printed, mix.Words(7), SMALL))
        small = _best(commands["read"], path)
    worst = max(took, key=lambda name: took[name]["read"].cpu)
    found = [
        Figure("`dogwatch read` of the long log that takes longest", took[worst]["read"].cpu, "s", limit=FASTEST),
        Figure("`dogwatch read` of a small log", small.cpu, "s", aim=QUICKEST),
    ]
    if "rg" in took[worst]:
        found.append(Figure("… of the long log / rg -aF", took[worst]["read"].cpu / took[worst]["rg"].cpu))
    return found


def _best(command: list[str], path: Path) -> Took:
    return min((run(command, [path]) for _ in range(ROUNDS)), key=lambda each: each.cpu)


def _tell(name: str, took: dict[str, Took]) -> None:
    ours = took["read"]
    others = ", ".join(f"{ours.cpu / took[who].cpu:.1f} × {who}" for who in ("rg", "wc") if who in took)
    print(
        f"  {name:28} {ours.speed:6.0f} MB/s of CPU, {ours.size / ours.wall / 1e6:6.0f} by the clock; {others}",
        flush=True,
    )


def ranks(words: mix.Words) -> Iterator[str]:
    """Ranks that all log into one file."""
    total = words.set(200_000, 900_000)
    for at in range(1, total):
        for rank in range(RANKS):
            stamp = f"2026-11-12 {words.clock(at)},{words.whole(0, 999):03d}"
            figures = f"loss {words.loss(at / total):.4f} lr {words.real():.3e}"
            yield f"[rank{rank}]: {stamp} INFO step {at}/{total} {figures}\n"


def errors(words: mix.Words) -> Iterator[str]:
    """Nothing but errors that somebody caught."""
    for at in range(10_000_000):
        said = "failed: ConnectionResetError: [Errno 104] Connection reset by peer"
        yield f"2026-11-12 {words.clock(at)} ERROR {words.name()}: request {words.whole(0, 99999)} {said}\n"
        if not words.whole(0, 4):
            yield "Traceback (most recent call last):\n"
            for _ in range(3):
                yield f'  File "/opt/{words.name()}.py", line {words.whole(10, 900)}, in {words.name()}\n    call()\n'
            yield "RuntimeError: CUDA error: device-side assert triggered\n"


KINDS = {
    "tqdm bars with \\r": mix.tqdm_bars,
    "step lines with dates": mix.megatron,
    "Hugging Face dicts and bars": mix.hugging_face,
    "JSON lines": mix.json_lines,
    f"{RANKS} ranks in one file": ranks,
    "chatter": mix.chatter,
    "coloured Ray workers": mix.coloured,
    "nothing but errors": errors,
}
