"""Why a job failed, by its log and by what is known of its end."""

from __future__ import annotations

import json

from dogwatch.diagnosis import Evidence, Log, diagnose
from dogwatch.diagnosis.document import document
from dogwatch.diagnosis.tracebacks import bare, body_of
from tests.diagnosis.examples import EXAMPLES_OF
from tests.fuzz.dice import Dice, is_clean

SIZE = 65536
EXITS = (None, 0, 1, 9, 127, 134, 137, 139, 255, -9, 1 << 40)
STATES = ("", "FAILED", "OUT_OF_MEMORY", "TIMEOUT", "CANCELLED by 7", "NODE_FAIL", "x" * 300)


def target(data: bytes) -> None:
    """Never raises; quotes are clean and bounded, and the document is bounded JSON."""
    dice = Dice(data)
    code, state, end = dice.pick(EXITS), dice.pick(STATES), dice.pick((None, True, False))
    logs = (Log("rank-0.log", dice.pieces()),)
    told = document(
        diagnose(Evidence(logs, exit_code=code, state=state, reason=state, succeeded=end, oom_kills=code == 9))
    )
    assert len(json.dumps(told)) < SIZE
    for quote in told["evidence"]:
        assert is_clean(quote["text"])
    line = data.decode("utf-8", "replace")[:2000]
    bare(line)
    body_of(line)


def seeds() -> list[bytes]:
    logs = [
        b"Traceback (most recent call last):\n  File \"/srv/a.py\", line 1, in f\n    g()\nKeyError: 'x'\n",
        b"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
        b"\nDuring handling of the above exception, another exception occurred:\n\n",
        b"slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***\n",
        b"[rank1]: Exception in thread T:\nterminate called after throwing an instance of 'c10::Error'\n",
    ]
    logs += [line.encode() for lines in EXAMPLES_OF.values() for line in lines[:2]]
    return [bytes([2, 1, 2, 2, 16, 40]) + log for log in logs]
