"""A damaged database: reading it and repairing it."""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

from dogwatch.errors import DogwatchError
from dogwatch.store.sqlite.location import open_store
from dogwatch.store.sqlite.repair import repair
from tests.fuzz.dice import Dice
from tests.store.sample import NOW, everything, filled

LONGEST = 256


@cache
def whole() -> bytes:
    """A small database at rest."""
    with tempfile.TemporaryDirectory(prefix="dogwatch-fuzz-") as folder:
        filled(Path(folder) / "home", ticks=2, count=2).close()
        return (Path(folder) / "home" / "dogwatch.db").read_bytes()


def target(data: bytes) -> None:
    """Damage of a few bytes, a cut end or a stretch of zeros is refused in words or read; the repair ends with a
    database that opens and can be read whole, or says why not."""
    content, dice = bytearray(whole()), Dice(data)
    while dice.left():
        at, how = dice.number(len(content) or 1), dice.number(8)
        if how == 0:
            del content[at:]
        elif how == 1:
            content[at : at + 512] = bytes(len(content[at : at + 512]))
        else:
            content[at : at + 1] = bytes([dice.number(256)])
    home = Path(tempfile.mkdtemp(prefix="dogwatch-fuzz-", dir="/dev/shm"))
    try:
        (home / "dogwatch.db").write_bytes(content)
        os.chmod(home / "dogwatch.db", 0o600)
        _reads(home)
        try:
            repair(str(home), NOW + 1000, 0.0)
        except DogwatchError:
            return
        with open_store(str(home), readonly=True) as store:
            everything(store)
    finally:
        shutil.rmtree(home)


def _reads(home: Path) -> bool:
    try:
        with open_store(str(home), readonly=True) as store:
            everything(store)
    except DogwatchError:
        return False
    return True


def seeds() -> list[bytes]:
    return [b"", b"\x10\0\0\3\x07", b"\0\x20\0\0", b"\0\x30\0\1", bytes(range(40)), b"\x64\0\0\2\x0d\0\x10\0\5\xff"]
