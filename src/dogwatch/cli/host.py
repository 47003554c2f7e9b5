"""`dogwatch host`: the machines that ssh reaches."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from dogwatch.cli.out import emit, json_flag, say, table, width
from dogwatch.errors import COULD_NOT_POLL, FINE, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dogwatch.wire.documents.commands import TestedHostDocument

ABOUT = "Add, list, test and remove the machines that ssh reaches, and show what is known of a kind of rented box."
EXAMPLES = (
    "dogwatch host add hpc",
    "dogwatch host add gpubox --ssh me@10.0.0.7 --floor 30s",
    "dogwatch host add box1 --profile runpod --price-per-hour 0.59",
    "dogwatch host test hpc",
    "dogwatch host profile runpod",
)
DETAILS = """\
`ssh NAME` must work without a password prompt. Your ssh configuration, keys, agent and jump hosts are used, and \
nothing is installed on the host. An unknown host key is shown with its fingerprint and accepted only with \
--accept-key; a changed host key is always refused."""


def arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="COMMAND")
    add = actions.add_parser(
        "add",
        help="Add a host, or change how it is reached",
        description="Add a host, or change how it is reached. The connection is tested at once.",
        examples=EXAMPLES[:3],
        details=DETAILS,
    )
    add.add_argument("name", metavar="NAME", help="what to call the host")
    add.add_argument("--ssh", metavar="ALIAS", help="ssh alias, host name or user@address (default: NAME)")
    add.add_argument("--ssh-config", metavar="FILE", help="ssh configuration file (default: your own)")
    add.add_argument("--floor", metavar="TIME", help="shortest time between two polls (default: 60s, at least 1s)")
    add.add_argument("--accept-key", action="store_true", help="accept the host key if none is known yet")
    add.add_argument(
        "--profile", metavar="NAME", help="kind of rented box: autodl, runpod, vast, lambda, paperspace, plain"
    )
    add.add_argument("--price-per-hour", metavar="AMOUNT", help="what the box costs in an hour, in your currency")
    json_flag(add)
    for action, text in (
        ("ls", "List the hosts and when each last answered"),
        ("test", "Connect to a host once and show what is there"),
        ("rm", "Remove a host that has no watched jobs"),
        ("profile", "Show what is known of a kind of rented box, and where that is said"),
    ):
        part = actions.add_parser(action, help=text, description=f"{text}.")
        if action == "profile":
            part.add_argument(
                "name", nargs="?", metavar="NAME", help="a profile or a host (default: list the profiles)"
            )
        elif action != "ls":
            part.add_argument("name", metavar="HOST", help="a host that `dogwatch host ls` lists")
        json_flag(part)


def run(args: Namespace) -> int:
    return {"add": _add, "ls": _list, "test": _test, "rm": _remove, "profile": _profile}[args.action](args)


def _add(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import box_profiles, hosts
    from dogwatch.clock import Clock
    from dogwatch.config import duration

    floor = None if args.floor is None else duration(args.floor, "--floor")
    price = None if args.price_per_hour is None else _price(args.price_per_hour)
    if args.profile is not None:
        box_profiles.load(args.profile)
    config = None if args.ssh_config is None else os.path.abspath(os.path.expanduser(args.ssh_config))
    with assemble.store() as store:
        told = hosts.add(
            store,
            Clock(),
            args.name,
            alias=args.ssh,
            config=config,
            floor=floor,
            accept_key=args.accept_key,
            profile=args.profile,
            price=price,
        )
    if args.json:
        emit(told)
    elif told["added"]:
        print(f"{told['name']}: added" + (f", {_sentence(told)}" if told["reachable"] else ""))
    _remarks(told)
    if told["added"] and not told["reachable"]:
        say(f"{told['name']} was added, but is unreachable now: {told['why']}")
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
        rows = [["NAME", "SSH", "PROFILE", "FLOOR", "JOBS", "LAST SEEN", "UNREACHABLE"]]
        now = Clock().now()
        for host in found:
            since = f"since {clock(host['unreachable_since'], now)}: {plain(str(host['unreachable_why']), 200)}"
            price = f" {host['price_per_hour']:g}/h" if host["price_per_hour"] is not None else ""
            kind = (host["profile"] or "-") + price
            told = [host["name"], host["ssh"], kind, f"{host['floor_seconds']:g} s", str(host["jobs"])]
            seen = clock(host["answered_at"], now) if host["answered_at"] else "never"
            rows.append([*told, seen, since if host["unreachable_since"] else ""])
        for line in table(rows, width()):
            print(line)
    else:
        say("no hosts yet; add one: dogwatch host add NAME")
    return FINE


def _test(args: Namespace) -> int:
    from dogwatch import assemble, profiles
    from dogwatch.api import box_profiles, hosts
    from dogwatch.clock import Clock

    with assemble.store(readonly=True) as store:
        told = hosts.test(store, Clock(), args.name)
    if args.json:
        emit(told)
    elif told["reachable"]:
        print(f"{told['name']}: {_sentence(told)}")
        if told["profile"] is not None:
            profile = box_profiles.load(told["profile"])
            print(f"profile {profile.name}; to stop paying: {profiles.stop_command(profile)}")
    _remarks(told)
    return FINE if told["reachable"] else _refused(told, "")


def _profile(args: Namespace) -> int:
    from dogwatch import assemble, profiles
    from dogwatch.api import box_profiles, hosts

    if args.name is None:
        named = profiles.names(box_profiles.folder())
        emit({"profiles": named}) if args.json else print("\n".join(named))
        return FINE
    profile = None
    if assemble.home_if_there() is not None:
        with assemble.store(readonly=True) as store:
            place = next((place for place in hosts.everyone(store) if place.name == args.name), None)
            profile = None if place is None else box_profiles.of(place)
    profile = profile or box_profiles.load(args.name)
    if args.json:
        emit(profiles.document(profile))
        return FINE
    rows = [["FACT", "VALUE", "SOURCE"]]
    rows += [[profiles.LABELS[key], profiles.shown(fact), fact.source] for key, fact in profile.facts().items()]
    for line in table(rows, None):
        print(line)
    print(f"to stop paying: {profiles.stop_command(profile)}")
    return FINE


def _price(text: str) -> float:
    from dogwatch.errors import UsageError
    from dogwatch.text import plain

    try:
        price = float(text)
    except ValueError:
        price = -1.0
    if not 0 <= price < 100_000:
        raise UsageError(f"--price-per-hour takes an amount such as 0.59, not '{plain(text, 40)}'")
    return price


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
        say(f"unknown host key of {told['name']}: {shown}{end}")
        say(f"if this fingerprint is right, accept it: dogwatch host add {told['name']} … --accept-key")
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
