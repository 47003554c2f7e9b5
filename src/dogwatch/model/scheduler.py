"""A state in the words of a scheduler (PENDING, RUNNING, COMPLETED), as registries and experiment logs write it."""

from __future__ import annotations

_STATES = {"waiting": "PENDING", "running": "RUNNING", "missing": "MISSING"}
_OUTCOMES = {
    "succeeded": "COMPLETED",
    "completed": "COMPLETED",
    "incomplete": "INCOMPLETE",
    "failed": "FAILED",
    "cancelled": "CANCELLED",
    "timed_out": "TIMEOUT",
    "out_of_memory": "OUT_OF_MEMORY",
    "node_failed": "NODE_FAIL",
    "preempted": "PREEMPTED",
    "unknown": "UNKNOWN",
}
_OVER = frozenset((*_OUTCOMES.values(), "BOOT_FAIL", "DEADLINE", "REVOKED", "LAUNCH_FAILED", "RECONFIG_FAIL"))
_LIVE = frozenset(
    (
        *("PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING"),
        *("STAGE_OUT", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT"),
    )
)


def status(state: str | None, outcome: str | None, native: str | None) -> str | None:
    """The word for a job document's state, outcome and native word; None before the first poll. The native
    word is preferred unless it contradicts the state: COMPLETED is never said of what did not succeed."""
    if state is None:
        return None
    word = _scheduler_word(native)
    if state == "ended":
        ours = _OUTCOMES.get(outcome or "unknown", "UNKNOWN")
        fits = word is not None and word not in _LIVE and (word == "COMPLETED") == (ours == "COMPLETED")
        return word if word is not None and fits else ours
    if state == "missing" or word is None or word in _OVER:
        return _STATES.get(state, state.upper())
    return word


def _scheduler_word(native: str | None) -> str | None:
    """The first word of what a scheduler said ("CANCELLED by 1000"), if a scheduler could have said it."""
    word = (native or "").partition(" ")[0].rstrip("+")
    plain = len(word) in range(3, 33) and word.isascii() and word.replace("_", "").isalpha()
    return word if plain and word.isupper() else None
