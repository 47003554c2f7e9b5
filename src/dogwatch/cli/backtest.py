"""`dogwatch backtest`: how good our estimates would have been on your runs that are over."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from dogwatch.cli.out import emit, json_flag, say, table

if TYPE_CHECKING:
    from dogwatch.wire.documents.log import BacktestDocument

ABOUT = "Measure how accurate the ETA would have been on finished runs, next to simpler estimates."
EXAMPLES = (
    "dogwatch backtest logs/*.log",
    "dogwatch backtest --csv runs/*.csv",
)
DETAILS = """\
Each run is replayed: at 5, 10, 25, 50, 75 and 90 % of its time an estimate is made from what was written until then. \
The table shows the share of runs within 10 % of the true time left, the error that 9 of 10 estimates stay below, and \
how often the range contained the truth."""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="logs of finished runs, or CSV files with --csv")
    parser.add_argument("--csv", action="store_true", help="the files are CSV with unix_seconds,step,total")
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch.api.eta import runs, scores
    from dogwatch.errors import COULD_NOT_POLL, FINE
    from dogwatch.text import plain

    found = scores(runs(args.files, args.csv))
    if args.json:
        emit(found)
        return FINE if found["runs"] else COULD_NOT_POLL
    for one in found["left_out"]:
        say(f"{plain(one['file'], 200)} is left out: {plain(one['why'], 200)}")
    if not found["runs"]:
        say("no run to replay")
        return COULD_NOT_POLL
    for line in lines(found):
        print(line)
    return FINE


def lines(found: BacktestDocument) -> list[str]:
    """The table: one column per moment; within 10 % / the error of nine in ten."""
    moments = [moment for moment in found["moments"] if moment["runs"]]
    head = ("within 10 % / p90 error, at", *(_percent(moment["share"]) for moment in moments))
    names = list(moments[0]["predictors"]) if moments else []
    rows = [head]
    for name in names:
        cells = [moment["predictors"][name] for moment in moments]
        rows.append((name, *(f"{_percent(c['within_10_percent'])} / {_percent(c['p90_error'])}" for c in cells)))
    intervals = [moment["interval"] for moment in moments]
    rows.append(("our 90 % range was right", *(_percent(one["coverage"]) for one in intervals)))
    rows.append(("its width / time left", *(_percent(one["width"]) for one in intervals)))
    rows.append(("runs", *(str(moment["runs"]) for moment in moments)))
    return table(rows, None)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"
