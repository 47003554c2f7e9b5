"""The store: one SQLite file that is opened whole or not at all, written in whole transactions only."""

from __future__ import annotations

import os
import sqlite3

from dogwatch.errors import StoreDamaged, StoreError, StoreGone, StoreTooNew
from dogwatch.store import faults, tip, turn
from dogwatch.store.home import DATABASE, prepare
from dogwatch.store.migrations import LATEST
from dogwatch.store.tables import REMEDY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

APPLICATION = 0x444F4757  # "DOGW"
BUSY_SECONDS = 30.0
MARKER = "store.json"
_MAGIC = b"SQLite format 3\0"
_WAL_LIMIT = 16 * 1024 * 1024
_FROZEN = "mode=ro&immutable=1"
_HEADERS: dict[tuple[int, int], int] = {}


class Store:
    """An open store. `db` reopens by itself after an I/O error, because a connection that met one is
    never used again; what it reopens must be the very file it opened first."""

    def __init__(self, home: str, *, readonly: bool = False) -> None:
        self.home = home
        self.path = os.path.join(home, DATABASE)
        self.readonly = readonly
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._frozen: tuple[int, ...] | None = None  # how the file was when it was opened as one that never changes
        self._left: list[sqlite3.Connection] = []

    @property
    def db(self) -> sqlite3.Connection:
        if self._db is None:
            if self._file is not None:
                self.still_there()
            before = _written(self.home, self.path)
            self._db, frozen = _attach(self.home, self.path, self.readonly)
            self._file, self._frozen = _identity(self.path), before if frozen else None
        return self._db

    def thaw(self) -> None:
        """Open anew what was opened as a file that never changes, once it did. The old connection is left as it is:
        closing any descriptor of the file would drop the locks that this process holds on it elsewhere."""
        if self._frozen is None or self._db is None or self._db.in_transaction:
            return
        if _written(self.home, self.path) != self._frozen:
            self._left.append(self._db)
            self._db = self._frozen = None

    def writing(self) -> Writing:
        """`with store.writing() as db:` is one transaction, committed durably or not at all."""
        return Writing(self)

    def reading(self) -> Reading:
        """`with store.reading() as db:` sees one moment of the store; inside `writing` it joins in."""
        return Reading(self)

    def still_there(self) -> None:
        """Raise StoreGone when the path no longer leads to the file that is open."""
        if self._file is not None and _identity(self.path) != self._file:
            self.drop()
            raise faults.gone(self.path)

    def changed(self) -> int:
        """A number that differs from its last value when another process has committed."""
        try:
            number: int = self.db.execute("PRAGMA data_version").fetchone()[0]
        except faults.FAILURES as error:
            raise self.failed(error) from error
        return number

    def drop(self) -> None:
        """Close the connection; the next use opens a new one."""
        db, self._db = self._db, None
        if db is not None:
            # Closing may checkpoint, and that may fail on the disk that just did.
            try:  # noqa: SIM105 - contextlib is too dear for the way of `ls`
                db.close()
            except sqlite3.Error:
                pass

    close = drop

    def failed(self, error: Exception) -> StoreError:
        """Our error for SQLite's, after letting go of a connection that must not be used again."""
        meaning = faults.translate(error, self.path)  # before closing, which may tidy away what it looks at
        if faults.spoils(error):
            self.drop()
        return meaning

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.drop()


class Writing:
    """One write transaction; it counts the commit and tells the tip."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __enter__(self) -> sqlite3.Connection:
        self._turn = turn.wait_for(self._store.home)
        try:
            return self._begin(self._store)
        except BaseException:
            os.close(self._turn)
            raise

    def _begin(self, store: Store) -> sqlite3.Connection:
        store.still_there()
        db = self._db = store.db
        try:
            db.execute("BEGIN IMMEDIATE")
            version = _version(db)
            if version > LATEST:
                db.execute("ROLLBACK")
                raise _too_new(store.path, version)
        except faults.FAILURES as error:
            raise store.failed(error) from error
        return db

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._commit(self._db)
        except faults.FAILURES as problem:
            raise self._store.failed(problem) from problem
        finally:
            self._roll_back()
            os.close(self._turn)
        if isinstance(error, faults.FAILURES):
            raise self._store.failed(error) from error

    def _commit(self, db: sqlite3.Connection) -> None:
        db.execute("UPDATE tallies SET rows = rows + 1 WHERE name = 'commits'")
        commits, seq = _reached(db, self._store.path)
        db.execute("COMMIT")
        tip.write(self._store.home, commits, seq)

    def _roll_back(self) -> None:
        try:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except sqlite3.Error:  # closed already, or not to be used again
            self._store.drop()


class Reading:
    """One read transaction, so that rows and tallies are of the same moment."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._began = False

    def __enter__(self) -> sqlite3.Connection:
        self._store.thaw()
        db = self._db = self._store.db
        try:
            if not db.in_transaction:
                db.execute("BEGIN")
                self._began = True
        except faults.FAILURES as error:
            raise self._store.failed(error) from error
        return db

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._began and self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except faults.FAILURES as problem:
            if error is None:
                raise self._store.failed(problem) from problem
        if isinstance(error, faults.FAILURES):
            raise self._store.failed(error) from error


def open_store(home: str, *, make: bool = True, readonly: bool = False) -> Store:
    """The store of a home that passed `prepare`; made first, or brought up to date, where `make` allows."""
    prepare(home)
    store = Store(home, readonly=readonly)
    if not made(home):
        if not make:
            raise StoreError(f"There is no store in {home} yet: `dogwatch run` or `dogwatch add` makes one.")
        _make(home)
    try:
        version = _version(store.db)
        if version < LATEST:
            store.close()
            _upgrade(home, version)
            version = _version(store.db)
    except faults.FAILURES as error:
        raise store.failed(error) from error
    if version > LATEST:
        store.close()
        raise _too_new(store.path, version)
    return store


