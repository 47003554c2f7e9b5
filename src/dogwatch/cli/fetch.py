"""`dogwatch fetch`: bring a job's results and its newest intact checkpoint here, complete or not at all."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dogwatch.cli.out import JOB, emit, json_flag, lay_out, say, table, width
from dogwatch.errors import FINE, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dogwatch.actions.transfer.fetch import Fetch, Progress
    from dogwatch.assemble import Store
    from dogwatch.clock import Clock
    from dogwatch.wire.documents.transfer import FetchFileDocument, TransferDocument

ABOUT = "Fetch the results and the newest intact checkpoint of a job, verified by size and SHA-256."
EXAMPLES = (
    "dogwatch fetch train",
    "dogwatch fetch train --to results/run7",
    "dogwatch fetch train --results '/workspace/out/*.json' --checkpoint '/workspace/ckpt/step_*'",
    "dogwatch fetch train --list",
)
DETAILS = """\
What is fetched is what the job declared (--output, --checkpoint, --results), or what is named here. It is copied by \
rsync, or by tar over ssh where rsync is missing. After an interruption give the same command again, from anywhere: it \
resumes where it stopped. Files get their names only when all of them are verified; until then they are in a hidden \
directory .dogwatch-partial in the target. Links are not followed. At the end it says whether the box can be stopped \
without losing anything."""
EXIT_CODES = {
    0: "everything is here and verified",
    2: "wrong usage, or nothing to fetch",
    3: "the host is unreachable, or something is not here yet",
    4: "no such job",
    130: "Ctrl-C; the same command resumes it",
}
LINE_EVERY = 10.0


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("ref", nargs="?", metavar="JOB", help=JOB)
    parser.add_argument("--to", metavar="DIR", help="target directory (default: the one of before, or the job's name)")
    parser.add_argument(
        "--results", action="append", metavar="GLOB", help="files to fetch, absolute there (repeatable)"
    )
    parser.add_argument(
        "--checkpoint", action="append", metavar="GLOB", help="checkpoints, absolute there (repeatable)"
    )
    parser.add_argument(
        "--list", action="store_true", help="list what there is to fetch; without JOB, list the fetches"
    )
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.actions.transfer.of_job import Wanted, prepare
    from dogwatch.api import queries
    from dogwatch.clock import Clock

    clock = Clock()
    with assemble.store() as store:
        if args.ref is None:
            if not args.list:
                raise UsageError("JOB is missing; `dogwatch ls --all` lists them")
            return _fetches(store, args.json)
        ref = queries.find(store, [args.ref], say)
        named = args.results is not None or args.checkpoint is not None
        results, checkpoints = tuple(args.results or ()), tuple(args.checkpoint or ())
        wanted = Wanted(args.to, results if named else None, checkpoints if named else None)
        fetch = prepare(store, clock, ref, wanted)
        if args.list:
            return _list(fetch, args.json)
        return _fetch(store, clock, fetch, args.json)


def _fetch(store: Store, clock: Clock, fetch: Fetch, json: bool) -> int:
    from dogwatch import assemble
    from dogwatch.actions.transfer import safe
    from dogwatch.actions.transfer.of_job import last_of
    from dogwatch.api import box_profiles, queries
    from dogwatch.profiles import stop_command
    from dogwatch.text import plain

    fetch.say = say
    with _shown(fetch, json) as observe:
        fetch.observe = observe
        try:
            fetch.run()
        except KeyboardInterrupt:
            say(f"interrupted; to resume: dogwatch fetch {plain(fetch.ref.partition(':')[2], 80)}")
            raise
    assemble.poll_once(store, clock, who=assemble.POLL, only=[fetch.place], deadline=30.0)
    safe.judge(store, clock, fetch.ref, fetch.sources)
    told = last_of(store, [fetch.ref])[0]
    profile = box_profiles.of(queries.place(store, fetch.place))
    stop = None if profile is None else stop_command(profile)
    if json:
        emit({"transfer": told, "stop_command": stop})
    else:
        lay_out(_said(told))
        lay_out(_verdict(told, stop))
    return FINE


def _said(told: TransferDocument) -> list[str]:
    from dogwatch.tui.words import size

    what = f"{told['done_files']:,} file{'' if told['done_files'] == 1 else 's'}, {size(told['done_bytes'])}"
    lines = [f"fetched {what} to {told['target']}; each has the size and SHA-256 that it has on {told['place']}"]
    if told["checkpoint"]:
        lines.append(f"newest intact checkpoint: {told['checkpoint']}")
    return lines + [f"not fetched: {left['path']} {left['why']}" for left in told["left_out"]]


def _verdict(told: TransferDocument, stop: str | None) -> list[str]:
    place = told["place"]
    if told["safe_to_stop"] is None:
        return []
    if not told["safe_to_stop"]:
        return [f"do not stop {place} yet:", *(f"  {why}" for why in told["why_not"])]
    how = stop or f"`dogwatch host add {place} --profile NAME` would say here how; see its provider's console"
    return [f"{place} can be stopped without losing anything that was declared; to stop paying: {how}"]


def _list(fetch: Fetch, json: bool) -> int:
    import os

    from dogwatch.actions.transfer import plan
    from dogwatch.text import plain
    from dogwatch.tui.words import size

    found = plan(fetch.shell, fetch.sources, fetch.judge)
    rows: list[FetchFileDocument] = []
    for name, entry in sorted(found.entries().items()):
        path = os.path.join(fetch.target, name)
        held = os.path.getsize(path) if os.path.isfile(path) and not os.path.islink(path) else None
        here = "no" if held is None else "yes" if held == entry.size else "partly"
        rows.append({"path": name, "size": entry.size, "here": here})
    left_out = [{"path": path, "why": why} for path, why in found.left_out]
    if json:
        emit({"ref": fetch.ref, "target": fetch.target, "files": rows, "left_out": left_out})
        return FINE
    lines = [
        ["HERE", "SIZE", "FILE"],
        *([str(row["here"]), size(row["size"]), plain(str(row["path"]), 300)] for row in rows),
    ]
    for line in table(lines, width()):
        print(line)
    lay_out([f"not to be fetched: {left['path']} {left['why']}" for left in left_out])
    return FINE


def _fetches(store: Store, json: bool) -> int:
    from dogwatch.actions.transfer.of_job import last_of
    from dogwatch.text import plain
    from dogwatch.tui.words import size

    told = last_of(store)
    if json:
        emit({"transfers": told})
    elif told:
        rows = [["JOB", "STATE", "FILES", "SIZE", "TARGET"]]
        for one in told:
            share = f"{size(one['done_bytes'])} of {size(one['bytes'])}"
            rows.append([plain(one["ref"], 80), one["state"], f"{one['files']:,}", share, plain(one["target"], 200)])
        for line in table(rows, width()):
            print(line)
    else:
        say("nothing was fetched yet; fetch the results of a job: dogwatch fetch JOB")
    return FINE


@contextmanager
def _shown(fetch: Fetch, json: bool) -> Iterator[Callable[[Progress], None]]:
    """Progress on stderr: a bar on a terminal, now and then a line elsewhere."""
    if sys.stderr.isatty() and not json:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        with Bar(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("listing", total=None)

            def draw(progress: Progress) -> None:
                words = {"list": "listing", "copy": "copying", "verify": "verifying"}
                bar.update(
                    task, description=words[progress.step], total=progress.bytes or None, completed=progress.done_bytes
                )

            yield draw
        return
    step, at = "", float("-inf")

    def line(progress: Progress) -> None:
        from dogwatch.tui.words import size

        nonlocal step, at
        now = fetch.clock.mono()
        if progress.step == step and (step != "copy" or now - at < LINE_EVERY):
            return
        step, at = progress.step, now
        if progress.step == "list":
            say(f"listing the files on {fetch.place}")
        elif progress.step == "copy":
            say(f"copying {progress.files:,} files: {size(progress.done_bytes)} of {size(progress.bytes)} are here")
        else:
            say(f"verifying {progress.files:,} files, {size(progress.bytes)}")

    yield line
