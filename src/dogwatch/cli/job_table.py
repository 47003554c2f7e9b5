"""The table of `dogwatch ls`: one row per job, as many columns as the terminal has room for. Pure and light."""

from __future__ import annotations

from dogwatch.cli.out import cells, cut
from dogwatch.text import is_suspended, lasting, plain
from dogwatch.tui import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dogwatch.wire.documents.job import BriefJob as Job
    from dogwatch.wire.documents.watch import BriefDocument

    Row = tuple[str, ...]

HEAD = ("NAME", "STATE", "WHERE", "ELAPSED/LIMIT", "PROGRESS", "ETA", "ALERT", "REF")
NAME, STATE, WHERE, ELAPSED, PROGRESS, ETA, ALERT, REF = range(len(HEAD))
# What is shown, the first of these that fits: what `status` tells as well is left out first.
_CHOICES = (
    (NAME, STATE, WHERE, ELAPSED, PROGRESS, ETA, ALERT, REF),
    (NAME, STATE, WHERE, ELAPSED, PROGRESS, ETA, ALERT),
    (NAME, STATE, ELAPSED, PROGRESS, ETA, ALERT),
    (NAME, STATE, WHERE, ELAPSED, PROGRESS, ETA),
    (NAME, STATE, ELAPSED, PROGRESS, ETA),
    (NAME, STATE, PROGRESS, ETA),
    (NAME, STATE, PROGRESS),
    (NAME, STATE),
)
# To how little these may be cut before a column is left out instead, the first one first.
_LEAST = ((WHERE, 20), (NAME, 24), (ALERT, 18), (NAME, 16), (WHERE, 12), (STATE, 12))
_LEAST_NARROW = ((NAME, 8), (STATE, 11))
_GAP = 2
_MARKS = {"critical": "!! ", "warning": "! "}


def table(jobs: Sequence[Job], now: float, width: int | None) -> list[str]:
    """The lines of the list. Without a width, as in a pipe, nothing is left out and nothing is cut."""
    names = _names(jobs)
    rows = [_row(job, name, now) for job, name in zip(jobs, names, strict=True)]
    marked = [
        (row[0], _MARKS.get(str(job["worst"]), "") + row[1], *row[2:]) for job, row in zip(jobs, rows, strict=True)
    ]
    for shown in _CHOICES:
        lines = _lines(rows if ALERT in shown else marked, shown, width)
        if lines is not None:
            return lines
    return [cut(row[NAME], width or 0) for row in (HEAD, *rows)]


def _lines(rows: Sequence[Row], shown: Sequence[int], width: int | None) -> list[str] | None:
    """These columns of all rows, or None where they do not fit; long cells are cut for it as far as is sensible."""
    sizes = {at: max(cells(row[at]) for row in (HEAD, *rows)) for at in shown}
    if width is not None:
        over = sum(sizes.values()) + _GAP * (len(shown) - 1) - width
        for column, least in _LEAST if WHERE in shown or ALERT in shown else _LEAST_NARROW:
            if over > 0 and column in sizes and REF not in shown:
                spare = max(0, min(over, sizes[column] - least))
                sizes[column], over = sizes[column] - spare, over - spare
        if over > 0:
            return None
    return ["  ".join(_padded(row[at], sizes[at]) for at in shown).rstrip() for row in (HEAD, *rows)]


def _padded(text: str, size: int) -> str:
    text = cut(text, size)
    return text + " " * (size - cells(text))


def _names(jobs: Sequence[Job]) -> list[str]:
    """What each job is called here: its name, with its id where another job in the list has the same name."""
    from dogwatch.api.queries import told_apart

    return told_apart([(plain(job["name"], 60), plain(job["id"], 60)) for job in jobs])


def _row(job: Job, name: str, now: float) -> Row:
    ref = plain(job["ref"], 120)
    return name, state(job), _where(job), _elapsed(job, now), _progress(job), _eta(job, now), alert(job, now), ref


_VERDICTS = {"stalled": "stalled", "slow": "running, slow", "silent but busy": "running, silent"}


def state(job: Job) -> str:
    """The state in a few words: how it ended, else whether it runs, or what makes that doubtful."""
    if job["state"] == "ended":
        word = str(job["outcome"] or "ended, checking")
        return "outcome unknown" if word == "unknown" else plain(word.replace("_", " "), 40)
    word = plain(job["state"] or "not polled yet", 40)
    if job["unreachable_since"] is not None:
        return "unreachable"
    if job["state"] == "running" and is_suspended(job["native"]):
        return "suspended"
    if job["state"] == "waiting" and (job["attempts"] or 0) > 1:
        return "requeued"
    return _VERDICTS.get(str(job["verdict"]), word) if job["state"] == "running" else word


