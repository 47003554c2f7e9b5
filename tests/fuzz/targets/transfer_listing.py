"""What a place says that there is to fetch."""

from __future__ import annotations

import os
from typing import Any

from dogwatch.actions.transfer.listing import Sources, TransferFailed, list_there, sort_links
from dogwatch.actions.transfer.verify import _read
from dogwatch.transport.shell import Ran, ShellUnreachable
from tests.fuzz.dice import Dice, refused_well

SOURCES = Sources(results=("/srv/out/*.jsonl", "~/more/*"), checkpoints=("/srv/save/*",), machine="m")
SIMPLE = Sources(results=("/srv/out/*",))
TOOLS, END = "tools tar xargs rsync\0m\0\0", "end\0\0\0"
FILES = "f r 12 1794780000.5\0/srv/out/a.jsonl\0\0m c\0/srv/save/step_1\0\0f c 3 7\0/srv/save/step_1/x\0\0"
ODD = "l r\0/srv/out/latest\0a.jsonl\0d r\0/srv/out/d\0\0n r\0/srv/out/b\0\0x r\0/srv/out/c\0\0p r\0/srv/out/p\0\0"


class Place:
    """Answers with what it was given."""

    place = "box"

    def __init__(self, out: bytes) -> None:
        self._out = out

    def run(self, script: object, words: object, deadline: float) -> Ran:
        return Ran(0, self._out, "")


def target(data: bytes) -> None:
    """A listing is refused in a clean sentence, or every name in it stays below the target, and sizes and times are
    such as a file can have."""
    dice = Dice(data)
    sources = dice.pick((SOURCES, SIMPLE))
    shell: Any = Place(dice.rest())
    try:
        listing = list_there(shell, sources)
    except (TransferFailed, ShellUnreachable) as wrong:
        return refused_well(wrong)
    files = {**listing.results, **{name: one for some in listing.checkpoints.values() for name, one in some.items()}}
    for name, entry in {**files, **listing.links}.items():
        assert os.path.normpath(os.path.join("/target", name)).startswith("/target/")
        assert ".." not in name.split("/")
        assert 0 <= entry.modified < 1e12
        assert 0 <= entry.size < 1 << 63
    assert all(path.startswith(listing.base) for path in listing.newest_first())
    inside, _ = sort_links(listing.links.values(), files)
    for link in inside:
        led = os.path.normpath(os.path.join("/target", os.path.dirname(link.name), link.link))
        assert led.startswith("/target/")
    _read(data)


def seeds() -> list[bytes]:
    texts: tuple[str, ...] = (
        TOOLS + "home yes\0/home/kim\0\0" + FILES + ODD + END,
        TOOLS + "h\0/srv\0\0" + FILES + END,
    )
    texts += (TOOLS + "home\0/home/kim\0\0" + FILES + ODD + END, "tools\0m\0\0home no\0/root\0\0" + END)
    return [bytes([which]) + text.encode() for which in (0, 1) for text in texts]
