"""`dogwatch alerts`: where alerts go, what stands open, what was sent and why something was not."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from dogwatch.cli.out import emit, json_flag, say
from dogwatch.errors import COULD_NOT_LOOK, FINE, UsageError

if TYPE_CHECKING:
    from dogwatch.assemble import Store
    from dogwatch.clock import Clock

HELP = "say where alerts go (webhook, Slack, e-mail, ...), silence them, and see what was sent and why"
EPILOG = """\
  dogwatch alerts                               what stands open, what is silenced, what was not delivered
  dogwatch alerts add webhook URL [--secret env:NAME]
  dogwatch alerts add --email ADDR | --slack env:NAME | --command PROG ARG... | APPRISE-URL
  dogwatch alerts ls | rm NAME | test [NAME]
  dogwatch alerts silence JOB --for 2h | unsilence N | ack JOB | retry
  dogwatch alerts explain [JOB]                 every decision to send or not, with its reason

A secret, and a webhook's URL is one, is kept by reference (env:NAME, file:PATH, keyring:SERVICE/USER); one that is
given literally is moved to a file that only you can read. Alerts are sent by whoever watches: `dogwatch daemon`."""
WORDS = ("show", "add", "ls", "rm", "test", "silence", "unsilence", "ack", "retry", "explain")
SHOWN = 20
WEB = ("webhook", "slack", "discord", "apprise", "email", "file", "desktop")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("word", nargs="?", default="show", choices=WORDS, metavar="WORD", help="what to do, see below")
    parser.add_argument("rest", nargs="*", metavar="ARG", help="what it needs")
    parser.add_argument("--email", metavar="ADDR", help="add: an e-mail address (the server is in the config file)")
    parser.add_argument("--slack", metavar="REF", help="add: Slack, its webhook URL by reference")
    parser.add_argument(
        "--command", dest="argv", nargs="+", metavar="ARG", help="add: a program that gets JSON on stdin"
    )
    parser.add_argument("--secret", metavar="REF", help="add webhook: sign with this secret, by reference")
    parser.add_argument("--name", metavar="NAME", help="add: what to call the channel")
    parser.add_argument("--levels", metavar="L,...", help="add: only these of critical,warning,info,progress")
    parser.add_argument("--jobs", metavar="GLOB,...", help="add: only jobs with such names")
    parser.add_argument("--rules", metavar="GLOB,...", help="add: only findings of such rules")
    parser.add_argument("--for", dest="span", metavar="TIME", help="silence: for how long, as in 2h")
    parser.add_argument("--rule", metavar="GLOB", help="silence, ack: only findings of this rule")
    parser.add_argument("--why", default="", metavar="TEXT", help="silence, ack: a word for whoever reads it")
    parser.add_argument("-n", type=int, default=30, metavar="N", help="explain: how many decisions (default: 30)")
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.clock import Clock

    with assemble.store() as store:
        code: int = globals()[f"_{args.word}"](args, store, Clock())
        return code


def _add(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.desk import alerts

    kind, settings = _wanted(args)
    route = {key: getattr(args, key).split(",") for key in ("levels", "jobs", "rules") if getattr(args, key)}
    url = settings.get("url", "")
    name = alerts.add(store, clock, kind, settings, route, args.name or alerts.free_name(store, kind))
    if url.startswith(("http:", "https:")) and alerts.is_inside(url):
        say("this URL is on a private network; it is used as you say, because you are its owner")
    if args.json:
        emit({"added": name, "kind": kind})
    else:
        print(f"{name}: added; `dogwatch alerts test {name}` tries it")
    return FINE


def _wanted(args: Namespace) -> tuple[str, dict[str, Any]]:
    """(kind, settings) of what is to be added."""
    if args.email:
        return "email", {"to": args.email}
    if args.slack:
        return "slack", {"url": args.slack}
    if args.argv:
        return "command", {"argv": args.argv}
    first, *more = args.rest or [""]
    if first in ("desktop",):
        return first, {}
    if first in WEB:
        if len(more) != 1:
            raise UsageError(f"`alerts add {first}` takes one thing: {'a path' if first == 'file' else 'a URL'}")
        key = {"file": "path", "email": "to"}.get(first, "url")
        return first, {key: more[0], **({"secret": args.secret} if args.secret else {})}
    if "://" in first and not more:
        return "apprise", {"url": first}
    raise UsageError(f"`alerts add` takes {', '.join(WEB)} or an Apprise URL, --email, --slack or --command")


def _ls(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.desk import alerts
    from dogwatch.text import plain

    rows = alerts.listing(store)
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
    from dogwatch.desk import alerts

    for name in args.rest or _missing("rm takes the names of channels"):
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
    return FINE if all(row["ok"] for row in results) else COULD_NOT_LOOK


def _silence(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.config import duration
    from dogwatch.desk import alerts, ask

    if not args.span:
        raise UsageError("silence needs --for, as in --for 2h")
    (given,) = args.rest if len(args.rest) == 1 else _missing("silence takes one JOB, or '*' for all")
    wild = any(char in given for char in "*?[")
    subject = given if wild or given.startswith("place:") else ask.find(store, [given])
    number = alerts.silence(store, clock, subject, args.rule or "", duration(args.span, "--for"), args.why)
    if args.json:
        emit({"silence": number})
    else:
        print(f"silence #{number}: {subject} for {args.span}")
    return FINE


def _unsilence(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.desk import alerts

    for word in args.rest or _missing("unsilence takes the numbers that `dogwatch alerts` shows"):
        if not word.lstrip("#").isdigit():
            raise UsageError(f"{word!r} is not the number of a silence")
        alerts.end_silence(store, clock, int(word.lstrip("#")))
    if args.json:
        emit({"ended": args.rest})
    return FINE


def _ack(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.desk import alerts, ask

    (given,) = args.rest if len(args.rest) == 1 else _missing("ack takes one JOB")
    ref = given if given.startswith("place:") else ask.find(store, [given])
    numbers = alerts.ack(store, clock, ref, args.rule, args.why)
    if args.json:
        emit({"silences": numbers})
    else:
        print(f"{ref}: {len(numbers)} acknowledged; no more is said of it until it has resolved")
    return FINE


def _retry(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.desk import alerts

    count = alerts.retry(store, clock)
    if args.json:
        emit({"retried": count})
    else:
        print(f"{count} undelivered: tried again as soon as somebody watches")
    return FINE


def _explain(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.desk import alerts, ask
    from dogwatch.text import plain

    ref = ask.find(store, args.rest) if args.rest else None
    rows = alerts.explain(store, ref, args.n)
    if args.json:
        emit({"decisions": rows})
    for row in () if args.json else rows:
        print(f"{_moment(row['at'])}  {row['decision']:<16} {plain(row['channel'], 40)}")
        print(f"    {plain(row['name'], 60)}: {plain(row['text'], 120)}")
        print(f"    {plain(row['reason'], 160)}")
    return FINE


def _show(args: Namespace, store: Store, clock: Clock) -> int:
    from dogwatch.desk import alerts
    from dogwatch.text import plain

    seen = alerts.overview(store, clock.now())
    if args.json:
        emit(seen)
        return FINE
    for one in seen["open"]:
        print(f"open      {one['level']:<9} {plain(one['name'] or one['subject'], 60)}: {plain(one['text'], 160)}")
    for one in seen["silences"]:
        until = f"until {_moment(one['until'])}" if one["until"] else "until it resolves"
        rule = "" if one["rule"] == "*" else f" ({plain(one['rule'], 40)})"
        print(f"silenced  #{one['id']:<8} {plain(one['subject'], 80)}{rule} {until}")
        if one["why"]:
            print(f"          {plain(one['why'], 120)}")
    for one in seen["undelivered"][:SHOWN]:
        tries = "1 try" if one["tries"] == 1 else f"{one['tries']} tries"
        later = f"next try {_moment(one['next_try'])}" if one["next_try"] else "`dogwatch alerts retry` tries again"
        print(f"{one['state']:<9} {plain(one['channel'], 40)}, {tries}; {later}")
        if one["detail"]:
            print(f"          {plain(one['detail'], 160)}")
        for text in one["notices"][:3]:
            print(f"          {plain(text, 140)}")
    if len(seen["undelivered"]) > SHOWN:
        print(f"and {len(seen['undelivered']) - SHOWN} more that were not delivered; --json lists them all")
    if seen["held"]:
        print(f"{seen['held']} held back; `dogwatch alerts explain` says why")
    if not (seen["open"] or seen["silences"] or seen["undelivered"] or seen["held"]):
        print("nothing stands open, nothing is silenced, everything was delivered")
    return FINE


def _moment(stamp: str | None) -> str:
    """To the second; whoever needs more asks for JSON."""
    return "" if stamp is None else f"{stamp[:10]} {stamp[11:19]}Z"


def _missing(what: str) -> list[str]:
    raise UsageError(what)
