"""What a log format is: the literals that betray it and a pure reader of one line.

A format module either is one format (`kind`, `needles`, `read`) or holds a table of them (`rows`).
Every pattern in it must be linear and ASCII-only, and `read` must return, not raise, on any text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from dogwatch.model import Mark

# Counters of one log by how much of the run they span. Epochs come in two kinds: one that is under
# way ("Epoch 3/10" opens the third) and one that counts what is done.
RUN, EPOCH_DONE, EPOCH, INNER, PERCENT, ASIDE = 40, 31, 30, 20, 10, 0
OWNER = 100  # added to the rank of a counter that the job's owner described


class LogFormat(Protocol):
    """What a module with one format offers."""

    kind: str
    needles: tuple[bytes, ...]

    def read(self, line: str) -> list[Mark]: ...


@dataclass(frozen=True, slots=True)
class Format:
    """One format, that is one counter or metric of a log. `needles` are lower-case literals, at least one
    of which is in every line it can read (compared without case).

    The newest line that `read` understands speaks for the format; with `seeks_step`, the newest that has
    a Step. `hint` matches (in lower-cased bytes) within every line that can be read; it spares reading
    line after line that only holds a needle. A format whose lines hold several counters gives `sift`: the
    (counter, place) of every record, so that the newest line of each counter is read.
    """

    kind: str
    needles: tuple[bytes, ...]
    read: Callable[[str], list[Mark]]
    seeks_step: bool = False
    hint: re.Pattern[bytes] | None = None
    sift: Callable[[bytes], Iterable[tuple[str, int]]] | None = None


def number(text: str) -> float:
    """The value of an already matched number, with thousands commas and a k, M, G, T or P behind it."""
    text = text.replace(",", "")
    scale = _SCALE.get(text[-1:], 1.0)
    return float(text[:-1] if scale != 1.0 else text) * scale


_SCALE = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
