"""Views that could be real: a job of N workers in every condition, and one whose every text is hostile."""

from __future__ import annotations

import random
from typing import Any

from dogwatch.clock import stamp
from dogwatch.tui.view import View

NOW = 1_794_772_800.0  # 2026-11-15T20:00:00Z
REF = "here/process:7f3a91"
HOSTILE = (
    "evil\x1b]52;c;aGFja2Vk\x07\x1b[2J\x1b[1;1H\x1b]0;title\x1b\\\rover\nnext\ttab\x9b31mC1\x9d0;x\x9c"
    "\u202ebidi\u2066\u200b\x00\x08\x7f\u2028 漢字かな 👩‍👩‍👧 e\u0301\ud800 " + "long" * 300
)


def worker(index: int, draw: random.Random, **other: Any) -> Any:
    return {
        "index": index,
        "pid": 4000 + index,
        "doing": "running" if index % 5 else "sleeping",
        "gpu": str(index % 8),
        "cpu_percent": round(draw.uniform(80, 140), 1),
        "memory_bytes": int(draw.uniform(0.8e9, 14e9)),
        "children": 0,
        "uptime_seconds": 9240.0,
        "rate": round(draw.uniform(34, 42), 2),
        "step": 38000,
        "exit_code": None,
        "signal": None,
        "outcome": None,
        "reason": "",
        "log": f"/runs/x/worker-{index}.log",
        **other,
    }


