"""`dogwatch doctor`: is the watching itself in order?"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dogwatch.cli.out import emit, json_flag, say
from dogwatch.errors import COULD_NOT_LOOK, FINE

HELP = "check the store, the watcher and the places, and say what to do about what is wrong"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--repair", action="store_true", help="set a damaged store aside and restore what can be trusted"
    )
    json_flag(parser)


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.clock import Clock
    from dogwatch.desk import doctor

    clock = Clock()
    if args.repair:
        with assemble.held(clock, who="doctor", narrate=say):
            pass
    checks = doctor.examine(assemble.home(), clock.now())
    if args.json:
        emit({"checks": [check.document() for check in checks]})
    else:
        for check in checks:
            print(f"{check.verdict:<5} {check.what}: {check.text}")
            if check.remedy:
                print(f"      {check.remedy}")
    return COULD_NOT_LOOK if any(check.verdict == "bad" for check in checks) else FINE
