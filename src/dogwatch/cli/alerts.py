"""`dogwatch alerts`: where alerts go, what stands open, what was sent and why something was not."""

from __future__ import annotations

import shlex
from argparse import REMAINDER, ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from dogwatch.cli.out import emit, json_flag, say
from dogwatch.errors import COULD_NOT_POLL, FINE, UsageError

if TYPE_CHECKING:
    from dogwatch.assemble import Store
    from dogwatch.clock import Clock

HELP = "say where alerts go (webhook, Slack, e-mail, ...), silence them, and see what was sent and why"
EXAMPLES = (
    "dogwatch alerts add webhook https://example.org/hook",
    "dogwatch alerts silence 'eval-*' --for 2h",
)
EPILOG = """\
  dogwatch alerts                               what stands open, what is silenced, what was not delivered
  dogwatch alerts add webhook URL [--secret env:NAME]
  dogwatch alerts add --email ADDR | --slack env:NAME | discord URL | file PATH | desktop | APPRISE-URL
  dogwatch alerts add [--name NAME] --command PROG ARG...      everything behind --command is the program's
  dogwatch alerts add KIND [WORD] [--set KEY=VALUE]...        any kind that `dogwatch alerts kinds` lists
  dogwatch alerts ls | rm NAME | test [NAME]
  dogwatch alerts silence JOB --for 2h | unsilence N | ack JOB | retry
  dogwatch alerts explain [JOB]                 every decision to send or not, with its reason

A secret, and a webhook's URL is one, is kept by reference (env:NAME, file:PATH, keyring:SERVICE/USER); one that is
given literally is moved to a file that only you can read. Alerts are sent by whoever watches: `dogwatch daemon`."""
WORDS = ("show", "add", "kinds", "ls", "rm", "test", "silence", "unsilence", "ack", "retry", "explain")
SHOWN = 20
# What each word takes besides --json; anything else given with it is refused rather than passed over.
TAKES = {
    "add": ("email", "slack", "argv", "secret", "set", "name", "levels", "jobs", "rules"),
    "silence": ("span", "rule", "why"),
    "ack": ("rule", "why"),
    "explain": ("n",),
}
SPELT = {"argv": "--command", "span": "--for", "n": "-n"}
EXPLAINED = 30


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("word", nargs="?", default="show", choices=WORDS, metavar="WORD", help="what to do, see below")
    parser.add_argument("rest", nargs="*", metavar="ARG", help="what it needs")
    parser.add_argument("--email", metavar="ADDR", help="add: an e-mail address (the server is in the config file)")
    parser.add_argument("--slack", metavar="REF", help="add: Slack, its webhook URL by reference")
    parser.add_argument(
        "--command", dest="argv", nargs=REMAINDER, metavar="ARG", help="add: a program that gets JSON on stdin; last"
    )
    parser.add_argument("--secret", metavar="REF", help="add webhook: sign with this secret, by reference")
    parser.add_argument("--set", action="append", metavar="KEY=VALUE", help="add: another key of its kind")
    parser.add_argument("--name", metavar="NAME", help="add: what to call the channel")
    parser.add_argument("--levels", metavar="L,...", help="add: only these of critical,warning,info,progress")
    parser.add_argument("--jobs", metavar="GLOB,...", help="add: only jobs with such names")
    parser.add_argument("--rules", metavar="GLOB,...", help="add: only findings of such rules")
    parser.add_argument("--for", dest="span", metavar="TIME", help="silence: for how long, as in 2h")
    parser.add_argument("--rule", metavar="GLOB", help="silence, ack: only findings of this rule")
    parser.add_argument("--why", default="", metavar="TEXT", help="silence, ack: a word for whoever reads it")
    parser.add_argument("-n", type=int, metavar="N", help=f"explain: how many decisions (default: {EXPLAINED})")
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.clock import Clock

    given = [dest for dests in TAKES.values() for dest in dests if getattr(args, dest) not in (None, "")]
    for dest in given:
        if dest not in TAKES.get(args.word, ()):
            words = " and ".join(f"`alerts {word}`" for word, dests in TAKES.items() if dest in dests)
            raise UsageError(f"{SPELT.get(dest, f'--{dest}')} is for {words}, not for `alerts {args.word}`")
    with assemble.store() as store:
        code: int = globals()[f"_{args.word}"](args, store, Clock())
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
        print(f"{name}: added; `dogwatch alerts test {shlex.quote(name)}` tries it")
    return FINE


def _words(listed: str) -> list[str]:
    return [word.strip() for word in listed.split(",") if word.strip()]