def workers(number: int) -> Any:
    """All well for a few; among many, one killed, one stopped, one slow and one done."""
    draw = random.Random(4)
    odd: dict[int, dict[str, Any]] = {}
    if number > 8:
        why = "killed by SIGKILL; sender and reason unknown"
        odd[7] = {"doing": "gone", "outcome": "failed", "signal": 9, "reason": why}
        odd[number // 3 + 2] = {"doing": "stopped", "rate": 0.0, "cpu_percent": 0.0}
        odd[number // 3 * 2] = {"rate": 9.0}
        odd[number - 1] = {"doing": "gone", "outcome": "succeeded", "exit_code": 0}
    return [worker(index, draw, **odd.get(index, {})) for index in range(number)]


def job(number: int = 32, now: float = NOW, **other: Any) -> Any:
    gone = {"rule": "worker_gone", "level": "critical", "text": "worker 7 of 32 is gone: killed by SIGKILL"}
    disk = {"rule": "disk_low", "level": "warning", "text": "/data has 8.1 GB free"}
    return {
        "ref": REF,
        "id": "7f3a91",
        "source": "process",
        "place": "here",
        "name": "train-7b-sft",
        "description": "",
        "state": "running",
        "outcome": None,
        "native": "running",
        "reason": "",
        "exit_code": None,
        "signal": None,
        "attempts": 1,
        "since": stamp(now - 9240),
        "submitted": stamp(now - 9245),
        "started": stamp(now - 9240),
        "confirmed_at": stamp(now - 2),
        "evidence": [{"by": "process table", "says": "29 of 32 workers found", "at": stamp(now - 2)}],
        "progress": {
            "step": 1_234_567,
            "total": 1_980_000,
            "unit": "images",
            "fraction": 1_234_567 / 1_980_000,
            "rate": 1204.0,
            "rate_average": 1180.3,
            "at": stamp(now - 3),
        },
        "eta": {
            "remaining_seconds": 740.0,
            "low_seconds": 620.0,
            "high_seconds": 900.0,
            "confidence": 0.9,
            "at": stamp(now + 740),
            "low_at": stamp(now + 620),
            "high_at": stamp(now + 900),
        },
        "findings": [{**gone, "since": stamp(now - 190)}, {**disk, "since": stamp(now - 1900)}] if number > 8 else [],
        "diagnosis": None,
        "workers": workers(number),
        "outputs": [
            {"path": f"/data/out/p-{i}.jsonl", "size": s, "growth_per_minute": 2.1e6, "quiet_seconds": 3.0}
            for i, s in enumerate((120_000_000, 240_000_000, 360_000_000, 480_000_000))
        ],
        "checkpoints": {
            "count": 14,
            "newest": "/data/ckpt/step-1400.pt",
            "newest_at": stamp(now - 240),
            "interval_seconds": 600.0,
            "next_at": stamp(now + 360),
        },
        "disks": [{"path": "/data", "free": 8.1e9, "total": 2e12, "inodes_free": 1e6, "inodes": 1.2e6}],
        "expect": {"workers": number, "total_items": 1_980_000},
        "verified": None,
        "spent": None,
        "checks": [],
        **other,
    }


def ended(number: int = 4, now: float = NOW, **other: Any) -> Any:
    """The same job after every worker succeeded."""
    done = [{**w, "doing": "gone", "outcome": "succeeded", "exit_code": 0} for w in workers(number)]
    progress = {**job(number, now)["progress"], "step": 1_980_000, "fraction": 1.0}
    says = f"{number} workers: exit 0"
    final = {"state": "ended", "outcome": "succeeded", "exit_code": 0, "since": stamp(now - 5), "eta": None}
    evidence = [{"by": "supervisor's record", "says": says, "at": stamp(now - 5)}]
    return job(number, now, **{**final, "workers": done, "progress": progress, "evidence": evidence, **other})


def event(seq: int, at: float, text: str, level: str = "info", kind: str = "job.state", **other: Any) -> Any:
    known = {
        "seq": seq,
        "at": stamp(at),
        "kind": kind,
        "ref": REF,
        "place": None,
        "level": level,
        "text": text,
    }
    return {**known, "body": {}, **other}


def events(now: float = NOW) -> Any:
    return [
        event(1, now - 9240, "added train-7b-sft: 32 workers", kind="job.added"),
        event(2, now - 9238, "running: 32 of 32 workers are running"),
        event(3, now - 2000, "half way: 990,000 of 1,980,000 images", kind="progress.milestone"),
        event(4, now - 1900, "/data has 8.1 GB free", "warning", "finding.opened"),
        event(5, now - 190, "worker 7 of 32 is gone: killed by SIGKILL", "critical", "finding.opened"),
        event(6, now - 100, "checkpoint 14 saved: step-1400.pt", kind="checkpoint.saved"),
    ]


def view(number: int = 32, now: float = NOW, alive: bool = True, **other: Any) -> View:
    watch = {"alive": alive, "who": "pid 4242 on box", "last_tick": stamp(now - 2), "ours": True}
    place = {"name": "here", "answered_at": stamp(now - 2), "unreachable_since": None, "unreachable_why": None}
    made = {"jobs": [job(number, now)], "events": events(now), "watch": watch, "places": [place], **other}
    return View(**made)


def hostile(now: float = NOW) -> View:
    """Escape codes, line ends, bidi marks and endless text wherever a job could put its own."""
    bad = HOSTILE
    odd = [{**w, "gpu": bad, "reason": bad, "doing": bad} for w in workers(4)[:2]]
    fallen = [{**w, "outcome": "failed", "exit_code": 3, "reason": bad} for w in workers(4)[2:]]
    normal = job(4, now)
    evil: Any = {
        **normal,
        "name": bad,
        "ref": bad,
        "reason": bad,
        "progress": {**normal["progress"], "unit": bad},
        "evidence": [{"by": bad, "says": bad, "at": stamp(now)}],
        "findings": [{"rule": bad, "level": "critical", "text": bad, "since": stamp(now - 9)}],
        "workers": odd + fallen,
        "outputs": [
            {"path": f"/x/{bad}{i}", "size": 1, "growth_per_minute": 1.0, "quiet_seconds": 0, "records": i}
            | {"verdict": "damaged", "why": bad}
            for i in (1, 2)
        ],
        "outputs_missing": [bad],
        "checkpoints": {**normal["checkpoints"], "newest": bad, "newest_verdict": "damaged", "newest_why": bad}
        | {"intact": bad, "intact_at": stamp(now - 99)},
        "disks": [
            {"path": bad, "free": 1, "total": 2, "inodes_free": 1, "inodes": 100, "full_in_seconds": 60}
            | {"quota": {"who": bad, "free": 1, "limit": 2, "files_free": 0, "files": 9, "over_soft": True}}
        ],
    }
    unreachable_hosts: Any = {
        "name": bad,
        "answered_at": None,
        "unreachable_since": stamp(now - 60),
        "unreachable_why": bad,
    }
    told = [event(1, now, bad, "critical", ref=bad), event(2, now, bad, place=bad)]
    watch: Any = {"alive": True, "who": bad, "last_tick": stamp(now), "ours": False}
    return View(jobs=[evil], events=told, watch=watch, places=[unreachable_hosts])
