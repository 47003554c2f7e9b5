"""Bundle: everything that helps to find out why a job failed, in one private directory, without its secrets.

Made from the store and one question to the place. When that does not answer, what is missing is said in the bundle
itself; a directory gets its name only when it is whole.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from dogwatch import __version__
from dogwatch.api import queries, report
from dogwatch.clock import stamp
from dogwatch.errors import UsageError
from dogwatch.model import Unreachable
from dogwatch.redaction import redacted_document, redacted_lines
from dogwatch.store.interface import Store
from dogwatch.text import plain
from dogwatch.transport.interface import Answer, Transport
from dogwatch.transport.log_tails import BYTES, LINES, tails

if TYPE_CHECKING:
    from dogwatch.wire.answer import CheckedAnswer
    from dogwatch.wire.documents.job import JobDocument
    from dogwatch.wire.json_value import JsonObject, JsonValue
    from dogwatch.wire.sections import Disk, Files

MOST_EVENTS, MOST_FILES = 5_000, 2_000
LINE_CHARACTERS = 4_000
HERE_DEADLINE, FAR_DEADLINE = 10.0, 30.0
# Of those that are made without being asked for.
KEPT, KEPT_BYTES, KEPT_SECONDS = 20, 200 << 20, 30 * 24 * 3600.0
DRAFT = ".draft-"
NAME = "dogwatch-"

README = """\
A diagnostics bundle of {ref}, made {at} by Dogwatch {version}.

  README.txt      this
  report.json     the job from its beginning to its end: times, figures, incidents, diagnosis, final verification
  job.json        everything known of the job, its state and the evidence of it, its workers
  events.jsonl    its history, one event to a line, oldest first (the newest {events})
  readings.jsonl  measurements, one per line: step, rate, memory, GPUs, output
  logs/           the last {lines} lines of each log, at most {bytes} bytes of each
  files.json      its outputs and checkpoints with size and time of change, and the disks they are on
  versions.json   of Dogwatch, Python and the systems here and where the job lives

The documents are described in docs/json.md. What looks like a secret (a token, a password, a private key) was
replaced by [redacted]; read it through before you pass it on, because no program knows every secret.

Missing: {missing}
"""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a place said of a job: the end of each log, its files and their disks."""

    logs: Mapping[str, bytes] = field(default_factory=dict)
    files: Files | None = None
    disks: Mapping[str, Disk] | None = None


@dataclass(slots=True)
class Bundle:
    """A directory that was made, and what it lacks, a sentence each."""

    path: str
    missing: list[str] = field(default_factory=list)


def make(
    store: Store, ref: str, folder: str, answer: Answer | Unreachable | None, now: float, price: float | None = None
) -> Bundle:
    """A bundle of a job in a new directory in `folder`, with what its place answered to `ask_place`; without that, of
    what the store knows."""
    job = queries.documents(store, [ref])[0]
    whole = report.document(store, ref, now, price)
    events = queries.events(store, limit=MOST_EVENTS, ref=ref)
    found, facts, missing = _read(answer, job)
    name = _name(ref) + time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    draft = _fresh(folder, f"{DRAFT}{name}")
    try:
        logs = {path: _lines(text) for path, text in found.logs.items()}
        for number, (path, lines) in enumerate(sorted(logs.items()), 1):
            _write(draft, f"logs/{number:02}-{_plain_name(path)}", [f"# {plain(path, 1000)}", *lines])
        _write(draft, "report.json", _json(whole))
        _write(draft, "job.json", _json(job))
        _write(draft, "events.jsonl", map(_line, events))
        _write(draft, "readings.jsonl", map(_line, whole["readings"]))
        _write(draft, "files.json", _json(to_builtins({"files": found.files, "disks": found.disks})))
        _write(draft, "versions.json", _json(_versions(facts)))
        said = "; ".join(missing) or "nothing"
        told = {"ref": plain(ref, 200), "at": stamp(now), "version": __version__, "missing": plain(said, 2000)}
        told |= {"events": f"{MOST_EVENTS:,}", "lines": str(LINES), "bytes": f"{BYTES:,}"}
        _write(draft, "README.txt", [README.format(**told).rstrip("\n")])
        path = _named(draft, os.path.join(folder, name))
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        raise UsageError(f"the bundle cannot be written to {folder}: {error.strerror}") from None
    return Bundle(path, missing)


