"""The handbook as a file: whole or not at all, for its owner's eyes alone, and never through a link."""

from __future__ import annotations

import os
import secrets
import stat

from dogwatch.errors import UsageError
from dogwatch.store.private_files import OpenFile, open_private, sync_directory
from dogwatch.text import plain


def write(path: str, text: str) -> str:
    """Write it with mode 0600 and give it its name when it is whole; its absolute path."""
    whole = os.path.abspath(os.path.expanduser(path))
    shown = plain(path, 200)
    try:
        kind = os.lstat(whole).st_mode
    except FileNotFoundError:
        kind = stat.S_IFREG
    except OSError as error:
        raise UsageError(f"--write {shown} cannot be written: {error.strerror}") from None
    if stat.S_ISLNK(kind):
        raise UsageError(f"--write {shown} is a symbolic link; name the file itself")
    if not stat.S_ISREG(kind):
        raise UsageError(f"--write {shown} is not a regular file; name another one")
    draft = os.path.join(os.path.dirname(whole), f".{os.path.basename(whole)[:200]}.{secrets.token_hex(4)}")
    try:
        _write(draft, text.encode("utf-8", "replace"))
        os.rename(draft, whole)
        sync_directory(os.path.dirname(whole))
    except OSError as error:
        if os.path.lexists(draft):
            os.unlink(draft)
        raise UsageError(f"--write {shown} cannot be written: {error.strerror}") from None
    return whole


def _write(draft: str, content: bytes) -> None:
    with OpenFile(open_private(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY)) as file:
        left = memoryview(content)
        while left:
            left = left[os.write(file.fileno(), left) :]
        os.fsync(file.fileno())
