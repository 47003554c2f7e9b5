"""Traces: what tools that launch jobs leave on this machine, from which one can tell what was started lately.

Evaluations: NeMo Evaluator's execution log and run files, inspect-ai's log files. Launchers: NeMo-Run's job index,
which the Model-Optimizer launcher keeps too, and srtctl's outputs. One function per tool turns texts into Traces and is
pure; files are read at the bottom, each bounded. What cannot be understood is passed over: it is somebody else's.
"""

from __future__ import annotations

import calendar
import contextlib
import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dogwatch.text import plain

RECENT = 3 * 86400.0
MOST_BYTES, MOST_FILES, MOST_ENTRIES = 4 << 20, 100, 2000
EVALUATION, EXPERIMENT = "evaluation", "experiment"
_SLURM_ID = re.compile(r"[1-9][0-9]{0,9}")
_EXPERIMENT_ID = re.compile(r"(.+)_([0-9]{10,19})")
_INSPECT_LOG = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d[^_]*_(.{1,100})_([A-Za-z0-9]{16,32})\.(eval|json)")
_SLURM_JOB = re.compile(r"([0-9]+) = (.*)")


@dataclass(frozen=True, slots=True)
class Trace:
    """Something that was started. `host` is as the tool wrote it (None: this machine, or nobody says), `jobs` are ids
    of its scheduler there; `over` is whether files here show its end, None where they cannot."""

    kind: str
    tool: str
    id: str
    title: str
    at: float
    path: str
    host: str | None = None
    user: str | None = None
    jobs: tuple[str, ...] = ()
    over: bool | None = None
    scheduler: str = "slurm"  # the only one that these tools submit to


def evaluations(now: float, home: str, directory: str, environment: Mapping[str, str]) -> list[Trace]:
    """The evaluation runs of the last days, newest first."""
    database = environment.get("NEMO_EVALUATOR_EXEC_DB_FILE") or os.path.join(
        home, ".nemo-evaluator", "exec-db", "exec.v1.jsonl"
    )
    data = environment.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    logs = environment.get("INSPECT_LOG_DIR") or os.path.join(directory, "logs")
    found = [
        *nel_runs(_tail(database), database, os.path.lexists),
        *(
            trace
            for path, text in _each(os.path.join(data, "nel", "runs"), "nel_run.json")
            for trace in nel_run(text, path)
        ),
        *inspect_logs(_listed(logs), logs, _has_end),
    ]
    return _recent(found, now)


def experiments(now: float, home: str, directory: str, environment: Mapping[str, str]) -> list[Trace]:
    """The launcher experiments of the last days, newest first."""
    found: list[Trace] = []
    homes = (environment.get("NEMORUN_HOME"), os.path.join(home, ".nemo_run"), directory)
    for folder in dict.fromkeys(os.path.abspath(one) for one in homes if one):
        index = os.path.join(folder, ".slurm_jobs")
        found += nemo_run_jobs(_tail(index), index)
        local = os.path.join(folder, ".local_jobs.json")
        found += nemo_run_local(_text(local), local)
    outputs = os.path.join(directory, "outputs")
    for name, _ in _listed(outputs):
        if _SLURM_ID.fullmatch(name):
            path = os.path.join(outputs, name, f"{name}.json")
            found += srtctl_output(_text(path), path, _changed(path))
    return _recent(found, now)


def nel_runs(text: str, path: str, exists: Callable[[str], bool]) -> list[Trace]:
    """NeMo Evaluator launcher: one line per job, the last for each counts; jobs of one invocation are one run."""
    last = {job.job_id: job for job in map(_nel_job, text.splitlines()) if job is not None}
    runs: dict[str, list[_NelJob]] = {}
    for job in last.values():
        runs.setdefault(job.invocation_id, []).append(job)
    return [_nel_run(name, jobs, path, exists) for name, jobs in runs.items()]


class _NelJob(NamedTuple):
    """A line of the execution log, as far as it is used."""

    job_id: str
    invocation_id: str
    at: float
    task: str
    output_dir: str | None
    host: str | None
    user: str | None
    slurm_id: str | None


