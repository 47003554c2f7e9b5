"""The newest GPU line of a job's `gpu_metrics.csv`, as `nvidia-smi --format=csv` writes it.

Columns are found by their header, whatever their order; `[N/A]` (MIG) and a last line that is still being written
count for nothing. A file that is not there is silence, not an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from dogwatch.model import GpuFigures, GpuSummary

_NUMBER = re.compile(r"\s*([0-9]{1,12}(?:\.[0-9]{1,6})?)", re.ASCII)
_UNITS = {"mib": 1 << 20, "mb": 1_000_000, "gib": 1 << 30, "gb": 1_000_000_000, "kib": 1 << 10, "b": 1, "": 1 << 20}
_WANTED = {"gpu_percent": "utilization.gpu", "used": "memory.used", "total": "memory.total"}
MOST_GPUS = 64


def newest(header: str, text: str) -> GpuFigures | None:
    """The mean use and the summed memory of the GPUs in the newest tick of `text` (its complete lines)."""
    columns = _columns(header)
    if "gpu_percent" not in columns and "used" not in columns:
        return None
    lines = [line.split(",") for line in text.split("\n")[-MOST_GPUS:]]
    rows = [row for row in lines if len(row) >= len(_names(header))]
    tick = _last_tick(rows, _index(header))
    uses = _numbers(tick, columns.get("gpu_percent"))
    used, total = (_bytes(tick, columns.get(which), header) for which in ("used", "total"))
    if not uses and used is None:
        return None
    percent = round(math.fsum(uses) / len(uses), 1) if uses else None
    return GpuFigures(percent, used, total, len(tick))


def _names(header: str) -> list[str]:
    """The columns; nvidia-smi quotes nothing, and no name or value of it holds a comma."""
    return [name.strip().lower() for name in header.split(",")]


def _columns(header: str) -> dict[str, int]:
    names = _names(header)
    found = {
        key: next((i for i, name in enumerate(names) if name.startswith(want)), None) for key, want in _WANTED.items()
    }
    return {key: column for key, column in found.items() if column is not None}


def _index(header: str) -> int | None:
    """The column that tells GPUs of one tick apart."""
    return next((i for i, name in enumerate(_names(header)) if name in ("index", "gpu", "uuid", "pci.bus_id")), None)


def _last_tick(rows: Sequence[Sequence[str]], index: int | None) -> list[Sequence[str]]:
    """The newest line of every GPU; without a column that names them, the newest line alone."""
    if index is None:
        return list(rows[-1:])
    seen: dict[str, Sequence[str]] = {}
    for row in reversed(rows):
        if row[index].strip() in seen:
            break
        seen[row[index].strip()] = row
    return list(seen.values())


def _numbers(rows: Sequence[Sequence[str]], column: int | None) -> list[float]:
    found = [] if column is None else [_NUMBER.match(row[column]) for row in rows]
    return [float(match[1]) for match in found if match]


def _bytes(rows: Sequence[Sequence[str]], column: int | None, header: str) -> int | None:
    values = _numbers(rows, column)
    if column is None or not values:
        return None
    unit = re.search(r"\[\s*([a-z]+)\s*\]", _names(header)[column])
    return int(math.fsum(values) * _UNITS.get(unit[1] if unit else "", 1 << 20))


def add(before: GpuSummary | None, newest: GpuFigures) -> GpuSummary:
    """What was seen of the GPUs so far, with the newest figures; for those at the end."""
    before = before or GpuSummary()
    polls, mean, use = before.polls, before.gpu_percent, newest.gpu_percent
    if use is not None:
        mean = use if mean is None else round((mean * polls + use) / (polls + 1), 2)
        polls += 1
    memory = [size for size in (before.gpu_memory_bytes, newest.gpu_memory_used_bytes) if size is not None]
    return GpuSummary(polls, mean, max(memory, default=None))
