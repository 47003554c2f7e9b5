"""`dogwatch cancel`: end a job; the one command that does."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from dogwatch.cli.out import JOB, emit, json_flag, say
from dogwatch.errors import ENDED_BADLY, FINE, UsageError

ABOUT = "End a job and everything that belongs to it. No other command ends a job."
EXAMPLES = (
    "dogwatch cancel train",
    "dogwatch cancel train --yes --signal INT --grace 2m",
)
DETAILS = """\
It asks first on a terminal, and needs --yes elsewhere. Processes get the signal, and SIGKILL after the grace time. \
They are known by pid, start time and boot, so another process with the same number is left alone, and nothing is \
signalled on a machine that was started again or replaced. A Slurm job is cancelled with scancel. The job then ends as \
cancelled, with who gave the command."""
EXIT_CODES = {
    0: "what ran of it has ended, or its scheduler took the command",
    1: "nothing was signalled, or some of it still runs",
    2: "wrong usage, or not confirmed",
    3: "the host is unreachable",
    4: "no such job",
}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("ref", metavar="JOB", help=JOB)
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    parser.add_argument("--signal", default="TERM", metavar="NAME", help="the first signal")
    parser.add_argument("--grace", default="30s", metavar="TIME", help="time until SIGKILL")
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.actions.cancel import MOST_GRACE, cancel, job_to_cancel, signal_number
    from dogwatch.api import queries
    from dogwatch.clock import Clock
    from dogwatch.config import duration
    from dogwatch.text import plain

    grace, signal = duration(args.grace, "--grace"), signal_number(args.signal)
    if not 0 <= grace <= MOST_GRACE:
        raise UsageError(f"--grace takes a time up to {MOST_GRACE / 60:g}m, not {plain(args.grace, 40)}")
    with assemble.store() as store:
        ref = queries.find(store, [args.ref])
        job = job_to_cancel(store, ref)
        if not args.yes:
            _confirm(f"{plain(job.name, 80)} ({plain(ref, 120)})", args.ref)
        done = cancel(store, Clock(), job, signal, grace)
    if args.json:
        emit(
            {
                "ref": done.ref,
                "cancelled": done.ended,
                "by": done.by,
                "signalled": [pid for pid in done.signalled if pid],
                "left": list(done.left),
                "detail": done.detail,
            }
        )
    else:
        print(f"{plain(job.name, 80)}: {done.detail}")
    return FINE if done.ended and done.signalled else ENDED_BADLY


def _confirm(what: str, given: str) -> None:
    """A yes typed at a terminal."""
    from dogwatch.text import plain

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"this ends {what}; to confirm: dogwatch cancel {plain(given, 80)} --yes")
    say(f"this ends {what} and everything that belongs to it")
    print("cancel it? (yes or no) ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("not confirmed; nothing was signalled")
