"""From a call to everything that was found, each question with its own time."""

import os
import time

from dogwatch.aboard.preflight.apart import side_by_side
from dogwatch.aboard.preflight.machine import look_at_gpus, look_at_limits, look_at_network
from dogwatch.aboard.preflight.places import look_at_checkpoints, look_at_directory, look_at_inputs, look_at_logs
from dogwatch.aboard.preflight.program import look_at_program
from dogwatch.aboard.preflight.slurm import look_at_slurm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHORT, MARGIN = 10.0, 1.0


def errand(call: "dict[str, Any]") -> "dict[str, Any]":
    """What a request asks. Paths are made absolute against `cwd`, which is the home directory unless it is said."""
    began = time.monotonic()
    seconds = float(call["seconds"])
    env = dict(call["env"] if call.get("env") is not None else dict(os.environ))
    env.update(call.get("set") or {})
    cwd = call.get("cwd") or os.path.expanduser("~")
    short, long = min(SHORT, seconds), seconds

    def at(path: str) -> str:
        return os.path.normpath(os.path.join(cwd, os.path.expanduser(path)))

    questions: "dict[str, Any]" = {
        "program": (lambda: look_at_program(call, env, cwd, long - MARGIN), long),
        "limits": (lambda: look_at_limits(call.get("signals") or []), short),
    }
    if call.get("gpus"):
        questions["gpus"] = (lambda: look_at_gpus(env, short - MARGIN), short)
    for path in call.get("directories") or []:
        questions["directory:" + path] = (lambda path=path: look_at_directory(at(path)), short)
    for path in call.get("inputs") or []:
        questions["inputs:" + path] = (lambda path=path: look_at_inputs(at(path), long - 2 * MARGIN), long)
    for target in call.get("network") or []:
        host, _, port = target.rpartition(":")
        bare = host.strip("[]")
        questions["network:" + target] = (
            lambda bare=bare, port=port: look_at_network(bare, int(port), short - MARGIN),
            short,
        )
    if call.get("logs"):
        questions["logs"] = (lambda: look_at_logs(at(call["logs"])), short)
    if call.get("checkpoints"):
        questions["checkpoints"] = (lambda: look_at_checkpoints(at(call["checkpoints"]), long - 2 * MARGIN), long)
    if call.get("slurm"):
        questions["slurm"] = (lambda: look_at_slurm(at(call["slurm"]), env, cwd, long - MARGIN), long)
    found = side_by_side(questions, began + seconds)
    variables = {name: bool(env.get(name)) for name in call.get("variables") or []}
    shown = {name: env.get(name) for name in call.get("shown") or []}
    return {"found": found, "variables": variables, "shown": shown, "cwd": cwd, "there": os.path.isdir(cwd)}
