"""Alerting: whether a notice goes out on a channel, when, and the reason in words; pure.

Silent is never the answer by itself: what is not sent has a letter that says why not, and what is held back is
decided again until it is sent or no longer true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

from dogwatch.model import Closing, Level
from dogwatch.store.alerts import DROPPED, HELD, MUTED, WAITING, Decision

AGAIN = 10.0  # how often what is held back is looked at again
FACTS = frozenset({"ended", "digest", "flapping", "channel_dead", "started", "milestone", "checkpoint", "test"})
FLAPS, FLAP_WINDOW, FLAP_REST = 5, 3600.0, 1800.0
REPEAT = 4 * 3600.0
BIG = ("critical", "warning", "info")


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
    """What a decision rests on: which findings stand open, which places are dark, silences, flapping, quiet hours."""

    at: float
    open: frozenset[tuple[str, str, str]] = frozenset()
    dark: frozenset[str] = frozenset()
    places: Mapping[str, str] = field(default_factory=dict)  # of each job
    names: Mapping[str, str] = field(default_factory=dict)
    aboard: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of each "place:…": the jobs that are there
    silences: Sequence[Mapping[str, Any]] = ()
    quiet: Quiet | None = None


def decide(
    notice: Mapping[str, Any],
    route: Mapping[str, Any],
    now: Now,
    *,
    flaps: int,
    opening_said: bool,
    keeps_open: bool = True,
) -> Decision:
    """Of a notice that no channel has been told of, for one channel; `keeps_open` where a program may be behind it."""
    if notice["rule"] == "test":
        return Decision(WAITING, "a test goes out whatever the channel takes", now.at)
    if notice["resolved"] > Closing.RESOLVED and not keeps_open:
        how = Closing(notice["resolved"]).says
        return Decision(MUTED, f"it {how}: that is no news to people", now.at)
    if notice["resolved"] and opening_said:
        return _now_or_later(notice, now)  # whatever it takes today: it was told that this began
    level = notice["level"]
    if level not in (route.get("levels") or BIG):
        return Decision(MUTED, f"this channel does not take {level}", now.at)
    if notice["rule"] == "checkpoint" and not route.get("levels") and not route.get("rules"):
        return Decision(MUTED, "checkpoints are told only to a channel that names its levels or rules", now.at)
    for key, told in (("jobs", _names(notice["subject"], now)), ("rules", (notice["rule"],))):
        if route.get(key) and not any(fnmatchcase(what, pattern) for pattern in route[key] for what in told):
            return Decision(MUTED, f"this channel takes only {key} like {', '.join(route[key])}", now.at)
    if notice["resolved"]:
        return Decision(MUTED, "that it had begun was not said on this channel", now.at)
    if flaps > FLAPS:
        return Decision(MUTED, f"it is flapping: {flaps} times within the hour", now.at)
    return _now_or_later(notice, now)


def _names(subject: str, now: Now) -> Sequence[str]:
    """The names that a channel's patterns are held against: a job's own, and of a place those of the jobs there."""
    return now.aboard.get(subject) or (now.names.get(subject, subject),)


def decide_again(notice: Mapping[str, Any], now: Now) -> Decision:
    """Of a letter that was held back. What happened stays true; a finding does only while it stands."""
    still = (notice["subject"], notice["rule"], notice["what"]) in now.open
    if not still and not notice["resolved"] and notice["rule"] not in FACTS:
        return Decision(DROPPED, "it was no longer true when it could have been said", now.at)
    return _now_or_later(notice, now)


def _now_or_later(notice: Mapping[str, Any], now: Now) -> Decision:
    found = silenced(notice, now)
    if found is not None:
        return Decision(MUTED, found, now.at)
    place = now.places.get(notice["subject"])
    if place in now.dark and notice["rule"] != "place_dark":
        return Decision(HELD, f"{place} does not answer; that is what was said instead", now.at + AGAIN)
    critical = notice["level"] == Level.CRITICAL.value
    if now.quiet is not None and not critical:
        until = now.quiet.until(now.at)
        if until is not None:
            return Decision(HELD, "quiet hours", until)
    return Decision(WAITING, "it goes out with the next message", now.at)


def silenced(notice: Mapping[str, Any], now: Now) -> str | None:
    """The silence that covers a notice, in words."""
    name = now.names.get(notice["subject"], "")
    for one in now.silences:
        if one["until"] is not None and one["until"] <= now.at:
            continue
        if one["what"] is not None:
            if _acknowledged(notice, one):
                return f"acknowledged (#{one['key']})"
            continue
        subject = fnmatchcase(notice["subject"], one["subject"]) or fnmatchcase(name, one["subject"])
        if subject and fnmatchcase(notice["rule"], one["rule"] or "*"):
            return f"silenced (#{one['key']})"
    return None


def _acknowledged(notice: Mapping[str, Any], one: Mapping[str, Any]) -> bool:
    """Whether this is what somebody has acknowledged: not its end, and not that it began anew after that."""
    same = (one["subject"], one["rule"], one["what"]) == (notice["subject"], notice["rule"], notice["what"])
    return same and not notice["resolved"] and notice["since"] <= one["created"]


def urgent(waiting: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The letters that say something critical."""
    return [letter for letter in waiting if letter["about"].get("level") == Level.CRITICAL.value]


def ready_at(waiting: Sequence[Mapping[str, Any]], last_message: float | None, now: float, pace: Pace) -> float:
    """When the letters that wait on one channel should become a message: no more have come for a while, or the first
    has waited long enough; and the last message is not too recent. Where one of them is critical, only criticals are
    waited for, and `last_message` is the last with one: a limit that others started does not hold it."""
    if any(letter["about"]["rule"] == "test" for letter in waiting):
        return now  # somebody waits for it
    first = min(letter["about"]["created"] for letter in waiting)
    newest = max(letter["due"] for letter in urgent(waiting) or waiting)
    gathered = now if newest > now else newest + pace.gather  # written before the clock was set back
    if last_message is not None and last_message <= now:
        gathered = max(gathered, last_message + pace.most)
    return float(min(gathered, first + pace.most))


def backoff(tries: int, chance: float, asked: float | None) -> float:
    """Seconds until the next try: what the receiver asked for, or doubling from 5 s up to an hour, with jitter."""
    if asked is not None:
        return asked + 2.0 * chance
    return float(min(5.0 * 2 ** min(tries, 20), 3600.0) * (0.75 + 0.5 * chance))
