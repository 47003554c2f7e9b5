"""`dogwatch preflight`: is the place ready for the job?"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from dogwatch.cli.out import emit, json_flag, lay_out, say
from dogwatch.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dogwatch.api.preflight import Line
    from dogwatch.api.preflight.plan import Plan
    from dogwatch.clock import Clock
    from dogwatch.config import JobFile

HELP = "go through a checklist where a job will run, before it is started"
EXAMPLES = (
    "dogwatch preflight job.yaml",
    "dogwatch preflight --host gpubox --gpu-ids 0 1 --require torch --output-dir /data/out -- python -u train.py",
)
EPILOG = """\
CONFIG is the YAML file of the job, as `dogwatch watch --config` takes it, with a section `preflight:`; flags win over
it (docs/preflight.md). One round trip, nothing is started or left there, and no alert is sent.

exit codes: 0 nothing fails (there may be warnings), 1 something fails, 2 usage, 3 the place could not be asked"""
TAKES_COMMAND = True


def arguments(parser: ArgumentParser) -> None:
    parser.usage = "dogwatch preflight [CONFIG] [OPTIONS] [-- CMD...]"
    parser.add_argument("config", nargs="?", metavar="CONFIG", help="the YAML file of the job")
    parser.add_argument("--host", metavar="NAME", help="where it will run, of `dogwatch host ls` (default: here)")
    parser.add_argument("--cwd", metavar="DIR", help="where it will start (default: here, or the home directory there)")
    parser.add_argument("--workers", type=int, metavar="N", help="how many workers there will be")
    parser.add_argument("--gpu-ids", nargs="+", metavar="ID", help="the GPUs it will use: there, free, one per worker")
    parser.add_argument("--gpu-memory", metavar="SIZE", help="what each GPU must have free, as in 40GB")
    parser.add_argument("--batch-size", type=int, metavar="N", help="items of a batch, each of --memory-per-item")
    parser.add_argument("--memory-per-item", metavar="SIZE", help="GPU memory that an item of a batch takes")
    _several(parser, "--inputs", "PATH", "files, directories or patterns that it will read")
    parser.add_argument("--output-dir", metavar="DIR", help="where it writes; must be empty unless --resume")
    parser.add_argument("--log-dir", metavar="DIR", help="where its logs go")
    parser.add_argument("--checkpoint-dir", metavar="DIR", help="where its checkpoints go")
    parser.add_argument("--checkpoint-every", metavar="N|TIME", help="how often it saves, if its command does not say")
    parser.add_argument("--resume", action="store_true", default=None, help="it goes on from an earlier checkpoint")
    _several(parser, "--require", "MODULE", "packages that its Python must find")
    parser.add_argument("--try-import", action="store_true", default=None, help="import them really; takes longer")
    _several(parser, "--env", "NAME[=VALUE]", "variables that must be set, or that it will be started with")
    _several(parser, "--network", "HOST:PORT", "what it must reach")
    parser.add_argument("--core-dumps", choices=("on", "off"), help="what it must be able to leave when it crashes")
    _several(parser, "--signal", "NAME", "signals that it must handle, as in USR1")
    parser.add_argument("--slurm", metavar="SCRIPT", help="a batch script on that host, for `sbatch --test-only`")
    parser.add_argument("--most", default="30s", metavar="TIME", help="how long the questions may take (default: 30s)")
    json_flag(parser)


def _several(parser: ArgumentParser, flag: str, metavar: str, text: str) -> None:
    parser.add_argument(flag, action="extend", nargs="+", metavar=metavar, help=f"{text} (repeatable)")


def run(args: Namespace) -> int:
    import os

    from dogwatch.api import preflight
    from dogwatch.clock import Clock
    from dogwatch.config import JobFile, duration, load_job_file
    from dogwatch.text import plain

    file = load_job_file(args.config) if args.config is not None else JobFile("")
    host = args.host if args.host is not None else (file.preflight or {}).get("host")
    seconds = duration(args.most, "--most")
    if not 2 <= seconds <= 1800:
        raise UsageError(f"--most takes a time from 2s to 30m, not {args.most}")
    plan = _plan(args, file, host)
    if args.config is None and not plan.command.words and plan.slurm is None:
        raise UsageError("what will be started? name its CONFIG, put the command after --, or say --slurm SCRIPT")
    clock = Clock()
    lines, unreachable = _examine(host, plan, seconds, None if host else dict(os.environ), clock)
    lines += _channels(file)
    where = host or "here"
    if args.json:
        emit(preflight.document(where, lines, unreachable))
    else:
        lay_out([row for line in lines for row in line.rows()])
    if unreachable is not None:
        say(f"{where} could not be asked: {plain(unreachable, 300)}")
    return preflight.exit_code(lines, unreachable)


def _examine(
    host: str | None, plan: Plan, seconds: float, environment: Mapping[str, str] | None, clock: Clock
) -> tuple[list[Line], str | None]:
    from dogwatch import assemble
    from dogwatch.api import hosts, preflight

    if host is None:
        transport: Any = assemble.here(clock)
    else:
        with assemble.store(readonly=True) as store:
            transport = hosts.transport(hosts.find(store, host), clock)
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

    told = dict(file.preflight or {})

    def chosen(given: Any, in_file: Any) -> Any:
        return given if given is not None else in_file

    command = args.command or told.get("command") or ()
    words = list(command)
    if len(words) == 1 and not args.command:  # a line of text in the file
        words = shlex.split(words[0])
    sizes = {
        key: None if (text := chosen(getattr(args, key), told.get(key))) is None else size_of(text, flag)
        for key, flag in (("gpu_memory", "--gpu-memory"), ("memory_per_item", "--memory-per-item"))
    }
    variables = tuple(args.env or ()) + tuple(told.get("variables") or ())
    core = told.get("core_dumps") if args.core_dumps is None else args.core_dumps == "on"
    gpus = chosen(args.gpu_ids, file.gpu_ids)
    cwd = chosen(args.cwd, told.get("cwd"))
    return Plan(
        command=understood(words),
        cwd=os.path.abspath(os.path.expanduser(cwd or ".")) if host is None else cwd,
        workers=positive(chosen(args.workers, file.workers), "--workers"),
        gpu_ids=None if gpus is None else tuple(map(str, gpus)),
        gpu_memory=sizes["gpu_memory"],
        batch_size=positive(chosen(args.batch_size, told.get("batch_size")), "--batch-size"),
        memory_per_item=sizes["memory_per_item"],
        inputs=tuple(args.inputs or told.get("inputs") or ()),
        output_dir=chosen(args.output_dir, file.output_dir),
        log_dir=chosen(args.log_dir, file.log_dir),
        checkpoint_dir=chosen(args.checkpoint_dir, file.checkpoint_dir),
        log_pattern=file.log_pattern or "worker_*.log",
        checkpoint_pattern=file.checkpoint_pattern or "checkpoint*",
        checkpoint_every=chosen(args.checkpoint_every, told.get("checkpoint_every")),
        resume=bool(chosen(args.resume, told.get("resume"))),
        packages=tuple(args.require or told.get("packages") or ()),
        try_import=bool(chosen(args.try_import, told.get("try_import"))),
        environment=told.get("environment"),
        variables=tuple(word for word in variables if "=" not in word),
        set=dict(word.split("=", 1) for word in variables if "=" in word),
        network=tuple(target(word, "--network") for word in args.network or told.get("network") or ()),
        core_dumps=core,
        signals=tuple(signal_name(word, "--signal") for word in args.signal or told.get("signals") or ()),
        slurm=chosen(args.slurm, told.get("slurm")),
        progress_patterns=file.progress_patterns or {},
        error_patterns=file.error_patterns or (),
        source=file.path,
    )


def _channels(file: JobFile) -> list[Line]:
    """The channels of the store and of the files; a store that is not there yet has none."""
    from dogwatch import assemble
    from dogwatch.api import alerts, preflight
    from dogwatch.api.preflight import channels
    from dogwatch.errors import DogwatchError
    from dogwatch.settings import Channel

    rows: dict[str, Any] = {}
    accounts: Mapping[str, Any] = {}
    wrong = []
    try:
        told = assemble.settings()
        accounts = told.accounts
        rows = {channel.name: channel for channel in told.channels}
    except DogwatchError as error:
        wrong = [preflight.Line(preflight.FAIL, "alerts", str(error), "correct the configuration file")]
    rows = assemble.known_channels() | rows
    for kind, settings in file.channels.items():
        name = f"{file.name}-{kind}"
        rows[name] = Channel(name, kind, {**settings, alerts.OUTSIDE: True}, {})
    return wrong + list(channels.judge(list(rows.values()), accounts))
