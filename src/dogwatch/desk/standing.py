"""Standing: the decision tree for a job that has not ended. It is walked over the job's own document, one question
after the other, and stops at the first answer that explains why the job does not run as it should."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dogwatch.desk import stacks
from dogwatch.text import plain

Document: TypeAlias = Mapping[str, Any]
BUSY, ASLEEP = 30.0, 2.0  # per cent of one core
SLOWER = 0.5  # of its average speed
NEARLY_FULL = 0.05
_KERNEL = "uninterruptible"
_DEAD = ("gone", "zombie")


@dataclass(frozen=True, slots=True)
class Branch:
    """What was asked, what the document says, and, where the walk ends here, what to do next."""

    asked: str
    says: str
    do: tuple[str, ...] = ()
    stop: bool = False


def walk(job: Document) -> list[Branch]:
    """The branches up to the one where the job stands; the last says that all is well if none of them stopped it."""
    walked: list[Branch] = []
    for question in _TREE:
        branch = question(job)
        if branch is None:
            continue
        walked.append(branch)
        if branch.stop:
            return walked
    return [*walked, Branch("anything else?", "nothing that is known of it looks wrong", stop=True)]


def document(job: Document, processes: Sequence[Document] | None = None) -> dict[str, Any]:
    """The walk as every face prints it, with where its processes are if somebody asked them."""
    walked = walk(job)
    asked = [{"asked": branch.asked, "says": branch.says} for branch in walked]
    stands = {"at": walked[-1].asked, "says": walked[-1].says, "do": list(walked[-1].do), "asked": asked}
    if processes is None:
        return stands
    asked += [{"asked": "where are its processes?", "says": stacks.says(process)} for process in processes]
    if any(process["frames"] for process in processes):
        stands["do"] = [does for does in walked[-1].do if "py-spy dump" not in does]
    elif any("not installed" in process["why"] for process in processes):
        stands["do"] = ["pip install py-spy there, and ask again", *walked[-1].do]
    return {**stands, "stacks": list(processes)}


def _is_running(job: Document) -> Branch:
    asked, ref = "is it running?", job["ref"]
    reason = f": {plain(str(job['reason']), 200)}" if job.get("reason") else ""
    if job["state"] == "waiting":
        return Branch(asked, f"it waits to be started{reason}", (f"dogwatch wait {ref} --for running",), stop=True)
    if job["state"] == "missing":
        does = ("look at the accounting of the place, or wait: an ending may be told late",)
        return Branch(asked, "its place answers and does not list it", does, stop=True)
    if job["state"] is None:
        return Branch(asked, "nobody has looked at it yet", ("dogwatch patrol",), stop=True)
    return Branch(asked, "it runs")


def _is_complete(job: Document) -> Branch | None:
    workers: Sequence[Document] = job.get("workers") or ()
    if not workers:
        return None
    alive = [worker for worker in workers if worker["doing"] not in _DEAD]
    want = (job.get("expect") or {}).get("workers") or len(workers)
    says = f"{len(alive)} of {want} workers are there"
    if len(alive) >= want:
        return Branch("are all its processes there?", says)
    lost = [worker for worker in workers if worker["doing"] in _DEAD]
    does = [f"read its last lines: dogwatch logs {job['ref']} --worker {worker['index']}" for worker in lost[:2]]
    if any(worker["doing"] == "zombie" for worker in lost):
        does.append("a zombie has ended and waits for its parent to notice: the parent is what hangs")
    return Branch("are all its processes there?", says, tuple(does), stop=True)


def _is_held(job: Document) -> Branch | None:
    workers: Sequence[Document] = job.get("workers") or ()
    stopped = [worker for worker in workers if worker["doing"] == "stopped"]
    if stopped:
        pid = stopped[0]["pid"]
        return Branch("is one held?", f"process {pid} is stopped by a signal", (f"kill -CONT {pid}",), stop=True)
    deep = [worker for worker in workers if worker["doing"] == _KERNEL]
    if deep and len(deep) == len([worker for worker in workers if worker["doing"] not in _DEAD]):
        does = (
            "look at the file systems it uses (df hangs on a dead one) and at dmesg -T",
            f"cat /proc/{deep[0]['pid']}/stack shows where, as root",
        )
        return Branch(
            "is one held?", f"process {deep[0]['pid']} hangs in the kernel (disk, network disk, GPU)", does, True
        )
    return Branch("is one held?", "none is stopped or stuck in the kernel") if workers else None


def _does_it_move(job: Document) -> Branch | None:
    verdict: Document = job.get("verdict") or {}
    word = verdict.get("word")
    silent = next((f for f in job.get("findings") or () if f["rule"] in ("stalled", "silent")), None)
    if word not in ("stalled", "silent but busy") and silent is None:
        return Branch("does it move?", str(verdict.get("why") or word)) if word else None
    says = plain(str(verdict.get("why") or (silent or {}).get("text") or word), 300)
    hang, does = _what_hangs(job)
    return Branch("does it move?", f"{says}; {hang}", does, stop=True)


def _what_hangs(job: Document) -> tuple[str, tuple[str, ...]]:
    """What a job that does not move may wait for, by what its processes and GPUs do meanwhile."""
    workers = [worker for worker in job.get("workers") or () if worker["doing"] not in _DEAD]
    cores = [worker["cpu_percent"] for worker in workers if worker.get("cpu_percent") is not None]
    pid = workers[0]["pid"] if workers else "PID"
    stacks = f"see where it is: py-spy dump --pid {pid}"
    gpu = _gpu_percent(job)
    if cores and max(cores) <= ASLEEP:
        waits = "its processes sleep: they wait for a lock, a file, the network or another rank"
        return waits, (stacks, "compare with the rank whose log stopped first")
    if gpu is not None and gpu >= BUSY:
        return "its GPUs are busy: a long step, or ranks that spin in a collective for one that is not there", (
            stacks,
            "compare the newest line of every rank's log",
        )
    if cores and min(cores) >= BUSY:
        return "its processes compute without a word: loading, compiling, or a loop", (stacks,)
    return "what its processes do meanwhile is not known", (stacks,)


def _gpu_percent(job: Document) -> float | None:
    """How busy its GPUs are on average: as they were last read, or by a witness of the verdict."""
    read = [gpu["percent"] for gpu in job.get("gpus") or () if gpu.get("percent") is not None]
    if read:
        return float(sum(read) / len(read))
    said = (one["says"] for one in (job.get("verdict") or {}).get("witnesses") or () if one["by"] == "gpu")
    digits = [
        part.rstrip("%") for text in said for part in str(text).split() if part.rstrip("%").replace(".", "").isdigit()
    ]
    return float(digits[0]) if digits else None


def _is_it_slow(job: Document) -> Branch | None:
    progress: Document = job.get("progress") or {}
    rate, average = progress.get("rate"), progress.get("rate_average")
    slow = (job.get("verdict") or {}).get("word") == "slow"
    if not slow and (rate is None or not average or rate >= SLOWER * average):
        return None if rate is None else Branch("is it slower than it was?", "no")
    says = str((job.get("verdict") or {}).get("why") or f"{rate:.3g} a second now, {average:.3g} on average")
    gpu, cores = (
        _gpu_percent(job),
        [w["cpu_percent"] for w in job.get("workers") or () if w.get("cpu_percent") is not None],
    )
    if gpu is not None and gpu < BUSY and cores and max(cores) >= 90:
        return Branch(
            "is it slower than it was?",
            f"{says}; the GPU waits for the CPU",
            ("give the data loader more processes, or do less in it",),
            True,
        )
    if gpu is not None and gpu < BUSY:
        return Branch(
            "is it slower than it was?",
            f"{says}; the GPU waits for data or for other ranks",
            ("look at the disk and the network that the data comes from",),
            True,
        )
    return Branch(
        "is it slower than it was?",
        says,
        ("compare with nvidia-smi -q -d CLOCK,PERFORMANCE (heat, power) and with the other ranks",),
        True,
    )


def _are_gpus_used(job: Document) -> Branch | None:
    """Of a job that moves: do its GPUs work, and what may they wait for if not?"""
    gpu = _gpu_percent(job)
    if gpu is None:
        return None
    asked, says = "are its GPUs used?", f"{gpu:.0f} % of the time"
    if gpu >= BUSY:
        return Branch(asked, says)
    cores = [w["cpu_percent"] for w in job.get("workers") or () if w.get("cpu_percent") is not None]
    if any(worker["doing"] == _KERNEL for worker in job.get("workers") or ()):
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
        look = "dogwatch why REF --stacks tells what they wait for: data, another rank, or nothing to do"
        return Branch(asked, f"{says}; its processes mostly wait, for data, the network or one another", (look,), True)
    return Branch(asked, f"{says}; the CPU shares the work", ("larger batches, or more work on the GPU",), True)


def _is_memory_rising(job: Document) -> Branch | None:
    rising = next((f for f in job.get("findings") or () if f["rule"] in ("memory_fills", "gpu_memory")), None)
    if rising is None:
        return None
    return Branch("is its memory rising?", plain(rising["text"], 300), (f"dogwatch status {job['ref']}",), stop=True)


def _do_outputs_grow(job: Document) -> Branch | None:
    outputs: Sequence[Document] = job.get("outputs") or ()
    growing = [one for one in outputs if (one.get("growth_per_minute") or 0) > 0]
    if not outputs:
        return None
    return Branch("do its outputs grow?", f"{len(growing)} of {len(outputs)} grew in the last minute")


def _is_there_room(job: Document) -> Branch | None:
    disks: Sequence[Document] = job.get("disks") or ()
    tight = [disk for disk in disks if disk["total"] and disk["free"] < NEARLY_FULL * disk["total"]]
    few = [disk for disk in disks if disk["inodes"] and disk["inodes_free"] < NEARLY_FULL * disk["inodes"]]
    if tight or few:
        path = (tight or few)[0]["path"]
        what = "bytes" if tight else "inodes"
        return Branch(
            "is there room to write?",
            f"few {what} are left under {plain(path, 200)}",
            (f"df -h {path}; df -i {path}",),
            True,
        )
    return Branch("is there room to write?", "yes") if disks else None


def _is_something_else_open(job: Document) -> Branch | None:
    found = [finding for finding in job.get("findings") or () if finding["level"] != "info"]
    if not found:
        return None
    return Branch("is anything else open?", plain(found[0]["text"], 300), (f"dogwatch status {job['ref']}",), stop=True)


_TREE: tuple[Callable[[Document], Branch | None], ...] = (
    _is_running,
    _is_complete,
    _is_held,
    _does_it_move,
    _is_it_slow,
    _are_gpus_used,
    _is_memory_rising,
    _do_outputs_grow,
    _is_there_room,
    _is_something_else_open,
)
