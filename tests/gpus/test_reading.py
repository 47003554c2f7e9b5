"""The GPUs of a machine as the extra probe reads them, by every way there is, well or badly."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any

import pytest

from dogwatch.transport.local import Here
from tests.gpus.rig import GB, H100, look, work_environment
from tests.support import with_the_probe

SMI_ROW: dict[str, Any] = {
    "index": 0,
    "uuid": "GPU-00000000",
    "name": "Tesla T4",
    "pci.bus_id": "00000000:3B:00.0",
    "utilization.gpu": 45,
    "memory.used": 1024,
    "memory.total": 15360,
    "power.draw": 41.27,
    "temperature.gpu": 66,
    "driver_version": "535.104.05",
    "enforced.power.limit": "70.00",
    "clocks.sm": 1350,
    "clocks.max.sm": 1590,
    "clocks_throttle_reasons.active": "0x0000000000000024",
    "ecc.errors.uncorrected.volatile.total": 0,
    "mig.mode.current": "[N/A]",
}
NOBODY = 4_194_303  # a pid that no machine gives away


def test_nvml_tells_every_figure(rig, here):
    """Shares, bytes, watts, degrees, clocks, the reasons for low ones, errors, and who is on it."""
    rig.library([{**H100, "throttle": "0xc1"}], f"process 0 {os.getpid()} {2 * GB} 0 0", f"process 0 {NOBODY} -1 0 0")
    told = look(here)
    assert (told["by"], told["driver"], told["failed"]) == ("nvml", "550.54.15", {})
    (gpu,) = told["gpus"]
    mine, other = gpu.pop("processes")
    assert gpu == {
        **{"index": 0, "uuid": "GPU-00000000", "name": "NVIDIA H100 80GB HBM3", "pci": "0000:10:00", "parent": ""},
        **{"used": 0.97, "memory_used": 60 * GB, "memory_total": 80 * GB, "watts": 612.0, "watts_limit": 700.0},
        **{"celsius": 61, "mhz": 1755, "mhz_most": 1980, "ecc": 0, "trouble": ""},
        "throttle": ["hardware thermal slowdown", "power brake"],
    }
    assert (mine["pid"], mine["memory"], mine["seen"]) == (os.getpid(), 2 * GB, True)
    assert os.getppid() in mine["above"]
    assert mine["user"]
    assert other == {"pid": NOBODY, "memory": None, "seen": False}


def test_an_old_python_reads_the_same(rig, here):
    """The oldest that a host may have: NVML by its ctypes, and a crash told as ours tells it."""
    old = shutil.which("python3.6")
    if old is None or subprocess.run([old, "-IS", "-c", "import ctypes"], capture_output=True, timeout=60).returncode:
        pytest.skip("needs a python3.6 with ctypes on the PATH")
    rig.library([H100, {"name": "NVIDIA T4"}], f"process 0 {os.getpid()} {GB} 0 0")
    transport = Here(python=old)
    try:
        assert look(transport) | {"seconds": 0} == look(here) | {"seconds": 0}
        rig.library([H100], "crash nvmlInit_v2")
        assert look(transport)["failed"] == look(here)["failed"] == {"nvml": "NVML crashed with signal 11"}
    finally:
        transport.close()


@pytest.mark.needs_root
@pytest.mark.needs_tool("unshare")
def test_a_pid_from_outside_a_container_is_nobody_inside(rig, tmp_path):
    """The driver counts pids as the machine does. Inside, the same number is somebody else, unless it holds CUDA."""
    rig.library([H100], "process 0 1 4096 0 0")
    held, program = work_environment(tmp_path)["CUDA"], tmp_path / "errand.py"
    program.write_bytes(with_the_probe("gpus"))
    inside = (
        "import json, mmap, os, sys\n"
        "file = open(sys.argv[2], 'rb')\n"
        "held = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) if sys.argv[3] == 'held' else None\n"
        "names = {'__name__': 'extra_probe'}\n"
        "exec(open(sys.argv[1], 'rb').read(), names)\n"
        "print(os.getpid(), json.dumps(names['extra_probe']({'seconds': 5.0})['gpus'][0]['processes']))"
    )
    seen = {}
    for how in ("held", "not"):
        words = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-IS", "-c", inside]
        done = subprocess.run([*words, str(program), held, how], capture_output=True, text=True, timeout=60, check=True)
        pid, _, told = done.stdout.partition(" ")
        assert pid == "1"
        seen[how] = [one["seen"] for one in json.loads(told)]
    assert seen == {"held": [True], "not": [False]}


def test_what_is_not_supported_is_nothing_and_never_zero(rig, here):
    """A GPU that tells only its name has no figure at all."""
    rig.library([{"name": "NVIDIA GeForce GT 710"}], "code nvmlDeviceGetComputeRunningProcesses_v3 3",
                "code nvmlDeviceGetComputeRunningProcesses 3")  # fmt: skip
    (gpu,) = look(here)["gpus"]
    unknown = {key for key, value in gpu.items() if value is None}
    assert unknown == {
        *("used", "memory_used", "memory_total", "watts", "watts_limit", "celsius", "mhz", "mhz_most", "ecc"),
        "processes",
    }


def test_an_old_driver_is_asked_by_its_old_names(rig, here):
    """It lists processes in a smaller struct, and knows neither MIG nor throttle reasons."""
    rig.library([H100], f"process 0 {os.getpid()} {GB} 0 0", f"process 0 {NOBODY} {3 * GB} 0 0", old=True)
    (gpu,) = look(here)["gpus"]
    assert [(one["pid"], one["memory"]) for one in gpu["processes"]] == [(os.getpid(), GB), (NOBODY, 3 * GB)]
    assert (gpu["memory_used"], gpu["used"], gpu["ecc"], gpu["throttle"]) == (60 * GB, 0.97, None, [])


def test_a_crowd_on_a_gpu_is_counted_beyond_the_first_room(rig, here):
    """More processes than fit are asked for again with more room, and bounded."""
    rig.library([H100], *(f"process 0 {NOBODY - at} {GB} 0 0" for at in range(300)))
    (gpu,) = look(here)["gpus"]
    assert len(gpu["processes"]) == 64


def test_slices_are_gpus_with_their_own_memory_and_processes(rig, here):
    """In MIG mode use and power are not told; each slice has its memory and those that compute on it."""
    whole = {**H100, "percent": None, "mig": 1}
    whole |= {"slice0.uuid": "MIG-aaa", "slice0.name": "NVIDIA H100 MIG 3g.40gb", "slice0.gpu_instance": 2}
    whole |= {"slice0.compute_instance": 0, "slice0.used": 9 * GB, "slice0.total": 40 * GB}
    whole |= {"slice3.uuid": "MIG-bbb", "slice3.name": "NVIDIA H100 MIG 1g.10gb", "slice3.gpu_instance": 9}
    whole |= {"slice3.compute_instance": 0, "slice3.used": 0, "slice3.total": 10 * GB}
    rig.library([whole], f"process 0 {os.getpid()} {8 * GB} 2 0")
    parent, first, second = look(here)["gpus"]
    assert (parent["processes"], parent["used"], parent["parent"]) == ([], None, "")
    assert (first["uuid"], first["parent"], first["memory_used"]) == ("MIG-aaa", "GPU-00000000", 9 * GB)
    assert [one["pid"] for one in first["processes"]] == [os.getpid()]
    assert (second["uuid"], second["memory_total"], second["processes"], second["used"]) == (
        *("MIG-bbb", 10 * GB, []),
        None,
    )


@pytest.mark.parametrize("trouble", ["hang", "crash"])
@pytest.mark.parametrize("where", ["nvmlInit_v2", "nvmlDeviceGetUtilizationRates"])
def test_a_library_that_hangs_or_crashes_gives_way_to_the_program_in_the_same_look(rig, here, trouble, where):
    """The child that called it is lost; the poll is not."""
    rig.library([H100], f"{trouble} {where}")
    rig.program("nvidia-smi", {"gpus": [SMI_ROW], "apps": f"GPU-00000000, {os.getpid()}, 900\n"})
    told = look(here, seconds=1.0)
    assert told["by"] == "nvidia-smi"
    assert told["failed"]["nvml"] in ("NVML did not answer in 1 s", "NVML crashed with signal 11")
    assert look(here, skip=["nvml"])["failed"] == {}


@pytest.mark.parametrize(
    ("code", "why"),
    [(9, "NVML: the NVIDIA driver is not loaded"), (18, "of different versions"), (999, "NVML: unknown error")],
)
def test_a_library_that_will_not_start_says_why(rig, here, code, why):
    """After an upgrade of the driver the library is newer than the kernel's part, until a reboot."""
    rig.library([H100], f"code nvmlInit_v2 {code}")
    told = look(here)
    assert (told["by"], told["gpus"]) == (None, [])
    assert why in told["failed"]["nvml"]


