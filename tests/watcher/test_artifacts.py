"""Outputs and checkpoints of a running job, over many polls of the real watcher with the real probe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dogwatch import assemble
from dogwatch.api import commands
from dogwatch.model import Answered, Expectation, Finding, Job, Known, Observation, Place, Running, follow
from dogwatch.rules import no_progress
from dogwatch.rules.interface import Case, Disk, Quota
from dogwatch.sources.process import source
from dogwatch.store.rows import jobs
from dogwatch.store.sqlite.database import SqliteStore as Store
from dogwatch.store.sqlite.location import open_store
from dogwatch.transport.local import Here
from dogwatch.watcher.job.artifacts import Judgement, Produced, ProducedFile
from dogwatch.watcher.job.file_checks import FileChecks, made_by, take_in
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.probe_answer import ProbeAnswer
from dogwatch.watcher.job.read_files import Readers
from dogwatch.watcher.job.state.disks import DiskState, gone_in
from dogwatch.watcher.job.watched import WatchedJob
from dogwatch.watcher.loop.watcher import Watcher
from dogwatch.watcher.tick.conclude import answered_tick
from dogwatch.watcher.tick.judge import Identity, identity
from dogwatch.watcher.tick.place_poller import PlacePoller
from dogwatch.wire.sections import Files, ListedFile
from tests.integrity.samples import MAKERS
from tests.remote.test_quota import LIBRARY
from tests.support import Ahead, wait_until

TORCH, TENSORS, PARQUET = (MAKERS[name][0]() for name in ("model.pt", "model.safetensors", "rows.parquet"))


JOB = Job("here/process:x", "here", "process", "x", "x")


class Stage:
    """One running job that does nothing; the test writes in its place, and looks as often as it likes."""

    def __init__(self, store: Store, folder: Path, expect: Expectation, cwd: Path | None = None) -> None:
        self.store, self.folder, self.clock = store, folder, Ahead()
        argv = ["sleep", "600"]
        more: Any = {"workers": 1, "gpus": None, "env": (), "cwd": None if cwd is None else str(cwd)}
        self.ref = assemble.start_run(store, self.clock, argv, name="t", expect=expect, **more)
        self.watch: Watcher = assemble.watch(store, self.clock, who="test", every=20.0)
        self.watch.begin()
        wait_until(lambda: self.look()["state"] == "running")

    def look(self, seconds: float = 20.0, times: int = 1) -> Any:
        for _ in range(times):
            self.clock.by += seconds
            self.watch.step()
        found: Any = jobs.documents(self.store, refs=[self.ref])[0]
        return found

    def output(self, name: str, job: dict[str, Any]) -> Any:
        found: Any = next(row for row in job["outputs"] if row["path"] == str(self.folder / name))
        return found


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with open_store(str(home)) as opened:
        yield opened


def rules(job: dict[str, Any]) -> list[str]:
    return [found["rule"] for found in job["findings"] if found["rule"] not in ("disk_low", "stalled", "silent")]


def test_growth_records_and_the_last_change_are_by_what_looks_saw(store: Store, tmp_path: Path) -> None:
    """A time of change that lies a year ahead is nobody's business; lines count once, in whatever pieces they come."""
    stage = Stage(store, tmp_path, Expectation(workers=1, outputs=(f"{tmp_path}/*.jsonl", f"{tmp_path}/*.bin")))
    out = tmp_path / "out.jsonl"
    assert stage.look()["outputs_missing"] == [f"{tmp_path}/*.jsonl", f"{tmp_path}/*.bin"]
    for _ in range(10):
        with out.open("a") as file:
            file.write('{"a": 1}\n{"a": 2}\n{"a"')
        os.utime(out, (4e9, 4e9))
        job = stage.look()
        with out.open("a") as file:
            file.write(": 3}\n")
    found = stage.output("out.jsonl", stage.look(times=5))
    assert found["records"] == 30
    assert found["quiet_seconds"] == pytest.approx(80, abs=5)
    assert job["outputs"][0]["changed_at"] <= job["confirmed_at"]
    stage.watch.end()


def test_of_very_many_outputs_those_are_shown_that_changed_last(store: Store, tmp_path: Path) -> None:
    """Whatever their names: the newest shard is what one asks about."""
    stage = Stage(store, tmp_path, Expectation(workers=1, outputs=(f"{tmp_path}/*.bin",)))
    for number in range(70):
        (tmp_path / f"shard-{number:03}.bin").write_bytes(b"x")
    stage.look(times=3)
    (tmp_path / "shard-990.bin").write_bytes(b"x")
    job = stage.look()
    assert len(job["outputs"]) == 64
    assert stage.output("shard-990.bin", job)["size"] == 1
    stage.watch.end()


