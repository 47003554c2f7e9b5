"""Reading jobs: the short rows of `ls`, the full documents of every face, and finding one by words."""

from __future__ import annotations

from dogwatch.clock import stamp
from dogwatch.errors import StoreDamaged
from dogwatch.store import cells
from dogwatch.store.places import outages_in
from dogwatch.store.tables import FINDINGS, JOBS, REMEDY, add_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from dogwatch.store.database import Store
    from dogwatch.store.places import Outage

LEVELS = ("critical", "warning", "info")
_DETAIL: dict[str, Any] = {"workers": [], "outputs": [], "checkpoints": None, "disks": [], "verified": None}
_DETAIL.update(logs=[], scores=[], verdict=None, launch=None, spent=None, outputs_missing=[], checks=[], gpus=[])
_DETAIL["history"] = []
_DETAIL.update(dict.fromkeys(("tasks", "efficiency", "expected_start", "time_limit_at", "nodes", "stdout")))
_DETAIL["no_eta_reason"] = None
_DETAIL["time_limit_seconds"] = None
_TIMES = ("at", "low_at", "high_at", "newest_at", "next_at")

# SQLite reads these few numbers out of the JSON, so that `ls` need not import a JSON reader.
_GLANCE = {
    "step": "progress, '$.step'",
    "total": "progress, '$.total'",
    "unit": "progress, '$.unit'",
    "fraction": "progress, '$.fraction'",
    "rate": "progress, '$.rate'",
    "remaining_seconds": "eta, '$.remaining_seconds'",
    "eta_at": "eta, '$.at'",
    "no_eta_reason": "detail, '$.no_eta_reason'",
    "verdict": "detail, '$.verdict.word'",
    "nodes": "detail, '$.nodes'",
    "time_limit_at": "detail, '$.time_limit_at'",
    "time_limit_seconds": "detail, '$.time_limit_seconds'",
    "expected_start": "detail, '$.expected_start'",
    "waits_for": "state_facts, '$.reason'",
    "cause": "diagnosis, '$.title'",
}
_SHORT = (
    *("ref", "id", "source", "place", "name", "description", "submitted", "registered", "active"),
    *("state", "outcome", "native", "reason", "exit_code", "signal", "attempts"),
    *("since", "proved_at", "started"),
)


def brief(store: Store, everything: bool = False) -> list[dict[str, Any]]:
    """What `ls` prints of each active (or each) job: plain columns with times as numbers, a glance at
    progress and eta, how many findings stand open, the worst of their levels and the newest of those, and since when
    its place is unreachable. Newest first."""
    glance = ", ".join(f"json_extract({what})" for what in _GLANCE.values())
    with store.reading() as db:
        rows = _all(db, f"SELECT {JOBS.cells}, {glance} FROM jobs ", everything)
        open_now, outages = findings_by_subject(db), outages_in(db)
    width = len(JOBS.names)
    out = []
    for row in rows:
        short = dict(zip(JOBS.names, JOBS.proved(row)[:width], strict=True))
        if short["forgotten"] is not None:
            continue
        line = {name: cells.unpack(v) if isinstance(v := short[name], str) else v for name in _SHORT}
        line.update(zip(_GLANCE, row[width + 1 :], strict=True))
        found = open_now.get(line["ref"], ())
        line["findings"] = len(found)
        line["worst"] = min((one["level"] for one in found), key=LEVELS.index, default=None)
        line["alert"] = max((one for one in found if one["level"] == line["worst"]), key=_opened, default=None)
        line["unreachable_since"] = _outage(line, outages)[0]
        out.append(line)
    return _newest_first(out)


