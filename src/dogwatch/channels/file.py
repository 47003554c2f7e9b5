"""A file that only grows: one line of JSON for each message, on the disk before it counts as said."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass

from dogwatch.channels.interface import Receipt
from dogwatch.channels.plugin import ChannelPlugin, Site, Unfit
from dogwatch.channels.wording import subject
from dogwatch.clock import stamp
from dogwatch.model import Message
from dogwatch.plugin_config import AbsolutePath
from dogwatch.text import plain

TAIL_BYTES = 1 << 20


class File:
    """Appends, and knows by the key what it has appended already: nothing is there twice, also after a crash."""

    kind = "file"

    def __init__(self, path: str) -> None:
        self._path = path

    def deliver(self, message: Message) -> Receipt:
        line = json.dumps(
            {
                "key": message.key,
                "level": message.level.value,
                "subject": subject(message),
                "at": stamp(message.at),
                "jobs": [
                    {"name": plain(i.name), "ref": plain(i.subject), "text": plain(i.text)} for i in message.items
                ],
            }
        ).encode("ascii")
        try:
            fd = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)
                return self._append(fd, message.key.encode("ascii"), line)
            finally:
                os.close(fd)
        except OSError as error:
            return Receipt(False, f"{self._path} could not be written: {error.strerror}")

    def _append(self, fd: int, key: bytes, line: bytes) -> Receipt:
        size = os.fstat(fd).st_size
        tail = os.pread(fd, min(size, TAIL_BYTES), max(0, size - TAIL_BYTES))
        if b'{"key": "' + key in tail and tail.endswith(b"\n"):
            return Receipt(True, "it was there already")
        whole = (b"" if not tail or tail.endswith(b"\n") else b"\n") + line + b"\n"
        if os.write(fd, whole) != len(whole):
            return Receipt(False, f"{self._path} accepted only part of the line")
        os.fsync(fd)
        return Receipt(True, self._path)


@dataclass(frozen=True, slots=True)
class Config:
    path: AbsolutePath


def preflight(config: Config, site: Site) -> str:
    at = config.path if os.path.exists(config.path) else os.path.dirname(config.path) or "/"
    if not os.access(at, os.W_OK):
        raise Unfit(f"{config.path} cannot be written")
    return f"{config.path} can be written"


PLUGIN = ChannelPlugin(
    name="file",
    help="PATH: a line of JSON for each message",
    config=Config,
    build=lambda config, site: File(config.path),
    preflight=preflight,
    argument="path",
    takes="one path",
    keeps_open=True,
)
