"""`dogwatch preflight`: is the place ready for the job?"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from dogwatch.cli.out import HOST, emit, json_flag, lay_out, say
from dogwatch.errors import UsageError

if TYPE_CHECKING:
    from argparse import _ArgumentGroup
    from collections.abc import Mapping

    from dogwatch.api.preflight import Line
    from dogwatch.api.preflight.plan import Plan
    from dogwatch.clock import Clock
    from dogwatch.config import JobFile

ABOUT = "Check a machine before a job starts: GPUs, memory, disk, Python packages, inputs, network. Nothing is started."
EXAMPLES = (
    "dogwatch preflight job.yaml",
    "dogwatch preflight --host gpubox --gpu-ids 0 1 --require torch --output-dir /data/out -- python -u train.py",
)
DETAILS = """\
CONFIG is the file that `dogwatch watch --config` takes, with a section `preflight:` (docs/preflight.md). The command \
line wins over the file. A host is asked once, over one ssh connection."""
EXIT_CODES = {
    0: "no check failed (there may be warnings)",
    1: "a check failed",
    2: "wrong usage",
    3: "the host is unreachable",
}
TAKES_COMMAND = True


def arguments(parser: ArgumentParser) -> None:
    parser.usage = "dogwatch preflight [CONFIG] [OPTIONS] [-- PROGRAM [ARG...]]"
    parser.add_argument("config", nargs="?", metavar="CONFIG", help="YAML file of the job")
    parser.add_argument("--host", metavar="HOST", help=HOST)
    parser.add_argument("--cwd", metavar="DIR", help="directory to start in (default: the current one; home on a host)")
    parser.add_argument("--most", default="30s", metavar="TIME", help="longest time for all checks")
    json_flag(parser)
    gpus = parser.add_argument_group("Workers and GPUs")
    gpus.add_argument("--workers", type=int, metavar="N", help="number of workers")
    gpus.add_argument("--gpu-ids", nargs="+", metavar="ID", help="GPUs that must exist and be free, one per worker")
    gpus.add_argument("--gpu-memory", metavar="SIZE", help="free memory that each GPU needs, e.g. 40GB")
    gpus.add_argument("--batch-size", type=int, metavar="N", help="items in a batch, with --memory-per-item")
    gpus.add_argument("--memory-per-item", metavar="SIZE", help="GPU memory that one item needs")
    files = parser.add_argument_group("Files")
    _several(files, "--inputs", "PATH", "files, directories or patterns that the job reads")
    files.add_argument("--output-dir", metavar="DIR", help="directory for outputs; must be empty without --resume")
    files.add_argument("--log-dir", metavar="DIR", help="directory for logs")
    files.add_argument("--checkpoint-dir", metavar="DIR", help="directory for checkpoints")
    files.add_argument(
        "--checkpoint-every", metavar="N|TIME", help="how often the job saves, if its command does not show it"
    )
    files.add_argument("--resume", action="store_true", default=None, help="the job resumes from a checkpoint")
    program = parser.add_argument_group("Program")
    _several(program, "--require", "MODULE", "Python packages that must be installed")
    program.add_argument("--try-import", action="store_true", default=None, help="really import them; takes longer")
    _several(program, "--env", "NAME[=VALUE]", "variables that must be set, or are set for the job")
    _several(program, "--network", "HOST:PORT", "addresses that must be reachable")
    _several(program, "--signal", "NAME", "signals that the program must handle, e.g. USR1")
    program.add_argument("--core-dumps", choices=("on", "off"), help="whether a crash must leave a core dump")
    program.add_argument("--slurm", metavar="SCRIPT", help="batch script on that host, for `sbatch --test-only`")


def _several(parser: _ArgumentGroup, flag: str, metavar: str, text: str) -> None:
    parser.add_argument(flag, action="extend", nargs="+", metavar=metavar, help=f"{text} (repeatable)")


def run(args: Namespace) -> int:
    import os

    from dogwatch.api import preflight
    from dogwatch.clock import Clock
    from dogwatch.config import JobFile, duration, load_job_file
    from dogwatch.text import plain

    file = load_job_file(args.config) if args.config is not None else JobFile("")
    host = args.host if args.host is not None else file.preflight.host
    seconds = duration(args.most, "--most")
    if not 2 <= seconds <= 1800:
        raise UsageError(f"--most takes a time from 2s to 30m, not {args.most}")
    plan = _plan(args, file, host)
    if args.config is None and not plan.command.words and plan.slurm is None:
        raise UsageError("nothing to check; give CONFIG, a program after --, or --slurm SCRIPT")
    clock = Clock()
    lines, unreachable = _examine(host, plan, seconds, None if host else dict(os.environ), clock)
    lines += _channels(file)
    where = host or "here"
    if args.json:
        emit(preflight.document(where, lines, unreachable))
    else:
        lay_out([row for line in lines for row in line.rows()])
    if unreachable is not None:
        say(f"{where} is unreachable: {plain(unreachable, 300)}")
    return preflight.exit_code(lines, unreachable)


def _examine(
    host: str | None, plan: Plan, seconds: float, environment: Mapping[str, str] | None, clock: Clock
) -> tuple[list[Line], str | None]:
    from dataclasses import replace

    from dogwatch import assemble
    from dogwatch.api import box_profiles, hosts, preflight

    if host is None:
        transport: Any = assemble.here(clock)
    else:
        with assemble.store(readonly=True) as store:
            place = hosts.find(store, host)
        plan = replace(plan, profile=box_profiles.of(place))
        transport = hosts.transport(place, clock)
    try:
        return preflight.examine(transport, plan, seconds, environment)
    finally:
        transport.close()


def _plan(args: Namespace, file: JobFile, host: str | None) -> Plan:
    """What flags and file say together; flags win."""
    import os
    import shlex

    from dogwatch.api.expectations import positive
    from dogwatch.api.preflight.plan import Plan, signal_name, size_of, target, understood

    in_file = file.preflight

    def chosen(given: Any, otherwise: Any) -> Any:
        return given if given is not None else otherwise

    command = args.command or in_file.command or ()
    words = list(command)
    if len(words) == 1 and not args.command:  # a line of text in the file
        words = shlex.split(words[0])
    sizes = {
        key: None if (text := chosen(getattr(args, key), getattr(in_file, key))) is None else size_of(text, flag)
        for key, flag in (("gpu_memory", "--gpu-memory"), ("memory_per_item", "--memory-per-item"))
    }
    variables = tuple(args.env or ()) + tuple(in_file.variables or ())
    core = in_file.core_dumps if args.core_dumps is None else args.core_dumps == "on"
    gpus = chosen(args.gpu_ids, file.gpu_ids)
    cwd = chosen(args.cwd, in_file.cwd)
    return Plan(
        command=understood(words),
        cwd=os.path.abspath(os.path.expanduser(cwd or ".")) if host is None else cwd,
        workers=positive(chosen(args.workers, file.workers), "--workers"),
        gpu_ids=None if gpus is None else tuple(map(str, gpus)),
        gpu_memory=sizes["gpu_memory"],
        batch_size=positive(chosen(args.batch_size, in_file.batch_size), "--batch-size"),
        memory_per_item=sizes["memory_per_item"],
        inputs=tuple(args.inputs or in_file.inputs or ()),
        output_dir=chosen(args.output_dir, file.output_dir),
        log_dir=chosen(args.log_dir, file.log_dir),
        checkpoint_dir=chosen(args.checkpoint_dir, file.checkpoint_dir),
        log_pattern=file.log_pattern or "worker_*.log",
        checkpoint_pattern=file.checkpoint_pattern or "checkpoint*",
        checkpoint_every=chosen(args.checkpoint_every, in_file.checkpoint_every),
        resume=bool(chosen(args.resume, in_file.resume)),
        packages=tuple(args.require or in_file.packages or ()),
        try_import=bool(chosen(args.try_import, in_file.try_import)),
        environment=in_file.environment,
        variables=tuple(word for word in variables if "=" not in word),
        set=dict(word.split("=", 1) for word in variables if "=" in word),
        network=tuple(target(word, "--network") for word in args.network or in_file.network or ()),
        core_dumps=core,
        signals=tuple(signal_name(word, "--signal") for word in args.signal or in_file.signals or ()),
        slurm=chosen(args.slurm, in_file.slurm),
        progress_patterns=file.progress_patterns or {},
        error_patterns=file.error_patterns or (),
        source=file.path,
    )


def _channels(file: JobFile) -> list[Line]:
    """The channels of the store and of the files; a store that is not there yet has none."""
    from dogwatch import assemble
    from dogwatch.api import preflight
    from dogwatch.api.preflight import channels
    from dogwatch.errors import DogwatchError
    from dogwatch.settings import Settings

    configured, wrong = Settings(), []
    try:
        configured = assemble.settings()
    except DogwatchError as error:
        wrong = [preflight.Line(preflight.FAIL, "alerts", str(error), "correct the configuration file")]
    listed = channels.listed(assemble.known_channels(), configured.channels, file)
    return wrong + list(channels.judge(listed, configured.accounts))
