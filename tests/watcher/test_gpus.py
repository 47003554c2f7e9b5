"""Which GPUs are a job's own, when a place is asked for them, and what a new watcher remembers of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from msgspec import convert, to_builtins

from dogwatch.model import Answered, Ended, Job, Known, Outcome, Running, Waiting, Worker
from dogwatch.rules import gpu_broken
from dogwatch.rules.interface import Case
from dogwatch.watcher.job.gpus import FAR_POLLS, GpuSchedule, last_asked, readings, take_gpus, with_last
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.probe_answer import GpuReport, PlaceReport, ProbeAnswer
from dogwatch.watcher.job.read_files import Readers
from dogwatch.watcher.job.watched import WatchedJob
from dogwatch.wire.answer import CheckedAnswer, Rows
from dogwatch.wire.programs import Gpus, Why
from dogwatch.wire.requests import ExtraProbe

NOW = 1_000_000.0
GB = 1 << 30
LOOK = Answered("here", NOW, 0.1, frozenset())


def row(index: int, *processes: dict[str, Any], **known: Any) -> dict[str, Any]:
    figures = {"used": 0.5, "memory_used": GB, "memory_total": 80 * GB, "ecc": 0, "throttle": [], "trouble": ""}
    figures |= dict.fromkeys(("watts", "watts_limit", "celsius", "mhz", "mhz_most"))
    named = {"uuid": f"GPU-{index}", "name": "NVIDIA H100", "pci": f"0000:{index:02x}:00", "parent": ""}
    return {"index": index, **named, **figures, "processes": list(processes), **known}


def process(pid: int, *above: int, **known: Any) -> dict[str, Any]:
    return {"pid": pid, "memory": GB, "seen": True, "user": "ada", "name": "python", "above": list(above), **known}


def gpus(**known: Any) -> Gpus:
    return convert({"by": "nvml", "gpus": [], "driver": "", "xids": [], "failed": {}, "seconds": 0.1, **known}, Gpus)


def watched(*gpus: str, source: str = "process", number: str = "x") -> WatchedJob:
    job = Job(f"here/{source}:{number}", "here", source, number, "x", track={"gpus": list(gpus)})
    workers = tuple(Worker(at, "running", 100 + at, gpu=ids or None) for at, ids in enumerate(gpus))
    return WatchedJob(job, Known(state=Running(NOW - 60)), Memory(), Readers(None), workers=workers)


def take(one: WatchedJob, *rows: dict[str, Any], mono: float = 50.0, **more: Any) -> None:
    one.memory.age = mono
    take_gpus(one, one.job, one.workers, gpus(gpus=list(rows), **more), NOW - 60, mono, NOW)


def test_a_job_owns_what_it_was_given_and_what_its_processes_are_on():
    """By index, by the beginning of a uuid, or by a process that descends from a worker or was left in its session."""
    one = watched("0", "GPU-1")
    take(one, row(0), row(1), row(2, process(7, 6, 101)), row(3, process(8, led_by=[100])), row(4, process(9, 1)))
    assert [gpu.index for gpu in one.gpus] == [0, 1, 2, 3]
    assert [one.gpus[2].processes[0].ours, one.gpus[3].processes[0].ours] == [True, True]


def test_what_nobody_can_see_is_nobodys_and_nothing_is_concluded_from_it():
    """In a container the driver shows pids from outside: not ours, not another's, and not on no GPU either."""
    one = watched("0")
    take(one, row(0, {"pid": 4711, "memory": GB, "seen": False}))
    assert [process.ours for process in one.gpus[0].processes] == [None]
    assert one.gpus[0].others == ()
    take(one, row(0, {"pid": 4711, "memory": GB, "seen": False}), mono=80.0)
    assert one.gpu_past is not None
    assert one.gpu_past.away == 0.0


def test_what_a_server_started_may_be_anybodys():
    """Docker and Ray start processes for others: they are neither ours nor a neighbour, unless they descend from us."""
    one = watched("0")
    take(one, row(0, process(7, 6, served=True), process(8, 100, served=True)))
    assert [process.ours for process in one.gpus[0].processes] == [True, None]
    assert one.gpus[0].others == ()


def test_a_job_that_is_on_none_of_its_gpus_is_counted():
    """As long as all processes could be listed."""
    one = watched("0")
    for mono in (50.0, 80.0):
        take(one, row(0), row(1, process(7)), mono=mono)
    assert one.gpu_past is not None
    assert one.gpu_past.away == 30.0
    take(one, row(0, processes=None), mono=110.0)
    assert one.gpu_past.away == 30.0


def test_a_gap_of_ours_is_not_held_against_a_job():
    """A machine that slept for an hour has not watched for an hour."""
    one = watched("0")
    take(one, row(0))
    one.memory.gpu.age = 3590.0  # it was watched for ten seconds since
    take(one, row(0), mono=3600.0)
    assert one.gpu_past is not None
    assert one.gpu_past.away == 10.0


