"""Findings about the GPUs of a job: when each opens, and when it must stay silent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dogwatch.model import (
    Eta,
    Gpu,
    GpuHistory,
    GpuPast,
    GpuProcess,
    Job,
    Known,
    Level,
    Progress,
    Running,
    Stray,
    Worker,
)
from dogwatch.rules import gpu_broken, gpu_idle, gpu_low, gpu_memory, gpu_shared, gpu_throttled, gpu_unused, gpu_wrong
from dogwatch.rules.interface import Case

NOW = 1_000_000.0
GB = 1 << 30
OURS = GpuProcess(10, "ada", 50 * GB, "python", ours=True)
ALL = (gpu_broken, gpu_idle, gpu_low, gpu_memory, gpu_shared, gpu_throttled, gpu_unused, gpu_wrong)


def gpu(**known: Any) -> Gpu:
    whole: dict[str, Any] = {"used": 0.9, "memory_used": 60 * GB, "memory_total": 80 * GB, "processes": (OURS,)}
    return Gpu(0, "GPU-a", "NVIDIA H100", **{**whole, **known})


def case(one: Gpu, course: GpuHistory | None = None, eta: Eta | None = None, **past: Any) -> Case:
    job = Job("here/process:x", "here", "process", "x", "x")
    worker = Worker(0, "running", 10, gpu="0")
    story = GpuPast({one.key: course or GpuHistory()}, **past)
    return Case(
        job=job, known=Known(state=Running(NOW - 7200)), workers=(worker,), gpus=(one,), gpu_past=story, eta=eta
    )


def told(rule: Any, *given: Any, **more: Any) -> list[str]:
    return [found.text for found in rule.judge(case(*given, **more), NOW)]


@pytest.mark.parametrize("rule", ALL)
def test_a_gpu_that_works_is_no_finding(rule):
    """Busy, nearly full, at its power cap, with an old error of its memory, alone."""
    fine = gpu(used=1.0, memory_used=79 * GB, throttle=("power cap",), ecc=3, celsius=83.0)
    assert told(rule, fine, GpuHistory(worked=True, usual=78 * GB)) == []


@pytest.mark.parametrize("rule", ALL)
def test_what_a_gpu_does_not_tell_is_no_finding(rule):
    """A slice tells neither use nor power, and a container whose processes are on it."""
    dumb = Gpu(0, "MIG-a", "slice", parent="GPU-a", listed=False)
    assert told(rule, dumb, GpuHistory()) == []
    assert told(rule, Gpu(0, processes=(GpuProcess(7),)), GpuHistory()) == []


@pytest.mark.parametrize(
    ("course", "idle"),
    [
        (GpuHistory(idle=1199), False),
        (GpuHistory(idle=1200), True),
        (GpuHistory(idle=599, worked=True), False),
        (GpuHistory(idle=600, worked=True), True),
        (GpuHistory(idle=1700, worked=True, longest=900), False),
        (GpuHistory(idle=1800, worked=True, longest=900), True),
    ],
)
def test_a_held_gpu_that_idles_for_longer_than_its_pauses_is_told(course, idle):
    """Loading has twenty minutes; later the job's own pauses say how long is too long."""
    assert bool(told(gpu_idle, gpu(used=0.0), course)) is idle


def test_idling_says_what_to_look_for():
    """Whether it ever worked, and whether anything of the job is on it."""
    assert "30 min and was never used: check whether" in told(gpu_idle, gpu(used=0.0), GpuHistory(idle=2000))[0]
    assert "waits for data" in told(gpu_idle, gpu(used=0.0), GpuHistory(idle=2000, worked=True))[0]
    assert "no process of the job uses it" in told(gpu_idle, gpu(used=0.0, processes=()), GpuHistory(idle=2000))[0]


def test_a_job_on_no_gpu_is_told_once_and_not_as_idle_too():
    """It was given one and computes elsewhere: that is the finding, however many it was given."""
    lone = gpu(used=0.0, processes=())
    assert told(gpu_unused, lone, GpuHistory(idle=4000), away=599.0) == []
    (text,) = told(gpu_unused, lone, GpuHistory(idle=4000), away=600.0)
    assert "none of its processes uses a GPU, although it was given GPU 0" in text
    assert told(gpu_idle, lone, GpuHistory(idle=4000), away=600.0) == []


def test_another_on_our_gpu_is_named_with_its_memory():
    """Who, what, how much; those that serve, hold nothing or may be ours are not meant."""
    crowd = (
        OURS,
        GpuProcess(20, "bob", 30 * GB, "train.py", ours=False),
        GpuProcess(21, "root", 30 << 20, "dcgm-exporter", ours=False),
        GpuProcess(22, "root", 900 << 20, "nvidia-cuda-mps-server", ours=False),
        GpuProcess(23, ours=None, memory=9 * GB),
    )
    (text,) = told(gpu_shared, gpu(processes=crowd), GpuHistory(shared=60))
    assert text.startswith("train.py of bob (pid 20) with 32 GB is on GPU 0 too; ask its owner")
    assert told(gpu_shared, gpu(processes=crowd), GpuHistory(shared=30)) == []
    assert told(gpu_shared, gpu(processes=crowd[:1] + crowd[2:]), GpuHistory(shared=60)) == []


