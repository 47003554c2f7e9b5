"""`dogwatch service`: let the system look now and then, also after logout and reboot, until nothing is left."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from dogwatch.cli.out import emit, json_flag, say
from dogwatch.errors import FINE, USAGE, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dogwatch.actions.service import Plan
    from dogwatch.wire.documents.commands import ServiceDocument

HELP = "let systemd or cron look every so often, also after logout and reboot, until nothing is left to watch"
EXAMPLES = (
    "dogwatch service on --every 15m",
    "dogwatch service status",
)
EPILOG = """\
`service on` shows what it would make (a systemd timer of yours, or three lines in your crontab) and makes it only when
told so by --yes or by typing yes. It is made once. It removes itself when nothing is left to watch;
`service off` removes it at once.
Each poll also brings the agents' registries up to date that `sync` or `add --registry` has used.
What a poll finds is written to service.log in the home, and stays news to your own next patrol; `service tick` is what
gets started."""
READER = "service"


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
    from dogwatch.actions import service
    from dogwatch.api import queries
    from dogwatch.config import duration

    home, every = assemble.home(), duration(args.every, "--every")
    if args.print:
        print(shlex.join(service.command(home)))
        return FINE
    plan, there = service.plan(home, every), service.found(home)
    if there is not None and (there.by, there.every) == (plan.by, plan.every):
        say(f"it is on already, by {there.by}, every {service.span(there.every)}")
        return _report(args, home)
    with assemble.store() as store:
        if not queries.brief(store):
            raise UsageError("nothing is being watched, so there is nothing to keep watching; add a job first")
    _show(plan, every, replaces=there is not None)
    if not args.yes and not _said_yes():
        return USAGE
    service.install(plan)
    say(f"it is on, by {plan.by}, every {service.span(plan.every)}; `dogwatch service off` ends it")
    return _report(args, home)


def _show(plan: Plan, every: float, replaces: bool) -> None:
    from dogwatch.actions import service

    say(f"this would be made{' in place of what is there' if replaces else ''}:")
    print(plan.shown().rstrip(), file=sys.stderr)
    if plan.every != every:
        say(f"cron cannot say every {service.span(every)}; every {service.span(plan.every)} is the nearest below")
    if plan.by == "cron" and service.cron_runs() is False:
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
    from dogwatch.actions import service

    home = assemble.home()
    gone = service.remove(home)
    say("it was not on" if gone is None else f"removed what {gone.by} had; jobs and their history stay")
    if gone is not None and not args.json:
        print(gone.text.rstrip())
    return _report(args, home) if args.json else FINE


def _status(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.actions import service

    home = assemble.home()
    if args.json:
        return _report(args, home)
    told = _document(home)
    if not told["on"]:
        print("off")
    else:
        print(f"on, by {told['by']}, every {service.span(told['every_seconds'])}")
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
    from dogwatch.actions import service
    from dogwatch.cli import sync
    from dogwatch.cli.main import main
    from dogwatch.clock import Clock

    given = os.environ.get("DOGWATCH_HOME", "")
    if os.path.isabs(given) and not os.path.isdir(given):
        service.remove(os.path.abspath(given))
        return FINE
    home = assemble.home()
    with service.alone(home) as alone:
        if not alone:
            return FINE
        service.write_to_log(home)
        with assemble.store() as store:
            sync.adopt_remembered(store, Clock())
        code = main(["patrol", "--heartbeat", "--reader", READER])
        with assemble.store() as store:
            sync.update_remembered(store, Clock())
        sys.stdout.flush()
        service.ran(home, Clock().now(), code)
        if service.remove(home, unless=_something_left) is not None:
            say("nothing is left to watch, so this was the last poll; `dogwatch service on` begins anew")
    return code


def _something_left() -> bool:
    from dogwatch import assemble
    from dogwatch.api import queries, unsent

    with assemble.store(readonly=True) as store:
        return bool(queries.brief(store)) or unsent.waiting(store)


def _report(args: Namespace, home: str) -> int:
    if args.json:
        emit(_document(home))
    return FINE


def _document(home: str) -> ServiceDocument:
    import os

    from dogwatch.actions import service
    from dogwatch.clock import stamp

    there, last = service.found(home), service.last_run(home)
    return {
        "on": there is not None,
        "by": None if there is None else there.by,
        "every_seconds": None if there is None else there.every,
        "made": None if there is None else there.text,
        "last_run": None if last is None else stamp(last[0]),
        "last_code": None if last is None else last[1],
        "log": os.path.join(home, service.LOG),
        "cron_runs": service.cron_runs() if there is not None and there.by == "cron" else None,
    }
