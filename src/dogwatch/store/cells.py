"""What goes into a cell and how it comes out again, without losing a character of hostile text.

Plain text is kept as it is, except where SQLite cannot hold it: lone surrogates, NUL, and what begins
with the mark itself are written as MARK + Python's unicode_escape, which is lossless. JSON cells are
ASCII; a number that is not finite becomes null there, because no JSON reader need take it.
"""

from __future__ import annotations

import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MARK = "\x1a"
_encode: Callable[[Any], str] | None = None  # made at the first use: listing jobs writes no JSON


def pack(text: str) -> str:
    """Text as SQLite can hold it; `unpack` gives back exactly what came in."""
    if "\0" not in text and text[:1] != MARK:
        try:
            text.encode()
        except UnicodeEncodeError:
            pass
        else:
            return text
    return MARK + text.encode("unicode_escape").decode("ascii")


def unpack(text: str) -> str:
    return text[1:].encode("ascii").decode("unicode_escape") if text[:1] == MARK else text


def real(number: float | None) -> float | None:
    """A float as SQLite gives it back: no NaN, no infinity, and no negative zero."""
    if number is None or number != number or number in (float("inf"), float("-inf")):
        return None
    return float(number) + 0.0


def whole(number: int | None) -> int | None:
    """An integer that fits a cell; a wider one came from nobody who counted."""
    return int(number) if number is not None and -(2**63) <= number < 2**63 else None


def dump(value: Any) -> str:
    """JSON in ASCII, so that NUL and lone surrogates travel as escapes."""
    global _encode
    if _encode is None:
        import json

        _encode = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=_plain).encode
    try:
        return _encode(value)
    except ValueError:
        return _encode(_finite(value))


def parse(text: str) -> Any:
    import json

    return json.loads(text)


def folded(rows: list[dict[str, Any]]) -> Any:
    """Rows that share their keys, with the keys said once: half as long to write, and to write to disk."""
    keys = tuple(rows[0]) if rows else ()
    if not rows or any(tuple(row) != keys for row in rows):
        return rows
    return {"keys": keys, "rows": [tuple(row.values()) for row in rows]}


def unfolded(part: Any) -> Any:
    """What `folded` was given."""
    if not isinstance(part, dict):
        return part
    return [dict(zip(part["keys"], row, strict=True)) for row in part["rows"]]


def canonical(values: tuple[Any, ...]) -> bytes:
    """One spelling for one row, the same on every Python: what seals and hashes are taken of."""
    return ascii(values).encode("ascii")


def seal(values: tuple[Any, ...]) -> int:
    """The checksum that a row carries of its own other cells."""
    return checksum(canonical(values))


def checksum(text: bytes, begun: int = 0) -> int:
    """Of `text`, or of all that came before it and it."""
    return zlib.crc32(text, begun)


def _plain(value: Any) -> Any:
    """Mappings and sets that json does not know by itself."""
    if hasattr(value, "items"):
        return dict(value.items())
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no place in the store")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return real(value)
    if hasattr(value, "items"):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return value
