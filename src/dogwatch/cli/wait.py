"""`dogwatch wait`: return when something has become true of jobs."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any

from dogwatch.cli.out import emit, json_flag, say
from dogwatch.errors import ENDED_BADLY, FINE, TIMED_OUT

HELP = "wait until jobs have ended (or run, or change) and tell how they ended by the exit code"
EXAMPLES = (
    "dogwatch wait train --timeout 8h",
    "dogwatch wait train eval --for running",
)
EPILOG = """\
exit codes: 0 all ended well, 1 one ended badly, left less than was expected of it or can never start, 124 the timeout
came first.
It watches by itself if nobody does, and waits for the files of a job that has ended to be checked."""
PAUSE = 0.2


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("refs", nargs="+", metavar="REF", help="a ref, a name or a unique prefix")
    parser.add_argument(
        "--for",
        dest="what",
        choices=["ended", "running", "change"],
        default="ended",
        help="what to wait for (default: ended)",
    )
    parser.add_argument("--timeout", metavar="S", help="give up after this long (90, 90s, 15m, 2h)")
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.cli.leaving import leaving
    from dogwatch.clock import Clock
    from dogwatch.config import duration
    from dogwatch.desk import ask

    clock = Clock()
    patience = float("inf") if args.timeout is None else duration(args.timeout, "--timeout")
    limit = clock.mono() + patience
    with assemble.store(readonly=True) as store:
        refs = ask.find_each(store, args.refs, say)
        first = ask.documents(store, refs)
        channels = [assemble.terminal(shown=True)]
        with (
            leaving(store, clock),
            assemble.eyes(store.home, clock, who="wait", channels=channels, complain=say) as eyes,
        ):
            reached = _until(lambda: ask.documents(store, refs), first, args.what, eyes.mind, clock, limit)
        jobs = ask.documents(store, refs)
    if args.json:
        emit({"jobs": jobs, "timed_out": not reached})
    else:
        _tell(jobs, clock.now())
    never = [] if args.what == "change" else [job for job in jobs if never_starts(job)]
    if never:
        from dogwatch.text import plain

        say(f"waiting for {plain(never[0]['name'], 80)} is of no use: {plain(never_starts(never[0]), 300)}")
        return ENDED_BADLY
    if not reached:
        from dogwatch.tui.words import span

        say(f"gave up waiting after {span(patience)}")
        return TIMED_OUT
    over = [job for job in jobs if job["state"] == "ended"]
    return FINE if ask.ended_well(over) else ENDED_BADLY


def _until(
    fetch: Callable[[], list[dict[str, Any]]],
    first: list[dict[str, Any]],
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


def _warn(jobs: list[dict[str, Any]], told: set[str], now: float) -> None:
    """Say once of each job that its host has become unreachable: waiting goes on, but nothing is known meanwhile."""
    dark = {job["ref"] for job in jobs if job["unreachable"]}
    told &= dark
    for job in jobs:
        if job["ref"] in dark - told:
            from dogwatch.text import plain
            from dogwatch.tui.phrases import unreachable

            say(f"{plain(job['name'], 80)}: {unreachable(job, now)}; waiting goes on")
    told |= dark


def _holds(what: str, first: list[dict[str, Any]], jobs: list[dict[str, Any]]) -> bool:
    if what == "change":
        return [_mark(job) for job in jobs] != [_mark(job) for job in first]
    from dogwatch.desk import ask

    return any(map(never_starts, jobs)) or all(
        ask.is_over(job) or (what == "running" and job["state"] == "running") for job in jobs
    )


def never_starts(job: dict[str, Any]) -> str:
    """Why a waiting job will never run as it is, in words; empty where it may."""
    if job["state"] != "waiting":
        return ""
    rules = ("cannot_start", "launch_failed")
    found = [one for one in job["findings"] if one["rule"] in rules and one["level"] == "critical"]
    return str(found[0]["text"]) if found else ""


def _mark(job: dict[str, Any]) -> tuple[Any, ...]:
    findings = [(finding["rule"], finding["text"]) for finding in job["findings"]]
    return job["state"], job["outcome"], job["attempts"], findings


def _tell(jobs: list[dict[str, Any]], now: float) -> None:
    from dogwatch.text import plain
    from dogwatch.tui.phrases import state_as_known

    for job in jobs:
        why = job["reason"] if job["outcome"] in ("incomplete", "unknown", "completed") else ""
        told = f": {plain(why, 300)}" if why else ""
        against = [plain(one["text"], 300) for one in job["findings"] if one["rule"] == "contradiction"]
        but = "".join(f"; BUT {text}" for text in against)
        print(f"{plain(job['ref'], 80)}  {state_as_known(job, now)}{told}{but}")
