"""Registry: the agents' own lists of jobs (`.claude/active_jobs.json`), adopted from and kept up to date.

A registry is somebody's data and never configuration: it can name a job on a place that is known already, and
nothing more. The store stays the truth; what it does not know is not written.
"""

from __future__ import annotations

import calendar
import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from dogwatch.api.commands import HERE
from dogwatch.api.host_names import HostNames
from dogwatch.api.registry_file import (
    LOCK_TIMEOUT,
    Item,
    RegistryEntry,
    RegistryFile,
    RegistryRefused,
    edited,
    joined,
    parse,
)
from dogwatch.errors import CouldNotPoll, UsageError
from dogwatch.model.job import scheduler_here
from dogwatch.model.scheduler import status
from dogwatch.sources import kind_of, kinds, schedulers
from dogwatch.store.interface import Store
from dogwatch.store.rows import cursors
from dogwatch.store.rows import jobs as job_rows
from dogwatch.store.rows import places as place_rows
from dogwatch.text import NAME_LIMIT, plain

if TYPE_CHECKING:
    from dogwatch.wire.documents.commands import SyncedDocument, SyncedEntryDocument
    from dogwatch.wire.documents.job import BriefJob

NAME = "active_jobs.json"
FOLDER = ".claude"
SESSIONS = "agents"
MOST_SESSIONS = 1000
DAY = 86400.0
_REMEMBERED = "registry:"
_NOT_YET = frozenset({"nel", "launcher"})
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_TIMES = ("%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry whose every value was checked. `id` is as it was written, `base` the job it belongs to
    (12 of 12_3), `place` one of ours, `submitted` unix seconds."""

    kind: str
    id: str
    base: str
    place: str
    user: str | None = None
    submitted: float | None = None
    description: str = ""
    owner: str | None = None


Adopt: TypeAlias = Callable[[Entry], str]
"""Takes a job under watch and returns its ref; UsageError or CouldNotLook say why it cannot be."""


@dataclass(frozen=True, slots=True)
class Synced:
    """What one sync did to one file; `refused` says why nothing could be done, or not everything."""

    path: str
    adopted: tuple[SyncedEntryDocument, ...] = ()
    updated: tuple[SyncedEntryDocument, ...] = ()
    removed: tuple[SyncedEntryDocument, ...] = ()
    notes: tuple[str, ...] = ()
    refused: str | None = None

    def document(self) -> SyncedDocument:
        return {
            "path": self.path,
            "adopted": list(self.adopted),
            "updated": list(self.updated),
            "removed": list(self.removed),
            "notes": list(self.notes),
            "refused": self.refused,
        }


def find(directory: str) -> list[str]:
    """The registry files of a directory: the one all sessions share, and each session's own."""
    root = os.path.join(os.path.abspath(directory), FOLDER)
    sessions: list[str] = []
    with contextlib.suppress(OSError):
        sessions = sorted(os.listdir(os.path.join(root, SESSIONS)))[:MOST_SESSIONS]
    paths = [os.path.join(root, NAME), *(os.path.join(root, SESSIONS, each, NAME) for each in sessions)]
    return [path for path in paths if os.path.lexists(path)]


def nearest(directory: str) -> list[str]:
    """The registry files of a directory, or of the nearest one above it that has any and belongs to the same user."""
    folder = os.path.abspath(directory)
    while True:
        found = find(folder)
        above = os.path.dirname(folder)
        try:
            ours = os.lstat(above).st_uid == os.geteuid()
        except OSError:
            ours = False
        if found or above == folder or not ours:
            return found
        folder = above


@dataclass(frozen=True, slots=True)
class Named:
    """A job that a registry names: our job, if it is watched; else what it says of a job on a place of ours, or of one
    that only its launcher knows (`launched`: its type and id)."""

    path: str
    job: BriefJob | None = None
    entry: Entry | None = None
    launched: tuple[str, str] | None = None


def listed(store: Store, path: str) -> tuple[list[Named], list[str]]:
    """The jobs that a registry names, and a sentence for each entry that cannot be taken; nothing is changed."""
    shown = plain(path, 200)
    below = path.rpartition(f"{os.sep}{FOLDER}{os.sep}")[0] or None
    try:
        with _opened(path, below, 0.0) as file:
            items = parse(file.read())
    except RegistryRefused as error:
        return [], [f"{shown}: {error}"]
    known, places, found, notes = _Known(store), HostNames(store), [], []
    for number, item in enumerate(items, 1):
        try:
            entry = _checked(item, places)
            found.append(Named(path, known.job_of(entry), entry))
        except _Launched as launched:
            found.append(Named(path, launched=(launched.kind, launched.id)))
        except _Refused as error:
            notes.append(f"{shown} line {item.line}: entry {number}{_called(item)}: {error}")
    return found, notes


def sync(store: Store, path: str, adopt: Adopt, below: str | None = None, lock_timeout: float = LOCK_TIMEOUT) -> Synced:
    """Adopt what is new in a registry, then bring its states up to date and take out what has ended.
    `below` is the directory in which the file was found: from there on, no link is followed. `lock_timeout` is how
    long somebody else's lock is waited for."""
    shown = plain(path, 200)
    try:
        with _opened(path, below, lock_timeout) as file:
            adopted, notes = _adopt_new(store, file, adopt)
            edit = _Edit(store)
            refused = None
            try:
                file.rewrite(edit)
            except RegistryRefused as error:
                refused = f"{shown}: {error}; it was left as it is"
            except OSError as error:
                refused = f"{shown} cannot be written ({error.strerror}); it was left as it is"
    except RegistryRefused as error:
        return Synced(path, refused=f"{shown}: {error}; it was left as it is")
    marked = tuple(f"{shown} {note}; the entry was left as it is" for note in notes)
    if refused is not None:
        return Synced(path, tuple(adopted), notes=marked, refused=refused)
    return Synced(path, tuple(adopted), tuple(edit.updated), tuple(edit.removed), marked)


def enter(store: Store, path: str, entry: RegistryEntry) -> None:
    """Put a job into a registry that does not name it yet; the file, and the folder it lies in, are made if need be."""
    shown = plain(path, 200)
    whole = os.path.abspath(path)
    names = HostNames(store)

    def edit(text: str) -> str:
        for item in parse(text):
            with contextlib.suppress(_Refused):
                known = _checked(item, names)
                if (known.kind, known.base) == (wanted.kind, wanted.base) and known.place == wanted.place:
                    return text
        return joined(text, [json.dumps(entry, indent=2, ensure_ascii=False)])

    wanted = _checked(Item(entry, 0, 0, 1, None), names)
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(os.path.dirname(whole))
        with _opened(whole, None, LOCK_TIMEOUT) as file:
            file.create()
            file.rewrite(edit)
    except OSError as error:
        raise RegistryRefused(f"{shown} cannot be written ({error.strerror})") from None
    except RegistryRefused as error:
        raise RegistryRefused(f"{shown}: {error}; it was left as it is") from None
    remember(store, whole)


def check(path: str) -> None:
    """Refuse a file that is there and is no registry, before anything is registered because of it."""
    whole = os.path.abspath(path)
    if not os.path.lexists(whole):
        if not os.path.isdir(os.path.dirname(os.path.dirname(whole))):
            raise RegistryRefused(f"--registry {plain(path, 200)}: its directory does not exist")
        return
    try:
        with _opened(whole, None, 0.0) as file:
            parse(file.read())
    except RegistryRefused as error:
        raise RegistryRefused(f"--registry {plain(path, 200)}: {error}") from None


def host_of(store: Store, place: str) -> str:
    """What a registry calls a place: what ssh calls it, where that means this place alone."""
    if place in {scheduler_here(kind.name) for kind in schedulers()}:
        return "localhost"
    alias = next((row["transport"].get("ssh") for row in place_rows.places(store) if row["name"] == place), None)
    return alias if isinstance(alias, str) and HostNames(store).place(alias) == place else place


def remember(store: Store, path: str) -> None:
    """From now on the recurring poll brings this registry up to date."""
    name = _REMEMBERED + os.path.abspath(path)
    if not cursors.read(store, name):
        cursors.write(store, name, 1)


def remembered(store: Store) -> list[str]:
    """The registries that were ever synced or written to, and are still there."""
    found = []
    for path in cursors.names(store, _REMEMBERED):
        if os.path.isdir(os.path.dirname(os.path.dirname(path))) and not os.path.lexists(path):
            cursors.drop(store, _REMEMBERED + path)  # gone for good, not merely a disk that is away
        elif os.path.lexists(path):
            found.append(path)
    return found


@contextlib.contextmanager
def _opened(path: str, below: str | None, lock_timeout: float) -> Iterator[RegistryFile]:
    """The file by its folder; every folder between `below` and it must be a real one."""
    whole = os.path.abspath(path)
    start, parts = os.path.dirname(whole), []
    if below is not None:
        start = os.path.abspath(below)
        parts = os.path.relpath(os.path.dirname(whole), start).split(os.sep)
    folder = -1
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    try:
        folder = os.open(start, flags)
        for part in parts:
            inner = os.open(part, flags | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
    except OSError as error:
        if folder >= 0:
            os.close(folder)
        why = (
            "a directory on the way is a link or not a directory"
            if isinstance(error, NotADirectoryError)
            else error.strerror
        )
        raise RegistryRefused(f"cannot be reached ({why})") from None
    try:
        yield RegistryFile(folder, os.path.basename(whole), lock_timeout)
    finally:
        os.close(folder)


def _adopt_new(store: Store, file: RegistryFile, adopt: Adopt) -> tuple[list[SyncedEntryDocument], list[str]]:
    """Take under watch what is not known; outside the lock, because a poll may take its time."""
    known, places = _Known(store), HostNames(store)
    adopted, notes = [], []
    for number, item in enumerate(parse(file.read()), 1):
        try:
            entry = _checked(item, places)
            if known.job_of(entry) is None:
                adopted += _adopt_one(store, entry, adopt)
                known = _Known(store)
        except (UsageError, CouldNotPoll) as error:
            notes.append(f"line {item.line}: entry {number}{_called(item)}: {error}")
    return adopted, notes


def _adopt_one(store: Store, entry: Entry, adopt: Adopt) -> list[SyncedEntryDocument]:
    if _forgotten(store, entry):
        raise _Refused("it was forgotten here; watch it again: dogwatch add")
    try:
        return [{"id": entry.id, "ref": adopt(entry)}]
    except UsageError:
        if _Known(store).job_of(entry) is not None:  # another sync was quicker
            return []
        raise


class _Edit:
    """What is to become of a registry's text, by what the store knew when this was made; remembers what
    the last text it was shown has become."""

    def __init__(self, store: Store) -> None:
        self._known, self._places = _Known(store), HostNames(store)
        self.updated: list[SyncedEntryDocument] = []
        self.removed: list[SyncedEntryDocument] = []

    def __call__(self, text: str) -> str:
        self.updated, self.removed = [], []
        items = parse(text)
        changes: dict[int, str | None] = {}
        for number, item in enumerate(items):
            try:
                job = self._known.job_of(_checked(item, self._places))
            except _Refused:
                continue
            word = None if job is None else status(job["state"], job["outcome"], job["native"])
            if job is None or word is None:
                continue
            entry_id, ref, was = str(item.value["id"]), job["ref"], item.value.get("last_status")
            if job["state"] == "ended":
                changes[number] = None
                self.removed.append({"id": entry_id, "ref": ref, "status": word})
            elif was != word:
                changes[number] = word
                self.updated.append({"id": entry_id, "ref": ref, "before": was, "after": word})
        return edited(text, items, changes)


class _Known:
    """The jobs of the store, by where they are and what they are called there."""

    def __init__(self, store: Store) -> None:
        self._jobs: dict[tuple[str, str, str], list[BriefJob]] = {}
        for job in job_rows.brief(store, everything=True):
            names = {job["id"]}
            if job["source"] == "process" and job["id"].partition("-")[0].isdigit():
                names.add(job["id"].partition("-")[0])
            for name in names:
                self._jobs.setdefault((job["place"], job["source"], name), []).append(job)

    def job_of(self, entry: Entry) -> BriefJob | None:
        """The job an entry means: the same id on the same place, handed in within a day of it where both
        say when; of several the nearest, the newest where nothing tells them apart."""
        same = self._jobs.get((entry.place, entry.kind, entry.base), [])
        near = [job for job in same if _apart(entry.submitted, job["submitted"]) <= DAY]
        return min(near, key=lambda job: _apart(entry.submitted, job["submitted"]), default=None)


class _Refused(UsageError):
    """A value of an entry that cannot be taken."""


class _Launched(_Refused):
    """An entry of a launcher's own kind, by the id that the launcher gave it."""

    def __init__(self, kind: str, given: object) -> None:
        super().__init__(f"jobs of type '{kind}' are not yet watched")
        self.kind, self.id = kind, plain(str(given), 80) if isinstance(given, (str, int)) else ""


def _checked(item: Item, places: HostNames) -> Entry:
    value = item.value
    if not isinstance(value, dict):
        raise _Refused("it is not an object with type, id and host")
    kind = value.get("type")
    if kind in _NOT_YET:
        raise _Launched(str(kind), value.get("id"))
    if kind not in kinds():
        raise _Refused(f"the type {_quoted(kind)} is not known; it can be {' or '.join(reversed(kinds()))}")
    host = value.get("host")
    place = places.place(host) if isinstance(host, str) else None
    if place is None:
        raise _Refused(f"the host {_quoted(host)} is not a configured host; `dogwatch host add NAME` adds one")
    text, base = _id(kind, value.get("id"))
    return Entry(
        kind=kind,
        id=text,
        base=base,
        place=scheduler_here(kind) if place == HERE and kind_of(kind).is_scheduler else place,
        user=_user(value.get("user")),
        submitted=_submitted(value.get("submitted")),
        description=_free(value.get("description"), "description") or "",
        owner=_free(value.get("owner"), "owner"),
    )


def _id(kind: str, given: object) -> tuple[str, str]:
    text = str(given) if isinstance(given, (str, int)) and not isinstance(given, bool) else ""
    base = kind_of(kind).registered_id(text)
    if base is None:
        raise _Refused(f"the id {_quoted(given)} is not {kind_of(kind).id_example}")
    return text, base


def _user(given: object) -> str | None:
    if given in (None, ""):
        return None
    if not isinstance(given, str) or _USER.fullmatch(given) is None:
        raise _Refused(f"the user {_quoted(given)} is not a user name")
    return given


def _submitted(given: object) -> float | None:
    """Local time, as agents write it; the day of tolerance when matching also covers another time zone."""
    if given in (None, ""):
        return None
    if isinstance(given, str) and len(given) <= 40:
        for form in _TIMES:
            with contextlib.suppress(ValueError, OverflowError):
                return time.mktime(time.strptime(given.strip().removesuffix("Z"), form))
    raise _Refused(f"submitted {_quoted(given)} is not a time such as 2026-11-15 20:00")


def _free(given: object, key: str) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str):
        raise _Refused(f"the {key} {_quoted(given)} is not text")
    return plain(" ".join(given[: 8 * NAME_LIMIT].split()), NAME_LIMIT) or None


def _forgotten(store: Store, entry: Entry) -> bool:
    """Whether somebody said that this very job is not to be watched (of a process, only its own ref can tell)."""
    for job in job_rows.documents(store, refs=[f"{entry.place}/{entry.kind}:{entry.base}"]):
        return _apart(entry.submitted, _unix(job["submitted"])) <= DAY
    return False


def _apart(one: float | None, other: float | None) -> float:
    return 0.0 if one is None or other is None else abs(one - other)


def _unix(stamp: str | None) -> float | None:
    return None if stamp is None else float(calendar.timegm(time.strptime(stamp[:19], "%Y-%m-%dT%H:%M:%S")))


def _called(item: Item) -> str:
    given = item.value.get("id") if isinstance(item.value, dict) else None
    return "" if given is None else f" ({_quoted(given)})"


def _quoted(value: object) -> str:
    return "(missing)" if value is None else f"'{plain(str(value)[:200], 60)}'"
