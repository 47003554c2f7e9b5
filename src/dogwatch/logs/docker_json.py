"""Lines that Docker's `json-file` driver wrapped in an object each, `{"log":"…\\n","stream":"stderr","time":"…"}`."""

from __future__ import annotations

import json

WITHIN = 1 << 16  # bytes of a log, of which a line is wrapped if any is: Docker wraps the first as it does the last
_OPENS, _HAS = b'{"log":"', b'","stream":"std'


def is_docker_json(text: bytes) -> bool:
    """Whether a line of the text may be wrapped."""
    return _HAS in text


def unwrapped(text: bytes) -> bytes:
    """The lines as the program wrote them, each behind its time; other lines as they are. `text` is whole lines."""
    return b"".join(_line(line) if line.startswith(_OPENS) else line for line in text.splitlines(keepends=True))


def _line(line: bytes) -> bytes:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return line
    said, time = record.get("log"), record.get("time")
    if not isinstance(said, str) or not isinstance(time, str) or not time.isascii() or len(time) > 40:
        return line
    lines = said.replace("\r", "\n").replace("\0", "").split("\n")
    return b"".join(f"{time} {each}\n".encode("utf-8", "replace") for each in lines if each) or b"\n"
