"""`dogwatch takeover`: the first five minutes of somebody who has never seen these jobs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dogwatch.cli.out import emit, json_flag, lay_out, say
from dogwatch.errors import COULD_NOT_POLL, ENDED_BADLY, FINE

if TYPE_CHECKING:
    from dogwatch.model import Place
    from dogwatch.wire.survey import Survey

DEADLINE = 30.0
ABOUT = "Compare what is stored with what is there, on every host, and give one next command for each difference."
EXAMPLES = ("dogwatch takeover", "dogwatch takeover --json")
DETAILS = """\
It looks at the processes, tmux sessions and run directories of every host, by one connection each, and at fetches, \
waiters and alerts. Nothing is changed. `dogwatch handbook` has every command for every job."""
EXIT_CODES = {0: "nothing differs", 1: "something differs", 3: "no host answered"}


def arguments(parser: ArgumentParser) -> None:
    json_flag(parser)


def examine(place: Place, runs: str, pids: Sequence[int]) -> Survey | str:
    """What is on a place, by one connection; or why it cannot be said."""
    from dogwatch.errors import DogwatchError
    from dogwatch.remote import script
    from dogwatch.transport.shell import shell_of
    from dogwatch.wire import survey

    try:
        ran = shell_of(place).run(script("survey"), [runs, *map(str, pids)], deadline=DEADLINE)
    except DogwatchError as error:
        return str(error)
    return survey.read(ran.out) or "its answer broke off"


def run(args: Namespace) -> int:
    from dogwatch import assemble
    from dogwatch.actions.transfer.of_job import last_of
    from dogwatch.api import takeover
    from dogwatch.text import plain

    with assemble.store(readonly=True) as store:
        dead = [row["ref"] for row in last_of(store) if row["state"] == "interrupted"]
        found = takeover.document(store, examine, dead)
    if args.json:
        emit(found)
    for row in [] if args.json else found["differences"]:
        where = f"{plain(row['place'], 40)}: " if row["place"] else ""
        what = f"{plain(row['ref'], 120)}: " if row["ref"] and row["kind"] == "transfer" else ""
        lay_out([f"{where}{what}{row['text']}"])
        print(f"    {plain(row['command'], 4000)}")
    if found["unreachable"] and not found["reached"]:
        say("no host answered; what is stored could not be compared")
        return COULD_NOT_POLL
    if not found["differences"] and not args.json:
        print(f"nothing differs ({', '.join(plain(name, 40) for name in found['reached'])})")
    return ENDED_BADLY if found["differences"] else FINE
