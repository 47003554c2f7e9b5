"""Patterns that are compiled when they are first used: of the hundreds that there are, one log needs few."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, AnyStr, cast

_USES = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "pattern")


def lazily(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The pattern, as `re.compile` gives it, for those uses of one that we make."""
    return cast("re.Pattern[AnyStr]", _Lazily(lambda: re.compile(pattern, flags)))


class _Lazily:
    """Has the uses of a pattern from the first one on."""

    def __init__(self, compiled: Callable[[], Any]) -> None:
        self._compiled = compiled

    def __getattr__(self, name: str) -> Any:
        if name not in _USES:
            raise AttributeError(name)
        found = self._compiled()
        vars(self).update((use, getattr(found, use)) for use in _USES)
        return vars(self)[name]