def test_a_gpu_that_is_lost_is_told_beside_those_that_are_not(rig, here):
    """It fell off the bus: its place stays, with the reason."""
    rig.library([H100], "count 1", "code nvmlDeviceGetHandleByIndex_v2 15")
    assert look(here)["gpus"][0]["trouble"] == "the GPU is lost"
    rig.library([H100], "code nvmlDeviceGetTemperature 15")
    (gpu,) = look(here)["gpus"]
    assert (gpu["trouble"], gpu["celsius"], gpu["name"]) == ("the GPU is lost", None, "NVIDIA H100 80GB HBM3")


def test_the_program_is_read_where_there_is_no_library(rig, here):
    """The same figures from the columns of nvidia-smi."""
    rig.program("nvidia-smi", {"gpus": [SMI_ROW], "apps": f"GPU-00000000, {NOBODY}, [N/A]\nGPU-9, 1, 2\n"})
    told = look(here)
    assert (told["by"], told["driver"]) == ("nvidia-smi", "535.104.05")
    (gpu,) = told["gpus"]
    assert gpu == {
        **{"index": 0, "uuid": "GPU-00000000", "name": "Tesla T4", "pci": "0000:3b:00", "parent": "", "trouble": ""},
        **{"used": 0.45, "memory_used": GB, "memory_total": 15 * GB, "watts": 41.27, "watts_limit": 70.0},
        **{"celsius": 66, "mhz": 1350, "mhz_most": 1590, "ecc": 0, "throttle": ["power cap", "thermal slowdown"]},
        "processes": [{"pid": NOBODY, "memory": None, "seen": False}],
    }


