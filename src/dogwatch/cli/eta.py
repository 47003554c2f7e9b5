"""`dogwatch eta`: when a series of steps will reach its total."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from typing import TYPE_CHECKING

from dogwatch.cli.out import emit, json_flag

if TYPE_CHECKING:
    from dogwatch.wire.documents.log import SeriesDocument

ABOUT = "Estimate the time left from a CSV file of progress, with the range that is right 9 times in 10."
EXAMPLES = (
    "dogwatch eta --csv progress.csv",
    "dogwatch eta --csv - --json",
)
DETAILS = """\
The first line of the file is: unix_seconds,step,total. If the data allow no estimate, the answer is "not known" \
(null in JSON) and the exit code is still 0."""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--csv", metavar="FILE", help="the CSV file; - for standard input")
    parser.add_argument("others", nargs="*", help=SUPPRESS)
    parser.add_argument("--now", type=float, metavar="SECONDS", help="Unix time to answer for (default: the last row)")
    json_flag(parser)


def run(args: Namespace) -> int:
    import math

    from dogwatch.api.eta import eta
    from dogwatch.errors import FINE, UsageError

    if args.csv is None or args.others:
        elsewhere = "for a job: dogwatch status JOB; for a log: dogwatch read FILE"
        raise UsageError(f"give a CSV file: dogwatch eta --csv FILE; {elsewhere}")
    if args.now is not None and not math.isfinite(args.now):
        raise UsageError("--now takes a number of seconds since 1970")
    found, unknown = eta(args.csv, args.now)
    if args.json:
        emit(found)
    else:
        print(sentence(found) if not unknown else f"not known: {unknown}")
    return FINE


def sentence(found: SeriesDocument) -> str:
    from dogwatch.tui import words

    sure = found["confidence"]
    if not found["high"]:
        return "done"
    times = f"{10 * sure:g} times in 10" if sure is not None else ""
    return f"{words.roughly(found['remaining'])} left ({words.between(found['low'], found['high'])}, {times})"
