"""`dogwatch add`: watch a job that is already there, whoever started it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from dogwatch.cli.expect import count
from dogwatch.cli.out import emit, json_flag, say
from dogwatch.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dogwatch.assemble import Store
    from dogwatch.clock import Clock
    from dogwatch.desk.job_ids import JobId
    from dogwatch.desk.slurm import Added
    from dogwatch.model import Expectation

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
    for kind in (process, slurm):
        kind.add_argument("--name", help="what to call the job")
        kind.add_argument("--description", default="", help="what it is for")
        kind.add_argument("--total-items", type=count, metavar="N", help="how many items there are to process")
        kind.add_argument("--stall-timeout", metavar="S", help="the most patience with it while nothing moves")
        kind.add_argument("--min-growth", metavar="RATE", help="the least its outputs must grow, as in 10MB/h")
        kind.add_argument("--keep", action="store_true", help="set up a recurring poll by cron or systemd as well")
        kind.add_argument("--every", default="15m", metavar="S", help="how often --keep polls (default: 15m)")
        json_flag(kind)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.cli import polling
    from dogwatch.desk import ask

    home = assemble.home()
    timer = polling.plan(home, args.every) if args.keep else None
    refs = {"process": _processes, "slurm": _slurm}[args.source](args)
    if args.json:
        with assemble.store(readonly=True) as store:
            jobs = ask.documents(store, refs)
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
    from dogwatch.clock import Clock
    from dogwatch.desk import hosts, registry, slurm

    if bool(args.ids) == args.mine:
        raise UsageError("say which jobs in one way: ID..., - (stdin) or --mine")
    ids = _ids(args.ids)
    expect = _expected(args)
    if args.registry is not None:
        registry.check(args.registry)
    clock = Clock()
    with assemble.store() as store:
        place = slurm.cluster_here(store) if args.host in (None, "here") else hosts.find(store, args.host)
        reach = assemble.reach(place, clock)
        try:
            if args.mine:
                return slurm.add_mine(store, clock, reach, place.name)
            said = slurm.look_up(reach, place, ids, args.user, clock)
        finally:
            reach.close()
        added = slurm.add_ids(
            store,
            clock,
            place,
            ids,
            said,
            name=args.name,
            description=args.description,
            user=args.user,
            expect=expect,
        )
        _tell(store, clock, added, args.registry)
    return [one.ref for one in added]


def _ids(words: list[str]) -> list[JobId]:
    from dogwatch.desk import job_ids

    if "-" not in words:
        return job_ids.in_words(words)
    if words != ["-"]:
        raise UsageError("- (stdin) stands alone: give ids, or what sbatch printed on stdin")
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("- reads what sbatch prints: `sbatch job.sh | dogwatch add slurm - --host HOST`")
    return job_ids.in_output(sys.stdin.read(job_ids.LARGEST))


def _expected(args: Namespace) -> Expectation:
    from dogwatch.cli.expect import growth, positive, remote_path, seconds
    from dogwatch.model import Expectation

    log, outputs = remote_path(args.log, "--log"), remote_path(args.output_dir, "--output-dir")
    return Expectation(
        logs=() if log is None else (log,),
        outputs=() if outputs is None else (f"{outputs.rstrip('/')}/*",),
        total_items=positive(args.total_items, "--total-items"),
        stall_timeout=seconds(args.stall_timeout, "--stall-timeout"),
        checkpoints=tuple(remote_path(glob, "--checkpoint") or "" for glob in args.checkpoint),
        min_growth=growth(args.min_growth, "--min-growth"),
    )


def _tell(store: Store, clock: Clock, added: list[Added], registry_path: str | None) -> None:
    """What Slurm said of each job, and the same in the registry, if one was named."""
    from dogwatch.desk import registry

    for one in added:
        for note in one.notes:
            say(note)
        if registry_path is not None:
            registry.enter(store, registry_path, one.entry(registry.host_of(store, one.place), clock.now()))
