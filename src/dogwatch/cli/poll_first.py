"""Poll before stored facts are shown, if no watcher runs and the last poll is too old."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

    from dogwatch.assemble import Store

WAIT = 2.0


def no_poll_flag(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--no-poll",
        action="store_true",
        help="show stored data only; otherwise polls for up to 2 s if no watcher is running",
    )


def freshen(store: Store, places: Sequence[str] | None = None) -> None:
    """Poll the places (or all) with jobs whose last poll is older than their floor, unless a watcher does; wait at most
    WAIT seconds for all of them, and say which have not answered by then. A poll that takes longer ends by itself."""
    from dogwatch.api import queries
    from dogwatch.clock import Clock

    unpolled = queries.unpolled(store, Clock().now())
    due = {name: last for name, last in unpolled.items() if places is None or name in places}
    if not due or queries.watched(store):
        return
    from dogwatch import assemble

    late = assemble.poll(store, due, WAIT)
    if late:
        from dogwatch.cli.out import say
        from dogwatch.text import plain

        say(f"{plain(', '.join(late), 120)}: no answer within {WAIT:g} s; showing what was known before")
