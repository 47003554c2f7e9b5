"""What the probe is to run: squeue, sacct and scontrol as data for the commands section, and what came of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from dogwatch.digest import key_of
from dogwatch.sources.slurm import accounting, queue, words
from dogwatch.text import plain
from dogwatch.wire.commands import OWN_PATH, Command, CommandsSection, FollowUp, Ran, Rows

QUEUE, ACCOUNTING, CONFIG = "slurm.queue", "slurm.accounting", "slurm.config"
_REQUEUE, _SCRIPT = "slurm.requeue", "slurm.script"
SCRIPT_BYTES = 256 << 10
PATH = [
    OWN_PATH,
    *("/usr/bin", "/usr/local/bin", "/bin", "/opt/slurm/bin", "/opt/slurm/current/bin", "/opt/slurm/default/bin"),
    *("/usr/local/slurm/bin", "/usr/slurm/bin", "/cm/shared/apps/slurm/current/bin"),
]
# SLURM_BITSTR_LEN: the task list of an array, whole instead of its first 64 characters.
ENVIRONMENT = {"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"}
# What would change the shape of an answer; SLURM_CONF and the like say which cluster and stay.
UNSET = [
    *("SQUEUE_*", "SACCT_*", "SCONTROL_*", "SSTAT_*"),
    *("SLURM_CLUSTERS", "SLURM_JSON", "SLURM_YAML", "SLURM_DEBUG_FLAGS", "SLURM_FEDERATION"),
]
_CONFIG = re.compile(r"^(ClusterName|SLURM_VERSION)[ \t]*=[ \t]*(\S+)", re.MULTILINE)
_MAY_REQUEUE = re.compile(r" Requeue=([01]) Restarts=[0-9]+ BatchFlag=")


class Cluster(NamedTuple):
    """What the controller says of itself."""

    name: str | None = None
    version: str | None = None


def poll(users: Sequence[str], ids: Sequence[str], history: Sequence[str], since: int, at: float) -> dict[str, Command]:
    """One squeue for all jobs, one sacct for what it leaves open, and of jobs that were preempted whether Slurm may put
    them back in the queue."""
    mark = key_of(repr((at, ids)))[:8]
    rows = Rows(ids=list(ids), separator=queue.SEPARATOR, mark=mark, mark_at=queue.COLUMNS["mark"], **_COLUMNS)
    asked = {
        QUEUE: _command("squeue", queue.argv(users, ids, mark), 30.0, rows=rows, answers=[words.INVALID_ID]),
    }
    if ids:
        preempted = FollowUp(of=QUEUE, states=["PREEMPTED", "PR"], listed=True, each=True)
        asked[_REQUEUE] = _command(
            "scontrol", ["show", "job", "-o", "{id}"], 10.0, bytes=SCRIPT_BYTES, follow_up=preempted
        )
        # What the accounting says of an ending is void as long as the queue may list the job as running.
        left_open = FollowUp(of=QUEUE, states=list(words.ACTIVE), always=list(history))
        arguments = accounting.argv(["{ids}"], since, mark)
        asked[ACCOUNTING] = _command(
            "sacct", arguments, 40.0, after=QUEUE, follow_up=left_open, users_after="CANCELLED by "
        )
    return asked


def about(after: str | None = None) -> dict[str, Command]:
    """Which cluster this is, and its version; `after` a command that has to answer first."""
    return {CONFIG: _command("scontrol", ["show", "config"], 10.0, after=after)}


def script(job_id: str) -> dict[str, Command]:
    """A job's batch script as the controller keeps it."""
    arguments = ["write", "batch_script", job_id, "-"]
    return {f"{_SCRIPT}.{job_id}": _command("scontrol", arguments, 10.0, bytes=SCRIPT_BYTES, after=QUEUE)}


def scripts(section: CommandsSection) -> dict[str, Ran]:
    """The batch scripts that came, by job id."""
    beginning = f"{_SCRIPT}."
    return {name[len(beginning) :]: run for name, run in section.ran.items() if name.startswith(beginning)}


def requeues(section: CommandsSection) -> dict[str, bool]:
    """Of jobs that were preempted, by their id, whether Slurm may put them back in the queue: only the controller says
    so."""
    beginning = f"{_REQUEUE}."
    answers = {
        name[len(beginning) :]: _MAY_REQUEUE.findall(run.out)
        for name, run in section.ran.items()
        if name.startswith(beginning) and run.rc == 0
    }
    return {job_id: said[-1] == "1" for job_id, said in answers.items() if said}


def cluster(section: CommandsSection) -> Cluster:
    """Name and version, where the answer has them."""
    run = section.ran.get(CONFIG)
    lines = dict(_CONFIG.findall(run.out)) if run is not None else {}
    name, version = (lines.get(key) for key in ("ClusterName", "SLURM_VERSION"))
    return Cluster(None if name is None else plain(name, 200), None if version is None else plain(version, 60))


_COLUMNS = {name: queue.COLUMNS[name] for name in ("id", "state")}


def _command(program: str, arguments: Sequence[str], seconds: float, **more: Any) -> Command:
    argv = [program, *arguments]
    return Command(argv=argv, seconds=seconds, path=PATH, environment=ENVIRONMENT, unset=UNSET, **more)
