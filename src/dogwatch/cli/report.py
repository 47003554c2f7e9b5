"""`dogwatch report`: one job from its beginning to its end, as text, JSON or a page; and its diagnostics bundle."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dogwatch.cli.out import JOB, emit, json_flag, lay_out, say
from dogwatch.errors import COULD_NOT_POLL, FINE, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dogwatch.assemble import Location
    from dogwatch.wire.documents.report import ReportDocument

ABOUT = "Summarize a job: time, items, memory, GPUs, energy, cost, incidents. A running job is summarized so far."
EXAMPLES = (
    "dogwatch report train",
    "dogwatch report train --html train.html --price 2.5",
    "dogwatch report train --bundle /tmp",
)
DETAILS = """\
--bundle collects what is needed to find out why a job failed: states, events, readings, the end of its logs, a list \
of its files. Secrets are redacted. Without --price, price_per_gpu_hour of the configuration file is used."""
EXIT_CODES = {0: "written", 3: "a bundle was written without logs and files (host unreachable)"}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("ref", metavar="JOB", help=JOB)
    parser.add_argument("--html", metavar="FILE", help="write one HTML page with plots (- for standard output)")
    parser.add_argument("--bundle", metavar="DIR", help="write a diagnostics bundle into a new directory in DIR")
    parser.add_argument("--price", metavar="P", help="price of one GPU for one hour")
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.api import queries, report
    from dogwatch.clock import Clock

    if args.json and args.html:
        raise UsageError("--json and --html cannot be used together")
    price = _price(args.price)
    clock = Clock()
    with assemble.store(readonly=True) as store:
        ref = queries.find(store, [args.ref], say)
        if args.bundle is not None:
            return _bundle(args, store.location, ref, clock)
        found = report.document(store, ref, clock.now(), price)
        found["bundle"] = _made_before(store.location, ref)
    if args.json:
        emit(found)
    elif args.html:
        _write(args.html, found, clock.now())
    else:
        from dogwatch.tui.report import lines

        lay_out(lines(found, clock.now()))
    return FINE


def _price(given: str | None) -> float | None:
    from dogwatch import assemble

    if given is None:
        return assemble.settings().price_per_gpu_hour
    try:
        price = float(given)
    except ValueError:
        price = -1.0
    if not 0 <= price < 1e6:
        raise UsageError(f"--price takes a number, as in 2.50, not {given!r}")
    return price


def _write(path: str, found: ReportDocument, now: float) -> None:
    import os
    from errno import ELOOP

    from dogwatch.tui.page import page

    text = page(found, now)
    if path == "-":
        print(text, end="")
        return
    try:
        # A report quotes logs: for its owner alone, and never through a link that somebody laid there.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(path, flags, 0o600)
        with open(fd, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        why = "it is a symbolic link; name the file itself" if error.errno == ELOOP else error.strerror
        raise UsageError(f"{path} cannot be written: {why}") from None
    say(f"the report is in {path}")


def _made_before(location: Location, ref: str) -> str | None:
    """The bundle that was made when it failed, if it is still there."""
    from dogwatch import assemble
    from dogwatch.api.bundle import newest

    folder = assemble.bundle_folder(location)
    return None if folder is None else newest(folder, ref)


def _bundle(args: Namespace, location: Location, ref: str, clock: Any) -> int:
    import os

    from dogwatch import assemble

    if args.html:
        raise UsageError("--html and --bundle cannot be used together")
    made = assemble.bundle(location, ref, os.path.abspath(args.bundle), clock)
    if args.json:
        emit({"ref": ref, "path": made.path, "missing": made.missing})
    else:
        print(made.path)
        for line in made.missing:
            say(line)
    return COULD_NOT_POLL if made.missing else FINE
