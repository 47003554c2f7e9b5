"""The desktop of whoever is logged in here, through notify-send."""

from __future__ import annotations

import os
from dataclasses import dataclass

from dogwatch.channels.interface import Receipt
from dogwatch.channels.plugin import ChannelPlugin, Site, Unfit
from dogwatch.channels.wording import fitted, lines, subject
from dogwatch.model import Level, Message
from dogwatch.programs import find_program
from dogwatch.transport.command import Late, NotStarted, run

URGENCY = {Level.CRITICAL: "critical", Level.WARNING: "normal", Level.INFO: "low", Level.PROGRESS: "low"}


class Desktop:
    """A bubble; nobody who is not there sees it, so it should never be the only channel."""

    kind = "desktop"

    def deliver(self, message: Message) -> Receipt:
        text = fitted("\n".join(lines(message, 3)), 300).replace("&", "&amp;").replace("<", "&lt;")
        program = find_program("notify-send")
        if program is None:
            return Receipt(False, "notify-send is not installed", permanent=True)
        argv = [program, "--app-name=dogwatch", f"--urgency={URGENCY[message.level]}", "--"]
        try:
            code, _ = run([*argv, subject(message), text], b"", dict(os.environ), 5.0)
        except Late:
            return Receipt(False, "notify-send did not end")
        except NotStarted:
            return Receipt(False, "notify-send is not installed", permanent=True)
        return Receipt(code == 0, "shown" if code == 0 else "no desktop session to show it on", permanent=code != 0)


@dataclass(frozen=True, slots=True)
class Config:
    """Nothing is to be said of it."""


def preflight(config: Config, site: Site) -> str:
    program = find_program("notify-send")
    if program is None:
        raise Unfit("notify-send is not there or not executable")
    return f"{program} is there"


PLUGIN = ChannelPlugin(
    name="desktop",
    help="a desktop notification on this machine",
    config=Config,
    build=lambda config, site: Desktop(),
    preflight=preflight,
)
