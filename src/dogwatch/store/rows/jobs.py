"""Jobs: the short rows of `ls`, the full documents of every interface, and finding one by words."""

from __future__ import annotations

from dogwatch.clock import stamp
from dogwatch.errors import StoreDamaged
from dogwatch.store.rows.findings import by_subject
from dogwatch.store.rows.places import outages
from dogwatch.store.rows.row import REMEDY, Row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from dogwatch.store.interface import Store
    from dogwatch.store.rows.findings import FindingRow
    from dogwatch.store.rows.places import Outage
    from dogwatch.store.rows.row import Json
    from dogwatch.wire.documents.job import BriefJob, JobDocument
    from dogwatch.wire.documents.machine import WorkerDocument

LEVELS = ("critical", "warning", "info")
_EMPTY = ("workers", "outputs", "outputs_missing", "disks", "gpus", "checks", "scores", "history", "folders", "logs")
_UNKNOWN = (
    *("checkpoints", "verified", "verdict", "launch", "tasks", "spent", "efficiency", "expected_start"),
    *("time_limit_at", "time_limit_seconds", "no_eta_reason", "nodes", "stdout", "stages", "box"),
)
_NAMED = ("ref", "id", "source", "place", "name", "description", "state", "outcome")
_TIMES = ("at", "low_at", "high_at", "newest_at", "next_at")

# The database reads these few numbers out of the JSON, so that `ls` need not import a JSON reader.
_EXTRACTED = {
    **{name: f"progress.{name}" for name in ("step", "total", "unit", "fraction", "rate")},
    **{"remaining_seconds": "eta.remaining_seconds", "eta_at": "eta.at"},
    **{name: f"detail.{name}" for name in ("no_eta_reason", "nodes", "time_limit_at", "time_limit_seconds")},
    **{"expected_start": "detail.expected_start", "verdict": "detail.verdict.word"},
    **{"waits_for": "state_facts.reason", "cause": "diagnosis.title"},
}
_SHORT = (
    *("ref", "id", "source", "place", "name", "description", "submitted", "registered", "active"),
    *("state", "outcome", "native", "reason", "exit_code", "signal", "attempts"),
    *("since", "started"),
)


class JobRow(Row, table="jobs", label="ref", active="active = 1"):
    """A job as it was registered and as it was last known; what moves at every poll stands last."""

    key: int = 0
    ref: str
    place: str
    source: str
    id: str
    name: str
    description: str
    submitted: float | None
    registered: float
    track: Json
    expect: Json
    active: int = 1
    forgotten: float | None = None
    state: str | None = None
    state_facts: Json = None
    outcome: str | None = None
    native: str = ""
    reason: str = ""
    exit_code: int | None = None
    signal: int | None = None
    attempts: int = 0
    attempt: str = ""
    since: float | None = None
    started: float | None = None
    progress: Json = None
    eta: Json = None
    diagnosis: Json = None
    detail: Json
    confirmed_at: float | None = None
    evidence: Json


def brief(store: Store, everything: bool = False) -> list[BriefJob]:
    """What `ls` prints of each active (or each) job: plain columns with times as numbers, something of its
    progress and eta, how many findings stand open, the worst of their levels and the newest of those, and since when
    its place is unreachable. Newest first."""
    with store.reading() as tx:
        rows = tx.extracts(JobRow, tuple(_EXTRACTED.values()), "" if everything else "active")
        open_now, unreachable = by_subject(tx), outages(tx)
    listed = [(row, extracted) for row, extracted in rows if row.forgotten is None]
    listed.sort(key=lambda pair: _newest_first(pair[0]))
    out: list[BriefJob] = []
    for row, extracted in listed:
        line: Any = {name: getattr(row, name) for name in _SHORT}
        line["confirmed_at"] = row.confirmed_at
        line.update(zip(_EXTRACTED, extracted, strict=True))
        found = open_now.get(row.ref, ())
        line["findings"] = len(found)
        line["worst"] = worst = min((one.level for one in found), key=LEVELS.index, default=None)
        newest = max((one for one in found if one.level == worst), key=_opened, default=None)
        line["alert"] = None if newest is None else {name: getattr(newest, name) for name in newest.NAMES}
        line["unreachable_since"] = _outage(row, unreachable)[0]
        out.append(line)
    return out


def documents(store: Store, *, everything: bool = False, refs: Iterable[str] | None = None) -> list[JobDocument]:
    """Job documents: of the active jobs, of every job that is not forgotten, or of just these refs."""
    with store.reading() as tx:
        if refs is None:
            every = tx.every(JobRow, "" if everything else "active")
            rows = sorted((row for row in every if row.forgotten is None), key=_newest_first)
        else:
            rows = [row for ref in refs if (row := tx.find(JobRow, ref)) is not None]
        open_now, unreachable = by_subject(tx), outages(tx)
    return [document(row, open_now.get(row.ref, ()), _outage(row, unreachable)) for row in rows]


