"""`dogwatch add process`: watch workers that somebody else started."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dogwatch.cli.out import emit, json_flag
from dogwatch.errors import UsageError

HELP = "watch a job that is already running"
EPILOG = """\
A process is known by its pid, its start time and this boot, so a reused pid is never taken for it.
How it ends is not recorded by anybody: it will be "ended, outcome unknown". `dogwatch run` keeps exit codes."""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("source", choices=["process"], help="the kind of job")
    parser.add_argument("pids", nargs="*", type=int, metavar="PID", help="process ids of its workers")
    parser.add_argument("--pidfile", metavar="F", help="a file with the pids, separated by white space")
    parser.add_argument("--match", metavar="NAME", help="every process with NAME in its command line")
    parser.add_argument("--name", help="what to call the job")
    parser.add_argument("--description", default="", help="what it is for")
    parser.add_argument("--workers", type=int, metavar="N", help="how many workers there should be")
    parser.add_argument("--log", action="append", default=[], metavar="GLOB", help="its log files (repeatable)")
    parser.add_argument("--output", action="append", default=[], metavar="GLOB", help="its output files (repeatable)")
    parser.add_argument(
        "--checkpoint", action="append", default=[], metavar="GLOB", help="its checkpoints (repeatable)"
    )
    parser.add_argument("--total-items", type=int, metavar="N", help="how many items there are to process")
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.cli.expect import globs, positive
    from dogwatch.clock import Clock
    from dogwatch.desk import ask, tell
    from dogwatch.model import Expectation

    if sum(map(bool, (args.pids, args.pidfile, args.match))) != 1:
        raise UsageError("say which processes in one way: PID..., --pidfile F or --match NAME")
    for pid in args.pids:
        positive(pid, "PID")
    expect = Expectation(
        workers=positive(args.workers, "--workers"),
        logs=globs(args.log, "--log"),
        outputs=globs(args.output, "--output"),
        checkpoints=globs(args.checkpoint, "--checkpoint"),
        total_items=positive(args.total_items, "--total-items"),
    )
    clock = Clock()
    reach = assemble.here(clock)
    try:
        with assemble.store() as store:
            ref = tell.add_processes(
                store,
                clock,
                reach,
                pids=args.pids,
                pidfile=None if args.pidfile is None else globs([args.pidfile], "--pidfile")[0],
                match=args.match,
                name=args.name,
                description=args.description,
                expect=expect,
            )
            if args.json:
                emit(ask.documents(store, [ref])[0])
            else:
                print(ref)
    finally:
        reach.close()
    return 0
