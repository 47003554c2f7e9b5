"""Alerts: what a person may ask and say about them, the same for every face."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pkgutil
import re
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

from dogwatch import rules, secret
from dogwatch import settings as file
from dogwatch.clock import Clock, stamp
from dogwatch.errors import UsageError
from dogwatch.model import Level, Notice
from dogwatch.settings import NEEDS, OPTIONAL, Settings, check_route
from dogwatch.store import alerts, bell, faults, jobs
from dogwatch.store.database import Store
from dogwatch.store.home import make_private, open_private, sync_directory
from dogwatch.store.tick import open_findings, queue_notices
from dogwatch.text import named, plain

SECRETS = "secrets"
FROM_CONFIG = "from_config"
OUTSIDE = "outside"  # of a channel that a job's file names, in whatever form: it may not lead into a private network
SPOKEN = ("ended", "started", "milestone", "checkpoint", "progress", "digest", "flapping", "channel_dead", "store_full")
RULES = {one.name for one in pkgutil.iter_modules(rules.__path__) if one.name != "interface"} | set(SPOKEN)
WEB = ("webhook", "slack", "discord")


def add(
    store: Store,
    clock: Clock,
    kind: str,
    settings: Mapping[str, Any],
    route: Mapping[str, Any],
    name: str,
    instead: bool = False,
) -> str:
    """A channel, checked, or another in its place (`instead`); a URL or other secret that was given literally is moved
    to a file of 0600 and kept by reference. Its name."""
    named(name, "channel name")
    check_route(route, "")
    row = next((row for row in alerts.channels(store) if row["name"] == name), None)
    if row is not None and not instead:
        raise alerts.taken(name)
    kept = dict(settings)
    if kind == "apprise":
        check_apprise(kept.get("url", ""))
    if "url" in kept and not kept["url"].startswith(secret.KINDS):
        check_url(kind, kept["url"])
        kept["url"] = hide(store.home, f"{name}.url", kept["url"])
    for key in kept:
        if key not in NEEDS[kind] and key not in (FROM_CONFIG, OUTSIDE):
            raise UsageError(f"a {kind} channel has no use for a {key}")
    for key, check in NEEDS[kind].items():
        if key not in kept and key not in OPTIONAL:
            raise UsageError(f"a {kind} channel needs {key}")
        if key in kept:
            check(kept[key], key)
    if row is None:
        alerts.add_channel(store, name, kind, kept, dict(route), clock.now())
    else:
        alerts.change_channel(store, name, kind, kept, dict(route))
        _unhide(store.home, row)
    bell.ring(store.home)
    return name


def for_job(
    store: Store,
    clock: Clock,
    job: str,
    email: Mapping[str, Any] | None,
    slack: str | None,
    from_file: Collection[str] = (),
) -> None:
    """The channels that a job's own flags or file name; they take what is said about that job, and are made once. What
    stands in the file (`from_file` names the kinds) is not the owner's word: it may not lead into a private network."""
    wanted = {"email": email, "slack": None if slack is None else {"url": slack}}
    for kind, settings in wanted.items():
        if settings is not None:
            marked = of_job_file(kind, settings) if kind in from_file else settings
            add(store, clock, kind, marked, {"jobs": [_literally(job)]}, f"{job}-{kind}", instead=True)


