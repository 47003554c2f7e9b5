"""The file of an agent registry: read strictly, edited entry by entry, swapped in without losing an edit.

Whoever obeys the lock (`flock` on the file's name plus `.lock`) loses nothing. Of those who do not, a file they
rename into place meanwhile, or truncate to write it anew, is noticed when ours is exchanged for it, put back and
edited afresh. What remains: a writer without the lock that opens the file without truncating it and writes after
the exchange; one that read ours in the microseconds before theirs was put back and renames much later; and, where
the file system cannot exchange two names (NFS), a rename between the last comparison and ours.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import functools
import json
import math
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from dogwatch.errors import UsageError
from dogwatch.text import plain

LARGEST = 4 << 20
DEEPEST = 32
LONGEST_NUMBER = 40
LOCK_TIMEOUT = 10.0
HALF_WRITTEN = 0.5
_TRIES = 50
_PAUSE = 0.02
_RENAME_EXCHANGE = 2
_NO_EXCHANGE = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})
_SPACE = re.compile(r"[ \t\n\r]*+")
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|-?(?:NaN|Infinity)|-?[0-9][0-9.eE+-]*+|[a-z]++|[][{}:,]', re.DOTALL)


class RegistryRefused(UsageError):
    """A registry that cannot be taken as it is; it was left as it is."""


class RegistryEntry(TypedDict):
    """An entry as we write it; others may write more or less."""

    type: str
    id: str
    host: str
    user: str | None
    submitted: str
    description: str
    last_status: str


@dataclass(frozen=True, slots=True)
class Item:
    """One element of the list, where its text lies, and where that of its last_status does."""

    value: Any
    start: int
    end: int
    line: int
    status: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Version:
    """The file as it was at one moment."""

    raw: bytes
    found: os.stat_result

    def is_still(self, other: Version) -> bool:
        return self.found.st_ino == other.found.st_ino and self.raw == other.raw

    @property
    def text(self) -> str:
        try:
            return self.raw.decode("utf-8")
        except UnicodeDecodeError as error:
            line = self.raw.count(b"\n", 0, error.start) + 1
            column = error.start - self.raw.rfind(b"\n", 0, error.start)
            raise RegistryRefused(f"line {line} column {column}: the text is not UTF-8") from None


@functools.lru_cache(maxsize=4)  # a sync looks at the same text several times
def parse(text: str) -> tuple[Item, ...]:
    """The elements of the list; RegistryRefused with line and column for what is no intact JSON list."""
    spans = _scan(text)
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise RegistryRefused(f"line {error.lineno} column {error.colno}: not JSON ({error.msg})") from None
    except (RecursionError, ValueError) as error:
        raise RegistryRefused(f"line 1 column 1: not JSON that can be read ({error})") from None
    if not isinstance(values, list):
        raise RegistryRefused("line 1 column 1: a registry is a list of entries, [ … ]")
    items, line, at = [], 1, 0
    for value, (start, end, status) in zip(values, spans, strict=True):
        line, at = line + text.count("\n", at, start), start
        items.append(Item(value, start, end, line, status))
    return tuple(items)


def edited(text: str, items: Sequence[Item], changes: Mapping[int, str | None]) -> str:
    """The text with the last_status of some entries set, and those whose change is None taken out; whatever
    else stands in it, spelling and unknown keys included, stays as it is."""
    kept: list[str] = []
    for number, item in enumerate(items):
        status = changes.get(number, "")
        if status is None:
            continue
        before = text[items[number - 1].end : item.start] if kept else ""
        kept.append(before + (_with_status(text, item, status) if status else text[item.start : item.end]))
    if not items:
        return text
    head, tail = text[: items[0].start], text[items[-1].end :]
    return head + "".join(kept) + tail if kept else head.rstrip() + tail.lstrip()


def joined(text: str, carried: Sequence[str]) -> str:
    """The text with the entries of `carried` that it does not have, at its end."""
    for raw in carried:
        items = parse(text)
        entry = json.loads(raw)
        if any(_identity(item.value) == _identity(entry) for item in items):
            continue
        if items:
            between = text[items[-2].end : items[-1].start] if len(items) > 1 else ", "
            text = text[: items[-1].end] + between + raw + text[items[-1].end :]
        else:
            opening = text.index("[") + 1
            text = text[:opening] + raw + text[opening:]
    return text


def _with_status(text: str, item: Item, status: str) -> str:
    word = json.dumps(status)
    if item.status is not None:
        return text[item.start : item.status[0]] + word + text[item.status[1] : item.end]
    body = text[item.start : item.end - 1]
    ending = body[len(body.rstrip()) :]
    return f'{body.rstrip()}, "last_status": {word}{ending}}}'


@dataclass(slots=True)
class _Open:
    """A list or object that has begun and not ended yet."""

    at: int
    is_object: bool
    keys: set[str] = field(default_factory=set)
    key: str | None = None
    wants_key: bool = True


class _Scan:
    """Where the elements of the outermost list lie, refusing on the way what JSON readers disagree about."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.open: list[_Open] = []
        self.spans: list[tuple[int, int, tuple[int, int] | None]] = []
        self.status: tuple[int, int] | None = None

    def refuse(self, at: int, why: str) -> RegistryRefused:
        line, column = self.text.count("\n", 0, at) + 1, at - self.text.rfind("\n", 0, at)
        return RegistryRefused(f"line {line} column {column}: {why}")

    def take(self, token: str, at: int) -> None:
        inner = self.open[-1] if self.open else None
        if token in "[{":
            self.open.append(_Open(at, token == "{"))
            if len(self.open) > DEEPEST:
                raise self.refuse(at, f"nested deeper than {DEEPEST}")
        elif token in "]}":
            if inner is not None:
                self.open.pop()
                self.ended(inner.at, at + 1)
        elif token in ",:":
            if inner is not None:
                inner.wants_key = token == ","
        elif inner is not None and inner.is_object and inner.wants_key:
            self.key(inner, token, at)
        else:
            self.scalar(token, at)
            self.ended(at, at + len(token))

    def key(self, inner: _Open, token: str, at: int) -> None:
        try:
            name = str(json.loads(token))
        except ValueError:  # the JSON reader proper will say what is wrong with it
            return
        if name in inner.keys:
            raise self.refuse(at, f"the key {plain(token, 60)} is given twice")
        inner.keys.add(name)
        inner.key = name

    def scalar(self, token: str, at: int) -> None:
        if token.endswith(("NaN", "Infinity")):
            raise self.refuse(at, f"{plain(token, 60)} is not a JSON number")
        if token[0] not in "-0123456789":
            return
        try:
            sane = len(token) <= LONGEST_NUMBER and math.isfinite(float(token))
        except ValueError:
            return
        if not sane:
            raise self.refuse(at, "a number that is too large")

    def ended(self, start: int, end: int) -> None:
        if len(self.open) == 1 and not self.open[0].is_object:
            self.spans.append((start, end, self.status))
            self.status = None
        elif len(self.open) == 2 and self.open[1].is_object and self.open[1].key == "last_status":
            self.status = (start, end)


