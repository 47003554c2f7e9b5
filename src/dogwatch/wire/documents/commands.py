"""What the other commands print: hosts, alerts, the registry, doctor, preflight, the service, logs."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypeAlias, TypedDict

from dogwatch.wire.documents.meaning import Time, doc
from dogwatch.wire.documents.watch import PolledDocument


class ChecklistLine(TypedDict):
    """One thing that was looked at."""

    verdict: Annotated[str, doc("the list's own word")]
    what: Annotated[str, doc("the item")]
    text: Annotated[str, doc("what was found")]
    remedy: Annotated[str, doc("what to do; empty for what passes")]
    counts: Annotated[dict[str, int], doc("figures: of a place elsewhere, the connections of a tick")]


class DoctorDocument(TypedDict):
    """`dogwatch doctor --json`."""

    checks: Annotated[list[ChecklistLine], doc("each thing that was checked")]


class PreflightDocument(TypedDict):
    """`dogwatch preflight --json`; the items are in [preflight.md](preflight.md)."""

    host: Annotated[str, doc('`"here"` or its name')]
    verdict: Annotated[str | None, doc("`pass`, `warn`, `fail`; null when the place is unreachable")]
    unreachable: Annotated[str | None, doc("why not")]
    checks: Annotated[list[ChecklistLine], doc("each thing that was checked")]


class SchedulerDocument(TypedDict):
    """The scheduler of a host."""

    name: Annotated[str, doc("its name")]
    version: Annotated[str | None, doc("its version")]
    cluster: Annotated[str | None, doc("the cluster's name")]
    why: Annotated[str | None, doc("why there is neither")]


class HostDocument(TypedDict):
    """How a host is reached."""

    name: Annotated[str, doc("the host")]
    ssh: Annotated[str, doc("the name or address that is given to ssh")]
    ssh_config: Annotated[str | None, doc("the ssh configuration file, if not the usual one")]
    floor_seconds: Annotated[float, doc("the least seconds between two polls")]
    profile: Annotated[str | None, doc("the profile of a rented box")]
    price_per_hour: Annotated[float | None, doc("what it costs, as it was given when it was added")]


FactValue: TypeAlias = str | float | bool | list[str] | None


class FactDocument(TypedDict):
    """One fact of a profile."""

    value: Annotated[FactValue, doc("what is true of such a box; null where that is unknown")]
    source: Annotated[str, doc("where that is said, or `unknown`")]


class ProfileDocument(TypedDict):
    """`dogwatch host profile --json`."""

    name: Annotated[str, doc("the profile")]
    title: Annotated[str, doc("what such boxes are called")]
    facts: Annotated[dict[str, FactDocument], doc("each fact by its name")]
    stop_command: Annotated[str, doc("what ends the costs, in a sentence")]


class TrialDocument(TypedDict):
    """What one round trip to a host showed."""

    reachable: Annotated[bool, doc("whether it answered")]
    kind: Annotated[str | None, doc("of a failure, which kind")]
    why: Annotated[str | None, doc("of a failure, why")]
    seconds: Annotated[float, doc("how long it took")]
    python: Annotated[str | None, doc("its Python")]
    hostname: Annotated[str | None, doc("what it calls itself")]
    skew_seconds: Annotated[float | None, doc("how far its clock is ahead of ours")]
    scheduler: Annotated[SchedulerDocument | None, doc("its scheduler; null where none is installed")]
    limits: Annotated[str | None, doc("what a host without python3 cannot be asked")]
    fingerprints: Annotated[list[str], doc("of a key that is not known")]


class TestedHostDocument(HostDocument, TrialDocument):
    """`dogwatch host add --json` and `dogwatch host test --json` print one."""

    warnings: Annotated[list[str], doc("what connecting runs here")]
    added: NotRequired[Annotated[bool, doc("of `add`: whether it was")]]
    accepted: NotRequired[Annotated[list[str], doc("of `add`: the fingerprints that were accepted")]]


class ListedHostDocument(HostDocument, PolledDocument):
    """A host with when it was last seen and why it is unreachable."""

    jobs: Annotated[int, doc("how many jobs that have not ended live there")]


class HostsDocument(TypedDict):
    """`dogwatch host ls --json`."""

    hosts: Annotated[list[ListedHostDocument], doc("the hosts")]


class OpenAlertDocument(TypedDict):
    """A finding that stands open."""

    subject: Annotated[str, doc("the job or place it is about")]
    name: Annotated[str | None, doc("the job's name")]
    rule: Annotated[str, doc("who concludes it")]
    level: Annotated[str, doc("`info`, `warning`, `critical`")]
    text: Annotated[str, doc("in words")]
    since: Annotated[Time, doc("when it opened")]
    acknowledged: Annotated[bool, doc("whether somebody said that they know")]


class SilenceDocument(TypedDict):
    """A silence that somebody asked for."""

    id: Annotated[int, doc("its number")]
    subject: Annotated[str, doc("of what; with * and ? for many")]
    rule: Annotated[str, doc("of which rule; `*` for all")]
    acknowledged: Annotated[bool, doc("whether it is an acknowledgement")]
    until: Annotated[Time | None, doc("until when")]
    why: Annotated[str, doc("why")]
    created: Annotated[Time, doc("since when")]


class UndeliveredDocument(TypedDict):
    """A message that has not arrived."""

    message: Annotated[str, doc("its token")]
    channel: Annotated[str, doc("on which channel")]
    state: Annotated[str, doc("`given up` or `waiting`")]
    tries: Annotated[int, doc("how often it was tried")]
    detail: Annotated[str | None, doc("what came of the last try")]
    since: Annotated[Time, doc("when it was made")]
    next_try: Annotated[Time | None, doc("when it is tried again")]
    notifications: Annotated[list[str], doc("what it says")]


class AlertsDocument(TypedDict):
    """`dogwatch alerts --json`."""

    open: Annotated[list[OpenAlertDocument], doc("the findings that stand open")]
    silences: Annotated[list[SilenceDocument], doc("the silences")]
    undelivered: Annotated[list[UndeliveredDocument], doc("messages that have not arrived")]
    held: Annotated[int, doc("how many are held back")]


class ChannelDocument(TypedDict):
    """A channel; `dogwatch alerts ls --json` prints `{"channels": [ … ]}`."""

    name: Annotated[str, doc("its name")]
    kind: Annotated[str, doc("what it is")]
    settings: Annotated[dict[str, str | int | list[str]], doc("its keys; secrets as references")]
    route: Annotated[dict[str, list[str]], doc("what it takes: `levels`, `jobs`, `rules`; without a key, all")]
    from_config: Annotated[bool, doc("whether the configuration file has it")]
    added: Annotated[Time, doc("since when")]


class DecisionDocument(TypedDict):
    """A decision; `dogwatch alerts explain --json` prints `{"decisions": [ … ]}`, newest first."""

    at: Annotated[Time, doc("when")]
    name: Annotated[str, doc("the job's name")]
    subject: Annotated[str, doc("the job or place it is about")]
    rule: Annotated[str, doc("who concluded it")]
    level: Annotated[str, doc("`info`, `warning`, `critical`")]
    text: Annotated[str, doc("in words")]
    channel: Annotated[str, doc("for which channel")]
    decision: Annotated[str, doc("what was decided")]
    reason: Annotated[str, doc("why, or what came of it")]
    tries: Annotated[int, doc("how often it was tried")]


class ChannelKindDocument(TypedDict):
    """A kind of channel; `dogwatch alerts kinds --json` prints `{"kinds": [ … ]}`."""

    kind: Annotated[str, doc("its name")]
    help: Annotated[str, doc("what it takes, on one line")]
    keys: Annotated[list[str], doc("its keys, in the configuration file and for `--set`")]
    package: Annotated[str, doc("what brought it: `dogwatch`, or another package and its version")]


class ReceiptDocument(TypedDict):
    """What became of a test on one channel; `dogwatch alerts test --json` prints `{"results": [ … ]}`."""

    channel: Annotated[str, doc("which")]
    ok: Annotated[bool, doc("whether it was taken")]
    detail: Annotated[str | None, doc("what it answered")]


class ServiceDocument(TypedDict):
    """`dogwatch service --json`."""

    on: Annotated[bool, doc("whether it is installed")]
    by: Annotated[str | None, doc("what runs it")]
    every_seconds: Annotated[float | None, doc("how often")]
    made: Annotated[str | None, doc("what was installed")]
    last_run: Annotated[Time | None, doc("when it last ran")]
    last_code: Annotated[int | None, doc("its exit code then")]
    log: Annotated[str, doc("its log")]
    cron_runs: Annotated[bool | None, doc("whether cron itself runs; null where it is not by cron")]


class UninstallDocument(TypedDict):
    """`dogwatch uninstall --json`: what stays when the program is removed."""

    running: Annotated[list[str], doc("the jobs that have not ended; they keep running")]
    watcher_pid: Annotated[int | None, doc("the process that watches, if one does")]
    service: Annotated[str | None, doc("what runs the timer of `dogwatch service`, if it is on", "cron")]
    home: Annotated[str | None, doc("the state directory, if there is one")]
    home_bytes: Annotated[int | None, doc("how much is in it")]
    config: Annotated[str | None, doc("your configuration file, if there is one")]
    command: Annotated[str, doc("what removes the program", "pipx uninstall dogwatch")]


class TailDocument(TypedDict):
    """The end of one log."""

    path: Annotated[str, doc("the log")]
    lines: Annotated[list[str], doc("its last lines")]


class LogsDocument(TypedDict):
    """`dogwatch logs REF --json`."""

    ref: Annotated[str, doc("the job")]
    logs: Annotated[list[TailDocument], doc("the ends of its logs")]


class SyncedEntryDocument(TypedDict):
    """An entry of a registry file, as a sync took it."""

    id: Annotated[str, doc("its id in the file")]
    ref: Annotated[str, doc("the job")]
    status: NotRequired[Annotated[str | None, doc("of one that was removed, how it ended")]]
    before: NotRequired[Annotated[str | None, doc("of one that was updated, its status in the file")]]
    after: NotRequired[Annotated[str | None, doc("of one that was updated, its status now")]]


class SyncedDocument(TypedDict):
    """A registry file; `dogwatch sync --json` prints `{"files": [ … ]}`."""

    path: Annotated[str, doc("the registry file")]
    adopted: Annotated[list[SyncedEntryDocument], doc("entries that are watched from now on")]
    updated: Annotated[list[SyncedEntryDocument], doc("entries that were brought up to date")]
    removed: Annotated[list[SyncedEntryDocument], doc("entries whose job has ended, and which were taken out")]
    notes: Annotated[list[str], doc("what is to be said of the others")]
    refused: Annotated[str | None, doc("why nothing could be done, or not everything")]


# What the commands print that say little.
SMALL = {
    "`forget`": '`{"forgotten": [refs]}`',
    "`note`": '`{"ref", "note"}`: the note as it was written, without secrets',
    "`waiters rm`": '`{"removed": [ids], "ended": [ids], "not_ended": [ids]}`',
    "`daemon`": '`{"watching": true}` once it holds the lease',
    "`host rm`": '`{"removed": name}`',
    "`alerts add`, `rm`, `test`, `silence`, `unsilence`, `ack`, `retry`": '`{"added"}`, `{"removed"}`, `{"results"}`, '
    '`{"silence"}`, `{"ended"}`, `{"silences"}`, `{"retried"}`',
}
