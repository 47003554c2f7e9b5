"""The call: what is to be weighed, within how many seconds; the answer says what weighing cost."""

import time

from dogwatch.remote.memory.steps import weigh_jobs
from dogwatch.remote.memory.trees import weigh_trees
from dogwatch.remote.shapes import Ram, RamCall


def extra_probe(call: "RamCall") -> "Ram":
    """`pids` are roots of trees, `slurm` names jobs."""
    until, spent = time.monotonic() + call["seconds"], time.process_time()
    answer: "Ram" = {"cpu": 0.0}
    if call.get("pids"):
        answer["trees"] = weigh_trees(call["pids"], 0.5 * call["seconds"])
    if call.get("slurm"):
        answer["slurm"] = weigh_jobs(call["slurm"], until)
    answer["cpu"] = round(time.process_time() - spent, 4)
    return answer