def test_a_text_that_is_replaced_is_counted_from_its_beginning(store: Store, tmp_path: Path) -> None:
    """Another inode, or a shorter file: the old count is not added to."""
    stage = Stage(store, tmp_path, Expectation(workers=1, outputs=(f"{tmp_path}/*.csv",)))
    table = tmp_path / "t.csv"
    table.write_text("a,b\n" + "1,2\n" * 50)
    assert stage.output("t.csv", stage.look(times=8))["records"] == 50
    (tmp_path / "new").write_text("a,b\n" + "1,2\n" * 7)
    (tmp_path / "new").rename(table)
    assert stage.output("t.csv", stage.look(times=12))["records"] == 7
    stage.watch.end()


def test_less_growth_than_was_asked_for_is_told_after_half_an_hour_and_resolves(store: Store, tmp_path: Path) -> None:
    """10 MB/h are 5 MB in half an hour; four of them are too few, and a burst that makes it good ends the finding."""
    expect = Expectation(workers=1, outputs=(f"{tmp_path}/*.bin",), min_growth=10e6 / 3600)
    stage = Stage(store, tmp_path, expect)
    out = tmp_path / "x.bin"
    for _ in range(80):
        with out.open("ab") as file:
            file.write(b"x" * 40_000)
        job = stage.look()
        early = rules(job) if job["findings"] and stage.clock.by < 1700 else []
        assert "growth_low" not in early
    assert "growth_low" in rules(stage.look(times=15))
    with out.open("ab") as file:
        file.write(b"x" * 9_000_000)
    assert "growth_low" not in rules(stage.look())
    stage.watch.end()


def test_outputs_that_used_to_grow_and_stand_still_are_told(store: Store, tmp_path: Path) -> None:
    """While its log goes on, so that nobody would call the job itself stalled."""
    out, log = tmp_path / "x.bin", tmp_path / "run.log"
    log.write_text("")
    stage = Stage(store, tmp_path, Expectation(workers=1, outputs=(str(out),), logs=(str(log),)))

    def turn(writes: bool) -> Any:
        with open(stage_log(stage), "a") as file:
            file.write("on and on\n")
        if writes:
            with out.open("ab") as file:
                file.write(b"x" * 1000)
        return stage.look(50.0)

    for _ in range(60):
        job = turn(True)
    assert "outputs_unchanged" not in rules(job)
    for _ in range(80):  # as long as what starts may be silent
        job = turn(False)
    assert job["verdict"]["word"] == "working"
    assert "outputs_unchanged" in rules(job)
    assert "outputs_unchanged" not in rules(turn(True))
    stage.watch.end()


def stage_log(stage: Stage) -> str:
    """The log that the run itself has, where nobody else writes."""
    return str(jobs.documents(stage.store, refs=[stage.ref])[0]["expect"]["logs"][0])


def test_a_file_that_is_being_written_is_never_condemned_and_one_whose_writer_went_on_is(
    store: Store, tmp_path: Path
) -> None:
    """A Parquet file has its footer only at its end, and may wait for it for an hour. The next file is what tells."""
    stage = Stage(store, tmp_path, Expectation(workers=1, outputs=(f"{tmp_path}/*.parquet",)))
    first, second = tmp_path / "part-0.parquet", tmp_path / "part-1.parquet"
    stage.look()
    first.write_bytes(PARQUET[:-20])
    job = stage.look(50.0, times=60)
    assert rules(job) == []
    assert stage.output("part-0.parquet", job)["verdict"] is None
    second.write_bytes(PARQUET)
    job = stage.look(50.0, times=6)
    (told,) = [found for found in job["findings"] if found["rule"] == "output_broken"]
    assert str(first) in told["text"]
    assert stage.output("part-0.parquet", job)["verdict"] == "damaged"
    assert stage.output("part-1.parquet", job)["verdict"] == "intact"
    assert stage.output("part-1.parquet", job)["records"] is not None
    first.write_bytes(PARQUET)
    assert rules(stage.look(50.0, times=6)) == []
    stage.watch.end()


def test_files_that_several_workers_write_by_turns_are_not_condemned(store: Store, tmp_path: Path) -> None:
    """Each is flushed by the block, in the middle of a line, and another one moves on meanwhile."""
    stage = Stage(store, tmp_path, Expectation(workers=1, outputs=(f"{tmp_path}/*.jsonl",)))
    ranks = [tmp_path / f"rank_{n}.jsonl" for n in range(3)]
    for rank in ranks:
        rank.write_text("")
    stage.look()
    for turn in range(12):
        with ranks[turn % 3].open("a") as file:
            file.write('{"a": 1}\n{"a')
        assert rules(stage.look(50.0, times=4)) == []
    stage.watch.end()


