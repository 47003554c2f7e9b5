"""A run of several stages, and the machine that it has to itself, as every interface prints them."""

from __future__ import annotations

from typing import Annotated, TypedDict

from dogwatch.wire.documents.meaning import Time, doc


class StageDocument(TypedDict):
    """One stage of a run."""

    name: Annotated[str, doc("its name", "eval")]
    state: Annotated[
        str,
        doc(
            "`waiting`, `running`, `done` (its marker is there), `failed`, `skipped` (the run ended before it), "
            "`unknown` (it began, and nothing recorded how it ended)",
            "done",
        ),
    ]
    started: Annotated[Time | None, doc("when it began, by the clock of its machine")]
    ended: Annotated[Time | None, doc("when it ended, by the same clock")]
    exit_code: Annotated[int | None, doc("its exit code, where one was recorded", 0)]
    attempt: Annotated[int | None, doc("the attempt of the run that it belongs to", 1)]
    log: Annotated[str | None, doc("the log of this stage alone")]
    waits_for: Annotated[str | None, doc("what it waits for before it starts", "file /data/ready")]


class DecisionDocument(TypedDict):
    """A row of the decision table that holds."""

    name: Annotated[str, doc("the row", "memory_high")]
    level: Annotated[str, doc("`info`, `warning`, `critical`", "warning")]
    says: Annotated[str, doc("what is seen, in words")]
    do: Annotated[str, doc("the one thing to do")]


class BoxDocument(TypedDict):
    """What the last poll saw of a run and of the machine that it has to itself."""

    kind: Annotated[str, doc("`chain` (started by `dogwatch run`), `tmux`, `process`, or `lost`", "chain")]
    directory: Annotated[str | None, doc("the run directory of a chain")]
    session: Annotated[str | None, doc("its tmux session", "train")]
    machine_id: Annotated[str | None, doc("the machine, by /etc/machine-id; containers may have none")]
    boot_id: Annotated[str | None, doc("the boot of that machine")]
    clock: Annotated[Time | None, doc("the time of that machine when it answered")]
    alive: Annotated[list[str], doc("what shows that the run is alive", "supervisor", "tmux session train")]
    lost: Annotated[str | None, doc("why what answers at the address is another machine")]
    restart: Annotated[str | None, doc("why the processes of the run are gone", "the box was rebooted")]
    heartbeat_at: Annotated[Time | None, doc("when the supervisor of a chain last wrote its heartbeat")]
    last_line: Annotated[str | None, doc("the last line of the log as the heartbeat has it")]
    notice: Annotated[str | None, doc("whether the box sent its own notice of the end", "sent by ntfy")]
    resume_command: Annotated[str | None, doc("the exact command that resumes it after a failure")]
    memory_used_bytes: Annotated[int | None, doc("memory that its cgroup holds; null without a limit")]
    memory_limit_bytes: Annotated[int | None, doc("the limit of that cgroup")]
    oom_kills: Annotated[int, doc("processes that the kernel killed in that cgroup since the run was first seen")]
    cpus: Annotated[float | None, doc("CPUs of the machine that a login may use", 64.0)]
    cpu_quota: Annotated[float | None, doc("CPUs by the quota of its cgroup; null without one", 8.0)]
    threads: Annotated[int | None, doc("threads of the run's processes")]
    threads_running: Annotated[int | None, doc("threads that ran or waited for a CPU at the moment of the poll")]
    load: Annotated[float | None, doc("load average of the machine, which others may share", 3.1)]
    results: Annotated[int | None, doc("result files that are there", 96)]
    results_bytes: Annotated[int | None, doc("their size together")]
    results_expected: Annotated[int | None, doc("how many its owner expects", 100)]
    results_newest: Annotated[str | None, doc("the newest of them")]
    results_text: Annotated[str | None, doc("the end of the newest, verbatim")]
    decisions: Annotated[list[DecisionDocument], doc("what this means, and the one thing to do")]


class SiteDocuments(TypedDict):
    """The parts of a job document that only some sources fill."""

    stages: Annotated[list[StageDocument] | None, doc("of a run of several stages, each of them in order")]
    box: Annotated[BoxDocument | None, doc("of a run on a machine without a scheduler, what the last poll saw there")]
