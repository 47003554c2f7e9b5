"""Alerts in the store: channels, letters (one for each notice and channel, with the reason), messages, silences.

A message is written with its letters before it is sent, and what came of it after: a retry is the same message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dogwatch.errors import UsageError
from dogwatch.store import cells
from dogwatch.store.tables import CHANNELS, LETTERS, MESSAGES, NOTES, NOTICES, SILENCES, add_up

if TYPE_CHECKING:
    import sqlite3

    from dogwatch.store.database import Store

WAITING, HELD, MUTED, GROUPED, DROPPED = "waiting", "held", "muted", "grouped", "dropped"
OPEN, SENT, DEAD = "open", "sent", "dead"
_ABOUT = "SELECT {} FROM notices AS n JOIN notes AS o ON o.notice = n.id "
_NOTICE = ", ".join(f"n.{name}" for name in (*NOTICES.names, "seal"))
_NOTE = ", ".join(f"o.{name}" for name in (*NOTES.names, "seal"))


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a notice on a channel, and why; `due` is when that is looked at again."""

    state: str
    reason: str
    due: float


def channels(store: Store) -> list[dict[str, Any]]:
    """The channels in use, oldest first."""
    with store.reading() as db:
        rows = db.execute(CHANNELS.select + "ORDER BY key").fetchall()
        add_up(db, "channels", rows)
    return [row for row in map(CHANNELS.unpack, rows) if row["removed"] is None]


def add_channel(store: Store, name: str, kind: str, settings: dict[str, Any], route: dict[str, Any], at: float) -> None:
    """From now on; what was said before is not said again for it."""
    with store.writing() as db:
        if _channel(db, name) is not None:
            raise UsageError(f"there is a channel called {name!r} already; `dogwatch alerts rm {name}` removes it")
        fresh = {"name": name, "kind": kind, "settings": settings, "route": route, "added": at}
        CHANNELS.add(db, fresh)


def remove_channel(store: Store, name: str, at: float) -> None:
    """What is still to be sent on it is dropped, and says so."""
    with store.writing() as db:
        row = _channel(db, name)
        if row is None:
            raise UsageError(f"there is no channel called {name!r}; `dogwatch alerts ls` lists them")
        CHANNELS.change(db, {**row, "removed": at})
        packed = (cells.pack(name),)
        for raw in db.execute(LETTERS.select + "WHERE channel = ? AND state IN ('waiting', 'held')", packed).fetchall():
            LETTERS.change(db, {**LETTERS.unpack(raw), "state": DROPPED, "reason": "the channel was removed"})
        for raw in db.execute(MESSAGES.select + "WHERE channel = ? AND state = 'open'", packed).fetchall():
            fresh = {"state": DEAD, "detail": "the channel was removed", "settled": at}
            MESSAGES.change(db, {**MESSAGES.unpack(raw), **fresh})


def _channel(db: sqlite3.Connection, name: str) -> dict[str, Any] | None:
    row = db.execute(CHANNELS.select + "WHERE name = ? AND removed IS NULL", (cells.pack(name),)).fetchone()
    return None if row is None else CHANNELS.unpack(row)


def unrouted(store: Store) -> list[dict[str, Any]]:
    """Notices of which no channel has been told yet, oldest first, with what they are about."""
    with store.reading() as db:
        if not db.execute("SELECT rows FROM tallies WHERE name = 'notes.open'").fetchone()[0]:
            return []
        sql = _ABOUT.format(f"{_NOTICE}, {_NOTE}") + "WHERE o.routed IS NULL ORDER BY n.id"
        return [_about(row) for row in db.execute(sql).fetchall()]


def _about(row: Sequence[Any]) -> dict[str, Any]:
    width = len(NOTICES.names) + 1
    return {**NOTICES.unpack(tuple(row[:width])), **NOTES.unpack(tuple(row[width:]))}


def route(store: Store, decided: Iterable[tuple[int, dict[str, Decision]]], at: float) -> None:
    """Write the letters of notices, all channels' at once; what is routed is never routed again."""
    with store.writing() as db:
        for notice, letters in decided:
            raw = db.execute(NOTES.select + "WHERE notice = ? AND routed IS NULL", (notice,)).fetchone()
            if raw is None:
                continue
            NOTES.change(db, {**NOTES.unpack(raw), "routed": at})
            for channel, decision in letters.items():
                LETTERS.add(db, _letter(notice, channel, decision))


