"""The GPUs: there, free, with enough memory, as many as workers, and of a driver that fits what is installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dogwatch.api.checklist import Line
from dogwatch.api.preflight.facts import FAIL, PASS, WARN, Facts, count, several
from dogwatch.api.preflight.plan import Plan
from dogwatch.text import plain
from dogwatch.wire.preflight import Gpus, Program
from dogwatch.wire.programs import Gpu, GpuHolder

IDLE_SHARE, IDLE_BYTES = 0.05, 1 << 30  # what a driver and a display hold of a GPU that nobody uses
BUSY = 0.1


def judge(plan: Plan, facts: Facts) -> Iterator[Line]:
    wanted = asked_for(plan, facts)
    yield from _as_many_as_workers(plan, wanted)
    if plan.slurm is not None:
        return
    found = facts.of("gpus", Gpus)
    needs = plan.wants_gpus() or bool(wanted)
    if not isinstance(found, str) and not found.gpus and found.failed:
        found = "; ".join(found.failed.values())
    if isinstance(found, str):
        text = f"cannot be asked: {plain(found, 200)}"
        yield Line(FAIL if needs else WARN, "gpus", text, "run nvidia-smi (or amd-smi) there")
        return
    gpus = found.gpus
    if not gpus:
        text = "none found: neither NVIDIA's nor AMD's tools are installed"
        remedy = "choose a host with GPUs, or correct --gpu-ids"
        yield Line(FAIL, "gpus", text, remedy) if needs else Line(PASS, "gpus", f"{text}, and none asked for")
        return
    for gpu in gpus:
        if gpu.trouble:
            yield Line(FAIL if needs else WARN, f"gpu {gpu.index}", plain(gpu.trouble, 120), "reset or reboot it")
    chosen, absent = _chosen(wanted, gpus)
    if absent:
        text = f"not there: {several(absent)}; there {'is' if len(gpus) == 1 else 'are'} {_names(gpus)}"
        yield Line(FAIL, "gpus", text, "correct --gpu-ids, or CUDA_VISIBLE_DEVICES where it will run")
    yield from _free(plan, chosen, wanted, gpus)
    yield from _memory(plan, chosen or gpus)
    yield from _driver(plan, facts, found)


def asked_for(plan: Plan, facts: Facts) -> list[str]:
    """The GPUs by number or UUID: those that were named, else those that the environment shows to the job."""
    named = plan.gpu_ids if plan.gpu_ids is not None else (facts.value("CUDA_VISIBLE_DEVICES"),)
    return [one.strip() for word in named for one in word.split(",") if one.strip()]


def _as_many_as_workers(plan: Plan, wanted: list[str]) -> Iterator[Line]:
    if plan.workers is None or not wanted:
        return
    each = {one: wanted.count(one) for one in wanted}
    shared = [one for one, times in each.items() if times > 1]
    said = f"{count(plan.workers, 'worker')}, {count(len(each), 'GPU')}"
    if shared:
        yield Line(WARN, "workers", f"GPU {several(shared)} is given to more than one worker", "give each its own")
    elif plan.workers == len(each):
        yield Line(PASS, "workers", said)
    elif plan.workers == 1:
        yield Line(PASS, "workers", f"{said}: the one worker gets all of them")
    elif len(each) % plan.workers == 0:
        yield Line(PASS, "workers", f"{said}: {len(each) // plan.workers} each")
    else:
        yield Line(FAIL, "workers", said, "give as many GPUs as workers (--workers, --gpu-ids)")


def _chosen(wanted: list[str], gpus: Sequence[Gpu]) -> tuple[list[Gpu], list[str]]:
    """Those that were asked for, and the names of which there are none. A MIG slice goes by its own name only."""
    chosen, absent = [], []
    for one in wanted:
        mine = [gpu for gpu in gpus if not gpu.parent and one == str(gpu.index)]
        mine = mine or [gpu for gpu in gpus if gpu.uuid and gpu.uuid.startswith(one)]
        chosen += mine
        absent += [] if mine else [one]
    return chosen, absent


def _free(plan: Plan, chosen: Sequence[Gpu], wanted: list[str], gpus: Sequence[Gpu]) -> Iterator[Line]:
    needed = plan.workers or 1
    if wanted:
        taken = [gpu for gpu in chosen if _use(gpu)]
        for gpu in taken:
            remedy = "use another GPU, or stop that process if it is yours"
            yield Line(FAIL, f"gpu {gpu.index}", f"is not free: {_use(gpu)}", remedy)
        if chosen and not taken:
            yield Line(PASS, "gpus", f"free: {_names(chosen)}")
        return
    gpus = [gpu for gpu in gpus if not gpu.parent]
    free = [gpu for gpu in gpus if not _use(gpu) and not gpu.trouble]
    if len(free) >= needed:
        yield Line(PASS, "gpus", f"{len(free)} of {len(gpus)} are free: {_names(free)}")
        return
    text = f"{len(free)} of {len(gpus)} are free for {count(needed, 'worker')}"
    text += "".join(f"; GPU {gpu.index}: {_use(gpu)}" for gpu in gpus[:4] if _use(gpu))
    yield Line(FAIL if plan.wants_gpus() else WARN, "gpus", text, "wait until they are free, or use fewer workers")


def _use(gpu: Gpu) -> str:
    """Who or what is on a GPU, in words; nothing when it is free as far as anybody can see."""
    users = [
        f"{plain(process.name or 'a process', 60)} (pid {process.pid}{_whose(process)})"
        for process in gpu.processes or ()
    ]
    if users:
        return several(users)
    used, total = gpu.memory_used, gpu.memory_total
    if used is not None and used > max(IDLE_BYTES, IDLE_SHARE * (total or 0)):
        return f"{used / 2**30:.1f} GiB of its memory are used by other processes"
    busy = gpu.used
    return f"it is {100 * busy:.0f} % busy" if busy is not None and busy > BUSY else ""


def _whose(process: GpuHolder) -> str:
    """Its user; nothing where the pid is one of another namespace, and so of nobody that can be seen."""
    return f" of {plain(process.user, 40)}" if process.user else ", not visible from there"


def _memory(plan: Plan, gpus: Sequence[Gpu]) -> Iterator[Line]:
    batch = (plan.batch_size or 0) * (plan.memory_per_item or 0)
    needed = (plan.gpu_memory or 0) + batch
    if not needed:
        return
    known = [gpu for gpu in gpus if gpu.memory_total is not None]
    if not known:
        yield Line(WARN, "gpu memory", "the GPUs do not report their memory", "look it up for this model of GPU")
        return
    least = min(known, key=_room)
    room = _room(least)
    text = f"needs {needed / 2**30:.1f} GiB, GPU {least.index} has {room / 2**30:.1f} GiB free"
    if needed <= room:
        yield Line(PASS, "gpu memory", text)
    elif batch and room > (plan.gpu_memory or 0) + (plan.memory_per_item or 0):
        fits = int((room - (plan.gpu_memory or 0)) // (plan.memory_per_item or 1))
        yield Line(FAIL, "gpu memory", f"{text} for batches of {plan.batch_size}", f"a batch of {fits} would fit")
    else:
        yield Line(FAIL, "gpu memory", text, "use a larger GPU, or a smaller batch or model")


def _room(gpu: Gpu) -> int:
    return (gpu.memory_total or 0) - (gpu.memory_used or 0)


def _driver(plan: Plan, facts: Facts, found: Gpus) -> Iterator[Line]:
    """Whether the installed torch was built for what the driver can run."""
    program = facts.of("program", Program)
    inside = None if isinstance(program, str) else program.inside
    torch = inside and inside.torch
    if found.by not in ("nvml", "nvidia-smi"):
        if torch and torch.hip is None and plan.wants_gpus():
            text = f"torch {torch.version or ''} is not built for AMD GPUs"
            yield Line(FAIL, "driver", text, "install torch from the ROCm index")
        return
    able = (inside and inside.libcuda.cuda) or found.cuda
    said = f"driver {found.driver or '?'}" + (f" runs CUDA {able[0]}.{able[1]}" if able else "")
    if inside and not inside.libcuda.loads and plan.wants_gpus():
        text = f"{said}, and libcuda.so.1 does not load: {plain(inside.libcuda.why, 120)}"
        yield Line(FAIL, "driver", text, "repair the driver installation, or the container's --gpus / --nv")
    elif not torch:
        yield Line(PASS, "driver", said)
    elif torch.cuda is None:
        text = f"torch {torch.version or ''} is built without CUDA"
        yield Line(FAIL if plan.wants_gpus() else WARN, "driver", text, "install the CUDA build of torch")
    else:
        yield _fits(torch.cuda, able, f"torch is built for CUDA {torch.cuda}, {said}")


def _fits(built: str, able: Sequence[int] | None, text: str) -> Line:
    numbers = [int(part) for part in built.split(".")[:2] if part.isdecimal()]
    if able is None or not numbers:
        return Line(WARN, "driver", f"{text}; cannot tell whether they fit", "start a small job first")
    remedy = f"update the driver, or install torch for CUDA {able[0]}.{able[1]}"
    if numbers[0] > able[0]:
        return Line(FAIL, "driver", text, remedy)
    if numbers > list(able):
        return Line(WARN, "driver", f"{text}: it runs, but not what is compiled at run time", remedy)
    return Line(PASS, "driver", text)


def _names(gpus: Sequence[Gpu]) -> str:
    return several([f"{gpu.index} ({plain(gpu.name, 40)})" for gpu in gpus], 8)
