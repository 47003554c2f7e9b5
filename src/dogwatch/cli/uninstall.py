"""`dogwatch uninstall`: what stays when Dogwatch is removed, and the commands that remove each part."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from dogwatch.cli.out import emit, json_flag, say
from dogwatch.errors import FINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dogwatch.wire.documents.commands import UninstallDocument

ABOUT = "Show what remains when Dogwatch is removed, and the commands that remove it. Changes nothing."
EXAMPLES = ("dogwatch uninstall",)
DETAILS = "Jobs keep running without Dogwatch. Their exit codes are still recorded in the state directory."


def arguments(parser: ArgumentParser) -> None:
    json_flag(parser)


def run(args: Namespace) -> int:
    left = _left()
    if args.json:
        emit(left)
        return FINE
    for line in _lines(left):
        print(line)
    return FINE


def _left() -> UninstallDocument:
    import os

    from dogwatch import assemble, settings
    from dogwatch.actions import service
    from dogwatch.api.bundle import folder_size
    from dogwatch.errors import DogwatchError

    home, config = assemble.home_if_there(), settings.path(os.environ)
    left: UninstallDocument = {
        "running": [],
        "watcher_pid": None,
        "service": None,
        "home": home,
        "home_bytes": None if home is None else folder_size(home),
        "config": config if os.path.exists(config) else None,
        "command": _command(),
    }
    if home is None:
        return left
    try:
        timer = service.found(home)
        left["service"] = None if timer is None else timer.by
        left["running"], left["watcher_pid"] = _running()
    except DogwatchError as error:
        say(str(error))
    return left


def _running() -> tuple[list[str], int | None]:
    """The jobs that have not ended, and the process that watches."""
    from dogwatch import assemble
    from dogwatch.api import queries

    with assemble.store(readonly=True) as store:
        jobs = [job["ref"] for job in queries.brief(store) if job["state"] != "ended"]
        return jobs, queries.watching(store)["pid"]


def _command() -> str:
    """What removes the program: whichever of pip, pipx and uv made the environment it is in."""
    import os
    import shlex
    import sys

    parts = os.path.realpath(sys.prefix).split(os.sep)
    if "pipx" in parts:
        return "pipx uninstall dogwatch"
    if "uv" in parts and "tools" in parts:
        return "uv tool uninstall dogwatch"
    return f"{shlex.quote(sys.executable)} -m pip uninstall dogwatch"


def _lines(left: UninstallDocument) -> list[str]:
    import shlex

    from dogwatch.tui.words import size

    rows = []
    if left["service"] is not None:
        rows.append((f"a timer ({left['service']}) polls your jobs", "dogwatch service off"))
    if left["watcher_pid"] is not None:
        rows.append((f"a watcher is running, process {left['watcher_pid']}", f"kill {left['watcher_pid']}"))
    rows.append(("the program", left["command"]))
    if left["home"] is not None:
        what = f"jobs, history and exit codes, {size(left['home_bytes'] or 0)}"
        rows.append((what, f"rm -r {shlex.quote(left['home'])}"))
    if left["config"] is not None:
        rows.append(("your configuration", f"rm {shlex.quote(left['config'])}"))
    wide = max(len(what) for what, _ in rows)
    lines = ["Nothing was changed. To remove Dogwatch, run these in this order:"]
    lines += [f"  {what:<{wide}}  {command}" for what, command in rows]
    if count := len(left["running"]):
        jobs = f"{count} job is" if count == 1 else f"{count} jobs are"
        lines.append(f"{jobs} still running and will keep running, but not watched.")
    return lines
