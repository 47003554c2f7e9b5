"""`dogwatch keep`: let the system look now and then, also after logout and reboot, until nothing is left."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from dogwatch.cli.out import emit, json_flag, say
from dogwatch.errors import FINE, USAGE, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dogwatch.hands.keep import Plan

HELP = "let systemd or cron look every so often, also after logout and reboot, until nothing is left to watch"
EXAMPLES = (
    "dogwatch keep on --every 15m",
    "dogwatch keep status",
)
EPILOG = """\
`keep on` shows what it would make (a systemd timer of yours, or three lines in your crontab) and makes it only when
told so by --yes or by typing yes. It is made once; it removes itself when nothing is left to watch, or by `keep off`.
Each look also brings the agents' registries up to date that `sync` or `add --registry` has used.
What a look finds is written to keep.log in the home, and stays news to your own next patrol; `keep tick` is what
gets started."""
READER = "keep"


def arguments(parser: ArgumentParser) -> None:
    actions = ("on", "off", "status", "tick")
    parser.add_argument("what", choices=actions, metavar=f"{{{','.join(actions)}}}", help="what to do")
    parser.add_argument("--every", default="15m", metavar="S", help="how often to look (default: 15m)")
    parser.add_argument("--yes", action="store_true", help="make it without asking")
    parser.add_argument("--print", action="store_true", help="print the command to start, and make nothing")
    json_flag(parser)


def run(args: Namespace) -> int:
    verbs = {"on": _on, "off": _off, "status": _status, "tick": _tick}
    return verbs[args.what](args)


def _on(args: Namespace) -> int:
    import shlex

    from dogwatch import assemble
    from dogwatch.config import duration
    from dogwatch.desk import ask
    from dogwatch.hands import keep

    home, every = assemble.home(), duration(args.every, "--every")
    if args.print:
        print(shlex.join(keep.command(home)))
        return FINE
    plan, there = keep.plan(home, every), keep.found(home)
    if there is not None and (there.by, there.every) == (plan.by, plan.every):
        say(f"it is on already, by {there.by}, every {keep.span(there.every)}")
        return _report(args, home)
    with assemble.store() as store:
        if not ask.brief(store):
            raise UsageError("nothing is being watched, so there is nothing to keep watching; add a job first")
    _show(plan, every, replaces=there is not None)
    if not args.yes and not _said_yes():
        return USAGE
    keep.install(plan)
    say(f"it is on, by {plan.by}, every {keep.span(plan.every)}; `dogwatch keep off` ends it")
    return _report(args, home)


def _show(plan: Plan, every: float, replaces: bool) -> None:
    from dogwatch.hands import keep

    say(f"this would be made{' in place of what is there' if replaces else ''}:")
    print(plan.shown().rstrip(), file=sys.stderr)
    if plan.every != every:
        say(f"cron cannot say every {keep.span(every)}; every {keep.span(plan.every)} is the nearest below")
    if plan.by == "cron" and keep.cron_runs() is False:
        say("no cron daemon is running here: nothing will happen until one is")


def _said_yes() -> bool:
    """A word typed at a terminal; without one, nobody is asked and nothing is done."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        say("nothing was made; add --yes to have it made without being asked")
        return False
    print("type yes to have it made: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip() == "yes":
        return True
    say("nothing was made")
    return False


def _off(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.hands import keep

    home = assemble.home()
    gone = keep.remove(home)
    say("it was not on" if gone is None else f"removed what {gone.by} had; jobs and their history stay")
    if gone is not None and not args.json:
        print(gone.text.rstrip())
    return _report(args, home) if args.json else FINE


def _status(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.hands import keep

    home = assemble.home()
    if args.json:
        return _report(args, home)
    told = _document(home)
    if not told["on"]:
        print("off")
    else:
        print(f"on, by {told['by']}, every {keep.span(told['every_seconds'])}")
    if told["last_run"] is None:
        print("it has never run")
    else:
        from dogwatch.clock import Clock
        from dogwatch.tui.words import clock

        last = clock(told["last_run"], Clock().now())
        print(f"last run {last}, exit code {told['last_code']}; {told['log']}")
    if told["on"] and told["cron_runs"] is False:
        say("no cron daemon is running here: nothing will happen until one is")
    return FINE


def _tick(args: Namespace) -> int:
    """One patrol, written to the log; then the end of all this, if nothing is left to watch."""
    import os

    from dogwatch import assemble
    from dogwatch.cli import sync
    from dogwatch.cli.main import main
    from dogwatch.clock import Clock
    from dogwatch.hands import keep

    given = os.environ.get("DOGWATCH_HOME", "")
    if os.path.isabs(given) and not os.path.isdir(given):
        keep.remove(os.path.abspath(given))
        return FINE
    home = assemble.home()
    with keep.alone(home) as alone:
        if not alone:
            return FINE
        keep.write_to_log(home)
        with assemble.store() as store:
            sync.adopt_remembered(store, Clock())
        code = main(["patrol", "--heartbeat", "--reader", READER])
        with assemble.store() as store:
            sync.update_remembered(store, Clock())
        sys.stdout.flush()
        keep.ran(home, Clock().now(), code)
        if keep.remove(home, unless=_something_left) is not None:
            say("nothing is left to watch, so this was the last look; `dogwatch keep on` begins anew")
    return code


def _something_left() -> bool:
    from dogwatch import assemble
    from dogwatch.desk import ask, unsent

    with assemble.store(readonly=True) as store:
        return bool(ask.brief(store)) or unsent.waiting(store)


def _report(args: Namespace, home: str) -> int:
    if args.json:
        emit(_document(home))
    return FINE


def _document(home: str) -> dict[str, Any]:
    import os

    from dogwatch.clock import stamp
    from dogwatch.hands import keep

    there, last = keep.found(home), keep.last_run(home)
    return {
        "on": there is not None,
        "by": None if there is None else there.by,
        "every_seconds": None if there is None else there.every,
        "made": None if there is None else there.text,
        "last_run": None if last is None else stamp(last[0]),
        "last_code": None if last is None else last[1],
        "log": os.path.join(home, keep.LOG),
        "cron_runs": keep.cron_runs() if there is not None and there.by == "cron" else None,
    }
