"""Tuning: alerts as the configuration file says, also when it changes while somebody watches."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from functools import partial

from dogwatch import secret
from dogwatch import settings as file
from dogwatch.api import alerts
from dogwatch.channels.interface import Channel
from dogwatch.clock import Clock
from dogwatch.errors import StoreError, UsageError
from dogwatch.settings import Settings
from dogwatch.store.interface import Store
from dogwatch.store.rows.channels import ChannelRow
from dogwatch.watcher.alerts.dispatch import Dispatch
from dogwatch.watcher.alerts.heartbeat import Heartbeat
from dogwatch.watcher.alerts.policy import Quiet

LAST = "config.last.toml"
EVERY = 10.0
Make = Callable[[ChannelRow, Settings, Clock], Channel]


class Tuning:
    """Holds the parts that the file is about. A file that is wrong changes nothing and is told of once; what it last
    said when it was right is kept beside the store, so that this holds over a restart too."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        narrate: Callable[[str], None],
        make: Make,
        terminal: Channel | None = None,
    ) -> None:
        self._store, self._clock, self._narrate, self._make = store, clock, narrate, make
        first = Settings()
        self.dispatch = Dispatch(store, clock, self._maker(first), terminal=terminal)
        self.heartbeat = Heartbeat(None, first.heartbeat_every, narrate)
        self._file, self._last = file.path(os.environ), store.location.path(LAST)
        self._heard: str | None = None
        self._used: str | None = None
        self._reading: threading.Thread | None = None
        self._read: tuple[str, str] | None = None
        self._earlier: tuple[str, str] | None = None
        self._due = clock.mono() + EVERY
        with contextlib.suppress(StoreError):  # a full disk: its channels are taken over as soon as there is room
            self._follow(self._text())

    def again(self) -> None:
        """Look whether the file has changed, and take over what two polls in a row have seen: the first may have come
        while it was written. In a thread, because its file system may hang, and the watching must not."""
        if self._reading is not None and self._reading.is_alive():
            return
        read, self._read = self._read, None
        if read is not None:
            if read == self._earlier:
                self._follow(read)
            self._earlier = read
        if self._clock.mono() >= self._due:
            self._due = self._clock.mono() + EVERY
            self._reading = threading.Thread(target=self._read_files, name="configuration", daemon=True)
            self._reading.start()

    def _read_files(self) -> None:
        self._read = self._text()

    def _text(self) -> tuple[str, str]:
        """(what the file says, why it could not be read)."""
        try:
            return file.text(self._file), ""
        except UsageError as error:
            return "", str(error)

    def _follow(self, read: tuple[str, str]) -> None:
        """Take over what is new, channels and all; what the store does not take now is new the next time too."""
        said, wrong = read
        if not wrong and said in (self._heard, self._used):
            self._heard = said
            return
        told = Settings()
        try:
            if wrong:
                raise UsageError(wrong)
            told = file.read(said, self._file)
            alerts.adopt(self._store, told, self._clock.now())
        except UsageError as error:
            self._refuse(said, str(error))
            return
        except StoreError:
            self._tune(told)
            raise
        self._tune(told)
        alerts.keep(self._last, said)
        if self._used is not None:
            self._narrate("the configuration file has changed and was loaded again")
        self._heard = self._used = said

    def _refuse(self, said: str, wrong: str) -> None:
        if self._heard == (said or wrong):
            return
        self._heard = said or wrong
        if self._used is None:
            self._used = ""
            try:
                before = file.text(self._last)
                self._tune(file.read(before, self._last))
                self._used = before
            except UsageError:
                pass
        holds = "; the version before stays in use" if self._used else ""
        self._narrate(f"the configuration file is not used: {wrong}{holds}")

    def _tune(self, told: Settings) -> None:
        quiet = Quiet(*told.quiet) if told.quiet else None
        self.dispatch.tune(self._maker(told), quiet, told.repeat, told.digest)
        self.heartbeat.tune(partial(secret.read, told.heartbeat) if told.heartbeat else None, told.heartbeat_every)

    def _maker(self, told: Settings) -> Callable[[ChannelRow], Channel]:
        return lambda row: self._make(row, told, self._clock)
