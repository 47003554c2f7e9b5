"""The store on SQLite: one file, written in whole transactions only."""

from __future__ import annotations

import os
import sqlite3

from dogwatch.store.sqlite import commit_marker, disk_reserve, faults, write_lock
from dogwatch.store.sqlite.connection import attach, identity, too_new, version_of, written
from dogwatch.store.sqlite.home import DATABASE
from dogwatch.store.sqlite.migrations import LATEST
from dogwatch.store.sqlite.transaction import SealPrefixes, Transaction, reached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dogwatch.errors import StoreError
    from dogwatch.store.interface import Location


class SqliteStore:
    """See `store.interface.Store`. `db` reopens by itself after an I/O error, because a connection that met one is
    never used again; what it reopens must be the very file it opened first."""

    def __init__(self, location: Location, *, readonly: bool = False) -> None:
        self.location = location
        self._home = location.path()
        self.path = location.path(DATABASE)
        self.readonly = readonly
        self.prefixes = SealPrefixes()
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._unchanged: tuple[int, ...] | None = None  # how the file was when it was opened as one that never changes
        self._left: list[sqlite3.Connection] = []

    @property
    def db(self) -> sqlite3.Connection:
        if self._db is None:
            if self._file is not None:
                self.still_there()
            before = written(self.path)
            self._db, immutable = attach(self._home, self.path, self.readonly)
            self._file, self._unchanged = identity(self.path), before if immutable else None
        return self._db

    def reopen_if_changed(self) -> None:
        """Open anew what was opened as a file that never changes, once it did. The old connection is left as it is:
        closing any descriptor of the file would drop the locks that this process holds on it elsewhere."""
        if self._unchanged is None or self._db is None or self._db.in_transaction:
            return
        if written(self.path) != self._unchanged:
            self._left.append(self._db)
            self._db = self._unchanged = None

    def writing(self) -> Writing:
        return Writing(self)

    def reading(self) -> Reading:
        return Reading(self)

    def still_there(self) -> None:
        if self._file is not None and identity(self.path) != self._file:
            self.close()
            raise faults.gone(self.path)

    def revision(self) -> int:
        with self.reading() as tx:
            return reached(tx.db)[0]

    def revision_of_others(self) -> int:
        try:
            number: int = self.db.execute("PRAGMA data_version").fetchone()[0]
        except faults.FAILURES as error:
            raise self.failed(error) from error
        return number

    def check(self, history: bool = True) -> list[str]:
        from dogwatch.store.sqlite.check import complaints

        with self.reading() as tx:
            return complaints(tx.db, history)

    def damaged_events(self) -> list[tuple[int, int, str]]:
        from dogwatch.store.sqlite.check import damaged_events

        with self.reading() as tx:
            return damaged_events(tx.db)

    def back_up(self, now: float) -> str:
        from dogwatch.store.sqlite import backup

        try:
            return backup.back_up(self.db, self._home, now)
        except faults.FAILURES as error:
            raise self.failed(error) from error

    def backup_due(self, now: float) -> bool:
        from dogwatch.store.sqlite import backup

        return backup.due(self._home, now)

    def backups(self) -> list[str]:
        from dogwatch.store.sqlite import backup

        return backup.backups(self._home)

    def set_reserve(self) -> None:
        disk_reserve.allocate(self._home)

    def use_reserve(self) -> bool:
        return disk_reserve.release(self._home)

    def close(self) -> None:
        """Close the connection; the next use opens a new one."""
        db, self._db = self._db, None
        if db is not None:
            # Closing may checkpoint, and that may fail on the disk that just did.
            try:  # noqa: SIM105 - contextlib is too dear for the way of `ls`
                db.close()
            except sqlite3.Error:
                pass

    def failed(self, error: Exception) -> StoreError:
        """Our error for SQLite's, after letting go of a connection that must not be used again."""
        meaning = faults.translate(error, self.path)  # before closing, which may tidy away what it looks at
        if faults.spoils(error):
            self.close()
        return meaning

    def __enter__(self) -> SqliteStore:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()


class Writing:
    """One write transaction; it counts the commit and writes the marker."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def __enter__(self) -> Transaction:
        self._lock = write_lock.acquire(self._store.location.path())
        try:
            self._tx = self._begin(self._store)
        except BaseException:
            os.close(self._lock)
            raise
        return self._tx

    def _begin(self, store: SqliteStore) -> Transaction:
        store.still_there()
        db = store.db
        try:
            db.execute("BEGIN IMMEDIATE")
            version = version_of(db)
            if version > LATEST:
                db.execute("ROLLBACK")
                raise too_new(store.path, version)
        except faults.FAILURES as error:
            raise store.failed(error) from error
        return Transaction(db, store.prefixes)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is None:
                commits, seq = self._tx.count_commit()
                self._tx.db.execute("COMMIT")
                commit_marker.write(self._store.location.path(), commits, seq)
        except faults.FAILURES as problem:
            raise self._store.failed(problem) from problem
        finally:
            self._roll_back(self._tx.db)
            os.close(self._lock)
        if isinstance(error, faults.FAILURES):
            raise self._store.failed(error) from error

    def _roll_back(self, db: sqlite3.Connection) -> None:
        try:
            if db.in_transaction:
                self._tx.undone()
                db.execute("ROLLBACK")
        except sqlite3.Error:  # closed already, or not to be used again
            self._tx.undone()
            self._store.close()


class Reading:
    """One read transaction, so that rows and tallies are of the same moment."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._began = False

    def __enter__(self) -> Transaction:
        self._store.reopen_if_changed()
        db = self._db = self._store.db
        try:
            if not db.in_transaction:
                db.execute("BEGIN")
                self._began = True
        except faults.FAILURES as error:
            raise self._store.failed(error) from error
        return Transaction(db, self._store.prefixes)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if self._began and self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except faults.FAILURES as problem:
            if error is None:
                raise self._store.failed(problem) from problem
        if isinstance(error, faults.FAILURES):
            raise self._store.failed(error) from error
