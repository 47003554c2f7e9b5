"""What a job uses of a machine: its workers, its GPUs, and what it has used so far."""

from __future__ import annotations

from typing import Annotated, TypedDict

from dogwatch.wire.documents.meaning import Time, doc


class WorkerDocument(TypedDict):
    """One worker of a job."""

    index: Annotated[int, doc("which one, from 0", 2)]
    pid: Annotated[int | None, doc("its process id", 4711)]
    doing: Annotated[
        str,
        doc(
            "`running`, `sleeping`, `stopped`, `zombie`, `uninterruptible`, `gone`, `hidden` (exists, may not be "
            "inspected), `waiting`",
            "running",
        ),
    ]
    gpu: Annotated[str | None, doc("the GPUs it was given", "0")]
    gpu_percent: Annotated[float | None, doc("how busy these are, as last read", 97.0)]
    cpu_percent: Annotated[float | None, doc("of one core, between the last two polls", 98.5)]
    memory_bytes: Annotated[
        int | None,
        doc(
            "memory of the worker and, weighed about once a minute, of all that descend from it (pages that they share "
            "count once); at least its own resident size",
            734003200,
        ),
    ]
    children: Annotated[int | None, doc("its child processes", 0)]
    uptime_seconds: Annotated[float | None, doc("how long it has run, or ran", 61.5)]
    rate: Annotated[
        float | None,
        doc(
            "its own units per second; null where it does not count any more: it is gone, stopped or has stood still "
            "for longer than it ever did",
            20.3,
        ),
    ]
    step: Annotated[float | None, doc("its own counter", 300)]
    exit_code: Annotated[int | None, doc("how it ended, where somebody recorded it", 0)]
    signal: Annotated[int | None, doc("the signal that ended it")]
    outcome: Annotated[str | None, doc("as for the job", "succeeded")]
    reason: Annotated[str, doc("how that is known", "exit code 0")]
    log: Annotated[str | None, doc("its log file")]
    logs: Annotated[
        list[str],
        doc(
            "all logs that it writes, `log` first: a stream of its own for stderr, say",
            ["logs/worker_2.log", "logs/worker_2_stderr.log"],
        ),
    ]


class GpuProcessDocument(TypedDict):
    """A process on a GPU."""

    pid: Annotated[int, doc("its process id")]
    user: Annotated[str | None, doc("whose it is")]
    name: Annotated[str | None, doc("its program")]
    memory_bytes: Annotated[int | None, doc("what it holds of the GPU's memory")]
    ours: Annotated[bool | None, doc("whether it belongs to the job; null if unknown")]


class GpuDocument(TypedDict):
    """One GPU of a job."""

    index: Annotated[int, doc("as the driver counts; a slice has that of its whole", 0)]
    uuid: Annotated[str, doc("its permanent identifier", "GPU-5f…")]
    name: Annotated[str, doc("its model", "NVIDIA H100 80GB HBM3")]
    percent: Annotated[float | None, doc("of the time in which it did anything", 97.0)]
    memory_used_bytes: Annotated[int | None, doc("what is used of its memory", 64424509440)]
    memory_total_bytes: Annotated[int | None, doc("all of its memory")]
    watts: Annotated[float | None, doc("what it draws", 612.0)]
    watts_limit: Annotated[float | None, doc("what it may draw", 700.0)]
    celsius: Annotated[float | None, doc("its temperature", 61)]
    mhz: Annotated[int | None, doc("its clock", 1755)]
    mhz_most: Annotated[int | None, doc("the highest clock it has", 1980)]
    throttle: Annotated[
        list[str],
        doc(
            "why the clock is lowered: `power cap`, `thermal slowdown`, `hardware thermal slowdown`, `power brake`, "
            "`hardware slowdown`",
            [],
        ),
    ]
    ecc_uncorrected: Annotated[int | None, doc("errors of its memory since the driver was loaded", 0)]
    xid: Annotated[list[int], doc("the driver's error numbers since the job began", [79])]
    trouble: Annotated[str | None, doc("why it cannot be used at all", "the GPU is lost")]
    parent: Annotated[str | None, doc("of a slice (MIG), the uuid of the whole")]
    idle_seconds: Annotated[float, doc("how long it has done nothing, while it was polled", 0.0)]
    processes: Annotated[list[GpuProcessDocument] | None, doc("who is on it; null where they cannot be listed")]
    at: Annotated[Time, doc("when this was read")]


class SpentDocument(TypedDict):
    """Added up over all attempts, and only over time that somebody really watched: nothing is guessed for a gap."""

    watched_seconds: Annotated[float, doc("for how long it was polled", 86011.2)]
    memory_peak_bytes: Annotated[
        float | None, doc("the most resident memory of its workers together that a poll saw", 734003200)
    ]
    gpu_memory_peak_bytes: Annotated[float | None, doc("the same of the memory of its GPUs together")]
    gpus: Annotated[int | None, doc("the most GPUs of it that a poll saw", 8)]
    gpu_tenths_seconds: Annotated[
        list[float] | None,
        doc("ten numbers: the seconds, summed over its GPUs, in which one was used 0–10 %, 10–20 % … 90–100 %"),
    ]
    gpu_busy_seconds: Annotated[
        float | None,
        doc("the same, each second times the use: divided by the sum of `gpu_tenths_seconds` it is the mean use"),
    ]
    gpu_idle_seconds: Annotated[float | None, doc("the same of GPUs that were used less than 5 %", 120.0)]
    energy_joules: Annotated[float | None, doc("what its GPUs drew, where that was measured")]
    energy_seconds: Annotated[float | None, doc("the time that `energy_joules` covers")]


class EfficiencyDocument(TypedDict):
    """What an ended job used of what it had asked for."""

    wall_seconds: Annotated[float | None, doc("how long it ran; of an array the longest task")]
    limit_seconds: Annotated[float | None, doc("its time limit")]
    wall_percent: Annotated[float | None, doc("the one of the other")]
    cpu_percent: Annotated[float | None, doc("of the processors that it was given")]
    cpu_seconds: Annotated[float | None, doc("the processor time of all tasks")]
    memory_bytes: Annotated[int | None, doc("the most memory that a task held")]
    memory_requested_bytes: Annotated[int | None, doc("what that one had asked for")]
    memory_percent: Annotated[float | None, doc("the one of the other")]
    gpu_percent: Annotated[float | None, doc("how busy its GPUs were")]
    gpu_memory_bytes: Annotated[int | None, doc("the most GPU memory that it held")]
    gpus: Annotated[int | None, doc("the GPUs that it was given")]
    gpu_seconds: Annotated[float | None, doc("their number times the time it ran, over all tasks")]
    exceeded: Annotated[bool, doc("whether the time limit ended it")]
    ask_for_seconds: Annotated[float | None, doc("the time limit to ask for next time")]
