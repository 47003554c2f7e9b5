"""The probe's answer as it arrives from a host, and the sources that read what was taken."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from dogwatch.model import Answered, Job, Known, Running, follow
from dogwatch.sources.process import source as processes
from dogwatch.sources.slurm import source as slurm
from dogwatch.wire.answer import LONGEST_SAID, Malformed, read
from tests.fuzz.dice import Dice, documents, is_clean, refused_well
from tests.sources.slurm.lines import NOW, job, record, row

PROCESS = {
    "pid": 7,
    "doing": "sleeping",
    "start": 55,
    "boot": "b",
    "started": NOW,
    "cpu": 0.0,
    "rss": 88,
    "children": 0,
}
PROCESS |= {"threads": 1, "uid": 0, "command": "python t.py", "exit": None, "kernel_log": None}
PROCESS |= {"oom": {"used": 6, "limit": 9, "machine": True, "cgroup": "/x", "kills": 0}}
RECORD = {"pid": 7, "start": 55, "boot": "b", "at": NOW, "code": 1, "signal": None, "oom": {"counter": 1}}
RUN = {"supervisor": RECORD, "supervisor_alive": True, "spec_workers": 1, "abandoned": False, "problem": None}
RUN |= {"workers": [{"index": 0, "start": RECORD, "end": RECORD, "process": PROCESS}]}
FIND = {"workers": [[7, 55, "b"]], "process": [PROCESS], "problem": None, "count": 1, "numbers": [1], "age": 3.0}


def ran(out: str) -> dict[str, Any]:
    return {"rc": 0, "out": out, "err": "said\n", "seconds": 0.1, "why": None}


LOG = {"dev": 6, "ino": 2, "head": 1, "headlen": 10, "size": 10, "mtime": NOW, "from": 0, "text": "step 1/10\n"}
GPU = {"index": 0, "uuid": "GPU-1", "name": "H100", "pci": "0000:3b:00", "parent": "", "trouble": "", "throttle": []}
GPU |= dict.fromkeys(("used", "watts", "watts_limit", "celsius", "mhz", "mhz_most", "ecc"), 1)
GPU |= {"memory_used": 5, "memory_total": 9, "processes": [{"pid": 7, "memory": 3, "seen": True}]}
FILE = {"file": "/t/o.jsonl", "format": "jsonl", "verdict": "intact", "why": "", "size": 3, "records": 1}
TRUTH: dict[str, Any] = {
    "nonce": "29",
    "clock": {"wall": NOW, "boottime": 551.0},
    "boot": "b",
    "host": "vm",
    "python": "3.11.7",
    "process": {"ok": True, "seconds": 0.1, "runs": {"r": RUN}, "pids": {"p": [PROCESS]}, "find": {"f": FIND}},
    "commands": {
        "ok": True,
        "me": "alice",
        "counts": {"squeue": 1},
        "seconds": 0.1,
        "ran": {
            "slurm.queue": ran(row()),
            "slurm.accounting": {**ran(record()), "ids": ["12"], "users": {"7": "x"}},
            "slurm.config": ran("ClusterName = lab\nSLURM_VERSION = 24.11\n"),
            "slurm.requeue.12": ran("JobId=12 Requeue=1 Restarts=0 BatchFlag=1\n"),
            "slurm.script.12": ran("#!/bin/sh\n"),
        },
    },
    "logs": {"ok": True, "job": {"files": {"/t/r.log": {**LOG, "reset": None, "skipped": 0}}, "capped": False}},
    "texts": {"ok": True, "job": {"files": {}, "missing": [], "unreadable": {"/x": "no"}, "capped": False}},
    "files": {"ok": True, "job": {"capped": False, "missing": [], "unreadable": {}, "checkpoints": []}},
    "disks": {"ok": True, "disks": {"/t": {"total": 9, "free": 7, "mount": "6", "writable": True, "inodes": 1}}},
    "usage": {"ok": True, "job": {"processes": 1, "cpu": 0.0, "read": 4, "write": 0, "unread": 0, "age": 0.1}},
    "extra_probes": {
        "ok": True,
        "intact": {"files": [FILE]},
        "gpus": {"by": "nvml", "gpus": [GPU], "driver": "", "xids": None, "failed": {}, "seconds": 0.1},
        "quota": {"quotas": {"/t": [dict.fromkeys(("used", "soft", "limit", "files"), 1)]}},
        "memory": {"trees": {"bytes": {"7": 4}, "processes": 1, "rough": 0}, "cpu": 0.2},
    },
}
TRUTH["files"]["job"]["outputs"] = [{"path": "/t/o", "size": 3, "mtime": NOW}]
TRUTH["disks"]["disks"]["/t"]["inodes_free"] = 1
TRUTH["usage"]["job"] |= {"blocked": 0, "stopped": 0}
TRUTH["extra_probes"]["quota"]["quotas"]["/t"][0] |= {"who": "me", "files_soft": 1, "files_limit": 1}
WATCHED = [
    Job("r", "here", "process", "r", "train", registered=NOW, track={"run": "/x"}),
    Job("p", "here", "process", "p", "train", registered=NOW, track={"workers": [[7, 55, "b"]]}),
    Job("f", "here", "process", "f", "train", registered=NOW, track={"find": {"name": "t.py", "want": 1}}),
]
KNOWN = Known(Running(), confirmed_at=NOW - 60)


def target(data: bytes) -> None:
    """It is refused with a short clean sentence, or it is taken: then its words are clean and bounded, and every source
    reads it without an error."""
    reply = Dice(data).document(TRUTH).encode("utf-8", "replace")
    try:
        answer = read(reply)
    except Malformed as wrong:
        return refused_well(wrong, limit=700)
    body = answer.body
    for text in (body.get("host"), body.get("error"), body.get("process", {}).get("why")):
        assert text is None or (len(text) <= LONGEST_SAID and is_clean(text))
    if answer.process is not None and answer.process.ok:
        asked, seen = processes.read(answer.process, WATCHED, {one.ref: KNOWN for one in WATCHED}, NOW)
        processes.blind(answer.process, WATCHED)
        follow({one.ref: KNOWN for one in WATCHED}, Answered("here", NOW, 0.1, asked, seen))
    if answer.commands is not None and answer.commands.ok:
        watched = job()
        if slurm.trouble(answer.commands, [watched]) is None:
            asked, seen = slurm.read(answer.commands, [watched], {watched.ref: KNOWN}, NOW)
            follow({watched.ref: KNOWN}, Answered("lab", NOW, 0.1, asked, seen))
            for observation in seen.values():
                json.dumps([msgspec.to_builtins(observation.facts), observation.track])


def seeds() -> list[bytes]:
    read(json.dumps(TRUTH).encode())  # the truth itself is taken
    bare = [{name: {"ok": True}} for name in TRUTH]
    return documents(TRUTH, *({name: section} for name, section in TRUTH.items()), *bare)
