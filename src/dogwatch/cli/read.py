"""`dogwatch read`: what logs say, whoever wrote them and whether or not anybody watches their jobs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from dogwatch.cli.out import emit, json_flag, lay_out, say

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import SpanDocument
    from dogwatch.wire.documents.log import LogDiagnosisDocument, LogDocument

ABOUT = "Read log files and print progress, speed, time left and how the run ended. The job need not be watched."
EXAMPLES = (
    "dogwatch read slurm-*.out",
    "dogwatch read --json train.log",
)
DETAILS = "With --json: one JSON object per file, one per line."
EXIT_CODES = {0: "every file was read", 3: "a file could not be read (the others are printed)"}
MOST_METRICS = 8


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a log file, or - for standard input")
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch.api.read import read
    from dogwatch.errors import FINE, CouldNotPoll, UsageError

    if args.files.count("-") > 1:
        raise UsageError("standard input (-) can be given only once")
    code = FINE
    for place, path in enumerate(args.files):
        try:
            found = read(path)
        except CouldNotPoll as error:
            say(str(error))
            code = error.exit_code
            continue
        if args.json:
            emit(found)
            continue
        lay_out(block(found))
        if place + 1 < len(args.files):
            print(flush=True)
    return code


def block(found: LogDocument) -> list[str]:
    """One log as a few short lines; what is not known is left out."""
    from dogwatch.text import plain

    rows = [
        ("format", plain(found["format"] or "not recognised", 60)),
        ("progress", _progress(found)),
        ("phase", plain(found["phase"] or "", 60)),
        ("metrics", _metrics(found["metrics"])),
        ("left", _left(found["eta"])),
        ("ending", _ENDINGS[found["ending"]]),
        *_why(found["diagnosis"]),
    ]
    name = "standard input" if found["file"] == "-" else plain(found["file"], 300)
    return [name, *(f"  {label:<9} {text}" for label, text in rows if text)]


def _progress(found: LogDocument) -> str:
    from dogwatch.text import plain
    from dogwatch.tui import words

    progress, rate = found["progress"], found["rate"]
    if progress is None:
        return "no counter found"
    unit, total = plain(progress["unit"], 40), progress["total"]
    done = words.count(progress["step"])
    text = f"{done} {unit}"
    if total is not None:
        text = f"{done} of {words.count(total)} {unit} ({words.percent(progress['fraction'])})"
    return text if rate is None else f"{text}, {words.rate(rate, unit)}"


def _metrics(metrics: dict[str, float]) -> str:
    from dogwatch.logs.formats.keyvalue import shared_first
    from dogwatch.text import plain

    shown = [f"{plain(name, 40)} {value:.6g}" for name, value in shared_first(metrics).items()]
    more = f", and {len(shown) - MOST_METRICS} more" if len(shown) > MOST_METRICS else ""
    return ", ".join(shown[:MOST_METRICS]) + more


def _left(eta: SpanDocument | None) -> str:
    from dogwatch.tui import words

    if eta is None:
        return ""
    spread = words.between(eta["low_seconds"], eta["high_seconds"])
    sure = words.percent(eta["confidence"], 0)
    return f"{words.roughly(eta['remaining_seconds'])} at the last line of the log ({sure} range {spread})"


def _why(diagnosis: LogDiagnosisDocument | None) -> list[tuple[str, str]]:
    from dogwatch.api.read import title
    from dogwatch.text import plain
    from dogwatch.tui import phrases

    if diagnosis is None:
        return []
    rows = [("why", phrases.cause(diagnosis["cause"], title(diagnosis["cause"]), diagnosis["confidence"]))]
    rows += [("", f"line {quote['line']}: {plain(quote['text'], 300)}") for quote in diagnosis["evidence"]]
    return rows + [("do", plain(advice, 300)) for advice in diagnosis["advice"]]


_ENDINGS = {
    "finished": "finished",
    "failed": "failed",
    "cut": "cut off: the log stops in mid-run (the job may still be running)",
    "unknown": "unknown: the log does not say",
}
