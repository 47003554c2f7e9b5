"""The experiment log: its blocks to the letter, each once, whatever happens in between."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import pytest

from dogwatch.clock import stamp
from dogwatch.model import Ended, Job, Known, Outcome, Place, Running, Waiting
from dogwatch.model.state import word
from dogwatch.store.rows import cursors, tick
from dogwatch.store.rows.places import add_place
from dogwatch.store.rows.registration import forget, register
from dogwatch.store.sqlite.database import SqliteStore as Store
from dogwatch.store.sqlite.location import open_store
from dogwatch.watcher.reports import log_blocks as blocks
from dogwatch.watcher.reports.experiment_log import ExperimentLog, LogNotWritten, advance
from tests.store.sample import fill_up, mounted
from tests.support import wait_until

ROOT = Path(__file__).parents[2]
NOW = 1_762_872_612.0  # 2025-11-11 14:50:12 UTC
USED = {
    "wall_seconds": 592,
    "limit_seconds": 900,
    "wall_percent": 65.78,
    "cpu_percent": 56.67,
    "memory_bytes": 6_764_573_491,
    "memory_requested_bytes": 40 << 30,
    "exceeded": False,
}


@pytest.fixture(autouse=True)
def _utc(monkeypatch):
    """Local time is part of the format."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def store(home: Path):
    with open_store(str(home)) as opened:
        add_place(opened, Place("hpc", "ssh", {}, 60.0))
        yield opened


def add(store: Store, number: int, at: float = NOW, name: str | None = None) -> str:
    ref = f"hpc/slurm:{number}"
    register(store, Job(ref, "hpc", "slurm", str(number), name or f"run/task/epoch{number}", "", at, at), at, 1.0)
    return ref


def see(store: Store, ref: str, before, after, native: str, at: float = NOW, attempt: int = 1, **detail: Any) -> None:
    """Commit what a tick would: the state and the event that tells of it."""
    began = after.at if isinstance(after, Ended) and after.at else at
    known = Known(after, began, native, "", f"a{attempt}", attempt, at)
    body: Any = {"before": word(before), "after": word(after), "native": native, "attempt": attempt}
    if isinstance(after, Ended):
        body["outcome"] = after.outcome.value
    event = tick.Event("job.state", "changed", ref=ref, body=body)
    tick.commit(
        store, tick.Tick(at, 1.0, jobs=(tick.JobUpdate(ref, known, detail=cast("Any", detail)),), events=(event,))
    )


def learn(store: Store, ref: str, after: Ended, native: str, at: float = NOW, **detail: Any) -> None:
    """What comes late: no event, only a fuller document."""
    known = Known(after, after.at or at, native, "", "a1", 1, at)
    tick.commit(store, tick.Tick(at, 1.0, jobs=(tick.JobUpdate(ref, known, detail=cast("Any", detail)),)))


def kinds(path: Path) -> list[str]:
    return re.findall(r"^\[[-: \d]{19}\] ([A-Z_]+):", path.read_text(), re.M)


DONE = Ended(Outcome.SUCCEEDED, 0, at=NOW)


