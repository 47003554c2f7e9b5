"""Findings in the store: at most one open per (subject, rule, what), resolved but never deleted."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dogwatch.model.finding import Finding, Level
from dogwatch.store import cells
from dogwatch.store.jobs import findings_by_subject
from dogwatch.store.tables import FINDINGS, SILENCES

if TYPE_CHECKING:
    import sqlite3

    from dogwatch.store.database import Store


@dataclass(frozen=True, slots=True)
class OpenFinding:
    """A finding that has not resolved, and since when it stands."""

    finding: Finding
    opened: float


def open_findings(store: Store) -> list[OpenFinding]:
    """Every finding that has not resolved, oldest first."""
    with store.reading() as db:
        rows = [row for group in findings_by_subject(db).values() for row in group]
    rows.sort(key=lambda row: (row["opened"], row["key"]))
    return [OpenFinding(_finding(row), row["opened"]) for row in rows]


def open_finding(db: sqlite3.Connection, finding: Finding, at: float) -> None:
    """Open a finding; one that is open already only takes the new text and level."""
    held = _open_row(db, (finding.subject, finding.rule, finding.what))
    fresh = {**asdict(finding), "level": finding.level.value, "lasting": int(finding.lasting)}
    if held is None:
        FINDINGS.add(db, {**fresh, "opened": at})
    else:
        told = {name: fresh[name] for name in ("level", "text", "lasting")}
        if any(held[name] != told[name] for name in told):
            FINDINGS.change(db, {**held, **told})


def resolve_finding(db: sqlite3.Connection, identity: tuple[str, str, str], at: float) -> None:
    """Resolve the open finding of that (subject, rule, what), if there is one."""
    held = _open_row(db, identity)
    if held is not None:
        FINDINGS.change(db, {**held, "resolved": at})


def close_findings(db: sqlite3.Connection, subject: str, at: float) -> list[Finding]:
    """Close whatever stands open about a subject, lasting or not: it is watched no longer, or anew. What that was."""
    sql = FINDINGS.select + "WHERE resolved IS NULL AND subject = ?"
    found = [FINDINGS.unpack(row) for row in db.execute(sql, (cells.pack(subject),)).fetchall()]
    for row in found:
        FINDINGS.change(db, {**row, "resolved": at})
    return [_finding(row) for row in found]


def end_acknowledgements(db: sqlite3.Connection, identity: tuple[str, str, str], at: float) -> None:
    """What was acknowledged is over or has become worse: what comes now is news."""
    sql = SILENCES.select + "WHERE ended IS NULL AND subject = ? AND rule = ? AND what = ?"
    for raw in db.execute(sql, tuple(map(cells.pack, identity))).fetchall():
        SILENCES.change(db, {**SILENCES.unpack(raw), "ended": at})


def _open_row(db: sqlite3.Connection, identity: tuple[str, str, str]) -> dict[str, Any] | None:
    row = db.execute(
        FINDINGS.select + "WHERE resolved IS NULL AND subject = ? AND rule = ? AND what = ?",
        tuple(map(cells.pack, identity)),
    ).fetchone()
    return None if row is None else FINDINGS.unpack(row)


def _finding(row: dict[str, Any]) -> Finding:
    return Finding(
        subject=row["subject"],
        rule=row["rule"],
        level=Level(row["level"]),
        text=row["text"],
        what=row["what"],
        lasting=bool(row["lasting"]),
        opened=row["opened"],
    )
