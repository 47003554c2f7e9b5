"""The handbook, as `--json` prints it: what somebody who has never seen these jobs needs."""

from __future__ import annotations

from typing import Annotated, TypedDict

from dogwatch.wire.documents.commands import UndeliveredDocument
from dogwatch.wire.documents.meaning import Time, doc
from dogwatch.wire.documents.report import CostDocument, ReportAttemptDocument
from dogwatch.wire.documents.stages import StageDocument
from dogwatch.wire.documents.waiters import WaiterDocument
from dogwatch.wire.documents.watch import WatchDocument


class CommandDocument(TypedDict):
    """A command that can be pasted into a shell."""

    what: Annotated[str, doc("what it does", "show its logs")]
    command: Annotated[str | None, doc("the command; null where it is not known", "dogwatch logs here/process:train-1")]
    note: Annotated[str, doc("what to know about it; mostly empty")]


class NoteDocument(TypedDict):
    """A note about a job."""

    at: Annotated[Time, doc("when it was written")]
    text: Annotated[str, doc("the note")]


class HandbookPlaceDocument(TypedDict):
    """A machine on which these jobs are."""

    name: Annotated[str, doc("its name", "gpubox")]
    connect: Annotated[str | None, doc("the command that connects to it; null for this machine", "ssh gpubox")]
    answered_at: Annotated[Time | None, doc("when it last answered")]
    unreachable_since: Annotated[Time | None, doc("since when it does not answer")]
    unreachable_why: Annotated[str | None, doc("why")]
    price_per_hour: Annotated[float | None, doc("what it costs in an hour; null where no one said", 2.0)]
    hours: Annotated[float | None, doc("since the first of these jobs began there", 3.25)]
    amount: Annotated[float | None, doc("hours × price", 6.5)]
    stop: Annotated[str, doc("what ends the costs, by its profile; empty where it has none")]


class HandbookJobDocument(TypedDict):
    """A job, and every command that somebody may need for it."""

    ref: Annotated[str, doc("the name every command takes")]
    name: Annotated[str, doc("what its owner calls it")]
    place: Annotated[str, doc("where it lives")]
    description: Annotated[str, doc("what its owner said of it")]
    state: Annotated[str, doc("its state in words", "running for 2h")]
    known_at: Annotated[Time | None, doc("when that was last confirmed")]
    reason: Annotated[str | None, doc("why it is in this state")]
    progress: Annotated[str | None, doc("how far it is, in words", "step 120 of 400 (30 %)")]
    command: Annotated[str | None, doc("what runs, without secrets; null where that is not known")]
    directory: Annotated[str | None, doc("where it runs; of a chain its run directory")]
    stages: Annotated[list[StageDocument], doc("the stages of a chain, as in a job")]
    next: Annotated[list[str], doc("what is to be done now, where something is")]
    commands: Annotated[list[CommandDocument], doc("status, logs, resume, stop, fetch")]
    logs: Annotated[list[str], doc("its log files")]
    checkpoint: Annotated[str | None, doc("the checkpoint to resume from")]
    attempts: Annotated[list[ReportAttemptDocument], doc("what was tried, and how each ended")]
    remarks: Annotated[list[NoteDocument], doc("what people wrote")]
    alerts: Annotated[list[str], doc("what stands open")]
    cost: Annotated[CostDocument | None, doc("what its GPUs cost, by `price_per_gpu_hour`; null without a price")]


class HandbookDocument(TypedDict):
    """`dogwatch handbook --json`."""

    made_at: Annotated[Time, doc("when it was made; what it says is true of that moment")]
    host: Annotated[str, doc("the machine on which it was made")]
    home: Annotated[str, doc("where Dogwatch keeps what it knows")]
    first: Annotated[list[CommandDocument], doc("what to type first")]
    watch: Annotated[WatchDocument, doc("whether a watcher runs")]
    places: Annotated[list[HandbookPlaceDocument], doc("the machines")]
    jobs: Annotated[list[HandbookJobDocument], doc("the jobs that have not ended, and those that ended lately")]
    left_out: Annotated[int, doc("how many jobs that ended before are not in it")]
    undelivered: Annotated[list[UndeliveredDocument], doc("alerts that did not arrive")]
    waiters: Annotated[list[WaiterDocument], doc("who waits")]