def test_elsewhere_an_unfinished_file_must_have_stood_still_for_long() -> None:
    """A login node does not see who writes on the nodes."""
    verdict = Judgement("damaged", "is cut")
    one = ProducedFile(5, 1.0, changed=1.0, age=10.0, born=10.0, still=600.0, verdict=verdict)
    later = ProducedFile(5, 1.0, changed=1.0, age=90.0, born=90.0, still=600.0)
    made = Produced(files={"/o/a.npy": one, "/o/b.npy": later}, seen=True)
    assert made.broken_files() == []
    one.still = 1900.0
    assert [spoilt.path for spoilt in made.broken_files()] == ["/o/a.npy"]
    one.still, verdict.sure = 60.0, True
    assert [spoilt.path for spoilt in made.broken_files()] == ["/o/a.npy"]


def test_an_output_that_somebody_holds_open_is_not_condemned(store: Store, tmp_path: Path) -> None:
    """Several shards may be open at once, and a writer that thinks for long is no crime."""
    stage = Stage(store, tmp_path, Expectation(workers=1, outputs=(f"{tmp_path}/*.parquet",)))
    stage.look()
    with (tmp_path / "a.parquet").open("wb") as held:
        held.write(PARQUET[:-20])
        held.flush()
        stage.look()
        (tmp_path / "b.parquet").write_bytes(PARQUET)
        assert rules(stage.look(50.0, times=10)) == []
    assert "output_broken" in rules(stage.look(50.0, times=10))
    stage.watch.end()


def test_checkpoints_have_an_iteration_a_newest_sound_one_and_a_broken_one_is_told(
    store: Store, tmp_path: Path
) -> None:
    """A directory counts once all that is in it has stood still; what it holds is what it says, before its name."""
    stage = Stage(store, tmp_path, Expectation(workers=1, checkpoints=(f"{tmp_path}/checkpoint-*",)))
    for number in (100, 200):
        folder = tmp_path / f"checkpoint-{number}"
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(TENSORS)
        (folder / "trainer_state.json").write_text(json.dumps({"epoch": 1.0, "global_step": number + 1}))
        os.utime(folder, (1_700_000_000 + number,) * 2)
    job = stage.look(30.0, times=6)
    assert job["checkpoints"]["count"] == 2
    assert job["checkpoints"]["intact"] == str(tmp_path / "checkpoint-200")
    assert (job["checkpoints"]["newest_iteration"], job["checkpoints"]["intact_iteration"]) == (201, 201)
    third = tmp_path / "checkpoint-300"
    third.mkdir()
    (third / "model.safetensors").write_bytes(TENSORS[:-40])
    job = stage.look(30.0, times=4)
    assert rules(job) == [], "it may still be written"
    for _ in range(4):
        with (third / "model.safetensors").open("ab") as file:
            file.write(b"\0")
        job = stage.look(50.0)
    assert job["checkpoints"]["newest_verdict"] is None, "what changes inside is not judged"
    job = stage.look(50.0, times=30)
    (told,) = [found for found in job["findings"] if found["rule"] == "checkpoint_broken"]
    assert "checkpoint-300" in told["text"]
    assert "the newest intact one is checkpoint-200" in told["text"]
    assert (job["checkpoints"]["newest_verdict"], job["checkpoints"]["newest_iteration"]) == ("damaged", 300)
    stage.watch.end()


def test_a_verdict_stays_when_many_newer_checkpoints_come_and_go(store: Store, tmp_path: Path) -> None:
    """Only the newest few are looked into at each poll; that one is no longer among them is no change of it."""
    stage = Stage(store, tmp_path, Expectation(workers=1, checkpoints=(f"{tmp_path}/step_*",)))

    def save(number: int) -> Path:
        folder = tmp_path / f"step_{number}"
        folder.mkdir()
        (folder / "model.pt").write_bytes(TORCH)
        os.utime(folder, (1_700_000_000 + number,) * 2)
        return folder

    save(1)
    assert stage.look(50.0, times=5)["checkpoints"]["intact_iteration"] == 1
    later = [save(number) for number in range(2, 9)]
    job = stage.look(50.0)
    assert job["checkpoints"]["intact_iteration"] == 1
    assert stage.look(50.0, times=8)["checkpoints"]["intact_iteration"] == 8
    for folder in later:
        (folder / "model.pt").unlink()
        folder.rmdir()
    assert stage.look(50.0)["checkpoints"]["intact_iteration"] == 1
    stage.watch.end()


