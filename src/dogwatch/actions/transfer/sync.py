"""Sync: send a directory to a place before a run starts there, and prove that it arrived as it is here.

Nothing is removed there, nothing is left out unless it was said, and no file is touched that a process there runs.
"""

from __future__ import annotations

import fnmatch
import os
import stat
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from dogwatch import remote
from dogwatch.actions.transfer.listing import MOST_FILES, TransferFailed
from dogwatch.actions.transfer.verify import hash_here, hashes_there
from dogwatch.errors import UsageError
from dogwatch.text import plain
from dogwatch.transport.shell import Session, Shell
from dogwatch.transport.ssh_failure import last_line

STAGING = ".dogwatch-sync"
HEAD = 4096
SCRIPTS = (".sh", ".bash", ".zsh", ".ksh", ".slurm", ".sbatch")
MOST_NAMED = 5
DEADLINE = 6 * 3600.0
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Synced:
    """What was sent: where it is there, how much of it there is, and how much of that had to be copied."""

    remote: str
    files: int
    bytes: int
    copied: int
    way: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    files: dict[str, int]  # by name: its size
    links: dict[str, str]
    warnings: tuple[str, ...]


def sync(shell: Shell, wanted: str, exclude: Sequence[str] = (), say: Say = lambda text: None) -> Synced:
    """Send DIR[:REMOTE]; the default of REMOTE is a directory of the same name in the home there."""
    here, there = _parse(wanted, shell)
    found = _find(here, exclude)
    hashes = {name: hash_here(os.path.join(here, name)) or "" for name in found.files}
    total = sum(found.files.values())
    held = hashes_there(shell, there, list(hashes), total)
    sent = [name for name in hashes if held.get(name) != hashes[name]]
    _refuse_running(shell, there, [name for name in sent if name in held])
    say(f"sending {_count(len(sent))} of {len(hashes):,} to {shell.place}:{plain(there, 200)}")
    way = _send(shell, here, there, sent, found.links)
    arrived = hashes_there(shell, there, list(hashes), total)
    wrong = [name for name in hashes if arrived.get(name) != hashes[name]]
    if wrong:
        lacking = sum(name not in arrived for name in wrong)
        text = f"{_count(len(wrong))} of {len(hashes):,} did not arrive as they are here ({lacking} are not there)"
        raise TransferFailed(f"{text}: {_named(wrong)}; did they change meanwhile? run the same command again")
    return Synced(there, len(hashes), total, len(sent), way, found.warnings)


def _parse(wanted: str, shell: Shell) -> tuple[str, str]:
    given, _, there = wanted.partition(":")
    here = os.path.abspath(os.path.expanduser(given))
    if not given or not os.path.isdir(here):
        raise UsageError(f"--sync {plain(wanted, 120)}: {plain(here, 200)} is not a directory")
    home = shell.run('printf "%s" "$HOME"').out.decode("utf-8", "surrogateescape")
    there = there or os.path.basename(here)
    whole = home + there[1:] if there == "~" or there.startswith("~/") else there
    path = os.path.normpath(whole if whole.startswith("/") else os.path.join(home, whole))
    if not path.startswith("/") or path.strip("/") == "" or "\0" in path:
        raise UsageError(f"--sync {plain(wanted, 120)}: {plain(there, 120)} is no directory that files can be sent to")
    return here, path


def _find(here: str, exclude: Sequence[str]) -> _Found:
    files: dict[str, int] = {}
    links: dict[str, str] = {}
    warnings: list[str] = []
    for name, row in _walk(here, "", exclude):
        path = os.path.join(here, name)
        if stat.S_ISLNK(row.st_mode):
            target = os.readlink(path)
            aim = os.path.normpath(os.path.join(os.path.dirname(name), target))
            if target.startswith("/") or aim.startswith(".."):
                warnings.append(f"{plain(name, 120)} was not sent: it is a link out of the directory")
            else:
                links[name] = target
        elif stat.S_ISREG(row.st_mode):
            files[name] = row.st_size
            if _has_crlf(path, name):
                fix = f"sed -i 's/\\r$//' {plain(path, 200)}"
                warnings.append(f"{plain(name, 120)} has Windows line ends, with which a shell fails; to fix it: {fix}")
        else:
            warnings.append(f"{plain(name, 120)} was not sent: it is no file (a device, a pipe or a socket)")
        if len(files) > MOST_FILES:
            raise UsageError(f"there are more than {MOST_FILES:,} files in {plain(here, 200)}; use --sync-exclude")
    if not files:
        raise UsageError(f"there is no file to send in {plain(here, 200)}")
    return _Found(files, links, tuple(warnings))


