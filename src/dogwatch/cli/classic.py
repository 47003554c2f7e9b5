"""Classic: one job described by flags or a YAML file, turned into a registration."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

from dogwatch import assemble
from dogwatch.cli.expect import directory, positive
from dogwatch.clock import Clock
from dogwatch.config import JobFile, duration, growth, load_job_file
from dogwatch.desk import alerts, tell
from dogwatch.errors import UsageError
from dogwatch.logs.default_errors import DEFAULT_ERRORS, PREFIX
from dogwatch.logs.user import compile_patterns
from dogwatch.model import Expectation

if TYPE_CHECKING:
    from dogwatch.assemble import Store

FLAGS = (
    *(
        "config",
        "job_name",
        "num_workers",
        "gpu_ids",
        "pid",
        "user",
        "output_dir",
        "log_dir",
        "checkpoint_dir",
        "total_items",
    ),
    *("output_pattern", "log_pattern", "checkpoint_pattern", "launch_timeout", "stall_timeout", "min_growth"),
    *("alert_email", "alert_slack"),
)
PIDS = "worker_pids.txt"
STALL_WARNING = 300.0  # seconds without progress that are worth a warning; how long is too long, only the job can tell
OUTPUTS, LOGS, CHECKPOINTS = "output_worker_*.json", "worker_*.log", "checkpoint_*"


def is_classic(args: Namespace) -> bool:
    return any(getattr(args, flag) is not None for flag in FLAGS)


def attach(args: Namespace, store: Store, clock: Clock, every: float | None) -> str:
    """Register the job that the flags and the file describe; its ref."""
    file = load_job_file(args.config) if args.config is not None else JobFile("")
    name = args.job_name if args.job_name is not None else file.name
    if name is None and args.pid:
        name = f"pid-{args.pid[0]}"
    if name is None or not name.strip():
        raise UsageError("which job? say --job-name NAME (or job.name in the --config file)")
    expect, log_dir = _expectation(args, file, every)
    gpus = args.gpu_ids if args.gpu_ids is not None else file.gpu_ids
    email = {"to": args.alert_email} if args.alert_email is not None else file.email
    slack = args.alert_slack if args.alert_slack is not None else file.slack
    given = {"email": args.alert_email, "slack": args.alert_slack}
    alerts.for_job(store, clock, name, email, slack, from_file=[kind for kind in given if given[kind] is None])
    reach = assemble.here(clock)
    try:
        return tell.add_processes(
            store,
            clock,
            reach,
            pids=args.pid or (),
            pidfile=os.path.join(log_dir, PIDS) if log_dir is not None and not args.pid else None,
            match=None if args.pid else name,
            user=args.user,
            name=name,
            gpus=None if gpus is None else [str(gpu) for gpu in gpus],
            expect=expect,
            wait_for_them=not args.pid,
        )
    finally:
        reach.close()


def _expectation(args: Namespace, file: JobFile, every: float | None) -> tuple[Expectation, str | None]:
    """What the job should do, flags before file; and its log directory."""

    def chosen(flag: str, in_file: object) -> object:
        given = getattr(args, flag)
        return given if given is not None else in_file

    later = not args.pid
    output_dir = _directory(chosen("output_dir", file.output_dir), "--output-dir", later)
    log_dir = _directory(chosen("log_dir", file.log_dir), "--log-dir", later)
    checkpoint_dir = _directory(chosen("checkpoint_dir", file.checkpoint_dir), "--checkpoint-dir", later) or output_dir
    launch = args.launch_timeout
    stall, least = args.stall_timeout, args.min_growth
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


def _directory(path: object, flag: str, later: bool) -> str | None:
    """Workers that are not there yet may make it `later`; where not even the one above it is, it is a slip."""
    if path is None:
        return None
    above = os.path.dirname(os.path.abspath(os.path.expanduser(str(path))))
    return directory(str(path), flag, later=later and os.path.isdir(above))


def _glob(folder: str | None, pattern: object, default: str, flag: str) -> tuple[str, ...]:
    if pattern is not None and folder is None:
        raise UsageError(f"{flag} is a pattern below a directory: say {flag.replace('pattern', 'dir')} too")
    if folder is None:
        return ()
    name = str(pattern) if pattern is not None else default
    if os.path.isabs(name) or ".." in name.split(os.sep) or "\0" in name:
        raise UsageError(f"{flag} is a pattern below its directory, not {name!r}")
    return (os.path.join(folder, name),)
