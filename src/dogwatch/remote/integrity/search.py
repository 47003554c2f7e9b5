"""Parts that are missing of sharded files, what was left unfinished beside outputs, and where checkpoints may be."""

import fnmatch
import glob
import os
import re
import stat
import time
from collections.abc import Iterator

from dogwatch.remote.integrity.body import BROKEN
from dogwatch.remote.integrity.tree import (
    REAL,
    UNFINISHED,
    missing_shards,
    raw,
    shown,
    verdict,
)
from dogwatch.remote.probe.allowed_paths import Elsewhere
from dogwatch.remote.shapes import FileVerdict

MOST_SEEN = 20000
LEVELS = 3
# What trainers call their checkpoints: directories, or files with such names; each is followed by its iteration.
STEMS = r"checkpoint|ckpt|global_step|step|epoch|iter|model_step|model_epoch"
DIRECTORY = re.compile(r"\A((?:%s)[-_=]?)\d{1,12}\Z" % STEMS)
FILE = re.compile(r"\A(?:.{0,80}\d{1,12}.{0,20}|last|latest|best|model|checkpoint)(\.(?:pt|pth|ckpt))\Z")
SKIPPED = frozenset(["node_modules", "__pycache__", "site-packages", "wandb", "venv", "cache", "proc", "sys", "dev"])
MOST_PATTERNS = 8


def leads_out(folder: bytes) -> bool:
    """Whether a folder leads elsewhere than it did, so that nothing in it may be read."""
    REAL.learn_above(folder)
    try:
        os.close(REAL.open_folder(folder))
    except Elsewhere:
        return True
    except OSError:
        pass  # the one who reads it reports that
    return False


def lacking_parts(paths: "list[str]") -> "Iterator[FileVerdict]":
    """Parts that lack of sets of which several files are named."""
    by_folder: "dict[str, list[str]]" = {}
    for path in paths:
        by_folder.setdefault(os.path.dirname(path), []).append(os.path.basename(path))
    for folder, names in sorted(by_folder.items()):
        if len(names) > 1:
            for row in missing_shards(folder, sorted(names)):
                yield row


def left_behind(globs: "dict[str, float | None]", seen: "set[str]") -> "Iterator[FileVerdict]":
    """Files under the name of an output with an ending that says: not finished; `beside` is the glob that means the
    output, and its value the moment before which a file is somebody else's."""
    for pattern, since in globs.items():
        folder, name = os.path.split(pattern)
        for directory in glob.glob(raw(folder))[:256]:
            for entry in scanned(directory, 0 if leads_out(directory) else MOST_SEEN):
                text, path = shown(entry.name), shown(entry.path)
                found = UNFINISHED.search(text)
                if found is None or path in seen:
                    continue
                which_job = fnmatch.fnmatchcase(text[: found.start()] or text, name) or fnmatch.fnmatchcase(text, name)
                if which_job and (since is None or changed(entry) >= since):
                    row = verdict(path, BROKEN, "was left behind unfinished, by its name")
                    row["beside"] = pattern
                    yield row


def scanned(directory: bytes, most: int) -> "list[os.DirEntry[bytes]]":
    found = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries if most else ():
                found.append(entry)
                if len(found) >= most:
                    break
    except OSError:
        pass
    return found


def changed(entry: "os.DirEntry[bytes]") -> float:
    try:
        return entry.stat(follow_symlinks=False).st_mtime
    except OSError:
        return 0.0


def guess_checkpoints(folders: "list[str]", since: float, seconds: float) -> "list[str]":
    """Globs of what looks like checkpoints that were written since: a few levels deep, and not in what is hidden,
    linked or on another file system."""
    until, left = time.monotonic() + seconds, MOST_SEEN
    found: "dict[str, None]" = {}
    for top in dict.fromkeys(folders):
        try:
            if leads_out(raw(top)):
                continue
            device = os.stat(raw(top)).st_dev
        except OSError:
            continue
        level = [raw(top)]
        for _ in range(LEVELS):
            deeper = []
            for folder in level:
                entries = scanned(folder, left)
                left -= len(entries)
                if left <= 0 or time.monotonic() > until:
                    return list(found)[:MOST_PATTERNS]
                for entry in entries:
                    pattern, down = what_it_is(entry, device, since)
                    if pattern:
                        found[os.path.join(shown(folder), pattern)] = None
                    elif down:
                        deeper.append(entry.path)
            level = deeper
    return list(found)[:MOST_PATTERNS]


def what_it_is(entry: "os.DirEntry[bytes]", device: int, since: float) -> "tuple[str, bool]":
    """(the glob under which an entry is a checkpoint, whether to look below it)."""
    name = shown(entry.name)
    try:
        row = entry.stat(follow_symlinks=False)
    except OSError:
        return "", False
    if stat.S_ISDIR(row.st_mode):
        match = DIRECTORY.match(name)
        if match:
            return (match.group(1) + "*" if row.st_mtime >= since else ""), False
        return "", row.st_dev == device and name[0] != "." and name not in SKIPPED
    match = FILE.match(name)
    if match and stat.S_ISREG(row.st_mode) and row.st_mtime >= since:
        return "*" + match.group(1), False
    return "", False