def made(home: str) -> bool:
    """Whether a store was ever made here; each of these witnesses outlives the database."""
    return any(os.path.exists(os.path.join(home, name)) for name in (MARKER, tip.NAME, "backups"))


def wal_bytes(home: str) -> int:
    """The size of the write-ahead log: it grows without end while some reader never lets go."""
    try:
        return os.stat(os.path.join(home, DATABASE + "-wal")).st_size
    except FileNotFoundError:
        return 0


def connect(path: str, how: str) -> sqlite3.Connection:
    """A connection that never makes a file; `how` is the URI's query."""
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    db = sqlite3.connect(f"file:{quoted}?{how}", uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    # Temporary b-trees in memory: a full disk must not stop a reader.
    db.execute("PRAGMA temp_store = MEMORY")
    db.execute("PRAGMA cell_size_check = ON")
    return db


def _written(home: str, path: str) -> tuple[int, ...]:
    """What differs when somebody has written to the database or its log."""
    try:
        row = os.stat(path)
    except OSError:
        return ()
    return row.st_mtime_ns, row.st_size, wal_bytes(home)


def _attach(home: str, path: str, readonly: bool) -> tuple[sqlite3.Connection, bool]:
    """A connection, and whether it takes the file for one that never changes."""
    told, _ = tip.read(home)  # before the database: a commit in between only makes that one newer
    _check_header(path)
    try:
        db, frozen = _first_that_opens(path, readonly)
        _check_contents(db, path, told)
    except faults.FAILURES as error:
        raise faults.translate(error, path) from error
    return db, frozen


def _first_that_opens(path: str, readonly: bool) -> tuple[sqlite3.Connection, bool]:
    """Read-write, else reading only, else (no log to take into account) as a file that nobody can change:
    a full or read-only disk has no room for the shared memory that SQLite's log asks for."""
    ways = ["mode=ro"] if readonly else ["mode=rw", "mode=ro"]
    if not wal_bytes(os.path.dirname(path)):
        ways.append(_FROZEN)
    for way in ways:
        db = connect(path, way)
        try:
            db.execute("PRAGMA user_version").fetchone()
            if way == "mode=rw":
                _settle(db)
            return db, way == _FROZEN
        except faults.FAILURES as error:
            db.close()
            if way == ways[-1] or faults.code(error) & 0xFF not in (
                faults.CANTOPEN,
                faults.READONLY,
                faults.IOERR,
                faults.FULL,
            ):
                raise
    raise AssertionError("unreachable")


def _settle(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA foreign_keys = ON")
    db.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT}")
    if db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        db.execute("PRAGMA journal_mode = WAL")


def _check_header(path: str) -> None:
    try:
        head = os.pread(_kept_open(path), 100, 0)
    except FileNotFoundError:
        raise StoreGone(
            f"{path} is gone although a store was made here, and an empty one is not the same; {REMEDY}."
        ) from None
    except OSError as error:
        raise faults.of_os(error, path) from error
    if len(head) < 100 or not head.startswith(_MAGIC):
        raise faults.damaged(path, "it is empty, cut short or overwritten")


def _kept_open(path: str) -> int:
    """A descriptor of the database that stays open: POSIX takes every lock of a process on a file away when
    it closes any descriptor of it, and without SQLite's locks another process deletes the log in use."""
    there = _identity(path)
    fd = None if there is None else _HEADERS.get(there)
    if fd is None:
        _close_deleted()
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        found = os.fstat(fd)
        _HEADERS[found.st_dev, found.st_ino] = fd
    return fd


def _close_deleted() -> None:
    """Let go of databases that were deleted meanwhile: nobody can come to hold a lock on one any more."""
    for key, fd in list(_HEADERS.items()):
        if os.fstat(fd).st_nlink == 0:
            os.close(fd)
            del _HEADERS[key]


def _check_contents(db: sqlite3.Connection, path: str, told: int) -> None:
    version = _version(db)
    if version > LATEST:
        raise _too_new(path, version)
    if version < 1 or db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise faults.damaged(path, "it does not carry Dogwatch's mark")
    commits, _ = _reached(db, path)
    if commits < told:
        raise StoreDamaged(
            f"{path} has lost its last {told - commits} commits (its write-ahead log was cut, damaged or "
            f"deleted, or an older copy was put in its place); {REMEDY}."
        )


def _reached(db: sqlite3.Connection, path: str) -> tuple[int, int]:
    """How many commits the store holds, and the number of its newest event."""
    row = db.execute("SELECT rows, (SELECT seq FROM chain) FROM tallies WHERE name = 'commits'").fetchone()
    if row is None or not all(isinstance(cell, int) for cell in row):
        raise faults.damaged(path, "its count of commits is not there")
    return row[0], row[1]


def _version(db: sqlite3.Connection) -> int:
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    return version


def _too_new(path: str, version: int) -> StoreTooNew:
    return StoreTooNew(
        f"{path} has schema {version} and this Dogwatch knows schemas up to {LATEST}: upgrade Dogwatch, "
        "or set DOGWATCH_HOME to another directory."
    )


def _make(home: str) -> None:
    from dogwatch.store.making import make

    make(home)


def _upgrade(home: str, version: int) -> None:
    from dogwatch.store.making import upgrade

    upgrade(home, version)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
