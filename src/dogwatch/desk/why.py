"""Why: the diagnosis of logs that somebody names, with whatever else is known of their ending."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dogwatch.causes import Evidence, Log, diagnose
from dogwatch.causes.document import document
from dogwatch.desk.log_file import pieces
from dogwatch.errors import UsageError


def of_logs(
    paths: Sequence[str],
    exit_code: int | None = None,
    signal_number: int | None = None,
    state: str = "",
    from_line: int = 1,
) -> dict[str, Any]:
    """The diagnosis of one attempt that wrote these logs; CouldNotLook when one of them cannot be read.
    With `from_line`, what stands above that line was written by somebody else and does not count."""
    logs = tuple(Log(path, _from(pieces(path), from_line), from_line) for path in paths)
    evidence = Evidence(logs, exit_code, signal_number, state=state)
    return document(diagnose(evidence))


def signal_of(text: str) -> int:
    """The number of a signal that was given as 9, KILL or SIGKILL."""
    if text.isdigit() and 0 < int(text) < 65:
        return int(text)
    name = text.upper()
    try:
        return int(signal.Signals[name if name.startswith("SIG") else f"SIG{name}"])
    except KeyError:
        raise UsageError(f"--signal takes a number or a name like KILL or SIGTERM, not {text!r}") from None


def _from(stream: Iterable[bytes], line: int) -> Iterator[bytes]:
    """The stream without the lines above `line`."""
    skip = line - 1
    for piece in stream:
        if skip <= 0:
            yield piece
            continue
        count = piece.count(b"\n")
        if count < skip:
            skip -= count
            continue
        at = -1
        for _ in range(skip):
            at = piece.index(b"\n", at + 1)
        skip = 0
        yield piece[at + 1 :]
