"""A source: a service is the process that its pid file names, for as long as that process lives.

    dogwatch add pidfile web --set path=/run/web.pid

It asks the `process` section of the probe, which reads pid files already, and shares that with Dogwatch's own source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dogwatch.model import Ended, Evidence, Job, Known, Observation, Outcome, Running
from dogwatch.plugin_config import AbsolutePath
from dogwatch.sources.interface import SourcePlugin


@dataclass(frozen=True, slots=True)
class Config:
    """What is said of a job when it is added; it becomes the job's `track`."""

    path: AbsolutePath


class PidFileSource:
    """One question for all pid files of a place."""

    kind = "pidfile"
    section = "process"

    def ask(self, jobs: Sequence[Job], known: Mapping[str, Known], at: float) -> dict[str, Any]:
        return {"runs": {}, "pids": {}, "find": {job.ref: {"pidfile": job.track["path"]} for job in jobs}}

    def read(
        self, answer: Mapping[str, Any], jobs: Sequence[Job], known: Mapping[str, Known], at: float
    ) -> tuple[frozenset[str], dict[str, Observation]]:
        found = {job.ref: answer["find"].get(job.ref) or {} for job in jobs}
        readable = {ref: row["process"][0] for ref, row in found.items() if row.get("process")}
        return frozenset(readable), {ref: _observation(ref, process, at) for ref, process in readable.items()}

    def also_ask(
        self, jobs: Sequence[Job], known: Mapping[str, Known], facts: Mapping[str, Mapping[str, Any]], turn: int
    ) -> dict[str, Any]:
        return {}

    def also_read(
        self, body: Mapping[str, Any], jobs: Sequence[Job], facts: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, dict[str, Any]]:
        return {}

    def trouble(self, answer: Mapping[str, Any], jobs: Sequence[Job]) -> str | None:
        return None

    def blind(self, answer: Mapping[str, Any], jobs: Sequence[Job]) -> dict[str, str]:
        """A pid file that cannot be read says nothing about the service."""
        found = {job.ref: answer["find"].get(job.ref) or {} for job in jobs}
        why = "its pid file could not be read"
        return {ref: str(row.get("problem") or why) for ref, row in found.items() if not row.get("process")}


def _observation(ref: str, process: Mapping[str, Any], at: float) -> Observation:
    pid, doing = str(process["pid"]), process["doing"]
    if doing in ("gone", "zombie"):
        # Nobody recorded an exit code, so the outcome is unknown: silence is never success.
        ended = Ended(Outcome.UNKNOWN, at=at, reason="its process is gone")
        return Observation(ref, pid, ended, native=doing, evidence=(Evidence("process table", "gone", at),))
    running = Running(since=process["started"])
    return Observation(ref, pid, running, native=doing, evidence=(Evidence("process table", doing, at),))


PLUGIN = SourcePlugin("pidfile", "services that write a pid file", PidFileSource, Config)
