"""Upgrade: notice that this package was replaced or removed under a running program, and start the new one instead.

A program that goes on after an upgrade mixes the modules it has loaded with those it loads later, of another version.
"""

from __future__ import annotations

import os
import re
import sys

# An installer removes the old files before it writes the new ones, and takes its time on a slow disk.
SETTLED = 5.0
_ABOUT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "__init__.py")


class Installed:
    """The package as it was when the program started; `path` is a file that each installation writes anew."""

    def __init__(self, path: str = _ABOUT) -> None:
        self._path = path
        self._began = self._last = self._identity()
        self._since: float | None = None

    def changed(self, mono: float) -> bool:
        """Whether another package, or none, is in its place and has been for some seconds."""
        now = self._identity()
        if now == self._began:
            self._since = None
        elif self._since is None or now != self._last:
            self._since = mono
        self._last = now
        return self._since is not None and mono - self._since >= SETTLED

    def version(self) -> str | None:
        """The version that is installed now; None when it was removed. Read, since the old one is in memory."""
        try:
            with open(self._path, encoding="utf-8") as file:
                found = re.search(r'^__version__ = "([\w.+-]{1,40})"', file.read(100_000), re.MULTILINE)
        except (OSError, UnicodeDecodeError):
            return None
        return found[1] if found else None

    def _identity(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def start_again() -> None:
    """Become what the same command line starts now, under the same process id; returns only by an OSError."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
