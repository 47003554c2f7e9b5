"""The extra probe: all GPUs of this machine by the first way that works."""

import time

from dogwatch.remote.gpus.amd import read_amd_smi, read_rocm_smi
from dogwatch.remote.gpus.figures import isolated, tool
from dogwatch.remote.gpus.kernel import recent_xids
from dogwatch.remote.gpus.nvidia_smi import read_nvidia_smi
from dogwatch.remote.gpus.nvml import read_nvml
from dogwatch.remote.gpus.owners import name_owners
from dogwatch.remote.shapes import GpuCall, GpuReading, Gpus


def read_nvml_isolated(seconds: float) -> "GpuReading":
    return isolated(read_nvml, "NVML", seconds)


WAYS = (
    ("nvml", read_nvml_isolated),
    ("nvidia-smi", read_nvidia_smi),
    ("amd-smi", read_amd_smi),
    ("rocm-smi", read_rocm_smi),
)


def first_reading(seconds: float, until: float, skip: "list[str]") -> "tuple[str | None, GpuReading, dict[str, str]]":
    """(the first way that answered, its reading with the owners named, why the others before it failed)."""
    failed: "dict[str, str]" = {}
    for by, read in WAYS:
        reading = read(max(1.0, min(seconds, until - time.monotonic()))) if by not in skip else {}
        if reading.get("why"):
            failed[by] = reading["why"]
        if reading.get("gpus"):
            name_owners(reading["gpus"])
            return by, reading, failed
    return None, {}, failed


def extra_probe(call: "GpuCall") -> "Gpus":
    """`by` is the way that answered; `failed` says why others did not, and is silent about those not there."""
    began, seconds = time.monotonic(), call.get("seconds", 5.0)
    by, reading, failed = first_reading(seconds, float("inf"), call.get("skip", []))
    has_nvidia = any(way == by or way in failed for way in ("nvml", "nvidia-smi"))
    return {
        "by": by,
        "gpus": reading.get("gpus", []),
        "driver": reading.get("driver", ""),
        "xids": recent_xids(call.get("since", 900.0), seconds) if has_nvidia else None,
        "failed": failed,
        "program": tool(by) if by else None,
        "seconds": round(time.monotonic() - began, 3),
    }