def of_job_file(kind: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """A channel as a job's file names it, marked as such; a private address is refused, before anything connects to
    it, unless it is the mail server of the owner's own configuration."""
    marked = {**settings, OUTSIDE: True}
    url = str(settings.get("url", ""))
    if url and not url.startswith(secret.KINDS) and is_inside(url):
        raise UsageError(
            "the Slack URL of the job file is on a private network, where only you may point: say it as --alert-slack"
        )
    host = settings.get("host")
    if kind == "email" and host is not None and is_inside(f"smtp://{bracketed(host)}"):
        own = file.load(file.path(os.environ)).smtp
        if own.at(host, settings.get("port")) is not own:
            raise UsageError(
                f"smtp_server {plain(host, 60)} of the job file is on a private network, where only you may point:"
                " name it in the [smtp] section of your configuration file"
            )
    return marked


def bracketed(host: str) -> str:
    """A host as it stands in a URL."""
    return f"[{host}]" if ":" in host else host


def _literally(name: str) -> str:
    """A name as a pattern that only it matches."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def free_name(store: Store, kind: str) -> str:
    """The kind, or the kind with a number, that no channel has yet."""
    taken = {row["name"] for row in alerts.channels(store)}
    return next(name for name in (kind, *(f"{kind}-{n}" for n in range(2, 1000))) if name not in taken)


def check_url(kind: str, url: str) -> None:
    """One that can be meant; the sentence never repeats it, since it is a secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise UsageError(f"the URL of a {kind} channel is not one") from None
    if any(ord(char) <= 32 for char in url) or not re.fullmatch(r"[a-z][a-z0-9+.-]{1,30}", parts.scheme):
        raise UsageError(f"the URL of a {kind} channel is not one: it begins with a scheme and has no blanks")
    if kind in WEB and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise UsageError(f"the URL of a {kind} channel begins with https:// (or http://) and a host")


def check_apprise(url: str) -> None:
    """That there is Apprise, and that it knows such URLs; what is behind a reference is seen when it is used."""
    from dogwatch.channels import apprise

    unusable = apprise.unusable(None if url.startswith(secret.KINDS) else url)
    if unusable:
        raise UsageError(unusable)


def notes(settings: Mapping[str, Any], route: Mapping[str, Any]) -> list[str]:
    """What whoever adds a channel should know, though nothing is wrong with it."""
    url, found = str(settings.get("url", "")), []
    if url.startswith(("http:", "https:")) and is_inside(url):
        found.append("this URL is on a private network; it is used as you say, because you are its owner")
    for key in ("url", "secret"):
        reference = str(settings.get(key, ""))
        if reference.startswith(secret.KINDS):
            try:
                secret.read(reference)
            except secret.NoSecret as missing:
                found.append(f"{missing}; whoever watches needs it when an alert is to be sent")
    for rule in route.get("rules", ()):
        if not any(fnmatchcase(known, rule) for known in RULES):
            found.append(f"no rule is called {rule!r}; there are {', '.join(sorted(RULES))}")
    return found


def is_inside(url: str) -> bool:
    """Whether a URL names an address of a private network by itself."""
    from dogwatch.channels.timed import public

    host = urlsplit(url).hostname or ""
    try:
        return not public(host)
    except ValueError:
        return host == "localhost" or host.endswith((".local", ".internal", ".lan"))


def hide(home: str, name: str, text: str) -> str:
    """Put a secret into a file that only its owner can read; the reference to it."""
    folder = os.path.join(home, SECRETS)
    make_private(folder)
    # Never a name that is there: another channel may live by it.
    path = os.path.join(folder, f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)[:100]}-{token_hex(4)}")
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
        raise faults.of_os(error, path) from None
    return f"file:{path}"


