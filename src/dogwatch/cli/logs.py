"""`dogwatch logs`: the newest lines of a job's logs, made harmless for the terminal."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace

from dogwatch.cli.out import JOB, emit, json_flag, say
from dogwatch.errors import CouldNotPoll, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dogwatch.api.logs import Reading, Tail

ABOUT = "Print the last lines of a job's logs, wherever the job runs."
EXAMPLES = (
    "dogwatch logs train",
    "dogwatch logs train -n 50",
    "dogwatch logs train --worker 2 --follow",
)
DETAILS = """\
Logs on another host are read over one ssh connection. There, --follow asks every 5 seconds and keeps trying when the \
host is unreachable."""
PAUSE, FAR_PAUSE, LONGEST_PAUSE = 0.5, 5.0, 60.0


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("ref", metavar="JOB", help=JOB)
    parser.add_argument("-n", "--lines", type=int, default=20, metavar="N", help="number of lines of each log")
    parser.add_argument("-f", "--follow", action="store_true", help="keep printing new lines until Ctrl-C")
    parser.add_argument("--worker", type=int, metavar="K", help="only the log of worker K")
    parser.add_argument("--raw", action="store_true", help="print bytes unchanged, with escape codes")
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import logs, queries
    from dogwatch.clock import Clock

    if args.lines < 0:
        raise UsageError(f"--lines takes a number of lines, 0 or more, not {args.lines}")
    if args.follow and args.json:
        raise UsageError("--follow and --json cannot be used together")
    with assemble.store(readonly=True) as store:
        job = queries.documents(store, [queries.find(store, [args.ref], say)])[0]
        place = queries.place(store, job["place"])
    here = place.kind == "here"
    transport = assemble.transport(place, Clock())
    try:
        reading = logs.Reading(transport, job, args.worker, logs.HERE_DEADLINE if here else logs.FAR_DEADLINE)
        tails = reading.tails(args.lines)
        if args.json:
            emit({"ref": job["ref"], "logs": [tail.document() for tail in tails]})
            return 0
        show = _Printer(args.raw, many=len(tails) > 1)
        show(tails)
        if args.follow:
            _follow(reading, show, here)
    finally:
        transport.close()
    return 0


def _follow(reading: Reading, show: _Printer, here: bool) -> None:
    """Print what is written until somebody ends it; another host is asked seldom, and waited for while it is away."""
    usual = pause = PAUSE if here else FAR_PAUSE
    while True:
        time.sleep(pause)
        try:
            show(reading.more())
        except CouldNotPoll as unreachable:
            if here:
                raise
            if pause == usual:
                say(f"{unreachable}; still trying")
            pause = min(LONGEST_PAUSE, 2 * pause)
        else:
            if pause != usual:
                say("the host answers again")
            pause = usual


class _Printer:
    """Prints tails; of several, each time another one goes on, its name first."""

    def __init__(self, raw: bool, many: bool) -> None:
        self._raw, self._many = raw, many
        self._last: str | None = None

    def __call__(self, tails: Sequence[Tail]) -> None:
        self._many = self._many or any(tail.path != self._last for tail in tails if self._last is not None)
        for tail in tails:
            if self._many and tail.path != self._last:
                from dogwatch.text import plain

                print(f"==> {plain(tail.path, 200)} <==", flush=True)
            self._last = tail.path
            self._print(tail)

    def _print(self, tail: Tail) -> None:
        import sys

        from dogwatch.text import plain

        if self._raw:
            sys.stdout.flush()
            sys.stdout.buffer.write(tail.raw)
            sys.stdout.buffer.flush()
            return
        for line in tail.lines():
            print(plain(line, 4000), flush=True)
