"""A stage for the dispatcher: a real store, real receivers, and a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dogwatch.assemble import channel
from dogwatch.channels.terminal import Terminal
from dogwatch.clock import Clock
from dogwatch.errors import StoreError
from dogwatch.model import Finding, Job, Level, Notification, Place
from dogwatch.settings import Settings
from dogwatch.store.rows import channels as channel_rows
from dogwatch.store.rows import deliveries, notifications, tick
from dogwatch.store.rows.places import add_place, known_places
from dogwatch.store.rows.registration import register
from dogwatch.store.sqlite.database import SqliteStore as Store
from dogwatch.watcher.alerts.dispatch import Dispatch
from dogwatch.watcher.alerts.policy import Quiet
from dogwatch.watcher.tick import announcements

NOON = 1_800_000_000.0  # 2027-01-15 08:00 UTC


class Hand(Clock):
    """A clock that stands still until it is moved."""

    def __init__(self, at: float = NOON) -> None:
        self.wall, self.steady = at, 1000.0

    def now(self) -> float:
        return self.wall

    def mono(self) -> float:
        return self.steady

    def pass_(self, seconds: float) -> None:
        """Time goes by."""
        self.wall += seconds
        self.steady += seconds


class Stage:
    """A watcher's alerts without the watching: the test says what was found, and when."""

    def __init__(self, store: Store, folder: Path, quiet: Quiet | None = None, **more: Any) -> None:
        self.store, self.folder, self.clock = store, folder, Hand()
        self._how: dict[str, Any] = {"quiet": quiet, "terminal": Terminal(None), **more}
        self.trouble: StoreError | None = None
        self.restart()

    def restart(self, **how: Any) -> None:
        """As after a kill: all that was in memory is gone. `how` is different from now on."""
        self._how |= how
        self.dispatch = Dispatch(self.store, self.clock, lambda row: channel(row, Settings(), self.clock), **self._how)

    def hook(self, name: str, url: str, **route: Any) -> None:
        path = self.folder / f"{name}.url"
        path.touch(mode=0o600)
        path.write_text(url)
        channel_rows.add_channel(self.store, name, "webhook", {"url": f"file:{path}"}, route, self.clock.now())

    def job(self, name: str, place: str = "here") -> str:
        ref = f"{place}/process:{name}"
        if place != "here" and place not in {known.name for known in known_places(self.store)}:
            add_place(self.store, Place(place, "ssh", {"host": place}))
        made = Job(ref=ref, place=place, source="process", id=name, name=name, registered=self.clock.now())
        register(self.store, made, self.clock.now(), 1.0)
        return ref

    def find(self, *found: Finding) -> None:
        """A tick that opens these findings."""
        at = self.clock.now()
        tick.commit(
            self.store,
            tick.Tick(at, 1.0, opened=found, notifications=tuple(announcements.notifications((), found, (), at))),
        )

    def resolve(self, *gone: Finding) -> None:
        at = self.clock.now()
        over = tuple((one.subject, one.rule, one.what) for one in gone)
        tick.commit(
            self.store,
            tick.Tick(at, 1.0, resolved=over, notifications=tuple(announcements.notifications((), (), gone, at))),
        )

    def say(self, texts: Iterable[str]) -> None:
        """Plain notifications, each about something of its own."""
        at = self.clock.now()
        said = [Notification(f"{text:0>32}", text, Level.CRITICAL, text, "worker_gone", "0", at) for text in texts]
        notifications.queue_all(self.store, said, at)

    def beat(self) -> None:
        """One step, and what was sent in it heard; a full disk is what some tests are about."""
        for _ in range(2):
            try:
                self.dispatch.step()
            except StoreError as error:
                self.trouble = error
            self.dispatch._senders.wait(25.0)

    def go(self, seconds: float, every: float = 5.0) -> None:
        """Beats for as long as that, by the clock of the test."""
        spent = 0.0
        while spent < seconds:
            self.beat()
            self.clock.pass_(every)
            spent += every
        self.beat()


def gone(ref: str, level: Level = Level.CRITICAL) -> Finding:
    return Finding(ref, "worker_gone", level, "the worker is gone", "0")


def decisions(store: Store, subject: str | None = None) -> list[tuple[str, str]]:
    """(state, reason) of the deliveries, oldest first."""
    return [(one.decision.state, one.decision.reason) for one in reversed(deliveries.deliveries(store, subject, 1000))]
