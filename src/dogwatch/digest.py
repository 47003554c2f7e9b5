"""Digest: SHA-256 for keys and for the chain of events.

`hashlib` loads OpenSSL, which takes 1.5 MB in a watcher that needs it for nothing else. The interpreter has the same
function built in; where somebody built it without, `hashlib` is used.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def _found() -> Callable[[bytes], Any]:
    for name in ("_sha2", "_sha256", "hashlib"):  # of Python 3.12 and later, of 3.11, and of all
        try:
            made: Callable[[bytes], Any] = import_module(name).sha256
        except (ImportError, AttributeError):
            continue
        return made
    raise ImportError("this Python has no SHA-256")


_sha256 = _found()


def sha256(text: bytes) -> bytes:
    """The digest of some bytes."""
    digest: bytes = _sha256(text).digest()
    return digest


def key_of(*parts: str) -> str:
    """A key of 32 hexadecimal digits, the same however often it is made of the same parts."""
    return sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hex()[:32]
