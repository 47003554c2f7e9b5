"""The decision tree for a job that has not ended: where it stops, and what it says to do there."""

from __future__ import annotations

from typing import Any

import pytest

from dogwatch.api.decision_tree import document, walk


def worker(index: int = 0, doing: str = "running", cpu: float | None = 80.0) -> Any:
    log = f"/logs/worker_{index}.log"
    return {"index": index, "pid": 100 + index, "doing": doing, "cpu_percent": cpu, "log": log}


def job(**known) -> Any:
    return {
        "ref": "here/process:x",
        "state": "running",
        "reason": None,
        "workers": [worker(0), worker(1)],
        "expect": {"workers": 2},
        "findings": [],
        "outputs": [],
        "disks": [{"path": "/data", "free": 50, "total": 100, "inodes_free": 50, "inodes": 100}],
        "progress": {"rate": 2.0, "rate_average": 2.1},
        **known,
    }


STALLED = {"word": "stalled", "why": "nothing has moved for 40 minutes", "evidence": []}


@pytest.mark.parametrize(
    ("known", "at", "does"),
    [
        ({}, "anything else?", ""),
        ({"state": "waiting", "reason": "Priority"}, "is it running?", "wait"),
        ({"state": "missing"}, "is it running?", "accounting"),
        ({"state": None}, "is it running?", "patrol"),
        ({"workers": [worker(0), worker(1, "gone")]}, "are all its workers running?", "--worker 1"),
        ({"workers": [worker(0), worker(1, "zombie")]}, "are all its workers running?", "zombie"),
        ({"workers": [worker(0, "stopped"), worker(1)]}, "is any process stopped or stuck?", "kill -CONT 100"),
        (
            {"workers": [worker(0, "uninterruptible"), worker(1, "uninterruptible")]},
            "is any process stopped or stuck?",
            "dmesg",
        ),
        ({"verdict": STALLED}, "does it make progress?", "py-spy dump --pid 100"),
        (
            {"verdict": {"word": "slow", "why": "half as fast as it was", "evidence": []}},
            "is it slower than before?",
            "nvidia-smi",
        ),
        ({"progress": {"rate": 0.5, "rate_average": 2.0}}, "is it slower than before?", "nvidia-smi"),
        (
            {"disks": [{"path": "/d", "free": 1, "total": 100, "inodes_free": 9, "inodes": 10}]},
            "is there room to write?",
            "df -h /d",
        ),
        (
            {"disks": [{"path": "/d", "free": 90, "total": 100, "inodes_free": 0, "inodes": 10}]},
            "is there room to write?",
            "df -i /d",
        ),
        (
            {"findings": [{"rule": "time_limit", "level": "warning", "text": "it will not finish in time"}]},
            "is anything else open?",
            "dogwatch status",
        ),
    ],
)
def test_the_walk_stops_at_the_branch_that_explains_it(known, at, does):
    """And says what to do there; a job of which nothing looks wrong is walked to the end."""
    found = document(job(**known))
    assert found["at"] == at
    assert does in " ".join(found["do"])


def test_what_a_stalled_job_waits_for_is_told_by_what_its_processes_do():
    """Asleep, spinning on a GPU, or computing: three different things to look for."""
    asleep = job(verdict=STALLED, workers=[worker(0, cpu=0.4), worker(1, cpu=0.0)])
    assert "another rank" in walk(asleep)[-1].says
    gpu = {**STALLED, "evidence": [{"by": "gpu", "says": "GPU 100 % busy", "percent": 100.0}]}
    assert "collective" in walk(job(verdict=gpu))[-1].says
    assert "compute" in walk(job(verdict=STALLED))[-1].says


def test_a_gpu_that_waits_is_told_with_what_it_waits_for():
    """A slow job with an idle GPU has its bottleneck elsewhere."""
    slow = {"word": "slow", "why": "a third as fast", "evidence": [{"by": "gpu", "says": "12 % busy", "percent": 12.0}]}
    assert "waits for the CPU" in walk(job(verdict=slow, workers=[worker(cpu=99.0), worker(1, cpu=97.0)]))[-1].says
    assert "waits for data" in walk(job(verdict=slow, workers=[worker(cpu=20.0), worker(1, cpu=10.0)]))[-1].says


def test_every_question_on_the_way_is_told_with_its_answer():
    """So that a person sees what was ruled out."""
    asked = [branch["asked"] for branch in document(job())["asked"]]
    assert asked[:3] == ["is it running?", "are all its workers running?", "is any process stopped or stuck?"]


@pytest.mark.parametrize(
    ("percent", "workers", "says"),
    [
        (85.0, [worker(0)], None),
        (8.0, [worker(0, cpu=98.0), worker(1)], "busy on the CPU"),
        (8.0, [worker(0, cpu=3.0), worker(1, cpu=1.0)], "mostly wait"),
        (8.0, [worker(0, "uninterruptible"), worker(1)], "network disk"),
        (8.0, [worker(0, cpu=50.0), worker(1, cpu=40.0)], "the CPU shares the work"),
    ],
)
def test_a_job_that_moves_on_idle_gpus_is_asked_what_they_wait_for(percent, workers, says):
    """Data, the CPU, a disk or one another, by what its processes do meanwhile."""
    stands = document(
        job(workers=workers, gpus=[{"index": 0, "percent": percent}], verdict={"word": "working", "why": "it counts"})
    )
    assert (stands["at"] == "are its GPUs used?") is (says is not None)
    assert says is None or says in stands["says"]


