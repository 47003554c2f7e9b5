"""Digest: SHA-256 for keys and for the chain of events.

`hashlib` loads OpenSSL, which takes 1.5 MB in a watcher that needs it for nothing else. The interpreter has the same
function built in; where somebody built it without, `hashlib` is used.
"""

from __future__ import annotations

try:  # by the interpreter's own names, of Python 3.12 and later and of 3.11
    from _sha2 import sha256 as _sha256  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    try:
        from _sha256 import sha256 as _sha256  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        from hashlib import sha256 as _sha256


def sha256(text: bytes) -> bytes:
    """The digest of some bytes."""
    digest: bytes = _sha256(text).digest()
    return digest


def key_of(*parts: str) -> str:
    """A key of 32 hexadecimal digits, the same however often it is made of the same parts."""
    return sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hex()[:32]