def _letter(notice: int, channel: str, decision: Decision) -> dict[str, Any]:
    decided = {"state": decision.state, "reason": decision.reason, "due": decision.due}
    return {"notice": notice, "channel": channel, **decided}


def open_letters(store: Store) -> list[dict[str, Any]]:
    """Letters that wait for company or are held back, oldest first, with their notices."""
    with store.reading() as db:
        rows = db.execute(LETTERS.select + "WHERE state IN ('waiting', 'held') ORDER BY key").fetchall()
        add_up(db, "letters.open", rows)
        return [_with_notice(db, LETTERS.unpack(row)) for row in rows]


def _with_notice(db: sqlite3.Connection, letter: dict[str, Any]) -> dict[str, Any]:
    sql = _ABOUT.format(f"{_NOTICE}, {_NOTE}") + "WHERE n.id = ?"
    return {**letter, "about": _about(db.execute(sql, (letter["notice"],)).fetchone())}


def redecide(store: Store, decided: Iterable[tuple[int, Decision]]) -> None:
    """Another decision about letters that were still open."""
    with store.writing() as db:
        for key, decision in decided:
            raw = db.execute(LETTERS.select + "WHERE key = ?", (key,)).fetchone()
            letter = LETTERS.unpack(raw)
            if letter["state"] in (WAITING, HELD):
                fresh = {"state": decision.state, "reason": decision.reason, "due": decision.due}
                LETTERS.change(db, {**letter, **fresh})


def compose(store: Store, channel: str, token: str, letters: Sequence[int], at: float) -> None:
    """A message of these letters; from here on it is one thing, however often it is tried."""
    with store.writing() as db:
        fresh = {"token": token, "channel": channel, "state": OPEN, "created": at, "due": at, "tries": 0, "detail": ""}
        message = MESSAGES.add(db, fresh)
        for key in letters:
            letter = LETTERS.unpack(db.execute(LETTERS.select + "WHERE key = ?", (key,)).fetchone())
            LETTERS.change(db, {**letter, "state": GROUPED, "message": message})


def messages(store: Store, state: str = OPEN) -> list[dict[str, Any]]:
    """Messages of one state, oldest first, each with the notices in it."""
    with store.reading() as db:
        if state == OPEN and not db.execute("SELECT rows FROM tallies WHERE name = 'messages.open'").fetchone()[0]:
            return []
        rows = db.execute(MESSAGES.select + "WHERE state = ? ORDER BY key", (state,)).fetchall()
        if state == OPEN:
            add_up(db, "messages.open", rows)
        return [{**row, "notices": _notices_of(db, row["key"])} for row in map(MESSAGES.unpack, rows)]


def _notices_of(db: sqlite3.Connection, message: int) -> list[dict[str, Any]]:
    rows = db.execute(LETTERS.select + "WHERE message = ? ORDER BY notice", (message,)).fetchall()
    letters = [LETTERS.unpack(row) for row in rows]
    return [_with_notice(db, letter)["about"] for letter in letters]


def tried(store: Store, message: int, at: float, *, state: str, detail: str, due: float) -> None:
    """What came of one try, after it was made."""
    with store.writing() as db:
        row = MESSAGES.unpack(db.execute(MESSAGES.select + "WHERE key = ?", (message,)).fetchone())
        if row["state"] == OPEN:
            settled = None if state == OPEN else at
            fresh = {"state": state, "detail": detail, "due": due, "tries": row["tries"] + 1, "settled": settled}
            MESSAGES.change(db, {**row, **fresh})


def revive(store: Store, at: float) -> int:
    """Try what was given up once more, and what waits for its turn at once; how many."""
    with store.writing() as db:
        rows = db.execute(MESSAGES.select + "WHERE state IN ('open', 'dead')").fetchall()
        used = {cells.pack(row["name"]) for row in _in_use(db)}
        found = [row for row in map(MESSAGES.unpack, rows) if cells.pack(row["channel"]) in used]
        for row in found:
            MESSAGES.change(db, {**row, "state": OPEN, "due": at, "settled": None})
        return len(found)


def _in_use(db: sqlite3.Connection) -> list[dict[str, Any]]:
    return [CHANNELS.unpack(row) for row in db.execute(CHANNELS.select + "WHERE removed IS NULL").fetchall()]


