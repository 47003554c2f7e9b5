"""`dogwatch doctor`: is the watching itself in order?"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from dogwatch.cli.out import emit, json_flag, lay_out, say
from dogwatch.errors import COULD_NOT_POLL, FINE

if TYPE_CHECKING:
    from dogwatch.api.checklist import Line
    from dogwatch.clock import Clock

ABOUT = "Check that Dogwatch itself works: database, watcher, hosts, alert channels. Each problem comes with its fix."
EXAMPLES = (
    "dogwatch doctor",
    "dogwatch doctor --send",
)
EXIT_CODES = {0: "everything works", 3: "something does not; the lines say what"}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--repair", action="store_true", help="replace a damaged database by what can be recovered")
    parser.add_argument("--send", action="store_true", help="send a test alert on every channel and show the result")
    json_flag(parser)


def run(args: Namespace) -> int:
    import contextlib

    from dogwatch import assemble
    from dogwatch.api import doctor
    from dogwatch.clock import Clock

    clock = Clock()
    if args.repair:
        with assemble.held(clock, who="doctor", narrate=say):
            pass
    checks = doctor.examine(assemble.location(), clock.now())
    with contextlib.closing(assemble.here(clock)) as transport:
        checks.append(doctor.gpus(transport))
    if args.send:
        checks += _sent(clock)
    if args.json:
        emit({"checks": [check.document() for check in checks]})
    else:
        lay_out([row for check in checks for row in check.rows()])
    return COULD_NOT_POLL if any(check.verdict == "bad" for check in checks) else FINE


def _sent(clock: Clock) -> list[Line]:
    from dogwatch import assemble
    from dogwatch.api.checklist import Line

    with assemble.store() as store:
        found = assemble.send_test(store, clock)
    if not found:
        return [Line("bad", "alerts", "no alert channel configured", "add one: dogwatch alerts add")]
    return [Line("ok" if one["ok"] else "bad", f"channel {one['channel']}", one["detail"] or "") for one in found]
