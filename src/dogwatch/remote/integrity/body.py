"""What is read of one file and what is said of it: a body with caps, and the three verdicts."""

import os
import time
from collections.abc import Iterator

INTACT, BROKEN, UNCLEAR = "intact", "damaged", "cannot tell"
CHUNK = 1 << 20


class Broken(Exception):
    """The file contradicts its own format: what is wrong, as the end of a sentence that begins with its name."""


class Unclear(Exception):
    """Nothing speaks for or against the file: why not."""


class Spent(Exception):
    """The seconds or bytes that one file may cost are used up."""


class Budget:
    """What a whole request may still read, and until when."""

    def __init__(self, seconds: float, amount: int) -> None:
        self.until = time.monotonic() + seconds
        self.amount = amount

    def take(self, amount: int) -> None:
        self.amount -= amount
        if self.amount < 0 or time.monotonic() > self.until:
            raise Spent()

    def left(self) -> bool:
        return self.amount > 0 and time.monotonic() < self.until


class Body:
    """An open regular file, read by position. A read that the file's own size promises and that comes short means
    that it shrank meanwhile."""

    def __init__(self, fd: int, size: int, budget: Budget) -> None:
        self.fd, self.size, self.budget = fd, size, budget
        self.format: "str | None" = None  # once it is known

    def at(self, offset: int, count: int, what: str = "its content") -> bytes:
        """Exactly these bytes; Broken when the file ends before."""
        if offset < 0 or count < 0 or offset + count > self.size:
            raise Broken("ends in the middle of %s" % what)
        self.budget.take(count)
        got = os.pread(self.fd, count, offset)
        while len(got) < count:
            more = os.pread(self.fd, count - len(got), offset + len(got))
            if not more:
                raise Broken("became shorter while it was read")
            got += more
        return got

    def number(self, offset: int, count: int, what: str, order: str = "little") -> int:
        return int.from_bytes(self.at(offset, count, what), "big" if order == "big" else "little")

    def pieces(self, offset: int = 0, end: "int | None" = None) -> "Iterator[bytes]":
        end = self.size if end is None else end
        while offset < end:
            piece = self.at(offset, min(CHUNK, end - offset))
            offset += len(piece)
            yield piece


class BodyFile:
    """A body as the file object that `zipfile` wants."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.place = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.place

    def seek(self, offset: int, whence: int = 0) -> int:
        place = offset + (0, self.place, self.body.size)[whence]
        if place < 0:
            raise ValueError("a place before the beginning")
        self.place = place
        return place

    def read(self, count: int = -1) -> bytes:
        left = max(0, self.body.size - self.place)
        got = self.body.at(self.place, left if count < 0 else min(count, left))
        self.place += len(got)
        return got


class Report:
    """That a file agrees with its format: how many records it has, where that is cheap to know, and what was left
    unread or unconfirmed, if anything was."""

    def __init__(self, records: "int | None" = None, note: str = "") -> None:
        self.records, self.note = records, note


def is_blank(body: Body, offset: int, count: int) -> bool:
    """Whether these bytes are there and all of them are zero."""
    return 0 < count <= body.size - offset and not body.at(offset, count).strip(b"\0")