def test_the_log_of_one_job_is_just_this(store, tmp_path) -> None:
    """From waiting to the end, with its metrics and the summary, to the letter."""
    log = ExperimentLog(store, str(path := tmp_path / "experiment.log"))
    ref = add(store, 12345690, NOW - 900, "r8_lr1e-5/capitalization/epoch0")
    see(store, ref, None, Waiting(), "PENDING", NOW - 600)
    log.advance(NOW - 600, looked=["hpc"])
    see(store, ref, Waiting(), Running(NOW - 292), "RUNNING", NOW - 292)
    log.advance(NOW - 290, looked=["hpc"])
    reading: Any = {"gpu_percent": 87.4, "gpu_memory_used_bytes": 61 << 30, "gpu_memory_total_bytes": 80 << 30}
    log.advance(NOW - 280, looked=["hpc"], readings={ref: reading})
    see(store, ref, Running(), DONE, "COMPLETED", NOW + 3)
    log.advance(NOW + 3, looked=["hpc"])
    learn(store, ref, DONE, "COMPLETED", NOW + 33, efficiency=USED)
    log.advance(NOW + 33, looked=["hpc"])
    assert path.read_text() == (
        "[2025-11-11 14:40:12] STATUS_CHECK: Polling SLURM\n"
        "Result: 1 job found - 1 PENDING, 0 RUNNING, 0 COMPLETED\n"
        "[2025-11-11 14:40:12] STATE_CHANGE: r8_lr1e-5/capitalization/epoch0\n"
        "Previous: UNKNOWN\nCurrent: PENDING\nJob ID: 12345690\nAction: Updated run state\n"
        "[2025-11-11 14:45:20] STATUS_CHECK: Polling SLURM\n"
        "Result: 1 job found - 0 PENDING, 1 RUNNING, 0 COMPLETED\n"
        "[2025-11-11 14:45:20] STATE_CHANGE: r8_lr1e-5/capitalization/epoch0\n"
        "Previous: PENDING\nCurrent: RUNNING\nJob ID: 12345690\nAction: Updated run state\n"
        "[2025-11-11 14:45:32] RESOURCE_STATUS: r8_lr1e-5/capitalization/epoch0\n"
        "GPU Utilization: 87% | GPU Memory: 61.0/80.0 GB\n"
        "[2025-11-11 14:50:15] STATUS_CHECK: Polling SLURM\n"
        "Result: 1 job found - 0 PENDING, 0 RUNNING, 1 COMPLETED\n"
        "[2025-11-11 14:50:15] STATE_CHANGE: r8_lr1e-5/capitalization/epoch0\n"
        "Previous: RUNNING\nCurrent: COMPLETED\nJob ID: 12345690\n"
        "Completed: 2025-11-11 14:50:12\nElapsed: 4m 52s\nAction: Updated run state\n"
        "[2025-11-11 14:50:15] ALL_COMPLETE: Monitoring finished\n"
        "Summary: 1 evaluation completed - 1 COMPLETED, 0 FAILED\nTotal time: 15 minutes\n"
        "[2025-11-11 14:50:45] COMPUTE_METRICS: r8_lr1e-5/capitalization/epoch0\n"
        "Job ID: 12345690\nGPU Time: 00:09:52 / 00:15:00 (65.8%)\nMemory: 6.30 GB / 40.00 GB\nCPU Efficiency: 56.7%\n"
    )


def test_every_block_says_what_it_must() -> None:
    """The variants that one job's life does not show."""
    job: Any = {"id": "7", "name": "a\nb", "state": "ended", "attempts": 1, "since": stamp(NOW)}
    job["efficiency"] = {**USED, "exceeded": True, "wall_seconds": 93784}
    text = blocks.compute_metrics(NOW, job)
    assert text is not None
    assert text.splitlines()[0] == "[2025-11-11 14:50:12] COMPUTE_METRICS: a\\x0ab"
    assert "GPU Time: 1-02:03:04 / 00:15:00 (**EXCEEDED**)\n" in text
    assert text.endswith("⚠️ Time limit exceeded — consider increasing eval time limit when re-scaffolding\n")
    assert blocks.compute_metrics(NOW, job | {"efficiency": None}) is None
    bare = blocks.compute_metrics(NOW, job | {"efficiency": {"wall_seconds": 5}})
    assert bare is not None
    assert bare.splitlines()[1:] == ["Job ID: 7", "GPU Time: 00:00:05 / unlimited"]
    assert blocks.resource_status(NOW, job, {}) is None
    mig = blocks.resource_status(NOW, job, {"gpu_percent": None, "gpu_memory_used_bytes": 1 << 30})
    assert mig is not None
    assert mig.splitlines()[1] == "GPU Utilization: N/A | GPU Memory: 1.0/N/A GB"
    words = ["PENDING"] * 4 + ["RUNNING"] * 4
    check = blocks.status_check(NOW, words, "SLURM")
    assert check.splitlines()[1] == "Result: 8 jobs found - 4 PENDING, 4 RUNNING, 0 COMPLETED"
    odd = blocks.status_check(NOW, ["FAILED", None, "COMPLETED"], "SLURM")
    assert odd.splitlines()[1] == "Result: 3 jobs found - 0 PENDING, 0 RUNNING, 1 COMPLETED, 1 FAILED, 1 UNKNOWN"
    summary = blocks.all_complete(NOW, ["COMPLETED"] * 7 + ["TIMEOUT"], 7500)
    assert (
        "Summary: 8 evaluations completed - 7 COMPLETED, 0 FAILED, 1 TIMEOUT\nTotal time: 2 hours 5 minutes" in summary
    )
    assert (blocks.elapsed(52), blocks.elapsed(3600), blocks.elapsed(90061)) == ("52s", "1h 0m 0s", "1d 1h 1m 1s")


