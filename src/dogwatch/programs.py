"""Programs of the system, by an absolute path that only root or this user can write.

PATH may hold a relative folder or one that others can write; a program found there could be anybody's.
"""

from __future__ import annotations

import os
import stat

SYSTEM = ("/usr/bin", "/bin", "/usr/sbin", "/sbin")


def find_program(name: str) -> str | None:
    """Where the program lies, by PATH and the system's own folders; None where there is none to be trusted."""
    for folder in [*os.environ.get("PATH", "").split(os.pathsep), *SYSTEM]:
        path = os.path.join(folder, name)
        if folder.startswith("/") and os.access(path, os.X_OK) and is_trusted(path) and is_trusted(folder):
            return path
    return None


def is_trusted(path: str) -> bool:
    """Whether only root or this user can change what lies there; a folder in which each may only remove their own (a
    sticky one) still lets others add a program."""
    try:
        row = os.stat(path)
    except OSError:
        return False
    return row.st_uid in (0, os.geteuid()) and not row.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
