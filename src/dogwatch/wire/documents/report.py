"""A job's report."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from dogwatch.wire.documents.job import CounterDocument, NamedDocument
from dogwatch.wire.documents.meaning import Time, doc


class TimeDocument(TypedDict):
    """When, and for how long."""

    submitted: Annotated[Time | None, doc("when it was handed in")]
    began: Annotated[Time | None, doc("when its first attempt began")]
    ended: Annotated[Time | None, doc("when it ended")]
    confirmed_at: Annotated[Time | None, doc("when its state was last confirmed")]
    waited_seconds: Annotated[float | None, doc("before it began")]
    total_seconds: Annotated[float | None, doc("from its beginning to its end, or to the last evidence")]
    running_seconds: Annotated[float | None, doc("of all attempts")]
    watched_seconds: Annotated[float | None, doc("for how long it was polled")]
    attempts: Annotated[int, doc("executions so far")]


class ItemsDocument(CounterDocument):
    """How far it came."""

    rate_average: Annotated[float | None, doc("units per second")]


class GpuUseDocument(TypedDict):
    """What its GPUs did."""

    count: Annotated[int | None, doc("how many it has")]
    seconds: Annotated[float | None, doc("of GPUs that were measured")]
    used_mean: Annotated[float | None, doc("0 to 1")]
    tenths: Annotated[list[float] | None, doc("ten shares of that time: used 0–10 % … 90–100 %")]
    idle_seconds: Annotated[float | None, doc("used less than 5 %")]
    idle_fraction: Annotated[float | None, doc("the same as a share")]
    memory_peak_bytes: Annotated[float | None, doc("the most of their memory together")]


class EnergyDocument(TypedDict):
    """What its GPUs drew."""

    joules: Annotated[float, doc("that its GPUs drew")]
    seconds: Annotated[float | None, doc("in which that was measured")]


class CostDocument(TypedDict):
    """What it cost, where somebody named a price."""

    price_per_gpu_hour: Annotated[float, doc("as it was named")]
    gpu_hours: Annotated[float | None, doc("null if the number of GPUs is unknown")]
    amount: Annotated[float | None, doc("the one times the other")]


class OutputSumDocument(TypedDict):
    """Its output files together."""

    count: Annotated[int, doc("how many")]
    bytes: Annotated[int, doc("how large together")]


class ReportAttemptDocument(TypedDict):
    """One attempt."""

    attempt: Annotated[int, doc("its number, from 1")]
    began: Annotated[Time, doc("when it began")]
    ended: Annotated[Time | None, doc("when it ended")]
    seconds: Annotated[float, doc("how long it ran")]
    outcome: Annotated[str | None, doc("an outcome, `requeued`, or null")]
    nodes: Annotated[str | None, doc("where it ran")]


class IncidentDocument(TypedDict):
    """Something that went wrong on the way."""

    rule: Annotated[str, doc("that of a finding, `restart` or `log_gap`")]
    level: Annotated[str, doc("`info`, `warning`, `critical`")]
    text: Annotated[str, doc("in words")]
    at: Annotated[Time, doc("when it began")]
    until: Annotated[Time | None, doc("null while it stands, and for what has no length")]
    seconds: Annotated[float | None, doc("how long it lasted")]
    closed: Annotated[str | None, doc("`resolved`, or the `how` of `finding.closed`; null while it stands")]


GapDocument = TypedDict(
    "GapDocument",
    {
        "from": Annotated[Time, doc("its beginning")],
        "to": Annotated[Time, doc("its end")],
        "seconds": Annotated[float, doc("how long it was")],
        "text": Annotated[str, doc("why, in words")],
    },
)
GapDocument.__doc__ = "A time in which the job was not watched, or its host did not answer."


class ReadingDocument(TypedDict):
    """What was measured at one moment; what was not known is absent."""

    at: Annotated[Time, doc("when")]
    step: NotRequired[Annotated[float, doc("its counter")]]
    rate: NotRequired[Annotated[float, doc("units per second")]]
    rss: NotRequired[Annotated[float, doc("memory of its workers in bytes")]]
    gpu_used: NotRequired[Annotated[float, doc("0 to 1")]]
    gpu_memory: NotRequired[Annotated[float, doc("bytes")]]
    watts: NotRequired[Annotated[float, doc("that its GPUs draw")]]
    output_bytes: NotRequired[Annotated[float, doc("size of its outputs")]]
    loss: NotRequired[Annotated[float, doc("of a training, where its log names one")]]


# What a reading may hold.
Measure = Literal["step", "rate", "rss", "gpu_used", "gpu_memory", "watts", "output_bytes", "loss"]


class ReportDocument(NamedDocument):
    """`dogwatch report REF --json` prints one, for a job that has not ended with what is known so far, as of
    `time.confirmed_at`. With `--bundle DIR` it prints `ref`, `path` (the new directory) and `missing` (sentences; empty
    when nothing is)."""

    made_at: Annotated[Time, doc("when the report was made")]
    so_far: Annotated[bool, doc("whether it has not ended")]
    time: Annotated[TimeDocument, doc("when, and for how long")]
    items: Annotated[ItemsDocument | None, doc("how far it came")]
    memory_peak_bytes: Annotated[float | None, doc("by the polls or the accounting, whichever saw more")]
    gpus: Annotated[GpuUseDocument | None, doc("what its GPUs did")]
    energy: Annotated[EnergyDocument | None, doc("what they drew")]
    cost: Annotated[CostDocument | None, doc("null without a price")]
    outputs: Annotated[OutputSumDocument, doc("the output files")]
    attempts: Annotated[list[ReportAttemptDocument], doc("its attempts")]
    incidents: Annotated[list[IncidentDocument], doc("the newest 500, oldest first")]
    gaps: Annotated[list[GapDocument], doc("when it was not watched")]
    readings: Annotated[list[ReadingDocument], doc("what was measured, oldest first, evenly thinned to at most 240")]
    bundle: NotRequired[
        Annotated[str | None, doc("the directory with the diagnostics of its failure, if there is one")]
    ]


class BundleDocument(TypedDict):
    """`dogwatch report REF --bundle DIR --json`."""

    ref: Annotated[str, doc("the job")]
    path: Annotated[str, doc("the new directory")]
    missing: Annotated[list[str], doc("what it lacks, in sentences; empty when nothing is missing")]


class GpuReading(TypedDict, total=False):
    """What the GPUs of a running job did when they were last read."""

    gpu_percent: float | None
    gpu_memory_used_bytes: float | None
    gpu_memory_total_bytes: float | None
    gpus: int
