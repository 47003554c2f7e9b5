"""The extra probe: all GPUs of this machine by the first way that works."""

import time
from typing import Any

from dogwatch.remote.gpus.amd import read_amd_smi, read_rocm_smi
from dogwatch.remote.gpus.figures import isolated, tool
from dogwatch.remote.gpus.kernel import recent_xids
from dogwatch.remote.gpus.nvidia_smi import read_nvidia_smi
from dogwatch.remote.gpus.nvml import read_nvml
from dogwatch.remote.gpus.owners import name_owners


def read_nvml_isolated(seconds: float) -> "dict[str, Any]":
    return isolated(read_nvml, "NVML", seconds)


WAYS = (
    ("nvml", read_nvml_isolated),
    ("nvidia-smi", read_nvidia_smi),
    ("amd-smi", read_amd_smi),
    ("rocm-smi", read_rocm_smi),
)


def extra_probe(call: "dict[str, Any]") -> "dict[str, Any]":
    """`by` is the way that answered; `failed` says why others did not, and is silent about those not there."""
    began, seconds = time.monotonic(), float(call.get("seconds", 5.0))
    failed: "dict[str, str]" = {}
    answer: "dict[str, Any]" = {"by": None, "gpus": [], "driver": "", "xids": None, "program": None}
    for by, read in WAYS:
        if by in call.get("skip", ()):
            continue
        found = read(seconds)
        if found.get("why"):
            failed[by] = found["why"]
        if found.get("gpus"):
            answer.update(found, by=by, program=tool(by))
            break
    name_owners(answer["gpus"])
    if answer["by"] in ("nvml", "nvidia-smi") or any(by in failed for by in ("nvml", "nvidia-smi")):
        answer["xids"] = recent_xids(float(call.get("since", 900.0)), seconds)
    return dict(answer, failed=failed, seconds=round(time.monotonic() - began, 3))
