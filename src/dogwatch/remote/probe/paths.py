"""What absolute globs lead to, without following a link or opening anything."""

import errno
import fnmatch
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from typing import Any

from dogwatch.remote.probe.allowed_paths import OPEN, RealFolders
from dogwatch.remote.probe.wire import Fields, Refused, dec, enc

BYTES_PER_REQUEST = 8 << 20
ENTRIES_PER_REQUEST = 100000
MAGIC = re.compile(r"[*?\[]")
KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
PATTERNS: "dict[str, Callable[[str], Any]]" = {}


class Allowance:
    """What one request may still read and scan; a tree of a million files must not cost the poll."""

    def __init__(self, seconds: float, most: int = BYTES_PER_REQUEST) -> None:
        self.bytes = most
        self.entries = ENTRIES_PER_REQUEST
        self.until = time.monotonic() + seconds / 2
        self.processes: "Any" = None  # the process table, once somebody has read it

    def spent(self) -> bool:
        self.entries -= 1
        return self.entries < 0 or (self.entries % 256 == 0 and time.monotonic() > self.until)


class Finds:
    """What globs led to: paths with their lstat, and what stood in the way; the folders that were listed for it, as
    they were before, and the paths that were not there. The last folder that was looked into stays open: most files of
    a job are beside each other."""

    def __init__(self, real: RealFolders) -> None:
        self.real = real
        self.stats: "dict[bytes, os.stat_result]" = {}
        self.folders: "dict[bytes, os.stat_result | None]" = {}
        self.absent: "list[bytes]" = []
        self.missing: "list[str]" = []
        self.hits = 0  # counted anew by patterns that mean the same file
        self.unreadable: "dict[str, str]" = {}
        self.capped = False
        self.near, self.fd = b"", -1

    def __del__(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)

    def open_folder(self, folder: bytes) -> int:
        """The descriptor of a folder, which is not the caller's to close."""
        if self.fd < 0 or folder != self.near:
            fd = self.real.open_folder(folder)
            self.__del__()
            self.near, self.fd = folder, fd
        return self.fd

    def open(self, path: bytes) -> int:
        """A descriptor of a file that lies where its path may lead: its folder was looked at when it was opened, and
        the last name is not followed."""
        folder, name = os.path.split(path)
        return os.open(name, OPEN, dir_fd=self.open_folder(folder or b"/"))

    def trouble(self, path: bytes, error: OSError) -> None:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            self.unreadable[dec(path)] = error.strerror or str(error)

    def lstat(self, path: bytes) -> bool:
        folder, name = os.path.split(path.rstrip(b"/") or b"/")
        try:
            return self.take(path, name or b".", self.open_folder(folder))
        except OSError as error:
            return self._lacks(path, error)

    def take(self, path: bytes, name: bytes, folder: int) -> bool:
        """The same of a name in a folder that is open."""
        try:
            self.stats[path] = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            return self._lacks(path, error)
        self.hits += 1
        return True

    def _lacks(self, path: bytes, error: OSError) -> bool:
        self.absent.append(path)
        self.trouble(path, error)
        return False


def regular(row: "os.stat_result") -> None:
    """Refuse anything but a regular file; asked before opening, since to open some devices is to use them."""
    if not stat.S_ISREG(row.st_mode):
        kind = next((word for test, word in KINDS if test(row.st_mode)), "something else")
        raise Refused("is %s, not a regular file" % kind)


def matcher(part: str) -> "Callable[[str], Any]":
    if part not in PATTERNS:
        if len(PATTERNS) > 4096:
            PATTERNS.clear()
        try:
            PATTERNS[part] = re.compile(fnmatch.translate(part)).match
        except re.error:  # a backward range such as [z-a]
            PATTERNS[part] = re.compile(re.escape(part) + r"\Z").match
    return PATTERNS[part]


def real_folders(spec: Fields) -> RealFolders:
    """Those that came with a question."""
    return RealFolders(spec.text_by_name("real"))


def expand(globs: "list[str]", allowance: Allowance, real: RealFolders) -> Finds:
    """Everything that absolute globs name; `**` means `*`, links to directories are not walked into."""
    finds = Finds(real)
    for glob in globs:
        before, known_troubles = finds.hits, len(finds.unreadable)
        try:
            path = enc(glob)
            if path in finds.stats:
                continue
            real.learn(folder_of(glob))
            if MAGIC.search(glob):
                walk([part for part in glob.split("/") if part], finds, allowance)
            else:
                finds.lstat(path)
        except Refused as problem:
            finds.unreadable[glob] = str(problem)
        if finds.hits == before and len(finds.unreadable) == known_troubles:
            finds.missing.append(glob)
    return finds


def folder_of(glob: str) -> bytes:
    """The folder above the last name of a path, or above the first wildcard of a glob."""
    if not MAGIC.search(glob):
        return os.path.dirname(enc(glob).rstrip(b"/")) or b"/"
    parts = [part for part in glob.split("/") if part]
    return enc("/" + "/".join(parts[: next(at for at, part in enumerate(parts) if MAGIC.search(part))]))


def walk(parts: "list[str]", finds: Finds, allowance: Allowance) -> None:
    heads = [b""]
    for depth, part in enumerate(parts):
        last = depth == len(parts) - 1
        if MAGIC.search(part):
            heads = [path for head in heads for path in scan(head, part, last, finds, allowance)]
        else:
            heads = [head + enc("/" + part) for head in heads]
            if last:
                for path in heads:
                    finds.lstat(path)


def entries_of(folder: bytes, real: RealFolders) -> "Iterator[os.DirEntry[bytes]]":
    """What is in a directory that lies where its path may lead; the paths of entries are not to be used."""
    fd = real.open_folder(folder)
    try:
        with os.scandir(b"/proc/self/fd/%d" % fd) as entries:
            yield from entries
    finally:
        os.close(fd)


def scan(head: bytes, part: str, last: bool, finds: Finds, allowance: Allowance) -> "list[bytes]":
    """The directories that match, or, for the last part of a glob, everything that matches, into `finds`."""
    match = matcher(part)
    found: "list[bytes]" = []
    finds.folders[head or b"/"] = None
    try:
        fd = finds.real.open_folder(head or b"/")
    except OSError as error:
        finds.trouble(head or b"/", error)
        return found
    try:
        finds.folders[head or b"/"] = os.fstat(fd)
        with os.scandir(b"/proc/self/fd/%d" % fd) as entries:
            for entry in entries:
                if allowance.spent():
                    finds.capped = True
                    break
                name = dec(entry.name)
                if (name[0] == "." and part[0] != ".") or not match(name):
                    continue
                path = head + b"/" + entry.name
                if not last and entry.is_dir(follow_symlinks=False):
                    found.append(path)
                elif last:
                    finds.take(path, entry.name, fd)
    except OSError as error:
        finds.trouble(head or b"/", error)
    finally:
        os.close(fd)
    return found


def newest(stats: "dict[bytes, os.stat_result]", cap: int) -> "list[bytes]":
    return sorted(stats, key=lambda path: (stats[path].st_mtime, path))[-cap:]
