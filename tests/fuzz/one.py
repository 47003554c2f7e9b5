"""One target: `python -m tests.fuzz.one NAME FILE…` repeats inputs, `… NAME --seconds N FOLDER` looks for new ones.

With atheris the search is guided by coverage. Where it is not installed (no wheel for this Python or machine),
the seeds are mutated blindly, and says so.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import ModuleType

from tests.fuzz import NAMES, kept, load

LONGEST, MEMORY = 16384, 2048  # bytes of an input, MB of the process
MOST_CPU, TIMEOUT = 10.0, 120  # seconds for one input: of CPU, and on the clock where other programs take the CPU
SLOWEST, WORTH_TELLING = "slowest input so far, CPU seconds: ", 0.01


class Timed:
    """A target with a limit to the CPU time of one input; it keeps the slowest input as `slowest-NAME`."""

    def __init__(self, target: Callable[[bytes], None], keep: Path) -> None:
        self._target, self._keep, self._slowest = target, keep, WORTH_TELLING

    def __call__(self, data: bytes) -> None:
        began = time.process_time()
        self._target(data)
        took = time.process_time() - began
        if took > self._slowest:
            self._slowest = took
            self._keep.write_bytes(data)
            print(f"{SLOWEST}{took:.3f} of {len(data)} bytes", file=sys.stderr, flush=True)
        assert took < MOST_CPU, f"one input took {took:.1f} s of CPU"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.one")
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("files", nargs="+", type=Path, help="inputs to repeat, or the folder that collects inputs")
    parser.add_argument("--seconds", type=int, help="look for new inputs that long")
    asked = parser.parse_args()
    if asked.seconds is None:
        target = load(asked.name).target
        for file in asked.files:
            target(file.read_bytes())
        return 0
    (folder,) = asked.files
    try:
        import atheris
    except ImportError:
        return _blindly(asked.name, asked.seconds, folder)
    with atheris.instrument_imports(include=["dogwatch"]):
        module = load(asked.name)
    _sow(asked.name, module, folder)
    atheris.Setup(
        [
            "fuzz",
            str(folder),
            f"-max_total_time={asked.seconds}",
            f"-max_len={getattr(module, 'LONGEST', LONGEST)}",
            f"-timeout={TIMEOUT}",
            f"-rss_limit_mb={MEMORY}",
            f"-artifact_prefix={folder.parent}/crash-{asked.name}-",
            "-print_final_stats=1",
        ],
        Timed(module.target, folder.parent / f"slowest-{asked.name}"),
    )
    atheris.Fuzz()
    return 0


def _sow(name: str, module: ModuleType, folder: Path) -> list[bytes]:
    """Put the seeds, and what broke it before, where the fuzzer begins."""
    folder.mkdir(parents=True, exist_ok=True)
    seeds = [*module.seeds(), *(path.read_bytes() for path in kept(name))]
    for seed in seeds:
        (folder / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
    return seeds


def _blindly(name: str, seconds: int, folder: Path) -> int:
    """Mutate the seeds without looking at what the program does with them."""
    print("atheris is not installed: mutating blindly", file=sys.stderr)
    module = load(name)
    seeds, chance, until = _sow(name, module, folder), Random(), time.monotonic() + seconds
    target, count, holds = Timed(module.target, folder.parent / f"slowest-{name}"), 0, True
    while holds and time.monotonic() < until:
        data = mutated(chance.choice(seeds), chance)
        holds = _holds(target, data, folder.parent / f"crash-{name}-")
        count += 1
    print(f"stat::number_of_executed_units: {count}", file=sys.stderr)
    return 0


def _holds(target: Callable[[bytes], None], data: bytes, prefix: Path) -> bool:
    try:
        target(data)
    except Exception:  # noqa: BLE001 - whatever it raises is what was looked for
        traceback.print_exc()
        Path(f"{prefix}{hashlib.sha1(data).hexdigest()}").write_bytes(data)
        return False
    return True


def mutated(seed: bytes, chance: Random) -> bytes:
    """Some bytes of a seed changed, cut out, doubled or made up."""
    data = bytearray(seed)
    for _ in range(chance.randrange(1, 8)):
        at, size = chance.randrange(len(data) + 1), chance.randrange(1, 20)
        match chance.randrange(4):
            case 0:
                data[at : at + size] = chance.randbytes(size)
            case 1:
                del data[at : at + size]
            case 2:
                data[at:at] = data[at : at + size]
            case _:
                data[at:at] = chance.randbytes(size)
    return bytes(data)


if __name__ == "__main__":
    sys.exit(main())
