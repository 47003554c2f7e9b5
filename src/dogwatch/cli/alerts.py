"""`dogwatch alerts`: where alerts go, what stands open, what was sent and why something was not."""

from __future__ import annotations

import shlex
from argparse import REMAINDER, SUPPRESS, ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from dogwatch.cli.out import JOB, emit, json_flag, lay_out, say
from dogwatch.errors import COULD_NOT_POLL, FINE, UsageError

if TYPE_CHECKING:
    from dogwatch.assemble import Store
    from dogwatch.clock import Clock
    from dogwatch.plugin_config import Setting

ABOUT = """\
Set up where alerts go, silence them, and see what was sent. Without a command, show open alerts, silences and \
undelivered alerts."""
EXAMPLES = (
    "dogwatch alerts add slack env:SLACK_WEBHOOK",
    "dogwatch alerts test",
    "dogwatch alerts silence 'eval-*' --for 2h",
)
DETAILS = """\
A watcher sends the alerts: `dogwatch daemon`, `dogwatch service on`, or any command that watches."""
SECRETS = """\
Secrets are stored by reference: env:NAME, file:PATH or keyring:SERVICE/USER. The URL of a webhook is a secret too. A \
secret that you type is moved to a file that only you can read."""
SHOWN = 20
EXPLAINED = 30
HELP = {
    "add": "Add a channel: Slack, e-mail, webhook, ...",
    "ls": "List the channels",
    "rm": "Remove channels",
    "test": "Send a test message on every channel",
    "kinds": "List the kinds of channel and their settings",
    "silence": "Send no alerts about a job for a while",
    "unsilence": "End a silence",
    "ack": "Acknowledge open alerts; silent until they resolve",
    "retry": "Try again to deliver what was not delivered",
    "explain": "Show for each alert whether it was sent, and why",
}
TAKES: dict[str, tuple[int | str, str, str]] = {
    "rm": ("+", "NAME", "name of a channel"),
    "test": ("*", "NAME", "name of a channel (default: all)"),
    "silence": (1, "JOB", "the name of a job, or a pattern such as 'eval-*'"),
    "unsilence": ("+", "N", "number of a silence, as `dogwatch alerts` shows it"),
    "ack": (1, "JOB", JOB),
    "explain": ("?", "JOB", "only alerts about this job"),
}
SHOW_HOW = {
    "silence": ("dogwatch alerts silence train --for 2h --why 'new data'", "dogwatch alerts silence '*' --for 30m"),
    "ack": ("dogwatch alerts ack train",),
    "explain": ("dogwatch alerts explain train -n 5",),
    "test": ("dogwatch alerts test slack",),
}


def arguments(parser: ArgumentParser) -> None:
    json_flag(parser)
    actions = parser.add_subparsers(dest="word", metavar="COMMAND")
    parts: dict[str, ArgumentParser] = {"add": _add_arguments(actions)}
    for word, text in list(HELP.items())[1:]:
        parts[word] = actions.add_parser(word, help=text, description=f"{text}.", examples=SHOW_HOW.get(word, ()))
        if word in TAKES:
            nargs, metavar, meaning = TAKES[word]
            parts[word].add_argument("rest", nargs=nargs, metavar=metavar, help=meaning)
    parts["silence"].add_argument("--for", dest="span", required=True, metavar="TIME", help="how long, e.g. 2h")
    for word in ("silence", "ack"):
        parts[word].add_argument("--rule", metavar="GLOB", help="only alerts of this rule")
        parts[word].add_argument("--why", default="", metavar="TEXT", help="the reason, shown by `dogwatch alerts`")
    parts["explain"].add_argument(
        "-n", type=int, default=EXPLAINED, metavar="N", help="number of decisions, newest first"
    )
    for part in parts.values():
        part.add_argument("--json", action="store_true", default=SUPPRESS, help="print JSON")


