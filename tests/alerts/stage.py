"""A stage for the dispatcher: a real store, real receivers, and a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dogwatch.assemble import channel
from dogwatch.clock import Clock
from dogwatch.engine.alerting import Quiet
from dogwatch.engine.dispatch import Dispatch
from dogwatch.engine.queue import notices
from dogwatch.errors import StoreError
from dogwatch.model import Finding, Job, Level, Notice, Place
from dogwatch.settings import Smtp
from dogwatch.store import alerts, tick
from dogwatch.store.database import Store
from dogwatch.store.places import known_places
from dogwatch.store.register import add_place, register

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
        self._how: dict[str, Any] = {"quiet": quiet, **more}
        self.trouble: StoreError | None = None
        self.dispatch = self._made()

    def _made(self) -> Dispatch:
        return Dispatch(self.store, self.clock, lambda row: channel(row, Smtp(), self.clock), **self._how)

    def restart(self) -> None:
        """As after a kill: all that was in memory is gone."""
        self.dispatch = self._made()

    def hook(self, name: str, url: str, **route: Any) -> None:
        path = self.folder / f"{name}.url"
        path.touch(mode=0o600)
        path.write_text(url)
        alerts.add_channel(self.store, name, "webhook", {"url": f"file:{path}"}, route, self.clock.now())

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
        tick.commit(self.store, tick.Tick(at, 1.0, opened=found, notices=tuple(notices((), found, (), at))))

    def resolve(self, *gone: Finding) -> None:
        at = self.clock.now()
        over = tuple((one.subject, one.rule, one.what) for one in gone)
        tick.commit(self.store, tick.Tick(at, 1.0, resolved=over, notices=tuple(notices((), (), gone, at))))

    def say(self, texts: Iterable[str]) -> None:
        """Plain notices, each about something of its own."""
        at = self.clock.now()
        said = [Notice(f"{text:0>32}", text, Level.CRITICAL, text, "worker_gone", "0", at) for text in texts]
        tick.queue_notices(self.store, said, at)

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
    """(state, reason) of the letters, oldest first."""
    return [(one["state"], one["reason"]) for one in reversed(alerts.letters_of(store, subject, 1000))]
