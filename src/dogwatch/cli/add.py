"""`dogwatch add`: watch a job that is already there, whoever started it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from dogwatch.cli.expect import count
from dogwatch.cli.out import HOST, emit, json_flag, say
from dogwatch.errors import UsageError

ABOUT = "Watch what is already running or queued: processes here, jobs of a Slurm cluster, runs on a rented machine."
EXAMPLES = (
    "dogwatch add process 4242 --log 'logs/*.log' --name embed",
    "dogwatch add slurm 123456 --host hpc",
    "dogwatch add slurm --mine --host hpc",
    "dogwatch add box --host gpu --tmux train --log /workspace/train.log",
)
COMMON = ("user", "name", "description", "total_items", "stall_timeout", "min_growth")


def arguments(parser: ArgumentParser) -> None:
    from dogwatch.api import plugin_jobs

    kinds = parser.add_subparsers(dest="source", required=True, metavar="COMMAND")
    added = [_process_arguments(kinds), _slurm_arguments(kinds), _box_arguments(kinds)]
    for name, text in plugin_jobs.kinds().items():
        kind = kinds.add_parser(name, help=text, description=text)
        kind.add_argument("id", metavar="ID", help="id of the job")
        kind.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of this source")
        kind.add_argument("--host", metavar="HOST", help=HOST)
        kind.add_argument("--log", action="append", default=[], metavar="PATH", help="log on that host (repeatable)")
        added.append(kind)
    for kind in added:
        kind.add_argument("--name", help="name of the job (default: chosen from the job)")
        kind.add_argument("--description", default="", metavar="TEXT", help="what the job is for")
        kind.add_argument("--keep", action="store_true", help="also poll in the background with systemd or cron")
        kind.add_argument("--every", default="15m", metavar="TIME", help="how often --keep polls")
        json_flag(kind)
        expected = kind.add_argument_group("What to expect of the job")
        expected.add_argument("--total-items", type=count, metavar="N", help="number of items to process, for the ETA")
        expected.add_argument(
            "--stall-timeout", metavar="TIME", help="alert when there is no progress for this long, e.g. 30m"
        )
        expected.add_argument(
            "--min-growth", metavar="RATE", help="alert when outputs grow slower than this, e.g. 10MB/h"
        )


def _process_arguments(kinds: Any) -> ArgumentParser:
    process: ArgumentParser = kinds.add_parser(
        "process",
        help="Watch processes on this machine",
        description="Watch processes on this machine, found by pid, by a file of pids or by name.",
        examples=(
            "dogwatch add process 4242 --log 'logs/*.log' --name embed",
            "dogwatch add process --match train.py --workers 4",
        ),
        details="""\
The exit code of a process that Dogwatch did not start is not known: the job ends with outcome "unknown" unless its \
log shows how it ended. `dogwatch run` records exit codes.

A pid that is used again by another process is recognised, because start time and boot are compared too.""",
    )
    process.add_argument("pids", nargs="*", type=int, metavar="PID", help="process ids of the workers")
    process.add_argument("--pidfile", metavar="FILE", help="file with the pids, separated by spaces or lines")
    process.add_argument("--match", metavar="NAME", help="every process whose program, script or argument is NAME")
    process.add_argument("--user", metavar="USER", help="owner of the processes that --match finds (default: you)")
    process.add_argument("--workers", type=int, metavar="N", help="number of workers to expect")
    process.add_argument("--log", action="append", default=[], metavar="GLOB", help="log files (repeatable)")
    process.add_argument("--output", action="append", default=[], metavar="GLOB", help="output files (repeatable)")
    process.add_argument("--checkpoint", action="append", default=[], metavar="GLOB", help="checkpoints (repeatable)")
    return process


def _slurm_arguments(kinds: Any) -> ArgumentParser:
    slurm: ArgumentParser = kinds.add_parser(
        "slurm",
        help="Watch jobs of a Slurm cluster",
        description="Watch jobs of a Slurm cluster, by id, or all of yours. An array is one job.",
        examples=(
            "dogwatch add slurm 123456 --host hpc",
            "sbatch job.sh | dogwatch add slurm - --host hpc",
        ),
        details="""\
Add the cluster's login host first: `dogwatch host add NAME`. A job is also added when its host does not answer; it is \
polled when the host is back.""",
        exit_codes={0: "the jobs are watched", 4: "Slurm does not know an id"},
    )
    slurm.add_argument("ids", nargs="*", metavar="ID", help="job ids, or what sbatch printed; - reads it from stdin")
    slurm.add_argument("--host", metavar="HOST", help=HOST)
    slurm.add_argument("--mine", action="store_true", help="all jobs that you have in the queue")
    slurm.add_argument("--user", metavar="USER", help="owner of the jobs (default: you)")
    slurm.add_argument("--log", metavar="PATH", help="log on the host (default: the path that Slurm reports)")
    slurm.add_argument("--output-dir", metavar="DIR", help="directory of the outputs on the host")
    slurm.add_argument("--checkpoint", action="append", default=[], metavar="GLOB", help="checkpoints on the host")
    slurm.add_argument("--registry", metavar="FILE", help="also write it to this registry (.claude/active_jobs.json)")
    return slurm


