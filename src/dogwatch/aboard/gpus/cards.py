"""The errand: all GPUs of this machine by the first way that works."""

import time

from dogwatch.aboard.gpus.amd import amd_smi_look, rocm_smi_look
from dogwatch.aboard.gpus.figures import isolated, tool
from dogwatch.aboard.gpus.kernel import recent_xids
from dogwatch.aboard.gpus.nvidia_smi import nvidia_smi_look
from dogwatch.aboard.gpus.nvml import nvml_look
from dogwatch.aboard.gpus.owners import name_owners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def safe_nvml_look(seconds: float) -> "dict[str, Any]":
    return isolated(nvml_look, "NVML", seconds)


WAYS = (
    ("nvml", safe_nvml_look),
    ("nvidia-smi", nvidia_smi_look),
    ("amd-smi", amd_smi_look),
    ("rocm-smi", rocm_smi_look),
)


def errand(call: "dict[str, Any]") -> "dict[str, Any]":
    """`by` is the way that answered; `failed` says why others did not, and is silent about those not there."""
    began, seconds = time.monotonic(), float(call.get("seconds", 5.0))
    failed: "dict[str, str]" = {}
    answer: "dict[str, Any]" = {"by": None, "gpus": [], "driver": "", "xids": None, "program": None}
    for by, look in WAYS:
        if by in call.get("skip", ()):
            continue
        found = look(seconds)
        if found.get("why"):
            failed[by] = found["why"]
        if found.get("gpus"):
            answer.update(found, by=by, program=tool(by))
            break
    name_owners(answer["gpus"])
    if answer["by"] in ("nvml", "nvidia-smi") or any(by in failed for by in ("nvml", "nvidia-smi")):
        answer["xids"] = recent_xids(float(call.get("since", 900.0)), seconds)
    return dict(answer, failed=failed, seconds=round(time.monotonic() - began, 3))
