"""A job as every interface prints it, and how it is kept."""

from __future__ import annotations

from typing import Annotated, TypedDict

from dogwatch.wire.documents.artifacts import CheckpointsDocument, DiskDocument, OutputDocument
from dogwatch.wire.documents.diagnosis import DiagnosisDocument, OutageDocument
from dogwatch.wire.documents.machine import EfficiencyDocument, GpuDocument, SpentDocument, WorkerDocument
from dogwatch.wire.documents.meaning import Time, doc
from dogwatch.wire.documents.stages import SiteDocuments


class AttemptDocument(TypedDict):
    """One attempt of a job."""

    attempt: Annotated[int, doc("its number, from 1")]
    began: Annotated[Time, doc("when it began")]
    ended: Annotated[Time | None, doc("when it ended")]
    seconds: Annotated[float | None, doc("how long it ran")]
    how: Annotated[str | None, doc("an outcome, `requeued`, or null while it runs")]
    reached: Annotated[float | None, doc("the step it reached")]
    nodes: Annotated[str | None, doc("where it ran")]
    partition: Annotated[str | None, doc("the partition it ran in")]
    limit_seconds: Annotated[float | None, doc("its time limit")]
    logs: Annotated[dict[str, int], doc("path → the offset where it began to write, as long as that is still there")]


class EvidenceDocument(TypedDict):
    """What a state rests on."""

    by: Annotated[str, doc("who says so", "supervisor")]
    says: Annotated[str, doc("what it says", "4 workers: exit 0")]
    at: Annotated[Time, doc("when it said so")]


class CounterDocument(TypedDict):
    """A counter, wherever one is shown."""

    step: Annotated[float | None, doc("how far", 1200)]
    total: Annotated[float | None, doc("of how much", 8000)]
    unit: Annotated[str, doc("of what", "items")]
    fraction: Annotated[float | None, doc("step / total; finer where the log allows it", 0.15)]


class ProgressDocument(CounterDocument):
    """How far a job is."""

    rate: Annotated[float | None, doc("units per second now", 81.2)]
    rate_average: Annotated[float | None, doc("units per second since watching began", 79.9)]
    at: Annotated[Time, doc("when this was read")]


class SpanDocument(TypedDict):
    """An estimate of the time left."""

    remaining_seconds: Annotated[float, doc("the estimate", 84.0)]
    low_seconds: Annotated[float, doc("the beginning of the interval around it", 80.1)]
    high_seconds: Annotated[float, doc("its end", 97.5)]
    confidence: Annotated[float, doc("how likely the interval holds the truth", 0.8)]


class EtaDocument(SpanDocument):
    """When a job will be done."""

    at: Annotated[Time | None, doc("the estimate as a moment; null where it lies beyond the year 9999")]
    low_at: Annotated[Time | None, doc("the beginning of the interval as a moment")]
    high_at: Annotated[Time | None, doc("its end as a moment")]


class FindingDocument(TypedDict):
    """What is open now."""

    rule: Annotated[
        str,
        doc(
            "who concludes it: `worker_gone`, `all_ended`, `launch_failed`, `stalled`, `silent`, `slow`, `straggler`, "
            "`gpu_idle`, `gpu_low`, `gpu_unused`, `gpu_shared`, `gpu_wrong`, `gpu_memory`, `gpu_throttled`, "
            "`gpu_broken`, `disk_low`, `disk_fills`, `memory_fills`, `loss_bad`, `growth_low`, `outputs_unchanged`, "
            "`output_broken`, `folder_moved`, `checkpoint_overdue`, `checkpoint_broken`, `no_progress`, "
            "`host_unreachable`, `cannot_see`, `error_pattern`, `not_verified`, `contradiction`, `cannot_start`, "
            "`time_limit`",
            "worker_gone",
        ),
    ]
    level: Annotated[str, doc("`info`, `warning`, `critical`", "critical")]
    text: Annotated[str, doc("the finding in words")]
    since: Annotated[Time, doc("when it opened")]


class SignDocument(TypedDict):
    """What a verdict rests on."""

    by: Annotated[
        str, doc("`progress`, `log`, `output`, `checkpoint`, `processes`, `process table`, `gpu`", "progress")
    ]
    says: Annotated[str, doc("what it shows")]
    quiet_seconds: Annotated[float | None, doc("for how long it has not moved while it was polled")]
    percent: Annotated[float | None, doc("of `gpu`, how busy it is")]