def _add_arguments(actions: Any) -> ArgumentParser:
    add: ArgumentParser = actions.add_parser(
        "add",
        help=HELP["add"],
        description="Add a channel that alerts are sent to. `dogwatch alerts kinds` lists all kinds.",
        examples=(
            "dogwatch alerts add slack env:SLACK_WEBHOOK",
            "dogwatch alerts add email me@example.org --levels critical,warning",
            "dogwatch alerts add webhook https://example.org/hook --secret env:HOOK_SECRET",
            "dogwatch alerts add --name pager --command ./page.sh --urgent",
        ),
        details=SECRETS,
    )
    add.add_argument("rest", nargs="*", metavar="KIND", help="kind of channel and its address, or an Apprise URL")
    add.add_argument("--name", metavar="NAME", help="name of the channel (default: its kind)")
    add.add_argument("--email", metavar="ADDRESS", help="the same as: email ADDRESS")
    add.add_argument("--slack", metavar="SECRET", help="the same as: slack SECRET")
    add.add_argument("--secret", metavar="SECRET", help="key that signs the messages of a webhook")
    add.add_argument("--set", action="append", metavar="KEY=VALUE", help="another setting of this kind (repeatable)")
    add.add_argument(
        "--command", dest="argv", nargs=REMAINDER, metavar="ARG", help="program that gets JSON on stdin; must be last"
    )
    route = add.add_argument_group("Which alerts it gets (default: all)")
    route.add_argument("--levels", metavar="LEVEL,...", help="only these levels: critical, warning, info, progress")
    route.add_argument("--jobs", metavar="GLOB,...", help="only jobs with these names")
    route.add_argument("--rules", metavar="GLOB,...", help="only alerts of these rules")
    return add


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.clock import Clock

    with assemble.store() as store:
        code: int = globals()[f"_{args.word or 'show'}"](args, store, Clock())
        return code


