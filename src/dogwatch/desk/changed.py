"""Changed: what is different between a run that failed and the last one of the same name that succeeded: its command,
its environment, where it ran, and what it said of itself when it started; or between an attempt that failed and the
last one of the same job that came further or was ended by others."""

from __future__ import annotations

import difflib
import json
import os.path
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dogwatch.desk.head_lines import settings
from dogwatch.model import Dark
from dogwatch.model.outcome import GOOD
from dogwatch.reach.interface import Reach
from dogwatch.redaction import redacted
from dogwatch.store import jobs as job_rows
from dogwatch.store.database import Store
from dogwatch.text import plain

MOST = 16
MOST_HEADS = 2
HEAD_BYTES = 32 << 10
SPEC_BYTES = 256 << 10
MOST_NAMESAKES = 64
# What ends an attempt without any fault of its own.
_BY_OTHERS = frozenset(("requeued", "preempted", "node_failed", "timed_out", "cancelled", *GOOD))
_OF_A_RUN = re.compile(r"/worker-\d{1,5}\.log$")
_SECRET = re.compile(r"key|token|secret|passw|auth|cred|cookie", re.IGNORECASE)
Document = Mapping[str, Any]


def last_good(store: Store, job: Document) -> Document | None:
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


def better_attempt(job: Document) -> Document | None:
    """The newest earlier attempt of the same job that came further than the last one, or ran until others ended it."""
    *earlier, last = job.get("history") or [None]
    if last is None or last["attempt"] != job["attempts"]:
        return None
    reached = (job.get("progress") or {}).get("step") or 0
    return next((one for one in reversed(earlier) if one["how"] in _BY_OTHERS or (one["reached"] or 0) > reached), None)


def compare_attempts(reach: Reach | None, job: Document, good: Document, deadline: float) -> dict[str, Any]:
    """What changed since that attempt; of their logs, where both still hold what each said when it began."""
    last = job["history"][-1]
    found = [*_settings_of_slurm(good, last)]
    both = [path for path in last["logs"] if path in good["logs"] and good["logs"][path] != last["logs"][path]]
    if reach is not None:
        for path in both[:MOST_HEADS]:
            old, new = (_part(reach, path, one["logs"][path], deadline) for one in (good, last))
            found += _set_otherwise(old, new, path, set(), counted=False)
    since = f"attempt {good['attempt']}"
    return {
        "since": since,
        "ended": good["ended"],
        "how": good["how"],
        "reached": good["reached"],
        "changes": found[:MOST],
    }


def _settings_of_slurm(before: Document, now: Document) -> Iterator[dict[str, Any]]:
    for what, key in (("node", "nodes"), ("partition", "partition"), ("time limit (s)", "limit_seconds")):
        if before.get(key) != now.get(key):
            yield _change(what, "", before.get(key), now.get(key))


def _part(reach: Reach, path: str, offset: int, deadline: float) -> str:
    """What a log says from an offset on."""
    answer = reach.ask({"texts": {"part": {"globs": [], "known": {path: offset}, "max": HEAD_BYTES}}}, deadline)
    if isinstance(answer, Dark):
        return ""
    files = ((answer.body.get("texts") or {}).get("part") or {}).get("files") or {}
    return str((files.get(path) or {}).get("text") or "").encode("latin-1", "replace").decode("utf-8", "replace")


def ask(reach: Reach, job: Document, good: Document, deadline: float) -> dict[str, str]:
    """The papers of both runs by path: how each was started, and the heads of its logs. Nothing where they cannot be
    had, or lie in another place."""
    if job["place"] != good["place"]:
        return {}
    specs = {spec: None for one in (job, good) if (spec := _spec_path(one))}
    heads = {path: 0 for one in (job, good) for path in _log_paths(one)}
    wanted: dict[str, Any] = {}
    if specs:
        wanted["specs"] = {"globs": [], "known": specs, "max": SPEC_BYTES}
    if heads:
        wanted["heads"] = {"globs": [], "known": heads, "max": HEAD_BYTES}
    answer = reach.ask({"texts": wanted}, deadline) if wanted else None
    if answer is None or isinstance(answer, Dark):
        return {}
    section: Mapping[str, Any] = answer.body.get("texts") or {}
    parts = [section[name]["files"] for name in wanted if isinstance(section.get(name), dict)]
    return {
        path: entry["text"].encode("latin-1", "replace").decode("utf-8", "replace")
        for files in parts
        for path, entry in files.items()
    }


