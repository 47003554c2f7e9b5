"""`dogwatch add`: watch a job that is already there, whoever started it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dogwatch.cli.out import emit, json_flag
from dogwatch.errors import UsageError

HELP = "watch a job that is already there: processes of this machine, or jobs of a Slurm cluster"
EXAMPLES = (
    "dogwatch add process 4242 --log 'logs/*.log' --name embed",
    "dogwatch add slurm 123456 --host hpc",
)
EPILOG = """\
A process is known by its pid, its start time and this boot, so a reused pid is never taken for it. How it ends is
not recorded by anybody: it will be "ended, outcome unknown". `dogwatch run` keeps exit codes.
A Slurm job is known by its cluster, id, submit time and owner. `dogwatch host add` adds the cluster's login host."""


def arguments(parser: ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="source", required=True, metavar="{process,slurm}")
    process = kinds.add_parser("process", help="processes of this machine", allow_abbrev=False)
    process.add_argument("pids", nargs="*", type=int, metavar="PID", help="process ids of its workers")
    process.add_argument("--pidfile", metavar="F", help="a file with the pids, separated by white space")
    process.add_argument("--match", metavar="NAME", help="every process with NAME as an argument or script")
    process.add_argument("--user", metavar="NAME", help="whose processes --match means, if not yours")
    process.add_argument("--workers", type=int, metavar="N", help="how many workers there should be")
    process.add_argument("--log", action="append", default=[], metavar="GLOB", help="its log files (repeatable)")
    process.add_argument("--output", action="append", default=[], metavar="GLOB", help="its output files (repeatable)")
    process.add_argument(
        "--checkpoint", action="append", default=[], metavar="GLOB", help="its checkpoints (repeatable)"
    )
    slurm = kinds.add_parser("slurm", help="jobs in the queue of a cluster that ssh reaches", allow_abbrev=False)
    slurm.add_argument("ids", nargs="*", metavar="ID", help="job ids; an array or heterogeneous job is one")
    slurm.add_argument("--host", required=True, metavar="NAME", help="the host, as `dogwatch host ls` names it")
    slurm.add_argument("--mine", action="store_true", help="all jobs that you have in its queue")
    slurm.add_argument("--user", metavar="NAME", help="who owns them, if not you")
    slurm.add_argument("--log", metavar="PATH", help="its log on the host (default: what Slurm says)")
    slurm.add_argument("--output-dir", metavar="DIR", help="where on the host it writes its outputs")
    slurm.add_argument("--checkpoint", action="append", default=[], metavar="GLOB", help="its checkpoints there")
    for kind in (process, slurm):
        kind.add_argument("--name", help="what to call the job")
        kind.add_argument("--description", default="", help="what it is for")
        kind.add_argument("--total-items", type=int, metavar="N", help="how many items there are to process")
        kind.add_argument("--stall-timeout", metavar="S", help="the most patience with it while nothing moves")
        kind.add_argument("--min-growth", metavar="RATE", help="the least its outputs must grow, as in 10MB/h")
        json_flag(kind)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.desk import ask

    refs = {"process": _processes, "slurm": _slurm}[args.source](args)
    if not args.json:
        for ref in refs:
            print(ref)
        return 0
    with assemble.store(readonly=True) as store:
        jobs = ask.documents(store, refs)
    emit(jobs[0] if len(jobs) == 1 and not getattr(args, "mine", False) else {"jobs": jobs})
    return 0


def _processes(args: Namespace) -> list[str]:
    from dogwatch import assemble
    from dogwatch.cli.expect import globs, growth, positive, seconds
    from dogwatch.clock import Clock
    from dogwatch.desk import tell
    from dogwatch.model import Expectation

    if sum(map(bool, (args.pids, args.pidfile, args.match))) != 1:
        raise UsageError("say which processes in one way: PID..., --pidfile F or --match NAME")
    for pid in args.pids:
        positive(pid, "PID")
    expect = Expectation(
        workers=positive(args.workers, "--workers"),
        logs=globs(args.log, "--log"),
        outputs=globs(args.output, "--output", later=True),
        checkpoints=globs(args.checkpoint, "--checkpoint", later=True),
        total_items=positive(args.total_items, "--total-items"),
        stall_timeout=seconds(args.stall_timeout, "--stall-timeout"),
        min_growth=growth(args.min_growth, "--min-growth"),
    )
    clock = Clock()
    reach = assemble.here(clock)
    try:
        with assemble.store() as store:
            return [
                tell.add_processes(
                    store,
                    clock,
                    reach,
                    pids=args.pids,
                    pidfile=None if args.pidfile is None else globs([args.pidfile], "--pidfile")[0],
                    match=args.match,
                    user=args.user,
                    name=args.name,
                    description=args.description,
                    expect=expect,
                )
            ]
    finally:
        reach.close()


def _slurm(args: Namespace) -> list[str]:
    from dogwatch import assemble
    from dogwatch.cli.expect import growth, positive, remote_path, seconds
    from dogwatch.clock import Clock
    from dogwatch.desk import hosts, slurm
    from dogwatch.model import Expectation

    if bool(args.ids) == args.mine:
        raise UsageError("say which jobs in one way: ID... or --mine")
    for text in args.ids:
        slurm.base_id(text)
    clock = Clock()
    with assemble.store() as store:
        place = hosts.find(store, args.host)
        if args.mine:
            return slurm.add_mine(store, clock, hosts.reach(place, clock), args.host)
        log, outputs = remote_path(args.log, "--log"), remote_path(args.output_dir, "--output-dir")
        expect = Expectation(
            logs=() if log is None else (log,),
            outputs=() if outputs is None else (f"{outputs.rstrip('/')}/*",),
            total_items=positive(args.total_items, "--total-items"),
            stall_timeout=seconds(args.stall_timeout, "--stall-timeout"),
            checkpoints=tuple(remote_path(glob, "--checkpoint") or "" for glob in args.checkpoint),
            min_growth=growth(args.min_growth, "--min-growth"),
        )
        return [
            slurm.add(
                store,
                clock,
                args.host,
                text,
                name=args.name,
                description=args.description,
                user=args.user,
                expect=expect,
                log_given=log is not None,
            )
            for text in args.ids
        ]
