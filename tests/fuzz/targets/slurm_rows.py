"""What squeue, sacct and scontrol print."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from dogwatch.model import Answered, Ended, Facts, Known, Missing, Outcome, Running, Waiting, follow
from dogwatch.sources.slurm import accounting, logs_of, lookup, queue, source
from tests.fuzz.dice import Dice
from tests.sources.slurm.lines import CAPTURES, MARK, NOW, REF, SUBMIT, answer, job, ran, record, row, whole

STATES = (None, Waiting(), Running(), Missing(NOW - 400), Ended(Outcome.UNKNOWN), Ended(Outcome.FAILED))
TRACKS: tuple[dict[str, Any], ...] = (
    {},
    {"user": None},
    {"submit": None},
    {"missing_since": NOW - 400},
    {"user": "bob"},
)


def target(data: bytes) -> None:
    """Rows are read or the answer is void; a observation can be followed and stored, and a success has Slurm's word
    behind it. Paths of logs are absolute, of one line and not at the root."""
    dice = Dice(data)
    known = Known(
        dice.pick(STATES), attempt=dice.pick(("", f"{SUBMIT}:0", "?:0", "x")), settled=dice.pick((False, True))
    )
    watched, books = job(**dice.pick(TRACKS)), dice.pick((0, 0, 1))
    queued, _, booked = dice.text().replace("@", MARK).partition("\x1e")
    queue.parse(queued)
    accounting.parse(booked)
    said = answer(queued, ran(booked) if not books else ran(rc=1, err=booked[:500]))
    lookup.read(said, ["12"])
    asked, seen = source.read(said, [watched], {REF: known}, NOW)
    follow({REF: known}, Answered("lab", NOW, 0.1, asked, seen))
    for observation in seen.values():
        json.dumps([msgspec.to_builtins(observation.facts), observation.track])
        if isinstance(observation.state, Ended) and observation.state.outcome is Outcome.SUCCEEDED:
            assert "COMPLETED" in observation.native
    facts = Facts(stdout=queued[:200], workdir="/home/alice", name=booked[:100], user="alice", nodes="gpu01")
    for path in logs_of(facts, "12", booked):
        assert path.startswith("/")
        assert not path.startswith("/*")
        assert "\n" not in path
        assert "\0" not in path


def seeds() -> list[bytes]:
    rows = [row(), row("PENDING", "12_[4-9%2]", Reason="Priority"), row("RUNNING", "12+1"), row("COMPLETING", "12_3")]
    books = [record(), whole(), whole("FAILED", "1:0"), record("OUT_OF_MEMORY", "0:125"), record("CANCELLED by 7")]
    texts = [f"{one}\x1e{other}" for one in (*rows, "") for other in (*books, "")]
    texts += [f"{path.read_text()[:4000]}\x1e" for path in sorted(CAPTURES.glob("*/squeue.txt"))]
    texts += [f"\x1e{path.read_text()[:4000]}" for path in sorted(CAPTURES.glob("*/sacct.txt"))]
    texts.append(
        "/x/%x_%A-%a.out\x1e#!/bin/sh\n#SBATCH -o logs/%j.txt\ncd /tmp && srun -o s.%t python t.py >> a.log 2>&1\n"
    )
    return [bytes([2, 1, 0, 0, 0]) + text.replace(MARK, "@").encode() for text in texts]
