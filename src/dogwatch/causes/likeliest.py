"""What may lie behind an ending of which the evidence does not tell the cause, the likeliest first.

The lines that remain then are consequences, and each leaves a few causes open; without any, the way of ending does.
"""

from __future__ import annotations

from collections.abc import Sequence

from dogwatch.causes.interface import Evidence
from dogwatch.causes.notes import Hit
from dogwatch.causes.outside import Word

MOST = 3
SHARES = (0.4, 0.25, 0.15)
_BEHIND = (
    ("input/output error", ("disk_full", "node_failure", "checkpoint_corrupt")),
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
_WITHOUT_A_WORD = ("host_oom", "killed", "time_limit")


def likeliest(evidence: Evidence, said: Sequence[Word], hits: Sequence[Hit]) -> tuple[str, ...]:
    """Two or three causes that would end like this."""
    names = [word.cause for word in said]
    texts = " ".join(hit.text.lower() for hit in hits)
    names += next((causes for words, causes in _BEHIND if words in texts), ())
    names += _BY_ITS_CODE if evidence.exit_code and evidence.exit_code > 0 else _WITHOUT_A_WORD
    return tuple(dict.fromkeys(names))[:MOST]
