"""`dogwatch daemon`: the watcher, for as long as it is let run."""

from __future__ import annotations

import gc
import signal
from argparse import ArgumentParser, Namespace

from dogwatch.cli.out import emit, json_flag, log_file_flag, log_path, say
from dogwatch.errors import FINE, INTERRUPTED

WRITE_EVERY = 2.0  # looking every second must not wear the disk for numbers that nobody reads that fast
HELP = "watch everything, in the foreground, until stopped (one watcher per store)"
EXAMPLES = (
    "dogwatch daemon",
    "dogwatch daemon --once-idle --log-file experiment.log",
)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--interval", metavar="S", help="look this often, instead of as often as suits each job")
    log_file_flag(parser)
    parser.add_argument("--once-idle", action="store_true", help="leave when nothing is left to watch")
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.clock import Clock, local
    from dogwatch.config import duration

    clock = Clock()
    every = None if args.interval is None else duration(args.interval, "--interval")
    stopped_by: list[int] = []
    with assemble.held(
        clock,
        who="daemon",
        channels=[assemble.terminal()],
        narrate=lambda text: say(f"{local(clock.now(), 0.0, seconds=True)} {text}"),
        every=every,
        write_every=WRITE_EVERY,
        log_file=log_path(args.log_file),
    ) as watch:

        def stop(number: int, frame: object) -> None:
            stopped_by.append(number)
            watch.stop()

        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, stop)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        if args.json:
            emit({"watching": True})
        else:
            say("watching; Ctrl-C or SIGTERM stops the watching, never a job")
        gc.freeze()  # what was needed to start stays; looking through it for garbage costs more than it finds
        watch.run(until=(lambda: watch.idle) if args.once_idle else (lambda: False))
    return INTERRUPTED if signal.SIGINT in stopped_by else FINE