def test_files_that_are_each_written_at_once_are_outputs_that_grow():
    """None of them grows after that; they become more."""
    made = {"path": "/o/9.bin", "size": 7, "growth_per_minute": None, "quiet_seconds": 3.0, "changed_at": "2026-01-02"}
    old = {**made, "path": "/o/1.bin", "growth_per_minute": 0.0, "quiet_seconds": 400.0}
    asked = {branch["asked"]: branch["says"] for branch in document(job(outputs=[old, made, made]))["asked"]}
    assert asked["do its outputs grow?"].startswith("2 of 3 ")


def test_memory_that_will_be_full_is_where_it_stands():
    """What the rules found of it is said at its own branch."""
    found = {"rule": "memory_fills", "level": "warning", "text": "the memory will be full in about 2.0 h"}
    stands = document(job(findings=[found]))
    assert (stands["at"], stands["says"]) == ("is its memory rising?", found["text"])


def test_the_remedy_of_a_finding_is_what_to_do():
    """At the branch that it is about."""
    nan = {"rule": "loss_bad", "level": "warning", "text": "loss is not a number since step 9: go back to a checkpoint"}
    stands = document(job(findings=[nan]))
    assert (stands["at"], stands["says"]) == ("is its loss normal?", "loss is not a number since step 9")
    assert stands["do"] == ["go back to a checkpoint"]
    low = {"rule": "disk_low", "level": "warning", "text": "6 MB (9 %) free on the disk of /data"}
    stands = document(job(findings=[low]))
    assert stands["at"] == "is there room to write?"
    assert stands["do"][0] == "df -h /data; df -i /data"


def family(**known) -> Any:
    quiet = {"processes": 3, "zombies": [], "dead": 0, "stopped": [], "blocked": [], "cpu_percent": 0.5}
    return {"family": {**quiet, **known}}


def test_a_child_that_ended_unnoticed_is_where_a_hanging_job_stands():
    """A job that moves may have such children; they are told in passing."""
    dead = family(zombies=[{"pid": 9, "parent": 100, "status": 3 << 8}], dead=1)
    stands = document(job(verdict=STALLED, **dead))
    assert stands["at"] == "are all its workers running?"
    assert (
        "started by 100 ended with exit code 3 and its parent has not read its exit code (zombie 9)" in stands["says"]
    )
    assert document(job(**dead))["at"] == "anything else?"
    killed = family(zombies=[{"pid": 9, "parent": 100, "status": 9}], dead=1)
    assert "ended by signal 9" in document(job(verdict=STALLED, **killed))["says"]


def test_what_all_its_processes_do_counts_more_than_its_workers():
    """A launcher sleeps while what it started computes; a stopped child holds all."""
    asleep = [worker(0, cpu=0.0), worker(1, cpu=0.0)]
    assert (
        "compute without writing anything (180 % of a core)"
        in walk(job(verdict=STALLED, workers=asleep, **family(cpu_percent=180.0)))[-1].says
    )
    assert document(job(**family(stopped=[77])))["do"] == ["kill -CONT 77"]


def test_of_a_job_that_is_silent_but_busy_nothing_is_said_that_contradicts_it():
    """It hardly computes while it copies; what it does was told with the verdict."""
    copying = {"word": "silent but busy", "why": "nothing has moved, but its processes read and write", "evidence": []}
    told = document(job(verdict=copying, workers=[worker(0, cpu=0.4), worker(1, cpu=0.0)]))
    assert told["says"] == copying["why"]
    assert "py-spy" in " ".join(told["do"])


def test_a_counter_that_stands_while_something_else_moves_is_not_called_slower():
    """A checkpoint is being written: the verdict is that it works."""
    saving: dict = {"word": "working", "why": None, "evidence": []}
    told = document(job(verdict=saving, progress={"rate": 0.0, "rate_average": 2.0}, **family()))
    assert told["at"] == "anything else?"


def test_why_a_worker_is_gone_is_said():
    """As far as somebody recorded it."""
    gone = {**worker(1, "gone"), "reason": "exit code 5"}
    assert document(job(workers=[worker(0), gone]))["says"] == "1 of 2 workers are running; worker 1: exit code 5"


def test_a_slow_job_without_gpus_waits_or_is_busy():
    """By what its processes do."""
    slow = {"progress": {"rate": 0.5, "rate_average": 2.0}}
    assert "mostly wait for data" in document(job(**slow, **family()))["says"]
    assert "busy on the CPU" in document(job(**slow, **family(cpu_percent=99.0)))["says"]


def test_a_worker_that_fell_is_told_with_the_line_that_shows_why():
    """And with what to do about it, before where to read on."""
    lost = {**worker(1, "gone"), "reason": "exit code 1"}
    quote = {"file": "/l/1.log", "line": 3, "text": "KeyError: 'input_ids'"}
    known = {"cause": "code_error", "evidence": [quote], "advice": ["mend it", "and more"]}
    told = document(job(workers=[worker(0), lost], fallen={1: known}))
    assert "1 of 2 workers are running; worker 1: exit code 1, KeyError: 'input_ids'" in told["says"]
    assert told["do"][0] == "mend it"
    assert "--worker 1" in told["do"][1]
    unknown = {"cause": "unknown", "evidence": [{"file": "", "line": None, "text": "x"}], "advice": ["look"]}
    told = document(job(workers=[worker(0), lost], fallen={1: unknown}))
    assert told["says"].endswith("worker 1: exit code 1")
    assert len(told["do"]) == 1