def compare(job: Document, good: Document, papers: Mapping[str, str]) -> dict[str, Any]:
    """What changed since the good run, the likeliest to matter first."""
    found = [*_how_started(_spec(good, papers), _spec(job, papers)), *_where(good, job), *_said(good, job, papers)]
    return {"since": good["ref"], "ended": good["since"], "changes": found[:MOST]}


def _how_started(before: Document, now: Document) -> Iterator[dict[str, Any]]:
    if not before or not now:
        return
    if before.get("argv") != now.get("argv"):
        yield _change("command", "", *_different_words(before.get("argv") or (), now.get("argv") or ()))
    for what, key in (("directory", "cwd"), ("program", "program"), ("gpus", "gpus"), ("workers", "workers")):
        if before.get(key) != now.get(key):
            yield _change(what, "", before.get(key), now.get(key))
    old, new = before.get("env") or {}, now.get("env") or {}
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            hidden = _SECRET.search(name) is not None
            shown = ("…" if name in old else None, "…" if name in new else None)
            yield _change("environment", name, *(shown if hidden else (old.get(name), new.get(name))))


def _where(before: Document, now: Document) -> Iterator[dict[str, Any]]:
    for what in ("place", "nodes"):
        if before.get(what) != now.get(what):
            yield _change("node" if what == "nodes" else what, "", before.get(what), now.get(what))


def _said(before: Document, now: Document, papers: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """What the heads of their logs, log by log, set to another value."""
    told: set[str] = set()
    for old_path, new_path in zip(_log_paths(before), _log_paths(now), strict=False):
        yield from _set_otherwise(papers.get(old_path, ""), papers.get(new_path, ""), new_path, told)


def _set_otherwise(before: str, now: str, path: str, told: set[str], counted: bool = True) -> Iterator[dict[str, Any]]:
    """What one text sets to another value than the other; its line only where lines were `counted` from the top."""
    old, new = settings(before), settings(now)
    for name in [name for name in new if name in old and new[name][0] != old[name][0] and name not in told]:
        told.add(name)
        values = ("…", "…") if _SECRET.search(name) is not None else (old[name][0], new[name][0])
        where = {"file": plain(path, 400), "line": new[name][1] if counted else None}
        yield _change("log", name, *values) | where


def _change(what: str, name: str, before: Any, now: Any) -> dict[str, Any]:
    return {"what": what, "name": plain(name, 100), "before": _shown(before), "now": _shown(now)}


def _shown(value: Any) -> str | None:
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


def _spec(job: Document, papers: Mapping[str, str]) -> Document:
    path = _spec_path(job)
    try:
        spec = json.loads(papers.get(path or "", ""))
    except ValueError:
        return {}
    return spec if isinstance(spec, dict) else {}


def _spec_path(job: Document) -> str | None:
    """Where the keeper of a run has written how it was started."""
    logs = (job.get("expect") or {}).get("logs") or ()
    return os.path.join(os.path.dirname(logs[0]), "spec.json") if logs and _OF_A_RUN.search(logs[0]) else None


def _log_paths(job: Document) -> list[str]:
    """Its first logs, by their plain paths."""
    logs = [*((job.get("expect") or {}).get("logs") or ()), *(job.get("logs") or ()), job.get("stdout")]
    return [path for path in dict.fromkeys(logs) if path and not re.search(r"[*?\[]", path)][:MOST_HEADS]
