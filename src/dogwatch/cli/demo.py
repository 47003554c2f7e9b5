"""`dogwatch demo`: a real four-worker job, started and watched to its end."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from dogwatch.cli.out import json_flag, say

HELP = "start a real four-worker job on this machine and watch it to its end (about 30 s)"
EXAMPLES = (
    "dogwatch demo",
    "dogwatch demo --fail",
)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--seconds", type=int, default=25, metavar="S", help="how long it should take (default: 25)")
    parser.add_argument(
        "--fail", action="store_true", help="let one worker crash half-way, to see what that looks like"
    )
    json_flag(parser)


def run(args: Namespace) -> int:
    import os

    import dogwatch
    from dogwatch import assemble
    from dogwatch.api.expectations import positive
    from dogwatch.cli.leaving import saying_what_goes_on
    from dogwatch.cli.showing import show
    from dogwatch.clock import Clock
    from dogwatch.model import Expectation

    seconds = positive(args.seconds, "--seconds")
    items, workers = 2000, 4
    clock = Clock()
    with assemble.store() as store:
        made = store.location.path("demo", str(int(clock.now())))
        os.makedirs(os.path.join(made, "checkpoints"), mode=0o700, exist_ok=True)
        argv = [
            sys.executable,
            os.path.join(os.path.dirname(dogwatch.__file__), "demo_job.py"),
            "--out",
            made,
            "--seconds",
            str(seconds),
            "--items",
            str(items),
        ]
        if args.fail:
            argv += ["--fail-at", str(items // 2)]
        ref = assemble.start_run(
            store,
            clock,
            argv,
            name="demo",
            description="a small training loop in four workers",
            workers=workers,
            gpus=None,
            env=[],
            cwd=made,
            expect=Expectation(
                workers=workers,
                outputs=(os.path.join(made, "output_worker_*.jsonl"),),
                checkpoints=(os.path.join(made, "checkpoints", "checkpoint_*.json"),),
                total_items=items * workers,
                check_interval=1.0,
            ),
        )
    say(f"started {ref}; its files are in {made}")
    with saying_what_goes_on([ref]):
        return show([ref], clock, json=args.json, who="demo")
