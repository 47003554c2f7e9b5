"""Programs that the store's tests run as processes of their own, to be raced, killed and starved."""

from __future__ import annotations

import sqlite3
import sys
import time

from dogwatch.errors import StoreError
from dogwatch.store.rows import tick
from dogwatch.store.rows.registration import register
from dogwatch.store.sqlite import lease, migrations
from dogwatch.store.sqlite.connection import connect
from dogwatch.store.sqlite.create import keep_copy
from dogwatch.store.sqlite.location import Home, open_store
from tests.store.sample import NOW, job, numbered


def say(*words: object) -> None:
    print(*words, flush=True)


def make(home: str) -> None:
    open_store(home).close()
    say("made")


def registrations(home: str, first: str, count: str) -> None:
    store = open_store(home)
    for number in range(int(first), int(first) + int(count)):
        register(store, job(number), NOW, 1.0)
    say("registered")


def ticks(home: str, first: str) -> None:
    """Commit numbered ticks for ever, saying each number once it is committed."""
    store = open_store(home)
    n = int(first)
    while True:
        tick.commit(store, numbered(n))
        say(n)
        n += 1


def stubborn(home: str, count: str) -> None:
    """Commit numbered ticks, trying each again until it is taken; says what went wrong on the way."""
    store = open_store(home)
    for n in range(1, int(count) + 1):
        while True:
            before = store.db
            try:
                tick.commit(store, numbered(n))
            except StoreError as error:
                say("failed", n, type(error).__name__, "same" if store._db is before else "dropped")
                continue
            say("committed", n)
            break


def hold(home: str) -> None:
    with lease.take(home, "a test", NOW):
        say("held")
        time.sleep(600)


def upgrade(home: str) -> None:
    """Migrate by two steps that a later version might have."""
    db = connect(f"{home}/dogwatch.db", "mode=rw")
    keep_copy(db, home, migrations.LATEST)
    migrations.migrate(db, NOW, later_steps())
    say("upgraded")


def mend(home: str) -> None:
    Home(home).repair(NOW + 60)
    say("mended")


def later_steps() -> migrations.Steps:
    def add(db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE later (key INTEGER PRIMARY KEY, text TEXT)")
        db.executemany("INSERT INTO later (text) VALUES (?)", [("x" * 500,)] * 200)

    def widen(db: sqlite3.Connection) -> None:
        db.execute("ALTER TABLE later ADD COLUMN more TEXT")
        db.execute("UPDATE later SET more = text")

    return (*migrations.ours(), ("later", add), ("widened", widen))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
