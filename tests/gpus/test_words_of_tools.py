"""What AMD's programs and the kernel's log print, in the shapes they have; and whatever else they may print."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.gpus.rig import GB, look
from tests.support import with_the_probe

MB = 1 << 20


@pytest.fixture(scope="module")
def parts() -> dict[str, Any]:
    """The extra_probe's own functions, as they travel."""
    return _parts()


def _parts() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "extra_probe"}
    exec(with_the_probe("gpus"), names)  # noqa: S102
    return names


# In the shape of amd-smi 24 (ROCm 6): a list; figures as objects with a unit, or "N/A".
METRIC: dict[str, Any] = {
    "gpu": 0,
    "usage": {
        "gfx_activity": {"value": 88, "unit": "%"},
        "umc_activity": {"value": 40, "unit": "%"},
        "mm_activity": "N/A",
    },
    "power": {"socket_power": {"value": 540, "unit": "W"}, "gfx_voltage": "N/A"},
    "clock": {
        "gfx_0": {"clk": {"value": 2090, "unit": "MHz"}, "max_clk": {"value": 2100, "unit": "MHz"}},
        "mem_0": "N/A",
    },
    "temperature": {"edge": "N/A", "hotspot": {"value": 74, "unit": "C"}, "mem": {"value": 60, "unit": "C"}},
    "ecc": {"total_correctable_count": 4, "total_uncorrectable_count": 1},
    "mem_usage": {"total_vram": {"value": 196592, "unit": "MB"}, "used_vram": {"value": 120000, "unit": "MB"}},
    "throttle": {"ppt_violation_status": "ACTIVE", "hbm_thermal_violation_status": "NOT ACTIVE"},
}
LIST = {"gpu": 0, "bdf": "0000:05:00.0", "uuid": "41ff74a1-0000-1000-80aa-ab12cd34ef56", "kfd_id": 1, "node_id": 2}
STATIC = {
    "gpu": 0,
    "asic": {"market_name": "AMD Instinct MI300X"},
    "limit": {"max_power": {"value": 750, "unit": "W"}, "socket_power": {"value": 700, "unit": "W"}},
}


def amd(rig: Any, wrap: bool, processes: Any) -> None:
    def told(rows: Any) -> str:
        return "[WARNING] User is missing the following groups: {render}\n" + json.dumps(
            {"gpu_data": rows} if wrap else rows
        )

    answers = {"metric": told([METRIC]), "process": told([{"gpu": 0, "process_list": processes}])}
    rig.program("amd-smi", {**answers, "list": told([LIST]), "static": told([STATIC])})


@pytest.mark.parametrize("wrap", [False, True], ids=["ROCm 6", "ROCm 7"])
def test_amd_smi_tells_every_figure(rig, here, wrap):
    """A list of GPUs, or one wrapped; the memory of a process as one figure, or by kind."""
    newer = {"memory_usage": {"vram_mem": {"value": 2 * GB, "unit": "B"}}, "mem_usage": {"value": 9, "unit": "B"}}
    older = {"mem_usage": {"value": 2048, "unit": "MB"}}
    amd(rig, wrap, [{"process_info": {"name": "python", "pid": os.getpid(), **(newer if wrap else older)}}])
    told = look(here)
    assert (told["by"], told["xids"], told["failed"]) == ("amd-smi", None, {})
    (gpu,) = told["gpus"]
    (mine,) = gpu.pop("processes")
    assert (mine["pid"], mine["memory"]) == (os.getpid(), 2 * GB)
    assert gpu == {
        **{"index": 0, "uuid": LIST["uuid"], "name": "AMD Instinct MI300X", "pci": "0000:05:00", "parent": ""},
        **{"used": 0.88, "memory_used": 120000 * MB, "memory_total": 196592 * MB, "watts": 540, "watts_limit": 700},
        **{"celsius": 74, "mhz": 2090, "mhz_most": 2100, "ecc": 1, "throttle": ["power cap"], "trouble": ""},
    }


def test_a_sentence_in_place_of_processes_is_none(rig, here):
    """An idle card says so in words where the first process would stand."""
    amd(rig, False, [{"process_info": "No running processes detected"}])
    assert look(here)["gpus"][0]["processes"] == []


# In the shape of rocm-smi 2 and 3 (ROCm 5 and 6): all figures are texts, and keys are spelled differently.
ROCM = {
    "card0": {
        "Unique ID": "0x2150e7d042a1124",
        "Temperature (Sensor junction) (C)": "51.0",
        "sclk clock speed:": "(1269Mhz)",
        "Max Graphics Package Power (W)": "300.0",
        "Average Graphics Package Power (W)": "141.0",
        "GPU use (%)": "77",
        "VRAM Total Memory (B)": str(64 * GB),
        "VRAM Total Used Memory (B)": str(10 * GB),
        "Card series": "AMD INSTINCT MI250X",
        "PCI Bus": "0000:C1:00.0",
    },
    "system": {"Driver version": "6.2", f"PID{os.getpid()}": f"python3, 1, {3 * GB}, 0, 88", "PID7": "x, 0, 0, 0, 0"},
}


