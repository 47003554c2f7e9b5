"""`dogwatch check`: are these files whole?"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from dogwatch.cli.out import HOST, emit, json_flag, lay_out
from dogwatch.errors import UsageError

if TYPE_CHECKING:
    from dogwatch.transport.interface import Transport
    from dogwatch.wire.documents.log import FileDocument

ABOUT = "Check that files are complete and not damaged: checkpoints, datasets, results, archives, images."
EXAMPLES = (
    "dogwatch check checkpoints/step_4000 out/part-*.parquet",
    "dogwatch check --host hpc /scratch/me/run7 --quiet",
)
DETAILS = """\
Files are checked by format, and nothing in them is executed or unpacked: JSON, JSON lines, CSV, Parquet, Arrow, \
NumPy, HDF5, safetensors, PyTorch, GGUF, gzip, bzip2, xz, zstd, zip, tar, PNG, JPEG, GIF, BMP, WebP. \
A directory means all files in it; sharded files must be complete."""
EXIT_CODES = {0: "all files are intact", 1: "a file is damaged", 3: "a file could not be checked"}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("path", nargs="+", metavar="PATH", help="a file, or a directory with everything in it")
    parser.add_argument("--host", metavar="HOST", help=HOST)
    parser.add_argument("--most", default="60s", metavar="TIME", help="longest time for each PATH")
    parser.add_argument("-q", "--quiet", action="store_true", help="print only damaged and unchecked files")
    json_flag(parser)


def run(args: Namespace) -> int:
    import os

    from dogwatch.api import check
    from dogwatch.config import duration

    seconds = duration(args.most, "--most")
    if not 0 < seconds <= 2400:
        raise UsageError(f"--most takes a time up to 40m, not {args.most}")
    if args.host and not all(path.startswith("/") for path in args.path):
        raise UsageError("with --host every PATH must be absolute, because it is resolved on that host")
    seen: set[str] = set()
    transport = _way(args.host)
    try:
        for path in args.path:
            for row in check.check(transport, path if args.host else os.path.abspath(path), seconds):
                seen.add(row["verdict"])
                _show(row, args)
    finally:
        transport.close()
    return check.exit_code(seen)


def _way(host: str | None) -> Transport:
    from dogwatch import assemble
    from dogwatch.api import hosts
    from dogwatch.clock import Clock

    if host is None:
        return assemble.here(Clock())
    with assemble.store(readonly=True) as store:
        return hosts.transport(hosts.find(store, host), Clock())


def _show(row: FileDocument, args: Namespace) -> None:
    if args.quiet and row["verdict"] == "intact":
        return
    if args.json:
        emit(row)
        return
    from dogwatch.api.check import remedy
    from dogwatch.text import plain

    about = ", ".join(_about(row))
    why = f": {row['why']}" if row["why"] else ""
    lay_out([f"{row['verdict']:<11} {plain(row['file'], 300)}{f'  ({about})' if about else ''}{plain(why, 300)}"])
    if advice := remedy(row["verdict"], row["why"]):
        lay_out([f"{'':<11} {advice}"])


def _about(row: FileDocument) -> list[str]:
    from dogwatch.tui.words import size

    said = [row["format"]] if row["format"] else []
    said += [size(row["size"])] if row["size"] is not None else []
    return said + (
        [f"{row['records']:,} record{'' if row['records'] == 1 else 's'}"] if row["records"] is not None else []
    )
