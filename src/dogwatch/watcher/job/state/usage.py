"""Usage: what the processes of a silent job have used, asked for as long as the silence lasts."""

from __future__ import annotations

from msgspec import Struct, field

from dogwatch.estimate.stall import Usage
from dogwatch.wire import sections

MOST_SAMPLES = 24


class UsageState(Struct, omit_defaults=True):
    """`samples` of one silence, each our time, seconds of CPU, bytes moved (-1 where nobody may see), processes,
    blocked ones, and the usual share of a CPU (-1 where that is not known); `ask_after` so much silence."""

    samples: list[list[float]] = field(default_factory=list)
    unanswered: int = 0
    ask_after: float = 0.0

    def end_silence(self) -> None:
        """What was used in a silence says nothing of the next."""
        self.samples, self.unanswered = [], 0


def take_usage(usage: UsageState, answer: sections.Usage | None, mono: float) -> None:
    """One more sample of what the processes have used."""
    if answer is None or not answer.processes:
        usage.unanswered += 1
        return
    moved = answer.read + answer.write if not answer.unread else -1
    usual = answer.cpu / answer.age if answer.age else -1.0
    sample = [mono, answer.cpu, moved, answer.processes, answer.blocked, usual]
    if usage.samples and (mono <= usage.samples[-1][0] or answer.cpu < usage.samples[-1][1]):
        usage.samples = []  # another boot, or a process that took its count with it
    usage.samples.append(sample)
    del usage.samples[1 : len(usage.samples) - MOST_SAMPLES + 1]


def usage_of(usage: UsageState) -> Usage | None:
    """What was used over the newer half of the silence in which we asked; None before two answers. What is judged
    is what goes on now: the end of a checkpoint that was still being written is not."""
    samples = usage.samples
    if len(samples) < 2:
        return None
    last = samples[-1]
    middle = last[0] - (last[0] - samples[0][0]) / 2
    first = next(sample for sample in reversed(samples[:-1]) if sample[0] <= middle)
    over = last[0] - first[0]
    moved = None if first[2] < 0 or last[2] < 0 else max(0.0, last[2] - first[2]) / over
    usual = samples[0][5] if samples[0][5] >= 0 else None
    return Usage(over, (last[1] - first[1]) / over, moved, int(last[3]), int(last[4]), usual)
