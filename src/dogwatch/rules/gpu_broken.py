"""A GPU reports an error of its own: it is lost, its memory failed, or the driver wrote an Xid."""

from __future__ import annotations

from collections.abc import Iterator

from dogwatch.model import Closing, Ended, Finding, Gpu, Level, Running
from dogwatch.model.outcome import GOOD
from dogwatch.rules.interface import Case, Rule, gpus_of

name = "gpu_broken"

LOST = "reset it (nvidia-smi --gpu-reset) or reboot; if it comes back, have it replaced"
# What the driver's numbers mean, and what to do, by NVIDIA's table of Xid errors.
XIDS = {
    13: ("the program made the GPU fail (graphics engine exception)", "mostly a bug in a kernel; compute-sanitizer"),
    31: ("the program accessed invalid memory (MMU fault)", "mostly a bug in a kernel; compute-sanitizer"),
    43: ("the GPU stopped processing for the program", "restart the job"),
    45: ("the driver ended the program's work on it", "look for another Xid just before, or who killed the job"),
    48: ("an uncorrectable error in its memory (double bit)", "drain the node and reset the GPU"),
    61: ("its microcontroller stopped", LOST),
    62: ("its microcontroller halted", LOST),
    63: ("a failing memory row was remapped", "reset the GPU when the job is done"),
    64: ("a failing memory row could not be remapped", "drain the node; have the GPU replaced"),
    74: ("an error on NVLink", "look at the links (nvidia-smi nvlink -e); drain the node if it comes back"),
    79: ("it has fallen off the PCIe bus", LOST),
    92: ("many errors of its memory were corrected", "watch it; have it checked if they continue"),
    94: ("an uncorrectable error of its memory, contained to one program", "restart the job; reset the GPU soon"),
    95: ("an uncorrectable error of its memory, not contained", "drain the node and reset the GPU"),
    119: ("its system processor (GSP) does not answer", LOST),
    120: ("an error of its system processor (GSP)", LOST),
}
MILD = frozenset({63, 92})


def judge(case: Case, now: float) -> Iterator[Finding]:
    if case.known.outcome in GOOD:
        return
    for gpu in case.gpus:
        yield from _found(case, gpu)


def gone(case: Case, what: str) -> Closing:
    return Closing.RESOLVED if any(gpus_of(case, what)) else Closing.OPEN


def _found(case: Case, gpu: Gpu) -> Iterator[Finding]:
    who, ref = f"GPU {gpu.index}", case.job.ref
    if gpu.trouble:
        yield Finding(ref, name, Level.CRITICAL, f"{who} cannot be used, {gpu.trouble}; {LOST}", gpu.key)
    risen = case.gpu_past.of(gpu).ecc if case.gpu_past is not None else 0
    if risen:
        text = f"{who} has {risen} uncorrectable memory errors since watching began; its results cannot be trusted: "
        yield Finding(ref, name, Level.CRITICAL, text + "stop the job, drain the node and reset it", f"{gpu.key} ecc")
    for xid in gpu.xid:
        meaning, remedy = XIDS.get(xid, ("the driver reports an error", "look it up in NVIDIA's table of Xid errors"))
        level = Level.WARNING if xid in MILD else Level.CRITICAL
        what = f"{gpu.key} Xid {xid}"
        yield Finding(ref, name, level, f"{who}, Xid {xid}: {meaning}; {remedy}", what, lasting=True)


PLUGIN = Rule(name, judge=judge, states=(Running, Ended), needs="gpus", gone=gone)
