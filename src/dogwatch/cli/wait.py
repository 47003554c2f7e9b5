"""`dogwatch wait`: return when something has become true of jobs."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dogwatch.cli.out import JOB, emit, json_flag, say
from dogwatch.errors import ENDED_BADLY, FINE, TIMED_OUT

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import JobDocument

ABOUT = "Wait until jobs end, start or change. The exit code says how they ended."
EXAMPLES = (
    "dogwatch wait train && ./eval.sh",
    "dogwatch wait train --timeout 8h",
    "dogwatch wait train eval --for running",
)
DETAILS = "If no watcher is running, `wait` watches. It also waits until the files of an ended job are checked."
EXIT_CODES = {
    0: "all jobs completed",
    1: "a job failed, is incomplete, or can never start",
    4: "no such job",
    124: "the timeout came first",
}
PAUSE = 0.2


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("refs", nargs="+", metavar="JOB", help=JOB)
    parser.add_argument(
        "--for",
        dest="what",
        choices=["ended", "running", "change"],
        default="ended",
        help="what to wait for",
    )
    parser.add_argument("--timeout", metavar="TIME", help="stop waiting after this long, e.g. 90s, 15m, 2h")
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import queries
    from dogwatch.cli.leaving import leaving
    from dogwatch.clock import Clock
    from dogwatch.config import duration

    clock = Clock()
    silence_limit = float("inf") if args.timeout is None else duration(args.timeout, "--timeout")
    limit = clock.mono() + silence_limit
    with assemble.store(readonly=True) as store:
        refs = queries.find_each(store, args.refs, say)
        first = queries.documents(store, refs)
        terminal = assemble.terminal(shown=True)
        with (
            leaving(store, clock),
            assemble.background_watch(
                store.location, clock, who="wait", terminal=terminal, complain=say
            ) as background_watch,
        ):
            reached = _until(
                lambda: queries.still_watched(store, refs), first, args.what, background_watch.mind, clock, limit
            )
        jobs = queries.still_watched(store, refs)
    if args.json:
        emit({"jobs": jobs, "timed_out": not reached})
    else:
        _tell(jobs, clock.now())
    never = [] if args.what == "change" else [job for job in jobs if never_starts(job)]
    if never:
        from dogwatch.text import plain

        say(f"stopped waiting for {plain(never[0]['name'], 80)}: {plain(never_starts(never[0]), 300)}")
        return ENDED_BADLY
    if not reached:
        from dogwatch.tui.words import span

        say(f"timed out after {span(silence_limit)}")
        return TIMED_OUT
    over = [job for job in jobs if job["state"] == "ended"]
    return FINE if queries.ended_well(over) else ENDED_BADLY


def _until(
    fetch: Callable[[], list[JobDocument]],
    first: list[JobDocument],
    what: str,
    mind: Callable[[], None],
    clock: Any,
    limit: float,
) -> bool:
    """True once `what` holds, False when the limit came first."""
    told: set[str] = set()
    while True:
        jobs = fetch()
        _warn(jobs, told, clock.now())
        if _holds(what, first, jobs):
            return True
        if clock.mono() >= limit:
            return False
        mind()
        time.sleep(PAUSE)


def _warn(jobs: list[JobDocument], told: set[str], now: float) -> None:
    """Say once of each job that its host has become unreachable: waiting goes on, but nothing is known meanwhile."""
    unreachable_hosts = {job["ref"] for job in jobs if job["unreachable"]}
    told &= unreachable_hosts
    for job in jobs:
        if job["ref"] in unreachable_hosts - told:
            from dogwatch.text import plain
            from dogwatch.tui.phrases import unreachable

            say(f"{plain(job['name'], 80)}: {unreachable(job, now)}; still waiting")
    told |= unreachable_hosts


def _holds(what: str, first: list[JobDocument], jobs: list[JobDocument]) -> bool:
    if what == "change":
        return [_mark(job) for job in jobs] != [_mark(job) for job in first]
    from dogwatch.api import queries

    return any(map(never_starts, jobs)) or all(
        queries.is_over(job) or (what == "running" and job["state"] == "running") for job in jobs
    )


def never_starts(job: JobDocument) -> str:
    """Why a waiting job will never run as it is, in words; empty where it may."""
    if job["state"] != "waiting":
        return ""
    rules = ("cannot_start", "launch_failed")
    found = [one for one in job["findings"] if one["rule"] in rules and one["level"] == "critical"]
    return str(found[0]["text"]) if found else ""


def _mark(job: JobDocument) -> tuple[Any, ...]:
    findings = [(finding["rule"], finding["text"]) for finding in job["findings"]]
    return job["state"], job["outcome"], job["attempts"], findings


def _tell(jobs: list[JobDocument], now: float) -> None:
    from dogwatch.text import plain
    from dogwatch.tui.phrases import state_as_known

    for job in jobs:
        state = state_as_known(job, now)
        why = plain(job["reason"] or "", 300) if job["state"] == "ended" else ""
        told = f": {why}" if why and why not in state else ""
        against = [plain(one["text"], 300) for one in job["findings"] if one["rule"] == "contradiction"]
        but = "".join(f"; BUT {text}" for text in against)
        print(f"{_called(job, jobs)}  {state}{told}{but}")


def _called(job: JobDocument, jobs: list[JobDocument]) -> str:
    """Its name, and its ref too where another job of these has the same name."""
    from dogwatch.text import plain

    shared = sum(other["name"] == job["name"] for other in jobs) > 1
    return plain(job["name"], 80) + (f" ({plain(job['ref'], 80)})" if shared else "")
