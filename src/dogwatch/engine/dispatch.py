"""Dispatch: from notices to letters to messages to receipts, each step a row before the next begins.

A kill between any two steps loses nothing: what was not routed is routed, what was composed is sent as it was
composed, and what was sent but not recorded is sent once more with the same key.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dogwatch.channels.interface import Channel
from dogwatch.clock import Clock
from dogwatch.engine import alerting, regular
from dogwatch.engine.senders import Senders, Sent
from dogwatch.errors import StoreError
from dogwatch.model import Item, Level, Message, Notice
from dogwatch.secret import NoSecret
from dogwatch.store import alerts, jobs
from dogwatch.store.alerts import DEAD, OPEN, SENT, WAITING, Decision
from dogwatch.store.database import Store
from dogwatch.store.tick import open_findings, queue_notices

Make = Callable[[Mapping[str, Any]], Channel]
GIVE_UP = 7 * 86400.0  # a message that nobody took for a week is parked where it can be seen
FLUSH = 30.0
REGULARLY = 20.0
PATIENCE = 5.0  # for what is under way when the watcher is stopped
NAMES_MOST = 20000


class Dispatch:
    """The alerts' part of a watcher; `step` is called at every beat and never waits for a receiver."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        make: Make,
        quiet: alerting.Quiet | None = None,
        repeat: float = alerting.REPEAT,
        pace: alerting.Pace | None = None,
        digest: int | None = None,
    ) -> None:
        self._store, self._clock, self._make = store, clock, make
        self._pace = pace or alerting.Pace()
        self._digest, self._clock_due = digest, float("-inf")
        self._quiet, self._repeat = quiet, repeat
        self._senders = Senders()
        self._unrecorded: dict[int, Sent] = {}
        self._last: dict[str, float] = {}
        self._chance = random.Random()

    def step(self) -> None:
        """Everything that can be done now. A store that takes nothing (a full disk) stops no message that is
        composed already; what was sent meanwhile is remembered and recorded later."""
        for sent in self._senders.back():
            self._unrecorded[sent.message] = sent
        trouble = self._record()
        channels = {row["name"]: row for row in alerts.channels(self._store)}
        if not channels:
            return
        try:
            self._by_the_clock(channels)
            self._route(channels)
            self._compose(channels)
        except StoreError as error:
            trouble = trouble or error
        self._send(channels)
        if trouble is not None:
            raise trouble

    def flush(self, seconds: float = FLUSH) -> None:
        """Of a watcher that looks once: everything at once, and wait for what comes of it."""
        channels = {row["name"]: row for row in alerts.channels(self._store)}
        if not channels:
            return
        self._route(channels)
        self._compose(channels, now_or_never=True)
        until = self._clock.mono() + seconds
        while self._clock.mono() < until:
            self._send(channels)
            self._senders.wait(max(0.1, until - self._clock.mono()))
            back = self._senders.back()
            for sent in back:
                self._unrecorded[sent.message] = sent
            trouble = self._record()
            if trouble is not None:
                raise trouble
            if not back:
                return

    def end(self) -> None:
        """Give what is under way a moment, and record what came of it."""
        self._senders.wait(PATIENCE)
        for sent in self._senders.back():
            self._unrecorded[sent.message] = sent
        self._record()

    def _record(self) -> StoreError | None:
        now = self._clock.now()
        for number, sent in list(self._unrecorded.items()):
            try:
                self._record_one(sent, now)
            except StoreError as error:
                return error
            del self._unrecorded[number]
        return None

    def _record_one(self, sent: Sent, now: float) -> None:
        row = next((one for one in alerts.messages(self._store) if one["key"] == sent.message), None)
        if row is None:
            return
        receipt = sent.receipt
        expired = now - row["created"] > GIVE_UP
        state = SENT if receipt.ok else DEAD if receipt.permanent or expired else OPEN
        due = now + alerting.backoff(row["tries"], self._chance.random(), receipt.after)
        detail = receipt.detail + (" (given up after a week)" if expired and not receipt.ok else "")
        alerts.tried(self._store, sent.message, now, state=state, detail=detail, due=due)
        if state == DEAD:
            self._tell_others(row, detail, now)

    def _tell_others(self, row: Mapping[str, Any], detail: str, now: float) -> None:
        """That a channel does not work is said on the others; its own word about itself would be lost."""
        if row["notices"] and all(about["rule"] == "channel_dead" for about in row["notices"]):
            return
        text = f"the channel {row['channel']} did not take a message for good: {detail}"
        key = hashlib.sha256(f"channel_dead\x1f{row['token']}".encode()).hexdigest()[:32]
        notice = Notice(key, "watch", Level.WARNING, text, "channel_dead", row["channel"], now)
        queue_notices(self._store, [notice], now)

    def _by_the_clock(self, channels: Mapping[str, Mapping[str, Any]]) -> None:
        """Repeats, the end of flapping, the digest and progress; looked at now and then."""
        mono = self._clock.mono()
        if mono < self._clock_due:
            return
        self._clock_due = mono + REGULARLY
        now, standing = self._clock.now(), open_findings(self._store)
        found, last = alerts.flapping(self._store, now - 86400.0)
        said = [*regular.repeats(standing, now, self._repeat), *regular.settled(found, last, standing, now)]
        known = jobs.brief(self._store, everything=True) if self._digest is not None else []
        if self._digest is not None and (told := regular.digest(known, len(standing), self._digest, now)) is not None:
            said.append(told)
        if any("progress" in (row["route"].get("levels") or ()) for row in channels.values()):
            said += regular.progress(jobs.brief(self._store), now)
        if said:
            queue_notices(self._store, said, now)

    def _route(self, channels: Mapping[str, Mapping[str, Any]]) -> None:
        fresh = alerts.unrouted(self._store)
        if not fresh:
            return
        now = self._now()
        decided: list[tuple[int, dict[str, Decision], Mapping[str, Any]]] = []
        for notice in fresh:
            flaps = self._flaps(notice, now)
            letters = {
                name: alerting.decide(
                    notice, row["route"], now, flaps=flaps, opening_said=self._opening_said(name, notice, decided)
                )
                for name, row in channels.items()
                if row["added"] <= notice["created"]
                and not (notice["rule"] == "channel_dead" and notice["what"] == name)
            }
            decided.append((notice["id"], letters, notice))
        alerts.route(self._store, [(id, letters) for id, letters, _ in decided], now.at)

    def _flaps(self, notice: Mapping[str, Any], now: alerting.Now) -> int:
        if notice["resolved"] or notice["rule"] in ("ended", "flapping", "digest"):
            return 0
        identity = notice["subject"], notice["rule"], notice["what"]
        times = alerts.openings(self._store, *identity, now.at - alerting.FLAP_WINDOW)
        if len(times) == alerting.FLAPS + 1:
            self._say_flapping(notice, times, now.at)
        return len(times)

    def _say_flapping(self, notice: Mapping[str, Any], times: Sequence[float], now: float) -> None:
        text = f"{notice['rule']} is flapping: {len(times)} times within the hour; muted until it has rested"
        parts = ("flapping", notice["subject"], notice["rule"], notice["what"], repr(times[0]))
        key = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        about = f"{notice['rule']}\x1f{notice['what']}"
        said = Notice(key, notice["subject"], Level.WARNING, text, "flapping", about, now)
        queue_notices(self._store, [said], now)

    def _opening_said(self, channel: str, notice: Mapping[str, Any], decided: Sequence[Any]) -> bool:
        """Whether this channel was told that it began: also when that is decided in this very step."""
        if not notice["resolved"]:
            return True
        identity = notice["subject"], notice["rule"], notice["what"]
        for _, letters, earlier in reversed(decided):
            if (earlier["subject"], earlier["rule"], earlier["what"]) == identity and not earlier["resolved"]:
                return channel in letters and letters[channel].state == WAITING
        return alerts.sent_opening(self._store, channel, *identity)

    def _now(self) -> alerting.Now:
        rows = jobs.brief(self._store, everything=True)[-NAMES_MOST:]
        standing = open_findings(self._store)
        return alerting.Now(
            at=self._clock.now(),
            open=frozenset((one.finding.subject, one.finding.rule, one.finding.what) for one in standing),
            dark=frozenset(_place(one.finding.subject) for one in standing if one.finding.rule == "place_dark"),
            places={row["ref"]: row["place"] for row in rows},
            names={row["ref"]: row["name"] for row in rows},
            silences=alerts.silences(self._store),
            quiet=self._quiet,
        )

    def _compose(self, channels: Mapping[str, Mapping[str, Any]], now_or_never: bool = False) -> None:
        letters = alerts.open_letters(self._store)
        if not letters:
            return
        at = self._clock.now()
        late = [one for one in letters if one["state"] == alerts.HELD and one["due"] <= at]
        if late:
            now = self._now()
            alerts.redecide(self._store, [(one["key"], alerting.decide_again(one["about"], now)) for one in late])
            letters = alerts.open_letters(self._store)
        for name in channels:
            waiting = [one for one in letters if one["channel"] == name and one["state"] == WAITING]
            if waiting and (now_or_never or alerting.ready(waiting, self._last.get(name), at, self._pace)):
                token = _token(name, waiting)
                alerts.compose(self._store, name, token, [one["key"] for one in waiting], at)
                self._last[name] = at

    def _send(self, channels: Mapping[str, Mapping[str, Any]]) -> None:
        """Whatever is due, one at a time on each channel; a message about a job waits for the earlier ones about it."""
        at, seen = self._clock.now(), {name: set[str]() for name in channels}
        names: Mapping[str, str] | None = None
        for row in alerts.messages(self._store):
            name = row["channel"]
            if name not in channels:
                continue
            subjects = {about["subject"] for about in row["notices"]}
            blocked = bool(subjects & seen[name])
            seen[name] |= subjects
            # A clock that was set back must not make a message wait until it has caught up.
            due = row["due"] <= at or row["due"] > at + 2 * 3600 or row["created"] > at
            if blocked or not due or self._senders.busy(name) or row["key"] in self._unrecorded:
                continue
            if names is None:
                names = {one["ref"]: one["name"] for one in jobs.brief(self._store, everything=True)}
            self._send_one(name, channels[name], row, names)

    def _send_one(
        self, name: str, channel: Mapping[str, Any], row: Mapping[str, Any], names: Mapping[str, str]
    ) -> None:
        self._senders.send(name, lambda: self._make(channel), row["key"], message_of(row, names))