def test_a_worker_on_another_gpu_than_its_own_strays():
    """Not so where the GPUs differ, because CUDA and the driver then count them differently."""
    one = watched("0", "1")
    take(one, row(0, process(7, 100), process(8, 101)), row(1))
    assert one.gpu_past is not None
    assert [(stray.worker, stray.given, stray.gpu) for stray in one.gpu_past.strays] == [(1, "1", 0)]
    take(one, row(0, process(7, 100), process(8, 101)), row(1, name="NVIDIA T4"), mono=80.0)
    assert one.gpu_past.strays == ()


def test_a_slice_belongs_to_whoever_was_given_it_and_its_whole_is_no_stray():
    """MIG devices are named by uuid; the driver may list a process under the whole GPU."""
    one = watched("MIG-5")
    part = row(0, uuid="MIG-5", parent="GPU-0", used=None)
    take(one, row(0, process(7, 100)), part)
    assert [gpu.uuid for gpu in one.gpus] == ["GPU-0", "MIG-5"]
    assert one.gpu_past is not None
    assert one.gpu_past.strays == ()


def test_an_xid_counts_from_the_start_of_the_job_and_on_its_own_gpu():
    """One that a program causes belongs to another's program where there is one."""
    xids = [
        {"age": 10.0, "pci": "0000:00:00", "xid": 79, "pid": None},
        {"age": 500.0, "pci": "0000:00:00", "xid": 48, "pid": None},
        {"age": 10.0, "pci": "0000:01:00", "xid": 94, "pid": None},
        {"age": 10.0, "pci": "0000:00:00", "xid": 31, "pid": 999},
    ]
    one = watched("0")
    take(one, row(0, process(7, 100), process(8)), row(1), xids=xids)
    assert [gpu.xid for gpu in one.gpus] == [(79,)]
    take(one, row(0, process(7, 100)), row(1), xids=xids, mono=80.0)
    assert [gpu.xid for gpu in one.gpus] == [(31, 79)]


def test_a_slurm_job_is_known_by_the_cgroup_of_its_processes():
    """Where the place is the node itself; an array task belongs to its array's job."""
    one = watched("", source="slurm", number="4711_3")
    take(one, row(0, process(7, slurm="4711")), row(1, process(8, slurm="12")))
    assert [gpu.index for gpu in one.gpus] == [0]


def test_a_new_watcher_goes_on_where_the_last_one_was():
    """Else every finding would be over, and open again a minute later; what is old says nothing."""
    one = watched("0", "1")
    for mono in (50.0, 80.0, 110.0):
        take(one, row(0, process(8, 101), used=0.0), row(1), mono=mono)
    again = watched("0", "1")
    again.memory = Memory.from_json(json.loads(json.dumps(one.memory.to_json())))
    take_gpus(again, again.job, again.workers, None, NOW - 60, 115.0, NOW)
    assert again.gpus == one.gpus
    assert again.gpu_past == one.gpu_past
    take_gpus(again, again.job, again.workers, None, NOW - 60, 2000.0, NOW)
    assert (again.gpus, again.gpu_past) == ((), None)


def test_foreign_names_are_cleaned_and_rows_bounded():
    """A driver's words are foreign text, and there may be a thousand processes."""
    one = watched("0")
    crowd = [process(1000 + at, 100, user="\x1b[31mx") for at in range(200)]
    take(one, row(0, *crowd, name="n\x07" * 300, throttle=["\x1b]0;x\x07hot"] * 20))
    (gpu,) = one.gpus
    assert (len(gpu.processes), gpu.processes[0].user, len(gpu.throttle), gpu.throttle[0]) == (16, "x", 8, "hot")
    assert len(gpu.name) <= 80
    assert len(json.dumps(one.memory.to_json())) < 20_000


class Turns:
    """One place, asked look after look."""

    def __init__(self, far: bool = False) -> None:
        self.schedule, self.jobs = GpuSchedule(far), [watched("0")]

    def ask(self, mono: float) -> ExtraProbe | None:
        found = self.schedule.ask(self.jobs, mono, once=False)
        return None if found is None else found["gpus"]

    def hear(self, mono: float, **answer: Any) -> ProbeAnswer:
        row = gpus(**answer) if "by" in answer else convert(answer, Why)
        facts = PlaceReport(None, "n1.lab", "3", None)
        return self.schedule.heard(ProbeAnswer(LOOK, extra_probes={"gpus": row}, facts=facts), self.jobs, mono)


def test_gpus_are_asked_for_while_a_job_runs_and_not_at_every_look():
    """Every quarter of a minute while it is young, then every half."""
    place = Turns()
    assert place.ask(0.0) is not None
    assert place.hear(0.0, by="nvml", gpus=[row(0)]).gpus is not None
    assert [mono for mono in range(1, 40) if place.ask(float(mono))] [:1] == [15]  # fmt: skip
    place.jobs[0].memory.age = 4000.0
    place.hear(15.0, by="nvml", gpus=[row(0)])
    assert (place.ask(44.0), place.ask(45.0) is None) == (None, False)
    place.jobs = [watched("0")]
    place.jobs[0].known = Known(state=Waiting("queued"))
    assert place.ask(1000.0) is None