def test_a_warning_before_the_table_is_no_gpu_and_no_driver(rig, here):
    """What the program says first need not be a row."""
    rig.program("nvidia-smi", {"gpus": [SMI_ROW], "warning": "WARNING: infoROM is corrupted at gpu 0000:3B:00.0"})
    told = look(here)
    assert (told["driver"], len(told["gpus"]), told["failed"]) == ("535.104.05", 1, {})


def test_a_program_that_knows_fewer_fields_is_asked_for_fewer(rig, here):
    """An unknown field makes nvidia-smi refuse the whole question; a newer one has another name for the reasons."""
    newer = {**SMI_ROW, "clocks_event_reasons.active": "0x0000000000000004"}
    rig.program("nvidia-smi", {"gpus": [newer], "unknown": ["clocks_throttle_reasons.active"]})
    (gpu,) = look(here)["gpus"]
    assert (gpu["throttle"], gpu["watts_limit"]) == (["power cap"], 70.0)
    rig.program("nvidia-smi", {"gpus": [SMI_ROW], "unknown": ["mig.mode.current", "clocks_throttle_reasons.active"]})
    (gpu,) = look(here)["gpus"]
    assert (gpu["used"], gpu["watts_limit"], gpu["mhz"], gpu["ecc"]) == (0.45, None, None, None)


def test_words_in_place_of_figures_are_nothing(rig, here):
    """`[N/A]`, `[Not Supported]`, `[Unknown Error]` and `[GPU is lost]` are no zeros."""
    words = dict.fromkeys(("utilization.gpu", "memory.used", "power.draw", "clocks.sm"), "[Not Supported]")
    rig.program("nvidia-smi", {"gpus": [{**SMI_ROW, **words, "temperature.gpu": "[GPU is lost]"}]})
    (gpu,) = look(here)["gpus"]
    assert [gpu[key] for key in ("used", "memory_used", "watts", "mhz", "celsius")] == [None] * 5
    assert gpu["trouble"] == "the GPU is lost"


def test_the_program_lists_slices_without_figures(rig, here):
    """Nor can it say which slice a process of their GPU is on, unless it names it."""
    listing = (
        "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-00000000)\n"
        "  MIG 1g.5gb      Device  0: (UUID: MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f)\n"
        "  MIG 2g.10gb     Device  1: (UUID: MIG-GPU-00000000/3/0)\n"
    )
    row = {**SMI_ROW, "mig.mode.current": "Enabled", "utilization.gpu": "[N/A]"}
    apps = f"MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f, {NOBODY}, 512\n"
    rig.program("nvidia-smi", {"gpus": [row], "listing": listing, "apps": apps})
    whole, first, second = look(here)["gpus"]
    assert (whole["processes"], second["processes"]) == (None, None)
    assert (first["name"], first["parent"]) == ("Tesla T4 MIG 1g.5gb", "GPU-00000000")
    assert first["processes"] == [{"pid": NOBODY, "memory": 512 << 20, "seen": False}]
    assert second["uuid"] == "MIG-GPU-00000000/3/0"


def test_a_program_that_hangs_or_fails_is_told_and_left(rig, here):
    """Its own deadline ends it; nothing more is tried for NVIDIA."""
    rig.program("nvidia-smi", {"hang": True})
    assert look(here, seconds=1.0)["failed"] == {"nvidia-smi": "nvidia-smi did not answer in 1 s"}
    rig.program("nvidia-smi", {"exit": 9, "say": "NVIDIA-SMI has failed because it couldn't reach the driver."})
    told = look(here)
    assert told["gpus"] == []
    assert told["failed"]["nvidia-smi"].startswith("nvidia-smi ended with 9: NVIDIA-SMI has failed")


def test_a_machine_without_gpus_has_none_and_nothing_failed(rig, here):
    """Not having a tool is no failure of it."""
    assert look(here) | {"seconds": 0} == {
        **{"by": None, "gpus": [], "driver": "", "xids": None, "program": None, "failed": {}},
        "seconds": 0,
    }
