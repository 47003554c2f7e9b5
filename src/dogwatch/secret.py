"""Secrets by reference: `env:NAME`, `file:PATH`, `keyring:SERVICE/USER`. What a reference leads to is read when it is
used, and is never printed, stored or put into an error."""

from __future__ import annotations

import os
import stat

from dogwatch.errors import UsageError

KINDS = ("env:", "file:", "keyring:")
LONGEST = 8192


class NoSecret(Exception):
    """A reference that leads nowhere now; its words name the reference and never what it leads to."""


def checked(reference: str, what: str) -> str:
    """The reference, if it has the shape of one."""
    kind, _, rest = reference.partition(":")
    if f"{kind}:" not in KINDS or not rest or any(ord(char) < 32 for char in reference):
        raise UsageError(f"{what} takes a secret by reference only: env:NAME, file:PATH or keyring:SERVICE/USER")
    if kind == "env" and not rest.replace("_", "a").isalnum():
        raise UsageError(f"{what}: {rest!r} cannot be the name of a variable")
    if kind == "file" and not rest.startswith("/"):
        raise UsageError(f"{what}: the path behind file: must be absolute")
    return reference


def read(reference: str) -> str:
    """What the reference leads to, without the newline that editors add."""
    kind, _, rest = reference.partition(":")
    if kind == "env":
        value = os.environ.get(rest, "")
    elif kind == "file":
        value = _file(rest)
    else:
        value = _keyring(*rest.partition("/")[::2])
    value = value.strip()
    if not value:
        raise NoSecret(f"{reference} is not set or empty")
    return value


def _file(path: str) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            row = os.fstat(fd)
            if not stat.S_ISREG(row.st_mode):
                raise NoSecret(f"file:{path} is not a regular file")
            if row.st_mode & 0o077:
                raise NoSecret(f"file:{path} can be read by others: chmod 600 it")
            return os.read(fd, LONGEST).decode("utf-8", "replace")
        finally:
            os.close(fd)
    except OSError as error:
        raise NoSecret(f"file:{path} could not be read: {error.strerror}") from None


def _keyring(service: str, user: str) -> str:
    try:
        import keyring
    except ImportError:
        raise NoSecret(f"keyring:{service} needs the package keyring: pip install 'dogwatch[keyring]'") from None
    try:
        return str(keyring.get_password(service, user) or "")
    except keyring.errors.KeyringError as error:
        raise NoSecret(f"keyring:{service} could not be asked: {type(error).__name__}") from None
