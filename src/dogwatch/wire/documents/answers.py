"""What an extra program answered about a job, as the readers of the answer use it. `wire/programs.py` checks it."""

from __future__ import annotations

from typing import TypedDict


class ZombieAnswer(TypedDict):
    """A process that has ended and whose parent has not read its exit code (a zombie)."""

    pid: int
    parent: int
    status: int | None


class FamilyAnswer(TypedDict, total=False):
    """What all processes that descend from a job's workers do."""

    processes: int
    zombies: list[ZombieAnswer]
    dead: int
    stopped: list[int]
    blocked: list[int]
    cpu_percent: float