def _wanted(args: Namespace) -> tuple[str, dict[str, Any]]:
    """(kind, settings) of what is to be added, which is one thing."""
    from dogwatch.api import alerts

    more = dict(_pair(word) for word in args.set or ())
    if args.secret:
        more["secret"] = args.secret
    ways = [(kind, word) for kind, word in (("email", args.email), ("slack", args.slack)) if word]
    if len(ways) + bool(args.argv) + bool(args.rest) > 1:
        raise UsageError("`alerts add` adds one channel at a time; say it once for each")
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
        broken = alerts.why_broken(kind)
        raise UsageError(
            broken or f"`alerts add` takes {', '.join(there)} or an Apprise URL, --email, --slack or --command"
        )
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
        print("no channel yet; `dogwatch alerts add --help` shows how")
    return FINE


def _rm(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.api import alerts

    names = args.rest or _missing("rm takes the names of channels")
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

    if not args.span:
        raise UsageError("silence needs --for, as in --for 2h")
    (given,) = args.rest if len(args.rest) == 1 else _missing("silence takes one JOB, or '*' for all")
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

    for word in args.rest or _missing("unsilence takes the numbers that `dogwatch alerts` shows"):
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

    (given,) = args.rest if len(args.rest) == 1 else _missing("ack takes one JOB")
    ref = given if given.startswith("place:") else queries.find(store, [given], say)
    numbers = alerts.ack(store, clock, ref, args.rule, args.why)
    if args.json:
        emit({"silences": numbers})
    else:
        print(f"{ref}: {len(numbers)} acknowledged; no more is said of it until it has resolved")
    return FINE


def _retry(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.api import alerts

    count = alerts.retry(store, clock)
    if args.json:
        emit({"retried": count})
    elif not count:
        print("nothing to try again: everything was delivered")
    else:
        print(f"{count} undelivered: tried again at once, or as soon as somebody watches")
    return FINE


def _explain(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.api import alerts, queries
    from dogwatch.text import plain

    ref = queries.find(store, args.rest, say) if args.rest else None
    if args.n is not None and args.n < 1:
        raise UsageError("-n is a number above zero")
    rows = alerts.explain(store, ref, args.n or EXPLAINED)
    if args.json:
        emit({"decisions": rows})
    elif not rows:
        print("nothing was to be decided yet; a watcher and a channel decide what is sent")
    for row in () if args.json else rows:
        print(f"{_moment(row['at'])}  {row['decision']:<16} {plain(row['channel'], 40)}")
        print(f"    {plain(row['name'], 60)}: {plain(row['text'], 120)}")
        print(f"    {plain(row['reason'], 160)}")
    return FINE


def _show(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.api import alerts
    from dogwatch.text import plain

    seen = alerts.overview(store, clock.now())
    if args.json:
        emit(seen)
        return FINE
    for one in seen["open"]:
        word, name = "acked" if one["acknowledged"] else "open", plain(one["name"] or one["subject"], 60)
        print(f"{word:<9} {one['level']:<9} {name}: {plain(one['text'], 160)}")
    for silence in seen["silences"]:
        until = f"until {_moment(silence['until'])}" if silence["until"] else "until it resolves"
        rule = "" if silence["rule"] == "*" else f" ({plain(silence['rule'], 40)})"
        print(f"silenced  #{silence['id']:<8} {plain(silence['subject'], 80)}{rule} {until}")
        if silence["why"]:
            print(f"          {plain(silence['why'], 120)}")
    for unsent in seen["undelivered"][:SHOWN]:
        tries = "1 try" if unsent["tries"] == 1 else f"{unsent['tries']} tries"
        later = (
            f"next try {_moment(unsent['next_try'])}" if unsent["next_try"] else "`dogwatch alerts retry` tries again"
        )
        print(f"{unsent['state']:<9} {plain(unsent['channel'], 40)}, {tries}; {later}")
        if unsent["detail"]:
            print(f"          {plain(unsent['detail'], 160)}")
        for text in unsent["notifications"][:3]:
            print(f"          {plain(text, 140)}")
    if len(seen["undelivered"]) > SHOWN:
        print(f"and {len(seen['undelivered']) - SHOWN} more that were not delivered; --json lists them all")
    if seen["held"]:
        print(f"{seen['held']} held back; `dogwatch alerts explain` says why")
    if not (seen["open"] or seen["silences"] or seen["undelivered"] or seen["held"]):
        print("nothing stands open, nothing is silenced, everything was delivered")
    return FINE


def _moment(stamp: str | None) -> str:
    """Local time to the second; whoever needs more asks for JSON."""
    from dogwatch.clock import Clock
    from dogwatch.tui.words import clock

    return "" if stamp is None else clock(stamp, Clock().now(), seconds=True)


def _missing(what: str) -> list[str]:
    raise UsageError(what)
