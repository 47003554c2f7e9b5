"""The call: what is to be weighed, within how many seconds; the answer says what weighing cost."""

import time

from dogwatch.aboard.ram.steps import weigh_jobs
from dogwatch.aboard.ram.trees import weigh_trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def errand(call: "dict[str, Any]") -> "dict[str, Any]":
    """`pids` are roots of trees, `slurm` names jobs: {"ids", "many", "new", "about"}."""
    until, spent = time.monotonic() + float(call["seconds"]), time.process_time()
    answer = {}  # type: dict[str, Any]
    if call.get("pids"):
        answer["trees"] = weigh_trees(call["pids"], 0.5 * float(call["seconds"]))
    if call.get("slurm"):
        answer["slurm"] = weigh_jobs(call["slurm"], until)
    answer["cpu"] = round(time.process_time() - spent, 4)
    return answer
