"""Dispatch: from notifications to deliveries to messages to receipts, each step a row before the next begins.

A kill between any two steps loses nothing: what was not routed is routed, what was composed is sent as it was
composed, and what was sent but not recorded is sent once more with the same key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dogwatch.channels import registry
from dogwatch.channels.interface import Channel, Receipt
from dogwatch.clock import Clock
from dogwatch.digest import key_of
from dogwatch.errors import StoreDamaged, StoreError, StoreFull, StoreGone, StoreReadOnly
from dogwatch.model import Closing, Item, Level, Message, Notification
from dogwatch.redaction import redacted
from dogwatch.secret import NoSecret
from dogwatch.store.interface import Store
from dogwatch.store.rows import channels as channel_rows
from dogwatch.store.rows import deliveries, notifications
from dogwatch.store.rows import jobs as job_rows
from dogwatch.store.rows.channels import ALONE, DEAD, OPEN, SENT, TERMINAL, WAITING, ChannelRow, MessageRow
from dogwatch.store.rows.deliveries import Decision, Delivery
from dogwatch.store.rows.findings import open_findings
from dogwatch.store.rows.notifications import NotificationRow
from dogwatch.watcher.alerts import policy, routing
from dogwatch.watcher.alerts.curves import curves
from dogwatch.watcher.alerts.memory_messages import SENT_FROM_MEMORY, STORE_FULL, MemoryMessages, unwritable
from dogwatch.watcher.alerts.periodic import Clockwork
from dogwatch.watcher.alerts.retries import Schedule
from dogwatch.watcher.alerts.routing import Channels
from dogwatch.watcher.alerts.senders import Senders, Sent

Make = Callable[[ChannelRow], Channel]
GIVE_UP = 7 * 86400.0  # a message that nobody took for a week is parked where it can be seen
TRIES_LEAST = 30  # and was tried so often: a clock that leaps ahead is no week
LEAVE, STOPPED = 15.0, 4.0  # seconds for what is queued when a watcher leaves, and when a signal asks it to
ROUTED_MOST = 2000
LEAST_REST = 0.05


@dataclass(frozen=True, slots=True)
class _Content:
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
        quiet: policy.Quiet | None = None,
        repeat: float = policy.REPEAT,
        pace: policy.Pace | None = None,
        digest: int | None = None,
        terminal: Channel | None = None,
    ) -> None:
        self._store, self._clock, self._make, self._terminal = store, clock, make, terminal
        self._pace = pace or policy.Pace()
        self._clockwork = Clockwork(store, clock, repeat, digest)
        self._quiet = quiet
        self._senders = Senders()
        self._unrecorded: list[Sent] = []
        self._memory = MemoryMessages()
        self.refusal = ""  # why the store does not take the ticks of this watcher; empty while it does
        # When the newest were made: of all messages, and of those with something critical.
        self._last: dict[tuple[str, bool], list[float]] = {}
        self._schedule = Schedule()
        self._contents: dict[int, _Content] = {}
        self._held_due = float("-inf")
        self._rest = float("inf")

    def tune(self, make: Make, quiet: policy.Quiet | None, repeat: float, digest: int | None) -> None:
        """Other settings from now on; what is under way ends as it began."""
        self._make, self._quiet = make, quiet
        self._clockwork.tune(repeat, digest)

    def fileno(self) -> int:
        """Readable when there is a receipt to be recorded: the sooner, the less a kill repeats."""
        return self._senders.fileno()

    @property
    def rest(self) -> float:
        """Seconds from the last step until there is something to do that no receipt and no notification announces."""
        return max(LEAST_REST, self._rest)

    def step(self, now_or_never: bool = False) -> None:
        """Everything that can be done now. A store that takes nothing (a full disk) stops no message; what was sent
        meanwhile is remembered and recorded later."""
        self._rest = float("inf")
        self._hear()
        trouble = self._record()
        if not (any(deliveries.pending(self._store)) or self._clockwork.due or self._memory.rows() or self.refusal):
            self._contents.clear()
            self._memory.forget()
        else:
            channels = {row.name: row for row in (channel_rows.terminal_channel(), *channel_rows.channels(self._store))}
            trouble = self._prepare(channels, now_or_never) or trouble
            self._send(channels, now_or_never)
        if trouble is not None:
            raise trouble
        if not self.refusal and not self._memory.rows():
            self._memory.forget_alert()

    def _prepare(self, channels: Channels, now_or_never: bool) -> StoreError | None:
        """From notifications to messages: in rows of the store, or in memory while it takes none."""
        trouble: StoreError | None = None
        under_way = any(self._senders.under_way(row.key) for row in self._memory.rows())
        try:
            if not under_way:  # what came of it decides whether it is sent again
                self._clockwork.say(channels)
                self._route(channels)
                self._compose(channels, now_or_never)
                self._memory.written(bool(self.refusal))
        except (StoreGone, StoreDamaged):
            raise
        except StoreError as error:
            trouble = error
        refusal = self.refusal or (str(trouble) if isinstance(trouble, StoreFull | StoreReadOnly) else "")
        if refusal and not now_or_never:  # one who leaves would say it at each visit
            self._say_unwritable(channels, refusal)
        if trouble is not None:
            self._compose_in_memory(channels)
        return trouble

    def _say_unwritable(self, channels: Channels, refusal: str) -> None:
        """On every channel, at once and once; not where the store could still take that finding itself. On the terminal
        the watcher narrates it."""
        at = self._clock.now()
        if not any(finding.rule == STORE_FULL for finding in open_findings(self._store)):
            for name in channels:
                if name != TERMINAL:
                    self._memory.compose(name, [unwritable(refusal, at)], at)

    def _compose_in_memory(self, channels: Channels) -> None:
        """What was written before the store took no more writes leaves at once."""
        at, fresh = self._clock.now(), notifications.unrouted(self._store)
        now = routing.now_of(self._store, at, fresh, self._quiet)
        decisions = routing.routed(self._store, fresh, channels, now).decisions
        waiting = [one for one in deliveries.open_deliveries(self._store) if one.decision.state == WAITING]
        for name in channels:
            about = [delivery.about for delivery in waiting if delivery.channel == name]
            for notification in fresh:
                decision = decisions[notification.id].get(name)
                about += [notification] if decision is not None and decision.state in (WAITING, ALONE) else []
            self._memory.compose(name, about, at)

    def _hear(self) -> None:
        """Take the receipts that have come; of messages in memory no row is needed."""
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
        self._record()

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
        in_memory = sent.message < 0
        row = self._memory.row(sent.message) if in_memory else deliveries.message(self._store, sent.message)
        if row is None:
            return
        receipt = sent.receipt
        expired = now - row.created > GIVE_UP and row.tries >= TRIES_LEAST
        state = SENT if receipt.ok else DEAD if receipt.permanent or expired else OPEN
        due = self._schedule.tried(sent, row.tries, now, self._clock.mono(), self._content(row).critical)
        detail = receipt.detail + (" (gave up after a week)" if expired and not receipt.ok else "")
        last = deliveries.Try(state, detail, due)
        if in_memory:
            self._memory.tried(sent.message, last)
        else:
            follow = self._of_dead(row, detail, now) if state == DEAD else []
            deliveries.tried(self._store, sent.message, now, last, follow)

    def _of_dead(self, row: MessageRow, detail: str, now: float) -> list[Notification]:
        """That a channel does not work is said on the others; its own word about itself would be lost. A terminal that
        was closed is no news."""
        if row.channel == TERMINAL or all(
            about.rule == "channel_dead" for about in deliveries.notifications_of(self._store, row.key)
        ):
            return []
        text = f"the channel {row.channel} rejects messages permanently: {detail}"
        key = key_of("channel_dead", row.token)
        return [Notification(key, "watch", Level.WARNING, text, "channel_dead", row.channel, now)]

    def _route(self, channels: Channels) -> None:
        while fresh := notifications.unrouted(self._store, ROUTED_MOST):
            now = routing.now_of(self._store, self._clock.now(), fresh, self._quiet)
            done = routing.routed(self._store, fresh, channels, now)
            deliveries.route(self._store, done.decisions.items(), now.at, done.follow)

    def _compose(self, channels: Channels, now_or_never: bool) -> None:
        open_deliveries = deliveries.open_deliveries(self._store)
        held = [delivery for delivery in open_deliveries if delivery.decision.state == channel_rows.HELD]
        if held and self._clock.mono() >= self._held_due and self._reconsidered(held):
            open_deliveries = deliveries.open_deliveries(self._store)
        at = self._clock.now()
        for name in channels:
            waiting = [one for one in open_deliveries if one.channel == name and one.decision.state == WAITING]
            sent = [delivery for delivery in waiting if self._memory.was_sent(name, delivery.about)]
            if sent:
                deliveries.compose(self._store, name, sent, at)
                waiting = [delivery for delivery in waiting if delivery not in sent]
            if self._ready(name, waiting, at, now_or_never):
                deliveries.compose(self._store, name, waiting, at)
                self._composed(name, waiting, at)

    def _composed(self, name: str, waiting: Sequence[Delivery], at: float) -> None:
        for critical in (False, True) if policy.urgent(waiting) else (False,):
            self._last[name, critical] = [at, *self._newest(name, critical)][: policy.STORM]

    def _ready(self, name: str, waiting: Sequence[Delivery], at: float, now_or_never: bool) -> bool:
        if not waiting or now_or_never:
            return bool(waiting)
        newest = self._newest(name, bool(policy.urgent(waiting)))
        left = policy.ready_at(waiting, newest, at, self._pace) - at
        self._rest = min(self._rest, left if left > 0 else float("inf"))
        return left <= 0

    def _newest(self, name: str, critical: bool) -> list[float]:
        if (name, critical) not in self._last:
            self._last[name, critical] = deliveries.last_composed(self._store, name, policy.STORM, critical=critical)
        return self._last[name, critical]

    def _reconsidered(self, held: Sequence[Delivery]) -> bool:
        """Decide again on what is held back; whether anything is decided otherwise."""
        self._held_due = self._clock.mono() + policy.AGAIN
        now = routing.now_of(self._store, self._clock.now(), (delivery.about for delivery in held), self._quiet)
        again = [(delivery, policy.decide_again(delivery.about, now)) for delivery in held]
        changed = [(delivery.key, new) for delivery, new in again if _what(new) != _what(delivery.decision)]
        if changed:
            deliveries.redecide(self._store, changed)
        return bool(changed)

    def _send(self, channels: Channels, now_or_never: bool) -> None:
        """Whatever is due, one at a time on each channel. A message about a job waits for the earlier ones about it;
        a critical one only for those that are critical or close something."""
        seen = {name: set[str]() for name in channels}
        binding = {name: set[str]() for name in channels}
        unrecorded = {sent.message for sent in self._unrecorded}
        rows = [*deliveries.messages(self._store), *self._memory.rows()]
        if len(self._contents) > 2 * len(rows) + 100:
            self._contents.clear()
        for row in rows:
            name = row.channel
            if name not in channels or (name == TERMINAL and self._terminal is None):
                continue
            if self._sent_from_memory(row):  # also while the channel is busy: soon nobody remembers that it was sent
                continue
            content = self._content(row)
            blocked = bool(content.subjects & (binding if content.critical else seen)[name])
            if name != TERMINAL:  # which takes each at once
                seen[name] |= content.subjects
                binding[name] |= content.subjects if content.critical or content.closes else set()
            if not (blocked or self._senders.busy(name) or row.key in unrecorded):
                self._send_if_due(channels[name], row, content.critical, now_or_never)

    def _send_if_due(self, channel: ChannelRow, row: MessageRow, critical: bool, now_or_never: bool) -> None:
        now, mono = self._clock.now(), self._clock.mono()
        if self._schedule.due(row, now, mono, critical=critical, now_or_never=now_or_never):
            self._send_one(channel, row, self._notifications(row))
            self._hear()  # the sooner a receipt is written down, the less a kill repeats
        else:
            self._rest = min(self._rest, self._schedule.left(row, now, mono))
            return
        self._record()

    def _sent_from_memory(self, row: MessageRow) -> bool:
        """Record a row as sent if all that it says was sent while the store took no writes; whether it was."""
        if row.key < 0 or not self._memory.any_sent:
            return False
        if not all(self._memory.was_sent(row.channel, about) for about in self._notifications(row)):
            return False
        if row.key not in {sent.message for sent in self._unrecorded}:
            self._unrecorded.append(Sent(row.channel, row.key, Receipt(True, SENT_FROM_MEMORY)))
        self._record()
        return True

    def _content(self, row: MessageRow) -> _Content:
        key = row.key
        if key not in self._contents:
            notifications = self._notifications(row)
            self._contents[key] = _Content(
                frozenset(about.subject for about in notifications),
                any(about.level == Level.CRITICAL.value for about in notifications),
                any(about.resolved for about in notifications),
            )
        return self._contents[key]

    def _notifications(self, row: MessageRow) -> Sequence[NotificationRow]:
        return self._memory.notifications(row.key) or deliveries.notifications_of(self._store, row.key)

    def _send_one(self, channel: ChannelRow, row: MessageRow, about: Sequence[NotificationRow]) -> None:
        known = job_rows.jobs_of(self._store, (notification.subject for notification in about))
        names = {ref: name for ref, (name, _) in known.items()}
        message = message_of(row, about, names)
        terminal, make = self._terminal, self._make
        if channel.name == TERMINAL and terminal is not None:
            self._senders.send(channel.name, lambda: terminal, row.key, message, here=True)
            return
        if registry.takes_pictures(channel.kind):
            message = replace(message, curves=tuple(curves(self._store, about, names, row.created)))
        self._senders.send(channel.name, lambda: make(channel), row.key, message)


def _what(decision: Decision) -> tuple[str, str]:
    return decision.state, decision.reason


def try_channel(row: ChannelRow, make: Make, at: float) -> Receipt:
    """One message that says it is a test, sent as every other is; the receipt."""
    text = "this is a test: Dogwatch alerts will arrive here"
    token = key_of("test", row.name, repr(at))
    message = Message(token, (Item(token, "watch", "test", Level.INFO, "test", text, at),), at)
    try:
        return make(row).deliver(message)
    except NoSecret as missing:
        return Receipt(False, str(missing))


def message_of(row: MessageRow, notifications: Iterable[NotificationRow], names: Mapping[str, str]) -> Message:
    """The message as it goes out: the same at every try, since it is made of rows that no longer change."""
    items = tuple(
        Item(
            key=about.key,
            subject=redacted(about.subject),
            name=redacted(names.get(about.subject, about.subject)),
            level=Level(about.level),
            rule=about.rule,
            text=about.text,
            since=about.since,
            why=about.why,
            do=about.remedy,
            resolved=about.resolved == Closing.RESOLVED,
            closed=Closing(about.resolved).word if about.resolved else "",
        )
        for about in notifications
    )
    return Message(row.token, items, row.created)
