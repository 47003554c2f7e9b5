"""The home as the location of a store: opening it, its leases, its wake-up, its repair."""

from __future__ import annotations

import os

from dogwatch.errors import StoreError
from dogwatch.store import WATCH
from dogwatch.store.sqlite import faults
from dogwatch.store.sqlite import lease as leases
from dogwatch.store.sqlite import wakeup as wakeups
from dogwatch.store.sqlite.connection import too_new, version_of
from dogwatch.store.sqlite.database import SqliteStore
from dogwatch.store.sqlite.home import made, prepare
from dogwatch.store.sqlite.migrations import LATEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dogwatch.store.interface import Repair


class Home:
    """See `store.interface.Location`."""

    def __init__(self, path: str) -> None:
        self._path = path

    def open(self, *, make: bool = True, readonly: bool = False) -> SqliteStore:
        prepare(self._path)
        store = SqliteStore(self, readonly=readonly)
        if not made(self._path):
            if not make:
                raise StoreError(
                    f"There is no store in {self._path} yet: `dogwatch run` or `dogwatch add` creates one."
                )
            self._create()
        try:
            version = version_of(store.db)
            if version < LATEST:
                store.close()
                self._upgrade(version)
                version = version_of(store.db)
        except faults.FAILURES as error:
            raise store.failed(error) from error
        if version > LATEST:
            store.close()
            raise too_new(store.path, version)
        return store

    def path(self, *names: str) -> str:
        return os.path.join(self._path, *names)

    def writable(self) -> bool:
        return os.access(self._path, os.W_OK)

    def lease(self, who: str, now: float, name: str = WATCH, timeout: float = 0.0) -> leases.Lease:
        return leases.take(self._path, who, now, name, timeout)

    def holder(self, name: str = WATCH) -> leases.Holder | None:
        return leases.holder(self._path, name)

    def held(self, name: str = WATCH, *, single_poll: bool = False) -> bool:
        return leases.held(self._path, name, single_poll=single_poll)

    def wake(self) -> None:
        wakeups.wake(self._path)

    def wakeup(self) -> wakeups.WakeUp:
        return wakeups.WakeUp(self._path)

    def repair(self, now: float, mono: float = 0.0) -> Repair:
        from dogwatch.store.sqlite.repair import repair

        done = repair(self._path, now, mono)
        with self.open(make=False) as store, store.writing():
            pass  # one empty commit: it turns the log back on and makes the commit marker true
        return done

    def _create(self) -> None:
        from dogwatch.store.sqlite.create import create

        create(self._path)

    def _upgrade(self, version: int) -> None:
        from dogwatch.store.sqlite.create import upgrade

        upgrade(self._path, version)


def open_store(home: str, *, make: bool = True, readonly: bool = False) -> SqliteStore:
    """The store in a directory."""
    return Home(home).open(make=make, readonly=readonly)