def _scan(text: str) -> list[tuple[int, int, tuple[int, int] | None]]:
    scan, at = _Scan(text), 0
    while True:
        space = _SPACE.match(text, at)
        at = at if space is None else space.end()
        found = _TOKEN.match(text, at)
        if found is None:
            return scan.spans
        scan.take(found[0], at)
        at = found.end()


def _identity(value: Any) -> str:
    """What makes two elements the same entry, whatever became of the rest of them."""
    if isinstance(value, dict) and "id" in value:
        return json.dumps([str(value.get(key)) for key in ("type", "id", "host", "submitted")])
    return json.dumps(value, sort_keys=True)


@dataclass(frozen=True, slots=True)
class RegistryFile:
    """A registry by its open folder, so that no link can lead us elsewhere between two steps."""

    folder: int
    name: str
    lock_timeout: float = LOCK_TIMEOUT

    @property
    def draft(self) -> str:
        return f".{self.name}.dogwatch"

    def read(self) -> str:
        """The text, intact: one that is just being written is waited for, for a moment."""
        limit = time.monotonic() + HALF_WRITTEN
        while True:
            try:
                text = self._version(self.name).text
                parse(text)
                return text
            except RegistryRefused:
                if time.monotonic() > limit:
                    raise
                time.sleep(_PAUSE)

    def create(self) -> None:
        """Make an empty registry where there is none."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with contextlib.suppress(FileExistsError):
            fd = os.open(self.name, flags, 0o644, dir_fd=self.folder)
            os.write(fd, b"[]\n")
            os.close(fd)

    def rewrite(self, edit: Callable[[str], str]) -> None:
        """Replace the text by what `edit` makes of it, or of whatever newer text turns up meanwhile."""
        text = self.read()
        if edit(text) == text:
            return
        with self._locked():
            carried: list[str] = []
            for _ in range(_TRIES):
                self.read()
                if self._swap(edit, carried):
                    return
                time.sleep(_PAUSE)
        raise RegistryRefused("another process keeps changing it without taking the lock")

    def _swap(self, edit: Callable[[str], str], carried: list[str]) -> bool:
        """One try; False when somebody's version was in the way, with its new entries then in `carried`."""
        before = self._version(self.name)
        try:
            text = edit(joined(before.text, carried))
        except RegistryRefused:  # half written since it was last intact
            return False
        if text.encode() == before.raw:
            return True
        self._write_draft(text, before.found)
        try:
            return self._exchange_in(before, text, carried)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.draft, dir_fd=self.folder)

    def _exchange_in(self, before: Version, text: str, carried: list[str]) -> bool:
        if not _exchange(self.folder, self.draft, self.name):
            if not self._version(self.name).is_still(before):
                return False
            os.replace(self.draft, self.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
            return True
        theirs = self._version(self.draft)
        if theirs.is_still(before):
            os.fsync(self.folder)
            return True
        _exchange(self.folder, self.draft, self.name)
        carried += _additions(theirs, before) + _additions(self._version(self.draft), before)
        return False

    def _version(self, name: str) -> Version:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            fd = os.open(name, flags, dir_fd=self.folder)
        except OSError as error:
            why = "it is a symbolic link" if error.errno == errno.ELOOP else f"cannot be read ({error.strerror})"
            raise RegistryRefused(why) from None
        with open(fd, "rb") as file:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                raise RegistryRefused("it is not a regular file")
            raw = file.read(LARGEST + 1)
        if len(raw) > LARGEST:
            raise RegistryRefused(f"larger than {LARGEST >> 20} MiB")
        return Version(raw, found)

    def _write_draft(self, text: str, like: os.stat_result) -> None:
        """Under the lock nobody else has this name; one that is there is what a killed sync left."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.draft, dir_fd=self.folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(self.draft, flags, 0o600, dir_fd=self.folder), "wb") as file:
            made = os.fstat(file.fileno())
            if (made.st_uid, made.st_gid) != (like.st_uid, like.st_gid):
                os.fchown(file.fileno(), like.st_uid, like.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(like.st_mode))
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """The lock, on a file that still has its name: some people remove lock files."""
        limit = time.monotonic() + self.lock_timeout
        while True:
            fd = self._open_lock()
            try:
                if _try_lock(fd) and self._is_named(fd):
                    yield
                    return
            finally:
                os.close(fd)
            if time.monotonic() > limit:
                raise RegistryRefused(f"another process has held its lock for {self.lock_timeout:g} s; try again")
            time.sleep(_PAUSE / 10)

    def _open_lock(self) -> int:
        flags = os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        name, mode = f"{self.name}.lock", 0o600 | stat.S_IMODE(self._version(self.name).found.st_mode)
        try:
            # NFS grants an exclusive lock only on a file that is open for writing.
            return os.open(name, flags | os.O_RDWR, mode, dir_fd=self.folder)
        except PermissionError:
            return os.open(name, (flags | os.O_RDONLY) & ~os.O_CREAT, dir_fd=self.folder)

    def _is_named(self, fd: int) -> bool:
        try:
            there = os.stat(f"{self.name}.lock", dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(fd))


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _additions(newer: Version, base: Version) -> list[str]:
    """The entries of one version that another does not have; none of a version that is half written."""
    try:
        text = newer.text
        items, known = parse(text), {_identity(item.value) for item in parse(base.text)}
    except RegistryRefused:
        return []
    return [text[item.start : item.end] for item in items if _identity(item.value) not in known]


def _exchange(folder: int, one: str, other: str) -> bool:
    """Let two names change places at one moment; False where the system cannot do that."""
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return False
    if swap(folder, os.fsencode(one), folder, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _NO_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), other)