def documents(store: Store, *, everything: bool = False, refs: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """Job documents: of the active jobs, of every job that is not forgotten, or of just these refs."""
    with store.reading() as db:
        if refs is None:
            rows = [JOBS.unpack(row) for row in _all(db, JOBS.select, everything)]
            rows = _newest_first([row for row in rows if row["forgotten"] is None])
        else:
            rows = [row for ref in refs if (row := row_of(db, ref)) is not None]
        open_now, outages = findings_by_subject(db), outages_in(db)
    return [document(row, open_now.get(row["ref"], ()), _outage(row, outages)) for row in rows]


def name_of(store: Store, ref: str) -> str | None:
    """The name of a job; None where the ref is no job's."""
    with store.reading() as db:
        row = cells_of(db, ref, expected=False)
    return None if row is None else cells.unpack(JOBS.cell(row, "name"))


def forgotten(store: Store, refs: Iterable[str]) -> set[str]:
    """Which of these refs belong to jobs that somebody stopped watching for good."""
    with store.reading() as db:
        return {ref for ref in refs if (row := row_of(db, ref)) is not None and row["forgotten"] is not None}


def resolve(store: Store, words: str | Sequence[str]) -> list[str]:
    """The refs that some words mean, the newest that has not ended first: an exact ref, a unique beginning of one, an
    id, a name, a unique beginning of one, else every job that contains all the words. Empty when none does."""
    text = words if isinstance(words, str) else " ".join(words)
    with store.reading() as db:
        columns = "ref, id, name, description, state, registered, forgotten"
        found = db.execute(f"SELECT {columns} FROM jobs").fetchall()
    try:
        known = [(*map(cells.unpack, row[:4]), row[4] == "ended", -row[5]) for row in found if row[6] is None]
    except (TypeError, ValueError) as error:  # these rows are not proved by their seals, to be quick
        raise StoreDamaged(f"A row of jobs in the store is not one that was written there; {REMEDY}.") from error
    known.sort(key=lambda job: job[4:])
    return [job[0] for job in _meant(known, text)]


def row_of(db: sqlite3.Connection, ref: str, expected: bool = True) -> dict[str, Any] | None:
    """A job's row by its ref."""
    row = cells_of(db, ref, expected)
    return None if row is None else JOBS.unpack(row)


def cells_of(db: sqlite3.Connection, ref: str, expected: bool = True) -> tuple[Any, ...] | None:
    """A job's row as it lies there, proved. A damaged index must not hide a job: one that is expected and
    that the index does not find is looked for row by row."""
    packed = cells.pack(ref)
    row = db.execute(JOBS.select + "WHERE ref = ?", (packed,)).fetchone()
    if expected and (row is None or row[JOBS.label] != packed):
        row = db.execute(JOBS.select + "NOT INDEXED WHERE ref = ?", (packed,)).fetchone()
    return None if row is None else JOBS.proved(row)


def findings_by_subject(db: sqlite3.Connection) -> dict[str, list[dict[str, Any]]]:
    """Every open finding, all of them by the tally, grouped by what it is about."""
    rows = db.execute(FINDINGS.select + "WHERE resolved IS NULL ORDER BY key").fetchall()
    add_up(db, "findings.open", rows)
    grouped: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        finding = FINDINGS.unpack(row)
        grouped.setdefault(finding["subject"], []).append(finding)
    return grouped


def _all(db: sqlite3.Connection, select: str, everything: bool) -> list[tuple[Any, ...]]:
    rows = db.execute(select + ("ORDER BY key" if everything else "WHERE active = 1")).fetchall()
    width = len(JOBS.names) + 1
    add_up(db, "jobs" if everything else "jobs.open", [row[:width] for row in rows])
    return rows


def _newest_first(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (-row["active"], -row["registered"], row["ref"]))


def _meant(known: list[tuple[Any, ...]], text: str) -> list[tuple[Any, ...]]:
    ref, native_id, name = 0, 1, 2
    for column in (ref, native_id, name):
        if exact := [job for job in known if job[column] == text]:
            return exact
        begun = [job for job in known if text and job[column].startswith(text)]
        if column != native_id and len(begun) == 1:
            return begun
    wanted = text.lower().split()
    return [job for job in known if wanted and all(word in f"{job[0]}\n{job[2]}\n{job[3]}".lower() for word in wanted)]


def _outage(row: dict[str, Any], outages: Mapping[str, Outage]) -> Outage:
    """Since when its place does not answer, and why. How a job ended stays true without it."""
    return (None, "") if row["state"] == "ended" else outages.get(row["place"], (None, ""))


def _opened(finding: dict[str, Any]) -> float:
    return float(finding["opened"])


def document(row: dict[str, Any], open_now: Iterable[dict[str, Any]], outage: Outage = (None, "")) -> dict[str, Any]:
    """A job's row as every face prints it."""
    facts = row["state_facts"] or {}
    detail = {**_DETAIL, **row["detail"]}
    detail["workers"] = cells.unfolded(detail["workers"])
    return {
        "ref": row["ref"],
        "id": row["id"],
        "source": row["source"],
        "place": row["place"],
        "name": row["name"],
        "description": row["description"],
        "state": row["state"],
        "outcome": row["outcome"],
        "ended_as": facts.get("ended_as") or row["outcome"],
        "native": row["native"] or None,
        "reason": row["reason"] or facts.get("reason") or None,
        "exit_code": row["exit_code"],
        "signal": row["signal"],
        "attempts": row["attempts"],
        "since": stamp(row["since"]),
        "submitted": stamp(row["submitted"]),
        "proved_at": stamp(row["proved_at"]),
        "unreachable": None
        if outage[0] is None
        else {"since": stamp(outage[0]), "why": outage[1], "last_confirmed_at": stamp(row["proved_at"])},
        "proof": [_timed(one) for one in row["proof"]],
        "progress": _timed(row["progress"]),
        "eta": _timed(row["eta"]),
        "findings": [
            {"rule": one["rule"], "level": one["level"], "text": one["text"], "since": stamp(one["opened"])}
            for one in open_now
        ],
        "diagnosis": row["diagnosis"],
        "started": stamp(row["started"]),
        **detail,
        "checkpoints": _timed(detail["checkpoints"]),
        "expect": row["expect"],
    }


def _timed(part: Any) -> Any:
    """The same object with its times as every face prints them."""
    if not isinstance(part, dict):
        return part
    return {
        key: stamp(value) if key in _TIMES and isinstance(value, (int, float)) else value for key, value in part.items()
    }