def test_rocm_smi_is_read_where_there_is_nothing_newer(rig, here):
    """Of one card it is clear which one a process is on."""
    rig.program("rocm-smi", {"rest": json.dumps(ROCM)})
    told = look(here)
    (gpu,) = told["gpus"]
    assert told["by"] == "rocm-smi"
    assert [(one["pid"], one["memory"]) for one in gpu["processes"]] == [(os.getpid(), 3 * GB)]
    assert (gpu["used"], gpu["watts"], gpu["watts_limit"], gpu["celsius"], gpu["mhz"]) == (
        0.77,
        141.0,
        300.0,
        51.0,
        1269,
    )
    assert (gpu["pci"], gpu["memory_used"], gpu["name"]) == ("0000:c1:00", 10 * GB, "AMD INSTINCT MI250X")


def test_of_several_cards_rocm_smi_does_not_say_who_is_on_which(rig, here):
    """So nobody is claimed to be on any."""
    card = {**ROCM["card0"], "GPU use (%)": "N/A", "Card series": None, "Card Model": "0x740c"}
    rig.program("rocm-smi", {"rest": json.dumps({**ROCM, "card1": card})})
    first, second = look(here)["gpus"]
    assert (first["processes"], second["processes"]) == (None, None)
    assert (second["used"], second["name"]) == (None, "0x740c")


@pytest.mark.parametrize("name", ["amd-smi", "rocm-smi"])
@pytest.mark.parametrize(
    "text", ["", "Traceback (most recent call last):\n  …", "{", "[1, 2]", '{"gpu_data": 7}', "null"]
)
def test_a_tool_that_prints_something_else_is_not_believed(rig, here, name, text):
    """No GPU comes of it, and nothing breaks."""
    rig.program(name, {"rest": text})
    assert look(here)["gpus"] == []


KMSG = "{marks};NVRM: Xid (PCI:0000:3b:00): {rest}\n SUBSYSTEM=pci\n"


@pytest.mark.parametrize(
    ("record", "found"),
    [
        (
            KMSG.format(
                marks="4,11,90000000,-", rest="79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
            ),
            [{"age": 10.0, "pci": "0000:3b:00", "xid": 79, "pid": None}],
        ),
        (
            KMSG.format(
                marks="3,12,99500000,-", rest="31, pid=4711, name=python, Ch 00000008, intr 00000000. MMU Fault"
            ),
            [{"age": 0.5, "pci": "0000:3b:00", "xid": 31, "pid": 4711}],
        ),
        ("4,13,1,-;NVRM: Xid (0000:03:00): 48, DBE", [{"age": 100.0, "pci": "0000:03:00", "xid": 48, "pid": None}]),
        (KMSG.format(marks="12,14,90000000,-", rest="79, written by a user"), []),
        ("4,15,1,-;NVRM: GPU at PCI:0000:3b:00: GPU-1", []),
        ("garbage", []),
    ],
)
def test_the_kernels_log_tells_errors_of_the_driver(parts, tmp_path, record, found):
    """Which GPU, which number, how long ago; only what the kernel itself wrote."""
    log = tmp_path / "kmsg"
    log.write_text(record)
    assert parts["kernel_xids"](str(log), 100.0) == found


def test_the_journal_is_asked_where_the_kernels_log_is_closed(parts, rig, tmp_path):
    """A log that may not be read says nothing, which is not the same as no errors."""
    assert parts["kernel_xids"](str(tmp_path / "none"), 1.0) is None
    rig.program(
        "journalctl", {"rest": "1000.5 node1 kernel: NVRM: Xid (PCI:0000:3b:00): 63, pid=1, name=x, Row Remapper"}
    )
    (found,) = parts["journal_xids"](60.0, 5.0)
    assert (found["xid"], found["pci"], found["pid"]) == (63, "0000:3b:00", 1)
    rig.program("journalctl", {"exit": 1, "say": "No journal files were opened due to insufficient permissions."})
    assert parts["journal_xids"](60.0, 5.0) is None


PARTS = _parts()
words = st.sampled_from(
    ["gpu", "usage", "gfx_activity", "value", "unit", "mem_usage", "used_vram", "clock", "gfx_0", "clk", "throttle",
     "process_list", "process_info", "pid", "card0", "system", "PID7", "limit", "ppt0", "GPU use (%)", "gpu_data"]
)  # fmt: skip
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=5),
    max_leaves=25,
)


@given(documents)
def test_any_document_of_a_tool_is_survived(document):
    """Keys of the wrong kind, figures that are none, lists where objects should be."""
    PARTS["by_gpu"](document)
    if isinstance(document, dict):
        row = document
        one = PARTS["amd_card"](0, row, row, row)
        assert one["used"] is None or 0 <= one["used"] <= 1
        PARTS["amd_processes"](row)
        PARTS["rocm_card"](0, row)


@given(st.text(max_size=300))
def test_any_text_is_survived_and_no_figure_is_negative(text):
    """What is no figure is None."""
    found = PARTS["figure"](text)
    assert found is None or found >= 0
    PARTS["json_in"](text)
    PARTS["xid_of"](text, 1.0)
    PARTS["slot"](text)
    PARTS["slices_of"](text, [])
    PARTS["add_processes"](text, [])
