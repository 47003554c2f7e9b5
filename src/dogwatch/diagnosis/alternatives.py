"""What may lie behind an ending whose cause the evidence does not show, the likeliest first.

The lines that remain then are consequences, and each leaves a few causes open; without any, the way of ending does.
"""

from __future__ import annotations

from collections.abc import Sequence

from dogwatch.diagnosis.collected_lines import Hit
from dogwatch.diagnosis.exit_evidence import Word, signal_of, word_of
from dogwatch.diagnosis.interface import Evidence

MOST = 3
SHARES = (0.4, 0.25, 0.15)
_BEHIND = (
    ("input/output error", ("disk_full", "node_failure", "checkpoint_corrupt")),
    ("disk i/o error", ("disk_full", "disk_quota", "node_failure")),
    ("died unexpectedly", ("segfault", "host_oom", "killed")),
    ("worker process has died", ("host_oom", "segfault", "killed")),
    ("a worker died or was killed", ("host_oom", "segfault", "killed")),
    ("detected fatal errors", ("node_failure", "preempted", "host_oom")),
    ("due to task failure", ("code_error", "host_oom", "config_error")),
    ("exited with exit code 2", ("config_error", "file_missing", "code_error")),
    ("exited with exit code", ("code_error", "config_error", "missing_module")),
    ("childfailederror", ("code_error", "config_error", "cuda_oom")),
    ("traceback (most recent call last)", ("code_error", "killed", "time_limit")),
)
_BY_ITS_CODE = ("code_error", "config_error", "file_missing")
_BY_ITS_USE = ("config_error", "file_missing", "code_error")
_BY_A_WARNING = ("time_limit", "preempted", "interrupted")  # what schedulers send SIGUSR1 and SIGUSR2 ahead of
_WARNINGS = (10, 12)
_ENDED_BY_ITSELF = ("FAILED", "SPECIAL_EXIT")  # Slurm has other words for a limit or a kill
_WITHOUT_A_WORD = ("host_oom", "killed", "time_limit")


def likeliest(evidence: Evidence, said: Sequence[Word], hits: Sequence[Hit]) -> tuple[str, ...]:
    """Two or three causes that would end like this."""
    names = [word.cause for word in said]
    texts = " ".join(hit.text.lower() for hit in hits)
    names += next((causes for words, causes in _BEHIND if words in texts), ())
    names += _by_ending(evidence)
    return tuple(dict.fromkeys(names))[:MOST]


def _by_ending(evidence: Evidence) -> tuple[str, ...]:
    if signal_of(evidence) in _WARNINGS:
        return _BY_A_WARNING
    if evidence.exit_code == 2:  # what a program says of arguments that it does not take
        return _BY_ITS_USE
    by_itself = (evidence.exit_code or 0) > 0 or word_of(evidence.state) in _ENDED_BY_ITSELF
    return _BY_ITS_CODE if by_itself else _WITHOUT_A_WORD
