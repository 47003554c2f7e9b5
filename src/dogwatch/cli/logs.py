"""`dogwatch logs`: the newest lines of a job's logs, made harmless for the terminal."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from typing import Any

from dogwatch.cli.out import emit, json_flag
from dogwatch.errors import UsageError

HELP = "print the newest lines of a job's logs"
PAUSE = 0.5


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="a ref, a name or a unique prefix")
    parser.add_argument("-n", type=int, default=20, metavar="N", help="how many lines of each log (default: 20)")
    parser.add_argument("-f", "--follow", action="store_true", help="go on printing lines as they are written")
    parser.add_argument("--worker", type=int, metavar="K", help="only the log of worker K")
    parser.add_argument("--raw", action="store_true", help="print the bytes as they are, escape codes included")
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.clock import Clock
    from dogwatch.desk import ask, logs

    if args.n < 0:
        raise UsageError(f"-n takes a number of lines, 0 or more, not {args.n}")
    if args.follow and args.json:
        raise UsageError("--follow prints lines, --json one document: choose one of them")
    with assemble.store(readonly=True) as store:
        job = ask.documents(store, [ask.find(store, [args.ref])])[0]
    reach = assemble.here(Clock())
    try:
        tails = logs.tails(reach, job, args.n, args.worker)
        if args.json:
            emit({"ref": job["ref"], "logs": [tail.document() for tail in tails]})
            return 0
        for tail in tails:
            _print(tail, many=len(tails) > 1, raw=args.raw)
        while args.follow:
            time.sleep(PAUSE)
            for tail in tails:
                if logs.more(reach, tail):
                    _print(tail, many=len(tails) > 1, raw=args.raw)
    finally:
        reach.close()
    return 0


def _print(tail: Any, many: bool, raw: bool) -> None:
    import sys

    from dogwatch.text import plain

    if many and tail.headed_by != "now":
        print(f"==> {plain(tail.path, 200)} <==", flush=True)
    if raw:
        sys.stdout.flush()
        sys.stdout.buffer.write(tail.raw)
        sys.stdout.buffer.flush()
        return
    for line in tail.lines():
        print(plain(line, 4000), flush=True)