def _walk(here: str, below: str, exclude: Sequence[str]) -> Iterator[tuple[str, os.stat_result]]:
    try:
        entries = sorted(os.scandir(os.path.join(here, below)), key=lambda entry: entry.name)
    except OSError as error:
        raise UsageError(f"{plain(os.path.join(here, below), 200)} cannot be read: {error.strerror}") from error
    for entry in entries:
        name = os.path.join(below, entry.name)
        if entry.name == STAGING or any(
            fnmatch.fnmatchcase(text, glob.rstrip("/")) for glob in exclude for text in (name, entry.name)
        ):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(here, name, exclude)
        else:
            yield name, entry.stat(follow_symlinks=False)


def _has_crlf(path: str, name: str) -> bool:
    """Whether a shell script has lines that end as on Windows."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except OSError:
        return False
    first = head.partition(b"\n")[0]
    script = name.endswith(SCRIPTS) or (first.startswith(b"#!") and b"sh" in first)
    return b"\r\n" in head and (script or first.startswith(b"#!"))


def _refuse_running(shell: Shell, there: str, names: Sequence[str]) -> None:
    """A shell reads its script while it runs it: another one in its place makes it go on in the middle of a line."""
    if not names:
        return
    parts = shell.run(remote.script("open_paths")).out.decode("utf-8", "surrogateescape").split("\0")
    users: dict[str, str] = {}
    for pid, path in zip(parts[::2], parts[1::2], strict=False):
        users.setdefault(os.path.normpath(path), pid)
    used = [(name, users[path]) for name in names if (path := os.path.normpath(os.path.join(there, name))) in users]
    if used:
        name, pid = used[0]
        more = f" and {len(used) - 1} more" if len(used) > 1 else ""
        raise UsageError(
            f"{plain(name, 120)}{more} differs here, and process {plain(pid, 12)} on {shell.place} is running it;"
            " nothing was sent: wait until it ends, or sync to another directory (--sync DIR:REMOTE)"
        )


def _send(shell: Shell, here: str, there: str, names: Sequence[str], links: dict[str, str]) -> str:
    """The way that was taken."""
    everything = [*names, *links]
    if not everything:
        return ""
    has_rsync = b"yes" in shell.run("command -v rsync >/dev/null 2>&1 && echo yes; exit 0").out
    way = shell.rsync(there + "/") if has_rsync else None
    if way is not None and _by_rsync(shell, here, there, way, everything):
        return "rsync"
    _by_tar(shell, here, there, everything)
    return "tar"


def _by_rsync(shell: Shell, here: str, there: str, way: tuple[list[str], str], names: Sequence[str]) -> bool:
    if code := shell.run('umask 022; mkdir -p "$1"', [there]).code:
        raise TransferFailed(f"{plain(there, 200)} cannot be made on {shell.place} (exit code {code})")
    start, target = way
    argv = [*start, "--files-from=-", "--from0", "--times", "--perms", "--links", "-s", "--timeout=60", "--"]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as err:
        given.write(b"".join(os.fsencode(name) + b"\0" for name in names))
        given.seek(0)
        ran = subprocess.run(
            [*argv, here + "/", target],
            stdin=given,
            stdout=subprocess.DEVNULL,
            stderr=err,
            env=shell.environment(),
            timeout=DEADLINE,
            start_new_session=True,
        )
        err.seek(0)
        said = last_line(err.read(65536).decode("utf-8", "replace").partition("rsync error:")[0])
    if ran.returncode in (2, 127):
        return False
    if ran.returncode not in (0, 24):
        raise TransferFailed(f"rsync could not send everything to {shell.place}: {said or ran.returncode}")
    return True


def _by_tar(shell: Shell, here: str, there: str, names: Sequence[str]) -> None:
    staging = os.path.join(os.path.dirname(there), f"{STAGING}-{os.urandom(4).hex()}")
    with shell.session(remote.script("receive_files"), [there, staging], DEADLINE) as session:
        try:
            with tarfile.open(fileobj=session.stdin, mode="w|", format=tarfile.GNU_FORMAT) as archive:
                for name in names:
                    archive.add(os.path.join(here, name), f"./{name}", recursive=False)
        except BrokenPipeError:
            pass
        except OSError as error:
            raise TransferFailed(f"{plain(str(error.filename or here), 200)} cannot be sent: {error}") from error
        _finish(shell, session, there)


def _finish(shell: Shell, session: Session, there: str) -> None:
    with suppress(OSError):
        session.stdin.close()
    for _ in session.chunks():
        pass
    ran = session.finish(DEADLINE)
    if ran.code:
        raise TransferFailed(f"{shell.place} could not unpack into {plain(there, 200)}: {ran.err or ran.code}")


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(plain(name, 80) for name in names[:MOST_NAMED]) + more


def _count(files: int) -> str:
    return f"{files:,} file{'' if files == 1 else 's'}"
