"""Folders: the directories that globs lie in."""

from __future__ import annotations

import os
from functools import lru_cache


@lru_cache(maxsize=32768)
def directories(*globs: tuple[str, ...]) -> tuple[str, ...]:
    """The directories above the first wildcard of each glob, each once."""
    return tuple(sorted({_fixed(pattern) for some in globs for pattern in some}))


def _fixed(pattern: str) -> str:
    directory = os.path.dirname(pattern)
    while any(mark in directory for mark in "*?["):
        directory = os.path.dirname(directory)
    return directory or "/"
