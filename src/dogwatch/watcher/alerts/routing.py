"""Routing: what becomes of notifications on every channel, decided from the rows of the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dogwatch.channels import registry
from dogwatch.digest import key_of
from dogwatch.model import Level, Notification
from dogwatch.store.interface import Store
from dogwatch.store.rows import deliveries, notifications
from dogwatch.store.rows import findings as finding_rows
from dogwatch.store.rows import jobs as job_rows
from dogwatch.store.rows.channels import TERMINAL, ChannelRow
from dogwatch.store.rows.deliveries import Decision
from dogwatch.store.rows.findings import open_findings
from dogwatch.store.rows.notifications import NotificationRow
from dogwatch.watcher.alerts import policy

Channels = Mapping[str, ChannelRow]
PLACE = "place:"
NEVER_FLAPS = ("ended", "flapping", "digest", "test", "progress", "started", "milestone", "checkpoint")


@dataclass(frozen=True, slots=True)
class Routed:
    """Decisions that belong together: of each of these notifications by channel, and the notifications that follow from
    them."""

    decisions: dict[int, dict[str, Decision]] = field(default_factory=dict)
    notifications: list[NotificationRow] = field(default_factory=list)
    follow: list[Notification] = field(default_factory=list)


def now_of(store: Store, at: float, about: Iterable[NotificationRow], quiet: policy.Quiet | None) -> policy.Now:
    """What decisions about these notifications rest on."""
    about = list(about)
    places = {notification.subject for notification in about if notification.subject.startswith(PLACE)}
    standing = open_findings(store)
    known = job_rows.jobs_of(store, (notification.subject for notification in about))
    return policy.Now(
        at=at,
        open=frozenset((finding.subject, finding.rule, finding.what) for finding in standing),
        unreachable=frozenset(
            finding.subject.removeprefix(PLACE) for finding in standing if finding.rule == "host_unreachable"
        ),
        names={ref: name for ref, (name, _) in known.items()},
        places={ref: place for ref, (_, place) in known.items()},
        jobs_at={place: job_rows.names_at(store, place.removeprefix(PLACE)) for place in places},
        silences=finding_rows.silences(store),
        quiet=quiet,
    )


def routed(store: Store, fresh: Sequence[NotificationRow], channels: Channels, now: policy.Now) -> Routed:
    """A decision for each of these notifications and channels that was there before it."""
    done = Routed()
    flapping = {(row.subject, row.what) for row, _, _ in notifications.flapping(store)}
    for notification in fresh:
        flaps = _flaps(store, notification, now.at)
        about = notification.subject, _flapping_about(notification)
        if flaps > policy.FLAPS and about not in flapping:
            flapping.add(about)
            done.follow.append(_says_flapping(notification, flaps, now.at))
        done.decisions[notification.id] = {
            name: _decide(store, notification, row, now, flaps, done)
            for name, row in channels.items()
            if row.after < notification.id and (notification.rule, notification.what) != ("channel_dead", name)
        }
        done.notifications.append(notification)
    return done


def _decide(
    store: Store, notification: NotificationRow, channel: ChannelRow, now: policy.Now, flaps: int, done: Routed
) -> Decision:
    if channel.name == TERMINAL:
        return policy.decide_terminal(notification, now.at)
    return policy.decide(
        notification,
        policy.Route(**channel.route),
        now,
        flaps=flaps,
        opening_said=_opening_said(store, channel.name, notification, done),
        keeps_open=registry.keeps_open(channel.kind),
    )


def _flaps(store: Store, notification: NotificationRow, at: float) -> int:
    if notification.resolved or notification.rule in NEVER_FLAPS:
        return 0
    return notifications.openings(store, notification, at - policy.FLAP_WINDOW, at)


def _flapping_about(notification: NotificationRow) -> str:
    return f"{notification.rule}\x1f{notification.what}"


def _says_flapping(notification: NotificationRow, flaps: int, now: float) -> Notification:
    """Of the level of what flaps, so that it goes where that would have gone."""
    text = f"{notification.rule} is flapping: {flaps} times within an hour; muted until it is stable"
    key = key_of("flapping", notification.key)
    return Notification(
        key, notification.subject, Level(notification.level), text, "flapping", _flapping_about(notification), now
    )


def _opening_said(store: Store, channel: str, notification: NotificationRow, done: Routed) -> bool:
    """Whether this channel was told that it began: also when that is decided in this very step."""
    if not notification.resolved:
        return True
    identity = notification.subject, notification.rule, notification.what
    for earlier in reversed(done.notifications):
        if (earlier.subject, earlier.rule, earlier.what) == identity:
            decision = done.decisions[earlier.id].get(channel)
            if earlier.resolved or (decision is not None and decision.state in deliveries.said_by(notification.rule)):
                return not earlier.resolved
    first = done.notifications[0] if done.notifications else notification
    return deliveries.sent_opening(store, channel, notification, min(first.id, notification.id))
