"""Why a job waits, in plain words, and whether it can ever start as it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

_LONGEST = 200


class Chance(StrEnum):
    """Whether a waiting job will start: by itself, when somebody releases it, or never as it is."""

    WAITS = "waits"
    HELD = "held"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Pending:
    """What a pending reason means."""

    words: str
    chance: Chance = Chance.WAITS


_TABLE = {
    "None": "Slurm has not tried to schedule it yet",
    "Priority": "other jobs have a higher priority",
    "Resources": "it is next, as soon as the resources it asks for are free",
    "Dependency": "it waits for another job",
    "BeginTime": "its begin time has not come",
    "JobArrayTaskLimit": "as many tasks of its array run as its owner allowed at once",
    "Licenses": "it waits for a licence",
    "Reservation": "it waits for its reservation",
    "ReqNodeNotAvail": "a node that it asks for is not available",
    "NodeDown": "a node that it needs is down",
    "PartitionDown": "its partition is down; it starts when an administrator opens it",
    "PartitionInactive": "its partition is inactive; it starts when an administrator opens it",
    "Prolog": "its nodes are being made ready",
    "Cleaning": "Slurm is still cleaning up after its last run",
    "SchedDefer": "Slurm postponed scheduling it",
    "QOSUsageThreshold": "its QOS has used too much recently",
    "BurstBufferResources": "it waits for room in the burst buffer",
    "BurstBufferStageIn": "its files are being staged in",
    "BurstBufferOperation": "a burst buffer operation failed",
    "FedJobLock": "the federation has not decided which cluster runs it",
    "MaxPoweredUpNodes": "as many nodes are powered up as are allowed",
    "MpiPortsBusy": "it waits for free MPI ports",
    "NvidiaImexChannels": "it waits for free IMEX channels",
    "AccountingPolicy": "a limit of its account holds it back",
    "AssociationJobLimit": "as many jobs of its account run as are allowed at once",
    "AssociationResourceLimit": "its account uses as much as it is allowed at once",
    "AssociationTimeLimit": "its account has used up its time",
    "QOSJobLimit": "as many jobs of its QOS run as are allowed at once",
    "QOSResourceLimit": "its QOS uses as much as it is allowed at once",
    "QOSTimeLimit": "its QOS has used up its time",
}
_HELD = {
    "JobHeldUser": "held by its owner; it starts when somebody releases it",
    "JobHeldAdmin": "held by an administrator; it starts when an administrator releases it",
    "JobHoldMaxRequeue": "held because it was put back in the queue too often",
    "job requeued in held state": "put back in the queue and held; it starts when somebody releases it",
    "launch failed requeued held": "its launch failed, and Slurm put it back in the queue, held",
    "ReservationDeleted": "held because its reservation was deleted",
}
_NEVER = {
    "DependencyNeverSatisfied": "the job it depends on ended in a way that blocks this one forever",
    "PartitionNodeLimit": "it asks for more nodes than its partition allows",
    "PartitionTimeLimit": "it asks for more time than its partition allows",
    "PartitionConfig": "its partition does not offer what it asks for",
    "BadConstraints": "no node has what it asks for",
    "Constraints": "no node has what it asks for",
    "InvalidAccount": "its account is not valid",
    "InvalidQOS": "its QOS is not valid",
    "AccountNotAllowed": "its partition does not allow its account",
    "QOSNotAllowed": "its partition does not allow its QOS",
    "ReservationInvalid": "its reservation is not valid",
    "DeadLine": "its deadline cannot be met any more",
    "MaxMemPerLimit": "it asks for more memory than its partition allows",
}
_LIMIT = re.compile(
    r"(QOS|Assoc|)(Grp|Max|Min)(Cpu|CPU|Memory|Mem|Node|GRES|License|BB|Billing|Energy|Unknown|SubmitJobs?|Jobs?"
    r"|WallDuration|Wall)(Minutes|RunMinutes|RunMins)?(PerJob|PerNode|PerUser|PerAccount)?(?:Limit|NotSatisfied)?"
)
_THINGS = {
    "cpu": "CPUs",
    "mem": "memory",
    "memory": "memory",
    "node": "nodes",
    "gres": "GPUs or other devices",
    "license": "licences",
    "bb": "burst buffer",
    "billing": "billing units",
    "energy": "energy",
    "unknown": "of a resource",
    "job": "jobs",
    "jobs": "jobs",
    "submitjob": "submitted jobs",
    "submitjobs": "submitted jobs",
    "wall": "run time",
    "wallduration": "run time",
}


@lru_cache(1024)
def meaning(reason: str) -> Pending:
    """A reason as squeue prints it; one that nobody knows is kept as it is, and waits."""
    reason = reason.strip(" ()")[:_LONGEST]
    found = re.match(r"[A-Za-z]+", reason)
    name = found[0] if found else ""
    for key in (reason, name):
        if key in _TABLE:
            return Pending(_with_rest(_TABLE[key], reason, name))
        if key in _HELD:
            return Pending(_HELD[key], Chance.HELD)
        if key in _NEVER:
            return Pending(_NEVER[key], Chance.NEVER)
    limit = _LIMIT.fullmatch(name)
    if limit is not None:
        return _limit(*(part or "" for part in limit.groups()))
    if "held" in reason.lower().split():
        return Pending(reason, Chance.HELD)
    return Pending(reason or "Slurm gives no reason")


def _with_rest(words: str, reason: str, name: str) -> str:
    """The node names and such that follow the name of a reason."""
    rest = reason[len(name) :].strip(" ,:")
    return f"{words}: {rest}" if rest else words


def _limit(scope: str, kind: str, thing: str, budget: str, per: str) -> Pending:
    """The hundred limits of QOS and accounts, whose names are put together from the same parts."""
    whose = "its QOS" if scope == "QOS" else "its account"
    what = _THINGS[thing.lower()]
    if budget:
        what = f"{what} time" if "Run" not in budget else f"{what} time still to run"
    if kind == "Min":
        return Pending(f"it asks for less {what} than {whose} demands", Chance.NEVER)
    if kind == "Max" and (per in ("PerJob", "PerNode") or thing == "WallDuration"):
        each = "node" if per == "PerNode" else "job"
        return Pending(f"it asks for more {what} than {whose} allows for one {each}", Chance.NEVER)
    if kind == "Grp" and budget == "Minutes":
        return Pending(f"{whose} has used up its budget of {what}")
    if kind == "Grp":
        return Pending(f"all jobs of {whose} together have as many {what} as are allowed at once")
    who = "its account already has" if per == "PerAccount" else "its owner already has"
    return Pending(f"{who} as many {what} as {whose} allows at once")
