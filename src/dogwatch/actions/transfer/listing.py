"""Listing: what there is to fetch at a place, as the place tells it; names that lead elsewhere are left out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dogwatch import remote
from dogwatch.errors import COULD_NOT_POLL, DogwatchError, UsageError
from dogwatch.text import plain
from dogwatch.transport.shell import Shell, ShellUnreachable

PARTIAL = ".dogwatch-partial"
MOST_FILES = 200_000
DEADLINE = 300.0
_SECRET = re.compile(r"/runs/[^/]+/(?:environment\.sh|push\.conf)\Z")
RESULTS, CHECKPOINTS = "r", "c"
LATEST = 1e11
_SIZE = re.compile(r"[0-9]{1,18}")


class TransferFailed(DogwatchError):
    """Files could not be moved, or did not arrive as they are; what has arrived is kept for the next try."""

    exit_code = COULD_NOT_POLL


@dataclass(frozen=True, slots=True)
class Sources:
    """What is wanted of a place: globs of results and of checkpoints, absolute or below ~. `run` is a directory that is
    only on the right box, `machine` its machine id, `expect` the least number of result files."""

    results: tuple[str, ...] = ()
    checkpoints: tuple[str, ...] = ()
    run: str = ""
    machine: str = ""
    expect: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One file there: where it is, and where it goes below the target."""

    path: str
    name: str
    size: int
    modified: float
    link: str = ""


@dataclass(slots=True)
class Listing:
    """What there is. `base` is the folder that the target stands for; `matches` are checkpoints, the newest first."""

    base: str
    tools: frozenset[str]
    results: dict[str, Entry] = field(default_factory=dict)
    checkpoints: dict[str, dict[str, Entry]] = field(default_factory=dict)
    links: dict[str, Entry] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)

    def newest_first(self) -> list[str]:
        """The checkpoints by when something in them was last written."""
        held = [(max(entry.modified for entry in files.values()), path) for path, files in self.checkpoints.items()]
        return [path for _, path in sorted(held, reverse=True)]


def fixed_part(pattern: str) -> str:
    """The folder above the first wildcard of a glob."""
    folder = os.path.dirname(pattern)
    while re.search(r"[*?\[]", folder):
        folder = os.path.dirname(folder)
    return folder or "/"


def list_there(shell: Shell, sources: Sources) -> Listing:
    """Everything that the patterns mean. It raises where the place is not the one that the job ran on."""
    globs = [(RESULTS, _absolute(pattern)) for pattern in sources.results]
    globs += [(CHECKPOINTS, _absolute(pattern)) for pattern in sources.checkpoints]
    words = [sources.run, sources.machine]
    for group, pattern in globs:
        words += [group, fixed_part(pattern), pattern]
    ran = shell.run(remote.script("list_files"), words, deadline=DEADLINE)
    records = _records(ran.out, shell.place)
    _check_identity(shell, sources, records)
    home = records[1][1]
    if not home.startswith("/"):
        raise TransferFailed(f"{shell.place} names no home directory: {plain(home, 80)}")
    base = os.path.commonpath([_at(home, fixed_part(pattern)) for _, pattern in globs])
    listing = Listing(base, frozenset(records[0][0].split(" ")[1:]))
    if records[-1][0] != "end":
        raise TransferFailed(f"the list of files on {shell.place} broke off; run the same command again")
    _sort(records[2:-1], listing)
    return listing


def _absolute(pattern: str) -> str:
    if not pattern.startswith(("/", "~/")):
        raise UsageError(f"the pattern {plain(pattern, 120)} is not absolute; begin it with / or ~/")
    return os.path.normpath(pattern)


def _at(home: str, path: str) -> str:
    """A path there, with its home put in for ~."""
    return os.path.normpath(home + path[1:]) if path == "~" or path.startswith("~/") else path


def _records(out: bytes, place: str) -> list[tuple[str, str, str]]:
    parts = out.decode("utf-8", "surrogateescape").split("\0")
    if len(parts) < 7:
        raise ShellUnreachable(f"{place} listed no files and said no reason")
    if len(parts) > 3 * MOST_FILES:
        raise TransferFailed(f"there are more than {MOST_FILES:,} files to fetch; pack them there first (tar)")
    parts = parts[: len(parts) // 3 * 3]
    return list(zip(parts[::3], parts[1::3], parts[2::3], strict=True))


def _check_identity(shell: Shell, sources: Sources, records: Sequence[tuple[str, str, str]]) -> None:
    (_, machine, _), (home, _, _) = records[:2]
    if sources.machine and machine != sources.machine:
        raise TransferFailed(f"{shell.place} is another machine than the one that the job ran on; nothing was fetched")
    if home.endswith(" no"):
        raise TransferFailed(
            f"{shell.place} does not have {sources.run}: it is another machine, or its disk was wiped;"
            " nothing was fetched"
        )


def _sort(records: Iterable[tuple[str, str, str]], listing: Listing) -> None:
    """Files, links and what is left out; a file of a checkpoint is under the match before it."""
    match = ""
    for head, path, link in records:
        kind, group, size, at = [*head.split(" "), "", "", ""][:4]
        if kind == "m":
            match = "" if _name(path, listing.base) is None else path
            continue
        name = _name(path, listing.base)
        if kind == "n":
            listing.left_out.append((path, "matches no file"))
        elif kind == "x" or name is None:
            listing.left_out.append((path, "is behind a link that leads elsewhere"))
        elif PARTIAL in name.split("/") or kind == "d":
            continue
        elif _SECRET.search(path):
            listing.left_out.append((path, "is a file of the run that may hold secrets"))
        elif kind == "l":
            listing.links[name] = Entry(path, name, 0, 0.0, link)
        elif kind != "f" or not _SIZE.fullmatch(size) or (group != RESULTS and not match):
            listing.left_out.append((path, "is no file (a device, a pipe or a socket)"))
        else:
            entry = Entry(path, name, int(size), _time(at))
            held = listing.results if group == RESULTS else listing.checkpoints.setdefault(match, {})
            held[name] = entry


def _name(path: str, base: str) -> str | None:
    """Its path below the base; None for one that is not below it."""
    prefix = base.rstrip("/") + "/"
    name = path[len(prefix) :]
    parts = name.split("/")
    return name if path.startswith(prefix) and not {"", ".", ".."} & set(parts) else None


def _time(text: str) -> float:
    """A time that a file can be given; 0.0 for any other."""
    try:
        return float(text) if 0 <= float(text) <= LATEST else 0.0
    except ValueError:
        return 0.0


def sort_links(links: Iterable[Entry], names: Iterable[str]) -> tuple[list[Entry], list[tuple[str, str]]]:
    """(links to what is fetched as well, links that lead elsewhere, each with the reason)."""
    folders, inside, outside = _with_folders(names), [], []
    for link in links:
        target = os.path.normpath(os.path.join(os.path.dirname(link.name), link.link))
        if link.link and not link.link.startswith("/") and target in folders:
            inside.append(link)
        else:
            outside.append((link.path, f"is a link to {plain(link.link, 200)}, which is not fetched"))
    return inside, outside


def _with_folders(names: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for name in names:
        above = name
        while above and above not in found:
            found.add(above)
            above = os.path.dirname(above)
    return found