def try_channel(row: Mapping[str, Any], make: Make, at: float) -> dict[str, Any]:
    """One message that says it is a test, sent as every other is; the receipt."""
    text = "this is a test; alerts of Dogwatch arrive here"
    token = hashlib.sha256(f"test\x1f{row['name']}\x1f{at!r}".encode()).hexdigest()[:32]
    message = Message(token, (Item(token, "watch", "test", Level.INFO, "test", text, at),), at)
    try:
        receipt = make(row).deliver(message)
    except NoSecret as missing:
        return {"channel": row["name"], "ok": False, "detail": str(missing)}
    return {"channel": row["name"], "ok": receipt.ok, "detail": receipt.detail}


def message_of(row: Mapping[str, Any], names: Mapping[str, str]) -> Message:
    """The message as it goes out: the same at every try, since it is made of rows that no longer change."""
    items = tuple(
        Item(
            key=about["key"],
            subject=about["subject"],
            name=names.get(about["subject"], about["subject"]),
            level=Level(about["level"]),
            rule=about["rule"],
            text=about["text"],
            since=about["since"],
            why=about["why"],
            do=about["remedy"],
            resolved=bool(about["resolved"]),
        )
        for about in row["notices"]
    )
    return Message(row["token"], items, row["created"])


def _place(subject: str) -> str:
    return subject.removeprefix("place:")


def _token(channel: str, letters: Sequence[Mapping[str, Any]]) -> str:
    parts = [channel, *(letter["about"]["key"] for letter in letters)]
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