def test_a_failure_names_its_log_and_is_never_called_completed(store, tmp_path) -> None:
    """Slurm's COMPLETED of a job that we know failed is FAILED here too."""
    path = tmp_path / "log"
    ref = add(store, 1)
    see(store, ref, Running(), Ended(Outcome.FAILED, 1, at=NOW), "COMPLETED", stdout="/scratch/r1/slurm-1.out")
    advance(store, str(path), NOW)
    assert "Previous: RUNNING\nCurrent: FAILED\n" in path.read_text()
    assert "Result log: /scratch/r1/slurm-1.out\n" in path.read_text()
    assert "Summary: 1 evaluation completed - 0 COMPLETED, 1 FAILED\n" in path.read_text()


def test_all_complete_comes_once_and_again_only_for_new_jobs(store, tmp_path) -> None:
    """Also across restarts, and when an ended job is requeued."""
    path = tmp_path / "log"
    first, second = add(store, 1), add(store, 2)
    see(store, first, Running(), DONE, "COMPLETED")
    advance(store, str(path), NOW, ["hpc"])
    assert "ALL_COMPLETE" not in kinds(path)
    see(store, second, Running(), Ended(Outcome.FAILED, 1), "FAILED")
    for _ in range(3):
        advance(store, str(path), NOW, ["hpc"])
    assert kinds(path).count("ALL_COMPLETE") == 1
    assert "Summary: 2 evaluations completed - 1 COMPLETED, 1 FAILED" in path.read_text()
    third = add(store, 3)
    advance(store, str(path), NOW, ["hpc"])
    assert "Result: 1 job found - 0 PENDING, 0 RUNNING, 0 COMPLETED, 1 UNKNOWN" in path.read_text()
    see(store, third, None, DONE, "COMPLETED")
    advance(store, str(path), NOW, ["hpc"])
    assert kinds(path).count("ALL_COMPLETE") == 2
    see(store, first, DONE, Waiting(), "PENDING", attempt=2)
    advance(store, str(path), NOW)
    see(store, first, Waiting(), DONE, "COMPLETED", attempt=2)
    advance(store, str(path), NOW)
    assert kinds(path).count("ALL_COMPLETE") == 3
    assert "Previous: COMPLETED" not in path.read_text().partition("ALL_COMPLETE")[0]


def test_a_job_that_is_forgotten_is_not_waited_for(store, tmp_path) -> None:
    """The set is complete without it."""
    path = tmp_path / "log"
    first, second = add(store, 1), add(store, 2)
    see(store, first, Running(), DONE, "COMPLETED")
    forget(store, second, NOW, 1.0)
    advance(store, str(path), NOW)
    assert "Summary: 1 evaluation completed - 1 COMPLETED" in path.read_text()


def test_a_new_log_does_not_tell_old_stories(store, tmp_path) -> None:
    """What ended before it was begun is left out; what was then going on is told from its beginning."""
    path = tmp_path / "log"
    old = add(store, 1, NOW - 9000)
    see(store, old, Running(), DONE, "COMPLETED", NOW - 8000)
    going = add(store, 2, NOW - 7000, "going")
    see(store, going, None, Running(), "RUNNING", NOW - 6900)
    advance(store, str(path), NOW)
    assert re.findall(r"STATE_CHANGE: (.*)", path.read_text()) == ["going"]