def _add(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.api import alerts

    kind, settings = _wanted(args)
    route = {key: _words(getattr(args, key)) for key in ("levels", "jobs", "rules") if getattr(args, key)}
    name = alerts.add(store, clock, kind, settings, route, args.name or alerts.free_name(store, kind))
    for hint in alerts.hints(settings, route):
        say(hint)
    if args.json:
        emit({"added": name, "kind": kind})
    else:
        print(f"{name}: added; test it: dogwatch alerts test {shlex.quote(name)}")
    return FINE


def _words(listed: str) -> list[str]:
    return [word.strip() for word in listed.split(",") if word.strip()]


def _wanted(args: Namespace) -> tuple[str, dict[str, Setting]]:
    """(kind, settings) of what is to be added, which is one thing."""
    from dogwatch.api import alerts

    more = dict(_pair(word) for word in args.set or ())
    if args.secret:
        more["secret"] = args.secret
    ways = [(kind, word) for kind, word in (("email", args.email), ("slack", args.slack)) if word]
    if len(ways) + bool(args.argv) + bool(args.rest) > 1:
        raise UsageError("`alerts add` adds one channel at a time")
    if args.argv:
        return "command", {"argv": args.argv, **more}
    if ways:
        kind, word = ways[0]
        return kind, alerts.typed(kind, [word], more)
    kind, *words = args.rest or [""]
    if "://" in kind and not words:
        kind, words = "apprise", [kind]
    there = [row["kind"] for row in alerts.kinds()]
    if kind not in there:
        wrong = alerts.why_broken(kind) if kind else ""
        choices = f"choose {', '.join(there)}, an Apprise URL or --command"
        raise UsageError(wrong or f"{f'no kind of channel {kind!r}' if kind else 'no channel given'}; {choices}")
    return kind, alerts.typed(kind, words, more)


def _pair(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not key or not equals:
        raise UsageError(f"--set takes KEY=VALUE, not {word[:40]!r}")
    return key, value


def _kinds(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.api import alerts

    rows = alerts.kinds()
    if args.json:
        emit({"kinds": rows})
    for row in () if args.json else rows:
        origin = "" if row["package"] == "dogwatch" else f" ({row['package']})"
        print(f"{row['kind']:<14} {row['help']}{origin}")
    return FINE


def _ls(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.api import alerts
    from dogwatch.text import plain

    rows = alerts.listing(store)
    for note in alerts.of_the_file(rows):
        say(note)
    if args.json:
        emit({"channels": rows})
        return FINE
    for row in rows:
        print(f"{row['name']:<14} {row['kind']:<9}" + ("(config file)" if row["from_config"] else ""))
        for key, value in (*row["settings"].items(), *row["route"].items()):
            shown = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            print(f"    {key}: {plain(shown, 200)}")
    if not rows:
        print("no alert channel configured; see `dogwatch alerts add --help`")
    return FINE


def _rm(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.api import alerts

    names = args.rest
    alerts.removable(store, names)
    for name in dict.fromkeys(names):
        alerts.remove(store, clock, name)
        if not args.json:
            print(f"{name}: removed")
    if args.json:
        emit({"removed": args.rest})
    return FINE


def _test(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch import assemble

    results = assemble.test_channels(store, clock, args.rest)
    if args.json:
        emit({"results": results})
    for row in () if args.json else results:
        print(f"{'ok' if row['ok'] else 'FAILED':<7} {row['channel']}: {row['detail']}")
    return FINE if all(row["ok"] for row in results) else COULD_NOT_POLL


def _silence(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.api import alerts, queries
    from dogwatch.config import duration

    (given,) = args.rest
    wild = any(char in given for char in "*?[")
    subject = given if wild or given.startswith("place:") else queries.find(store, [given], say)
    number = alerts.silence(store, clock, subject, args.rule or "", duration(args.span, "--for"), args.why)
    if args.json:
        emit({"silence": number})
    else:
        print(f"silence #{number}: {subject} for {args.span}")
    return FINE


def _unsilence(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.api import alerts

    for word in args.rest:
        if not word.lstrip("#").isdigit():
            raise UsageError(f"{word!r} is not the number of a silence")
        alerts.end_silence(store, clock, int(word.lstrip("#")))
        if not args.json:
            print(f"silence #{word.lstrip('#')}: ended")
    if args.json:
        emit({"ended": args.rest})
    return FINE


def _ack(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.api import alerts, queries

    (given,) = args.rest
    ref = given if given.startswith("place:") else queries.find(store, [given], say)
    numbers = alerts.ack(store, clock, ref, args.rule, args.why)
    if args.json:
        emit({"silences": numbers})
    else:
        print(f"{ref}: {len(numbers)} acknowledged; no more alerts until resolved")
    return FINE


def _retry(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.api import alerts

    count = alerts.retry(store, clock)
    if args.json:
        emit({"retried": count})
    elif not count:
        print("everything was delivered")
    else:
        print(f"{count} undelivered: the watcher tries again now, or as soon as one runs")
    return FINE


def _explain(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.api import alerts, queries

    ref = queries.find(store, [args.rest], say) if args.rest else None
    if args.n < 1:
        raise UsageError(f"-n takes a number above zero, not {args.n}")
    rows = alerts.explain(store, ref, args.n)
    if args.json:
        emit({"decisions": rows})
    elif not rows:
        print("no alert yet, or no channel: nothing was decided")
    for row in () if args.json else rows:
        lay_out([f"{_moment(row['at'])}  {row['decision']:<16} {row['channel']}"])
        lay_out([f"    {row['name']}: {row['text']}", f"    {row['reason']}"])
    return FINE


def _show(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.api import alerts

    seen = alerts.overview(store, clock.now())
    if args.json:
        emit(seen)
        return FINE
    for one in seen["open"]:
        word = "acked" if one["acknowledged"] else "open"
        lay_out([f"{word:<9} {one['level']:<9} {one['name'] or one['subject']}: {one['text']}"])
    for silence in seen["silences"]:
        until = f"until {_moment(silence['until'])}" if silence["until"] else "until it resolves"
        rule = "" if silence["rule"] == "*" else f" ({silence['rule']})"
        why = [f"          {silence['why']}"] if silence["why"] else []
        lay_out([f"silenced  #{silence['id']:<8} {silence['subject']}{rule} {until}", *why])
    for unsent in seen["undelivered"][:SHOWN]:
        tries = "1 try" if unsent["tries"] == 1 else f"{unsent['tries']} tries"
        retry = "try again: dogwatch alerts retry"
        later = f"next try {_moment(unsent['next_try'])}" if unsent["next_try"] else retry
        texts = [unsent["detail"], *unsent["notifications"][:3]]
        head = f"{unsent['state']:<9} {unsent['channel']}, {tries}; {later}"
        lay_out([head, *(f"          {text}" for text in texts if text)])
    if len(seen["undelivered"]) > SHOWN:
        print(f"and {len(seen['undelivered']) - SHOWN} more that were not delivered; --json lists them all")
    if seen["held"]:
        print(f"{seen['held']} held back; `dogwatch alerts explain` says why")
    if not (seen["open"] or seen["silences"] or seen["undelivered"] or seen["held"]):
        print("no open alerts, no silences, everything delivered")
    return FINE


def _moment(stamp: str | None) -> str:
    """Local time to the second; whoever needs more asks for JSON."""
    from dogwatch.clock import Clock
    from dogwatch.tui.words import clock

    return "" if stamp is None else clock(stamp, Clock().now(), seconds=True)
