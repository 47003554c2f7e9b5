"""The call: what is to be weighed, within how many seconds; the answer says what weighing cost."""

import time
from typing import Any

from dogwatch.remote.memory.steps import weigh_jobs
from dogwatch.remote.memory.trees import weigh_trees


def extra_probe(call: "dict[str, Any]") -> "dict[str, Any]":
    """`pids` are roots of trees, `slurm` names jobs: {"ids", "many", "new", "about"}."""
    until, spent = time.monotonic() + float(call["seconds"]), time.process_time()
    answer = {}  # type: dict[str, Any]
    if call.get("pids"):
        answer["trees"] = weigh_trees(call["pids"], 0.5 * float(call["seconds"]))
    if call.get("slurm"):
        answer["slurm"] = weigh_jobs(call["slurm"], until)
    answer["cpu"] = round(time.process_time() - spent, 4)
    return answer
