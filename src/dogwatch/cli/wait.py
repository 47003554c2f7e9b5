"""`dogwatch wait`: return when something has become true of jobs, or say why not."""

from __future__ import annotations

import select
import shlex
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dogwatch.cli.out import JOB, emit, json_flag, offer, say
from dogwatch.errors import INTERRUPTED, REPLACED, TIMED_OUT

if TYPE_CHECKING:
    from dogwatch.api.conditions import Condition
    from dogwatch.api.waiters import Registered
    from dogwatch.api.waiting import Waiting
    from dogwatch.assemble import Store
    from dogwatch.clock import Clock
    from dogwatch.transport.interface import Transport
    from dogwatch.wire.documents.job import JobDocument

ABOUT = "Wait until jobs end, start, change or get so far. The exit code and one line say why it returned."
EXAMPLES = (
    "dogwatch wait train && ./eval.sh",
    "dogwatch wait train --timeout 8h",
    "dogwatch wait train eval --for running",
    "dogwatch wait train --for progress:50% --json",
    "dogwatch wait train --for marker:/data/run7/DONE",
    "dogwatch wait train --consumer ci",
)
DETAILS = """\
If no watcher is running, `wait` watches. It also waits until the files of an ended job are checked.

With --consumer there is one waiter for each job and consumer: a new one ends the one before, which exits with code 5. \
`dogwatch waiters` lists all that wait."""
EXIT_CODES = {
    0: "it has come: all jobs completed, or what --for names",
    1: "a job failed, is incomplete, can never start, or ended before that",
    2: "no such condition or stage",
    3: "the store or the host could not be read",
    4: "no such job",
    5: "a newer waiter of this consumer, or `dogwatch waiters rm`, ended it",
    124: "the timeout came first",
    130: "a signal ended it (SIGINT, SIGTERM, SIGHUP)",
    141: "the reader of the output is gone",
}
PAUSE = 0.2
LONGEST, LONGEST_OF_CONSUMER = "24h", "55m"
BROKEN = select.POLLERR | select.POLLHUP


class Ending(NamedTuple):
    """How a wait ended. `why` is a sentence; nothing where the state of the jobs says it all."""

    code: int
    why: str
    reached: bool = False
    timed_out: bool = False
    name_it: bool = False  # whether the sentence stands beside the job that decided it
    ref: str = ""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("refs", nargs="+", metavar="JOB", help=JOB)
    what = parser.add_argument(
        "--for",
        dest="what",
        metavar="WHAT",
        default="ended",
        help="ended, running, change, stage:NAME, progress:PERCENT, marker:PATH (a file on the job's host) "
        "(default: ended)",
    )
    offer(what, "ended", "running", "change")
    parser.add_argument(
        "--timeout",
        metavar="TIME",
        help="stop waiting after this long, e.g. 90s, 15m, 2h (default: 24h; with --consumer 55m)",
    )
    parser.add_argument(
        "--consumer", metavar="NAME", help="who waits: a new waiter of this name replaces the one before it"
    )
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import conditions, queries
    from dogwatch.api.waiting import Waiting
    from dogwatch.clock import Clock
    from dogwatch.config import duration
    from dogwatch.text import named

    clock, wanted = Clock(), conditions.condition(args.what)
    if args.consumer is not None:
        args.consumer = named(args.consumer, "--consumer name")
    limit = duration(args.timeout or (LONGEST_OF_CONSUMER if args.consumer else LONGEST), "--timeout")
    with assemble.store(readonly=True) as store:

        def way(name: str) -> Transport:
            return assemble.transport(queries.place(store, name), clock)

        refs = queries.find_each(store, args.refs, say)
        waiting = Waiting(store, refs, wanted, way)
        try:
            ending, waiter = _wait(store, clock, waiting, refs, wanted, args.consumer, limit)
        except KeyboardInterrupt as stop:
            ending, waiter = Ending(INTERRUPTED, f"stopped by {str(stop) or 'SIGINT'}"), None
        except BrokenPipeError:
            say(f"the reader of the output is gone; stopped waiting{_again(args)}")
            raise
    if ending.timed_out:
        ending = ending._replace(why=_timed_out(limit, args))
    try:
        _print(ending, waiting.jobs, waiter, clock.now(), args)
    except BrokenPipeError:
        say(f"the reader of the output is gone; {ending.why or 'it ended'}")
        raise
    return ending.code


def _wait(
    store: Store,
    clock: Clock,
    waiting: Waiting,
    refs: Sequence[str],
    wanted: Condition,
    consumer: str | None,
    limit: float,
) -> tuple[Ending, str | None]:
    """How it ended, and the id under which this waiter was listed."""
    from dogwatch import assemble
    from dogwatch.api import waiters
    from dogwatch.cli.leaving import leaving

    now, until = clock.now(), clock.mono() + limit
    with (
        leaving(store, clock),
        waiters.registered(store, refs, waiting.places, wanted, consumer, now, now + limit, say) as registered,
    ):
        for other in registered.replaced:
            say(f"replaces waiter {other.id} (pid {other.pid}) of {consumer}")
        terminal = assemble.terminal(shown=True)
        with assemble.background_watch(
            store.location, clock, who="wait", terminal=terminal, complain=say
        ) as background_watch:
            ending = _until(waiting, registered, background_watch.mind, clock, until)
        return ending, registered.id


