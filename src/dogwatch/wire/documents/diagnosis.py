"""Why a job failed, or where one that has not ended stands."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from dogwatch.wire.documents.meaning import Time, doc


class QuoteDocument(TypedDict):
    """A line that shows a cause, the best first."""

    file: Annotated[str, doc("the log; empty for a word from outside the logs")]
    line: Annotated[int | None, doc("from 1, counting newlines; null if unknown")]
    text: Annotated[str, doc("cleaned, secrets redacted, at most 400 characters")]


class AlternativeDocument(TypedDict):
    """What else it could be."""

    cause: Annotated[str, doc("as `cause` of the diagnosis")]
    title: Annotated[str, doc("the same in words")]
    confidence: Annotated[float, doc("how often an answer like this is right")]
    tell: Annotated[str, doc("the command that would tell")]


class DiagnosisDocument(TypedDict):
    """In the document of a job that ended badly, in the body of the `job.state` event of that ending, in `changes` of a
    patrol, and what `dogwatch why --log FILE… --json` prints. For what did not fail, `why` prints the same keys with
    `cause`, `confidence`, `role` and `retry` null."""

    cause: Annotated[
        str | None,
        doc(
            "one of: `cuda_oom`, `host_oom`, `disk_full`, `disk_quota`, `inodes_full`, `shm_exhausted`, "
            "`too_many_open_files`, `time_limit`, `preempted`, `cancelled`, `node_failure`, `gpu_hardware`, "
            "`cuda_illegal_access`, `cuda_device_assert`, `cuda_unavailable`, `nccl_timeout`, `nccl_error`, "
            "`rendezvous_failed`, `network_error`, `port_in_use`, `missing_module`, `code_error`, `config_error`, "
            "`shape_mismatch`, `checkpoint_mismatch`, `checkpoint_corrupt`, `file_missing`, `permission_denied`, "
            "`hub_access`, `dataloader_worker_died`, `loss_nan`, `segfault`, `aborted`, `killed`, `container_failed`, "
            "`interrupted`, `launch_failed`, `dependency_failed`, `stalled`, `unknown`",
            "disk_quota",
        ),
    ]
    title: Annotated[str, doc("the same in words", "a disk quota is used up")]
    confidence: Annotated[float | None, doc("how often an answer like this is right", 0.95)]
    role: Annotated[
        str | None,
        doc(
            "`root` (what began it), `cascade` (what followed from something that nothing shows) or `teardown`", "root"
        ),
    ]
    evidence: Annotated[list[QuoteDocument], doc("the lines that show it, the best first")]
    advice: Annotated[
        list[str], doc("what to do, the first thing first; of a job that has not ended, what `standing` says to do")
    ]
    retry: Annotated[
        str | None,
        doc("what starting it again is worth: `never`, `after_fix`, `as_is`, `with_change`", "after_fix"),
    ]
    alternatives: Annotated[list[AlternativeDocument], doc("what else it could be")]


class FrameDocument(TypedDict):
    """A frame of a stack."""

    name: Annotated[str, doc("the function")]
    file: Annotated[str, doc("its file")]
    line: Annotated[int, doc("the line in it")]


class StackDocument(TypedDict):
    """A process of a job that does not move."""

    pid: Annotated[int | None, doc("null where nothing could be learnt; `why` says why")]
    command: Annotated[str | None, doc("its command line")]
    doing: Annotated[str | None, doc("the kernel's letter for its state")]
    waits_for: Annotated[str | None, doc("what it waits for by the kernel's word")]
    threads: Annotated[int, doc("how many it has")]
    frames: Annotated[list[FrameDocument], doc("of its main thread, innermost first")]
    why: Annotated[str, doc("why there are none")]


class QuestionDocument(TypedDict):
    """A question of the decision tree."""

    asked: Annotated[str, doc("the question")]
    says: Annotated[str, doc("what the answer is")]


class StandingDocument(TypedDict):
    """The decision tree of a job that has not ended, walked to where it stands."""

    at: Annotated[str, doc("the question at which it stands")]
    says: Annotated[str, doc("what the answer to it is")]
    do: Annotated[list[str], doc("what to do next")]
    asked: Annotated[list[QuestionDocument], doc("the questions up to that one")]
    stacks: NotRequired[
        Annotated[
            list[StackDocument], doc("of a job that does not move (or with `--stacks`), the processes that were read")
        ]
    ]


class DifferenceDocument(TypedDict):
    """What differs from a run that went better."""

    what: Annotated[
        str,
        doc(
            "`command`, `directory`, `program`, `gpus`, `workers`, `environment`, `place`, `node`, `partition`, "
            "`time limit (s)`, or `log` for what the head of the log says"
        ),
    ]
    name: Annotated[str, doc("what of it")]
    before: Annotated[str | None, doc("null where it was not set, `…` for a secret")]
    now: Annotated[str | None, doc("the same in this run")]
    file: NotRequired[Annotated[str | None, doc("of a log, which")]]
    line: NotRequired[Annotated[int | None, doc("of a log, where; null if unknown")]]


class ChangedDocument(TypedDict):
    """The last run that went better, and what has changed since: an earlier job of the same name that succeeded, or an
    earlier attempt of this one that came further or was ended by others."""

    since: Annotated[str, doc("its ref, or `attempt 1`")]
    ended: Annotated[Time | None, doc("when that ended")]
    changes: Annotated[list[DifferenceDocument], doc("what differs")]
    how: NotRequired[Annotated[str | None, doc("of an attempt, how it ended")]]
    reached: NotRequired[Annotated[float | None, doc("of an attempt, the step it reached")]]


class OutageDocument(TypedDict):
    """That the host of a job that has not ended does not answer."""

    since: Annotated[Time, doc("since when")]
    why: Annotated[str, doc("why not")]
    last_confirmed_at: Annotated[Time | None, doc("when the job's state was last confirmed")]


class WhyDocument(DiagnosisDocument):
    """`dogwatch why REF --json` prints a diagnosis with these keys where they apply."""

    standing: NotRequired[Annotated[StandingDocument, doc("of a job that has not ended, the decision tree")]]
    unreachable: NotRequired[Annotated[OutageDocument | None, doc("as in a job that has not ended")]]
    changed: NotRequired[
        Annotated[ChangedDocument, doc("where a job of the same name, or an earlier attempt, went better")]
    ]
