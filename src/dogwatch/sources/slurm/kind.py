"""What is true of every Slurm job, and what its scheduler can be asked beside a poll."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dogwatch.model import Facts, Job
from dogwatch.sources.interface import Installation, JobId, Lookup, QueuedJob, Scheduler
from dogwatch.sources.slurm import job_ids, lookup, requests, source
from dogwatch.text import plain
from dogwatch.wire.commands import CommandsSection
from dogwatch.wire.questions import Questions

if TYPE_CHECKING:
    from dogwatch.wire.programs import GpuHolder


class Slurm(Scheduler):
    """See `Scheduler`."""

    title = "Slurm"
    heading = "SLURM"
    accounting_lags = True
    memory_section = "slurm"
    id_example = "a Slurm job id such as 12345 or 12345_7"
    source = source

    def runs_on(self, facts: Facts, host: str) -> bool:
        """Only where its one node is polled: on others its processes are out of sight."""
        return bool(host) and facts.nodes == host.partition(".")[0]

    def owns_process(self, job_id: str, process: GpuHolder, pids: set[int]) -> bool | None:
        """By the job whose cgroup it is in."""
        return (process.slurm or "") == job_id.partition("_")[0].partition("+")[0]

    def has_log_of_its_own(self, job: Job) -> bool:
        return True

    def how_to_resume(self, job_id: str) -> str:
        return f"scontrol resume {job_id} (as a Slurm operator)"

    def how_to_repeat(self, job_id: str) -> str:
        return f"scontrol requeue {self.command_id(job_id)}"

    def memory_settings(self) -> dict[str, Any]:
        return {"path": requests.PATH, "environment": requests.ENVIRONMENT, "unset": requests.UNSET}

    def is_exact_memory(self, by: str, about: Mapping[str, str]) -> bool:
        kind, options = about.get("JobAcctGatherType", ""), about.get("JobAcctGatherParams", "")
        return by == "cgroup" or kind.endswith("/cgroup") or "noshare" in options.lower()

    def registered_id(self, text: str) -> str | None:
        return job_ids.registered(text)

    def ids_in_words(self, words: Sequence[str]) -> list[JobId]:
        return job_ids.in_words(words)

    def ids_in_output(self, text: str) -> list[JobId]:
        return job_ids.in_output(text)

    def track(self, user: str | None, submit: float | None, cluster: str | None, log_given: bool) -> dict[str, Any]:
        return {"user": user, "submit": submit, "cluster": cluster, "log_given": log_given}

    def ask_own_jobs(self, at: float) -> Questions:
        return source.ask_mine(at)

    def own_jobs(self, section: CommandsSection) -> list[QueuedJob]:
        return [QueuedJob(row.base, row.name, row.user, row.submit, row.native) for row in source.listed(section)]

    def ask_for(self, ids: Sequence[str], at: float) -> Questions:
        return lookup.request(ids, at)

    def trouble(self, section: CommandsSection, ids: Sequence[str]) -> str | None:
        return lookup.trouble(section, ids)

    def look_up(self, section: CommandsSection, ids: Sequence[str], user: str | None) -> Lookup:
        return lookup.read(section, ids, user)

    def missing(self, section: CommandsSection) -> str:
        run = section.ran.get(requests.QUEUE)
        return "squeue" if run is not None and run.why == "not found" else ""

    def ask_about(self) -> Questions:
        return Questions(commands=requests.about())

    def about(self, section: CommandsSection) -> Installation | None:
        run = section.ran.get(requests.CONFIG)
        if not section.ok or (run is not None and run.why == "not found"):
            return None
        cluster, why = requests.cluster(section), None
        if cluster.version is None:
            last = "" if run is None else run.err.strip().rpartition("\n")[2]
            why = plain(last, 200) or (None if run is None else run.why) or "it did not say"
        return Installation(self.title, cluster.version, cluster.name, why)


KIND = Slurm("slurm")
