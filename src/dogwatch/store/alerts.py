"""Alerts in the store: channels, letters (one for each notice and channel, with the reason), messages, silences.

A message is written with its letters before it is sent, and what came of it after: a retry is the same message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dogwatch.errors import UsageError
from dogwatch.store import cells, reception
from dogwatch.store.findings import end_acknowledgements
from dogwatch.store.jobs import cells_of
from dogwatch.store.tables import CHANNELS, JOBS, LETTERS, MESSAGES, NOTES, NOTICES, READINGS, SILENCES, add_up
from dogwatch.store.tick import queue

if TYPE_CHECKING:
    import sqlite3

    from dogwatch.model.finding import Notice
    from dogwatch.store.database import Store

WAITING, HELD, MUTED, GROUPED, DROPPED = "waiting", "held", "muted", "grouped", "dropped"
OPEN, SENT, DEAD = "open", reception.SENT, "dead"
REMOVED = "the channel was removed"
RECENT = 20  # messages within which the last critical one matters for the next
_PENDING = ("notes.open", "letters.open", "messages.open")
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
            raise taken(name)
        # By the number of a notice and not by the time: a clock that is set back must not make later ones earlier.
        newest = NOTICES.next_key(db) - 1
        fresh = {"name": name, "kind": kind, "settings": settings, "route": route, "added": at, "after": newest}
        CHANNELS.add(db, fresh)


def taken(name: str) -> UsageError:
    return UsageError(f"there is a channel called {name!r} already; `dogwatch alerts rm {name}` removes it")


def change_channel(store: Store, name: str, kind: str, settings: dict[str, Any], route: dict[str, Any]) -> None:
    """Another way to the same reader: what still waits for the channel goes that way."""
    with store.writing() as db:
        row = _channel(db, name)
        if row is not None:
            CHANNELS.change(db, {**row, "kind": kind, "settings": settings, "route": route})


def remove_channel(store: Store, name: str, at: float) -> None:
    """What is still to be sent on it is dropped, and says so."""
    with store.writing() as db:
        row = _channel(db, name)
        if row is None:
            raise UsageError(f"there is no channel called {name!r}; `dogwatch alerts ls` lists them")
        CHANNELS.change(db, {**row, "removed": at})
        packed = (cells.pack(name),)
        for raw in db.execute(LETTERS.select + "WHERE channel = ? AND state IN ('waiting', 'held')", packed).fetchall():
            LETTERS.change(db, {**LETTERS.unpack(raw), "state": DROPPED, "reason": REMOVED})
        for raw in db.execute(MESSAGES.select + "WHERE channel = ? AND state = 'open'", packed).fetchall():
            fresh = {"state": DEAD, "detail": REMOVED, "settled": at}
            MESSAGES.change(db, {**MESSAGES.unpack(raw), **fresh})


def _channel(db: sqlite3.Connection, name: str) -> dict[str, Any] | None:
    row = db.execute(CHANNELS.select + "WHERE name = ? AND removed IS NULL", (cells.pack(name),)).fetchone()
    return None if row is None else CHANNELS.unpack(row)


def pending(store: Store) -> tuple[int, int, int]:
    """How many notices are not routed, letters open and messages open; all that an idle watcher reads."""
    with store.reading() as db:
        told = dict(db.execute("SELECT name, rows FROM tallies WHERE name IN (?, ?, ?)", _PENDING).fetchall())
    notes, letters, messages = (int(told[name]) for name in _PENDING)
    return notes, letters, messages


def unrouted(store: Store, most: int = -1) -> list[dict[str, Any]]:
    """Notices of which no channel has been told yet, oldest first, with what they are about."""
    with store.reading() as db:
        sql = _ABOUT.format(f"{_NOTICE}, {_NOTE}") + "WHERE o.routed IS NULL ORDER BY o.notice LIMIT ?"
        return [_about(row) for row in db.execute(sql, (most,)).fetchall()]


def jobs_of(store: Store, refs: Iterable[str]) -> dict[str, tuple[str, str]]:
    """(name, place) of jobs by their ref, of forgotten ones too; what is no job is not in it."""
    found = {}
    with store.reading() as db:
        for ref in set(refs):
            row = cells_of(db, ref, expected=False)
            if row is not None:
                found[ref] = cells.unpack(JOBS.cell(row, "name")), cells.unpack(JOBS.cell(row, "place"))
    return found


def readings_of(store: Store, ref: str, upto: float) -> tuple[float | None, list[tuple[float, dict[str, Any]]]]:
    """(the total of a job, its readings up to a time): quickly, by their index, because a picture needs no proof that
    none is missing."""
    with store.reading() as db:
        row = cells_of(db, ref, expected=False)
        if row is None:
            return None, []
        job = JOBS.unpack(row)
        rows = db.execute(READINGS.select + "WHERE job = ? ORDER BY key", (job["key"],)).fetchall()
    total = (job["progress"] or {}).get("total")
    read = [(one["at"], one["body"]) for one in map(READINGS.unpack, rows)]
    return None if total is None else float(total), [(at, body) for at, body in read if at <= upto]


def names_at(store: Store, place: str) -> tuple[str, ...]:
    """The names of the jobs that are watched at a place."""
    with store.reading() as db:
        rows = db.execute("SELECT name FROM jobs WHERE active = 1 AND place = ?", (cells.pack(place),)).fetchall()
    return tuple(cells.unpack(name) for (name,) in rows)


def _about(row: Sequence[Any]) -> dict[str, Any]:
    width = len(NOTICES.names) + 1
    return {**NOTICES.unpack(tuple(row[:width])), **NOTES.unpack(tuple(row[width:]))}


Decided = Iterable[tuple[int, dict[str, Decision]]]


def route(store: Store, decided: Decided, at: float, said: Iterable[Notice] = ()) -> None:
    """Write the letters of notices, all channels' at once, and what is to be said of the decisions themselves; what is
    routed is never routed again."""
    with store.writing() as db:
        _route(db, decided, at)
        for notice in said:
            queue(db, notice, at)


def _route(db: sqlite3.Connection, decided: Decided, at: float) -> None:
    used = {row["name"] for row in _in_use(db)}
    for notice, letters in decided:
        raw = db.execute(NOTES.select + "WHERE notice = ? AND routed IS NULL", (notice,)).fetchone()
        if raw is None:
            continue
        note = NOTES.unpack(raw)
        NOTES.change(db, {**note, "routed": at})
        if note["resolved"]:
            subject = db.execute("SELECT subject FROM notices WHERE id = ?", (notice,)).fetchone()[0]
            end_acknowledgements(db, (cells.unpack(subject), note["rule"], note["what"]), at)
        for channel, decision in letters.items():
            gone = Decision(DROPPED, REMOVED, at)
            LETTERS.add(db, _letter(notice, channel, decision if channel in used else gone))


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
    """A message of these letters; from here on it is one thing, however often it is tried. None when one of them has
    been decided otherwise meanwhile (the channel was removed)."""
    with store.writing() as db:
        _compose(db, channel, token, letters, at)


def _compose(db: sqlite3.Connection, channel: str, token: str, letters: Sequence[int], at: float) -> int | None:
    found = [LETTERS.unpack(db.execute(LETTERS.select + "WHERE key = ?", (key,)).fetchone()) for key in letters]
    if any(letter["state"] != WAITING for letter in found):
        return None
    fresh = {"token": token, "channel": channel, "state": OPEN, "created": at, "due": at, "tries": 0, "detail": ""}
    message = MESSAGES.add(db, fresh)
    for letter in found:
        LETTERS.change(db, {**letter, "state": GROUPED, "message": message})
    return message


def last_composed(store: Store, channel: str, critical: bool = False) -> float | None:
    """When the newest message of a channel was made, or of its newest few the last that says something critical."""
    with store.reading() as db:
        sql = "SELECT key, created FROM messages WHERE channel = ? ORDER BY key DESC LIMIT ?"
        rows = db.execute(sql, (cells.pack(channel), RECENT if critical else 1)).fetchall()
        found = (created for key, created in rows if not critical or _says_critical(db, key))
        return next(map(float, found), None)


def _says_critical(db: sqlite3.Connection, message: int) -> bool:
    sql = "SELECT 1 FROM letters AS l JOIN notices AS n ON n.id = l.notice WHERE l.message = ? AND n.level = ? LIMIT 1"
    return db.execute(sql, (message, cells.pack("critical"))).fetchone() is not None


def messages(store: Store, state: str = OPEN, most: int = -1) -> list[dict[str, Any]]:
    """Messages of one state, oldest first."""
    where = "WHERE state = 'open'" if state == OPEN else f"WHERE state = '{state}'"  # a literal, for its index
    with store.reading() as db:
        rows = db.execute(MESSAGES.select + where + " ORDER BY key LIMIT ?", (most,)).fetchall()
        if state == OPEN and most < 0:
            add_up(db, "messages.open", rows)
    return [MESSAGES.unpack(row) for row in rows]


def notices_of(store: Store, message: int) -> list[dict[str, Any]]:
    """What a message says, oldest first; that never changes."""
    with store.reading() as db:
        rows = db.execute(LETTERS.select + "WHERE message = ? ORDER BY notice", (message,)).fetchall()
        return [_with_notice(db, LETTERS.unpack(row))["about"] for row in rows]


def message(store: Store, key: int) -> dict[str, Any] | None:
    """A message that is still open."""
    with store.reading() as db:
        row = db.execute(MESSAGES.select + "WHERE key = ? AND state = 'open'", (key,)).fetchone()
    return None if row is None else MESSAGES.unpack(row)


@dataclass(frozen=True, slots=True)
class Try:
    """What came of one try at a message: its state now, and when the next is due."""

    state: str
    detail: str
    due: float


def tried(store: Store, key: int, at: float, one: Try, said: Iterable[Notice] = ()) -> None:
    """What came of one try, after it was made, and what is to be said of that elsewhere."""
    with store.writing() as db:
        _tried(db, key, at, one, 1)
        for notice in said:
            queue(db, notice, at)


def _tried(db: sqlite3.Connection, key: int, at: float, one: Try, tries: int) -> None:
    row = MESSAGES.unpack(db.execute(MESSAGES.select + "WHERE key = ?", (key,)).fetchone())
    if row["state"] == OPEN or one.state == SENT:
        settled = None if one.state == OPEN else at
        fresh = {"state": one.state, "detail": one.detail, "due": one.due, "tries": row["tries"] + tries}
        MESSAGES.change(db, {**row, **fresh, "settled": settled})


@dataclass(frozen=True, slots=True)
class Afloat:
    """A message that was sent, or tried, while the store could not take it."""

    channel: str
    token: str
    notices: tuple[int, ...]
    created: float
    tries: int
    last: Try


def land(store: Store, decided: Decided, afloat: Iterable[Afloat], at: float) -> None:
    """Write what was decided and sent while the store took nothing, all of it or nothing."""
    with store.writing() as db:
        _route(db, decided, at)
        for one in afloat:
            keys = [_letter_key(db, notice, one.channel) for notice in one.notices]
            key = _compose(db, one.channel, one.token, keys, one.created)
            if key is not None and one.tries:
                _tried(db, key, at, one.last, one.tries)


def _letter_key(db: sqlite3.Connection, notice: int, channel: str) -> int:
    given = notice, cells.pack(channel)
    found: int = db.execute("SELECT key FROM letters WHERE notice = ? AND channel = ?", given).fetchone()[0]
    return found


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


def openings(store: Store, notice: dict[str, Any], since: float, until: float) -> int:
    """How often what a notice says had begun in that time, up to that notice; a reminder is no beginning."""
    sql = (
        _ABOUT.format("count(DISTINCT o.since)")
        + "WHERE n.subject = ? AND n.created BETWEEN ? AND ? AND n.id <= ? AND +o.rule = ? AND +o.what = ? "
        "AND o.resolved = 0"
    )
    subject, rule, what = (cells.pack(notice[name]) for name in ("subject", "rule", "what"))
    with store.reading() as db:
        found: int = db.execute(sql, (subject, since, until, notice["id"], rule, what)).fetchone()[0]
    return found


def flapping(store: Store) -> list[dict[str, Any]]:
    """The notices that something flaps whose end has not been said, each with when that thing last began (`last`)."""
    sql = _ABOUT.format(f"{_NOTICE}, {_NOTE}") + "WHERE o.rule = 'flapping' ORDER BY n.id"
    live: dict[tuple[str, str], dict[str, Any]] = {}
    with store.reading() as db:
        for row in map(_about, db.execute(sql).fetchall()):
            about = row["subject"], row["what"]
            live[about] = row
            if row["resolved"]:
                del live[about]
        return [{**row, **_last_said(db, row)} for row in live.values()]


def _last_said(db: sqlite3.Connection, flapping: dict[str, Any]) -> dict[str, Any]:
    """When what flaps last began (`last`), and how it last ended (`closed`)."""
    rule, _, what = flapping["what"].partition("\x1f")
    sql = (
        _ABOUT.format("n.created, o.resolved") + "WHERE n.subject = ? AND +o.rule = ? AND +o.what = ? "
        "AND (o.resolved = 0) = ? ORDER BY n.id DESC LIMIT 1"
    )
    given = tuple(map(cells.pack, (flapping["subject"], rule, what)))
    began, ended = (db.execute(sql, (*given, opens)).fetchone() for opens in (1, 0))
    return {"last": float(flapping["created"] if began is None else began[0]), "closed": ended[1] if ended else 1}


def sent_opening(store: Store, channel: str, notice: Mapping[str, Any]) -> bool:
    """Whether what this notice ends was, or will be, said on a channel: that it began, that it still stood, or after
    flapping the final word; back to when it last ended."""
    sql = (
        "SELECT l.state, o.resolved AND o.rule = ? FROM notices AS n JOIN notes AS o ON o.notice = n.id "
        "LEFT JOIN letters AS l ON l.notice = n.id AND l.channel = ? WHERE n.subject = ? AND n.id < ? "
        "AND ((o.rule = ? AND o.what = ?) OR (o.rule = 'flapping' AND o.what = ? AND o.resolved)) ORDER BY n.id DESC"
    )
    subject, rule, what = notice["subject"], notice["rule"], notice["what"]
    given = map(cells.pack, (rule, what, f"{rule}\x1f{what}"))
    with store.reading() as db:
        for state, ended in db.execute(
            sql, (cells.pack(rule), cells.pack(channel), cells.pack(subject), notice["id"], *given)
        ):
            if ended or state in said_by(rule):
                return not ended
    return False


def said_by(rule: str) -> tuple[str, ...]:
    """The states of a letter that is, or will be, said. A finding that is held back may have gone until then; that
    something flapped stays true."""
    return (WAITING, GROUPED, HELD) if rule == "flapping" else (WAITING, GROUPED)


def is_queued(store: Store, key: str) -> bool:
    """Whether a notice of that key was ever written."""
    with store.reading() as db:
        return db.execute("SELECT 1 FROM notices WHERE key = ?", (cells.pack(key),)).fetchone() is not None


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
