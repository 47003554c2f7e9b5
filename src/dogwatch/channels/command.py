"""A command of the owner's: the message as JSON on its stdin; exit code 0 means that it was taken."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from dogwatch.channels.interface import DEADLINE, Receipt
from dogwatch.channels.plugin import ChannelPlugin, Site, Unfit
from dogwatch.channels.wording import subject
from dogwatch.clock import stamp
from dogwatch.model import Message
from dogwatch.plugin_config import Argv
from dogwatch.redaction import redacted
from dogwatch.text import plain
from dogwatch.transport.command import Late, NotStarted, run

GIVES_UP = 64  # EX_USAGE and above up to 78: sysexits.h, the command's own word that trying again is no use
TRY_LATER = 75  # EX_TEMPFAIL


class Command:
    """An argv, never a shell line; text from jobs comes on stdin and in variables only."""

    kind = "command"

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = tuple(argv)

    def deliver(self, message: Message) -> Receipt:
        told = {
            "key": message.key,
            "level": message.level.value,
            "subject": subject(message),
            "at": stamp(message.at),
            "jobs": [{"name": plain(i.name), "ref": plain(i.subject), "text": plain(i.text)} for i in message.items],
        }
        env = {**os.environ, "DOGWATCH_KEY": message.key, "DOGWATCH_LEVEL": message.level.value}
        name = os.path.basename(self._argv[0])
        try:
            code, said = run(self._argv, json.dumps(told).encode("ascii") + b"\n", env, DEADLINE)
        except Late:
            return Receipt(False, f"{name} did not end in {DEADLINE:g} s")
        except NotStarted as error:
            return Receipt(False, f"{name} could not be started: {error}", permanent=True)
        if code == 0:
            return Receipt(True, f"{name} accepted it")
        final = GIVES_UP <= code <= 78 and code != TRY_LATER
        words = plain(redacted(said.decode("utf-8", "replace"))[-200:], 120)
        return Receipt(False, f"{name} ended with {code}{words and ': ' + words}", final)


@dataclass(frozen=True, slots=True)
class Config:
    argv: Argv


def preflight(config: Config, site: Site) -> str:
    found = shutil.which(config.argv[0])
    if found is None:
        raise Unfit(f"{config.argv[0]} does not exist or is not executable")
    return f"{found} is there"


PLUGIN = ChannelPlugin(
    name="command",
    help="--command PROG ARG...: your program, which gets JSON on stdin",
    config=Config,
    build=lambda config, site: Command(config.argv),
    preflight=preflight,
    argument="argv",
    takes="its program and arguments behind --command",
    keeps_open=True,
)