class VerdictDocument(TypedDict):
    """Whether a running job is stuck."""

    word: Annotated[str, doc("`working`, `slow`, `silent but busy`, `stalled`, `cannot tell`", "stalled")]
    since: Annotated[
        Time,
        doc("since when: for `stalled` and `silent but busy` the last sign of life, for `slow` when it became so"),
    ]
    why: Annotated[str | None, doc("the same in a sentence; null while it works")]
    evidence: Annotated[list[SignDocument], doc("what it rests on")]
    silence_limit_seconds: Annotated[float | None, doc("the silence that is no news of this job now", 960.0)]
    silent_seconds: Annotated[
        float, doc("how long it has shown no progress, log or file activity while it was polled", 1015.0)
    ]


class LaunchCheckDocument(TypedDict):
    """One thing that is looked for in the first minute."""

    what: Annotated[
        str,
        doc("`workers`, `gpus`, `gpu use`, `logs`, `output directory`, `first output`, `first step`", "logs"),
    ]
    ok: Annotated[bool, doc("whether it was seen")]
    seconds: Annotated[float | None, doc("after how long it came", 2.1)]
    within: Annotated[bool, doc("true if the exact time is unknown and this is the upper limit")]
    text: Annotated[str | None, doc("what is not there")]


class LaunchDocument(TypedDict):
    """How the first minute of a job went."""

    state: Annotated[
        str,
        doc(
            "`verifying`; `verified` (all that can be asked of it was seen); `unproven` (the time is over, and "
            "something was not); `failed` (a worker did not start, or ended at once); `unseen` (not watched then)",
            "verified",
        ),
    ]
    began: Annotated[Time, doc("when its first worker started")]
    timeout_seconds: Annotated[float, doc("how long all of it may take", 60.0)]
    text: Annotated[str | None, doc("the same in a sentence, of a failure with the worker and the cause")]
    checks: Annotated[list[LaunchCheckDocument], doc("what was checked")]


class ExpectDocument(TypedDict):
    """What the owner of a job said should be true."""

    workers: Annotated[int | None, doc("how many workers it has", 4)]
    logs: Annotated[list[str], doc("its log files, or globs of them")]
    outputs: Annotated[list[str], doc("its output files, or globs of them")]
    checkpoints: Annotated[list[str], doc("its checkpoints, or globs of them")]
    total_items: Annotated[int | None, doc("how much there is to do")]
    launch_timeout: Annotated[float, doc("seconds that its launch may take")]
    stall_timeout: Annotated[float | None, doc("seconds of silence after which it is stalled")]
    check_interval: Annotated[float | None, doc("seconds between two polls")]
    progress_patterns: Annotated[dict[str, str], doc("patterns of its owner that read its progress, by what they read")]
    error_patterns: Annotated[list[tuple[str, str]], doc("level and pattern of lines that are errors")]
    min_growth: Annotated[float | None, doc("bytes per second that its outputs grow at least")]
    stall_warning: Annotated[float | None, doc("seconds without progress after which its owner is warned")]


class VerifiedDocument(TypedDict):
    """Whether what was expected of an ended job is there."""

    ok: Annotated[bool, doc("whether it is")]
    text: Annotated[str, doc("the same in words", "4 output files, none empty")]


class FinalCheckDocument(TypedDict):
    """One thing that was verified after the end."""

    what: Annotated[str, doc("`outputs`, `expected files`, `integrity`, `items`, `checkpoint`, `workers`", "items")]
    word: Annotated[
        str,
        doc("`passed`, `failed`, `unknown`: it could not be checked, `pending`: it will be checked again", "failed"),
    ]
    text: Annotated[str, doc("what was found", "only 97,200 of 100,000 items by its logs")]


class TaskDocument(TypedDict):
    """A task of an array, or a part of a heterogeneous job."""

    id: Annotated[str, doc("its id within the job")]
    state: Annotated[str, doc("as `state` of a job")]
    outcome: Annotated[str | None, doc("as `outcome` of a job")]
    native: Annotated[str, doc("the place's own word")]
    exit_code: Annotated[int | None, doc("its exit code")]
    signal: Annotated[int | None, doc("the signal that ended it")]
    reason: Annotated[str, doc("why, in words")]


