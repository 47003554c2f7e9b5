"""Policy: whether a notification goes out on a channel, when, and the reason in words; pure.

What is not sent has a delivery that says why not, and what is held back is decided again until it is sent or no
longer true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase

from dogwatch.model import Closing, Level
from dogwatch.store.rows.channels import ALONE, DROPPED, HELD, MUTED, WAITING
from dogwatch.store.rows.deliveries import Decision, Delivery
from dogwatch.store.rows.findings import SilenceRow
from dogwatch.store.rows.notifications import NotificationRow

AGAIN = 10.0  # how often what is held back is looked at again
FACTS = frozenset({"ended", "digest", "flapping", "channel_dead", "started", "milestone", "checkpoint", "test"})
FLAPS, FLAP_WINDOW, FLAP_REST = 5, 3600.0, 1800.0
REPEAT = 4 * 3600.0
STORM = 3  # messages with something critical on a channel within a minute, after which the next ones wait for company
BIG = ("critical", "warning", "info")
# A terminal has shown these as events.
NOT_ON_TERMINALS = frozenset({"started", "milestone", "checkpoint", "progress", "digest", "test"})


@dataclass(frozen=True, slots=True)
class Route:
    """What a channel takes: these levels, jobs with such names, rules with such names; empty means no limit."""

    levels: Sequence[str] = ()
    jobs: Sequence[str] = ()
    rules: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Pace:
    """A message waits for company until none has come for `gather` seconds, but not longer than `most`; and the next
    one on the channel comes no sooner than that."""

    gather: float = 5.0
    most: float = 60.0


@dataclass(frozen=True, slots=True)
class Quiet:
    """Hours of the day, local time, in which only what is critical goes out; `start` may be later than `end`."""

    start: int
    end: int

    def until(self, now: float) -> float | None:
        """When the quiet hours that hold now end, or None when they do not."""
        local = datetime.fromtimestamp(now).astimezone()
        minute = local.hour * 60 + local.minute
        inside = self.start <= minute < self.end if self.start <= self.end else not self.end <= minute < self.start
        if not inside:
            return None
        return now + ((self.end - minute) % 1440) * 60 - local.second


@dataclass(frozen=True, slots=True)
class Now:
    """What a decision rests on: which findings stand open, which places are unreachable, silences, flapping, quiet
    hours."""

    at: float
    open: frozenset[tuple[str, str, str]] = frozenset()
    unreachable: frozenset[str] = frozenset()
    places: Mapping[str, str] = field(default_factory=dict)  # of each job
    names: Mapping[str, str] = field(default_factory=dict)
    jobs_at: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of each "place:…": the names of its jobs
    silences: Sequence[SilenceRow] = ()
    quiet: Quiet | None = None


def decide(
    notification: NotificationRow,
    route: Route,
    now: Now,
    *,
    flaps: int,
    opening_said: bool,
    keeps_open: bool = True,
) -> Decision:
    """Of a notification that no channel has been told of, for one channel; `keeps_open` where a program may be
    behind it."""
    if notification.rule == "test":
        return Decision(WAITING, "a test is always sent", now.at)
    if notification.resolved > Closing.RESOLVED and not keeps_open:
        how = Closing(notification.resolved).says
        return Decision(MUTED, f"it {how}: not worth a message", now.at)
    if notification.resolved and opening_said:
        return _now_or_later(notification, now)  # whatever it takes today: it was told that this began
    level = notification.level
    if level not in (route.levels or BIG):
        return Decision(MUTED, f"this channel does not take {level}", now.at)
    if notification.rule == "checkpoint" and not route.levels and not route.rules:
        return Decision(MUTED, "checkpoints go only to channels that name their levels or rules", now.at)
    names = _names(notification.subject, now)
    for key, patterns, texts in (("jobs", route.jobs, names), ("rules", route.rules, (notification.rule,))):
        if patterns and not any(fnmatchcase(text, pattern) for pattern in patterns for text in texts):
            return Decision(MUTED, f"this channel only takes {key} like {', '.join(patterns)}", now.at)
    if notification.resolved:
        return Decision(MUTED, "its beginning was not sent on this channel", now.at)
    if flaps > FLAPS:
        return Decision(MUTED, f"it is flapping: {flaps} times within the hour", now.at)
    return _now_or_later(notification, now)


def decide_terminal(notification: NotificationRow, at: float) -> Decision:
    """Of a notification for the terminal: at once and alone, whatever is silenced, since somebody may be looking."""
    if notification.rule in NOT_ON_TERMINALS:
        return Decision(MUTED, "a terminal shows it as an event", at)
    if notification.resolved > Closing.RESOLVED:
        return Decision(MUTED, "a terminal shows the end of the job", at)
    return Decision(ALONE, "sent at once", at)


def _names(subject: str, now: Now) -> Sequence[str]:
    """The names that a channel's patterns are held against: a job's own, and of a place those of the jobs there."""
    return now.jobs_at.get(subject) or (now.names.get(subject, subject),)


def decide_again(notification: NotificationRow, now: Now) -> Decision:
    """Of a delivery that was held back. What happened stays true; a finding does only while it stands."""
    still = (notification.subject, notification.rule, notification.what) in now.open
    if not still and not notification.resolved and notification.rule not in FACTS:
        return Decision(DROPPED, "it was over before it could be sent", now.at)
    return _now_or_later(notification, now)


def _now_or_later(notification: NotificationRow, now: Now) -> Decision:
    silence = silenced(notification, now)
    if silence is not None:
        return Decision(MUTED, silence, now.at)
    place = now.places.get(notification.subject)
    if place in now.unreachable and notification.rule != "host_unreachable":
        return Decision(HELD, f"{place} does not answer; that was sent instead", now.at + AGAIN)
    critical = notification.level == Level.CRITICAL.value
    if now.quiet is not None and not critical:
        until = now.quiet.until(now.at)
        if until is not None:
            return Decision(HELD, "quiet hours", until)
    return Decision(WAITING, "sent with the next message", now.at)


def silenced(notification: NotificationRow, now: Now) -> str | None:
    """The silence that covers a notification, in words."""
    name = now.names.get(notification.subject, "")
    for silence in now.silences:
        if silence.until is not None and silence.until <= now.at:
            continue
        if silence.what is not None:
            if _acknowledged(notification, silence):
                return f"acknowledged (#{silence.key})"
            continue
        subject = fnmatchcase(notification.subject, silence.subject) or fnmatchcase(name, silence.subject)
        if subject and fnmatchcase(notification.rule, silence.rule or "*"):
            return f"silenced (#{silence.key})"
    return None


def _acknowledged(notification: NotificationRow, silence: SilenceRow) -> bool:
    """Whether this is what somebody has acknowledged: not its end, and not that it began anew after that."""
    covered = silence.subject, silence.rule, silence.what
    same = covered == (notification.subject, notification.rule, notification.what)
    return same and not notification.resolved and notification.since <= silence.created


def urgent(waiting: Sequence[Delivery]) -> list[Delivery]:
    """The deliveries that say something critical."""
    return [delivery for delivery in waiting if delivery.about.level == Level.CRITICAL.value]


def ready_at(waiting: Sequence[Delivery], newest_first: Sequence[float], now: float, pace: Pace) -> float:
    """When the deliveries that wait on one channel should become a message: no more have come for a while, or the first
    has waited long enough; and the last message is not too recent. Where one of them is critical, only criticals are
    waited for, `newest_first` are the messages with one, and only a storm of those holds it."""
    if any(delivery.about.rule == "test" for delivery in waiting):
        return now  # somebody waits for it
    first = min(delivery.about.created for delivery in waiting)
    critical = urgent(waiting)
    newest = max(delivery.decision.due for delivery in critical or waiting)
    gathered = now if newest > now else newest + pace.gather  # written before the clock was set back
    past = [at for at in newest_first if at <= now]
    most = STORM if critical else 1
    if len(past) >= most:
        gathered = max(gathered, past[most - 1] + pace.most)
    return float(min(gathered, first + pace.most))


def backoff(tries: int, chance: float, asked: float | None) -> float:
    """Seconds until the next try: what the receiver asked for, or doubling from 5 s up to an hour, with jitter."""
    if asked is not None:
        return asked + 2.0 * chance
    return float(min(5.0 * 2 ** min(tries, 20), 3600.0) * (0.75 + 0.5 * chance))
