"""What is kept with a run to know it again."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, to_builtins

from dogwatch.model import Job
from dogwatch.wire.questions import Search
from dogwatch.wire.sections import Who
from dogwatch.wire.tracks import Tracks


class Cancelled(Struct, omit_defaults=True):
    """Who asked for the end of a run, before anything was signalled."""

    at: float | None = None
    by: str = ""


class BoxTrack(Struct, omit_defaults=True):
    """The run directory of a `chain` of ours; or the `tmux` session, the processes (`pids`, as they are known) and the
    name (`find`) of somebody else's, the files that mark the end of its stages and those that it should leave. The rest
    was learnt: the `machine`, when the session was made, the time of each file that was there before (`old`), and what
    the kernel had killed by then. `seen` is whether any of it was ever seen alive, `resume` the owner's command.
    While a chain is on its way to the machine, `sending` says which."""

    chain: str | None = None
    tmux: str | None = None
    pids: list[Who] = []
    find: Search | None = None
    markers: list[str] = []
    results: list[str] = []
    expect_files: int | None = None
    machine: str | None = None
    boot: str | None = None
    created: float | None = None
    began: float | None = None
    old: dict[str, float] = {}
    kills: int | None = None
    seen: bool = False
    attempt: str = ""
    resume: str = ""
    sending: str | None = None
    cancel: Cancelled | None = None

    def to_json(self, job: Job) -> dict[str, Any]:
        """As the store has it; what others keep with the job stays."""
        track: dict[str, Any] = to_builtins(self)
        track = dict(job.track) | track
        return track | {"pids": [list(who) for who in self.pids]} if self.pids else track


tracks = Tracks(BoxTrack)
