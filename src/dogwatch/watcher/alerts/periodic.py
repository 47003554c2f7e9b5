"""What is said by the clock and not by a change: that something still stands, that flapping has ended, a digest, how
far jobs are. Each has a key made of what it is about and of its time, so that a restart never says it twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from dogwatch.clock import Clock
from dogwatch.digest import key_of
from dogwatch.model import Closing, Finding, Level, Notification
from dogwatch.model.outcome import GOOD
from dogwatch.store.interface import Store
from dogwatch.store.rows import jobs, notifications
from dogwatch.store.rows.channels import ChannelRow
from dogwatch.store.rows.findings import open_findings
from dogwatch.store.rows.notifications import Flapping, queue_all
from dogwatch.watcher.alerts.policy import FLAP_REST
from dogwatch.watcher.tick.judge import reminders

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import BriefJob

REGULARLY = 20.0
PROGRESS_EVERY = 1800.0
NAMED = 8


def key(*parts: object) -> str:
    return key_of(*map(str, parts))


class Clockwork:
    """Looks now and then at what the clock has to say, and queues it."""

    def __init__(self, store: Store, clock: Clock, repeat: float, digest: int | None) -> None:
        self._store, self._clock, self._repeat, self._digest = store, clock, repeat, digest
        self._due = float("-inf")
        self._slot: int | None = None

    def tune(self, repeat: float, digest: int | None) -> None:
        self._repeat, self._digest = repeat, digest

    @property
    def due(self) -> bool:
        return self._clock.mono() >= self._due

    def say(self, channels: Mapping[str, ChannelRow]) -> None:
        if not self.due:
            return
        now, standing = self._clock.now(), open_findings(self._store)
        said = [*repeats(standing, now, self._repeat), *settled(notifications.flapping(self._store), standing, now)]
        said += self._digests(standing, now)
        slot = int(now // PROGRESS_EVERY)
        if slot != self._slot and any("progress" in (row.route.get("levels") or ()) for row in channels.values()):
            said += progress(jobs.brief(self._store), now)
        said = [one for one in said if not notifications.is_queued(self._store, one.key)]
        if said:
            queue_all(self._store, said, now)
        self._slot, self._due = slot, self._clock.mono() + REGULARLY

    def _digests(self, standing: Sequence[Finding], now: float) -> list[Notification]:
        day = None if self._digest is None else digest_due(self._digest, now)
        if day is None or notifications.is_queued(self._store, digest_key(day)):
            return []
        return [digest(jobs.brief(self._store, everything=True), len(standing), day, now)]


def repeats(standing: Iterable[Finding], now: float, every: float) -> Iterator[Notification]:
    """Critical findings that have stood for another so many hours, and reminders as often as their rule wants. What is
    a fact of the past is not repeated."""
    reminded = reminders()
    for finding in standing:
        pause = reminded.get(finding.rule, every)
        turns = int((now - finding.opened) / pause) if pause > 0 else 0
        repeated = finding.level is Level.CRITICAL or finding.rule in reminded
        if turns < 1 or finding.lasting or not repeated:
            continue
        named = key("repeat", finding.subject, finding.rule, finding.what, finding.opened, turns)
        text = f"still: {finding.text}"
        yield Notification(named, finding.subject, finding.level, text, finding.rule, finding.what, finding.opened)


def settled(flapping: Iterable[Flapping], standing: Sequence[Finding], now: float) -> Iterator[Notification]:
    """The final word on what flapped and has rested: whether it stands or not. Each comes with when it last began;
    a time that lies ahead was written before the clock was set back."""
    held = {(one.subject, one.rule, one.what): one for one in standing}
    for notification, last, closed in flapping:
        if 0 <= now - last < FLAP_REST:
            continue
        rule, _, what = notification.what.partition("\x1f")
        found = held.get((notification.subject, rule, what))
        gone = Closing(closed)
        over = "it is resolved" if gone is Closing.RESOLVED else f"it {gone.says}"
        text = f"{rule} is stable again: " + (f"still open: {found.text}" if found else over)
        level = found.level if found else Level.INFO
        named = key("settled", notification.key)
        yield Notification(
            named, notification.subject, level, text, "flapping", notification.what, now, Closing.RESOLVED
        )


def digest_due(at: int, now: float) -> date | None:
    """The day whose digest is due: within the hour after the chosen minute."""
    local = datetime.fromtimestamp(now).astimezone()
    due = local.replace(hour=at // 60, minute=at % 60, second=0, microsecond=0)
    return due.date() if timedelta(0) <= local - due <= timedelta(hours=1) else None


def digest_key(day: date) -> str:
    return key("digest", day)


def digest(known: Sequence[BriefJob], open_findings: int, day: date, now: float) -> Notification:
    """Once a day, also when nothing happened: that is the point of it."""
    running = [job for job in known if job["state"] == "running"]
    ended = [job for job in known if job["state"] == "ended" and (job["since"] or 0.0) >= now - 86400]
    bad = [job for job in ended if job["outcome"] not in (None, *GOOD)]
    text = f"{len(running)} running, {len(ended)} ended within a day ({len(bad)} of them badly)"
    text += f", {open_findings} findings open"
    if bad:
        text += "; badly: " + ", ".join(str(job["name"]) for job in bad[:NAMED])
    return Notification(digest_key(day), "watch", Level.INFO, text, "digest", str(day), now)


def progress(known: Iterable[BriefJob], now: float, every: float = PROGRESS_EVERY) -> Iterator[Notification]:
    """How far running jobs are, every half an hour."""
    for job in known:
        if job["state"] != "running" or job["fraction"] is None:
            continue
        text = f"{100 * job['fraction']:.0f} % done"
        named = key("progress", job["ref"], int(now // every))
        yield Notification(named, job["ref"], Level.PROGRESS, text, "progress", "", now)