def _nel_job(line: str) -> _NelJob | None:
    row = _object(line)
    facts = _mapping(row.get("data"))
    job_id, invocation, folder = row.get("job_id"), row.get("invocation_id"), facts.get("output_dir")
    if not isinstance(job_id, str) or not isinstance(invocation, str):
        return None
    return _NelJob(
        job_id,
        invocation,
        _number(row.get("timestamp")),
        _nel_task(job_id, _mapping(_mapping(row.get("config")).get("evaluation")).get("tasks")),
        folder if isinstance(folder, str) else None,
        _word(facts.get("hostname")),
        _word(facts.get("username")),
        str(facts["slurm_job_id"]) if _is_id(facts.get("slurm_job_id")) else None,
    )


def _nel_run(name: str, jobs: list[_NelJob], path: str, exists: Callable[[str], bool]) -> Trace:
    ends = [_ended_here(job.output_dir, exists) for job in jobs if job.output_dir is not None]
    return Trace(
        EVALUATION,
        "nel",
        plain(name, 60),
        plain(", ".join(dict.fromkeys(job.task for job in jobs if job.task)) or name, 120),
        min(job.at for job in jobs),
        path,
        jobs[0].host,
        jobs[0].user,
        tuple(sorted({job.slurm_id for job in jobs if job.slurm_id is not None}, key=int)),
        all(ends) if ends and len(ends) == len(jobs) else None,
    )


def _nel_task(job_id: str, tasks: Any) -> str:
    """A job's task: the one of its configuration that the number after the dot of its id counts to."""
    at = job_id.rpartition(".")[2]
    if not isinstance(tasks, list) or not at.isdecimal() or int(at[:6]) >= len(tasks):
        return ""
    return str(_mapping(tasks[int(at[:6])]).get("name") or "")


def _ended_here(folder: str, exists: Callable[[str], bool]) -> bool:
    ends = ("logs/stage.exit", "artifacts/.nemo_evaluator_interrupted")
    return os.path.isabs(folder) and any(exists(os.path.join(folder, end)) for end in ends)


def nel_run(text: str, path: str) -> Iterator[Trace]:
    """NeMo Evaluator from 0.3 on: one file per run."""
    row = _object(text)
    details = _mapping(row.get("details"))
    at = _moment(row.get("started_at"))
    if not isinstance(row.get("run_id"), str) or at is None:
        return
    ids = [*(details.get("job_ids") or () if isinstance(details.get("job_ids"), list) else ()), details.get("job_id")]
    yield Trace(
        EVALUATION,
        "nel",
        plain(row["run_id"], 60),
        plain(str(row.get("config_summary") or row["run_id"]), 120),
        at,
        path,
        _word(details.get("hostname")),
        _word(details.get("username")),
        tuple(dict.fromkeys(str(one) for one in ids if _is_id(one))),
    )


def inspect_logs(
    listed: Iterable[tuple[str, float]], folder: str, has_end: Callable[[str], bool | None]
) -> list[Trace]:
    """inspect-ai: one log per task; it runs where it was started, so there is no job id."""
    found = []
    for name, changed in listed:
        match = _INSPECT_LOG.fullmatch(name)
        if match:
            path = os.path.join(folder, name)
            trace = Trace(EVALUATION, "inspect", match[2], plain(match[1], 120), changed, path)
            found.append(replace(trace, over=has_end(path)))
    return found


def nemo_run_jobs(text: str, path: str) -> list[Trace]:
    """NeMo-Run's `.slurm_jobs`: `ID = GLOB,LOCAL DIRECTORY,TUNNEL,{json}` (older lines have no glob); jobs of one
    experiment are one."""
    found: dict[str, Trace] = {}
    for line in text.splitlines():
        match = _SLURM_JOB.fullmatch(line.strip())
        if match is None or not _is_id(match[1]):
            continue
        before, brace, rest = match[2].partition(",{")
        tunnel = _object("{" + rest) if brace else {}
        experiment = _experiment_in(before)
        if experiment is None:
            continue
        name, title, at = experiment
        known = found.get(name) or Trace(EXPERIMENT, "nemo_run", name, title, at, path)
        host = known.host or _word(tunnel.get("host"))
        jobs = (*known.jobs, *([match[1]] if match[1] not in known.jobs else []))
        found[name] = replace(known, host=host, user=known.user or _word(tunnel.get("user")), jobs=jobs)
    return list(found.values())


