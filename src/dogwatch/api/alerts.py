"""Alerts: what a person may ask and say about them, the same for every interface."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from dogwatch import secret
from dogwatch import settings as file
from dogwatch.channels.plugin import OUTSIDE, ChannelPlugin, leads_inside, refuse_private, server_of
from dogwatch.channels.registry import CHANNELS, wanted
from dogwatch.clock import Clock, recorded, stamp
from dogwatch.digest import key_of
from dogwatch.errors import UsageError
from dogwatch.model import Level, Notification
from dogwatch.plugin_config import Setting, argv, keys
from dogwatch.rules import RULES
from dogwatch.settings import Route, Settings, check_route
from dogwatch.store.interface import Store
from dogwatch.store.private_files import make_private, of_os, open_private, sync_directory
from dogwatch.store.rows import channels as channel_rows
from dogwatch.store.rows import deliveries, jobs
from dogwatch.store.rows import findings as finding_rows
from dogwatch.store.rows.channels import ChannelRow, MessageRow
from dogwatch.store.rows.findings import SilenceRow, open_findings
from dogwatch.store.rows.notifications import queue_all
from dogwatch.text import named

if TYPE_CHECKING:
    from dogwatch.wire.documents.commands import (
        AlertsDocument,
        ChannelDocument,
        ChannelKindDocument,
        DecisionDocument,
        ReceiptDocument,
        SilenceDocument,
    )

SECRETS = "secrets"
FROM_CONFIG = "from_config"
SPOKEN = ("ended", "started", "milestone", "checkpoint", "progress", "digest", "flapping", "channel_dead", "store_full")


def add(
    store: Store,
    clock: Clock,
    kind: str,
    settings: Mapping[str, Setting],
    route: Route,
    name: str,
    instead: bool = False,
) -> str:
    """A channel, checked, or another in its place (`instead`); a URL or other secret that was given literally is moved
    to a file of 0600 and kept by reference. Its name."""
    named(name, "channel name")
    check_route(route, "")
    row = next((row for row in channel_rows.channels(store) if row.name == name), None)
    if row is not None and not instead:
        raise channel_rows.taken(name)
    plugin = wanted(kind)
    why = plugin.unusable(settings)
    if why:
        raise UsageError(why)
    marks = {key: value for key, value in settings.items() if key in (FROM_CONFIG, OUTSIDE)}
    kept = _kept(store, plugin, name, {key: value for key, value in settings.items() if key not in marks}) | marks
    if row is None:
        channel_rows.add_channel(store, name, kind, kept, dict(route), clock.now())
    else:
        channel_rows.change_channel(store, name, kind, kept, dict(route))
        _unhide(store, row)
    store.location.wake()
    return name


def _kept(store: Store, plugin: ChannelPlugin, name: str, settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """The settings as they are stored, all of them checked before a secret is moved to a file."""
    known, literal = keys(plugin.config), {}
    for key, value in settings.items():
        if key not in known:
            raise UsageError(f"a {plugin.name} channel does not take a {key}")
        check_literal = known[key][1].literal
        if check_literal is not None and isinstance(value, str) and not value.startswith(secret.KINDS):
            check_literal(value, f"the {'URL' if key == 'url' else key} of a {plugin.name} channel")
            literal[key] = value
    missing = [key for key, (_, described) in known.items() if described.needed and settings.get(key) is None]
    if missing:
        raise UsageError(f"a {plugin.name} channel needs {missing[0]}")
    kept = {key: known[key][1].check(value, key) for key, value in settings.items() if key not in literal}
    return kept | {key: hide(store.location.path(SECRETS), f"{name}.{key}", value) for key, value in literal.items()}


def for_job(
    store: Store, clock: Clock, job: str, flags: Mapping[str, str], in_file: Mapping[str, Mapping[str, Setting]]
) -> None:
    """The channels that a job's own flags or its file name, by kind; they take what is said about that job, and are
    made once. What stands in the file is not the owner's word: it may not lead into a private network."""
    wanted_settings: dict[str, dict[str, Setting]] = {
        kind: {wanted(kind).argument: word} for kind, word in flags.items()
    }
    wanted_settings |= {kind: of_job_file(kind, given) for kind, given in in_file.items() if kind not in flags}
    for kind, settings in wanted_settings.items():
        add(store, clock, kind, settings, {"jobs": [_literally(job)]}, f"{job}-{kind}", instead=True)


