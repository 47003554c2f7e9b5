"""Verify: at the end of a job, is what its owner expected really there?"""

from __future__ import annotations

from dogwatch.engine.memory import Memory
from dogwatch.model import Job, Progress
from dogwatch.rules.interface import Verified

ENOUGH = 0.99


def verify(job: Job, memory: Memory, progress: Progress | None, files_answered: bool) -> Verified | None:
    """What the outputs and counters say, or None where nothing was expected or could be checked."""
    checks = []
    if job.expect.outputs:
        if not files_answered:
            return None
        checks.append(_outputs(memory))
    if job.expect.total_items:
        checks.append(_items(job.expect.total_items, progress))
    if not checks:
        return None
    return Verified(all(check.ok for check in checks), "; ".join(check.text for check in checks))


def _outputs(memory: Memory) -> Verified:
    sizes = {path: samples[-1][1] for path, samples in memory.outputs.items() if samples}
    empty = sorted(path for path, size in sizes.items() if size == 0)
    if not sizes:
        return Verified(False, "no output file matches the patterns given")
    if empty:
        return Verified(False, f"{len(empty)} of {len(sizes)} output files are empty ({empty[0]})")
    return Verified(True, f"{len(sizes)} output file{'s' if len(sizes) > 1 else ''}, none empty")


def _items(total: int, progress: Progress | None) -> Verified:
    done = progress.step if progress is not None else 0
    text = f"{done:,.0f} of {total:,} items by its logs"
    return Verified(done >= ENOUGH * total, text if done >= ENOUGH * total else f"only {text}")