def keep(path: str, text: str) -> None:
    """Keep a text beside the store, whole or not at all, unless it lies there already. It is only a copy: a full disk
    is no trouble."""
    held, aside = "", f"{path}.new"
    with contextlib.suppress(OSError, UnicodeDecodeError), open(path, encoding="utf-8") as opened:
        held = opened.read()
    if held == text:
        return
    with contextlib.suppress(OSError):
        fd = open_private(aside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        with open(fd, "w", encoding="utf-8") as fresh:
            fresh.write(text)
            fresh.flush()
            os.fsync(fd)
        os.replace(aside, path)


def _unhide(home: str, row: Mapping[str, Any]) -> None:
    """Remove the secret of a channel that is no more, if we had put it there."""
    kind, _, path = str(row["settings"].get("url", "")).partition(":")
    if kind == "file" and os.path.dirname(path) == os.path.join(home, SECRETS):
        with contextlib.suppress(OSError):
            os.unlink(path)


def removable(store: Store, names: Iterable[str]) -> None:
    """Whether all of these can be removed, before one of them is."""
    rows = {row["name"]: row for row in alerts.channels(store)}
    for name in names:
        if name not in rows:
            raise UsageError(f"there is no channel called {name!r}; `dogwatch alerts ls` lists them")
        if rows[name]["settings"].get(FROM_CONFIG):
            raise UsageError(f"the channel {name!r} is in the configuration file; take it out there")


def remove(store: Store, clock: Clock, name: str) -> None:
    removable(store, [name])
    row = next((row for row in alerts.channels(store) if row["name"] == name), None)
    alerts.remove_channel(store, name, clock.now())
    if row is not None:
        _unhide(store.home, row)
    bell.ring(store.home)


def listing(store: Store) -> list[dict[str, Any]]:
    """The channels with what they take; secrets as the references that they are."""
    return [
        {
            "name": row["name"],
            "kind": row["kind"],
            "settings": {key: value for key, value in row["settings"].items() if key not in (FROM_CONFIG, OUTSIDE)},
            "route": row["route"],
            "from_config": bool(row["settings"].get(FROM_CONFIG)),
            "added": stamp(row["added"]),
        }
        for row in alerts.channels(store)
    ]


def of_the_file(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """What of the configuration file is not among these channels, and why."""
    try:
        wanted = {one.name for one in file.load(file.path(os.environ)).channels}
    except UsageError as error:
        return [f"the configuration file is not used: {error}"]
    missing = wanted - {row["name"] for row in rows if row["from_config"]}
    return [f"{name} is in the configuration file; a watcher takes it over when it looks" for name in sorted(missing)]


def overview(store: Store, now: float) -> dict[str, Any]:
    """What stands open, what is silenced, what has not been delivered."""
    names = {row["ref"]: row["name"] for row in jobs.brief(store, everything=True)}
    standing = alerts.silences(store)
    acknowledged = {(row["subject"], row["rule"], row["what"]) for row in standing if row["what"] is not None}
    return {
        "open": [
            {
                "subject": one.finding.subject,
                "name": names.get(one.finding.subject),
                "rule": one.finding.rule,
                "level": one.finding.level.value,
                "text": one.finding.text,
                "since": stamp(one.opened),
                "acknowledged": (one.finding.subject, one.finding.rule, one.finding.what) in acknowledged,
            }
            for one in open_findings(store)
        ],
        "silences": [_silence(row) for row in standing if row["until"] is None or row["until"] > now],
        "undelivered": [
            {
                "message": row["token"],
                "channel": row["channel"],
                "state": "given up" if row["state"] == alerts.DEAD else "waiting",
                "tries": row["tries"],
                "detail": row["detail"],
                "since": stamp(row["created"]),
                "next_try": stamp(row["due"]) if row["state"] == alerts.OPEN else None,
                "notices": [
                    f"{names.get(n['subject'], n['subject'])}: {n['text']}"
                    for n in alerts.notices_of(store, row["key"])[:20]
                ],
            }
            for row in [*alerts.messages(store, alerts.OPEN), *alerts.messages(store, alerts.DEAD)]
        ],
        "held": len([one for one in alerts.open_letters(store) if one["state"] == alerts.HELD]),
    }


def _silence(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": row["key"],
        "subject": row["subject"],
        "rule": row["rule"] or "*",
        "acknowledged": row["what"] is not None,
        "until": stamp(row["until"]),
        "why": row["why"],
        "created": stamp(row["created"]),
    }


def silence(store: Store, clock: Clock, subject: str, rule: str, seconds: float, why: str) -> int:
    """Durable when this returns. `subject` is a ref or a name, with * and ? for many."""
    now = clock.now()
    found = alerts.silence(store, subject, rule, None, now + seconds, why, now)
    bell.ring(store.home)
    return found


def ack(store: Store, clock: Clock, ref: str, rule: str | None, why: str) -> list[int]:
    """Say no more of what stands open about a job until it has resolved."""
    now = clock.now()
    standing = [one.finding for one in open_findings(store) if one.finding.subject == ref]
    standing = [one for one in standing if rule is None or one.rule == rule]
    if not standing:
        raise UsageError(f"nothing stands open about {ref}" + (f" by the rule {rule}" if rule else ""))
    held = {(row["subject"], row["rule"], row["what"]): row["key"] for row in alerts.silences(store)}
    return [
        held.get((one.subject, one.rule, one.what))
        or alerts.silence(store, one.subject, one.rule, one.what, None, why, now)
        for one in standing
    ]


def end_silence(store: Store, clock: Clock, number: int) -> None:
    if not alerts.end_silence(store, number, clock.now()):
        raise UsageError(f"there is no silence #{number}; `dogwatch alerts` lists them")


def retry(store: Store, clock: Clock) -> int:
    count = alerts.revive(store, clock.now())
    bell.ring(store.home)
    return count


def explain(store: Store, ref: str | None, limit: int) -> list[dict[str, Any]]:
    """Every decision of late: what was sent where, what was not, and why."""
    names = {row["ref"]: row["name"] for row in jobs.brief(store, everything=True)}
    found = []
    for letter in alerts.letters_of(store, ref, limit):
        about, sent = letter["about"], letter["sent"]
        found.append(
            {
                "at": stamp(about["created"]),
                "name": names.get(about["subject"], about["subject"]),
                "subject": about["subject"],
                "rule": about["rule"],
                "level": about["level"],
                "text": about["text"],
                "channel": letter["channel"],
                "decision": _word(letter["state"], sent),
                "reason": letter["reason"] if sent is None else sent["detail"] or "it is on its way",
                "tries": 0 if sent is None else sent["tries"],
            }
        )
    return found


def _word(state: str, sent: Mapping[str, Any] | None) -> str:
    if sent is None:
        return {"muted": "not sent", "dropped": "not sent", "held": "held back", "waiting": "about to be sent"}[state]
    return {alerts.OPEN: "being sent", alerts.SENT: "sent", alerts.DEAD: "given up"}[sent["state"]]


def queue_test(store: Store, clock: Clock) -> str:
    """A notice that says it is a test; its key."""
    now = clock.now()
    key = hashlib.sha256(f"test\x1f{now!r}".encode()).hexdigest()[:32]
    text = "this is a test; alerts of Dogwatch arrive here"
    queue_notices(store, [Notice(key, "watch", Level.CRITICAL, text, "test", key, now)], now)
    bell.ring(store.home)
    return key


def receipts(store: Store, key: str) -> list[dict[str, Any]]:
    """What became of a notice on every channel."""
    rows = [one for one in alerts.letters_of(store, "watch", 200) if one["about"]["key"] == key]
    return [
        {
            "channel": one["channel"],
            "ok": one["sent"] is not None and one["sent"]["state"] == alerts.SENT,
            "detail": one["reason"] if one["sent"] is None else one["sent"]["detail"],
        }
        for one in sorted(rows, key=lambda one: str(one["channel"]))
    ]


def test_is_over(store: Store, key: str) -> bool:
    """Whether every channel has been tried."""
    rows = [one for one in alerts.letters_of(store, "watch", 200) if one["about"]["key"] == key]
    wanted = {row["name"] for row in alerts.channels(store)}
    tried = {one["channel"] for one in rows if one["state"] == alerts.MUTED or (one["sent"] and one["sent"]["tries"])}
    return wanted <= tried


def adopt(store: Store, settings: Settings, now: float) -> None:
    """Make the channels of the configuration file those of the store, and leave the others alone."""
    wanted = {one.name: one for one in settings.channels}
    for row in alerts.channels(store):
        mine = row["settings"].get(FROM_CONFIG)
        one = wanted.get(row["name"])
        if mine and one is None:
            alerts.remove_channel(store, row["name"], now)
        elif mine and one is not None and not _same(row, one.kind, one.settings, one.route):
            kept = {**one.settings, FROM_CONFIG: True}
            alerts.change_channel(store, one.name, one.kind, kept, dict(one.route))
        elif one is not None and not mine:
            raise UsageError(
                f"the configuration file has a channel {one.name!r}, and `alerts add` made one of that name"
            )
    there = {row["name"] for row in alerts.channels(store)}
    for one in settings.channels:
        if one.name not in there:
            alerts.add_channel(store, one.name, one.kind, {**one.settings, FROM_CONFIG: True}, dict(one.route), now)


def _same(row: Mapping[str, Any], kind: str, settings: Mapping[str, Any], route: Mapping[str, Any]) -> bool:
    kept = {key: value for key, value in row["settings"].items() if key != FROM_CONFIG}
    return (row["kind"], kept, row["route"]) == (kind, dict(settings), dict(route))
