"""`dogwatch add`: watch a job that is already there, whoever started it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from dogwatch.cli.expect import count
from dogwatch.cli.out import emit, json_flag, say
from dogwatch.errors import UsageError

HELP = "watch a job that is already there: processes of this machine, or jobs of a Slurm cluster"
EXAMPLES = (
    "dogwatch add process 4242 --log 'logs/*.log' --name embed",
    "dogwatch add slurm 123456 --host hpc --keep",
)
EPILOG = """\
A process is known by its pid, its start time and this boot, so a reused pid is never taken for it. How it ends is
not recorded by anybody: it will be "ended, outcome unknown". `dogwatch run` keeps exit codes.
A Slurm job is known by its cluster, id, submit time and owner. `dogwatch host add` adds the cluster's login host;
without --host (or with --host here) the Slurm of this machine is asked. sbatch can be piped into it:
  sbatch job.sh | dogwatch add slurm - --host hpc
exit codes: 4 when Slurm does not know an id. A host that does not answer is no reason to refuse a job."""


def arguments(parser: ArgumentParser) -> None:
    from dogwatch.api import plugin_jobs

    others = plugin_jobs.kinds()
    listed = ",".join(("process", "slurm", *others))
    kinds = parser.add_subparsers(dest="source", required=True, metavar=f"{{{listed}}}")
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
    slurm = kinds.add_parser("slurm", help="jobs in the queue of a cluster", allow_abbrev=False)
    slurm.add_argument(
        "ids", nargs="*", metavar="ID", help="job ids, or what sbatch printed; - reads that from stdin; an array is one"
    )
    slurm.add_argument("--host", metavar="NAME", help="the host, as `dogwatch host ls` names it (default: here)")
    slurm.add_argument("--mine", action="store_true", help="all jobs that you have in its queue")
    slurm.add_argument("--user", metavar="NAME", help="who owns them, if not you")
    slurm.add_argument("--log", metavar="PATH", help="its log on the host (default: what Slurm says)")
    slurm.add_argument("--output-dir", metavar="DIR", help="where on the host it writes its outputs")
    slurm.add_argument("--checkpoint", action="append", default=[], metavar="GLOB", help="its checkpoints there")
    slurm.add_argument("--registry", metavar="FILE", help="write it into this registry too (.claude/active_jobs.json)")
    plugins = [kinds.add_parser(name, help=text, allow_abbrev=False) for name, text in others.items()]
    for kind in plugins:
        kind.add_argument("id", metavar="ID", help="what to know the job by")
        kind.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a key of its source")
        kind.add_argument("--host", metavar="NAME", help="the host, as `dogwatch host ls` names it (default: here)")
        kind.add_argument("--log", action="append", default=[], metavar="PATH", help="its logs there (repeatable)")
    for kind in (process, slurm, *plugins):
        kind.add_argument("--name", help="what to call the job")
        kind.add_argument("--description", default="", help="what it is for")
        kind.add_argument("--total-items", type=count, metavar="N", help="how many items there are to process")
        kind.add_argument("--stall-timeout", metavar="S", help="call it stalled after this long without any progress")
        kind.add_argument("--min-growth", metavar="RATE", help="the least its outputs must grow, as in 10MB/h")
        kind.add_argument("--keep", action="store_true", help="set up a recurring poll by cron or systemd as well")
        kind.add_argument("--every", default="15m", metavar="S", help="how often --keep polls (default: 15m)")
        json_flag(kind)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import queries
    from dogwatch.cli import polling

    home = assemble.home()
    timer = polling.plan(home, args.every) if args.keep else None
    by_source = {"process": _processes, "slurm": _scheduler_jobs}
    refs = by_source.get(args.source, _of_plugin)(args)
    if args.json:
        with assemble.store(readonly=True) as store:
            jobs = queries.documents(store, refs)
        emit(jobs[0] if len(jobs) == 1 and not getattr(args, "mine", False) else {"jobs": jobs})
    else:
        for ref in refs:
            print(ref)
        sys.stdout.flush()
    polling.set_up(timer)
    if refs:
        polling.say_who_polls(home)
    return 0


def _processes(args: Namespace) -> list[str]:
    from dogwatch import assemble
    from dogwatch.api.register import ProcessesToWatch, watch_processes
    from dogwatch.clock import Clock

    wanted = ProcessesToWatch(
        pids=args.pids,
        pidfile=args.pidfile,
        match=args.match,
        workers=args.workers,
        logs=args.log,
        outputs=args.output,
        checkpoints=args.checkpoint,
        **_common(args),
    )
    clock = Clock()
    transport = assemble.here(clock)
    try:
        with assemble.store() as store:
            return [watch_processes(store, clock, transport, wanted, say)]
    finally:
        transport.close()


def _of_plugin(args: Namespace) -> list[str]:
    from dogwatch import assemble
    from dogwatch.api import hosts, plugin_jobs
    from dogwatch.api.commands import HERE
    from dogwatch.api.expectations import globs, growth, positive, remote_path, seconds
    from dogwatch.clock import Clock
    from dogwatch.model import Expectation

    here = args.host in (None, HERE)
    pairs = [word.partition("=") for word in args.set]
    wrong = [key for key, equals, _ in pairs if not key or not equals]
    if wrong:
        raise UsageError(f"--set takes KEY=VALUE, not {wrong[0][:40]!r}")
    expect = Expectation(
        logs=globs(args.log, "--log") if here else tuple(remote_path(path, "--log") or "" for path in args.log),
        total_items=positive(args.total_items, "--total-items"),
        stall_timeout=seconds(args.stall_timeout, "--stall-timeout"),
        min_growth=growth(args.min_growth, "--min-growth"),
    )
    words = {key: value for key, _, value in pairs}
    with assemble.store() as store:
        place = HERE if here else hosts.find(store, args.host).name
        said = {"name": args.name, "description": args.description}
        return [plugin_jobs.add(store, Clock(), place, args.source, args.id, words, **said, expect=expect)]


def _scheduler_jobs(args: Namespace) -> list[str]:
    from dogwatch import assemble
    from dogwatch.api.register import SchedulerJobsToWatch, watch_scheduler_jobs
    from dogwatch.clock import Clock

    output = _submitted(args)
    wanted = SchedulerJobsToWatch(
        scheduler=args.source,
        ids=args.ids if output is None else (),
        output=output,
        mine=args.mine,
        host=args.host,
        log=args.log,
        output_dir=args.output_dir,
        checkpoints=args.checkpoint,
        registry=args.registry,
        **_common(args),
    )
    clock = Clock()
    with assemble.store() as store:
        return watch_scheduler_jobs(store, clock, lambda place: assemble.transport(place, clock), wanted, say)


def _common(args: Namespace) -> dict[str, Any]:
    names = ("user", "name", "description", "total_items", "stall_timeout", "min_growth")
    return {name: getattr(args, name) for name in names}


def _submitted(args: Namespace) -> str | None:
    """What the submit command printed, where `-` stands for it."""
    from dogwatch.api.register import MOST_OUTPUT

    if "-" not in args.ids:
        return None
    if args.ids != ["-"]:
        raise UsageError("- (stdin) stands alone: give ids, or what sbatch printed on stdin")
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(f"- reads what sbatch prints: `sbatch job.sh | dogwatch add {args.source} - --host HOST`")
    return sys.stdin.read(MOST_OUTPUT)
