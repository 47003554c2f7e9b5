"""`dogwatch sync`: bring the agents' registry files and the store together."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import contextmanager

from dogwatch.cli.out import emit, json_flag, say
from dogwatch.errors import FINE, USAGE, NotYet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dogwatch.api.registry import Adopt, Entry, Synced
    from dogwatch.assemble import Store
    from dogwatch.clock import Clock

ABOUT = "Watch the jobs that agents list in their registry files (.claude/active_jobs.json), and update those files."
EXAMPLES = (
    "dogwatch sync",
    "dogwatch sync --dir ~/project",
)
DETAILS = """\
Reads DIR/.claude/active_jobs.json and DIR/.claude/agents/*/active_jobs.json. New entries are watched, last_status is \
updated, and entries of ended jobs are removed. An entry that cannot be used is named and left as it is. Programs that \
write these files should lock the file's name plus .lock (flock)."""
EXIT_CODES = {0: "synchronized", 2: "a --file cannot be used"}

MOST_NOTES = 10  # a file of thousands of wrong entries is one thing that is wrong


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--file", action="append", default=[], metavar="FILE", help="a registry file (repeatable)")
    parser.add_argument("--dir", default=".", metavar="DIR", help="directory to search (default: the current one)")
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import registry
    from dogwatch.clock import Clock

    paths = args.file or registry.find(args.dir)
    clock = Clock()
    done = []
    with assemble.store() as store, adopting(store, clock) as adopt:
        for path in paths:
            done.append(registry.sync(store, path, adopt, below=None if args.file else args.dir))
            if done[-1].refused is None:
                registry.remember(store, path)
    if args.json:
        emit({"files": [one.document() for one in done]})
    for one in done:
        _tell(one, quiet=args.json)
    if not paths:
        say("no registry here (.claude/active_jobs.json); name one with --dir or --file")
    return USAGE if args.file and any(one.refused for one in done) else FINE


def adopt_remembered(store: Store, clock: Clock) -> None:
    """Before a poll: take up what agents wrote into the registries that were synced before."""
    for one in _remembered(store, clock):
        for each in one.adopted:
            say(f"{each['id']}: watched from {one.path} as {each['ref']}")
        if one.refused is not None:
            say(one.refused)


def update_remembered(store: Store, clock: Clock) -> None:
    """After a poll: its states into those registries, and what has ended out of them; the poll says what changed."""
    _remembered(store, clock)


def _remembered(store: Store, clock: Clock) -> list[Synced]:
    from dogwatch.api import registry

    paths = registry.remembered(store)
    if not paths:
        return []
    with adopting(store, clock) as adopt:
        return [registry.sync(store, path, adopt) for path in paths]


@contextmanager
def adopting(store: Store, clock: Clock) -> Iterator[Adopt]:
    """How an entry becomes a job of ours, by its type."""
    from dogwatch import assemble
    from dogwatch.api import commands, scheduler_jobs

    transport = assemble.here(clock)

    def adopt(entry: Entry) -> str:
        if scheduler_jobs.is_scheduler(entry.kind):
            kind = scheduler_jobs.scheduler(entry.kind)
            if entry.place == scheduler_jobs.name_here(kind):
                scheduler_jobs.place_here(store, kind)
            return scheduler_jobs.add(
                kind,
                store,
                clock,
                entry.place,
                entry.base,
                description=entry.description,
                user=entry.user,
                submitted=entry.submitted,
            )
        if entry.kind != "process":
            raise NotYet(f"jobs of type '{entry.kind}' are not supported in a registry yet")
        if entry.place != "here" or not entry.base.isdigit():
            raise NotYet("only processes on this machine, given by process id, are supported yet")
        return commands.add_processes(store, clock, transport, pids=[int(entry.base)], description=entry.description)

    try:
        yield adopt
    finally:
        transport.close()


def _tell(done: Synced, quiet: bool) -> None:
    from dogwatch.text import plain

    for note in (*done.notes[:MOST_NOTES], *([] if done.refused is None else [done.refused])):
        say(note)
    if len(done.notes) > MOST_NOTES:
        say(f"{len(done.notes) - MOST_NOTES:,} more entries cannot be used; correct these first")
    if quiet:
        return
    for each in done.adopted:
        print(f"{each['id']}: watched as {plain(each['ref'], 120)}")
    for each in done.updated:
        before = plain(str(each["before"] or "nothing"), 40)
        print(f"{each['id']}: {before} → {each['after']}")
    for each in done.removed:
        print(f"{each['id']}: {each['status']}, removed")