def _where(job: Job) -> str:
    """Why it waits, the nodes it runs on, or its stage; on another host with the name of that host."""
    place = "" if job["place"] == "here" else plain(job["place"], 30)
    told = (job["reason"] or job["waits_for"]) if job["state"] == "waiting" else job["nodes"]
    if told is None and str(job["native"] or "").startswith("stage "):
        told = job["native"]
    parts = [place, plain(" ".join(str(told).split()), 40) if told else ""]
    return ": ".join(part for part in parts if part) or "here"


def _elapsed(job: Job, now: float) -> str:
    """How long it has run or ran, of how long it may."""
    began = job["started"]
    until = job["since"] if job["state"] == "ended" else now
    ran = None if began is None or until is None or job["state"] == "waiting" else max(0.0, until - began)
    limit = job["time_limit_seconds"]
    if limit is None and began is not None and (at := _moment(job["time_limit_at"])) is not None:
        limit = at - began
    return words.span(ran) if limit is None else f"{words.span(ran)}/{words.span(limit)}"


def _moment(at: str | float | None) -> float | None:
    """A moment of a job as the store has it, which is a number or a text."""
    return words.moment(at) if isinstance(at, str) else at


def _progress(job: Job) -> str:
    if job["step"] is None:
        return words.UNKNOWN
    return words.percent(job["fraction"]) if job["fraction"] is not None else words.count(job["step"])


def _eta(job: Job, now: float) -> str:
    """How long it will still take, counted from the promised moment; of a waiting job when it should start."""
    if job["state"] == "waiting" and (starts := _moment(job["expected_start"])) is not None:
        return f"starts {words.clock(starts, now)}"
    due = _moment(job["eta_at"]) if job["state"] in ("running", "missing") else None
    if due is None:
        return (words.short_reason(job["no_eta_reason"]) if job["state"] == "running" else "") or words.UNKNOWN
    limit = _moment(job["time_limit_at"])
    if limit is not None and limit < due:
        return "past limit"
    return words.roughly(due - now) if due >= now - 1 else f"overdue {words.roughly(now - due)}"


def alert(job: Job, now: float) -> str:
    """The words of the newest of its worst open alerts; of one that ended, why."""
    said = []
    if job["unreachable_since"] is not None:
        since, was = job["unreachable_since"], f" ({job['state']})" if job["state"] else ""
        said.append(words.unreachable(since, job["confirmed_at"], now) + was)
    if job["alert"] is not None:
        said.append(plain(" ".join(str(job["alert"]["text"]).split()), 300))
    elif job["outcome"] == "completed":
        said.append("exit status unknown")
    elif job["outcome"] not in (None, "succeeded"):
        said.append(plain(job["cause"] or job["reason"] or "", 300))
    return "; ".join(part for part in said if part) or words.UNKNOWN


def age(jobs: Sequence[Job], now: float) -> str:
    """How old the list is: by host, when the state of its jobs was last confirmed."""
    oldest: dict[str, float] = {}
    for job in jobs:
        if job["state"] != "ended" and job["confirmed_at"] is not None:
            oldest[job["place"]] = min(job["confirmed_at"], oldest.get(job["place"], job["confirmed_at"]))
    told = {place: lasting(max(0.0, now - at)) for place, at in oldest.items()}
    if len(set(told.values())) == 1:
        return f"last confirmed {next(iter(told.values()))} ago"
    parts = [f"{plain(place, 30)} {ago} ago" for place, ago in list(told.items())[:5]]
    return f"last confirmed: {', '.join(parts)}" if parts else ""


def brief(jobs: Sequence[Job], now: float) -> BriefDocument:
    """The list for a program that pays for each word: the columns named once, then a short list per job."""
    return {
        "columns": ["name", "state", "progress_percent", "eta_seconds", "alert"],
        "jobs": [
            [name, job["outcome"] or job["state"], _percent(job), _seconds_left(job, now), _rule(job)]
            for job, name in zip(jobs, _names(jobs), strict=True)
        ],
    }


def _percent(job: Job) -> int | None:
    return None if job["fraction"] is None else int(job["fraction"] * 100 + 1e-9)


def _seconds_left(job: Job, now: float) -> int | None:
    due = _moment(job["eta_at"]) if job["state"] == "running" else None
    return None if due is None else round(due - now)


def _rule(job: Job) -> str | None:
    if job["unreachable_since"] is not None:
        return "unreachable"
    return None if job["alert"] is None else str(job["alert"]["rule"])
