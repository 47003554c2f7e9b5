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

ABOUT = "Poll in the background with a systemd timer or cron, also after logout and reboot, until every job has ended."
EXAMPLES = (
    "dogwatch service on",
    "dogwatch service on --every 5m --yes",
    "dogwatch service status",
)
DETAILS = """\
`service on` shows what it will install (a systemd user timer, or three lines in your crontab) and asks first. It \
removes itself when no job is left to watch. Every poll also updates the registry files that `sync` or \
`add --registry` used, and writes its news to service.log in the state directory."""
READER = "service"


def arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="what", required=True, metavar="COMMAND")
    on = actions.add_parser("on", help="Start polling", description=ABOUT, examples=EXAMPLES[:2], details=DETAILS)
    on.add_argument("--every", default="15m", metavar="TIME", help="time between polls")
    on.add_argument("--yes", action="store_true", help="install without asking")
    on.add_argument("--print", action="store_true", help="only print the command that would run")
    json_flag(on)
    for action, text in (("off", "Stop polling"), ("status", "Show whether it polls, and the last poll")):
        json_flag(actions.add_parser(action, help=text, description=f"{text}."))
    json_flag(actions.add_parser("tick", description="Poll once; this is what systemd or cron starts."))


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
        say(f"already on, by {there.by}, every {service.span(there.every)}")
        return _report(args, home)
    with assemble.store() as store:
        if not queries.brief(store):
            raise UsageError("no job to watch; add one first: dogwatch add")
    _show(plan, every, replaces=there is not None)
    if not args.yes and not _said_yes():
        return USAGE
    service.install(plan)
    say(f"on, by {plan.by}, every {service.span(plan.every)}; stop it: dogwatch service off")
    return _report(args, home)


def _show(plan: Plan, every: float, replaces: bool) -> None:
    from dogwatch.actions import service

    say(f"this will be installed{' (it replaces the old one)' if replaces else ''}:")
    print(plan.shown().rstrip(), file=sys.stderr)
    if plan.every != every:
        say(f"cron cannot run every {service.span(every)}; it will run every {service.span(plan.every)}")
    if plan.by == "cron" and service.cron_runs() is False:
        say("no cron daemon is running on this machine, so nothing is polled")


def _said_yes() -> bool:
    """A word typed at a terminal; without one, nobody is asked and nothing is done."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        say("nothing was installed; add --yes to install without a terminal")
        return False
    print("type yes to install it: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip() == "yes":
        return True
    say("nothing was installed")
    return False


def _off(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.actions import service

    home = assemble.home()
    gone = service.remove(home)
    say("it was not on" if gone is None else f"removed from {gone.by}; jobs and their history are kept")
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
        say("no cron daemon is running on this machine, so nothing is polled")
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
            say("no job is left to watch, so polling ends; start it again: dogwatch service on")
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