def test_checkpoints_that_nobody_named_are_found_where_the_job_works(store: Store, tmp_path: Path) -> None:
    """Those that were there before it began are not its own."""
    old, new = tmp_path / "runs" / "old", tmp_path / "runs" / "new"
    (old / "checkpoint-7").mkdir(parents=True)
    os.utime(old / "checkpoint-7", (1_600_000_000,) * 2)
    stage = Stage(store, tmp_path, Expectation(workers=1), cwd=tmp_path)
    assert stage.look(30.0, times=4)["checkpoints"] is None
    (new / "checkpoint-8").mkdir(parents=True)
    (new / "checkpoint-8" / "model.pt").write_bytes(TORCH)
    os.utime(new / "checkpoint-8", (stage.clock.now() + 5,) * 2)
    job = stage.look(30.0, times=20)
    assert job["checkpoints"]["newest"] == str(new / "checkpoint-8")
    assert job["checkpoints"]["guessed"] is True
    assert job["checkpoints"]["intact_iteration"] == 8
    stage.watch.end()


def test_a_watcher_that_is_killed_forgets_nothing_of_what_it_saw(store: Store, tmp_path: Path) -> None:
    """Counts, verdicts, gaps and attempts are in the memory that is saved."""
    stage = Stage(store, tmp_path, Expectation(workers=1, outputs=(f"{tmp_path}/*.csv",)))
    (tmp_path / "t.csv").write_text("a\n1\n")
    stage.look(50.0, times=5)
    memory = next(iter(stage.watch._pollers[0].jobs.values())).memory
    memory.produced.attempts = [("checkpoint", 5)]
    verdict = memory.produced.files[str(tmp_path / "t.csv")].verdict
    assert verdict is not None
    assert verdict.verdict == "intact"
    assert Memory.from_json(json.loads(json.dumps(memory.to_json()))) == memory
    stage.watch.end()


def test_names_that_are_no_text_are_told_like_others(store: Store, tmp_path: Path) -> None:
    """A file may be called anything; the finding about it is written and read all the same."""
    stage = Stage(store, tmp_path, Expectation(workers=1, outputs=(f"{tmp_path}/*.parquet",)))
    stage.look()
    odd = os.fsencode(tmp_path) + b"/a\xff\x1b[2J.parquet"
    with open(odd, "wb") as file:
        file.write(PARQUET[:-20])
    stage.look()
    (tmp_path / "b.parquet").write_bytes(PARQUET)
    job = stage.look(50.0, times=6)
    assert "output_broken" in rules(job)
    assert json.dumps(job)
    stage.watch.end()


def test_checkpoints_of_a_working_directory_prove_nothing_about_the_job(store: Store, tmp_path: Path) -> None:
    """They may be another's: a job that says nothing is not kept alive by them."""
    stage = Stage(store, tmp_path, Expectation(workers=1, stall_timeout=600.0), cwd=tmp_path)
    for number in range(40):
        saved = tmp_path / f"checkpoint-{number}"
        saved.mkdir()
        os.utime(saved, (stage.clock.now(),) * 2)
        job = stage.look(50.0)
    assert job["checkpoints"]["guessed"] is True
    assert "checkpoint" not in [witness["by"] for witness in job["verdict"]["evidence"]]
    assert job["verdict"]["word"] != "working"
    stage.watch.end()


def test_an_errand_without_an_answer_is_tried_less_and_less_often() -> None:
    """A file system that hangs is not asked about every minute."""
    closer = FileChecks(here=True)
    one = WatchedJob(JOB, Known(state=Running()), Memory(age=1e6), Readers(None))
    one.memory.produced.files["/o/x.csv"] = ProducedFile(5, 1.0)
    one.memory.produced.seen = True
    seen = ProbeAnswer(Answered("here", 0.0, 0.0, frozenset(), {}))
    asked = []
    for second in range(0, 4 * 3600, 10):
        extra_probes = closer.request({JOB.ref: one}, float(second))
        if "closer" in extra_probes:
            asked.append(second)
        closer.take(seen, extra_probes)
    pauses = [later - earlier for earlier, later in pairwise(asked)]
    assert pauses[:4] == [120, 240, 480, 960]
    assert max(pauses) == 3600


