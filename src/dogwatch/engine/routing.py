"""Routing: what becomes of notices on every channel, decided from the rows of the store."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dogwatch.channels.interface import KEEPS_OPEN
from dogwatch.engine import alerting
from dogwatch.model import Level, Notice
from dogwatch.store import alerts
from dogwatch.store.alerts import Decision
from dogwatch.store.database import Store
from dogwatch.store.tick import open_findings

Channels = Mapping[str, Mapping[str, Any]]
PLACE = "place:"
NEVER_FLAPS = ("ended", "flapping", "digest", "test", "progress", "started", "milestone", "checkpoint")


class Routed:
    """Decisions that belong together: `letters` of each notice by channel, and what is to be said of them (`said`)."""

    def __init__(self) -> None:
        self.letters: dict[int, dict[str, Decision]] = {}
        self.notices: list[Mapping[str, Any]] = []
        self.said: list[Notice] = []


def now_of(store: Store, at: float, about: Iterable[Mapping[str, Any]], quiet: alerting.Quiet | None) -> alerting.Now:
    """What decisions about these notices rest on."""
    about = list(about)
    places = {notice["subject"] for notice in about if notice["subject"].startswith(PLACE)}
    standing = [one.finding for one in open_findings(store)]
    known = alerts.jobs_of(store, (notice["subject"] for notice in about))
    return alerting.Now(
        at=at,
        open=frozenset((one.subject, one.rule, one.what) for one in standing),
        dark=frozenset(one.subject.removeprefix(PLACE) for one in standing if one.rule == "place_dark"),
        names={ref: name for ref, (name, _) in known.items()},
        places={ref: place for ref, (_, place) in known.items()},
        aboard={one: alerts.names_at(store, one.removeprefix(PLACE)) for one in places},
        silences=alerts.silences(store),
        quiet=quiet,
    )


def routed(store: Store, fresh: Sequence[Mapping[str, Any]], channels: Channels, now: alerting.Now) -> Routed:
    """A decision for each of these notices and channels that was there before it."""
    done = Routed()
    flapping = {(row["subject"], row["what"]) for row in alerts.flapping(store)}
    for notice in fresh:
        flaps = _flaps(store, notice, now.at)
        about = notice["subject"], _flapping_about(notice)
        if flaps > alerting.FLAPS and about not in flapping:
            flapping.add(about)
            done.said.append(_says_flapping(notice, flaps, now.at))
        done.letters[notice["id"]] = {
            name: alerting.decide(
                notice,
                row["route"],
                now,
                flaps=flaps,
                opening_said=_opening_said(store, name, notice, done),
                keeps_open=row["kind"] in KEEPS_OPEN,
            )
            for name, row in channels.items()
            if row["after"] < notice["id"] and (notice["rule"], notice["what"]) != ("channel_dead", name)
        }
        done.notices.append(notice)
    return done


def _flaps(store: Store, notice: Mapping[str, Any], at: float) -> int:
    if notice["resolved"] or notice["rule"] in NEVER_FLAPS:
        return 0
    return alerts.openings(store, dict(notice), at - alerting.FLAP_WINDOW, at)


def _flapping_about(notice: Mapping[str, Any]) -> str:
    return f"{notice['rule']}\x1f{notice['what']}"


def _says_flapping(notice: Mapping[str, Any], flaps: int, now: float) -> Notice:
    """Of the level of what flaps, so that it goes where that would have gone."""
    text = f"{notice['rule']} is flapping: {flaps} times within the hour; muted until it has rested"
    key = hashlib.sha256(f"flapping\x1f{notice['key']}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return Notice(key, notice["subject"], Level(notice["level"]), text, "flapping", _flapping_about(notice), now)


def _opening_said(store: Store, channel: str, notice: Mapping[str, Any], done: Routed) -> bool:
    """Whether this channel was told that it began: also when that is decided in this very step."""
    if not notice["resolved"]:
        return True
    identity = notice["subject"], notice["rule"], notice["what"]
    for earlier in reversed(done.notices):
        if (earlier["subject"], earlier["rule"], earlier["what"]) == identity:
            letter = done.letters[earlier["id"]].get(channel)
            if earlier["resolved"] or (letter is not None and letter.state in alerts.said_by(notice["rule"])):
                return not earlier["resolved"]
    first = done.notices[0] if done.notices else notice
    return alerts.sent_opening(store, channel, {**notice, "id": min(first["id"], notice["id"])})
