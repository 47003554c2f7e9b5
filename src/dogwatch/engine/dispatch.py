"""Dispatch: from notices to letters to messages to receipts, each step a row before the next begins.

A kill between any two steps loses nothing: what was not routed is routed, what was composed is sent as it was
composed, and what was sent but not recorded is sent once more with the same key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dogwatch.channels.interface import PICTURED, Channel
from dogwatch.clock import Clock
from dogwatch.engine import alerting, routing
from dogwatch.engine.afloat import Afloat
from dogwatch.engine.curves import curves
from dogwatch.engine.regular import Clockwork
from dogwatch.engine.routing import Channels
from dogwatch.engine.schedule import Schedule
from dogwatch.engine.senders import Senders, Sent
from dogwatch.errors import StoreDamaged, StoreError, StoreGone
from dogwatch.model import Closing, Item, Level, Message, Notice
from dogwatch.redaction import redacted
from dogwatch.secret import NoSecret
from dogwatch.store import alerts
from dogwatch.store.alerts import DEAD, OPEN, SENT
from dogwatch.store.database import Store

Make = Callable[[Mapping[str, Any]], Channel]
GIVE_UP = 7 * 86400.0  # a message that nobody took for a week is parked where it can be seen
TRIES_LEAST = 30  # and was tried so often: a clock that leaps ahead is no week
LEAVE, STOPPED = 15.0, 4.0  # seconds for what is queued when a watcher leaves, and when a signal asks it to
ROUTED_MOST = 2000
LEAST_REST = 0.05


@dataclass(frozen=True, slots=True)
class _Told:
    """What a message is about, and whether it says something critical or that something is over."""

    subjects: frozenset[str]
    critical: bool
    closes: bool


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
        self._clockwork = Clockwork(store, clock, repeat, digest)
        self._quiet = quiet
        self._senders = Senders()
        self._unrecorded: list[Sent] = []
        self._afloat = Afloat(store, _token)
        self._last: dict[tuple[str, bool], float | None] = {}  # of any message, and of those with something critical
        self._schedule = Schedule()
        self._told: dict[int, _Told] = {}
        self._held_due = float("-inf")
        self._rest = float("inf")

    def tune(self, make: Make, quiet: alerting.Quiet | None, repeat: float, digest: int | None) -> None:
        """Other settings from now on; what is under way ends as it began."""
        self._make, self._quiet = make, quiet
        self._clockwork.tune(repeat, digest)

    def fileno(self) -> int:
        """Readable when there is a receipt to be recorded: the sooner, the less a kill repeats."""
        return self._senders.fileno()

    @property
    def rest(self) -> float:
        """Seconds from the last step until there is something to do that no receipt and no notice announces."""
        return max(LEAST_REST, self._rest)

    def step(self, now_or_never: bool = False) -> None:
        """Everything that can be done now. A store that takes nothing (a full disk) stops no message; what was sent
        meanwhile is remembered and recorded later."""
        self._rest = float("inf")
        self._hear()
        trouble = self._record()
        if not (any(alerts.pending(self._store)) or self._clockwork.due or self._afloat):
            self._told.clear()
        else:
            channels = {row["name"]: row for row in alerts.channels(self._store)}
            trouble = self._prepare(channels, now_or_never) or trouble
            self._send(channels, now_or_never)
        if trouble is not None:
            raise trouble

    def _prepare(self, channels: Channels, now_or_never: bool) -> StoreError | None:
        """From notices to messages: by the rows of the store, or in memory while it takes none."""
        if not channels:
            return None
        trouble: StoreError | None = None
        try:
            if self._landed():
                self._clockwork.say(channels)
                self._route(channels)
                self._compose(channels, now_or_never)
                return None
        except (StoreGone, StoreDamaged):
            raise
        except StoreError as error:
            trouble = error
        at = self._clock.now()
        self._afloat.take(channels, at, self._quiet)
        for name in channels:
            waiting = self._afloat.waiting(name)
            if self._ready(name, waiting, at, now_or_never):
                self._afloat.compose(name, at)
                self._composed(name, waiting, at)
        return trouble

    def _landed(self) -> bool:
        """Whether nothing is held in memory only; what is under way has to come back first."""
        if self._afloat:
            if any(self._senders.under_way(row["key"]) for row in self._afloat.rows()):
                return False
            self._afloat.land(self._clock.now())
        return True

    def _hear(self) -> None:
        """Take the receipts that have come; what is afloat needs no store to be noted."""
        for sent in self._senders.back():
            if sent.message < 0:
                self._record_one(sent, self._clock.now())
            else:
                self._unrecorded.append(sent)

    def flush(self, seconds: float = LEAVE, again: bool = True) -> None:
        """Of a watcher that leaves: everything at once, and wait for what comes of it; what was not taken is tried
        `again` where that is due within these seconds."""
        until = self._clock.mono() + seconds
        trouble: StoreError | None = None
        while True:
            try:
                self.step(now_or_never=True)
            except (StoreGone, StoreDamaged):
                raise
            except StoreError as error:
                trouble = error
            left = until - self._clock.mono()
            pause = left if self._senders.any_busy else self.rest if again else float("inf")
            if left <= 0 or pause > left:
                break
            self._senders.wait_for_one(pause)
        if trouble is not None:
            raise trouble

    def end(self, seconds: float = LEAVE) -> None:
        """Send what is queued, for so long at the most, and record what came of it."""
        self.flush(seconds)
        if self._record() is None:
            self._landed()

    def _record(self) -> StoreError | None:
        """Note what came of tries, oldest first; on a full disk that fails, and the sending goes on."""
        while self._unrecorded:
            try:
                self._record_one(self._unrecorded[0], self._clock.now())
            except StoreError as error:
                return error
            del self._unrecorded[0]
        return None

    def _record_one(self, sent: Sent, now: float) -> None:
        ours = sent.message < 0
        row = self._afloat.row(sent.message) if ours else alerts.message(self._store, sent.message)
        if row is None:
            return
        receipt = sent.receipt
        expired = now - row["created"] > GIVE_UP and row["tries"] >= TRIES_LEAST
        state = SENT if receipt.ok else DEAD if receipt.permanent or expired else OPEN
        due = self._schedule.tried(sent, row["tries"], now, self._clock.mono(), self._told_by(row).critical)
        detail = receipt.detail + (" (given up after a week)" if expired and not receipt.ok else "")
        one = alerts.Try(state, detail, due)
        if ours:
            self._afloat.tried(sent.message, one)
            return
        said = self._of_dead(row, detail, now) if state == DEAD else []
        alerts.tried(self._store, sent.message, now, one, said)

    def _of_dead(self, row: Mapping[str, Any], detail: str, now: float) -> list[Notice]:
        """That a channel does not work is said on the others; its own word about itself would be lost."""
        if all(about["rule"] == "channel_dead" for about in alerts.notices_of(self._store, row["key"])):
            return []
        text = f"the channel {row['channel']} did not take a message for good: {detail}"
        key = hashlib.sha256(f"channel_dead\x1f{row['token']}".encode()).hexdigest()[:32]
        return [Notice(key, "watch", Level.WARNING, text, "channel_dead", row["channel"], now)]

    def _route(self, channels: Channels) -> None:
        while fresh := alerts.unrouted(self._store, ROUTED_MOST):
            now = routing.now_of(self._store, self._clock.now(), fresh, self._quiet)
            done = routing.routed(self._store, fresh, channels, now)
            alerts.route(self._store, done.letters.items(), now.at, done.said)

    def _compose(self, channels: Channels, now_or_never: bool) -> None:
        letters = alerts.open_letters(self._store)
        held = [one for one in letters if one["state"] == alerts.HELD]
        if held and self._clock.mono() >= self._held_due and self._reconsidered(held):
            letters = alerts.open_letters(self._store)
        at = self._clock.now()
        for name in channels:
            waiting = [one for one in letters if one["channel"] == name and one["state"] == alerts.WAITING]
            if self._ready(name, waiting, at, now_or_never):
                alerts.compose(self._store, name, _token(name, waiting), [one["key"] for one in waiting], at)
                self._composed(name, waiting, at)

    def _composed(self, name: str, waiting: Sequence[Mapping[str, Any]], at: float) -> None:
        self._last[name, False] = at
        if alerting.urgent(waiting):
            self._last[name, True] = at

    def _ready(self, name: str, waiting: Sequence[Mapping[str, Any]], at: float, now_or_never: bool) -> bool:
        if not waiting or now_or_never:
            return bool(waiting)
        kind = name, bool(alerting.urgent(waiting))
        if kind not in self._last:
            self._last[kind] = alerts.last_composed(self._store, name, critical=kind[1])
        left = alerting.ready_at(waiting, self._last[kind], at, self._pace) - at
        self._rest = min(self._rest, left if left > 0 else float("inf"))
        return left <= 0

    def _reconsidered(self, held: Sequence[Mapping[str, Any]]) -> bool:
        """Decide again on what is held back; whether anything is decided otherwise."""
        self._held_due = self._clock.mono() + alerting.AGAIN
        now = routing.now_of(self._store, self._clock.now(), (one["about"] for one in held), self._quiet)
        again = [(one, alerting.decide_again(one["about"], now)) for one in held]
        changed = [(one["key"], found) for one, found in again if (found.state, found.reason) != _decision(one)]
        if changed:
            alerts.redecide(self._store, changed)
        return bool(changed)

    def _send(self, channels: Channels, now_or_never: bool) -> None:
        """Whatever is due, one at a time on each channel. A message about a job waits for the earlier ones about it;
        a critical one only for those that are critical or close something."""
        seen = {name: set[str]() for name in channels}
        binding = {name: set[str]() for name in channels}
        unheard = {sent.message for sent in self._unrecorded}
        rows = [*alerts.messages(self._store), *self._afloat.rows()]
        if len(self._told) > 2 * len(rows) + 100:
            self._told.clear()
        for row in rows:
            name = row["channel"]
            if name not in channels:
                continue
            told = self._told_by(row)
            blocked = bool(told.subjects & (binding if told.critical else seen)[name])
            seen[name] |= told.subjects
            binding[name] |= told.subjects if told.critical or told.closes else set()
            if blocked or self._senders.busy(name) or row["key"] in unheard:
                continue
            now, mono = self._clock.now(), self._clock.mono()
            if self._schedule.due(row, now, mono, critical=told.critical, now_or_never=now_or_never):
                self._send_one(name, channels[name], row)
                self._hear()  # the sooner a receipt is written down, the less a kill repeats
                self._record()
            else:
                self._rest = min(self._rest, self._schedule.left(row, now, mono))

    def _told_by(self, row: Mapping[str, Any]) -> _Told:
        key = row["key"]
        if key not in self._told:
            notices = self._notices(row)
            self._told[key] = _Told(
                frozenset(about["subject"] for about in notices),
                any(about["level"] == Level.CRITICAL.value for about in notices),
                any(about["resolved"] for about in notices),
            )
        return self._told[key]

    def _notices(self, row: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = row.get("notices") or alerts.notices_of(self._store, row["key"])
        return found

    def _send_one(self, name: str, channel: Mapping[str, Any], row: Mapping[str, Any]) -> None:
        told = self._notices(row)
        known = alerts.jobs_of(self._store, (about["subject"] for about in told))
        names = {ref: called for ref, (called, _) in known.items()}
        message = message_of({**row, "notices": told}, names)
        if channel["kind"] in PICTURED:
            message = replace(message, curves=tuple(curves(self._store, told, names, row["created"])))
        self._senders.send(name, lambda: self._make(channel), row["key"], message)


def _decision(letter: Mapping[str, Any]) -> tuple[str, str]:
    return letter["state"], letter["reason"]


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
            subject=redacted(about["subject"]),
            name=redacted(names.get(about["subject"], about["subject"])),
            level=Level(about["level"]),
            rule=about["rule"],
            text=about["text"],
            since=about["since"],
            why=about["why"],
            do=about["remedy"],
            resolved=about["resolved"] == Closing.RESOLVED,
            closed=Closing(about["resolved"]).word if about["resolved"] else "",
        )
        for about in row["notices"]
    )
    return Message(row["token"], items, row["created"])


def _token(channel: str, letters: Sequence[Mapping[str, Any]]) -> str:
    parts = [channel, *(letter["about"]["key"] for letter in letters)]
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
