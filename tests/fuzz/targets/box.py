"""What a machine without a scheduler says of its runs: the records of a chain, tmux, processes, markers."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from dogwatch.model import Answered, Job, Known, Running, follow
from dogwatch.sources.box import source
from dogwatch.wire.answer import Malformed, read
from tests.fuzz.dice import Dice, documents, refused_well
from tests.fuzz.targets.answer import PROCESS
from tests.sources.slurm.lines import NOW

CLAIM = {"pid": 7, "start": 55, "boot": "b", "at": NOW, "attempt": 1, "machine": "m", "why": "", "log_from": 0}
END = {"attempt": 1, "started": NOW, "ended": NOW, "at": NOW, "code": 0, "signal": None}
RECORDS: dict[str, Any] = {
    "spec.json": {"run": "c", "stages": [{"name": "a", "log": "a.log"}, {"name": "b"}], "created": NOW},
    "lock/owner.json": CLAIM,
    "heartbeat.json": {"at": NOW, "attempt": 1, "line": "step 1/2"},
    "pushed.json": {"at": NOW, "ok": True, "way": "hub", "detail": None},
    "cancelled.json": {"at": NOW, "by": "kim"},
    "attempt-1.json": CLAIM,
    "stage-1.start.json": CLAIM,
    "stage-1.done": END,
    "stage-1.end.json": END,
    "stage-2.waits.json": {"attempt": 1, "for": "file x", "at": NOW},
    "stage-2.start.json": CLAIM,
    "end.json": {"attempt": 1, "at": NOW, "code": 1, "why": "failed", "error": "no"},
}
FILES = {"count": 2, "bytes": 9, "capped": False, "newest": [{"path": "/o/a", "size": 3, "mtime": NOW}]}
FILES |= {"unreadable": {"/o/b": "no"}, "text": "end\n"}
SESSION = {"name": "s", "created": NOW}
SESSION |= {"panes": [{"dead": True, "status": 1, "command": "python", "process": PROCESS}]}
FIND = {"workers": [[7, 55, "b"]], "process": [PROCESS], "problem": None}
ROW = {"processes": [PROCESS], "threads": {"count": 4, "running": 1, "processes": 1}}
MACHINE = {"id": "m", "wall": NOW, "boot": "b", "init_start": 1, "cpus": 8, "quota": 4.0, "load": 1.0}
TRUTH: dict[str, Any] = {
    "box": {
        "ok": True,
        "tmux": {"asked": True},
        "machine": MACHINE,
        "rows": {
            "c": {**ROW, "chain": {"there": True, "problem": None, "texts": RECORDS}},
            "t": {**ROW, "session": SESSION, "markers": FILES, "results": FILES},
            "f": {**ROW, "find": FIND, "results": FILES},
        },
    }
}
WATCHED = [
    Job("c", "box", "box", "c", "train", registered=NOW, track={"chain": "/runs/c"}),
    Job("t", "box", "box", "t", "train", registered=NOW, track={"tmux": "s", "markers": ["/o/*"], "expect_files": 2}),
    Job("f", "box", "box", "f", "train", registered=NOW, track={"find": {"name": "t.py"}, "results": ["/o/*"]}),
]
KNOWN = Known(Running(), confirmed_at=NOW - 60, attempt="1")


def as_sent(truth: Any) -> Any:
    """Records travel as the texts of their files."""
    try:
        texts = truth["box"]["rows"]["c"]["chain"]["texts"]
        truth["box"]["rows"]["c"]["chain"]["texts"] = {
            name: json.dumps(value) for name, value in dict(texts).items() if not isinstance(value, str)
        } | {name: value for name, value in dict(texts).items() if isinstance(value, str)}
    except (LookupError, TypeError, ValueError):
        pass
    return truth


def target(data: bytes) -> None:
    """It is refused with a short clean sentence, or it is taken: then every run is read without an error, whatever its
    records say, and what is kept of it is JSON."""
    document = Dice(data).document(TRUTH)
    try:
        reply = json.dumps(as_sent(json.loads(document)))
    except (ValueError, RecursionError):
        reply = document
    try:
        answer = read(reply.encode("utf-8", "replace"))
    except Malformed as wrong:
        return refused_well(wrong, limit=700)
    if answer.box is None or not answer.box.ok:
        return
    known = {job.ref: KNOWN for job in WATCHED}
    asked, seen = source.read(answer.box, WATCHED, known, NOW)
    source.blind(answer.box, WATCHED)
    follow(known, Answered("box", NOW, 0.1, asked, seen))
    for observation in seen.values():
        json.dumps([msgspec.to_builtins(observation.facts), observation.track])


def seeds() -> list[bytes]:
    answer = read(json.dumps(as_sent(json.loads(json.dumps(TRUTH)))).encode())  # the truth itself is taken
    assert answer.box is not None
    assert source.read(answer.box, WATCHED, {job.ref: KNOWN for job in WATCHED}, NOW)[1].keys() == {"c", "t", "f"}
    return documents(TRUTH)
