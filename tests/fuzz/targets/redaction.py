"""Secrets taken out of text."""

from __future__ import annotations

from dogwatch.redaction import redacted, redacted_lines
from dogwatch.redaction.named import REDACTED


def target(data: bytes) -> None:
    """Never raises, keeps the number of lines, and grows no faster than its text."""
    text = data.decode("utf-8", "surrogateescape")
    once = redacted(text)
    assert len(once) <= len(text) + (len(REDACTED) + 8) * (len(text) // 2 + 1)
    lines = text.split("\n")
    assert len(redacted_lines(lines)) == len(lines)


def seeds() -> list[bytes]:
    words = [
        "export API_KEY=" + "0123456789abcdef" * 2,
        "password: hunter22 passphrase=one two three",
        "https://user:pa55word@host/path?token=abcdefgh&x=1",
        "mysql -psecret99 -u root; curl -H 'Authorization: Bearer abc.def.ghi'",
        "wandb login " + "0123456789" * 4,
        "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIEabcdefgh\n-----END RSA PRIVATE KEY-----",
        '{"client_secret": "aaaaBBBB1111", "db_pwd": "x"}',
        "glpat-" + "a1" * 10 + " xapp-1-A1-2-b3 ya29.abcdefghijk npm_" + "a1" * 18,
    ]
    return [word.encode() for word in words]
