"""`python -m bench.read_logs fast|compiled|plain FILE…`: read whole logs as a watcher does that was long away."""

from __future__ import annotations

import sys

from dogwatch.diagnosis import LineCollector
from dogwatch.logs import native, scan
from dogwatch.logs.reader import Reader

PIECE = 4 << 20  # bytes: the most that a probe brings of a log in one poll


def main(engine: str, *paths: str) -> None:
    scan.prefer(engine == "fast")
    native.prefer(engine != "plain")
    told = hits = 0
    for path in paths:
        reader, gather = Reader(), LineCollector()
        with open(path, "rb", buffering=0) as file:
            while piece := file.read(PIECE):
                told += reader.feed(piece).step is not None
                gather.feed(piece)
        hits += len(gather.collected().hits)
    print(f"{told} pieces with progress, {hits} lines that tell of an ending")


if __name__ == "__main__":
    main(*sys.argv[1:])