def of_job_file(kind: str, settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """A channel as a job's file names it, marked as such; a private address is refused before anything connects."""
    plugin = wanted(kind)
    own = file.load(file.path(os.environ)).accounts if plugin.account is not None else {}
    refuse_private(plugin, settings, own)
    return {**settings, OUTSIDE: True}


def _literally(name: str) -> str:
    """A name as a pattern that only it matches."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def free_name(store: Store, kind: str) -> str:
    """The kind, or the kind with a number, that no channel has yet."""
    taken = {row.name for row in channel_rows.channels(store)}
    return next(name for name in (kind, *(f"{kind}-{n}" for n in range(2, 1000))) if name not in taken)


def typed(kind: str, words: Sequence[str], more: Mapping[str, str]) -> dict[str, Setting]:
    """The settings of a channel as a person types them: the words behind its kind, and `more` by key."""
    plugin = wanted(kind)
    known = keys(plugin.config)
    if len(words) != bool(plugin.argument) or (plugin.argument and known[plugin.argument][1].check is argv):
        raise UsageError(f"`alerts add {kind}` takes {plugin.takes}")
    given = {**dict(zip((plugin.argument,), words, strict=False)), **more}
    return {key: known[key][1].typed(word) if key in known else word for key, word in given.items()}


def kinds() -> list[ChannelKindDocument]:
    """The kinds of channel that there are, with what each takes and which package brought it."""
    return [
        {
            "kind": name,
            "help": plugin.help,
            "keys": list(keys(plugin.config)),
            "package": CHANNELS.package(name) or "dogwatch",
        }
        for name, plugin in CHANNELS.all().items()
    ]


def why_broken(kind: str) -> str:
    """Why a kind of another package cannot be used; empty where there is none of that name."""
    return next((broken.sentence for broken in CHANNELS.broken if broken.name == kind), "")


def hints(settings: Mapping[str, Setting], route: Route) -> list[str]:
    """What whoever adds a channel should know, though nothing is wrong with it."""
    hints = []
    for value in settings.values():
        word = value if isinstance(value, str) else ""
        if word.startswith(("http:", "https:")) and leads_inside(server_of(word)):
            hints.append("this URL is on a private network; it is used because you configured it yourself")
        if word.startswith(secret.KINDS):
            try:
                secret.read(word)
            except secret.NoSecret as missing:
                hints.append(f"{missing}; the watcher needs it to send an alert")
    names = sorted({*RULES.all(), *SPOKEN}) if route.get("rules") else []
    for rule in route.get("rules", ()):
        if not any(fnmatchcase(known, rule) for known in names):
            hints.append(f"no rule named {rule!r}; there are {', '.join(names)}")
    return hints


def hide(folder: str, name: str, text: str) -> str:
    """Put a secret into a file that only its owner can read; the reference to it."""
    make_private(folder)
    # Never a name that is there: another channel may live by it.
    path = os.path.join(folder, f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)[:100]}-{os.urandom(4).hex()}")
    try:
        fd = open_private(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        try:
            with open(fd, "wb", closefd=False) as opened:
                opened.write(text.encode() + b"\n")
            os.fsync(fd)
        finally:
            os.close(fd)
        sync_directory(folder)
    except OSError as error:
        raise of_os(error, path) from None
    return f"file:{path}"


def keep(path: str, text: str) -> None:
    """Keep a text beside the store, whole or not at all, unless it lies there already. It is only a copy: a full disk
    is no trouble."""
    held, draft = "", f"{path}.new"
    with contextlib.suppress(OSError, UnicodeDecodeError), open(path, encoding="utf-8") as opened:
        held = opened.read()
    if held == text:
        return
    with contextlib.suppress(OSError):
        fd = open_private(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        with open(fd, "w", encoding="utf-8") as fresh:
            fresh.write(text)
            fresh.flush()
            os.fsync(fd)
        os.replace(draft, path)


def _unhide(store: Store, row: ChannelRow) -> None:
    """Remove the secrets of a channel that is no more, if we had put them there."""
    for value in row.settings.values():
        kind, _, path = str(value).partition(":")
        if kind == "file" and os.path.dirname(path) == store.location.path(SECRETS):
            with contextlib.suppress(OSError):
                os.unlink(path)


def removable(store: Store, names: Iterable[str]) -> None:
    """Whether all of these can be removed, before one of them is."""
    rows = {row.name: row for row in channel_rows.channels(store)}
    for name in names:
        if name not in rows:
            raise UsageError(f"no channel named {name!r}; `dogwatch alerts ls` lists them")
        if rows[name].settings.get(FROM_CONFIG):
            raise UsageError(f"the channel {name!r} is in the configuration file; remove it there")


def remove(store: Store, clock: Clock, name: str) -> None:
    removable(store, [name])
    row = next((row for row in channel_rows.channels(store) if row.name == name), None)
    channel_rows.remove_channel(store, name, clock.now())
    if row is not None:
        _unhide(store, row)
    store.location.wake()


def listing(store: Store) -> list[ChannelDocument]:
    """The channels with what they take; secrets as the references that they are."""
    return [
        {
            "name": row.name,
            "kind": row.kind,
            "settings": {key: value for key, value in row.settings.items() if key not in (FROM_CONFIG, OUTSIDE)},
            "route": row.route,
            "from_config": bool(row.settings.get(FROM_CONFIG)),
            "added": recorded(row.added),
        }
        for row in channel_rows.channels(store)
    ]


def of_the_file(rows: Iterable[ChannelDocument]) -> list[str]:
    """What of the configuration file is not among these channels, and why."""
    try:
        wanted = {one.name for one in file.load(file.path(os.environ)).channels}
    except UsageError as error:
        return [f"the configuration file is not used: {error}"]
    missing = wanted - {row["name"] for row in rows if row["from_config"]}
    return [f"{name} is in the configuration file; a watcher uses it from its next poll on" for name in sorted(missing)]


def overview(store: Store, now: float) -> AlertsDocument:
    """What stands open, what is silenced, what has not been delivered."""
    names = {row["ref"]: row["name"] for row in jobs.brief(store, everything=True)}
    standing = finding_rows.silences(store)
    acknowledged = {(row.subject, row.rule, row.what) for row in standing if row.what is not None}
    return {
        "open": [
            {
                "subject": one.subject,
                "name": names.get(one.subject),
                "rule": one.rule,
                "level": one.level.value,
                "text": one.text,
                "since": recorded(one.opened),
                "acknowledged": (one.subject, one.rule, one.what) in acknowledged,
            }
            for one in open_findings(store)
        ],
        "silences": [_silence(row) for row in standing if row.until is None or row.until > now],
        "undelivered": [
            {
                "message": row.token,
                "channel": row.channel,
                "state": "given up" if row.state == channel_rows.DEAD else "waiting",
                "tries": row.tries,
                "detail": row.detail,
                "since": recorded(row.created),
                "next_try": stamp(row.due) if row.state == channel_rows.OPEN else None,
                "notifications": [
                    f"{names.get(n.subject, n.subject)}: {n.text}"
                    for n in deliveries.notifications_of(store, row.key)[:20]
                ],
            }
            for row in [
                *deliveries.channel_messages(store, channel_rows.OPEN),
                *deliveries.channel_messages(store, channel_rows.DEAD),
            ]
        ],
        "held": len([one for one in deliveries.open_deliveries(store) if one.decision.state == channel_rows.HELD]),
    }


def _silence(row: SilenceRow) -> SilenceDocument:
    return {
        "id": row.key,
        "subject": row.subject,
        "rule": row.rule or "*",
        "acknowledged": row.what is not None,
        "until": stamp(row.until),
        "why": row.why,
        "created": recorded(row.created),
    }


def silence(store: Store, clock: Clock, subject: str, rule: str, seconds: float, why: str) -> int:
    """Durable when this returns. `subject` is a ref or a name, with * and ? for many."""
    now = clock.now()
    found = finding_rows.silence(store, subject, rule, None, now + seconds, why, now)
    store.location.wake()
    return found


def ack(store: Store, clock: Clock, ref: str, rule: str | None, why: str) -> list[int]:
    """Say no more of what stands open about a job until it has resolved."""
    now = clock.now()
    standing = [one for one in open_findings(store) if one.subject == ref]
    standing = [one for one in standing if rule is None or one.rule == rule]
    if not standing:
        raise UsageError(f"no open alert about {ref}" + (f" by the rule {rule}" if rule else ""))
    held = {(row.subject, row.rule, row.what): row.key for row in finding_rows.silences(store)}
    return [
        held.get((one.subject, one.rule, one.what))
        or finding_rows.silence(store, one.subject, one.rule, one.what, None, why, now)
        for one in standing
    ]


def end_silence(store: Store, clock: Clock, number: int) -> None:
    if not finding_rows.end_silence(store, number, clock.now()):
        raise UsageError(f"no silence #{number}; `dogwatch alerts` lists them")


def retry(store: Store, clock: Clock) -> int:
    count = deliveries.revive(store, clock.now())
    store.location.wake()
    return count


def explain(store: Store, ref: str | None, limit: int) -> list[DecisionDocument]:
    """Every decision of late: what was sent where, what was not, and why."""
    names = {row["ref"]: row["name"] for row in jobs.brief(store, everything=True)}
    found: list[DecisionDocument] = []
    for delivery in deliveries.deliveries(store, ref, limit):
        about, sent = delivery.about, delivery.message
        found.append(
            {
                "at": recorded(about.created),
                "name": names.get(about.subject, about.subject),
                "subject": about.subject,
                "rule": about.rule,
                "level": about.level,
                "text": about.text,
                "channel": delivery.channel,
                "decision": _word(delivery.decision.state, sent),
                "reason": delivery.decision.reason if sent is None else sent.detail or "being sent",
                "tries": 0 if sent is None else sent.tries,
            }
        )
    return found


def _word(state: str, sent: MessageRow | None) -> str:
    if sent is None:
        return {"muted": "not sent", "dropped": "not sent", "held": "held back", "waiting": "about to be sent"}[state]
    return {channel_rows.OPEN: "being sent", channel_rows.SENT: "sent", channel_rows.DEAD: "given up"}[sent.state]


def queue_test(store: Store, clock: Clock) -> str:
    """A notification that says it is a test; its key."""
    now = clock.now()
    key = key_of("test", repr(now))
    text = "this is a test: Dogwatch alerts will arrive here"
    queue_all(store, [Notification(key, "watch", Level.CRITICAL, text, "test", key, now)], now)
    store.location.wake()
    return key


def receipts(store: Store, key: str) -> list[ReceiptDocument]:
    """What became of a notification on every channel."""
    rows = [one for one in deliveries.deliveries(store, "watch", 200) if one.about.key == key]
    return [
        {
            "channel": one.channel,
            "ok": one.message is not None and one.message.state == channel_rows.SENT,
            "detail": one.decision.reason if one.message is None else one.message.detail,
        }
        for one in sorted(rows, key=lambda one: one.channel)
    ]


def test_is_over(store: Store, key: str) -> bool:
    """Whether every channel has been tried."""
    rows = [one for one in deliveries.deliveries(store, "watch", 200) if one.about.key == key]
    wanted = {row.name for row in channel_rows.channels(store)}
    tried = {
        one.channel
        for one in rows
        if one.decision.state == channel_rows.MUTED or (one.message is not None and one.message.tries)
    }
    return wanted <= tried


def adopt(store: Store, settings: Settings, now: float) -> None:
    """Make the channels of the configuration file those of the store, and leave the others alone."""
    wanted = {one.name: one for one in settings.channels}
    for row in channel_rows.channels(store):
        mine = row.settings.get(FROM_CONFIG)
        one = wanted.get(row.name)
        if mine and one is None:
            channel_rows.remove_channel(store, row.name, now)
        elif mine and one is not None and not _same(row, one.kind, one.settings, one.route):
            kept = {**one.settings, FROM_CONFIG: True}
            channel_rows.change_channel(store, one.name, one.kind, kept, dict(one.route))
        elif one is not None and not mine:
            raise UsageError(
                f"the configuration file has a channel {one.name!r}, and `alerts add` made one of that name"
            )
    there = {row.name for row in channel_rows.channels(store)}
    for one in settings.channels:
        if one.name not in there:
            channel_rows.add_channel(
                store, one.name, one.kind, {**one.settings, FROM_CONFIG: True}, dict(one.route), now
            )


def _same(row: ChannelRow, kind: str, settings: Mapping[str, Setting], route: Route) -> bool:
    kept = {key: value for key, value in row.settings.items() if key != FROM_CONFIG}
    return (row.kind, kept, row.route) == (kind, dict(settings), dict(route))
