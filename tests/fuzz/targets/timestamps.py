"""Times on a log's lines, in Slurm's columns and in other tools' files."""

from __future__ import annotations

import math

from dogwatch.logs.last_line import kind
from dogwatch.logs.stamps import dated, span, stamps
from dogwatch.results.iteration import iteration_of
from dogwatch.sources.slurm import reasons, spans, times, words


def target(data: bytes) -> None:
    """Every time is a finite number or none, whatever the line; small readers of Slurm's words never raise."""
    text = data.decode("utf-8", "replace")
    for line in text.split("\n")[:8]:
        for found in (stamps(line), dated(line)):
            assert all(math.isfinite(value) for value in found.values())
        lasted = span(line)
        assert lasted is None or math.isfinite(lasted)
        for read in (times.moment, times.length, times.minutes, times.size, times.number):
            value = read(line)
            assert value is None or math.isfinite(value)
        times.resources(line)
        words.exit_of(line)
        words.bare(line)
        assert reasons.meaning(line).words
        spans.span(line)
        iteration_of(line)
    kind(data)


def seeds() -> list[bytes]:
    lines = [
        "2026-11-15T20:00:00.123+02:00 step 3",
        "[15/Nov/2026 20:00:00] INFO",
        "Nov 15 20:00:00 host app: x",
        "I1115 20:00:00.123456 12 a.cc:3] x",
        "1794780000.25 epoch",
        "12%|##  | 3/25 [00:01<00:09, 2.4it/s]",
        "elapsed 1:02:03, 3.5 s/it, 2 days, 03:04:05",
        "1-02:03:04",
        "12_[1-9%2,11,20-40:4]",
        "CANCELLED by 1000",
        "(Resources)",
        "billing=2,cpu=2,gres/gpu=1,mem=200M,node=1",
        "0:125",
        "epoch=3-step=1200.ckpt",
    ]
    return [line.encode() for line in lines]
