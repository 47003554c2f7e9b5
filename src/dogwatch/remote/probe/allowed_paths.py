"""Where a registered path may lead: where it led when it was first looked at, and beneath that.

The folder of a path is what stands before its last name, or before its first wildcard. Its real name, with all links
followed, is kept by the caller from the first poll on, even if nothing is there yet, and comes with every later poll.
A file is read and a directory listed only if the kernel's own name of the open descriptor lies in that real folder;
until then no byte of it is read. So a link that was there from the beginning keeps working, and a directory that
becomes a link is refused, also in the middle of a poll. Links below the folder may lead only beneath the directory that
they stand in (`latest -> step_100`), and a link in the folder's path that was one from the beginning may later name
another directory beside its first target, unless others may write there. The last name itself is never followed.
"""

import errno
import os
import stat

from dogwatch.remote.shapes import WithFolders

OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
OPEN_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
REMEDY = b"which it was not when the job was added; if you moved it, `dogwatch forget` the job and add it again"


class Elsewhere(OSError):
    """A path that leads out of its folder; the error is the one by which openat2 says so."""

    def __init__(self, why: bytes) -> None:
        OSError.__init__(self, errno.EXDEV, why.decode("utf-8", "replace"))


def name_of(fd: int) -> bytes:
    """The kernel's own name of what is open, without any link in it."""
    return os.readlink(b"/proc/self/fd/%d" % fd)


def where_now(folder: bytes) -> bytes:
    """The real name of a folder, also of one that is not there yet."""
    try:
        fd = os.open(folder, OPEN_FOLDER)
    except OSError:
        return os.path.realpath(folder)
    try:
        name = name_of(fd)
    finally:
        os.close(fd)
    return os.path.realpath(folder) if name.endswith(b" (deleted)") else name


def is_in(path: bytes, folder: bytes) -> bool:
    return path == folder or path.startswith(folder.rstrip(b"/") + b"/")


def is_beside(folder: bytes, first: bytes, now: bytes) -> bool:
    """Whether one link of a path, which was a link at first, names another directory beside its first target."""
    asked, old, new = (path.split(b"/") for path in (folder, first, now))
    differing = [at for at, pair in enumerate(zip(old, new)) if pair[0] != pair[1]]
    if len(old) != len(new) or len(differing) != 1 or len(asked) < len(old) - differing[0]:
        return False
    after = len(old) - differing[0] - 1
    link = asked[len(asked) - after - 1]
    if asked[len(asked) - after :] != old[differing[0] + 1 :] or link == old[differing[0]]:
        return False
    try:
        return not os.stat(b"/".join(old[: differing[0]]) or b"/").st_mode & (stat.S_IWOTH | stat.S_ISVTX)
    except OSError:
        return False


class RealFolders:
    """The real names of folders, by the names under which they are asked for: those that the caller has kept, and in
    `learnt` those that were looked at for the first time; `moved` says which of them lead elsewhere now."""

    def __init__(self, kept: "dict[str, str] | None" = None) -> None:
        self.kept: "dict[bytes, bytes]" = {}
        self.learnt: "dict[str, str]" = {}
        self.moved: "dict[bytes, str]" = {}
        self.keep(kept)

    def keep(self, kept: "dict[str, str] | None") -> None:
        """Take in what a caller has kept."""
        for folder, real in (kept or {}).items():
            self._keep(folder.encode("utf-8", "surrogateescape"), real.encode("utf-8", "surrogateescape"))

    def _keep(self, folder: bytes, real: bytes) -> None:
        self.kept[folder] = real
        self.kept.setdefault(real, real)

    def learn(self, folder: bytes) -> None:
        """Keep where a folder leads, unless that is known."""
        if folder not in self.kept:
            real = where_now(folder)
            self._keep(folder, real)
            self.learnt[folder.decode("utf-8", "surrogateescape")] = real.decode("utf-8", "surrogateescape")

    def learn_above(self, folder: bytes) -> None:
        """The same, unless one above it is known: then it lies beneath that."""
        if self._top(folder) is None:
            self.learn(folder)

    def add_to(self, answer: "WithFolders") -> None:
        """Put into an answer what the caller is to keep, and what became of the folders."""
        if self.learnt:
            answer["real"] = self.learnt
        if self.moved:
            answer["moved"] = [self.moved[folder] for folder in sorted(self.moved)]

    def open(self, path: bytes, flags: int = OPEN) -> int:
        """A descriptor of a file that lies where its path may lead; Elsewhere for any other."""
        return self._open(path, flags, False)

    def open_folder(self, path: bytes) -> int:
        """The same of a directory, for looking at what is in it."""
        return self._open(path, OPEN_FOLDER, True)

    def _open(self, path: bytes, flags: int, is_folder: bool) -> int:
        fd = os.open(path, flags)
        try:
            folder, name = (path, name_of(fd)) if is_folder else (os.path.dirname(path), os.path.dirname(name_of(fd)))
            self._check(folder, name)
        except OSError:
            os.close(fd)
            raise
        return fd

    def _top(self, folder: bytes) -> "bytes | None":
        """The nearest folder above, or this one, whose real name is known."""
        while folder not in self.kept:
            above = os.path.dirname(folder)
            if above == folder:
                return None
            folder = above
        return folder

    def _check(self, folder: bytes, name: bytes) -> None:
        self.learn_above(folder)
        top = self._top(folder) or b"/"
        rest = folder[len(top) :].strip(b"/")
        real = self.kept[top]
        if name == (real.rstrip(b"/") + b"/" + rest if rest else real):
            return
        if name != self._leads_to(top, rest):
            raise Elsewhere(b"%s led to %s while it was opened" % (folder, name))

    def _leads_to(self, top: bytes, rest: bytes) -> bytes:
        """Where the links in a path lead now, as long as each of them may lead there."""
        first, now = self.kept[top], where_now(top)
        if now != first and not is_beside(top, first, now):
            why = what_changed(top, first, now)
            self.moved[top] = why.decode("utf-8", "replace")
            raise Elsewhere(why)
        for part in rest.split(b"/") if rest else ():
            path = now.rstrip(b"/") + b"/" + part
            real = os.path.realpath(path)
            if real != path and not is_in(real, now):
                raise Elsewhere(b"%s is a link to %s, out of the directory that it is in" % (path, real))
            now = real
        return now


def what_changed(folder: bytes, first: bytes, now: bytes) -> bytes:
    """Which part of a path leads elsewhere now."""
    parts = folder.strip(b"/").split(b"/")
    above = [b"/" + b"/".join(parts[: count + 1]) for count in range(len(parts))]
    links = [path for path in above if os.path.islink(path) and not is_in(first, os.path.realpath(path))]
    if links:
        return b"%s is now a link to %s, %s" % (links[0], os.path.realpath(links[0]), REMEDY)
    return b"%s is now %s, %s" % (folder, now, REMEDY)
