"""`dogwatch daemon`: the watcher in the foreground, for as long as it is let run."""

from __future__ import annotations

import gc
import signal
from argparse import ArgumentParser, Namespace

from dogwatch.cli.out import emit, json_flag, log_file_flag, log_path, say
from dogwatch.errors import COULD_NOT_POLL, FINE, INTERRUPTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dogwatch.actions.upgrade import Installed

WRITE_EVERY = 2.0  # polling every second must not write to the disk every second
ABOUT = "Watch all jobs in the foreground and send alerts, until stopped. In the background: `dogwatch service on`."
EXAMPLES = (
    "dogwatch daemon",
    "dogwatch daemon --once-idle --log-file experiment.log",
)
DETAILS = """\
One watcher runs at a time. While `dogwatch run`, `watch`, `wait` or `patrol` watches, the daemon waits and then takes \
over; a second daemon exits with an error. When a new version of Dogwatch is installed, the daemon restarts with it."""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--interval", metavar="TIME", help="time between polls (default: chosen for each job)")
    log_file_flag(parser)
    parser.add_argument("--once-idle", action="store_true", help="exit when no job is left to watch")
    json_flag(parser)


class _Stop:
    """The signals that end a daemon: while it waits, and while it watches."""

    def __init__(self) -> None:
        self.by: list[int] = []
        self.watching: Callable[[], None] | None = None
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._stop)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)

    def _stop(self, number: int, frame: object) -> None:
        self.by.append(number)
        if self.watching is not None:
            self.watching()

    @property
    def code(self) -> int:
        return INTERRUPTED if signal.SIGINT in self.by else FINE


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.actions.upgrade import Installed
    from dogwatch.cli.leaving import say_unsent
    from dogwatch.clock import Clock, local
    from dogwatch.config import duration

    clock = Clock()
    every = None if args.interval is None else duration(args.interval, "--interval")

    def narrate(text: str) -> None:
        say(f"{local(clock.now(), 0.0, seconds=True)} {text}")

    log_file, began, stop, installed = log_path(args.log_file), clock.now(), _Stop(), Installed()
    with assemble.daemon(clock, narrate, stopped=lambda: bool(stop.by)) as lease:
        if lease is None:
            return stop.code
        with assemble.held(
            clock,
            who="daemon",
            terminal=assemble.terminal(),
            narrate=narrate,
            every=every,
            write_every=WRITE_EVERY,
            log_file=log_file,
            lease=lease,
        ) as watch:
            stop.watching = watch.interrupt
            if stop.by:
                return stop.code
            if args.json:
                emit({"watching": True})
            else:
                say("watching; Ctrl-C or SIGTERM stops the watcher, not the jobs")
            gc.freeze()  # what was needed to start stays; looking through it for garbage costs more than it finds
            watch.run(until=lambda: (args.once_idle and watch.idle) or installed.changed(clock.mono()))
    if not stop.by and installed.changed(clock.mono()):
        return _go_on_as(installed, narrate)
    with assemble.store(readonly=True) as store:
        say_unsent(store, began)
    return stop.code


def _go_on_as(installed: Installed, narrate: Callable[[str], None]) -> int:
    """Restart as the version that is installed now; the watch is over by then, and begins anew there."""
    from dogwatch.actions.upgrade import start_again

    version = installed.version()
    if version is None:
        narrate("Dogwatch was uninstalled, so this daemon exits; jobs keep running but are not watched")
        return FINE
    narrate(f"dogwatch {version} was installed; this daemon restarts with it")
    try:
        start_again()
    except OSError as error:
        narrate(f"the daemon could not restart ({error.strerror}); run `dogwatch daemon` again")
    return COULD_NOT_POLL