def track_of(store: Store, ref: str) -> Json:
    """How a job is known again, as its source keeps it; empty where there is no such job."""
    with store.reading() as tx:
        row = tx.find(JobRow, ref)
    return {} if row is None else row.track


def jobs_of(store: Store, refs: Iterable[str]) -> dict[str, tuple[str, str]]:
    """(name, place) of jobs by their ref, of forgotten ones too; what is no job is not in it."""
    with store.reading() as tx:
        rows = {ref: tx.row(JobRow, "WHERE ref = ?", ref) for ref in set(refs)}
    return {ref: (row.name, row.place) for ref, row in rows.items() if row is not None}


def names_at(store: Store, place: str) -> tuple[str, ...]:
    """The names of the jobs that are watched at a place."""
    with store.reading() as tx:
        return tuple(name for (name,) in tx.query("SELECT name FROM jobs WHERE active = 1 AND place = ?", place))


def forgotten(store: Store, refs: Iterable[str]) -> set[str]:
    """Which of these refs belong to jobs that somebody stopped watching for good."""
    with store.reading() as tx:
        return {ref for ref in refs if (row := tx.find(JobRow, ref)) is not None and row.forgotten is not None}


def resolve(store: Store, words: str | Sequence[str]) -> list[str]:
    """The refs that some words mean, the newest that has not ended first: an exact ref, a unique beginning of one, an
    id, a name, a unique beginning of one, else every job that contains all the words. Empty when none does."""
    text = words if isinstance(words, str) else " ".join(words)
    with store.reading() as tx:
        try:  # these rows are not confirmed by their seals, to be quick
            rows = tx.query("SELECT ref, id, name, description, state, registered, forgotten FROM jobs")
            known = [(*row[:4], row[4] == "ended", -row[5]) for row in rows if row[6] is None]
            known.sort(key=lambda job: job[4:])
            return [job[0] for job in _meant(known, text)]
        except (TypeError, ValueError, AttributeError) as error:
            raise StoreDamaged(f"A row of jobs in the store is not one that was written there; {REMEDY}.") from error


def folded(rows: Sequence[WorkerDocument]) -> Json:
    """Rows that share their keys, with the keys said once: half as long to write, and to write to disk."""
    keys = tuple(rows[0]) if rows else ()
    if not rows or any(tuple(row) != keys for row in rows):
        return rows
    return {"keys": keys, "rows": [tuple(row.values()) for row in rows]}


def unfolded(part: Json) -> Json:
    """What `folded` was given."""
    if not isinstance(part, dict):
        return part
    return [dict(zip(part["keys"], row, strict=True)) for row in part["rows"]]


def _newest_first(row: JobRow) -> tuple[int, float, str]:
    return -row.active, -row.registered, row.ref


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


def _outage(row: JobRow, outages: Mapping[str, Outage]) -> Outage:
    """Since when its place does not answer, and why. How a job ended stays true without it."""
    return (None, "") if row.state == "ended" else outages.get(row.place, (None, ""))


def _opened(finding: FindingRow) -> float:
    return finding.opened


def document(row: JobRow, open_now: Iterable[FindingRow], outage: Outage = (None, "")) -> JobDocument:
    """A job's row as every interface prints it."""
    facts = row.state_facts or {}
    detail = {**{name: [] for name in _EMPTY}, **dict.fromkeys(_UNKNOWN), **row.detail}
    detail["workers"] = unfolded(detail["workers"])
    whole: Any = {
        **{name: getattr(row, name) for name in _NAMED},
        "ended_as": facts.get("ended_as") or row.outcome,
        "native": row.native or None,
        "reason": row.reason or facts.get("reason") or None,
        **{name: getattr(row, name) for name in ("exit_code", "signal", "attempts")},
        "since": stamp(row.since),
        "submitted": stamp(row.submitted),
        "confirmed_at": stamp(row.confirmed_at),
        "unreachable": None
        if outage[0] is None
        else {"since": stamp(outage[0]), "why": outage[1], "last_confirmed_at": stamp(row.confirmed_at)},
        "evidence": [_timed(one) for one in row.evidence],
        "progress": _timed(row.progress),
        "eta": _timed(row.eta),
        "findings": [
            {"rule": one.rule, "level": one.level, "text": one.text, "since": stamp(one.opened)} for one in open_now
        ],
        "diagnosis": row.diagnosis,
        "started": stamp(row.started),
        **detail,
        "checkpoints": _timed(detail["checkpoints"]),
        "expect": row.expect,
    }
    return whole  # type: ignore[no-any-return]


def _timed(part: Any) -> Any:
    """The same object with its times as every interface prints them."""
    if not isinstance(part, dict):
        return part
    return {
        key: stamp(value) if key in _TIMES and isinstance(value, (int, float)) else value for key, value in part.items()
    }