def test_a_log_begun_with_nothing_to_watch_misses_nothing_between_two_patrols(store, tmp_path) -> None:
    """A job that came and went in the quarter of an hour between them is told."""
    path = tmp_path / "log"
    advance(store, str(path), NOW - 1000)
    see(store, add(store, 1, NOW - 900), None, DONE, "COMPLETED", NOW - 800)
    advance(store, str(path), NOW)
    assert kinds(path) == ["STATE_CHANGE", "ALL_COMPLETE"]


def test_a_place_that_does_not_answer_is_not_reported_as_a_result(store, tmp_path) -> None:
    """The numbers are then the last known ones, and the block says so."""
    path = tmp_path / "log"
    see(store, add(store, 1), None, Running(), "RUNNING")
    tick.commit(store, tick.Tick(NOW, 1.0, places=(tick.PlaceUpdate("hpc", NOW, False, "no route to host"),)))
    advance(store, str(path), NOW, looked=["hpc"])
    assert "Result: hpc did not answer (no route to host); last known: 1 job found - " in path.read_text()


def test_a_watcher_that_looks_often_does_not_fill_the_log(store, tmp_path) -> None:
    """One check a minute, unless there is news; none at all when nobody looked."""
    log = ExperimentLog(store, str(path := tmp_path / "log"))
    ref = add(store, 1)
    see(store, ref, None, Waiting(), "PENDING")
    for second in range(0, 121, 5):
        log.advance(NOW + second, looked=["hpc"])
    assert kinds(path).count("STATUS_CHECK") == 3
    log.advance(NOW + 500)
    assert kinds(path).count("STATUS_CHECK") == 3


def test_metrics_that_come_late_are_written_once_also_after_a_restart(store, tmp_path) -> None:
    """Accounting lags; the watcher may be another one by then."""
    path = tmp_path / "log"
    ref = add(store, 1)
    see(store, ref, Running(), DONE, "COMPLETED")
    advance(store, str(path), NOW)
    advance(store, str(path), NOW + 30)
    assert "COMPUTE_METRICS" not in kinds(path)
    learn(store, ref, DONE, "COMPLETED", NOW + 60, efficiency=USED)
    for late in (60, 90, 120):
        advance(store, str(path), NOW + late)
    assert kinds(path) == ["STATE_CHANGE", "ALL_COMPLETE", "COMPUTE_METRICS"]


def test_what_was_written_and_not_remembered_is_not_written_again(store, tmp_path) -> None:
    """A crash between the write and the note of it: every cursor as before, the file as after."""
    path = tmp_path / "log"
    ref = add(store, 1)
    see(store, ref, None, Running(), "RUNNING")
    advance(store, str(path), NOW)
    names = [f"{kind}:{path}" for kind in ("log", "log-mark", "log-end")]
    before = {name: cursors.read(store, name) for name in names}
    see(store, ref, Running(), DONE, "COMPLETED", efficiency=USED)
    see(store, add(store, 2), None, DONE, "COMPLETED")
    advance(store, str(path), NOW)
    once = path.read_text()
    for name, value in before.items():
        cursors.write(store, name, value)
    advance(store, str(path), NOW)
    assert path.read_text() == once


def finish_off(store: Store, path: Path, changes: int) -> None:
    """Everything is in the file exactly once, and every block is whole."""
    advance(store, str(path), NOW)
    told = re.findall(
        r"^\[2025-11-11 14:50:12\] STATE_CHANGE: (.*)\nPrevious: .*\nCurrent: .*\nJob ID: ", path.read_text(), re.M
    )
    assert sorted(told, key=lambda name: int(name[5:])) == [f"named{number}" for number in range(1, changes + 1)]
    assert kinds(path).count("ALL_COMPLETE") == 1
    lines = path.read_text().splitlines()
    assert all(re.match(r"\[|Previous|Current|Job ID|Completed|Action|Summary|Total", line) for line in lines)