def test_three_attempts_that_end_at_one_checkpoint_are_remembered_over_their_restarts() -> None:
    """What was reached is read in the very look that shows the new attempt, before that can save anything."""
    memory = Memory()
    for turn in range(3):
        row = ListedFile("/c/checkpoint-40", None, 5.0, (1, 2, 3.0))
        look = Answered("here", 100.0 + turn, 0.0, frozenset(), {})
        seen = ProbeAnswer(look, files={JOB.ref: Files(False, [], {}, [], [row])})
        take_in(memory, seen, JOB.ref, watched=20.0, step=50.0 + turn, running=True, new_attempt=True)
    (found,) = no_progress.judge(Case(JOB, Known(state=Running()), made=made_by(memory, None, Running())), 0.0)
    assert "3 attempts in a row got no further than checkpoint of iteration 40" in found.text


def test_a_job_that_is_requeued_three_times_without_progress_is_critical_and_progress_resolves_it() -> None:
    """The whole round, as a scheduler shows it: every requeue is another attempt of the same job."""
    jobs = {JOB.ref: WatchedJob(JOB, Known(), Memory(), Readers(None))}
    known, told = {JOB.ref: Known()}, []
    findings: dict[Identity, Finding] = {}
    for turn, (attempt, step) in enumerate([(1, 20), (1, 40), (2, 40), (3, 40), (4, 40), (4, 40), (5, 60)]):
        at = 1000.0 + 30 * turn
        look = Answered(
            "here", at, 0.1, frozenset({JOB.ref}), {JOB.ref: Observation(JOB.ref, f"try {attempt}", Running(at))}
        )
        rows = [ListedFile(f"/c/step_{n}", 9, float(n)) for n in range(20, step + 1, 20)]
        after, changes = follow(known, look)
        seen = ProbeAnswer(look, files={JOB.ref: Files(False, [], {}, [], rows)})
        how: Any = {"watched": 30.0, "was_unreachable": False, "mono": at, "may_wait": False}
        done = answered_tick(seen, look, changes, after, jobs, open_now=findings, **how)
        jobs, known = done.jobs, dict(after)
        findings |= {identity(one): one for one in done.opened}
        findings = {key: one for key, one in findings.items() if key not in {identity(o) for o in done.resolved}}
        told.append([one.level.value for one in findings.values() if one.rule == "no_progress"])
    assert told == [[], [], [], [], ["critical"], ["critical"], []]


def test_a_quota_that_shrinks_is_forecast_like_a_disk() -> None:
    """By bytes and by files, from the same trend."""
    state, found = DiskState(), {}
    for minute in range(0, 120, 3):
        left = Quota("user", 10**12 - minute * 10**9, 2 * 10**12, 10**6 - minute * 5000, 2 * 10**6)
        found = gone_in(state, {"7": Disk("/d", 10**13, 10**14, 0, 0, left)}, 60.0 * minute)
    assert found["7", "quota"] == pytest.approx((10**12 - 117 * 10**9) / 10**9 * 60, rel=0.05)
    assert found["7", "files"] == pytest.approx((10**6 - 117 * 5000) / 5000 * 60, rel=0.05)
    assert ("7", "bytes") not in found


@pytest.mark.needs_tool("gcc")
def test_a_quota_reaches_the_disk_of_a_job_and_its_findings(store: Store, tmp_path: Path) -> None:
    """From the kernel's answer to what is told; the call itself is answered by a library, for want of quotas here."""
    (tmp_path / "q.c").write_text(LIBRARY)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "q.so", tmp_path / "q.c"], check=True)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nWHO={os.geteuid()} LD_PRELOAD={tmp_path}/q.so exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    clock = Ahead()
    transport = Here("here", clock, python=str(python))
    poller = PlacePoller(Place("here"), transport, {source.kind: source}, clock, every=20.0)
    expect = Expectation(outputs=(f"{tmp_path}/*.bin",))
    ref = commands.add_processes(store, clock, transport, pids=[os.getpid()], name="job", expect=expect)
    watch = Watcher(store, [poller], clock, who="test")
    watch.begin()
    watch.step()
    (job,) = jobs.documents(store, refs=[ref])
    watch.end()
    if not job["disks"][0]["quota"]:
        pytest.skip("the temporary directory is not on a device of its own")
    assert job["disks"][0]["quota"] == {
        "who": "user",
        "free": 800 * 1024,
        "limit": 2000 * 1024,
        "files_free": 5,
        "files": 50,
        "over_soft": True,
    }
    told = [found["text"].replace(str(tmp_path), "here") for found in job["findings"]]
    texts = [text for text in told if "quota" in text]
    assert len(texts) == 2
    assert any("over the soft limit" in text for text in texts)