def sweep(folder: str, now: float) -> None:
    """Let the oldest bundles go, and what kills left behind; nothing that is not ours."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    ours = [os.path.join(folder, name) for name in names if name.startswith((NAME, DRAFT + NAME))]
    rows = sorted(((_age(path, now), path) for path in ours), key=lambda row: row[0])
    size = count = 0
    for age, path in rows:
        draft = os.path.basename(path).startswith(DRAFT)
        size += folder_size(path)
        count += not draft
        if count > KEPT or size > KEPT_BYTES or age > KEPT_SECONDS or (draft and age > 3600):
            shutil.rmtree(path, ignore_errors=True)


def newest(folder: str, ref: str) -> str | None:
    """The newest bundle of a job in a folder."""
    try:
        found = [name for name in os.listdir(folder) if name.startswith(_name(ref))]
    except OSError:
        return None
    return os.path.join(folder, max(found)) if found else None


def ask_place(transport: Transport, store: Store, ref: str) -> Answer | Unreachable:
    """Logs, files and disks of a job in one question."""
    job = queries.documents(store, [ref])[0]
    return transport.ask(_request(job), HERE_DEADLINE if job["place"] == "here" else FAR_DEADLINE)


def _request(job: JobDocument) -> JsonObject:
    globs, outputs, checkpoints = _patterns(job)
    real = queries.real_folders(job)
    files: JsonObject = {"outputs": outputs, "checkpoints": checkpoints, "cap": MOST_FILES, "real": real}
    disks = sorted({os.path.dirname(one.partition("*")[0]) or "/" for one in (*globs, *outputs, *checkpoints)})[:16]
    request: dict[str, JsonValue] = {"disks": disks}
    if globs:
        request["texts"] = {"log": {**tails(globs), "real": real}}
    if outputs or checkpoints:
        request["files"] = {"job": files}
    return request


def _patterns(job: JobDocument) -> tuple[list[str], list[str], list[str]]:
    """Where its logs, outputs and checkpoints lie."""
    expect = job["expect"]
    return list(expect["logs"]) or list(job["logs"]), list(expect["outputs"]), list(expect["checkpoints"])


def _read(answer: Answer | Unreachable | None, job: JobDocument) -> tuple[Gathered, CheckedAnswer | None, list[str]]:
    """What the place said; what could not be had, in words."""
    if answer is None:
        return Gathered(), None, ["logs and files: the host was not asked"]
    if isinstance(answer, Unreachable):
        return Gathered(), None, [f"logs and files: {job['place']} did not answer: {answer.why}"]
    request, globs = _request(job), _patterns(job)[0]
    checked = answer.checked
    texts, files, disks = checked.texts, checked.files, checked.disks
    missing = [] if globs else ["logs: none known"]
    for name, ok, why in (
        ("texts", texts.ok, texts.why),
        ("files", files.ok, files.why),
        ("disks", disks is not None and disks.ok, "" if disks is None else disks.why),
    ):
        if name in request and not ok:
            missing.append(f"{name}: {why or 'no answer'}")
    logs = texts.rows.get("log")
    if logs is not None:
        missing += [f"{path}: {why}" for path, why in logs.unreadable.items()]
        missing += [f"{path}: there is no such file" for path in logs.missing]
    found = Gathered(
        {} if logs is None else {path: row.text.encode("latin-1", "replace") for path, row in logs.files.items()},
        files.rows.get("job"),
        None if disks is None else disks.disks,
    )
    return found, checked, missing


def _lines(text: bytes) -> list[str]:
    """The end of a log as harmless lines without secrets."""
    shown = text.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return redacted_lines([plain(line, LINE_CHARACTERS) for line in shown[-LINES - 1 :]])


def _versions(answer: CheckedAnswer | None) -> JsonObject:
    own = {"dogwatch": __version__, "python": platform.python_version(), "system": platform.platform()}
    if answer is None:
        return {**own, "place": None}
    place = {"host": answer.host, "python": answer.python, "boot": answer.boot, "clock": to_builtins(answer.clock)}
    return {**own, "place": place}


def _line(document: Any) -> str:
    return json.dumps(redacted_document(document), ensure_ascii=True, separators=(",", ":"))


def _json(document: Any) -> list[str]:
    return [json.dumps(redacted_document(document), ensure_ascii=True, indent=1)]


def _name(ref: str) -> str:
    return f"{NAME}{_plain_name(ref.replace('/', '_'))}-"


def _plain_name(path: str) -> str:
    """The last part of a path as a file name that can do no harm."""
    base = re.sub(r"[^A-Za-z0-9._-]{1,1000}", "_", path.rstrip("/").rpartition("/")[2][:200]).lstrip(".-")
    return base[-80:] or "job"


def _fresh(folder: str, name: str) -> str:
    """A new directory of ours alone, in a folder that is made if only it is missing."""
    path = os.path.join(folder, name)
    try:
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o700)
        while True:
            try:
                os.mkdir(path, 0o700)
                break
            except FileExistsError:
                path += "+"
        os.mkdir(os.path.join(path, "logs"), 0o700)
    except OSError as error:
        raise UsageError(f"the bundle cannot be written to {folder}: {error.strerror}") from None
    return path


def _write(folder: str, name: str, lines: Iterable[str]) -> None:
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(os.path.join(folder, name), flags, 0o600), "w", encoding="utf-8", errors="replace") as file:
        for line in lines:
            file.write(line + "\n")


def _named(draft: str, path: str) -> str:
    while os.path.lexists(path):
        path += "+"
    os.rename(draft, path)
    return path


def _age(path: str, now: float) -> float:
    try:
        return now - os.stat(path, follow_symlinks=False).st_mtime
    except OSError:
        return float("inf")


def folder_size(path: str) -> int:
    """The bytes of all files in a folder and below it."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue
    return total
