"""Findings: at most one open per (subject, rule, what), resolved but never deleted; and what silences their alerts."""

from __future__ import annotations

from dogwatch.store.rows.row import Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dogwatch.model.finding import Finding
    from dogwatch.store.interface import Store, Transaction

    Identity = tuple[str, str, str]  # subject, rule, what

_THIS = "AND subject = ? AND rule = ? AND what = ?"


class FindingRow(Row, table="findings", label="subject", open="resolved IS NULL"):
    key: int = 0
    subject: str
    rule: str
    what: str
    level: str
    text: str
    opened: float
    resolved: float | None = None
    lasting: bool


class SilenceRow(Row, table="silences", label="subject", open="ended IS NULL"):
    """Without `what` a silence over whatever matches, until a time; with it one finding that was acknowledged."""

    key: int = 0
    subject: str
    rule: str
    what: str | None
    until: float | None
    why: str
    created: float
    ended: float | None = None


def by_subject(tx: Transaction) -> dict[str, list[FindingRow]]:
    """Every open finding, grouped by what it is about."""
    grouped: dict[str, list[FindingRow]] = {}
    for row in tx.every(FindingRow, "open"):
        grouped.setdefault(row.subject, []).append(row)
    return grouped


def open_findings(store: Store) -> list[Finding]:
    """Every finding that has not resolved, oldest first."""
    with store.reading() as tx:
        rows = tx.every(FindingRow, "open")
    return [_finding(row) for row in sorted(rows, key=lambda row: (row.opened, row.key))]


def open_finding(tx: Transaction, finding: Finding, at: float) -> None:
    """Open a finding; one that is open already only takes the new text and level."""
    held = tx.row(FindingRow, f"WHERE resolved IS NULL {_THIS}", finding.subject, finding.rule, finding.what)
    if held is not None:
        tx.change(held, level=finding.level.value, text=finding.text, lasting=finding.lasting)
        return
    row = FindingRow(
        subject=finding.subject,
        rule=finding.rule,
        what=finding.what,
        level=finding.level.value,
        text=finding.text,
        opened=at,
        lasting=finding.lasting,
    )
    tx.add(row)


def resolve_finding(tx: Transaction, identity: Identity, at: float) -> None:
    """Resolve the open finding of that (subject, rule, what), if there is one."""
    held = tx.row(FindingRow, f"WHERE resolved IS NULL {_THIS}", *identity)
    if held is not None:
        tx.change(held, resolved=at)


def close_findings(tx: Transaction, subject: str, at: float) -> list[Finding]:
    """Close whatever stands open about a subject, lasting or not: it is watched no longer, or anew. What that was."""
    rows = tx.rows(FindingRow, "WHERE resolved IS NULL AND subject = ?", subject)
    for row in rows:
        tx.change(row, resolved=at)
    return [_finding(row) for row in rows]


def silences(store: Store) -> list[SilenceRow]:
    """Those that were not ended, lapsed ones included."""
    with store.reading() as tx:
        return tx.every(SilenceRow, "open")


def silence(store: Store, subject: str, rule: str, what: str | None, until: float | None, why: str, at: float) -> int:
    """From the moment this returns, whatever happens to us; without `until` as long as the finding stands."""
    with store.writing() as tx:
        return tx.add(SilenceRow(subject=subject, rule=rule, what=what, until=until, why=why, created=at))


def end_silence(store: Store, key: int, at: float) -> bool:
    """End one by its number; whether there was one."""
    with store.writing() as tx:
        row = tx.row(SilenceRow, "WHERE key = ? AND ended IS NULL", key)
        if row is not None:
            tx.change(row, ended=at)
        return row is not None


def end_acknowledgements(tx: Transaction, identity: Identity, at: float) -> None:
    """What was acknowledged is over or has become worse: what comes now is news."""
    for row in tx.rows(SilenceRow, f"WHERE ended IS NULL {_THIS}", *identity):
        tx.change(row, ended=at)


def _finding(row: FindingRow) -> Finding:
    from dogwatch.model.finding import Finding, Level

    return Finding(row.subject, row.rule, Level(row.level), row.text, row.what, row.lasting, row.opened)
