"""`dogwatch host`: the machines that ssh reaches."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from dogwatch.cli.out import emit, json_flag, say, table, width
from dogwatch.errors import COULD_NOT_POLL, FINE, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dogwatch.wire.documents.commands import TestedHostDocument

HELP = "add, list and try out the machines whose jobs are watched over ssh"
EXAMPLES = (
    "dogwatch host add hpc",
    "dogwatch host add gpubox --ssh me@10.0.0.7 --floor 30s",
    "dogwatch host test hpc",
)
EPILOG = """\
ssh is used as you use it: your configuration, your keys and agent, your jump hosts; nothing is asked, nothing is
installed there. `ssh NAME` must get in without a question. A host key that is not known is shown with its
fingerprint and taken only with --accept-key; one that has changed is never taken."""


def arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="{add,ls,test,rm}")
    add = actions.add_parser("add", help="add a host, or change how it is reached", allow_abbrev=False)
    add.add_argument("name", metavar="NAME", help="what to call it")
    add.add_argument("--ssh", metavar="ALIAS", help="how ssh knows it: an alias, a name or an address (default NAME)")
    add.add_argument("--ssh-config", metavar="FILE", help="an ssh configuration file to use instead of your own")
    add.add_argument("--floor", metavar="TIME", help="never look more often than this (default 60s, at least 1s)")
    add.add_argument("--accept-key", action="store_true", help="take the host key that is shown, if none is known yet")
    json_flag(add)
    json_flag(actions.add_parser("ls", help="list the hosts", allow_abbrev=False))
    for action, text in (("test", "one round trip to a host"), ("rm", "let go of a host on which no job is watched")):
        one = actions.add_parser(action, help=text, allow_abbrev=False)
        one.add_argument("name", metavar="NAME", help="its name")
        json_flag(one)


def run(args: Namespace) -> int:
    return {"add": _add, "ls": _list, "test": _test, "rm": _remove}[args.action](args)


def _add(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import hosts
    from dogwatch.clock import Clock
    from dogwatch.config import duration

    floor = None if args.floor is None else duration(args.floor, "--floor")
    config = None if args.ssh_config is None else os.path.abspath(os.path.expanduser(args.ssh_config))
    with assemble.store() as store:
        told = hosts.add(
            store, Clock(), args.name, alias=args.ssh, config=config, floor=floor, accept_key=args.accept_key
        )
    if args.json:
        emit(told)
    elif told["added"]:
        print(f"{told['name']}: added" + (f", {_sentence(told)}" if told["reachable"] else ""))
    _remarks(told)
    if told["added"] and not told["reachable"]:
        say(f"{told['name']} was added, but could not be reached now: {told['why']}")
    return FINE if told["added"] else _refused(told, "it was not added")


def _list(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import hosts
    from dogwatch.clock import Clock
    from dogwatch.text import plain
    from dogwatch.tui.words import clock

    with assemble.store(readonly=True) as store:
        found = hosts.listing(store)
    if args.json:
        emit({"hosts": found})
    elif found:
        rows = [["NAME", "SSH", "FLOOR", "JOBS", "LAST SEEN", "UNREACHABLE"]]
        now = Clock().now()
        for host in found:
            since = f"since {clock(host['unreachable_since'], now)}: {plain(str(host['unreachable_why']), 200)}"
            told = [host["name"], host["ssh"], f"{host['floor_seconds']:g} s", str(host["jobs"])]
            seen = clock(host["answered_at"], now) if host["answered_at"] else "never"
            rows.append([*told, seen, since if host["unreachable_since"] else ""])
        for line in table(rows, width()):
            print(line)
    else:
        say("no host yet; `dogwatch host add NAME` adds one")
    return FINE


def _test(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import hosts
    from dogwatch.clock import Clock

    with assemble.store(readonly=True) as store:
        told = hosts.test(store, Clock(), args.name)
    if args.json:
        emit(told)
    elif told["reachable"]:
        print(f"{told['name']}: {_sentence(told)}")
    _remarks(told)
    return FINE if told["reachable"] else _refused(told, "")


def _remove(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import hosts

    with assemble.store() as store:
        hosts.remove(store, args.name)
    if args.json:
        emit({"removed": args.name})
    else:
        print(f"{args.name}: removed")
    return FINE


def _remarks(told: TestedHostDocument) -> None:
    for key in told.get("accepted", ()):
        say(f"the host key of {told['name']} is trusted from now on: {key}")
    for warning in told["warnings"]:
        say(f"warning: {warning}")
    if told["limits"]:
        say(f"{told['name']}: {told['limits']}")


def _refused(told: TestedHostDocument, outcome: str) -> int:
    """Say why a host could not be looked at; an unknown key is a question to the user, the rest is not."""
    end = f"; {outcome}" if outcome else ""
    if told["fingerprints"]:
        shown = ", ".join(told["fingerprints"])
        say(f"the host key of {told['name']} is not known here: {shown}{end}")
        say(f"if that is what its owner says it is: dogwatch host add {told['name']} … --accept-key")
        return USAGE
    say(f"{told['why']}{end}")
    return COULD_NOT_POLL


def _sentence(told: TestedHostDocument) -> str:
    known, skew = told["scheduler"], told["skew_seconds"]
    if known is None:
        scheduler = "no scheduler"
    elif known["version"] is None:
        scheduler = f"{known['name']}, which does not answer ({known['why']})"
    else:
        scheduler = f"{known['name']} {known['version']}, cluster {known['cluster']}"
    clock = (
        "" if skew is None or abs(skew) < 1 else f", its clock is {abs(skew):g} s {'ahead' if skew > 0 else 'behind'}"
    )
    python = f"Python {told['python']}" if told["python"] else "no python3"
    return f"reachable in {told['seconds']:.1f} s, {python}, {scheduler}{clock}"
