"""Eta: the time left of any series of (unix seconds, step, total), and how good that would have been on old ones."""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, TextIO

from dogwatch.api.read import timeline
from dogwatch.errors import CouldNotPoll, UsageError
from dogwatch.estimate.backtest import backtest, unfit
from dogwatch.estimate.progress_rows import Row, eta_of_rows
from dogwatch.logs.log_clock import forward
from dogwatch.text import plain

if TYPE_CHECKING:
    from dogwatch.wire.documents.log import BacktestDocument, LeftOutDocument, MomentDocument, SeriesDocument

COLUMNS = ("unix_seconds", "step", "total")
STDIN = "-"
MOST_ROWS = 16_384  # kept; of longer series every second older row goes
LONGEST_LINE = 4096
MOST_SETS = 3  # times that a clock is set back
NOTHING = frozenset({"", "none", "null", "na", "n/a", "-"})  # a cell without a number


def eta(path: str, now: float | None) -> tuple[SeriesDocument, str]:
    """The document of one series, and in words why it knows nothing; `now` is the time of its newest row unless it is
    given."""
    rows = series(path)
    moment = now if now is not None else max((row.at for row in rows), default=0.0)
    found = eta_of_rows(rows, moment)
    if found is None:
        return {"remaining": None, "low": None, "high": None, "confidence": None}, _unknown(rows, moment)
    return {
        "remaining": round(found.remaining, 3),
        "low": round(found.low, 3),
        "high": round(found.high, 3),
        "confidence": found.confidence,
    }, ""


def _unknown(rows: Sequence[Row], moment: float) -> str:
    past = [row for row in rows if row.at <= moment]
    if not past:
        return "nothing had been written by then"
    if past[-1].total is None:
        return "there is no total"
    if len({row.done for row in past}) == 1:
        return "the counter has not moved yet"
    if past[-1].at < moment:
        return "nothing was written since it should have ended: it may be finished or stuck"
    return "no end in sight"


def scores(runs: Iterable[tuple[str, Sequence[Row], str | None]]) -> BacktestDocument:
    """The document of a backtest of named runs; those that cannot be replayed are named with the reason."""
    fit: list[Sequence[Row]] = []
    left_out: list[LeftOutDocument] = []
    for name, rows, unread in runs:
        why = unread or unfit(rows)
        if why is None:
            fit.append(rows)
        else:
            left_out.append({"file": name, "why": why})
    moments: list[MomentDocument] = [
        {
            "share": moment.share,
            "runs": len(next(iter(moment.scores.values())).errors),
            "predictors": {
                name: {"within_10_percent": score.within, "p90_error": score.p90, "silent": score.silent}
                for name, score in moment.scores.items()
            },
            "interval": {"coverage": moment.coverage, "width": moment.width},
        }
        for moment in backtest(fit)
    ]
    return {"runs": len(fit), "moments": moments, "left_out": left_out}


def series(path: str) -> list[Row]:
    """The rows of a CSV file (`-` is standard input); UsageError where it is none of ours."""
    name = "standard input" if path == STDIN else plain(path, 200)
    try:
        source = sys.stdin.fileno() if path == STDIN else path
        with open(source, encoding="utf-8-sig", errors="replace", newline="", closefd=path != STDIN) as file:
            return _known_totals(_one_clock(_in_order(_rows(file, name))))
    except (OSError, ValueError) as error:
        raise CouldNotPoll(f"{name} could not be read: {getattr(error, 'strerror', None) or error}") from None


def _rows(file: TextIO, name: str) -> list[Row]:
    lines = csv.reader(_lines(file))
    try:
        header = [cell.strip().lower() for cell in next(lines, [])]
        if not set(COLUMNS) <= set(header):
            raise UsageError(f"{name} must begin with the header row {','.join(COLUMNS)}{_instead(header)}")
        places = [header.index(column) for column in COLUMNS]
        return _kept(_read(lines, places, name))
    except csv.Error as error:
        raise UsageError(
            f"{name} line {lines.line_num} is not CSV ({error}); it must hold {','.join(COLUMNS)}"
        ) from None


def _lines(file: TextIO) -> Iterator[str]:
    """The lines, none longer than a row can be: what has no line ends must not fill the memory."""
    while line := file.readline(LONGEST_LINE):
        yield line.replace("\0", "?")


def _instead(header: Sequence[str]) -> str:
    found = plain(",".join(header), 60)
    return f", not with {found!r}" if found else "; it is empty"


def _read(lines: Iterable[list[str]], places: Sequence[int], name: str) -> Iterator[Row]:
    """A last row that is still being written is left out; any other that is no numbers is refused. A row without a
    time or a step says nothing."""
    broken: str | None = None
    for number, cells in enumerate(lines, 2):
        if broken is not None:
            raise UsageError(broken)
        try:
            at, done, total = (_number(cells[place]) if place < len(cells) else None for place in places)
        except ValueError:
            broken = f"{name} row {number}: {plain(','.join(cells), 60)!r} is not {','.join(COLUMNS)} as numbers"
            continue
        if at is not None and done is not None:
            yield Row(at, done, total)


def _number(cell: str) -> float | None:
    """None of a cell that holds nothing; ValueError of one that holds something else."""
    try:
        value = float(cell)
    except ValueError:
        if cell.strip().lower() in NOTHING:
            return None
        raise
    return value if math.isfinite(value) else None


def _in_order(rows: list[Row]) -> list[Row]:
    """By time, where that makes no counter of less sense; else the clock was set back, and they stay as they came."""
    ordered = sorted(rows, key=lambda row: row.at)
    return ordered if _times_back(ordered) <= _times_back(rows) else rows


def _one_clock(rows: list[Row]) -> list[Row]:
    """A clock that was set back takes what was before along: the newest rows are right. Times that go back more often
    than a clock is set are only told in no order."""
    if not 0 < sum(b.at < a.at for a, b in pairwise(rows)) <= MOST_SETS:
        return rows
    times = forward([row.at for row in rows])
    shift = rows[-1].at - times[-1]
    return [row._replace(at=time + shift) for row, time in zip(rows, times, strict=True)]


def _times_back(rows: Sequence[Row]) -> int:
    return sum(b.done < a.done for a, b in pairwise(rows))


def _known_totals(rows: list[Row]) -> list[Row]:
    """A total that was told once holds until another one is; 0 and less are how some say that they know none."""
    known: float | None = None
    for i, row in enumerate(rows):
        known = row.total if row.total is not None and row.total > 0 else known
        rows[i] = row._replace(total=known)
    return rows


def _kept(rows: Iterable[Row]) -> list[Row]:
    kept: list[Row] = []
    for row in rows:
        kept.append(row)
        if len(kept) >= MOST_ROWS:
            kept[: MOST_ROWS // 2] = kept[: MOST_ROWS // 2 : 2]
    return kept


def runs(paths: Sequence[str], as_csv: bool) -> Iterator[tuple[str, list[Row], str | None]]:
    """The named series of finished runs, from CSV files or from the times in logs, or why one says nothing: one that
    cannot be read keeps nobody from the others."""
    for path in paths:
        try:
            rows = series(path) if as_csv else [Row(*moment) for moment in timeline(path)]
        except (CouldNotPoll, UsageError) as error:
            yield path, [], str(error).removeprefix(f"{plain(path, 200)} ")
        else:
            short = len(rows) < 3 and not as_csv
            yield path, rows, "fewer than three of its lines have both a count and a time" if short else None