def last_sent(store: Store, subject: str, rule: str, what: str) -> float | None:
    """When a message about this was last taken by anybody."""
    sql = (
        "SELECT max(m.settled) FROM messages AS m JOIN letters AS l ON l.message = m.key "
        "JOIN notices AS n ON n.id = l.notice JOIN notes AS o ON o.notice = n.id "
        "WHERE m.state = 'sent' AND o.rule = ? AND o.what = ? AND n.subject = ?"
    )
    with store.reading() as db:
        found = db.execute(sql, tuple(map(cells.pack, (rule, what, subject)))).fetchone()[0]
    return None if found is None else float(found)


def openings(store: Store, subject: str, rule: str, what: str, since: float) -> list[float]:
    """When notices that this began were written, oldest first."""
    sql = _ABOUT.format("n.created") + "WHERE o.rule = ? AND o.what = ? AND n.subject = ? AND o.resolved = 0"
    with store.reading() as db:
        rows = db.execute(sql + " AND n.created >= ? ORDER BY n.id", (*map(cells.pack, (rule, what, subject)), since))
        return [float(row[0]) for row in rows]


def flapping(store: Store, since: float) -> tuple[list[dict[str, Any]], dict[int, float]]:
    """The notices that something flaps whose end has not been said, and when each of those things last began."""
    sql = _ABOUT.format(f"{_NOTICE}, {_NOTE}") + "WHERE o.rule = 'flapping' AND n.created >= ? ORDER BY n.id"
    with store.reading() as db:
        rows = [_about(row) for row in db.execute(sql, (since,)).fetchall()]
    over = {(row["subject"], row["what"].removesuffix(" ended")) for row in rows if row["what"].endswith(" ended")}
    live = [row for row in rows if not row["what"].endswith(" ended") and (row["subject"], row["what"]) not in over]
    last = {}
    for row in live:
        rule, _, what = row["what"].partition("\x1f")
        last[row["id"]] = max(openings(store, row["subject"], rule, what, since), default=row["created"])
    return live, last


def sent_opening(store: Store, channel: str, subject: str, rule: str, what: str) -> bool:
    """Whether the newest opening of this was, or will be, said on a channel."""
    sql = (
        "SELECT l.state FROM letters AS l JOIN notices AS n ON n.id = l.notice JOIN notes AS o ON o.notice = n.id "
        "WHERE l.channel = ? AND o.rule = ? AND o.what = ? AND n.subject = ? AND o.resolved = 0 "
        "ORDER BY n.id DESC LIMIT 1"
    )
    with store.reading() as db:
        row = db.execute(sql, tuple(map(cells.pack, (channel, rule, what, subject)))).fetchone()
    return row is not None and row[0] in (WAITING, GROUPED)


def letters_of(store: Store, subject: str | None, limit: int) -> list[dict[str, Any]]:
    """The newest decisions, newest first, with their notices and what became of their messages."""
    where, given = ("", ()) if subject is None else ("WHERE n.subject = ? ", (cells.pack(subject),))
    listed = ", ".join(f"l.{name}" for name in (*LETTERS.names, "seal"))
    sql = f"SELECT {listed} FROM letters AS l JOIN notices AS n ON n.id = l.notice {where}ORDER BY l.key DESC LIMIT ?"
    with store.reading() as db:
        found = [_with_notice(db, LETTERS.unpack(row)) for row in db.execute(sql, (*given, limit)).fetchall()]
        for letter in found:
            raw = db.execute(MESSAGES.select + "WHERE key = ?", (letter["message"],)).fetchone()
            letter["sent"] = None if raw is None else MESSAGES.unpack(raw)
    return found


def silences(store: Store) -> list[dict[str, Any]]:
    """Those that were not ended, lapsed ones included."""
    with store.reading() as db:
        rows = db.execute(SILENCES.select + "WHERE ended IS NULL ORDER BY key").fetchall()
        add_up(db, "silences.open", rows)
    return [SILENCES.unpack(row) for row in rows]


def silence(store: Store, subject: str, rule: str, what: str | None, until: float | None, why: str, at: float) -> int:
    """From the moment this returns, whatever happens to us; without `until` as long as the finding stands."""
    fresh = {"subject": subject, "rule": rule, "what": what, "until": until, "why": why, "created": at}
    with store.writing() as db:
        return SILENCES.add(db, fresh)


def end_silence(store: Store, key: int, at: float) -> bool:
    with store.writing() as db:
        raw = db.execute(SILENCES.select + "WHERE key = ? AND ended IS NULL", (key,)).fetchone()
        if raw is not None:
            SILENCES.change(db, {**SILENCES.unpack(raw), "ended": at})
        return raw is not None
