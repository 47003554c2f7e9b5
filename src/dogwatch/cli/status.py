"""`dogwatch status`: everything known of one job, whether it is named or only meant."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from dogwatch.cli.out import JOB, UNWATCHED, emit, json_flag, lay_out, say
from dogwatch.cli.poll_first import freshen, no_poll_flag
from dogwatch.errors import COULD_NOT_POLL, FINE, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dogwatch.api.which_job import Candidate, WhichJob
    from dogwatch.assemble import Store
    from dogwatch.clock import Clock
    from dogwatch.wire.documents.job import JobDocument
    from dogwatch.wire.documents.watch import WhichDocument

ABOUT = "Show everything known about one job. Without a name, pick the most likely job and say why."
EXAMPLES = (
    "dogwatch status train",
    "dogwatch status",
    "dogwatch status train --json",
)
DETAILS = """\
Without a name it searches in this order: the registry of this directory (.claude/active_jobs.json), watched jobs, \
recent evaluation runs (nel, inspect), your queued jobs on each host, launcher experiments (NeMo-Run, srtctl). If \
several jobs fit, it asks which one; without a terminal it lists them."""
EXIT_CODES = {
    0: "shown",
    2: "several jobs fit, and there is no terminal to ask",
    3: "no job found, and a host is unreachable",
    4: "no job of that name",
}
RECENT, MOST_NOTES = 8, 5


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="JOB", help=f"{JOB}, or words of its name")
    parser.add_argument("--dir", default=".", metavar="DIR", help="directory to search in (default: the current one)")
    no_poll_flag(parser)
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import queries
    from dogwatch.clock import Clock

    clock = Clock()
    with assemble.store(readonly=True) as store:
        if args.words:
            refs = [queries.find(store, args.words, say)]
            _freshen(store, refs, args)
            return _show(store, clock, queries.documents(store, refs), args.json, {})
        return _which_job(store, clock, args)


def _freshen(store: Store, refs: Sequence[str], args: Namespace) -> None:
    """Poll the places of jobs that have not ended, unless that is not wanted."""
    from dogwatch.api import queries

    jobs = [] if args.no_poll else queries.documents(store, refs)
    if places := [job["place"] for job in jobs if job["state"] != "ended"]:
        freshen(store, places)


def _which_job(store: Store, clock: Clock, args: Namespace) -> int:
    import os

    from dogwatch import assemble
    from dogwatch.api import which_job

    def ways(place: Any) -> Any:
        return assemble.transport(place, clock)

    found = which_job.Search(store, clock, ways, args.dir, os.environ).which_job()
    chosen = found.chosen
    _remark(found)
    if chosen is None and found.fits and not args.json:
        chosen = _ask(found.fits)
    if chosen is None:
        return _undecided(store, clock, found, args.json)
    if found.chosen is not None:
        say(f"{chosen.title}: {found.why}")
    _freshen(store, chosen.refs, args)
    jobs, unreachable = which_job.documents(store, clock, ways, chosen)
    found.unreachable |= unreachable
    for place, why in unreachable.items():
        say(f"{place} is unreachable: {why}")
    code = _show(store, clock, jobs, args.json, _told(found, chosen))
    if not jobs and not args.json:
        print(f"{chosen.title}: {chosen.said}" + (f" ({chosen.path})" if chosen.path else ""))
    if chosen.note:
        say(chosen.note)
    for job in chosen.jobs if not args.json else ():
        if job.place != "here":
            say(f"{job.ref} is not watched; `dogwatch add {job.source} {job.id} --host {job.place}` watches it")
    return COULD_NOT_POLL if unreachable else code


def _undecided(store: Store, clock: Clock, found: WhichJob, json: bool) -> int:
    """Several fit, or none does."""
    from dogwatch.api import queries

    if json:
        known = queries.documents(store, [ref for one in found.fits for ref in one.refs])
        _show(store, clock, known, True, _told(found, None))
    elif found.fits:
        for one in found.fits:
            print(_line(one))
    if found.fits:
        named = [ref for one in found.fits for ref in one.refs]
        say(f"{len(found.fits)} jobs fit; choose one" + (f", as in: dogwatch status {named[0]}" if named else ""))
        return USAGE
    say("no job found that has not ended; list all: dogwatch ls --all")
    return COULD_NOT_POLL if found.unreachable else FINE


def _ask(fits: list[Candidate]) -> Candidate | None:
    """A number typed at a terminal; without one, nobody is asked and nothing is chosen."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    for number, one in enumerate(fits, 1):
        print(f"{number:>3}  {_line(one)}", file=sys.stderr)
    print(f"which one? (1 to {len(fits)}) ", end="", file=sys.stderr, flush=True)
    given = sys.stdin.readline().strip()
    return fits[int(given) - 1] if given.isdecimal() and 1 <= int(given) <= len(fits) else None


def _line(one: Candidate) -> str:
    from dogwatch.text import plain

    refs = ", ".join(plain(ref, 80) for ref in one.refs[:4]) + (" …" if len(one.refs) > 4 else "")
    return "  ".join(part for part in (refs, one.title, one.said, one.note) if part)


def _remark(found: WhichJob) -> None:
    from dogwatch.text import plain

    for note in found.notes:
        say(note)
    for place, why in found.unreachable.items():
        say(f"{place} is unreachable: {plain(why, 300)}")


def _told(found: WhichJob, chosen: Candidate | None) -> WhichDocument:
    return {
        "chosen": None if chosen is None else {**chosen.document(), "why": found.why},
        "candidates": [one.document() for one in found.fits] if chosen is None else [],
        "unreachable": [{"place": place, "why": why} for place, why in found.unreachable.items()],
    }


def _show(store: Store, clock: Clock, jobs: list[JobDocument], json: bool, more: WhichDocument) -> int:
    from dogwatch.actions.transfer.of_job import last_of
    from dogwatch.api import job_note, queries
    from dogwatch.text import plain
    from dogwatch.tui.details import details, transfer
    from dogwatch.tui.words import clock as clock_of

    watch, places = queries.watching(store), queries.listing_places(store)
    fetched = last_of(store, [job["ref"] for job in jobs])
    if json:
        emit({"jobs": jobs, "places": places, "watch": watch, "transfers": fetched, **more})
        return FINE
    now = clock.now()
    for job in jobs:
        recent = queries.events(store, limit=RECENT, ref=job["ref"])
        lay_out(details(job, recent, now, job_note.of(store, job["ref"])[-MOST_NOTES:]))
        lay_out([f"  fetch  {transfer(one, now)}" for one in fetched if one["ref"] == job["ref"]])
    known = {job["ref"] for job in queries.documents(store, [job["ref"] for job in jobs])}
    if not watch["alive"] and any(job["state"] != "ended" for job in jobs if job["ref"] in known):
        say(UNWATCHED)
    for place in places:
        if place["unreachable_since"]:
            since = clock_of(place["unreachable_since"], now)
            say(
                f"{plain(place['name'], 40)} is unreachable since {since}: {plain(place['unreachable_why'] or '', 300)}"
            )
    return FINE