def test_an_answer_that_is_not_there_yet_is_taken_by_the_next_look():
    """It is asked for again at once, and nothing is concluded meanwhile."""
    place = Turns()
    place.ask(0.0)
    assert place.hear(0.0, pending=True).gpus is None
    assert place.ask(5.0) is not None


@pytest.mark.parametrize(
    ("answer", "pauses"),
    [
        ({"why": "it ended with signal 11"}, [60.0, 120.0, 240.0]),
        ({"by": None, "gpus": [], "failed": {"nvidia-smi": "late"}}, [60.0, 120.0, 240.0]),
        ({"by": None, "gpus": [], "failed": {}}, [1800.0, 1800.0, 1800.0]),
    ],
)
def test_what_fails_or_is_not_there_is_asked_for_less_and_less(answer, pauses):
    """A hung tool is not waited for at every poll."""
    place, mono = Turns(), 0.0
    for pause in pauses:
        assert place.ask(mono) is not None
        assert place.hear(mono, **answer).gpus is None
        assert place.ask(mono + pause - 1) is None
        mono += pause


def test_a_way_that_failed_is_left_out_for_a_while():
    """The others are asked without waiting for it again."""
    place = Turns()
    place.ask(0.0)
    place.hear(0.0, by="nvidia-smi", gpus=[row(0)], failed={"nvml": "NVML did not answer in 8 s"})
    assert place.schedule.report == GpuReport("nvidia-smi", 1, "", "nvml: NVML did not answer in 8 s")
    asked = place.ask(100.0)
    assert asked is not None
    assert to_builtins(asked.call)["skip"] == ["nvml"]
    asked = place.ask(1900.0)
    assert asked is not None
    assert to_builtins(asked.call)["skip"] == []


def test_over_ssh_every_fifth_look_asks_and_waits_for_the_answer():
    """Its program travels with the question, and the probe that was asked is gone afterwards."""
    place, asked = Turns(far=True), []
    for look in range(2 * FAR_POLLS + 1):
        found = place.ask(60.0 * look)
        asked.append(found is not None)
        if found is not None:
            assert found.wait == found.seconds
            place.hear(60.0 * look, by="nvml", gpus=[row(0)])
    assert [at for at, was in enumerate(asked) if was] == [0, 5, 10]


def test_a_job_that_ended_badly_is_asked_about_once_more():
    """A GPU that fell off the bus kills its job within the second: only the poll after the end can tell why."""
    place, xid = Turns(), {"age": 1.0, "pci": "0000:00:00", "xid": 79, "pid": None}
    (one,) = place.jobs
    place.hear(0.0, by="nvml", gpus=[row(0)])
    take(one, row(0, process(7, 100)))
    assert set(last_asked(place.schedule, ProbeAnswer(LOOK), [one], 60.0)) == {"gpus"}
    answer = CheckedAnswer({}, extra_probes=Rows(rows={"gpus": gpus(gpus=[row(0)], xids=[xid])}))
    seen = with_last(ProbeAnswer(LOOK), answer)
    gone = tuple(replace(worker, doing="gone") for worker in one.workers)
    take_gpus(one, replace(one.job, track={}), gone, seen.gpus, NOW - 60, 60.0, NOW)
    over = Known(state=Ended(Outcome.FAILED))
    (found,) = gpu_broken.judge(Case(one.job, over, gpus=one.gpus, gpu_past=one.gpu_past), NOW)
    assert "Xid 79: it has fallen off the PCIe bus" in found.text
    well = Known(state=Ended(Outcome.SUCCEEDED))
    assert list(gpu_broken.judge(Case(one.job, well, gpus=one.gpus, gpu_past=one.gpu_past), NOW)) == []


def test_no_ending_waits_for_a_driver_that_was_late_or_for_gpus_that_nobody_used():
    """Nor is a place asked twice in one poll."""
    place = Turns()
    assert last_asked(place.schedule, ProbeAnswer(LOOK), place.jobs, 1.0) == {}
    place.hear(0.0, by="nvml", gpus=[row(0)])
    assert last_asked(place.schedule, ProbeAnswer(LOOK), place.jobs, 1.0) == {}
    take(place.jobs[0], row(0))
    assert last_asked(place.schedule, ProbeAnswer(LOOK, gpus=gpus()), place.jobs, 1.0) == {}
    place.hear(1.0, pending=True)
    assert last_asked(place.schedule, ProbeAnswer(LOOK), place.jobs, 2.0) == {}


def test_the_experiment_log_gets_the_gpus_of_a_job_together():
    """The mean of what they do, the sum of what they hold; what one does not tell is not told of all."""
    one, dumb = watched("0", "1"), watched("0")
    take(one, row(0, used=0.2), row(1, used=0.7))
    take(dumb, row(0, used=None, memory_used=None))
    assert readings([one, watched("0")]) == {
        one.job.ref: {
            "gpu_percent": 45.0,
            "gpu_memory_used_bytes": 2 * GB,
            "gpu_memory_total_bytes": 160 * GB,
            "gpus": 2,
        }
    }
    assert readings([dumb])[dumb.job.ref]["gpu_memory_used_bytes"] is None