class TasksDocument(TypedDict):
    """The tasks of an array or heterogeneous job."""

    count: Annotated[int, doc("how many there are", 8)]
    states: Annotated[dict[str, int], doc("word → how many")]
    rows: Annotated[list[TaskDocument], doc("at most 200, the odd ones first")]


class FolderDocument(TypedDict):
    """A folder of a job's files."""

    path: Annotated[str, doc("as it was named", "/scratch/run7")]
    real: Annotated[str, doc("where it was when it was first read, all links followed", "/mnt/scratch/run7")]


class ScoreDocument(TypedDict):
    """What a result file says of one task."""

    task: Annotated[str, doc("the task", "gsm8k")]
    metric: Annotated[str, doc("what was measured", "exact_match")]
    value: Annotated[float, doc("the score", 0.671)]
    stderr: Annotated[float | None, doc("its standard error", 0.013)]


class EndDocument(TypedDict):
    """What a job left, and what was verified of it."""

    checkpoints: Annotated[CheckpointsDocument | None, doc("the checkpoints that were found")]
    verified: Annotated[
        VerifiedDocument | None,
        doc(
            "after the end, whether what was expected is there; null where nothing was, and as long as something could "
            "not be checked"
        ),
    ]
    checks: Annotated[list[FinalCheckDocument], doc("after the end, each thing that was verified")]
    scores: Annotated[
        list[ScoreDocument],
        doc("after the end, what result files in its output directory say (lm-eval, NeMo Evaluator, inspect-ai)"),
    ]


class NamedDocument(EndDocument):
    """What a job is, what became of it, and what else a report has of it too."""

    ref: Annotated[str, doc("the name every command takes", "here/process:train-5f3a1c")]
    source: Annotated[str, doc("the kind of thing it is", "process")]
    place: Annotated[str, doc("where it lives", "here")]
    name: Annotated[str, doc("what its owner calls it", "train")]
    description: Annotated[str, doc("whatever was said of it", "")]
    state: Annotated[str | None, doc("`waiting`, `running`, `ended`, `missing`; null before the first poll", "running")]
    outcome: Annotated[
        str | None,
        doc(
            "how it ended, after the final checks ([outcomes.md](outcomes.md)): `succeeded`, `completed` (exit status "
            "unknown), `incomplete`, `failed`, `cancelled`, `timed_out`, `out_of_memory`, `node_failed`, `preempted`, "
            "`unknown`; null until it has ended and, for a moment, while what it left is still being checked"
        ),
    ]
    reason: Annotated[str | None, doc("why it is in this state, in words", "worker 2: exit code 1")]
    exit_code: Annotated[int | None, doc("the exit code that decided the outcome", 1)]
    signal: Annotated[int | None, doc("the signal that decided it", 9)]
    evidence: Annotated[list[EvidenceDocument], doc("what the state rests on")]
    diagnosis: Annotated[
        DiagnosisDocument | None, doc("after a bad ending, why; null while there is no sign of a failure")
    ]


