"""What is known of an ending without reading a log: the scheduler's word, exit code, signal, memory kills."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from dogwatch.diagnosis.interface import Evidence
from dogwatch.text import plain

GOOD_STATES = frozenset(("COMPLETED", "SUCCEEDED", "SUCCESS", "FINISHED", "DONE"))
_LIVE_STATES = frozenset(("RUNNING", "PENDING", "CONFIGURING", "COMPLETING", "SUSPENDED", "REQUEUED", "RESIZING"))
_STATES = {
    "TIMEOUT": ("time_limit", 0.96),
    "TIMED_OUT": ("time_limit", 0.96),
    "DEADLINE": ("time_limit", 0.93),
    "OUT_OF_MEMORY": ("host_oom", 0.95),
    "OOMKILLED": ("host_oom", 0.95),
    "PREEMPTED": ("preempted", 0.97),
    "CANCELLED": ("cancelled", 0.95),
    "REVOKED": ("cancelled", 0.9),
    "NODE_FAIL": ("node_failure", 0.97),
    "NODE_FAILED": ("node_failure", 0.97),
    "BOOT_FAIL": ("node_failure", 0.93),
    "LAUNCH_FAILED": ("launch_failed", 0.93),
    "STALLED": ("stalled", 0.85),
    "KILLED": ("killed", 0.7),
    "DEADLINEEXCEEDED": ("time_limit", 0.93),
    "TERM_RUNLIMIT": ("time_limit", 0.95),
    "TERM_MEMLIMIT": ("host_oom", 0.95),
    "TERM_OWNER": ("cancelled", 0.93),
    "TERM_ADMIN": ("cancelled", 0.93),
    "TERM_PREEMPT": ("preempted", 0.95),
}
# The same words as squeue shortens them, and as others spell them.
_SHORT = {
    "BF": "BOOT_FAIL",
    "CA": "CANCELLED",
    "CANCELED": "CANCELLED",
    "CD": "COMPLETED",
    "CG": "COMPLETING",
    "DL": "DEADLINE",
    "F": "FAILED",
    "LF": "LAUNCH_FAILED",
    "NF": "NODE_FAIL",
    "OOM": "OUT_OF_MEMORY",
    "PD": "PENDING",
    "PR": "PREEMPTED",
    "R": "RUNNING",
    "RV": "REVOKED",
    "S": "SUSPENDED",
    "SE": "SPECIAL_EXIT",
    "TO": "TIMEOUT",
}
_SIGNALS = {
    2: ("interrupted", 0.9),
    1: ("interrupted", 0.85),
    15: ("interrupted", 0.6),
    9: ("killed", 0.7),
    11: ("segfault", 0.93),
    6: ("aborted", 0.8),
    7: ("shm_exhausted", 0.7),
    8: ("aborted", 0.8),
    4: ("aborted", 0.8),
    3: ("interrupted", 0.8),
    5: ("aborted", 0.7),
    31: ("aborted", 0.7),
    24: ("time_limit", 0.7),
}
_CODES = {
    127: ("launch_failed", 0.8, ""),
    126: ("launch_failed", 0.6, ""),
    125: ("container_failed", 0.55, ""),
    124: ("time_limit", 0.7, ", which `timeout` returns when the time is over"),
}
_REASONS = {
    "dependencyneversatisfied": ("dependency_failed", 0.97),
    "launchfailedrequeuedheld": ("launch_failed", 0.9),
    "jobholdmaxrequeue": ("launch_failed", 0.7),
    "nodedown": ("node_failure", 0.9),
    "timelimit": ("time_limit", 0.9),
}


MEASURED = 0.85


@dataclass(frozen=True, slots=True)
class Word:
    """A cause that something outside the logs speaks for. `firm`: it says who ended the job, not merely how;
    `measured`: it was so where the job ended, and may or may not be why."""

    cause: str
    weight: float
    says: str
    firm: bool = False
    measured: bool = False


def failed(evidence: Evidence) -> bool | None:
    """Whether it is known that the attempt failed; None when nobody outside the logs says."""
    if evidence.succeeded is not None:
        return not evidence.succeeded
    state = word_of(evidence.state)
    if state in GOOD_STATES and not evidence.exit_code and not evidence.signal:
        return False
    if evidence.exit_code or evidence.signal or evidence.oom_kills or evidence.stalled:
        return True
    if state and state not in GOOD_STATES and state not in _LIVE_STATES:
        return True
    if evidence.reason and evidence.reason.lower() in _REASONS:
        return True
    return False if evidence.exit_code == 0 else None


def words(evidence: Evidence) -> list[Word]:
    """Every cause that the outside speaks for, the firmest first."""
    out: list[Word] = []
    state = word_of(evidence.state)
    if state in _STATES:
        cause, weight = _STATES[state]
        out.append(Word(cause, weight, f"scheduler state {_spelt(evidence.state)}", cause != "killed"))
    if evidence.reason.lower() in _REASONS:
        cause, weight = _REASONS[evidence.reason.lower()]
        out.append(Word(cause, weight, f"scheduler reason: {evidence.reason}", firm=True))
    if evidence.oom_kills > 0:
        who = "it" if evidence.oom_kills == 1 else f"{evidence.oom_kills} of its processes"
        out.append(Word("host_oom", 0.94, f"the kernel killed {who} because memory ran out", firm=True))
    if evidence.stalled:
        out.append(Word("stalled", 0.8, "it was stopped because it made no progress"))
    number = signal_of(evidence)
    if number in _SIGNALS:
        cause, weight = _SIGNALS[number]
        out.append(Word(cause, weight, ended_how(evidence)))
    elif evidence.exit_code in _CODES:
        cause, weight, meaning = _CODES[evidence.exit_code]
        out.append(Word(cause, weight, ended_how(evidence) + meaning))
    out += [Word(one.cause, MEASURED, one.says, measured=True) for one in evidence.evidence]
    return sorted(out, key=lambda word: (not word.firm, -word.weight))


def ended_how(evidence: Evidence) -> str:
    """Its signal or exit code in words; empty where neither is known."""
    number = signal_of(evidence)
    if number is not None and number in {one.value for one in signal.Signals}:
        told = f" (exit code {evidence.exit_code})" if evidence.exit_code is not None else ""
        return f"ended by {signal.Signals(number).name}{told}"
    return "" if evidence.exit_code is None else f"exit code {evidence.exit_code}"


def signal_of(evidence: Evidence) -> int | None:
    """The signal that ended it, also where a shell reported it as 128 plus its number."""
    if evidence.signal:
        return evidence.signal
    code = evidence.exit_code
    if code is None:
        return None
    if code < 0:
        return -code
    return code - 128 if 128 < code <= 128 + 31 else None


def word_of(state: str) -> str:
    """`CANCELLED by 1000` and `CANCELLED+` are CANCELLED, and so is `CA`."""
    word = state.strip().split(" ")[0].rstrip("+").upper()
    return _SHORT.get(word, word)


def _spelt(state: str) -> str:
    """The word in full, and by whom it was cancelled, if it says so."""
    by = state.strip().partition(" by ")[2]
    return word_of(state) + (f" by {plain(by, 40)}" if by else "")
