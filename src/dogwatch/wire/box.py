"""The box section of the probe's answer: chains of stages, and runs that somebody else started, on a machine without a
scheduler. What a field means is said where the probe makes it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from dogwatch.wire.limits import Content, Count, Name, Path, Said, Seconds, Whole
from dogwatch.wire.sections import Find, Listed, ListedFile, Moved, Process, RealFolders, Strict

MOST_RECORDS, MOST_RECORD_BYTES = 2048, 65536
RecordText = Annotated[str, Meta(max_length=MOST_RECORD_BYTES)]


class ChainRecords(Strict):
    """The small files of a run directory, by name, as they are; `there` is whether the directory is."""

    there: bool
    problem: Said | None
    texts: Annotated[dict[Name, RecordText], Meta(max_length=MOST_RECORDS)]


class Pane(Strict):
    """A pane of a tmux session; `status` is how the program of a dead one ended."""

    dead: bool
    status: Whole | None
    command: Name
    process: Process | None


class TmuxSession(Strict):
    name: Name
    created: Seconds
    panes: Annotated[list[Pane], Meta(max_length=1024)]


class FileCount(Strict):
    """How many regular files globs lead to; the `newest` of them, newest last; and the end of the very newest."""

    count: Count
    bytes: Count
    capped: bool
    newest: Annotated[list[ListedFile], Meta(max_length=256)]
    unreadable: Annotated[dict[Path, Said], Listed]
    text: Content = ""


class Threads(Strict):
    """The threads of a run's processes, and how many of them want a CPU at this moment."""

    count: Count
    running: Count
    processes: Count


class BoxRow(Strict):
    """What the probe says of one run."""

    processes: Annotated[list[Process], Meta(max_length=4096)]
    chain: ChainRecords | None = None
    session: TmuxSession | None = None
    find: Find | None = None
    markers: FileCount | None = None
    results: FileCount | None = None
    threads: Threads | None = None
    real: RealFolders = field(default_factory=dict)
    moved: Moved = field(default_factory=list)


class BoxMachine(Strict):
    """The machine itself: its id, its clock, when its first process started, and what it may use of which whole."""

    id: Name | None
    wall: Seconds
    boot: Name | None
    init_start: Count | None
    cpus: Count
    quota: Seconds | None
    load: Seconds | None


class Tmux(Strict):
    """Whether tmux could be asked; `why` not."""

    asked: bool
    why: Said = ""


class BoxSection(Strict):
    ok: bool
    seconds: Seconds = 0.0
    why: Said = ""
    tmux: Tmux | None = None
    machine: BoxMachine | None = None
    rows: Annotated[dict[Name, BoxRow], Listed] = field(default_factory=dict)


NO_BOX = BoxSection(ok=False, why="the answer has no box section")
