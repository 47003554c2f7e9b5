"""Faults: an exception while an answer is read or concluded fails the poll of that place, and of no other.

Each is written down once, with the traceback that is needed to mend it, in a private file beside the store.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from dogwatch import __version__
from dogwatch.redaction import redacted_lines
from dogwatch.store.private_files import make_private, open_private
from dogwatch.text import plain

MOST_FILES, MOST_LINES = 50, 400


class Faults:
    """What went wrong in our own code, by place and line of code."""

    def __init__(self, folder: str, narrate: Callable[[str], None]) -> None:
        self._folder, self._narrate = folder, narrate
        self._known: set[tuple[str, str]] = set()

    def note(self, place: str, bug: BaseException) -> str:
        """Why the poll failed, in one sentence; the first of its kind is written down and told."""
        import traceback

        last = traceback.extract_tb(bug.__traceback__)[-1:]
        where = f"{os.path.basename(last[0].filename)}:{last[0].lineno}" if last else "?"
        why = f"its answer could not be used ({type(bug).__name__} in {where})"
        if (place, where) not in self._known:
            self._known.add((place, where))
            path = self._write(place, where, bug)
            told = f"; the traceback is in {path}" if path else ""
            self._narrate(f"{place}: {why}; this is a bug in Dogwatch; other hosts are still watched{told}")
        return why

    def _write(self, place: str, where: str, bug: BaseException) -> str:
        """The traceback, without what text of a job or host stands in it raw."""
        import traceback

        name = "".join(char if char.isalnum() else "-" for char in f"{place}-{where}")[:100]
        path = os.path.join(self._folder, f"{name}.txt")
        lines = [line for part in traceback.format_exception(bug) for line in part.splitlines()]
        shown = redacted_lines([plain(line, 500) for line in lines[-MOST_LINES:]])
        with contextlib.suppress(OSError):
            make_private(self._folder)
            if len(os.listdir(self._folder)) < MOST_FILES:
                with open(open_private(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), "w", encoding="utf-8") as file:
                    file.write("\n".join([f"dogwatch {__version__}, place {plain(place, 80)}", *shown, ""]))
                return path
        return ""
