"""`dogwatch run`: start a command as N workers under the supervisor, and watch it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dogwatch.cli.expect import count
from dogwatch.cli.out import emit, json_flag, say
from dogwatch.errors import UsageError

ABOUT = (
    "Start a command, or stages one after another, here or on another machine. It keeps running after you log out;"
    " watch it until it ends."
)
EXAMPLES = (
    "dogwatch run -- python train.py",
    "dogwatch run --name train --workers 4 --gpu-ids 0 1 2 3 -- python train.py",
    "dogwatch run --detach --output 'out/*.jsonl' --total-items 100000 -- ./embed.sh",
    "dogwatch run --stage 'train: python train.py' --stage 'eval: python eval.py'",
    "dogwatch run --on gpu-box --sync . --push https://ntfy.sh/TOPIC -- python train.py",
)
DETAILS = """\
Each worker gets its own log file and the variables DOGWATCH_WORKER (0, 1, ...), DOGWATCH_WORKERS and \
CUDA_VISIBLE_DEVICES. Progress is read from the log. A worker can also append lines like {"step": 3, "total": 10} to \
the file named by DOGWATCH_PROGRESS; those take precedence.

With --stage or --on the work is a chain: its stages run one after another, each only if the one before it ended with \
exit code 0, under a small supervisor in sh on that machine; nothing is installed there. Commands are run by bash, or \
sh where there is none, with PYTHONUNBUFFERED=1 and, where it exists, stdbuf. The files of the run are in \
~/.dogwatch/runs/RUN there. If the connection breaks, give the same command again: it finds what was started and \
starts nothing twice.

--on-reboot resume puts one line into your crontab there (or your login profile, where no cron runs) and removes it \
when the chain ends.

Put patterns in quotes so that the shell does not expand them. Ctrl-C and closing the terminal stop the watching, \
not the job."""
EXIT_CODES = {
    0: "everything completed",
    1: "the job failed",
    2: "wrong usage",
    3: "the machine did not answer; the message says whether something may have started",
    130: "Ctrl-C; the job keeps running",
}
TAKES_COMMAND = True


def arguments(parser: ArgumentParser) -> None:
    parser.usage = "dogwatch run [OPTIONS] (--stage 'NAME: CMD'... | -- PROGRAM [ARG...])"
    parser.add_argument("--name", help="name of the job (default: the program's name)")
    parser.add_argument("--description", default="", metavar="TEXT", help="what the job is for")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="number of copies to start")
    parser.add_argument("--gpu-ids", nargs="+", metavar="ID", help="one GPU per worker, or all GPUs of a single worker")
    parser.add_argument(
        "--env", action="append", default=[], metavar="NAME=VALUE", help="set an environment variable (repeatable)"
    )
    parser.add_argument(
        "--cwd", metavar="DIR", help="directory to start in (default: the current one; on a host, the home)"
    )
    parser.add_argument("--detach", action="store_true", help="return at once instead of watching")
    json_flag(parser)
    _chain_arguments(parser)
    expected = parser.add_argument_group("What to expect of the job")
    expected.add_argument("--output", action="append", default=[], metavar="GLOB", help="output files (repeatable)")
    expected.add_argument("--checkpoint", action="append", default=[], metavar="GLOB", help="checkpoints (repeatable)")
    expected.add_argument("--total-items", type=count, metavar="N", help="number of items to process, for the ETA")
    expected.add_argument(
        "--stall-timeout", metavar="TIME", help="alert when there is no progress for this long, e.g. 30m"
    )
    expected.add_argument("--min-growth", metavar="RATE", help="alert when outputs grow slower than this, e.g. 10MB/h")


def _chain_arguments(parser: ArgumentParser) -> None:
    chain = parser.add_argument_group("Stages, and other machines")
    chain.add_argument("--on", metavar="HOST", help="run it on a host that `dogwatch host ls` lists")
    chain.add_argument(
        "--sync",
        metavar="DIR[:REMOTE]",
        help="first send this directory there, verified by hash; it is the default of --cwd",
    )
    chain.add_argument(
        "--sync-exclude", action="append", default=[], metavar="GLOB", help="what not to send (repeatable)"
    )
    chain.add_argument("--stage", action="append", default=[], metavar="'NAME: CMD'", help="a stage (repeatable)")
    chain.add_argument(
        "--after",
        action="append",
        default=[],
        metavar="STAGE=WHAT",
        help="what a stage waits for: file:PATH, line:TEXT (in the logs of this run) or run:RUN (repeatable)",
    )
    chain.add_argument(
        "--push", metavar="URL", help="the machine itself reports the end: URL, ntfy:URL, mail:ADDRESS, trackio:PROJECT"
    )
    chain.add_argument(
        "--on-reboot", choices=("leave", "resume"), help="after a reboot of the machine (default: leave)"
    )
    chain.add_argument(
        "--resume-command",
        action="append",
        default=[],
        metavar="CMD",
        help="runs in place of an interrupted stage's command; 'NAME: CMD' with several stages",
    )
    chain.add_argument(
        "--detach-with",
        choices=("auto", "tmux", "setsid", "nohup", "sbatch"),
        help="what keeps it running after logout (default: auto, the first of tmux, setsid, nohup)",
    )
    chain.add_argument(
        "--sbatch-options", metavar="OPTIONS", help="for each job, as in --sbatch-options='--gres=gpu:1 --time=4:00:00'"
    )
    chain.add_argument("--dry-run", action="store_true", help="print the exact script, and contact nothing")


def is_chain(args: Namespace) -> bool:
    """Whether sh supervises it, as stages; else it is workers of this machine."""
    return bool(
        args.on
        or args.stage
        or args.after
        or args.push
        or args.on_reboot
        or args.resume_command
        or args.detach_with
        or args.sbatch_options
        or args.sync
    )


def run(args: Namespace) -> int:
    import os

    from dogwatch import assemble
    from dogwatch.api import queries
    from dogwatch.api.expectations import globs, growth, positive, seconds
    from dogwatch.clock import Clock
    from dogwatch.model import Expectation

    if is_chain(args):
        from dogwatch.cli.run_chain import run_chain

        return run_chain(args)
    if args.dry_run:
        raise UsageError("--dry-run prints the script of a chain; give --stage or --on too")
    if not args.command:
        raise UsageError("no program given; put it after --, as in `dogwatch run -- python train.py`")
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
                say("started; no watcher is running; start one: dogwatch daemon")
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
