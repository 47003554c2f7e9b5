"""Watch one job that is described by a few values, a YAML file, or both: values go before the file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from dogwatch.api import alerts, commands
from dogwatch.api.expectations import Note, directory, not_too_long, positive
from dogwatch.clock import Clock
from dogwatch.config import JobFile, duration, growth, load_job_file
from dogwatch.errors import UsageError
from dogwatch.logs.default_errors import DEFAULT_ERRORS, PREFIX
from dogwatch.logs.user import compile_patterns
from dogwatch.model import Expectation
from dogwatch.store.interface import Store
from dogwatch.transport.interface import Transport

PIDS = "worker_pids.txt"
STALL_WARNING = 300.0  # seconds without progress that are worth a warning; how long is too long, only the job can tell
OUTPUTS, LOGS, CHECKPOINTS = "output_worker_*.json", "worker_*.log", "checkpoint_*"


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleJob:
    """What was said of the job; None where nothing was. Durations and rates are as people write them."""

    config: str | None = None
    job_name: str | None = None
    num_workers: int | None = None
    gpu_ids: Sequence[int | str] | None = None
    pid: Sequence[int] | None = None
    user: str | None = None
    output_dir: str | None = None
    log_dir: str | None = None
    checkpoint_dir: str | None = None
    total_items: int | None = None
    output_pattern: str | None = None
    log_pattern: str | None = None
    checkpoint_pattern: str | None = None
    launch_timeout: str | None = None
    stall_timeout: str | None = None
    min_growth: str | None = None
    alert_email: str | None = None
    alert_slack: str | None = None


def watch_single_job(
    store: Store, clock: Clock, transport: Transport, job: SingleJob, every: float | None, note: Note
) -> str:
    """Register the job; its ref."""
    file = load_job_file(job.config) if job.config is not None else JobFile("")
    name = job.job_name if job.job_name is not None else file.name
    if name is None and job.pid:
        name = f"pid-{job.pid[0]}"
    if name is None or not name.strip():
        raise UsageError("no job name; give --job-name NAME (or job.name in the --config file)")
    expect, log_dir = _expectation(job, file, every, note)
    gpus = job.gpu_ids if job.gpu_ids is not None else file.gpu_ids
    given = {"email": job.alert_email, "slack": job.alert_slack}
    flags = {kind: word for kind, word in given.items() if word is not None}
    alerts.for_job(store, clock, name, flags, file.channels)
    return commands.add_processes(
        store,
        clock,
        transport,
        pids=job.pid or (),
        pidfile=os.path.join(log_dir, PIDS) if log_dir is not None and not job.pid else None,
        match=None if job.pid else name,
        user=job.user,
        name=name,
        gpus=None if gpus is None else [str(gpu) for gpu in gpus],
        expect=expect,
        wait_for_them=not job.pid,
    )


def _expectation(job: SingleJob, file: JobFile, every: float | None, note: Note) -> tuple[Expectation, str | None]:
    """What the job should do, flags before file; and its log directory."""

    def chosen(flag: str, in_file: object) -> object:
        given = getattr(job, flag)
        return given if given is not None else in_file

    later = not job.pid
    output_dir = _directory(chosen("output_dir", file.output_dir), "--output-dir", later, note)
    log_dir = _directory(chosen("log_dir", file.log_dir), "--log-dir", later, note)
    checkpoint_dir = (
        _directory(chosen("checkpoint_dir", file.checkpoint_dir), "--checkpoint-dir", later, note) or output_dir
    )
    launch = job.launch_timeout
    stall, least = job.stall_timeout, job.min_growth
    stall_timeout = duration(stall, "--stall-timeout") if stall is not None else file.stall_timeout
    workers, items = (
        _number(chosen(*pair)) for pair in (("num_workers", file.workers), ("total_items", file.total_items))
    )
    progress, errors = file.progress_patterns or {}, file.error_patterns or ()
    if file.error_patterns != ():  # an empty list asks for none at all
        errors = (*errors, *((PREFIX + name, "warning") for name in DEFAULT_ERRORS))
    compile_patterns(progress, errors, file.path)
    return (
        Expectation(
            workers=positive(workers, "--num-workers"),
            logs=_glob(log_dir, chosen("log_pattern", file.log_pattern), LOGS, "--log-pattern"),
            outputs=_glob(output_dir, chosen("output_pattern", file.output_pattern), OUTPUTS, "--output-pattern"),
            checkpoints=_glob(
                checkpoint_dir,
                chosen("checkpoint_pattern", file.checkpoint_pattern),
                CHECKPOINTS,
                "--checkpoint-pattern",
            ),
            total_items=positive(items, "--total-items"),
            launch_timeout=duration(launch, "--launch-timeout") if launch is not None else file.launch_timeout or 60.0,
            min_growth=growth(least, "--min-growth") if least is not None else file.min_growth,
            stall_timeout=stall_timeout,
            stall_warning=None if stall_timeout is not None and stall_timeout <= STALL_WARNING else STALL_WARNING,
            check_interval=every if every is not None else file.check_interval,
            progress_patterns=progress,
            error_patterns=errors,
        ),
        log_dir,
    )


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _directory(path: object, flag: str, later: bool, note: Note) -> str | None:
    """Workers that are not there yet may make it `later`; where not even the one above it is, it is a slip."""
    if path is None:
        return None
    above = os.path.dirname(os.path.abspath(os.path.expanduser(str(path))))
    return directory(str(path), flag, later=later and os.path.isdir(above), note=note)


def _glob(folder: str | None, pattern: object, default: str, flag: str) -> tuple[str, ...]:
    if pattern is not None and folder is None:
        raise UsageError(f"{flag} is a pattern below a directory: say {flag.replace('pattern', 'dir')} too")
    if folder is None:
        return ()
    name = str(pattern) if pattern is not None else default
    if os.path.isabs(name) or ".." in name.split(os.sep) or "\0" in name:
        raise UsageError(f"{flag} is a pattern below its directory, not {name!r}")
    return (not_too_long(os.path.join(folder, name), flag),)
