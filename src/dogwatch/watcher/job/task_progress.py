"""How far an array is: tasks that ended, those that run by their own logs, and those that have not started."""

from __future__ import annotations

from collections.abc import Mapping

from dogwatch.model import Step, Tasks
from dogwatch.watcher.job.read_files import worker_of

UNIT = "tasks"
NOT_OVER = ("waiting", "running", "missing")


def of_tasks(tasks: Tasks, steps: Mapping[str, Step]) -> Step | None:
    """The tasks of an array as one counter; None for the parts of a heterogeneous job, which are one piece of work.
    While tasks are left, one that ended is done, however it ended; at the end only those that succeeded are."""
    if not tasks.is_array:
        return None
    left = sum(tasks.states.get(word, 0) for word in NOT_OVER)
    if not left:
        return Step(float(tasks.states.get("succeeded", 0)), float(tasks.count), UNIT)
    over = tasks.count - left
    return Step(over + _under_way(tasks, steps, over), float(tasks.count), UNIT)


def _under_way(tasks: Tasks, steps: Mapping[str, Step], over: int) -> float:
    """The parts that running tasks have done. A log is a task's by the last number in its name; where no log is told
    apart like that, by what all logs together have counted beyond the tasks that ended."""
    running = tasks.states.get("running", 0)
    parts = {path: min(1.0, step.done / step.total) for path, step in steps.items() if step.total}
    ids = {task.id for task in tasks.rows if task.state == "running"}
    ours: dict[str, float] = {}
    for path, part in parts.items():
        if (task := str(worker_of(path, {}))) in ids:
            ours[task] = max(part, ours.get(task, 0.0))
    done = sum(ours.values()) if ours else max(0.0, sum(parts.values()) - over)
    return round(min(done, running), 4)
