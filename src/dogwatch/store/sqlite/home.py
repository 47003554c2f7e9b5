"""The home: a directory of ours alone, on a disk that keeps its promises, or a refusal that says why."""

from __future__ import annotations

import os
import stat

from dogwatch.errors import HomeRefused
from dogwatch.store.private_files import make_private
from dogwatch.store.sqlite import commit_marker, faults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DATABASE = "dogwatch.db"
MARKER = "store.json"
LOCKS = ("watch.lock", "daemon.lock", "make.lock", "write.lock")
PRIVATE_FILES = (DATABASE, DATABASE + "-wal", DATABASE + "-shm", MARKER, commit_marker.NAME, *LOCKS)

# File systems on which SQLite's locks or shared memory, or fsync, mean less than they say.
_NETWORK = frozenset(
    (
        *("nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "davfs", "ncpfs", "coda", "lustre", "gpfs"),
        *("mmfs", "beegfs", "beegfs_nodev", "fhgfs", "ceph", "glusterfs", "panfs", "wekafs", "pvfs2", "orangefs"),
        *("ocfs2", "gfs2", "afs", "openafs", "auristorfs", "9p", "virtiofs", "vboxsf", "vmhgfs", "prl_fs"),
        *("fuse", "fuseblk"),
    )
)


def locate(environ: Mapping[str, str]) -> str:
    """DOGWATCH_HOME, else XDG's state directory, else ~/.local/state/dogwatch; always absolute."""
    user = environ.get("HOME") or os.path.expanduser("~")
    given = environ.get("DOGWATCH_HOME")
    if given:
        return os.path.abspath(user + given[1:] if given == "~" or given.startswith("~/") else given)
    state = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):  # the XDG specification: a relative path is to be ignored
        state = os.path.join(user, ".local", "state")
    return os.path.abspath(os.path.join(state, "dogwatch"))


def prepare(path: str) -> None:
    """Make the home 0700, or refuse it with the reason and the remedy; touches nothing that exists."""
    if not os.path.lexists(path):
        _check_parents(path)
        _check_disk(path)
        _make(path)
    _check_home(path)
    _check_parents(path)
    _check_disk(path)
    for name in PRIVATE_FILES:
        _check_file(os.path.join(path, name))


def made(home: str) -> bool:
    """Whether a store was ever made here; each of these files outlives the database."""
    return any(os.path.exists(os.path.join(home, name)) for name in (MARKER, commit_marker.NAME, "backups"))


def file_system(path: str, mountinfo: Iterable[str]) -> str:
    """The type of the file system that holds `path` (real and absolute), by /proc/self/mountinfo."""
    best, kind = -1, ""
    for line in mountinfo:
        fields, _, rest = line.partition(" - ")
        words = fields.split(" ")
        if len(words) < 5 or not rest:
            continue
        point = _unescape(words[4]).rstrip("/")
        inside = path == point or path.startswith(point + "/")
        if inside and len(point) >= best:  # of equals the later one lies on top
            best, kind = len(point), rest.split(" ", 1)[0]
    return kind


def on_network(kind: str) -> bool:
    return kind in _NETWORK or kind.startswith("fuse.")


def _unescape(point: str) -> str:
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        point = point.replace(code, char)
    return point


def _make(path: str) -> None:
    missing = [path]
    while not os.path.lexists(os.path.dirname(missing[-1])):
        missing.append(os.path.dirname(missing[-1]))
    try:
        for each in reversed(missing):  # os.makedirs leaves the modes of all but the last to the umask
            make_private(each)
    except NotADirectoryError:
        raise HomeRefused(f"{path} is below something that is not a directory: set DOGWATCH_HOME.") from None
    except PermissionError:
        raise HomeRefused(
            f"{path} cannot be created, because its parent is not writable for you: set DOGWATCH_HOME to one of yours."
        ) from None
    except OSError as error:
        raise faults.of_os(error, path) from error


def _check_home(path: str) -> None:
    try:
        info = os.lstat(path)
    except OSError as error:
        raise faults.of_os(error, path) from error
    if stat.S_ISLNK(info.st_mode):
        raise HomeRefused(f"{path} is a symbolic link: set DOGWATCH_HOME to {os.path.realpath(path)} itself.")
    if not stat.S_ISDIR(info.st_mode):
        raise HomeRefused(f"{path} is not a directory: move it away or set DOGWATCH_HOME to another path.")
    _check_private(path, info, "700", "set DOGWATCH_HOME")


def _check_private(path: str, info: os.stat_result, mode: str, remedy: str) -> None:
    if info.st_uid != os.geteuid():
        raise HomeRefused(f"{path} belongs to uid {info.st_uid}, not to you (uid {os.geteuid()}): {remedy}.")
    if stat.S_IMODE(info.st_mode) & 0o077:
        raise HomeRefused(
            f"{path} is open to others (mode {stat.S_IMODE(info.st_mode):04o}): run `chmod {mode} {path}`."
        )


def _check_parents(path: str) -> None:
    seen = set()
    for parent in (os.path.dirname(path), os.path.dirname(os.path.realpath(path))):
        above = parent
        while above not in seen:
            seen.add(above)
            _check_parent(above, path)
            above = os.path.dirname(above)


def _check_parent(parent: str, path: str) -> None:
    try:
        info = os.stat(parent)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise HomeRefused(f"{parent}, above {path}, cannot be seen: {error.strerror}.") from error
    if info.st_uid not in (0, os.geteuid()):
        raise HomeRefused(f"{parent}, above {path}, belongs to uid {info.st_uid}: set DOGWATCH_HOME to one of yours.")
    mode = info.st_mode
    if mode & stat.S_ISVTX:
        return
    if mode & stat.S_IWOTH:
        raise HomeRefused(f"{parent}, above {path}, can be written by everybody: run `chmod o-w {parent}`.")
    own_group = info.st_gid == os.getegid() == os.geteuid()  # a user's private group is nobody else
    if mode & stat.S_IWGRP and not own_group:
        raise HomeRefused(f"{parent}, above {path}, can be written by group {info.st_gid}: run `chmod g-w {parent}`.")


def _check_disk(path: str) -> None:
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
            kind = file_system(os.path.realpath(path), lines)
    except OSError:  # macOS has no /proc, and homes there are on a disk of the machine
        return
    if on_network(kind):
        raise HomeRefused(
            f"{path} is on a {kind} file system, where locks and fsync cannot be relied on: "
            "set DOGWATCH_HOME to a directory on a local disk."
        )


def _check_file(path: str) -> None:
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(info.st_mode):
        raise HomeRefused(f"{path} is not a plain file: move it away.")
    _check_private(path, info, "600", "move it away")