def _until(waiting: Waiting, registered: Registered, mind: Callable[[], None], clock: Clock, until: float) -> Ending:
    """Look at the store until the wait is over, its time is, somebody ends it, or nobody listens any more."""
    told: set[str] = set()
    while True:
        verdict = waiting.verdict()
        if verdict is not None:
            name_it = not verdict.plain_state
            return Ending(verdict.code, verdict.why, verdict.reached, name_it=name_it, ref=verdict.job)
        _warn(waiting.jobs, told, clock.now())
        if why := registered.asked_to_end():
            return Ending(REPLACED, f"stopped waiting: {why}")
        if clock.mono() >= until:
            return Ending(TIMED_OUT, "", timed_out=True)
        if _reader_is_gone():
            raise BrokenPipeError
        mind()
        time.sleep(PAUSE)


def _reader_is_gone() -> bool:
    """Whether stdout leads to a pipe that nobody reads; a wait for nobody would go on until its time is over."""
    poll = select.poll()
    poll.register(1, 0)
    return any(event & BROKEN for _, event in poll.poll(0))


def _warn(jobs: Sequence[JobDocument], told: set[str], now: float) -> None:
    """Say once of each job that its host has become unreachable: waiting goes on, but nothing is known meanwhile."""
    unreachable_hosts = {job["ref"] for job in jobs if job["unreachable"]}
    told &= unreachable_hosts
    for job in jobs:
        if job["ref"] in unreachable_hosts - told:
            from dogwatch.text import plain
            from dogwatch.tui.phrases import unreachable

            say(f"{plain(job['name'], 80)}: {unreachable(job, now)}; still waiting")
    told |= unreachable_hosts


def _timed_out(limit: float, args: Namespace) -> str:
    from dogwatch.tui.words import span

    default = "" if args.timeout else " (the default; --timeout sets another)"
    return f"timed out after {span(limit)}{default}"


def _again(args: Namespace) -> str:
    """How to go on waiting for the same."""
    words = [*args.refs, *([] if args.what == "ended" else ["--for", args.what])]
    words += [] if args.timeout is None else ["--timeout", args.timeout]
    words += [] if args.consumer is None else ["--consumer", args.consumer]
    return f"; wait again: dogwatch wait {shlex.join(words)}"


def _print(ending: Ending, jobs: Sequence[JobDocument], waiter: str | None, now: float, args: Namespace) -> None:
    """The jobs on stdout, with what decided it; on stderr why a wait ended without that."""
    if args.json:
        why = ending.why or _states(jobs, now)
        document = {"jobs": jobs, "timed_out": ending.timed_out, "reached": ending.reached, "why": why}
        emit({**document, "waiter": waiter})
    else:
        _tell(jobs, ending, now)
        sys.stdout.flush()
    if ending.ref and ending.name_it and not ending.reached:
        say(f"stopped waiting for {_called(_of(jobs, ending.ref), jobs)}: {ending.why}")
    elif not ending.ref:
        goes_on = any(job["state"] != "ended" for job in jobs)
        say(ending.why + (_again(args) if goes_on else ""))


def _of(jobs: Sequence[JobDocument], ref: str) -> JobDocument:
    return next(job for job in jobs if job["ref"] == ref)


def _states(jobs: Sequence[JobDocument], now: float) -> str:
    from dogwatch.tui.phrases import state_as_known

    return "; ".join(f"{_called(job, jobs)}: {state_as_known(job, now)}" for job in jobs)


def _tell(jobs: Sequence[JobDocument], ending: Ending, now: float) -> None:
    from dogwatch.text import plain
    from dogwatch.tui.phrases import state_as_known

    for job in jobs:
        state = state_as_known(job, now)
        why = plain(job["reason"] or "", 300) if job["state"] == "ended" else ""
        told = f": {why}" if why and why not in state else ""
        told += f"; {ending.why}" if ending.name_it and ending.reached and job["ref"] == ending.ref else ""
        against = [plain(one["text"], 300) for one in job["findings"] if one["rule"] == "contradiction"]
        but = "".join(f"; BUT {text}" for text in against)
        print(f"{_called(job, jobs)}  {state}{told}{but}")


def _called(job: JobDocument, jobs: Sequence[JobDocument]) -> str:
    """Its name, and its ref too where another job of these has the same name."""
    from dogwatch.text import plain

    shared = sum(other["name"] == job["name"] for other in jobs) > 1
    return plain(job["name"], 80) + (f" ({plain(job['ref'], 80)})" if shared else "")
