"""How values become cells of a database and come back, without losing a character of hostile text.

Plain text is kept as it is, except where a database cannot hold it: lone surrogates, NUL, and what begins
with the mark itself are written as MARK + Python's unicode_escape, which is lossless. JSON cells are
ASCII; a number that is not finite becomes null there, because no JSON reader need take it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MARK = "\x1a"
_encoder: Callable[[Any], str] | None = None  # made at the first use: listing jobs writes no JSON


def encode_text(text: str) -> str:
    """Text as a database can hold it; `decode_text` gives back exactly what came in."""
    if "\0" not in text and text[:1] != MARK:
        try:
            text.encode()
        except UnicodeEncodeError:
            pass
        else:
            return text
    return MARK + text.encode("unicode_escape").decode("ascii")


def decode_text(text: str) -> str:
    return text[1:].encode("ascii").decode("unicode_escape") if text[:1] == MARK else text


def encode_float(number: float | None) -> float | None:
    """A float as a database gives it back: no NaN, no infinity, and no negative zero."""
    if number is None or number != number or number in (float("inf"), float("-inf")):
        return None
    return float(number) + 0.0


def encode_int(number: int | None) -> int | None:
    """An integer that fits a cell; a wider one came from nobody who counted."""
    return int(number) if number is not None and -(2**63) <= number < 2**63 else None


def encode_json(value: Any) -> str:
    """JSON in ASCII, so that NUL and lone surrogates travel as escapes."""
    global _encoder
    if _encoder is None:
        import json

        _encoder = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=_plain).encode
    try:
        return _encoder(value)
    except ValueError:
        return _encoder(_finite(value))


def decode_json(text: str) -> Any:
    import json

    return json.loads(text)


def canonical(values: tuple[Any, ...]) -> bytes:
    """One spelling for one row, the same on every Python: what checksums and hashes are taken of."""
    return ascii(values).encode("ascii")


def _plain(value: Any) -> Any:
    """Mappings and sets that json does not know by itself."""
    if hasattr(value, "items"):
        return dict(value.items())
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no place in the store")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return encode_float(value)
    if hasattr(value, "items"):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return value
