"""Showing: keep jobs in view until they have ended, on a live screen or as plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dogwatch import assemble
from dogwatch.api import queries
from dogwatch.cli.leaving import leaving
from dogwatch.cli.out import emit, say
from dogwatch.clock import Clock
from dogwatch.errors import ENDED_BADLY, FINE, INTERRUPTED
from dogwatch.tui.view import HINT, View

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import JobDocument, VerdictDocument
    from dogwatch.wire.documents.watch import EventDocument, ViewWatch

RECENT = 12
PAUSE = 0.5


def can_show() -> bool:
    """Whether there is a terminal for the live screen; without one the screen's library is not even loaded."""
    if not sys.stdout.isatty():
        return False
    from dogwatch.tui import live

    return live.can_show()


def show(
    refs: Sequence[str],
    clock: Clock,
    *,
    json: bool = False,
    every: float | None = None,
    who: str = "watch",
    log_file: str | None = None,
    hint: str = HINT,
) -> int:
    """Watch until every job has ended (or one has stalled for longer than its owner allows)."""
    screen = not json and can_show()
    with (
        assemble.store(readonly=True) as store,
        leaving(store, clock),
        assemble.background_watch(
            store.location,
            clock,
            who=who,
            terminal=assemble.terminal(shown=True),
            complain=None if screen else say,
            every=every,
            log_file=log_file,
        ) as background_watch,
    ):

        def fetch() -> View:
            background_watch.mind()
            jobs = queries.still_watched(store, refs)
            events = _recent(store, refs)
            seen = queries.watching(store)
            watch: ViewWatch = {
                "alive": seen["alive"],
                "who": seen["who"],
                "last_tick": seen["last_tick"],
                "ours": background_watch.ours,
            }
            return View(jobs, events, watch, queries.listing_places(store), hint)

        if not _shown(fetch, clock, screen, quiet=json):
            return INTERRUPTED  # the terminal went away, and with it whoever watched
        jobs = queries.still_watched(store, refs)
    if json:
        emit({"jobs": jobs})
    return FINE if queries.ended_well(jobs) else ENDED_BADLY


def _shown(fetch: Callable[[], View], clock: Clock, screen: bool, quiet: bool) -> bool:
    if screen:
        from dogwatch.tui import live

        return live.show(fetch, done, clock)
    _lines(fetch, clock, quiet)
    return True


def done(view: View) -> bool:
    """Whether there is nothing left to wait for: all ended, or given up as stalled or never launched."""
    return all(queries.is_over(job) or _given_up(job) for job in view.jobs)


def _given_up(job: JobDocument) -> bool:
    """A stall timeout or launch timeout that the owner set has passed. Being stalled by our own silence limit, which
    may be shorter, ends nobody's watch; in the monitor form, which promises an exit code, twice that does."""
    limit, verdict = job["expect"]["stall_timeout"], job["verdict"]
    if limit is None and verdict is not None:
        limit = _own_limit(job, verdict)
    silent = verdict["silent_seconds"] if verdict is not None and verdict["word"] == "stalled" else None
    stalled = limit is not None and silent is not None and silent >= limit
    unlaunched = job["state"] == "waiting" and any(f["rule"] == "launch_failed" for f in job["findings"])
    return stalled or unlaunched


def _own_limit(job: JobDocument, verdict: VerdictDocument) -> float | None:
    """The silence after which the monitor form gives up by itself: twice the job's own silence limit."""
    warning, silence_limit = job["expect"]["stall_warning"], verdict["silence_limit_seconds"]
    return None if warning is None or silence_limit is None else max(2 * silence_limit, warning)


def _recent(store: Any, refs: Sequence[str]) -> list[EventDocument]:
    only = refs[0] if len(refs) == 1 else None
    wanted = set(refs)
    found = queries.events(store, limit=RECENT if only else RECENT * 4, ref=only)
    return [event for event in found if event["ref"] is None or event["ref"] in wanted][-RECENT:]


def _lines(fetch: Callable[[], View], clock: Clock, quiet: bool) -> None:
    """Without a terminal: one line per fact, as it becomes known."""
    from dogwatch.tui.lines import lines

    before = None
    while True:
        view = fetch()
        for line in [] if quiet else lines(before, view, clock.now()):
            print(line, flush=True)
        if done(view):
            return
        before = view
        time.sleep(PAUSE)
