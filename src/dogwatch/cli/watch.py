"""`dogwatch watch`: keep jobs in view; also the classic single-job form that attaches to others' workers."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from dogwatch.cli.expect import count
from dogwatch.cli.out import JOB, json_flag, log_file_flag, log_path, say
from dogwatch.errors import UsageError

if TYPE_CHECKING:
    from dogwatch.clock import Clock

ABOUT = """\
Show jobs live until they end. Without a name, show every job that has not ended. Options can also describe workers \
that something else started; they are then found by pid, by LOG_DIR/worker_pids.txt or by the job's name."""
EXAMPLES = (
    "dogwatch watch",
    "dogwatch watch train eval",
    "dogwatch watch --job-name embed --num-workers 4 --log-dir logs --output-dir out --total-items 100000",
)
DETAILS = """\
A process matches --job-name if the name is one of its arguments, or the name of its program, script or module (with \
or without .py). Ctrl-C stops the watching, not the job."""
EXIT_CODES = {
    0: "every job completed and its files were checked",
    1: "a job failed, or made no progress for longer than --stall-timeout",
    130: "Ctrl-C; the jobs keep running",
}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("refs", nargs="*", metavar="JOB", help=JOB)
    parser.add_argument("--check-interval", metavar="TIME", help="time between polls (default: chosen for each job)")
    log_file_flag(parser)
    json_flag(parser)
    found = parser.add_argument_group("Find workers that something else started")
    found.add_argument("--config", metavar="FILE", help="YAML file with any of these options; the command line wins")
    found.add_argument("--job-name", metavar="NAME", help="name of the job, and of its program or script")
    found.add_argument("--num-workers", type=int, metavar="N", help="number of workers to expect")
    found.add_argument("--pid", nargs="+", type=int, metavar="PID", help="watch exactly these processes")
    found.add_argument("--user", metavar="USER", help="owner of the processes (default: you)")
    found.add_argument("--gpu-ids", nargs="+", metavar="ID", help="the GPU of each worker")
    found.add_argument(
        "--launch-timeout", metavar="TIME", help="how long the workers may take to appear (default: 60s)"
    )
    files = parser.add_argument_group("Their files")
    files.add_argument("--output-dir", metavar="DIR", help="directory of the output files")
    files.add_argument("--log-dir", metavar="DIR", help="directory of the logs")
    files.add_argument("--checkpoint-dir", metavar="DIR", help="directory of the checkpoints (default: --output-dir)")
    files.add_argument("--output-pattern", metavar="GLOB", help="names of outputs (default: output_worker_*.json)")
    files.add_argument("--log-pattern", metavar="GLOB", help="names of logs (default: worker_*.log)")
    files.add_argument("--checkpoint-pattern", metavar="GLOB", help="names of checkpoints (default: checkpoint_*)")
    alerts = parser.add_argument_group("What to expect, and where to send alerts")
    alerts.add_argument("--total-items", type=count, metavar="N", help="number of items to process, for the ETA")
    alerts.add_argument(
        "--stall-timeout",
        metavar="TIME",
        help="exit with 1 after this long without progress (default: twice the job's usual pauses; warns after 5 min)",
    )
    alerts.add_argument("--min-growth", metavar="RATE", help="alert when outputs grow slower than this, e.g. 10MB/h")
    alerts.add_argument("--alert-email", metavar="ADDRESS", help="send alerts about this job to this address")
    alerts.add_argument("--alert-slack", metavar="SECRET", help="send them to this Slack webhook, e.g. env:SLACK_URL")


def run(args: Namespace) -> int:
    from dogwatch.cli.leaving import saying_what_goes_on
    from dogwatch.cli.showing import show
    from dogwatch.clock import Clock
    from dogwatch.config import duration

    every = None if args.check_interval is None else duration(args.check_interval, "--check-interval")
    clock, refs = Clock(), list[str]()
    with saying_what_goes_on(refs):
        _choose(args, clock, every, refs)
        if not refs:
            say("no job to watch; start one: dogwatch run -- PROGRAM")
            return 0
        return show(refs, clock, json=args.json, every=every, log_file=log_path(args.log_file))


def _choose(args: Namespace, clock: Clock, every: float | None, refs: list[str]) -> None:
    """Put the jobs to watch into `refs`: those that are named, the one that flags describe, or all that have not
    ended. Where there are none, what is queued to be sent is sent."""
    from dogwatch import assemble
    from dogwatch.api import queries
    from dogwatch.api.register_single import SingleJob, watch_single_job
    from dogwatch.cli.leaving import leaving

    with assemble.store() as store:
        described = {name: getattr(args, name) for name in SingleJob.__dataclass_fields__}
        if any(value is not None for value in described.values()):
            if args.refs:
                raise UsageError("give names of jobs, or options that describe one, not both")
            transport = assemble.here(clock)
            try:
                refs.append(watch_single_job(store, clock, transport, SingleJob(**described), every, say))
            finally:
                transport.close()
            say(f"watching {refs[0]}")
        elif args.refs:
            refs += queries.find_each(store, args.refs, say)
        else:
            refs += [job["ref"] for job in queries.brief(store)]
        if not refs:
            with leaving(store, clock):
                assemble.send_queued(store, clock)