def _box_arguments(kinds: Any) -> ArgumentParser:
    box: ArgumentParser = kinds.add_parser(
        "box",
        help="Watch a run on a machine without a scheduler",
        description="Watch a run that somebody started on a rented machine, in tmux or as a process.",
        examples=(
            "dogwatch add box --host gpu --tmux train --log /workspace/train.log --marker /workspace/TRAIN_DONE",
            "dogwatch add box --host gpu --match train.py --log /workspace/train.log --results '/workspace/out/*.csv'",
        ),
        details="""\
Each --marker is a stage, in this order: a file that is written when the stage has succeeded. The run has succeeded \
when its session and its processes are gone and the last marker is there; gone without it, the run has died. Without \
any --marker, its log decides.

Give the run's own --log: a log that several runs share would show the errors of the others. Nothing is installed or \
written on the machine. `dogwatch run --on HOST` starts a run there that also records exit codes.""",
        exit_codes={0: "the run is watched", 3: "the host does not answer"},
    )
    box.add_argument("--host", metavar="HOST", help=HOST)
    known = box.add_mutually_exclusive_group(required=True)
    known.add_argument("--tmux", metavar="SESSION", help="name of the tmux session it runs in")
    known.add_argument("--pid", type=int, metavar="PID", help="process id on that host")
    known.add_argument("--run", metavar="DIR", help="run directory of a chain that `dogwatch run` started there")
    known.add_argument("--match", metavar="NAME", help="the process whose program, script or argument is NAME")
    box.add_argument("--log", action="append", default=[], metavar="PATH", help="the run's own log (repeatable)")
    box.add_argument(
        "--marker", action="append", default=[], metavar="GLOB", help="file that ends a stage (repeatable)"
    )
    box.add_argument("--results", action="append", default=[], metavar="GLOB", help="files it produces (repeatable)")
    box.add_argument("--expect-files", type=count, metavar="N", help="number of result files to expect")
    box.add_argument("--checkpoint", action="append", default=[], metavar="GLOB", help="checkpoints (repeatable)")
    box.add_argument("--resume-command", metavar="CMD", help="what resumes it after a failure; only shown, never run")
    return box


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import queries
    from dogwatch.cli import polling

    home = assemble.home()
    timer = polling.plan(home, args.every) if args.keep else None
    by_source = {"process": _processes, "slurm": _scheduler_jobs, "box": _box}
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
        **{name: getattr(args, name) for name in COMMON},
    )
    clock = Clock()
    transport = assemble.here(clock)
    try:
        with assemble.store() as store:
            return [watch_processes(store, clock, transport, wanted, say)]
    finally:
        transport.close()


def _box(args: Namespace) -> list[str]:
    from dogwatch import assemble
    from dogwatch.api.adopt import RunToAdopt, adopt
    from dogwatch.clock import Clock

    clock = Clock()
    if args.run is not None:
        from dogwatch.api.chains import adopt_chain

        with assemble.store() as store:
            return [adopt_chain(store, clock, args.host or "here", args.run, args.name, args.description)]
    wanted = RunToAdopt(
        host=args.host,
        tmux=args.tmux,
        pid=args.pid,
        match=args.match,
        logs=args.log,
        markers=args.marker,
        results=args.results,
        expect_files=args.expect_files,
        checkpoints=args.checkpoint,
        resume=args.resume_command,
        **{name: getattr(args, name) for name in COMMON if name != "user"},
    )
    with assemble.store() as store:
        return [adopt(store, clock, lambda place: assemble.transport(place, clock), wanted, say)]


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
    from dogwatch.api.commands import HERE
    from dogwatch.api.register import SchedulerJobsToWatch, watch_scheduler_jobs
    from dogwatch.clock import Clock

    if args.host in (None, HERE):
        assemble.check_proc()
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
        **{name: getattr(args, name) for name in COMMON},
    )
    clock = Clock()
    with assemble.store() as store:
        return watch_scheduler_jobs(store, clock, lambda place: assemble.transport(place, clock), wanted, say)


def _submitted(args: Namespace) -> str | None:
    """What the submit command printed, where `-` stands for it."""
    from dogwatch.api.register import MOST_OUTPUT

    if "-" not in args.ids:
        return None
    if args.ids != ["-"]:
        raise UsageError("- (stdin) cannot be combined with ids; give one or the other")
    if sys.stdin is None or sys.stdin.isatty():
        how = f"sbatch job.sh | dogwatch add {args.source} - --host HOST"
        raise UsageError(f"- reads the output of sbatch from a pipe, as in `{how}`")
    return sys.stdin.read(MOST_OUTPUT)
