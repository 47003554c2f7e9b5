"""`dogwatch ls`: the jobs, one line each."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence
    from typing import Any

HELP = "list the jobs that have not ended"
EXAMPLES = ("dogwatch ls --all",)
# The one verb that must be quick: when it is given nothing but these, no parser is made.
FLAGS = ("--all", "--json")


def arguments(parser: ArgumentParser) -> None:
    from dogwatch.cli.out import json_flag

    parser.add_argument("--all", action="store_true", help="list the ended ones too")
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.cli import out
    from dogwatch.clock import Clock
    from dogwatch.desk import ask

    with assemble.store(readonly=True) as store:
        if args.json:
            out.emit(ask.listing(store, everything=args.all))
            return 0
        jobs = ask.brief(store, everything=args.all)
        watched, unheard = ask.watched(store), ask.unheard(store)
    if jobs:
        now = Clock().now()
        for line in fitting([_HEAD, *(_row(job, now) for job in jobs)], out.width()):
            print(line)
    else:
        rest = "" if args.all else " that has not ended; --all lists the rest"
        out.say(f"nothing is being watched{rest}")
    if not watched and any(job["state"] != "ended" for job in jobs):
        out.say("nobody is watching; `dogwatch daemon` does, `dogwatch patrol` looks once")
    if unheard:
        from dogwatch.text import plain

        out.say(f"alerts do not arrive ({plain(', '.join(unheard), 120)}); `dogwatch alerts` says why")
    return 0


_HEAD = ("REF", "NAME", "STATE", "PROGRESS", "LEFT", "PROVED", "FINDINGS")


def fitting(rows: Sequence[tuple[str, ...]], width: int | None) -> list[str]:
    """The lines of the list. On a terminal that is too narrow for them the names have to do, where each is one job's:
    every verb takes a name as well as a ref."""
    from dogwatch.cli import out

    lines = out.table(rows, None)
    if width is None or max(map(out.cells, lines)) <= width:
        return lines
    names = [row[1] for row in rows]
    distinct = len(set(names)) == len(names) and all(names)
    return out.table([row[1:] for row in rows] if distinct else rows, width)


def _row(job: dict[str, Any], now: float) -> tuple[str, ...]:
    from dogwatch.text import plain
    from dogwatch.tui import words

    running = job["state"] == "running"
    state = (job["outcome"] or job["state"] or "not looked at").replace("_", " ")
    if running and job["verdict"] not in (None, "working"):
        state = f"{state}, {job['verdict']}"
    far = words.percent(job["fraction"]) if job["fraction"] is not None else words.count(job["step"])
    return (
        plain(job["ref"], 80),
        plain(job["name"], 40),
        state,
        far if job["step"] is not None else "",
        _left(job) if running else "",
        "never" if job["proved_at"] is None else f"{words.span(max(0.0, now - job['proved_at']))} ago",
        f"{job['findings']} ({job['worst']})" if job["findings"] else "",
    )


def _left(job: dict[str, Any]) -> str:
    """The time left, or in few words why there is no estimate."""
    from dogwatch.tui import words

    if job["remaining_seconds"] is not None:
        return words.roughly(job["remaining_seconds"])
    return words.short_reason(job["no_eta_reason"])
