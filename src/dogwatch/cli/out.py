"""Out: data to stdout, narration to stderr, and text from jobs made harmless on the way."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Action, ArgumentParser
    from collections.abc import Sequence
    from typing import Any, TextIO


LONGEST_LINE = 20_000
LONGEST_SAID = 2000  # a sentence may quote a word of any length
UNDER = 4  # a line that is indented further stands under another one's text already
UNWATCHED = "no watcher is running; start one: dogwatch daemon (what you see is from the last poll)"


JOB = "the name of a job (or its ref, or a unique prefix of one)"
HOST = "a host that `dogwatch host ls` lists (default: this machine)"


def json_flag(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON (documented in docs/json.md)")


def offer(action: Action, *words: str) -> None:
    """What completion offers for an option that takes other words too."""
    action.offered = words  # type: ignore[attr-defined]


def log_file_flag(parser: ArgumentParser) -> None:
    parser.add_argument("--log-file", metavar="FILE", help="append every check and change of state to this text file")


def log_path(given: str | None) -> str | None:
    """The experiment log, absolute: the watcher may well run somewhere else. One that cannot be written is refused
    before anything is polled."""
    import os
    import stat

    from dogwatch.errors import UsageError

    if given is None:
        return None
    path = os.path.abspath(os.path.expanduser(given))
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO would block
    try:
        fd = os.open(path, flags, 0o644)
        is_file = stat.S_ISREG(os.fstat(fd).st_mode)
        os.close(fd)
        if not is_file:
            raise ValueError("it is not a regular file")
        return path
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"--log-file {given} cannot be written: {why}") from None


def emit(document: Any, compact: bool = False) -> None:
    """One JSON document on stdout. ASCII only, so no control character gets through."""
    import json

    between = (",", ":") if compact else None
    sys.stdout.write(json.dumps(document, ensure_ascii=True, allow_nan=False, separators=between) + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    """One line of narration, or a few, with nothing in them that a terminal would obey; a stderr that takes none (a
    full disk, a closed terminal) stops nobody."""
    from dogwatch.text import plain

    try:
        for line in f"dogwatch: {text}"[:LONGEST_SAID].split("\n"):
            print("\n".join(folded(plain(line, LONGEST_SAID), width(sys.stderr))), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        return


def table(rows: Sequence[Sequence[str]], width: int | None) -> list[str]:
    """Columns two spaces apart, the last one cut to the terminal's width where there is one."""
    widths = [max(cells(row[i]) for row in rows) for i in range(len(rows[0]))]
    padded = [[text + " " * (size - cells(text)) for text, size in zip(row, widths, strict=True)] for row in rows]
    lines = ["  ".join(row).rstrip() for row in padded]
    return lines if width is None else [cut(line, width) for line in lines]


def cells(text: str) -> int:
    """How many columns of a terminal a text takes: two for each letter of some scripts and most emoji."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(0 if category(one) in ("Mn", "Me", "Cf") else 2 if east_asian_width(one) in "WF" else 1 for one in text)


def cut(line: str, width: int) -> str:
    """As much of a line as fits, with a mark where something is left out."""
    if cells(line) <= width:
        return line
    while cells(line) > width - 1:
        line = line[:-1]
    return line.rstrip() + "…"


def lay_out(lines: Sequence[str]) -> None:
    """Lines for a person, with nothing in them that a terminal would obey, each folded to its width where there is
    one."""
    from dogwatch.text import plain

    room = width()
    for line in lines:
        print("\n".join(folded(plain(line, LONGEST_LINE), room)), flush=True)


def folded(line: str, width: int | None) -> list[str]:
    """A line as several that fit the terminal, where there is one: the later ones stand under its text, behind its
    label. A word that is longer is cut."""
    if width is None or cells(line) <= width:
        return [line]
    import textwrap

    indent = len(line) - len(line.lstrip())
    label, _, text = line[indent:].partition("  ")
    hang = indent + 2 if indent <= UNDER else indent
    if text and indent + len(label) <= width // 2:
        hang = len(line) - len(text.lstrip())
    parts: list[str] = []
    for room in range(width, hang, -1):  # letters that take two columns leave room for fewer
        parts = textwrap.wrap(line, room, subsequent_indent=" " * hang, break_on_hyphens=False)
        if all(cells(part) <= width for part in parts):
            break
    return parts


def width(stream: TextIO | None = None) -> int | None:
    """The terminal's width, or None when stdout (or that stream) is not one, or is one that does not say."""
    stream = stream or sys.stdout
    if not stream.isatty():
        return None
    import os

    columns = os.get_terminal_size(stream.fileno()).columns
    return max(20, columns) if columns else None
