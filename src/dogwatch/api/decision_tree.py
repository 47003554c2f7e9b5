"""The decision tree for a job that has not ended. Questions are asked of the job's own document, one after the other,
up to the first answer that explains why the job does not run as it should."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dogwatch.api import stacks
from dogwatch.sources import kind_of
from dogwatch.text import is_suspended, plain

if TYPE_CHECKING:
    from dogwatch.wire.documents.artifacts import OutputDocument
    from dogwatch.wire.documents.case import Case
    from dogwatch.wire.documents.diagnosis import DiagnosisDocument, QuestionDocument, StackDocument, StandingDocument
    from dogwatch.wire.documents.job import FindingDocument
    from dogwatch.wire.documents.machine import WorkerDocument

BUSY, ASLEEP = 30.0, 2.0  # per cent of one core
NEARLY_FULL = 0.05
MINUTE = 60.0
AGAIN = "run this again in a minute: a process that is still at the same line hangs there"
CLOCKS = "compare with nvidia-smi -q -d CLOCK,PERFORMANCE (heat, power) and with the other ranks"
_KERNEL = "uninterruptible"
_DEAD = ("gone", "zombie")


@dataclass(frozen=True, slots=True)
class Branch:
    """What was asked, what the document says, and, where the walk ends here, what to do next."""

    asked: str
    says: str
    do: tuple[str, ...] = ()
    stop: bool = False


def walk(job: Case) -> list[Branch]:
    """The branches up to the one where the job stands; the last says that all is well if none of them stopped it."""
    walked: list[Branch] = []
    for question in _TREE:
        branch = question(job)
        if branch is None:
            continue
        walked.append(branch)
        if branch.stop:
            return walked
    return [*walked, Branch("anything else?", "nothing looks wrong", stop=True)]


def document(job: Case, processes: Sequence[StackDocument] | None = None) -> StandingDocument:
    """The walk as every interface prints it, with where its processes are if somebody asked them."""
    walked = walk(job)
    asked: list[QuestionDocument] = [{"asked": branch.asked, "says": branch.says} for branch in walked]
    stands: StandingDocument = {
        "at": walked[-1].asked,
        "says": walked[-1].says,
        "do": list(walked[-1].do),
        "asked": asked,
    }
    if processes is None:
        return stands
    asked += [{"asked": "what are its processes doing?", "says": stacks.says(process)} for process in processes]
    if any(process["frames"] for process in processes):
        stands["do"] = [does for does in walked[-1].do if "py-spy dump" not in does and "--stacks" not in does]
    elif any("not installed" in process["why"] for process in processes):
        stands["do"] = ["pip install py-spy there, and ask again", *walked[-1].do]
    stands["stacks"] = list(processes)
    return stands


def _is_running(job: Case) -> Branch:
    asked = "is it running?"
    reason = f": {plain(str(job['reason']), 200)}" if job.get("reason") else ""
    if job.get("unreachable"):
        says = f"not known: {_unreachable(job)}"
        return Branch(asked, says, (f"dogwatch host test {job['place']}", "dogwatch patrol"), stop=True)
    if job["state"] == "waiting":
        return _waits(job, asked, reason)
    if job["state"] == "missing":
        does = ("check the scheduler's accounting, or wait: it may report an ending late",)
        return Branch(asked, "its host answers, but does not list it", does, stop=True)
    if job["state"] is None:
        return Branch(asked, "not polled yet", ("dogwatch patrol",), stop=True)
    if is_suspended(job.get("native")):
        says = "it is suspended: it holds its nodes and does not run until it is resumed"
        command = kind_of(job["source"]).how_to_resume(plain(job["id"], 40))
        return Branch(asked, says, (command,) if command else (), stop=True)
    if job.get("family", {}).get("processes") == 0:
        says = "none of its processes exists any more: it has ended since the last poll"
        return Branch(asked, says, ("dogwatch patrol",), stop=True)
    native = str(job.get("native") or "")
    return Branch(asked, f"it runs: {plain(native, 200)}" if native.startswith("stage ") else "it runs")


def _waits(job: Case, asked: str, reason: str) -> Branch:
    """It will start by itself, or somebody has to do something first: then waiting for it helps nobody."""
    ref, found = job["ref"], _finding(job, "cannot_start", "launch_failed")
    if found is None:
        return Branch(asked, f"it waits to be started{reason}", (f"dogwatch wait {ref} --for running",), stop=True)
    says = f"it waits to be started; {plain(found['text'], 300)}"
    if found["rule"] == "launch_failed":
        return Branch(asked, says, ("start its workers, or check why they did not start",), stop=True)
    if found["level"] != "critical":
        return Branch(asked, says, (f"scontrol release {job['id']}, if you may",), stop=True)
    does = (f"scontrol show job {job['id']} shows what it waits for", f"scancel {job['id']}, and submit it again")
    return Branch(asked, says, does, stop=True)


def _unreachable(job: Case) -> str:
    outage = job["unreachable"]
    why = plain((outage and outage["why"]) or "no answer", 200)
    was = f"; it was {job['state']} when last confirmed" if job["state"] else ""
    return f"{plain(str(job['place']), 40)} is unreachable ({why}){was}"


def _is_complete(job: Case) -> Branch | None:
    workers = job.get("workers") or ()
    if not workers:
        return None
    asked = "are all its workers running?"
    alive = [worker for worker in workers if worker["doing"] not in _DEAD]
    want = job.get("expect", {}).get("workers") or len(workers)
    says = f"{len(alive)} of {want} workers are running"
    if len(alive) >= want:
        return _has_dead_children(job, asked, says)
    lost = [worker for worker in workers if worker["doing"] in _DEAD]
    fallen = job.get("fallen", {})
    ends = [_how_it_fell(worker, fallen.get(worker["index"])) for worker in lost if worker.get("reason")]
    says = f"{says}; {'; '.join(ends[:3])}" if ends else says
    does = [advice for found in fallen.values() if found["cause"] != "unknown" for advice in found["advice"][:1]]
    does += [f"read its last lines: {_logs_of(job, worker)}" for worker in lost[:2]]
    if any(worker["doing"] == "zombie" for worker in lost):
        does.append("a zombie process has ended; its parent hangs and does not read its exit code")
    return Branch(asked, says, tuple(does), stop=True)


def _logs_of(job: Case, worker: WorkerDocument) -> str:
    """The command that shows the logs of a worker; of the whole job where none of its own is known."""
    own = f" --worker {worker['index']}" if worker.get("log") else ""
    return f"dogwatch logs {job['ref']}{own}"


def _how_it_fell(worker: WorkerDocument, found: DiagnosisDocument | None) -> str:
    """How a worker ended, and the line that tells why, where one does."""
    says = f"worker {worker['index']}: {plain(worker['reason'], 200)}"
    quotes = [plain(quote["text"], 160) for quote in (found["evidence"] if found else ()) if quote["file"]]
    return f"{says}, {quotes[0]}" if quotes and quotes[0][:60] not in says else says


def _has_dead_children(job: Case, asked: str, says: str) -> Branch:
    """A process that a worker started and that has ended unnoticed; of a job that moves, that is told in passing."""
    family = job.get("family", {})
    living = family.get("processes") or 0
    says += f", {living} processes in all" if living > len(job["workers"]) else ""
    zombies = family.get("zombies") or ()
    if not zombies:
        return Branch(asked, says)
    first, count = zombies[0], family.get("dead") or len(zombies)
    what = "a process" if count == 1 else f"{count} processes"
    says += f"; {what} started by {first['parent']} ended{_ending(first['status'])}"
    says += " and its parent has not read its exit code"
    says += f" (zombie {first['pid']})" if count == 1 else f" (zombies, the first {first['pid']})"
    if not _hangs(job):
        return Branch(asked, says)
    does = (
        f"process {first['parent']} may wait for a process that no longer exists: start the job again",
        f"find out why that one ended: dogwatch logs {job['ref']}; dmesg -T | grep -i oom",
    )
    return Branch(asked, says, does, stop=True)


def _ending(status: int | None) -> str:
    """How a wait status reads."""
    if status is None:
        return ""
    return f" by signal {status & 127}" if status & 127 else f" with exit code {status >> 8}"


def _hangs(job: Case) -> bool:
    return _word(job) in ("stalled", "silent but busy") or _finding(job, "stalled", "silent") is not None


def _word(job: Case) -> str | None:
    verdict = job.get("verdict")
    return verdict["word"] if verdict else None


def _is_held(job: Case) -> Branch | None:
    workers = job.get("workers") or ()
    family = job.get("family", {})
    stopped = [worker["pid"] for worker in workers if worker["doing"] == "stopped"] or family.get("stopped") or []
    if stopped:
        pid = stopped[0]
        return Branch(
            "is any process stopped or stuck?",
            f"process {pid} is stopped by a signal",
            (f"kill -CONT {pid}",),
            stop=True,
        )
    deep = [worker for worker in workers if worker["doing"] == _KERNEL]
    if deep and len(deep) == len([worker for worker in workers if worker["doing"] not in _DEAD]):
        does = (
            "check the file systems it uses (df hangs on a dead one) and dmesg -T",
            f"cat /proc/{deep[0]['pid']}/stack shows where, as root",
        )
        return Branch(
            "is any process stopped or stuck?",
            f"process {deep[0]['pid']} hangs in the kernel (disk, network disk, GPU)",
            does,
            True,
        )
    return Branch("is any process stopped or stuck?", "none is stopped or stuck in the kernel") if workers else None


def _does_it_move(job: Case) -> Branch | None:
    verdict = job.get("verdict")
    word, why = (verdict["word"], verdict["why"]) if verdict else (None, None)
    silent = _finding(job, "stalled", "silent")
    if not _hangs(job):
        return Branch("does it make progress?", str(why or word)) if word else None
    says = plain(str(why or (silent and silent["text"]) or word), 300)
    hang, does = _what_hangs(job)
    if word == "silent but busy":  # the verdict has told with what
        return Branch("does it make progress?", says, does, stop=True)
    return Branch("does it make progress?", f"{says}; {hang}", does, stop=True)


def _what_hangs(job: Case) -> tuple[str, tuple[str, ...]]:
    """What a job that does not move may wait for, by what its processes and GPUs do meanwhile."""
    workers = [worker for worker in job.get("workers") or () if worker["doing"] not in _DEAD]
    cores, gpu = _cores(job), _gpu_percent(job)
    spy = f"see where it is: py-spy dump --pid {workers[0]['pid'] if workers else 'PID'}"
    ranks = ("compare with the rank whose log stopped first",) if len(workers) != 1 else ()
    if cores and max(cores) <= ASLEEP:
        waits = "its processes sleep: they wait for a lock, a file, the network or another rank"
        return waits, (spy, *ranks, AGAIN)
    if gpu is not None and gpu >= BUSY:
        return "its GPUs are busy: a long step, or ranks that wait in a collective for one that is missing", (
            spy,
            "compare the newest line of every rank's log",
        )
    if cores:
        busy = f"its processes compute without writing anything ({max(cores):.0f} % of a core)"
        return f"{busy}: loading, compiling, or a loop", (spy, AGAIN)
    return "cannot tell what its processes do", (spy, *ranks)


def _cores(job: Case) -> list[float]:
    """How busy its processes are, in per cent of a core: all that it started together, where they were asked just
    now; else each worker by itself."""
    family = job.get("family", {})
    if family.get("processes"):
        return [float(family["cpu_percent"])]
    workers = [worker for worker in job.get("workers") or () if worker["doing"] not in _DEAD]
    return [percent for worker in workers if (percent := worker["cpu_percent"]) is not None]


def _blocked(job: Case) -> bool:
    """Whether one of its processes waits in the kernel for a disk."""
    blocked = job.get("family", {}).get("blocked")
    return bool(blocked) or any(worker["doing"] == _KERNEL for worker in job.get("workers") or ())


def _gpu_percent(job: Case) -> float | None:
    """How busy its GPUs are on average: as they were last read, or by a piece of evidence of the verdict."""
    read = [percent for gpu in job.get("gpus") or () if (percent := gpu["percent"]) is not None]
    if read:
        return float(sum(read) / len(read))
    verdict = job.get("verdict")
    return next((one["percent"] for one in verdict["evidence"] if one["by"] == "gpu"), None) if verdict else None


def _is_it_slow(job: Case) -> Branch | None:
    asked, progress, verdict = "is it slower than before?", job.get("progress"), job.get("verdict")
    rate, average = (progress["rate"], progress["rate_average"]) if progress else (None, None)
    slow = _word(job) == "slow"
    if not slow and not rate:  # where its counter stands, it is the verdict that tells whether the job does
        return None
    if not slow and not stacks.is_slower(job):
        return Branch(asked, "no")
    figures = "" if rate is None or not average else f"{rate:.3g} a second now, {average:.3g} on average"
    says = str((slow and verdict and verdict["why"]) or figures or "it is slow")
    gpu, cores = _gpu_percent(job), _cores(job)
    if gpu is not None and gpu >= BUSY:
        return Branch(asked, says, (CLOCKS,), True)
    if cores and max(cores) >= 90:
        waits = "the GPU waits for the CPU" if gpu is not None else "its processes are busy on the CPU"
        return Branch(asked, f"{says}; {waits}", ("give the data loader more processes, or do less in it",), True)
    if gpu is not None or _blocked(job) or (cores and max(cores) <= 20):
        who = "the GPU waits" if gpu is not None else "its processes mostly wait"
        does = ("check the disk and network that the data comes from: iostat -x 5, nfsiostat 5",)
        return Branch(asked, f"{says}; {who} for data or for other ranks", does, True)
    return Branch(asked, says, (f"see what it does now: dogwatch why {job['ref']} --stacks", CLOCKS), True)


def _are_gpus_used(job: Case) -> Branch | None:
    """Of a job that moves: do its GPUs work, and what may they wait for if not?"""
    gpu = _gpu_percent(job)
    if gpu is None:
        return None
    asked, says = "are its GPUs used?", f"{gpu:.0f} % of the time"
    if gpu >= BUSY:
        return Branch(asked, says)
    cores = _cores(job)
    if _blocked(job):
        return Branch(
            asked,
            f"{says}; a process waits in the kernel for a disk or a network disk",
            ("read the data from a disk of the node, or fetch ahead",),
            True,
        )
    if cores and max(cores) >= 90:
        does = ("give the data loader more processes, or do less in it", "py-spy top --pid shows in which function")
        return Branch(asked, f"{says}; its processes are busy on the CPU: the data, or the code itself", does, True)
    if cores and max(cores) <= 20:
        look = f"dogwatch why {job['ref']} --stacks shows what they wait for: data, another rank, or nothing to do"
        return Branch(asked, f"{says}; its processes mostly wait, for data, the network or one another", (look,), True)
    return Branch(asked, f"{says}; the CPU shares the work", ("larger batches, or more work on the GPU",), True)


def _is_memory_rising(job: Case) -> Branch | None:
    found = _finding(job, "memory_fills", "gpu_memory")
    return None if found is None else _told("is its memory rising?", found)


def _is_loss_ok(job: Case) -> Branch | None:
    found = _finding(job, "loss_bad")
    return None if found is None else _told("is its loss normal?", found)


def _do_outputs_grow(job: Case) -> Branch | None:
    asked = "do its outputs grow?"
    found = _finding(job, "outputs_unchanged", "growth_low", "output_broken")
    if found is not None:
        return _told(asked, found)
    outputs = job.get("outputs") or ()
    growing = [one for one in outputs if (one.get("growth_per_minute") or 0) > 0 or _is_new(one)]
    says = f"{len(growing)} of {len(outputs)} grew or were written in the last minute"
    return Branch(asked, says) if outputs else None


def _is_new(output: OutputDocument) -> bool:
    """A job may write each of its files at once: what it is about then is that they become more."""
    quiet = output.get("quiet_seconds")
    return output.get("changed_at") is not None and quiet < MINUTE


def _are_checkpoints_made(job: Case) -> Branch | None:
    found = _finding(job, "checkpoint_overdue", "checkpoint_broken", "no_progress")
    return None if found is None else _told("are its checkpoints there?", found)


def _is_there_room(job: Case) -> Branch | None:
    asked = "is there room to write?"
    disks = job.get("disks") or ()
    tight = [disk for disk in disks if disk["total"] and disk["free"] < NEARLY_FULL * disk["total"]]
    few = [disk for disk in disks if disk["inodes"] and disk["inodes_free"] < NEARLY_FULL * disk["inodes"]]
    found = _finding(job, "disk_fills", "disk_low")
    if tight or few:
        path, what = (tight or few)[0]["path"], "bytes" if tight else "inodes"
        return Branch(asked, f"few {what} are left under {plain(path, 200)}", _look_for_room(path), True)
    if found is not None:
        paths = [disk["path"] for disk in disks if disk["path"] in found["text"]]
        return Branch(asked, plain(found["text"], 300), _look_for_room((paths or ["."])[0]), True)
    return Branch(asked, "yes") if disks else None


def _look_for_room(path: str) -> tuple[str, ...]:
    where = shlex.quote(plain(path, 200))
    return f"df -h {where}; df -i {where}", f"see what takes it: du -xh --max-depth 2 {where} | sort -h | tail"


def _is_something_else_open(job: Case) -> Branch | None:
    found = [finding for finding in job.get("findings") or () if finding["level"] != "info"]
    return _told("is anything else open?", found[0], f"dogwatch status {job['ref']}") if found else None


def _finding(job: Case, *rules: str) -> FindingDocument | None:
    return next((finding for finding in job.get("findings") or () if finding["rule"] in rules), None)


def _told(asked: str, finding: FindingDocument, *does: str) -> Branch:
    """A branch that ends at a finding. What a finding advises stands behind its colon."""
    says, _, remedy = plain(finding["text"], 400).partition(": ")
    advice = (remedy,) if remedy and not does else ()
    return Branch(asked, says if advice else plain(finding["text"], 300), (*advice, *does), stop=True)


_TREE: tuple[Callable[[Case], Branch | None], ...] = (
    _is_running,
    _is_complete,
    _is_held,
    _does_it_move,
    _is_it_slow,
    _are_gpus_used,
    _is_memory_rising,
    _is_loss_ok,
    _do_outputs_grow,
    _are_checkpoints_made,
    _is_there_room,
    _is_something_else_open,
)
