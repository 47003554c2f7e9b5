"""`dogwatch run`: start a command as N workers under the supervisor, and watch it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dogwatch.cli.expect import count
from dogwatch.cli.out import emit, json_flag, say
from dogwatch.errors import UsageError

HELP = "start a command as N workers that outlive this terminal, and watch them"
EXAMPLES = (
    "dogwatch run --name train --workers 4 --gpu-ids 0 1 2 3 -- python train.py",
    "dogwatch run --output 'out/*.jsonl' --total-items 100000 --detach -- ./embed.sh",
)
EPILOG = """\
Every worker gets DOGWATCH_WORKER (0, 1, ...), DOGWATCH_WORKERS, CUDA_VISIBLE_DEVICES and a log of its own. What it
appends to the file named by DOGWATCH_PROGRESS, as lines like {"step": 3, "total": 10}, is believed over its log.
Patterns may be relative to --cwd, and are quoted so that the shell leaves them alone: --output 'out/*.jsonl'.
Closing the terminal or killing dogwatch neither stops the job nor loses its exit code."""
TAKES_COMMAND = True


def arguments(parser: ArgumentParser) -> None:
    parser.usage = "dogwatch run [OPTIONS] -- CMD..."
    parser.add_argument("--name", help="what to call the job (default: the program's name)")
    parser.add_argument("--description", default="", help="what it is for")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="how many copies to start (default: 1)")
    parser.add_argument("--gpu-ids", nargs="+", metavar="ID", help="the GPU of each worker, or the GPUs of the one")
    parser.add_argument(
        "--env", action="append", default=[], metavar="K=V", help="an environment variable (repeatable)"
    )
    parser.add_argument("--cwd", metavar="DIR", help="the directory to start in (default: this one)")
    parser.add_argument("--output", action="append", default=[], metavar="GLOB", help="its output files (repeatable)")
    parser.add_argument(
        "--checkpoint", action="append", default=[], metavar="GLOB", help="its checkpoints (repeatable)"
    )
    parser.add_argument("--total-items", type=count, metavar="N", help="how many items there are to process")
    parser.add_argument("--stall-timeout", metavar="S", help="call it stalled after this long without any progress")
    parser.add_argument("--min-growth", metavar="RATE", help="the least its outputs must grow, as in 10MB/h")
    parser.add_argument("--detach", action="store_true", help="print the ref and return instead of watching")
    json_flag(parser)


def run(args: Namespace) -> int:
    import os

    from dogwatch import assemble
    from dogwatch.api import queries
    from dogwatch.api.expectations import globs, growth, positive, seconds
    from dogwatch.clock import Clock
    from dogwatch.model import Expectation

    if not args.command:
        raise UsageError("what should be run? put the command after --, as in `dogwatch run -- python train.py`")
    workers = positive(args.workers, "--workers") or 1
    expect = Expectation(
        workers=workers,
        outputs=globs(args.output, "--output", args.cwd or "", later=True, note=say),
        checkpoints=globs(args.checkpoint, "--checkpoint", args.cwd or "", later=True, note=say),
        total_items=positive(args.total_items, "--total-items"),
        stall_timeout=seconds(args.stall_timeout, "--stall-timeout"),
        min_growth=growth(args.min_growth, "--min-growth"),
    )
    clock = Clock()
    with assemble.store() as store:
        ref = assemble.start_run(
            store,
            clock,
            args.command,
            name=args.name if args.name is not None else os.path.basename(args.command[0]),
            description=args.description,
            workers=workers,
            gpus=gpus_of(args.gpu_ids, workers),
            env=args.env,
            cwd=args.cwd,
            expect=expect,
        )
        if args.detach:
            if args.json:
                emit(queries.documents(store, [ref])[0])
            else:
                print(ref)
            if not queries.watching(store)["alive"]:
                say("started; not watched yet: start `dogwatch daemon`, or poll once with `dogwatch patrol`")
            return 0
    from dogwatch.cli.leaving import saying_what_goes_on

    with saying_what_goes_on([ref]):
        from dogwatch.cli.showing import show

        return show([ref], clock, json=args.json, who="run")


def gpus_of(ids: list[str] | None, workers: int) -> list[str] | None:
    """One entry per worker. `0 1 2 3` and `0,1,2,3` mean the same, unless each worker gets its own list."""
    if ids is None or len(ids) == workers:
        return ids
    return [one for word in ids for one in word.split(",") if one]
