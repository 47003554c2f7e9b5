"""What differs between a run that failed and the last run of the same name that succeeded: its command, its
environment, where it ran, and the settings in the heads of its logs; or between an attempt that failed and an earlier
attempt of the same job that came further or was ended by others."""

from __future__ import annotations

import difflib
import json
import os.path
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from dogwatch.api.head_lines import settings
from dogwatch.api.queries import real_folders
from dogwatch.model import Unreachable
from dogwatch.model.outcome import GOOD
from dogwatch.redaction import redacted
from dogwatch.store.interface import Store
from dogwatch.store.rows import jobs as job_rows
from dogwatch.text import plain
from dogwatch.transport.interface import Transport
from dogwatch.wire.answer import Rows
from dogwatch.wire.json_value import JsonObject
from dogwatch.wire.sections import Texts

if TYPE_CHECKING:
    from dogwatch.wire.documents.diagnosis import ChangedDocument, DifferenceDocument
    from dogwatch.wire.documents.job import AttemptDocument, JobDocument

MOST = 16
MOST_HEADS = 2
HEAD_BYTES = 32 << 10
SPEC_BYTES = 256 << 10
MOST_NAMESAKES = 64
# What ends an attempt without any fault of its own.
_BY_OTHERS = frozenset(("requeued", "preempted", "node_failed", "timed_out", "cancelled", *GOOD))
_OF_A_RUN = re.compile(r"/worker-\d{1,5}\.log$")
_SECRET = re.compile(r"key|token|secret|passw|auth|cred|cookie", re.IGNORECASE)


class RunSpec(TypedDict, total=False):
    """How a run was started, as its supervisor wrote it; the file is the run's own and may hold anything."""

    argv: list[str]
    cwd: str
    program: str
    gpus: list[str]
    workers: int
    env: dict[str, str]


def last_good(store: Store, job: JobDocument) -> JobDocument | None:
    """The newest job of the same name that succeeded before this one ended."""
    refs = [ref for ref in job_rows.resolve(store, job["name"]) if ref != job["ref"]][:MOST_NAMESAKES]
    if not refs or not job["name"]:
        return None
    good = [
        one
        for one in job_rows.documents(store, everything=True, refs=refs)
        if one["name"] == job["name"] and one["outcome"] in GOOD and one["source"] == job["source"]
        if (one["since"] or "") <= (job["since"] or "")
    ]
    return max(good, key=lambda one: one["since"] or "", default=None)


def better_attempt(job: JobDocument) -> AttemptDocument | None:
    """The newest earlier attempt of the same job that came further than the last one, or ran until others ended it."""
    history, progress = job.get("history"), job.get("progress")
    if not history or history[-1]["attempt"] != job["attempts"]:
        return None
    reached = (progress["step"] if progress else None) or 0
    return next(
        (one for one in reversed(history[:-1]) if one["how"] in _BY_OTHERS or (one["reached"] or 0) > reached), None
    )


def compare_attempts(
    transport: Transport | None, job: JobDocument, good: AttemptDocument, deadline: float
) -> ChangedDocument:
    """What changed since that attempt; of their logs, where both still hold what each said when it began."""
    last = job["history"][-1]
    found = [*_scheduler_settings(good, last)]
    both = [path for path in last["logs"] if path in good["logs"] and good["logs"][path] != last["logs"][path]]
    if transport is not None:
        for path in both[:MOST_HEADS]:
            old, new = (_part(transport, job, path, one["logs"][path], deadline) for one in (good, last))
            found += _set_otherwise(old, new, path, set(), counted=False)
    since = f"attempt {good['attempt']}"
    return {
        "since": since,
        "ended": good["ended"],
        "how": good["how"],
        "reached": good["reached"],
        "changes": found[:MOST],
    }


def _scheduler_settings(before: AttemptDocument, now: AttemptDocument) -> Iterator[DifferenceDocument]:
    for what, old, new in (
        ("node", before["nodes"], now["nodes"]),
        ("partition", before["partition"], now["partition"]),
        ("time limit (s)", before["limit_seconds"], now["limit_seconds"]),
    ):
        if old != new:
            yield _change(what, "", old, new)


def _part(transport: Transport, job: JobDocument, path: str, offset: int, deadline: float) -> str:
    """What a log says from an offset on."""
    spec: JsonObject = {"globs": [], "known": {path: offset}, "max": HEAD_BYTES, "real": real_folders(job)}
    answer = transport.ask({"texts": {"part": spec}}, deadline)
    if isinstance(answer, Unreachable):
        return ""
    return _texts(answer.checked.texts).get(path, "")


def _texts(section: Rows[Texts]) -> dict[str, str]:
    """The texts by path, of all rows of a section."""
    return {
        path: file.text.encode("latin-1", "replace").decode("utf-8", "replace")
        for row in section.rows.values()
        for path, file in row.files.items()
    }


