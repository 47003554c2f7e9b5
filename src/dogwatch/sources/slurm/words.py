"""Slurm's words and what they mean: states, exit codes, and what the commands say when they fail. Tables first."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from dogwatch.model import Outcome

# Words that need no explanation have an empty one.
RUNNING = {
    "RUNNING": "",
    "COMPLETING": "finishing: Slurm is cleaning up after it",
    "STAGE_OUT": "finishing: its files are being staged out",
    "SUSPENDED": "suspended by Slurm: it holds its nodes and does not run",
    "STOPPED": "stopped by a signal: it holds its nodes and does not run",
    "RESIZING": "its allocation is being resized",
    "SIGNALING": "it is being sent a signal",
}
WAITING = {
    "PENDING": "",
    "CONFIGURING": "its nodes are being made ready",
    "EXPEDITING": "put back at the head of the queue",
    "REQUEUED": "put back in the queue",
    "REQUEUE_FED": "put back in the queue of its federation",
    "REQUEUE_HOLD": "put back in the queue and held: it starts when somebody releases it",
    "SPECIAL_EXIT": "its exit code put it back in the queue, held: it starts when somebody releases it",
    "RESV_DEL_HOLD": "held because its reservation was deleted: it starts when somebody releases it",
}
HELD = frozenset({"REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"})
ENDED = {
    "COMPLETED": Outcome.SUCCEEDED,
    "FAILED": Outcome.FAILED,
    "CANCELLED": Outcome.CANCELLED,
    "TIMEOUT": Outcome.TIMED_OUT,
    "DEADLINE": Outcome.TIMED_OUT,
    "OUT_OF_MEMORY": Outcome.OUT_OF_MEMORY,
    "NODE_FAIL": Outcome.NODE_FAILED,
    "BOOT_FAIL": Outcome.NODE_FAILED,
    "PREEMPTED": Outcome.PREEMPTED,
}
ACTIVE = (*RUNNING, *WAITING)
# After one of these the same id may come again, with a later submit time: the next attempt of the same job.
COMES_AGAIN = frozenset({"REQUEUED", "PREEMPTED", "NODE_FAIL", "BOOT_FAIL", "REQUEUE_HOLD", "SPECIAL_EXIT"})

# What programs that die of a signal make the shell exit with: 128 is added, and older sacct takes it off again.
_SHELL_SIGNALS = {6, 9, 11, 15}
_MEMORY, _NO_OUTPUT = 125, 53
_SIGNALS = 64
_LONGEST = 300

# What a command says on stderr → what is wrong. The first that fits is taken.
FAULTS = (
    ("invalid user", "squeue does not know one of the owners"),
    ("accounting storage is disabled", "this cluster keeps no accounting"),
    ("munge", "munge (Slurm's authentication) does not answer there"),
    ("authentication error", "munge (Slurm's authentication) does not answer there"),
    ("socket timed out", "the Slurm controller did not answer in time"),
    ("unable to contact slurm controller", "the Slurm controller cannot be reached"),
    ("connection refused", "the Slurm accounting (slurmdbd) cannot be reached"),
    ("problem talking to the database", "the Slurm accounting (slurmdbd) cannot be reached"),
    ("invalid field requested", "this Slurm version lacks a field that Dogwatch asks for"),
    ("could not establish a configuration source", "Slurm is not set up there"),
)
NO_ACCOUNTING = FAULTS[1][1]
INVALID_ID = "invalid job id specified"


@dataclass(frozen=True, slots=True)
class Exit:
    """How a script exited, as Slurm pairs it: exit code and signal."""

    code: int
    signal: int

    def __str__(self) -> str:
        return f"{self.code}:{self.signal}"

    @property
    def clean(self) -> bool:
        return not self.code and not self.signal

    @property
    def exit_code(self) -> int | None:
        return None if self.signal else self.code

    @property
    def by_signal(self) -> int | None:
        """The signal, where it is one: Slurm also writes reasons of its own into that place."""
        real = 0 < self.signal <= _SIGNALS and self.signal != _NO_OUTPUT
        return self.signal if real else None

    @property
    def says_memory(self) -> bool:
        return self.signal == _MEMORY


@lru_cache(256)
def bare(word: str) -> str:
    """`CANCELLED` of `CANCELLED by 1000` and of the cut `CANCELLED+`."""
    return word.split(" ", 1)[0].rstrip("+").upper()


def known(word: str) -> bool:
    return word in RUNNING or word in WAITING or word in ENDED


@lru_cache(1024)
def exit_of(text: str) -> Exit | None:
    """`1:0`, or the raw wait status that squeue printed until 23.11."""
    left, colon, right = text.strip(" ").partition(":")
    if not all(part.isascii() and part.isdigit() and len(part) <= 10 for part in (left, right or "0")):
        return None
    if colon and not right:
        return None
    status = int(left)
    return Exit(status, int(right)) if colon else Exit(status >> 8 & 0xFF, status & 0x7F)


def how_it_exited(exit_: Exit | None, *, cut: bool) -> str:
    """An exit code in words that claim no more than it shows. `cut`: it may lack 128 (sacct before 26.05)."""
    if exit_ is None:
        return "with no exit code recorded"
    if exit_.signal == _NO_OUTPUT:
        return "Slurm could not open its output file (0:53): the directory may be missing or full"
    if exit_.says_memory:
        return "killed by the kernel (out of memory)"
    if exit_.by_signal:
        name = signal_name(exit_.by_signal)
        return f"killed by {name}" + ("; sender and reason unknown" if name == "SIGKILL" else "")
    if exit_.clean:
        return "Slurm says FAILED although the exit code is 0"
    words = f"exit code {exit_.code}"
    if cut and exit_.code in _SHELL_SIGNALS:
        return f"{words}, or {exit_.code + 128} of which Slurm's accounting shows only what is above 128"
    if 128 < exit_.code < 192:
        words += (
            f", which programs use for {signal_name(exit_.code - 128)}; a program may also exit with that number itself"
        )
    return words


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Canceller(NamedTuple):
    """Who cancelled a job, and whether that is its owner; None where nobody knows whose it is."""

    name: str
    is_owner: bool | None

    @property
    def words(self) -> str:
        if self.is_owner:
            return f"cancelled by its owner ({self.name})"
        return f"cancelled by {self.name}" + (", not by its owner" if self.is_owner is False else "")


def canceller(state: str, owner: str, user: str = "", names: Mapping[str, str] | None = None) -> Canceller | None:
    """Who cancelled, out of `CANCELLED by 1000`; `owner` is the job's own uid and `user` its name."""
    found = re.search(r" by ([0-9]{1,10})$", state)
    if found is None:
        return None
    uid = found[1]
    if uid == owner:
        return Canceller(user or f"uid {uid}", True)
    name = "root" if uid == "0" else (names or {}).get(uid, "")
    shown = name if uid == "0" else f"{name} (uid {uid})" if name else f"uid {uid}"
    return Canceller(shown, False if owner else None)


def fault(run_why: str | None, rc: int | None, err: str, command: str = "it") -> str:
    """Why a command gave no answer, in one sentence that keeps its own last words."""
    if run_why:
        return {
            "late": f"{command} did not answer in time",
            "not found": f"{command} is not installed there",
            "too much": f"{command} printed more than can be read",
        }.get(run_why, run_why)[:_LONGEST]
    said = [line.strip() for line in err.split("\n") if line.strip()]
    last = said[-1][:_LONGEST] if said else f"exit code {rc}"
    low = err.lower()
    meaning = next((words for pattern, words in FAULTS if pattern in low), None)
    return f"{meaning} ({last})" if meaning else last
