"""Files: the sizes of a job's outputs and the times of its checkpoints, by change between polls."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from dogwatch.wire.sections import ListedFile, Output

GROWTH_WINDOW = 90.0
GROWTH_SAMPLES = 12
MOST_OUTPUTS = 512
MOST_CHECKPOINTS = 512


class FileState(Struct, omit_defaults=True):
    """`outputs` by path: samples of our time and the size then; `checkpoints` by path: when each was written, by the
    place's clock."""

    outputs: dict[str, list[list[float]]] = field(default_factory=dict)
    checkpoints: dict[str, float] = field(default_factory=dict)


def take_outputs(files: FileState, entries: Sequence[Output], mono: float) -> bool:
    """Take in the sizes of outputs; whether any of them has changed."""
    grew = False
    for entry in entries[-MOST_OUTPUTS:]:
        samples = files.outputs.setdefault(entry.path, [])
        grew |= not samples or samples[-1][1] != entry.size
        grow(samples, mono, entry.size)
    present = {entry.path for entry in entries}
    for path in [path for path in files.outputs if path not in present]:
        del files.outputs[path]
    return grew


def take_checkpoints(files: FileState, entries: Sequence[ListedFile]) -> tuple[list[str], bool]:
    """Take in the checkpoints that are there; which of them are new, and whether any was written."""
    new, written = [], False
    for entry in entries[-MOST_CHECKPOINTS:]:
        known = files.checkpoints.get(entry.path)
        if known is None:
            new.append(entry.path)
        if known != entry.mtime:
            files.checkpoints[entry.path] = entry.mtime
            written = True
    present = {entry.path for entry in entries}
    for path in [path for path in files.checkpoints if path not in present]:
        del files.checkpoints[path]
    return new, written


def grow(samples: list[list[float]], at: float, size: float) -> None:
    """Remember a size at a monotonic time; keeps about the last minute and a half of this boot."""
    samples[:] = [sample for sample in samples if sample[0] <= at]
    samples.append([at, size])
    while len(samples) > 2 and (samples[0][0] < at - GROWTH_WINDOW or len(samples) > GROWTH_SAMPLES):
        del samples[0]


def growth_per_minute(samples: list[list[float]]) -> float | None:
    if len(samples) < 2 or samples[-1][0] <= samples[0][0]:
        return None
    return (samples[-1][1] - samples[0][1]) / (samples[-1][0] - samples[0][0]) * 60