def _experiment_in(text: str) -> tuple[str, str, float] | None:
    """The experiment's id, title and time (its digits are seconds or finer) in a path that goes through its folder."""
    for part in reversed(re.split(r"[/,]", text)):
        match = _EXPERIMENT_ID.fullmatch(part)
        if match:
            return plain(part, 80), plain(match[1], 80), float(match[2][:10])
    return None


def nemo_run_local(text: str, path: str) -> list[Trace]:
    """NeMo-Run's `.local_jobs.json`: {app: [state, …, directory, …]}."""
    found = []
    for app, row in _object(text).items():
        words = [word for word in row if isinstance(word, str)] if isinstance(row, list) else []
        experiment = next((one for word in words if (one := _experiment_in(word)) is not None), None)
        if words and experiment is not None:
            over = words[0] in ("SUCCEEDED", "FAILED", "CANCELLED")
            title = plain(f"{experiment[1]}: {app}", 120)
            found.append(Trace(EXPERIMENT, "nemo_run", experiment[0], title, experiment[2], path, over=over))
    return found


def srtctl_output(text: str, path: str, changed: float) -> Iterator[Trace]:
    """srtctl: outputs/ID/ID.json of a sweep, on the cluster it was started from."""
    row = _object(text)
    if _is_id(row.get("job_id")) and "job_name" in row:
        job = str(row["job_id"])
        yield Trace(EXPERIMENT, "srtctl", job, plain(str(row["job_name"]), 120), changed, path, jobs=(job,))


def _recent(found: Iterable[Trace], now: float) -> list[Trace]:
    near = [trace for trace in found if -RECENT <= trace.at - now <= 0 or 0 <= trace.at - now <= 3600.0]
    return sorted(near, key=lambda trace: -trace.at)


def _object(text: str) -> dict[str, Any]:
    try:
        return _mapping(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and 0 < value < 1e11 else 0.0


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and _SLURM_ID.fullmatch(str(value)) is not None


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value and value.isprintable() and len(value) <= 255 else None


def _moment(value: Any) -> float | None:
    """An ISO time with its offset, or in UTC without one."""
    if not isinstance(value, str):
        return None
    found = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?(Z|[+-]\d\d:\d\d)?", value)
    if found is None:
        return None
    zone = found[2] or "Z"
    minutes = 0 if zone == "Z" else (int(zone[1:3]) * 60 + int(zone[4:6])) * (-1 if zone[0] == "-" else 1)
    with contextlib.suppress(ValueError, OverflowError):
        return calendar.timegm(time.strptime(found[1], "%Y-%m-%dT%H:%M:%S")) - 60.0 * minutes
    return None


def _text(path: str) -> str:
    """A file that is whole and not too large, else nothing."""
    raw = _read(path, 0, MOST_BYTES + 1)
    return raw.decode("utf-8", "replace") if len(raw) <= MOST_BYTES else ""


def _tail(path: str) -> str:
    """The end of a file that only grows, from the first whole line on."""
    size = 0
    with contextlib.suppress(OSError):
        size = os.lstat(path).st_size
    at = max(0, size - MOST_BYTES)
    raw = _read(path, at, MOST_BYTES)
    return (raw.partition(b"\n")[2] if at else raw).decode("utf-8", "replace")


def _read(path: str, at: int, most: int) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return b""
        with contextlib.suppress(OSError):
            return os.pread(file.fileno(), most, at)
    return b""


def _listed(folder: str) -> list[tuple[str, float]]:
    """The names in a folder with when they changed, the newest of them, newest last."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for _, entry in zip(range(MOST_ENTRIES), entries, strict=False):
            with contextlib.suppress(OSError):
                found.append((entry.name, entry.stat(follow_symlinks=False).st_mtime))
    return sorted(found, key=lambda row: row[1])[-MOST_FILES:]


def _each(folder: str, name: str) -> Iterator[tuple[str, str]]:
    for inner, _ in _listed(folder):
        path = os.path.join(folder, inner, name)
        yield path, _text(path)


def _changed(path: str) -> float:
    with contextlib.suppress(OSError):
        return os.lstat(path).st_mtime
    return 0.0


def _has_end(path: str) -> bool | None:
    """Whether an inspect log is closed: its archive has a header, its JSON a status that is final."""
    if path.endswith(".json"):
        status = _object(_text(path)).get("status")
        return status in ("success", "cancelled", "error") if isinstance(status, str) else None
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return "header.json" in archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return None
