"""`dogwatch status`: what a job writes, what it could be resumed from, and the room it has."""

from __future__ import annotations

from typing import Any

from dogwatch.clock import stamp
from dogwatch.tui import phrases
from dogwatch.tui.details import details
from tests.tui import sample

NOW = sample.NOW
SAVED = {**sample.job()["checkpoints"], "newest_iteration": 1400}
ROOM: Any = {"path": "/data", "free": 8e11, "total": 2e12, "inodes_free": 1e6, "inodes": 1.2e6}


def lines(**more: Any) -> dict[str, str]:
    """The page of a running job by label."""
    told = [line.strip().split("  ", 1) for line in details(sample.job(4, **more), [], NOW)[1:]]
    return {pair[0]: pair[1].strip() for pair in told if len(pair) == 2}


def test_the_checkpoint_to_resume_from_is_the_newest_whole_one_and_a_broken_one_is_said() -> None:
    """With the iterations that they hold."""
    intact = {"intact": "/data/ckpt/step-1300.pt", "intact_at": stamp(NOW - 840), "intact_iteration": 1300}
    broken = {"newest_verdict": "damaged", "newest_why": "is cut or damaged"}
    page = lines(checkpoints={**SAVED, **intact, **broken})
    assert "iteration 1,400, damaged" in page["checkpoints"]
    assert page["resume from"] == (
        "step-1300.pt (iteration 1,300), intact, 14m ago; step-1400.pt is damaged: is cut or damaged"
    )
    assert "resume from" not in lines(checkpoints=SAVED)


def test_outputs_show_their_records_and_globs_that_lead_nowhere() -> None:
    """One line each."""
    file = {"path": "/o/rows.jsonl", "size": 5_000_000, "growth_per_minute": 60_000.0, "quiet_seconds": 120.0}
    page = lines(outputs=[{**file, "records": 1234, "verdict": "intact", "why": None}], outputs_missing=["/o/*.npy"])
    assert page["rows.jsonl"].endswith("1,234 records, unchanged for 2m")
    assert page["outputs"] == "nothing matches /o/*.npy yet"


def test_a_quota_and_when_the_room_is_gone_stand_beside_the_disk() -> None:
    """Files of a quota only where they run out, or where only they are limited."""
    quota: Any = {"who": "group", "free": 3e9, "limit": 5e10, "files_free": 900, "files": 1000, "over_soft": False}
    text = phrases.disk(ROOM | {"quota": quota, "full_in_seconds": 5400})
    assert text.endswith("at /data, 3.0 GB of 50.0 GB left of the group's quota, full in 1h 30m")
    few = phrases.disk(ROOM | {"quota": {**quota, "limit": 0}})
    assert few.endswith("900 of 1,000 files left of the group's quota")
    assert phrases.is_low(ROOM | {"quota": quota})
    assert not phrases.is_low(ROOM | {"quota": {**quota, "free": 4e10}})
    assert not phrases.is_low(ROOM | {"quota": None})


def test_no_text_of_a_job_reaches_the_page_as_it_is() -> None:
    """Names and reasons come from files that anybody may have written."""
    for line in details(sample.hostile().jobs[0], [], NOW):
        assert line.isprintable(), ascii(line)


def test_a_checkpoint_is_not_overdue_because_nobody_has_looked() -> None:
    """Silence of ours says nothing of the job: what counts is when it was last seen."""
    late = {**SAVED, "newest_at": stamp(NOW - 4000), "next_at": stamp(NOW - 3400), "interval_seconds": 600}
    assert "overdue" not in lines(checkpoints=late, confirmed_at=stamp(NOW - 3500))["checkpoints"]
    assert lines(checkpoints=late, confirmed_at=stamp(NOW - 400))["checkpoints"].endswith("next overdue by 50m")


def test_what_is_due_this_moment_is_not_due_before_it() -> None:
    """The promised moment passed half a second ago: the time left is none, and never negative."""
    late = {**sample.job(4)["eta"], "at": stamp(sample.NOW - 0.5), "low_at": stamp(sample.NOW - 1)}
    assert phrases.eta(sample.job(4, eta=late), sample.NOW).startswith("done in 0s (")


def test_the_node_the_limit_and_what_was_used_are_shown() -> None:
    """Of a running job when it meets its limit and what polls saw it use; of an ended one what it used."""
    slurm: Any = {
        "place": "lab",
        "nodes": "gpu[01-04]",
        "time_limit_seconds": 7200.0,
        "time_limit_at": stamp(NOW + 3600),
    }
    spent = {"memory_peak_bytes": 7e9, "gpu_busy_seconds": 355.0, "gpu_tenths_seconds": [100.0] + [0.0] * 8 + [400.0]}
    page = lines(**slurm, started=stamp(NOW - 3600), spent=spent, efficiency=None)
    assert page["node"] == "gpu[01-04] (lab)"
    assert page["limit"] == "1h of 2h, ends at 21:00"
    assert page["used"] == "memory 7.0 GB, GPU 71 %"
    used = {"cpu_percent": 85.4, "memory_bytes": 12e9, "memory_requested_bytes": 32e9, "memory_percent": 37.5}
    over = sample.ended(**slurm, efficiency={**used, "gpu_percent": 71.0, "gpu_memory_bytes": 60e9})
    told = [" ".join(line.split()) for line in details(over, [], NOW)]
    assert "used CPU 85 %, memory 12.0 GB of 32.0 GB (38 %), GPU 71 %, GPU memory 60.0 GB" in told
    assert any(line.startswith("limit ") and line.endswith(" of 2h") for line in told)
    assert "node" not in lines()
