"""What happened, where jobs live, who watches them, and what the commands print around jobs."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from dogwatch.wire.documents.diagnosis import DiagnosisDocument
from dogwatch.wire.documents.job import JobDocument
from dogwatch.wire.documents.meaning import Time, doc
from dogwatch.wire.documents.stages import DecisionDocument
from dogwatch.wire.documents.transfer import TransferDocument


class LogGapDocument(TypedDict):
    """Lines of a log that were passed over or may be lost."""

    path: Annotated[str, doc("the log")]
    why: Annotated[str, doc("`truncated`, `replaced`, `backlog`, `long`")]
    bytes: Annotated[int | None, doc("how much")]


EventBody = TypedDict(
    "EventBody",
    {
        "before": Annotated[str | None, doc("the state, or of a finding the level, that it had")],
        "after": Annotated[str | None, doc("the state that it has")],
        "native": Annotated[str | None, doc("the place's own word for that")],
        "attempt": Annotated[int, doc("the number of the attempt")],
        "outcome": Annotated[str | None, doc("of an ending, as in a job")],
        "exit_code": Annotated[int | None, doc("of an ending, as in a job")],
        "signal": Annotated[int | None, doc("of an ending, as in a job")],
        "diagnosis": Annotated[DiagnosisDocument | None, doc("of a bad ending or launch, why")],
        "seconds": Annotated[
            dict[str, float] | float, doc("of a launch, after how long each check came; of `watch.gap` how long it was")
        ],
        "missing": Annotated[list[str], doc("of a launch, the checks that were not seen")],
        "worker": Annotated[int | None, doc("of a failed launch, the index of the worker")],
        "percent": Annotated[int, doc("of a milestone")],
        "stage": Annotated[str, doc("of a stage, its name")],
        "note": Annotated[str, doc("of `job.note`, what was written, without secrets")],
        "paths": Annotated[list[str], doc("of new checkpoints")],
        "gaps": Annotated[list[LogGapDocument], doc("of `log.gap`")],
        "rule": Annotated[str, doc("of a finding")],
        "what": Annotated[str, doc("of a finding, what it is about")],
        "how": Annotated[
            str,
            doc(
                "of `finding.closed`: `ended_with_job`, `ended_with_attempt`, `ended_with_worker`, `replaced` (by "
                "another finding, mostly a worse one), `not_watched` (forgotten, or added again)"
            ),
        ],
        "why": Annotated[str, doc("why a place does not answer")],
        "from": Annotated[Time | None, doc("of `watch.gap`, its beginning")],
        "to": Annotated[Time | None, doc("of `watch.gap`, its end")],
        "lost": Annotated[list[int] | None, doc("of `store.repaired`, the first and last event that are lost")],
        "jobs": Annotated[int, doc("of `store.repaired`, how many jobs were restored")],
        "events": Annotated[int, doc("of `store.repaired`, how many events were restored")],
        "reason": Annotated[str | None, doc("why, in words")],
        "since": Annotated[Time | None, doc("since when")],
    },
    total=False,
)
EventBody.__doc__ = "The facts of an event; which of them depends on its kind."


# The kinds of events, and when each is recorded. What else its body has is described with the body.
KINDS = {
    "`job.added`, `job.forgotten`": "a job began or ceased to be watched",
    "`job.note`": "somebody wrote a note (`dogwatch note`); body: `note`",
    "`job.state`": "its state changed; body: `before`, `after`, `native`, `attempt`, and at an end `outcome`, "
    "`exit_code`, `signal`",
    "`job.attempt`": "another execution of it began",
    "`stage.started`, `stage.done`, `stage.failed`": "a stage of a run began, is done, or failed; body: `stage`",
    "`launch.verified`": "all of `launch` that is needed was seen; body: `seconds` (by check) and `missing` (empty)",
    "`launch.unproven`": "the launch timeout is over and something of it was not seen; body: `seconds`, `missing`",
    "`launch.failed`": "a worker did not start in time or ended at once; body: `worker` (its index or null), "
    "`seconds`, `missing` and, where known, `diagnosis`",
    "`progress.milestone`": "a quarter, half, three quarters or all of it is done; body: `percent`",
    "`checkpoint.saved`": "a new checkpoint appeared; body: `paths`",
    "`log.gap`": "lines of a log were passed over or may be lost; body: `gaps`",
    "`finding.opened`, `finding.resolved`": "a finding opened, or its rule checked again and it was gone while the job "
    "went on; body: `rule`, `what`",
    "`finding.escalated`": "an open finding matters more than before (a warning became critical); body: `rule`, "
    "`what`, `before` (the level that it had)",
    "`finding.closed`": "a finding stands no longer, and nothing shows that it got better; body: `rule`, `what`, `how`",
    "`place.unreachable`, `place.answered`": "a place stopped answering (body: `why`) or answers again",
    "`job.cancel`": "somebody wants it to be ended (`dogwatch cancel`); nothing was signalled yet",
    "`job.cancelled`, `job.cancel_refused`": "what came of that: it was signalled, or not, and why",
    "`transfer.done`, `transfer.failed`": "a fetch ended: everything is here and verified, or not",
    "`watch.started`, `watch.stopped`": "a watcher took or gave back the lease",
    "`watch.gap`": "the job was not watched for a while",
    "`store.repaired`, `store.full`": "the store was restored from a backup, or had no room",
}


class EventHead(TypedDict):
    """What every event has."""

    seq: Annotated[int, doc("its place in the history", 17)]
    at: Annotated[Time, doc("when it was recorded")]
    kind: Annotated[str, doc("see the table of kinds", "job.state")]
    ref: Annotated[str | None, doc("the job it is about")]
    place: Annotated[str | None, doc("the place it is about")]
    level: Annotated[str, doc("`info`, `warning`, `critical`", "info")]
    text: Annotated[str, doc("the event in words", "running → ended, succeeded")]


class EventDocument(EventHead):
    """`dogwatch events --json` prints `{"events": [ … ]}`, oldest first; with `--follow` it prints one event per line.
    `seq` only grows, so `--since` with the last one you saw continues without a gap."""

    body: Annotated[EventBody, doc("facts that depend on the kind")]


class EventsDocument(TypedDict):
    """`dogwatch events --json`."""

    events: Annotated[list[EventDocument], doc("oldest first")]


class ChangeDocument(EventHead, EventBody):
    """An event in a patrol: the keys of its `body` stand beside the others."""

    name: Annotated[str | None, doc("of the job")]
    description: Annotated[str | None, doc("of the job")]


class ClockFacts(TypedDict):
    """The clock of a place when it answered."""

    wall: Annotated[float, doc("seconds since 1970", 1794988800.0)]
    boottime: Annotated[float | None, doc("seconds since it was booted")]


class GpuFacts(TypedDict, total=False):
    """How the GPUs of a place are read."""

    count: Annotated[int, doc("how many were found", 8)]
    by: Annotated[str | None, doc("what answered: `nvml`, `nvidia-smi`, `amd-smi`, `rocm-smi`")]
    why: Annotated[str, doc("why they cannot be read")]


class PlaceFacts(TypedDict, total=False):
    """What a place last said of itself."""

    boot: Annotated[str | None, doc("the id of its boot")]
    host: Annotated[str | None, doc("what it calls itself")]
    python: Annotated[str | None, doc("its Python; null: it has none, and only its scheduler is asked")]
    clock: Annotated[ClockFacts | None, doc("its clock")]
    asked: Annotated[dict[str, int], doc("how often the last poll started which program there", {"squeue": 1})]
    gpus: Annotated[GpuFacts, doc("how its GPUs are read")]
    connections: Annotated[int, doc("connections that the last tick made")]
    most_connections: Annotated[int, doc("the most that any tick of the watcher made")]
    markers: Annotated[
        dict[str, bool], doc("the files that `dogwatch wait --for marker:PATH` waits for: path → whether it is there")
    ]
    locked_out: Annotated[bool, doc("that it refuses our login, so it is asked less often")]


class PolledDocument(TypedDict):
    """When a place was asked, and what came of it."""

    polled_at: Annotated[Time | None, doc("when it was last asked")]
    answered_at: Annotated[Time | None, doc("when it last answered")]
    unreachable_since: Annotated[Time | None, doc("since when it does not answer")]
    unreachable_why: Annotated[str | None, doc("why not")]
    polls: Annotated[int, doc("polls in all")]
    failed_polls: Annotated[int, doc("failed ones in a row")]


class PlaceDocument(PolledDocument):
    """Where jobs live."""

    name: Annotated[str, doc("the place")]
    kind: Annotated[str, doc("how it is reached")]
    transport: Annotated[
        dict[str, str | None],
        doc(
            "of a host, `ssh` (the name that ssh is given) and `config` (the ssh configuration file, if not the usual)"
        ),
    ]
    floor: Annotated[float, doc("the least seconds between two polls")]
    facts: Annotated[PlaceFacts, doc("what it last said of itself; empty before its first answer")]


class WatchDocument(TypedDict):
    """Who watches."""

    alive: Annotated[bool, doc("whether somebody watches this store now")]
    who: Annotated[str | None, doc("which command")]
    pid: Annotated[int | None, doc("its process")]
    last_tick: Annotated[Time | None, doc("when a watcher last finished a turn")]


class ViewWatch(TypedDict, total=False):
    """Who keeps true what a screen shows; `ours` where that is the program itself."""

    alive: bool
    who: str | None
    last_tick: str | None
    ours: bool


CandidateDocument = TypedDict(
    "CandidateDocument",
    {
        "from": Annotated[str, doc("`registry`, `watched`, `evaluation`, `queue`, `experiment`")],
        "title": Annotated[str, doc("what it is")],
        "refs": Annotated[
            list[str], doc("its jobs; those that are not watched are polled once and printed like others")
        ],
        "said": Annotated[str | None, doc("what is known of it without asking")],
        "note": Annotated[str | None, doc("why it cannot be asked about")],
        "path": Annotated[str | None, doc("the file it was found in")],
        "why": NotRequired[Annotated[str, doc("of the one that was taken, why")]],
    },
)
CandidateDocument.__doc__ = "What `dogwatch status` without a name may mean."


class NotAskedDocument(TypedDict):
    """A host that is unreachable."""

    place: Annotated[str, doc("which")]
    why: Annotated[str, doc("why not")]


class WhichDocument(TypedDict, total=False):
    """What `dogwatch status` without a name adds."""

    chosen: Annotated[CandidateDocument | None, doc("the candidate that was taken; null when none or several fit")]
    candidates: Annotated[list[CandidateDocument], doc("those that fit when none was taken")]
    unreachable: Annotated[list[NotAskedDocument], doc("hosts that are unreachable")]


class JobsDocument(TypedDict):
    """`watch` prints the jobs; `wait` adds `timed_out`."""

    jobs: Annotated[list[JobDocument], doc("the jobs")]
    timed_out: NotRequired[Annotated[bool, doc("of `wait`: whether the time was over first")]]
    reached: NotRequired[Annotated[bool, doc("of `wait`: whether what was waited for has come")]]
    why: NotRequired[Annotated[str, doc("of `wait`: why it ended, in words", "stage train is done")]]
    waiter: NotRequired[Annotated[str | None, doc("of `wait`: its id in `dogwatch waiters`", "w-3f91c2")]]


class ListingDocument(WhichDocument):
    """`dogwatch ls --json` and `dogwatch status --json` print one; without a name `status` adds `chosen`, `candidates`
    and `unreachable`. When several candidates fit, `jobs` holds those of them that are watched."""

    jobs: Annotated[list[JobDocument], doc("the jobs")]
    places: Annotated[list[PlaceDocument], doc("where they live")]
    watch: Annotated[WatchDocument, doc("who watches them")]
    transfers: NotRequired[Annotated[list[TransferDocument], doc("of `status`: the last fetch of each of the jobs")]]


class BriefDocument(TypedDict):
    """`dogwatch ls --json --brief` names the columns once. A name that several jobs have is followed by the id."""

    columns: Annotated[list[str], doc("`name`, `state`, `progress_percent`, `eta_seconds`, `alert`")]
    jobs: Annotated[
        list[list[str | int | None]],
        doc(
            "for each job a short list of these in this order: the state is the outcome once it ended, the alert is "
            "the rule of the worst open finding or `unreachable`, and what is not known is null"
        ),
    ]


class GroupDocument(TypedDict):
    """Jobs counted together: those of one RUN (of names RUN/TASK/EPOCH), or those watched together."""

    run: Annotated[str | None, doc("the RUN; null for jobs without")]
    total: Annotated[int, doc("how many jobs")]
    counts: Annotated[dict[str, int], doc("word → how many")]
    scores: Annotated[list[str], doc("scores in words")]
    text: Annotated[str, doc("the sentence that people read")]


class PatrolRunDocument(TypedDict):
    """How a run on a machine that it has to itself stands."""

    ref: Annotated[str, doc("the job")]
    place: Annotated[str, doc("where it runs")]
    name: Annotated[str, doc("its name")]
    text: Annotated[str, doc("how it stands, in one line", "running, stage eval (2 of 3), 45 %")]
    decisions: Annotated[list[DecisionDocument], doc("what is seen, and the one thing to do")]


class PatrolDocument(TypedDict):
    """`dogwatch patrol --json` looks once and prints one object. Exit code 1 when `changes` holds an ending other than
    success, 3 when every place was unreachable, 0 otherwise."""

    changes: Annotated[
        list[ChangeDocument],
        doc(
            "what is new since the last patrol, oldest first: events with the keys of their `body` beside the others, "
            "and at a bad ending the job's `diagnosis`"
        ),
    ]
    groups: Annotated[list[GroupDocument], doc("the jobs counted")]
    runs: Annotated[
        list[PatrolRunDocument],
        doc("the runs on machines without a scheduler that have not ended, or ended since the last patrol"),
    ]
    reminders: Annotated[list[str], doc("machines that cost money for nothing, until that is acknowledged")]
    unreachable: Annotated[list[PlaceDocument], doc("the places that do not answer")]
    polled: Annotated[
        list[str],
        doc("the names of the places that were asked; empty beside a running watcher or within a place's floor"),
    ]