def ask(transport: Transport, job: JobDocument, good: JobDocument, deadline: float) -> dict[str, str]:
    """The papers of both runs by path: how each was started, and the heads of its logs. Nothing where they cannot be
    had, or lie in another place."""
    if job["place"] != good["place"]:
        return {}
    specs = {spec: None for one in (job, good) if (spec := _spec_path(one))}
    heads = {path: 0 for one in (job, good) for path in _log_paths(one)}
    real = {"real": {**real_folders(good), **real_folders(job)}}
    wanted: dict[str, JsonObject] = {}
    if specs:
        wanted["specs"] = {"globs": [], "known": specs, "max": SPEC_BYTES, **real}
    if heads:
        wanted["heads"] = {"globs": [], "known": heads, "max": HEAD_BYTES, **real}
    answer = transport.ask({"texts": wanted}, deadline) if wanted else None
    if answer is None or isinstance(answer, Unreachable):
        return {}
    return _texts(answer.checked.texts)


def compare(job: JobDocument, good: JobDocument, papers: Mapping[str, str]) -> ChangedDocument:
    """What changed since the good run, the likeliest to matter first."""
    found = [*_how_started(_spec(good, papers), _spec(job, papers)), *_where(good, job), *_said(good, job, papers)]
    return {"since": good["ref"], "ended": good["since"], "changes": found[:MOST]}


def _how_started(before: RunSpec | None, now: RunSpec | None) -> Iterator[DifferenceDocument]:
    if before is None or now is None:
        return
    if before.get("argv") != now.get("argv"):
        yield _change("command", "", *_different_words(before.get("argv") or (), now.get("argv") or ()))
    for what, was, is_now in (
        ("directory", before.get("cwd"), now.get("cwd")),
        ("program", before.get("program"), now.get("program")),
        ("gpus", before.get("gpus"), now.get("gpus")),
        ("workers", before.get("workers"), now.get("workers")),
    ):
        if was != is_now:
            yield _change(what, "", was, is_now)
    old, new = before.get("env") or {}, now.get("env") or {}
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            hidden = _SECRET.search(name) is not None
            shown = ("…" if name in old else None, "…" if name in new else None)
            yield _change("environment", name, *(shown if hidden else (old.get(name), new.get(name))))


def _where(before: JobDocument, now: JobDocument) -> Iterator[DifferenceDocument]:
    for what, old, new in (("place", before["place"], now["place"]), ("node", before["nodes"], now["nodes"])):
        if old != new:
            yield _change(what, "", old, new)


def _said(before: JobDocument, now: JobDocument, papers: Mapping[str, str]) -> Iterator[DifferenceDocument]:
    """What the heads of their logs, log by log, set to another value."""
    told: set[str] = set()
    for old_path, new_path in zip(_log_paths(before), _log_paths(now), strict=False):
        yield from _set_otherwise(papers.get(old_path, ""), papers.get(new_path, ""), new_path, told)


def _set_otherwise(
    before: str, now: str, path: str, told: set[str], counted: bool = True
) -> Iterator[DifferenceDocument]:
    """What one text sets to another value than the other; its line only where lines were `counted` from the top."""
    old, new = settings(before), settings(now)
    for name in [name for name in new if name in old and new[name][0] != old[name][0] and name not in told]:
        told.add(name)
        values = ("…", "…") if _SECRET.search(name) is not None else (old[name][0], new[name][0])
        line = new[name][1] if counted else None
        yield {**_change("log", name, *values), "file": plain(path, 400), "line": line}


def _change(what: str, name: str, before: object, now: object) -> DifferenceDocument:
    return {"what": what, "name": plain(name, 100), "before": _shown(before), "now": _shown(now)}


def _shown(value: object) -> str | None:
    return None if value is None else redacted(plain(str(value), 300))


def _different_words(before: Sequence[str], now: Sequence[str]) -> tuple[str, str]:
    """The parts of two commands that differ, each with the word before it."""
    old, new = [str(word) for word in before][:2000], [str(word) for word in now][:2000]
    parts: tuple[list[str], list[str]] = ([], [])
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            parts[0].append(shlex.join(old[max(0, a - 1) : b]))
            parts[1].append(shlex.join(new[max(0, c - 1) : d]))
    return " … ".join(parts[0]), " … ".join(parts[1])


def _spec(job: JobDocument, papers: Mapping[str, str]) -> RunSpec | None:
    path = _spec_path(job)
    try:
        spec: Any = json.loads(papers.get(path or "", ""))
    except ValueError:
        spec = None
    return spec if isinstance(spec, dict) else None  # type: ignore[return-value]  # read key by key


def _spec_path(job: JobDocument) -> str | None:
    """Where the supervisor of a run has written how it was started."""
    logs = job["expect"]["logs"]
    return os.path.join(os.path.dirname(logs[0]), "spec.json") if logs and _OF_A_RUN.search(logs[0]) else None


def _log_paths(job: JobDocument) -> list[str]:
    """Its first logs, by their plain paths."""
    logs = [*(job["expect"]["logs"]), *(job.get("logs") or ()), job.get("stdout")]
    return [path for path in dict.fromkeys(logs) if path and not re.search(r"[*?\[]", path)][:MOST_HEADS]