def test_a_crowd_is_counted():
    """A line has room for three."""
    crowd = tuple(GpuProcess(30 + at, "eve", None, "", ours=False) for at in range(5))
    (text,) = told(gpu_shared, gpu(processes=crowd), GpuHistory(shared=60))
    assert "a process of eve (pid 32) and 2 more are on GPU 0 too" in text


def test_a_worker_on_the_wrong_gpu_is_told_when_it_stays_there():
    """And at once when the one it was given does not exist."""
    assert told(gpu_wrong, gpu(), strays=(Stray(1, "1", 0, 10.0),)) == []
    (text,) = told(gpu_wrong, gpu(), strays=(Stray(1, "1", 0, 30.0),))
    assert "worker 1 was given GPU 1 and computes on GPU 0" in text
    (found,) = gpu_wrong.judge(case(gpu(), strays=(Stray(1, "7", None, 0.0),)), NOW)
    assert (found.level, "there is no such GPU" in found.text) == (Level.CRITICAL, True)


@pytest.mark.parametrize(
    ("full_in", "remaining", "level"),
    [
        (3600.0, None, Level.WARNING),
        (900.0, None, Level.CRITICAL),
        (7 * 3600.0, None, None),
        (3600.0, 3700.0, None),
        (3600.0, 9000.0, Level.WARNING),
    ],
)
def test_memory_that_rises_towards_its_end_is_told_if_it_gets_there(full_in, remaining, level):
    """Before the job is done, or within hours where nobody knows when that is."""
    eta = None if remaining is None else Eta(remaining, remaining, remaining, 0.9)
    found = [one.level for one in gpu_memory.judge(case(gpu(), GpuHistory(full_in=full_in), eta), NOW)]
    assert found == ([] if level is None else [level])


def test_a_jump_of_memory_to_its_end_is_told():
    """Being full is how many programs start; being full where it used to be half is not."""
    full = gpu(memory_used=78 * GB)
    (text,) = told(gpu_memory, full, GpuHistory(usual=40 * GB))
    assert "jumped to 98 % (usually 50 %)" in text
    assert told(gpu_memory, full, GpuHistory(usual=76 * GB)) == []
    assert told(gpu_memory, full, GpuHistory(usual=None)) == []


def test_a_hot_gpu_is_told_and_a_capped_one_is_not():
    """The hardware's reason stands alone, without the general one that comes with it."""
    hot = gpu(throttle=("power cap", "hardware slowdown", "hardware thermal slowdown"))
    assert told(gpu_throttled, hot, GpuHistory(throttled=60)) == []
    (text,) = told(gpu_throttled, hot, GpuHistory(throttled=120))
    assert text == "GPU 0 is slowed down (hardware thermal slowdown): check its cooling: fans, dust, room temperature"
    (text,) = told(gpu_throttled, gpu(throttle=("power brake",)), GpuHistory(throttled=120))
    assert "power supply" in text


def test_broken_hardware_is_critical_and_what_happened_does_not_resolve():
    """An Xid is a fact about the past; a number that nobody knows is told as one."""
    found = list(gpu_broken.judge(case(gpu(xid=(79, 63, 7)), GpuHistory(ecc=2)), NOW))
    assert [(one.level, one.lasting) for one in found] == [
        (Level.CRITICAL, False),
        (Level.CRITICAL, True),
        (Level.WARNING, True),
        (Level.CRITICAL, True),
    ]
    assert "2 uncorrectable memory errors since watching began" in found[0].text
    assert "Xid 79: it has fallen off the PCIe bus; reset it" in found[1].text
    assert "Xid 7: the driver reports an error" in found[3].text
    assert "cannot be used, the GPU is lost" in told(gpu_broken, gpu(trouble="the GPU is lost"))[0]


@pytest.mark.parametrize("xid", [13, 31, 43, 45, 48, 61, 62, 63, 64, 74, 79, 92, 94, 95, 119])
def test_the_numbers_that_matter_have_a_meaning_and_a_remedy(xid):
    """In words that fit a line of a message."""
    (text,) = told(gpu_broken, gpu(xid=(xid,)))
    assert "reports an error" not in text
    assert 40 < len(text) < 160


@pytest.mark.parametrize(
    ("course", "low"),
    [
        (GpuHistory(low=599, rose=True, worked=True), False),
        (GpuHistory(low=600, rose=True, worked=True), True),
        (GpuHistory(low=1199, worked=True), False),
        (GpuHistory(low=1200, worked=True), True),
        (GpuHistory(low=1800, rose=True, worked=True, idle=1800), False),
    ],
)
def test_a_gpu_that_waits_for_data_is_told_once_it_lasts(course, low):
    """Little use for longer than a pause, while the job makes progress, and not where it does nothing at all."""
    some = Progress(10, 100, "items", 1.0, 1.0, NOW)
    found = list(gpu_low.judge(replace(case(gpu(used=0.1), course), progress=some), NOW))
    assert bool(found) is low
    assert all("waits for data" in one.text for one in found)
    assert told(gpu_low, gpu(used=0.1), course) == []
