"""From a call to everything that was found, each question with its own time."""

import os
import time
from collections.abc import Callable
from functools import partial

from dogwatch.remote.preflight.directories import inspect_checkpoints, inspect_directory, inspect_inputs, inspect_logs
from dogwatch.remote.preflight.machine import inspect_gpus, inspect_limits, inspect_network
from dogwatch.remote.preflight.program import inspect_program
from dogwatch.remote.preflight.side_by_side import side_by_side
from dogwatch.remote.preflight.slurm import inspect_slurm
from dogwatch.remote.shapes import Preflight, PreflightCall

SHORT, MARGIN = 10.0, 1.0


def extra_probe(call: "PreflightCall") -> "Preflight":
    """What a request asks. Paths are made absolute against `cwd`, which is the home directory unless it is said."""
    began = time.monotonic()
    seconds, given = call["seconds"], call.get("env")
    env = dict(os.environ if given is None else given)
    env.update(call.get("set") or {})
    cwd = call.get("cwd") or os.path.expanduser("~")
    short, long = min(SHORT, seconds), seconds

    def at(path: str) -> str:
        return os.path.normpath(os.path.join(cwd, os.path.expanduser(path)))

    questions: "dict[str, tuple[Callable[[], object], float]]" = {
        "program": (partial(inspect_program, call, env, cwd, long - MARGIN), long),
        "limits": (partial(inspect_limits, call.get("signals") or []), short),
    }
    if call.get("gpus"):
        questions["gpus"] = (partial(inspect_gpus, env, short - MARGIN), short)
    for path in call.get("directories") or []:
        questions["directory:" + path] = (partial(inspect_directory, at(path)), short)
    for path in call.get("inputs") or []:
        questions["inputs:" + path] = (partial(inspect_inputs, at(path), long - 2 * MARGIN), long)
    for target in call.get("network") or []:
        host, _, port = target.rpartition(":")
        questions["network:" + target] = (partial(inspect_network, host.strip("[]"), int(port), short - MARGIN), short)
    if call.get("logs"):
        questions["logs"] = (partial(inspect_logs, at(call["logs"])), short)
    if call.get("checkpoints"):
        questions["checkpoints"] = (partial(inspect_checkpoints, at(call["checkpoints"]), long - 2 * MARGIN), long)
    if call.get("slurm"):
        questions["slurm"] = (partial(inspect_slurm, at(call["slurm"]), env, cwd, long - MARGIN), long)
    found = side_by_side(questions, began + seconds)
    variables = {name: bool(env.get(name)) for name in call.get("variables") or []}
    shown = {name: env.get(name) for name in call.get("shown") or []}
    return {"found": found, "variables": variables, "shown": shown, "cwd": cwd, "there": os.path.isdir(cwd)}