def test_killed_at_any_moment_it_repeats_nothing_and_loses_nothing(store, home, tmp_path) -> None:
    """SIGKILL, again and again, while jobs end."""
    path = tmp_path / "log"
    keep = add(store, 10_000)
    command = [sys.executable, "-m", "tests.watcher.log_writer", str(home), str(path), str(NOW)]
    dice, number = random.Random(7), 0
    for _ in range(12):
        writer = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        try:
            assert writer.stdout is not None
            writer.stdout.readline()
            for _ in range(5):
                number += 1
                see(store, add(store, number, name=f"named{number}"), None, DONE, "COMPLETED")
            time.sleep(dice.random() * 0.02)
        finally:
            writer.kill()
            writer.communicate()
    forget(store, keep, NOW, 1.0)
    finish_off(store, path, number)


def test_several_watchers_and_patrols_share_a_log(store, home, tmp_path) -> None:
    """A block is written by one of them, whole."""
    path = tmp_path / "log"
    keep = add(store, 10_000)
    advance(store, str(path), NOW)
    command = [sys.executable, "-m", "tests.watcher.log_writer", str(home), str(path), str(NOW)]
    writers = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    try:
        for writer in writers:
            assert writer.stdout is not None
            writer.stdout.readline()
        for number in range(1, 31):
            see(store, add(store, number, name=f"named{number}"), None, DONE, "COMPLETED")
        wait_until(lambda: kinds(path).count("STATE_CHANGE") >= 30)
        forget(store, keep, NOW, 1.0)
        wait_until(lambda: "ALL_COMPLETE" in kinds(path))
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    finish_off(store, path, 30)


@pytest.mark.needs_root
def test_on_a_full_disk_no_half_block_is_left_and_nothing_is_lost(store, tmp_path) -> None:
    """It is told once there is room again, once."""
    with mounted(tmp_path / "disk", "size=256k") as disk:
        path = disk / "log"
        log = ExperimentLog(store, str(path))
        see(store, add(store, 1), None, Running(), "RUNNING")
        log.advance(NOW)
        while path.stat().st_size % 4096 < 4000:  # the next block then needs a new page for its end
            with path.open("a") as file:
                file.write("#\n")
        fill_up(disk)
        before = path.read_text()
        see(store, add(store, 2), None, Running(), "RUNNING")
        for _ in range(2):
            with pytest.raises(LogNotWritten, match="No space left"):
                log.advance(NOW)
        assert path.read_text() == before
        (disk / "ballast").unlink()
        log.advance(NOW)
        assert re.findall(r"STATE_CHANGE: (.*)\nPrevious: UNKNOWN", path.read_text()) == [
            "run/task/epoch1",
            "run/task/epoch2",
        ]


def test_a_folder_that_vanished_or_a_path_that_is_no_file_is_said_and_owed(store, tmp_path) -> None:
    """The watcher hears a sentence, goes on, and the block comes when it can."""
    folder = tmp_path / "logs"
    log = ExperimentLog(store, str(path := folder / "log"))
    see(store, add(store, 1), None, Running(), "RUNNING")
    with pytest.raises(LogNotWritten, match="No such file"):
        log.advance(NOW)
    folder.mkdir()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LogNotWritten, match="symbolic link"):
        log.advance(NOW)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(LogNotWritten, match="not a regular file"):
        log.advance(NOW)
    path.unlink()
    log.advance(NOW)
    assert kinds(path) == ["STATE_CHANGE"]
    assert not (tmp_path / "elsewhere").exists()


def test_the_file_is_the_users_own_and_a_line_left_open_is_ended(store, tmp_path) -> None:
    """An ordinary file by the umask, and somebody's half line is not glued to our block."""
    path = tmp_path / "log"
    see(store, add(store, 1), None, Running(), "RUNNING")
    before = os.umask(0o027)
    try:
        advance(store, str(path), NOW)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640
    with path.open("a") as file:
        file.write("a note of mine")
    see(store, add(store, 2), None, Running(), "RUNNING")
    advance(store, str(path), NOW)
    assert "a note of mine\n[2025" in path.read_text()
    path.unlink()
    see(store, add(store, 3), None, Running(), "RUNNING")
    advance(store, str(path), NOW)
    assert re.findall(r"STATE_CHANGE: (.*)", path.read_text()) == ["run/task/epoch3"]
