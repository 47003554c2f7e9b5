"""`dogwatch watch`: keep jobs in view; also the classic single-job form that attaches to others' workers."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from dogwatch.cli.expect import count
from dogwatch.cli.out import json_flag, log_file_flag, log_path, say
from dogwatch.errors import UsageError

if TYPE_CHECKING:
    from dogwatch.clock import Clock

HELP = "keep jobs in view until they have ended (Ctrl-C stops watching, never the job)"
EXAMPLES = (
    "dogwatch watch train",
    "dogwatch watch --job-name embed --num-workers 4 --log-dir logs --output-dir out --total-items 100000",
)
EPILOG = """\
Without REF and without flags: everything that has not ended. The classic form attaches to workers that
somebody else started: by --pid, by LOG_DIR/worker_pids.txt if it is there, or by the job name. A process has the
job's name if that is one of its arguments or the name of its program, script or module (with or without .py).
exit codes: 0 completed and verified, 1 failed or stalled: for longer than --stall-timeout, or in the classic form
without it for twice the silence that the job's own pauses explain"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("refs", nargs="*", metavar="REF", help="a ref, a name or a unique prefix")
    classic = parser.add_argument_group("the classic form")
    classic.add_argument("--config", metavar="FILE", help="a YAML file with any of the following; flags win over it")
    classic.add_argument(
        "--job-name", metavar="NAME", help="the job's name; also an argument or the script of its workers"
    )
    classic.add_argument("--num-workers", type=int, metavar="N", help="how many workers there should be")
    classic.add_argument("--gpu-ids", nargs="+", metavar="ID", help="the GPU of each worker")
    classic.add_argument("--pid", nargs="+", type=int, metavar="PID", help="watch exactly these processes")
    classic.add_argument("--user", metavar="NAME", help="whose processes have the job's name, if not yours")
    classic.add_argument("--output-dir", metavar="DIR", help="where the outputs are written")
    classic.add_argument("--log-dir", metavar="DIR", help="where the logs are written")
    classic.add_argument(
        "--checkpoint-dir", metavar="DIR", help="where checkpoints are written (default: --output-dir)"
    )
    classic.add_argument("--total-items", type=count, metavar="N", help="how many items there are to process")
    classic.add_argument("--output-pattern", metavar="GLOB", help="default: output_worker_*.json")
    classic.add_argument("--log-pattern", metavar="GLOB", help="default: worker_*.log")
    classic.add_argument("--checkpoint-pattern", metavar="GLOB", help="default: checkpoint_*")
    classic.add_argument("--launch-timeout", metavar="S", help="how long the workers may take to appear (default: 60)")
    classic.add_argument(
        "--stall-timeout", metavar="S", help="give up when nothing moves for so long (a warning comes after 300)"
    )
    parser.add_argument("--min-growth", metavar="RATE", help="the least its outputs must grow, as in 10MB/h")
    classic.add_argument("--alert-email", metavar="ADDR", help="send alerts about the job there")
    classic.add_argument("--alert-slack", metavar="REF", help="send them to Slack: its webhook, as env:NAME")
    parser.add_argument("--check-interval", metavar="S", help="seconds between polls (default: what suits the job)")
    log_file_flag(parser)
    json_flag(parser)


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
            say("nothing is being watched that has not ended; `dogwatch run -- CMD` starts something")
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
                raise UsageError("name jobs, or describe one with flags, not both")
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
