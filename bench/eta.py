"""How near the estimates are, beside the usual ones, and how often the interval holds."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from bench.figures import Figure
from bench.traces import KINDS, traces
from dogwatch.api.eta import series
from dogwatch.estimate.backtest import OURS, Moment, backtest, unfit
from dogwatch.estimate.eta import estimate
from dogwatch.estimate.progress_rows import Row
from dogwatch.estimate.series import add
from dogwatch.model import Point

EACH = 12
REPEATS = 20
WORK = (
    f"{EACH * len(KINDS)} generated runs ({', '.join(KINDS)}) and, where there is one, the corpus of real runs "
    "(DOGWATCH_CORPUS), asked at 5, 10, 25, 50, 75 and 90 % of their time with what was written by then: the share "
    "within 10 % of the true time left, the error of nine in ten, the coverage and the median width of the interval."
)


def measure() -> list[Figure]:
    made = traces(EACH)
    figures = _told("generated", backtest(made))
    corpus = _corpus()
    if corpus:
        figures += _told("real", backtest(corpus))
    return [*figures, _cost(corpus or made)]


def _corpus() -> list[list[Row]]:
    here = Path(__file__).parent.parent
    place = Path(os.environ.get("DOGWATCH_CORPUS") or here.parent / "shared" / "corpus") / "eta"
    paths = sorted(place.glob("*.csv"))
    if not paths:
        print(f"  the corpus of real runs is not there ({place}); it is left out")
    runs = [series(str(path)) for path in paths]
    return [rows for rows in runs if unfit(rows) is None]


def _told(what: str, moments: Sequence[Moment]) -> list[Figure]:
    """Print the table; the figure to keep is that we are at no moment worse than the best of the others."""
    runs = max(len(moment.scores[OURS].errors) for moment in moments)
    print(f"  {runs} {what} runs: within 10 % / error of nine in ten")
    print("  " + " " * 26 + "".join(f"{moment.share:>16.0%}" for moment in moments))
    for name in moments[0].scores:
        cells = [moment.scores[name] for moment in moments]
        shown = "".join(f"{score.within or 0:>8.0%} / {score.p90 or 0:>5.0%}" for score in cells)
        print(f"  {name:<26}{shown}")
    print(
        f"  {'our interval held (width)':<26}"
        + "".join(f"{m.coverage or 0:>7.0%} ({m.width or 0:>5.2f})" for m in moments)
    )
    figures = []
    for moment in moments:
        ours = moment.scores[OURS].within or 0.0
        best = max(score.within or 0.0 for name, score in moment.scores.items() if name != OURS)
        figures.append(
            Figure(f"{what}, at {moment.share:.0%}: the best other's share near the truth, by ours", best / ours)
        )
        figures.append(
            Figure(
                f"{what}, at {moment.share:.0%}: coverage of the 90 % interval",
                100 * (moment.coverage or 0),
                "%",
                more_is_better=True,
            )
        )
    behind = max(figure.value for figure in figures[::2])
    return [*figures, Figure(f"{what}: the best other by ours, at the worst moment", behind, limit=1.05, aim=1.0)]


def _cost(runs: Sequence[Sequence[Row]]) -> Figure:
    """One estimate from the 256 points at most that the watcher keeps of a run."""
    kept = []
    for rows in runs[:: max(1, len(runs) // 24)]:
        points: list[Point] = []
        for row in rows[: len(rows) // 2]:
            add(points, Point(row.at, row.done))
        kept.append((points, rows[-1].total))
    began = time.process_time()
    for _ in range(REPEATS):
        for points, total in kept:
            estimate(points, total, points[-1].at)
    return Figure("CPU of one estimate", (time.process_time() - began) / REPEATS / len(kept) * 1000, "ms", limit=10.0)