class DetailDocument(EndDocument, SiteDocuments):
    """The parts of a job document that the watcher writes whole, at each tick in which they change."""

    no_eta_reason: Annotated[
        str | None,
        doc(
            "why a running job has no estimate: `stalled`, `no progress` (the counter stands for longer than its "
            "silence limit), `suspended`, `cannot finish: worker 2 exited` (its share is left undone), `may not "
            "finish: worker 2 exited` (the others may take over its items), `worker 2 stopped`, `worker 2 stalled`, "
            "`no total known`, `no progress counted yet`, `not enough progress yet`, `no end in sight`; null where "
            "there is an estimate or the job does not run"
        ),
    ]
    verdict: Annotated[VerdictDocument | None, doc("whether it is stuck; null unless running")]
    workers: Annotated[list[WorkerDocument], doc("one object per worker")]
    outputs: Annotated[list[OutputDocument], doc("the newest output files")]
    outputs_missing: Annotated[list[str], doc("the output globs that lead nowhere yet")]
    disks: Annotated[list[DiskDocument], doc("the file systems the job writes to")]
    gpus: Annotated[
        list[GpuDocument],
        doc("the GPUs it was given or has processes on, as last read; empty where nothing was learnt"),
    ]
    launch: Annotated[LaunchDocument | None, doc("how its first minute went; null before it has begun")]
    history: Annotated[
        list[AttemptDocument],
        doc("of a job with several attempts (or in whose log others wrote before it), each of the last eight"),
    ]
    spent: Annotated[SpentDocument | None, doc("what it has used so far by what polls saw; null before the first poll")]
    tasks: Annotated[TasksDocument | None, doc("of an array or heterogeneous job, its tasks")]
    efficiency: Annotated[
        EfficiencyDocument | None,
        doc(
            "after the end, what it used by Slurm's accounting (of the GPUs, if that has nothing, by the polls of "
            "`gpu_metrics.csv`)"
        ),
    ]
    expected_start: Annotated[Time | None, doc("when the scheduler expects a waiting job to start")]
    time_limit_at: Annotated[Time | None, doc("when a running job meets its time limit")]
    time_limit_seconds: Annotated[float | None, doc("the time limit that it was given", 86400.0)]
    nodes: Annotated[str | None, doc("the nodes it runs on", "gpu01")]
    folders: Annotated[
        list[FolderDocument],
        doc(
            "where the folders of its logs, outputs and checkpoints were when they were first read; nothing "
            "outside of these is read"
        ),
    ]
    logs: Annotated[
        list[str],
        doc("the log files (or globs of them) that the place itself named; those its owner named are in `expect`"),
    ]
    stdout: Annotated[str | None, doc("the file the scheduler writes its output to")]


class JobDocument(NamedDocument, DetailDocument):
    """`dogwatch run --detach --json` and `dogwatch add … --json` print one."""

    id: Annotated[str, doc("the job's id within its source", "train-5f3a1c")]
    ended_as: Annotated[
        str | None,
        doc("what the place itself said of the ending, before the checks; never `completed` or `incomplete`"),
    ]
    native: Annotated[str | None, doc("the place's own word for it, verbatim", "sleeping", "exit 0")]
    attempts: Annotated[int, doc("executions so far, by Slurm's own count of restarts where it runs it", 1)]
    since: Annotated[Time | None, doc("when the state began", "2026-11-15T20:00:00.000Z")]
    submitted: Annotated[Time | None, doc("when the job was handed in")]
    started: Annotated[Time | None, doc("when its first worker started")]
    confirmed_at: Annotated[Time | None, doc("when the state was last confirmed by a poll")]
    unreachable: Annotated[
        OutageDocument | None, doc("that the host of a job that has not ended does not answer; null while it does")
    ]
    progress: Annotated[ProgressDocument | None, doc("how far it is")]
    eta: Annotated[
        EtaDocument | None,
        doc("null unless running with known progress, and while `no_eta_reason` says why"),
    ]
    findings: Annotated[list[FindingDocument], doc("what is open now")]
    expect: Annotated[ExpectDocument, doc("what its owner said should be true")]


class OpenFinding(TypedDict):
    """The finding that a line of `dogwatch ls` shows, as the store keeps it."""

    rule: str
    level: str
    text: str


class BriefJob(TypedDict):
    """A line of `dogwatch ls`, not printed as it is: times are numbers, and what the database reads out of the kept
    documents may be text."""

    ref: str
    id: str
    source: str
    place: str
    name: str
    description: str
    submitted: float | None
    registered: float
    active: int
    state: str | None
    outcome: str | None
    native: str
    reason: str
    exit_code: int | None
    signal: int | None
    attempts: int
    since: float | None
    started: float | None
    confirmed_at: float | None
    step: float | None
    total: float | None
    unit: str | None
    fraction: float | None
    rate: float | None
    remaining_seconds: float | None
    eta_at: str | float | None
    no_eta_reason: str | None
    nodes: str | None
    time_limit_at: str | float | None
    time_limit_seconds: float | None
    expected_start: str | float | None
    verdict: str | None
    waits_for: str | None
    cause: str | None
    findings: int
    worst: str | None
    alert: OpenFinding | None
    unreachable_since: float | None
