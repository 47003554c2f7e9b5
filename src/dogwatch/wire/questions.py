"""What a source asks: its part of the probe's request. Sources that share a section are asked about together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, to_builtins

from dogwatch.wire.commands import Command
from dogwatch.wire.requests import FileRequest
from dogwatch.wire.sections import Who


class Search(Struct, omit_defaults=True):
    """Processes to find: these pids, those in a pid file, or those with a name; `want` so many. A pid file that is
    older than `fresh` seconds and names only processes that have ended was written by an earlier run."""

    pids: list[int] | None = None
    pidfile: str | None = None
    name: str | None = None
    uid: int | None = None
    want: int | None = None
    fresh: int | None = None


class ProcessQuestions(Struct):
    """By ref: the directory of a run, known processes, and processes to find."""

    runs: dict[str, str] = {}
    pids: dict[str, list[Who]] = {}
    find: dict[str, Search] = {}


class GpuMetricsFile(Struct):
    """A file of GPU figures beside a job; `real` is where the folders of its files were at first sight."""

    path: str
    real: Mapping[str, str] = {}


class BoxQuestion(Struct, omit_defaults=True):
    """A run on a machine without a scheduler: the run directory of a `chain` of ours, or of others a `tmux` session,
    processes that are known, and processes to `find`; with the files that mark its stages and that it leaves. `real`
    is where the folders of its files were at first sight."""

    chain: str | None = None
    tmux: str | None = None
    pids: list[Who] = []
    find: Search | None = None
    markers: list[str] = []
    results: list[str] = []
    real: Mapping[str, str] = {}


class Questions(Struct, omit_defaults=True):
    """All that one source asks, or several of them. A section that is None is not asked."""

    process: ProcessQuestions | None = None
    commands: dict[str, Command] | None = None
    box: dict[str, BoxQuestion] | None = None
    gpu_metrics: dict[str, GpuMetricsFile] = {}
    files: dict[str, FileRequest] = {}

    def add(self, more: Questions) -> None:
        """Ask for this too; what is asked is told apart by ref, or by the name of a command."""
        if more.process is not None:
            own = self.process = self.process or ProcessQuestions()
            own.runs |= more.process.runs
            own.pids |= more.process.pids
            own.find |= more.process.find
        if more.commands is not None:
            self.commands = (self.commands or {}) | more.commands
        if more.box is not None:
            self.box = (self.box or {}) | more.box
        self.gpu_metrics |= more.gpu_metrics
        self.files |= more.files

    def to_request(self) -> dict[str, Any]:
        """As JSON has it."""
        request: dict[str, Any] = to_builtins(self)
        return request
