"""Causes about memory and disks: what ran full."""

from __future__ import annotations

from dogwatch.diagnosis.interface import Cause, OnScheduler, Pattern, Retry
from dogwatch.diagnosis.signals import complained_abroad, ended_by, noticed
from dogwatch.logs.ending import shell_languages

_CAUGHT = r"\bretry|skipp|fall(?:ing)? back|attempting to recover|(?:\bif\b|avoid|prevent|catch).{0,40}out of memory"

rows = (
    Cause(
        "cuda_oom",
        "the GPU ran out of memory",
        Retry.WITH_CHANGE,
        (
            "use a smaller batch, sequence length or model per GPU (gradient accumulation keeps the effective batch)",
            "check with nvidia-smi (AMD: rocm-smi) that no other process uses memory of the same GPU",
            "try activation checkpointing, or PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True if much memory is "
            "reserved but unallocated",
        ),
        (
            Pattern("enough gpu ram to fit", weight=0.88, raised=True),
            Pattern("out of memory", r"check failed: .{0,40}cudasuccess.{0,80}out of memory", 0.95, fatal=True),
            Pattern(
                "resource_exhausted",
                r"resource_exhausted: .{0,60}(?:failed to allocate|allocat)",
                0.9,
                raised=True,
                unless="host",
            ),
            Pattern(
                "resourceexhaustederror",
                r"resourceexhaustederror: .{0,60}allocat",
                0.86,
                raised=True,
                unless="device:cpu",
            ),
            Pattern(
                "cudnn algorithm|find an engine",
                r"unable to find (?:a valid cudnn algorithm|an engine) to (?:run|execute)",
                0.78,
                raised=True,
            ),
            Pattern("dst tensor is not initialized", weight=0.86, raised=True),
            Pattern("_status_not_initialized", r"cu(?:blas|dnn)_status_not_initialized", 0.76, raised=True),
            Pattern("cuda out of memory", weight=0.97, unless=_CAUGHT),
            Pattern("outofmemoryerror", r"\b(?:torch|cupy)\S{0,40}outofmemoryerror\b", 0.96, unless=_CAUGHT),
            Pattern("out of memory", r"cuda (?:runtime |driver )?error\b.{0,60}out of memory", 0.96, unless=_CAUGHT),
            Pattern("out of memory", r"(?:hip|xpu|mps backend|npu) out of memory", 0.96, unless=_CAUGHT),
            Pattern("ran out of memory in memory space", weight=0.95),
            Pattern(
                "that was not possible",
                r"attempting to (?:reserve|allocate) [\d.]{1,12}[kmgt]i?b?\b.{0,60}that was not possible",
                0.93,
                unless=_CAUGHT,
            ),
            Pattern(
                "erroroutofmemory|errormemoryallocation", r"\b(?:hiperroroutofmemory|cudaerrormemoryallocation)\b", 0.94
            ),
            Pattern("out of memory", r"^gpuassert: out of memory", 0.95, fatal=True),
            Pattern("out of memory", r"cuda ?failure (?:\d{1,3} )?'out of memory'", 0.93),
            # Where the code of a GPU is named beside it.
            Pattern("out of memory", r"\berror: out of memory\b.{0,20}[/\w.-]{1,200}\.cuh?:\d", 0.95),
            Pattern("unable to allocate", r"unable to allocate (?:cuda|rocm|vulkan|metal)\w{0,20} buffer", 0.9),
            Pattern("out of memory", r"cudamalloc\w{0,12} failed: out of memory", 0.93),
            Pattern(
                "out of memory",
                r"resource_exhausted: .{0,120}out of memory",
                0.95,
                unless=_CAUGHT + r"|: out of memory allocating \d",
            ),
            Pattern("out_of_memory", r"cuda_error_out_of_memory", 0.93, raised=True),
            Pattern("out_of_memory", r"std::bad_alloc: out_of_memory", 0.93),
            Pattern("hsa_status_error_out_of_resources", weight=0.8, fatal=True),
            Pattern("oom when allocating", r"oom when allocating tensor.{0,300}gpu", 0.96, unless=_CAUGHT),
            Pattern("oom when allocating", r"oom when allocating tensor", 0.8, raised=True, unless=r"device:cpu"),
            Pattern("_status_alloc_failed", r"cu(?:blas|dnn|sparse|solver|fft)_status_alloc_failed", 0.86, raised=True),
            Pattern("allocation failed", r"\bcuda\w{0,40}: (?:memory )?allocation failed", 0.88, raised=True),
            Pattern("bytes of device memory", r"error allocating \d{1,15} bytes of device memory", 0.9),
            Pattern("no available memory for the cache blocks", weight=0.94),
            Pattern("mem-fraction-static", r"not enough memory\b.{0,80}mem-fraction-static", 0.92, raised=True),
            Pattern("bfc_arena", r"bfc_arena.{0,200}failed to allocate memory for requested buffer", 0.86, raised=True),
            Pattern(
                "kv cache",
                r"larger than the (?:available kv cache memory|maximum number of tokens that can be stored "
                r"in kv cache)",
                0.8,
                raised=True,
            ),
            Pattern(
                "free memory on device", r"free memory on device.{0,120}less than desired gpu memory utilization", 0.94
            ),
        ),
        neighbours=("host_oom",),
        tell="nvidia-smi --query-compute-apps=pid,used_memory --format=csv",
    ),
    Cause(
        "host_oom",
        "the machine or the job ran out of memory (RAM)",
        Retry.WITH_CHANGE,
        (
            OnScheduler(
                "ask for more memory (Slurm: --mem or --mem-per-cpu, Kubernetes: resources.limits.memory), or use "
                "fewer data-loading workers and smaller caches",
                "ask for more memory (Kubernetes: resources.limits.memory, Docker: --memory), or use fewer "
                "data-loading workers and smaller caches",
            ),
            OnScheduler("look at the peak: sacct -j JOB -o JobID,MaxRSS,ReqMem,State"),
        ),
        (
            Pattern("oom_kill event", weight=0.97, fatal=True),
            Pattern("oom-kill event", weight=0.97, fatal=True),
            Pattern("oom_kill or oom_kill_disable", weight=0.9),
            Pattern("out of memory", r"(?:memory cgroup )?out of memory: kill(?:ed)? process", 0.96),
            Pattern("out of memory", r"srun: error: .{1,200}: tasks? [\d,\- ]{1,80}: out of memory", 0.96, fatal=True),
            Pattern("oom-killer", r"invoked oom-killer|oom-killer: ", 0.93),
            Pattern(
                "memory limit",
                r"exceeded (?:job|step|task)?\s?memory limit|exceeded memory limit \(|memory limit exceeded",
                0.96,
                fatal=True,
            ),
            Pattern(
                "memory quota|memory allocation|memory limit",
                r"\bjob (?:has )?exceeded (?:its|the|your) memory (?:quota|allocation|limit)",
                0.93,
                fatal=True,
            ),
            Pattern(
                "out_of_me",
                r"^\d{1,12}\S{0,12}\s{1,20}\S.{0,100}\bout_of_me\S{0,6}\s{1,10}\d{1,3}:\d",
                0.93,
                fatal=True,
            ),
            Pattern("memory resource limit", r"\bjob exceeded a memory resource limit\b", 0.95, fatal=True),
            Pattern("memorypressure", r"node had condition: \[memorypressure\]", 0.93, fatal=True),
            Pattern("std::bad_alloc", r"terminate called .{1,40} instance of 'std::bad_alloc'", 0.9, fatal=True),
            Pattern(
                "exceeded memory|exceeded limit",
                r"exceeded memory (?:limit|request)|job killed: (?:v?mem|pvmem) \S{1,40} exceeded limit",
                0.95,
                fatal=True,
            ),
            Pattern("exceeded limit", r"job killed: (?:v?mem|pvmem|pmem) \S{1,40} exceeded limit", 0.95, fatal=True),
            Pattern("term_memlimit|term_swap", weight=0.95, fatal=True),
            Pattern('limit "', r"exceeds job (?:hard|soft) limit \"[hs]_(?:vmem|rss|data)\"", 0.95, fatal=True),
            Pattern("killed by yarn for exceeding", weight=0.95),
            Pattern("insufficient memory for the java", weight=0.93, fatal=True),
            Pattern("oomkilled", weight=0.95, fatal=True),
            Pattern("low on resource: memory", weight=0.95, fatal=True),
            Pattern("killed by the oom killer", weight=0.95, fatal=True, unless="common causes"),
            Pattern("oom_score", r"sending sig(?:kill|term) to process .{0,200}oom_score", 0.93, fatal=True),
            Pattern("low on memory", r"killed due to the node running low on memory", 0.95, fatal=True),
            Pattern("memory pressure", r"(?:killed|workers?) .{0,120}due to memory pressure", 0.92),
            Pattern("arraymemoryerror", weight=0.95, raised=True),
            # Windows: the paging file is too small.
            Pattern("1455", r"\[winerror 1455\]|error code: <1455>", 0.93, raised=True),
            Pattern("unable to allocate", r"unable to allocate [\d.]{1,12} [kmgtp]i?b for an array", 0.95),
            Pattern("memoryerror", r"(?:^|[\s.])memoryerror\b", 0.93, raised=True, unless=r"\b(?:device|gpu) memory\b"),
            Pattern("arrowmemoryerror", weight=0.93, raised=True),
            Pattern("java.lang.outofmemoryerror", weight=0.93),
            Pattern("std::bad_alloc", r"std::bad_alloc", 0.85, unless="out_of_memory"),
            Pattern(
                "cannot allocate memory|[errno 12]",
                r"\[errno 12\]|: cannot allocate memory|cannot allocate memory \(12\)",
                0.88,
            ),
            # XLA of a machine without an accelerator; those that have one speak of trying to.
            Pattern("out of memory allocating ", r"resource_exhausted: out of memory allocating \d{1,20} bytes", 0.95),
            # What R says.
            Pattern(
                "cannot allocate vector of|memory exhausted (limit reached",
                r"\berror\b.{0,120}: cannot allocate vector of (?:size|length) \d|\bmemory exhausted \(limit reached",
                0.93,
                fatal=True,
            ),
            Pattern("can't alloc", r"^runtimeerror: can't alloc\s{0,4}$", 0.85, raised=True),
            Pattern("cpuallocator", r"defaultcpuallocator: (?:can'?t allocate memory|not enough memory)", 0.96),
            Pattern("oom when allocating", r"oom when allocating tensor.{0,300}device:cpu", 0.93, raised=True),
        ),
        neighbours=("killed", "cuda_oom"),
        tell=OnScheduler("sacct -j JOB -o JobID,State,MaxRSS,ReqMem; dmesg -T | grep -i oom", "dmesg -T | grep -i oom"),
    ),
    Cause(
        "shm_exhausted",
        "shared memory (/dev/shm) is too small",
        Retry.WITH_CHANGE,
        (
            "give the container more shared memory (docker --shm-size=16g or --ipc=host), or lower num_workers",
            "df -h /dev/shm shows its size",
        ),
        (
            Pattern("posix_fallocate failed", weight=0.96),
            Pattern("out of shared memory", r"(?:workers?|process\w*)\b.{0,60}out of shared memory", 0.97),
            Pattern("insufficient shared memory", weight=0.97),
            Pattern("raise your shared memory limit", weight=0.97),
            Pattern("unable to open shared memory object", weight=0.92, unless="too many open files"),
            Pattern("unable to allocate shared memory", weight=0.95),
            Pattern(
                "no space left on device",
                weight=0.96,
                raised=True,
                frame=r"/multiprocessing/(?:synchronize|shared_memory|heap)\.py",
            ),
            Pattern("unable to write to file </torch_", weight=0.95),
            Pattern(
                "unable to mmap",
                r"unable to mmap \d{1,15} bytes from file </torch_",
                0.85,
                unless="cannot allocate memory",
            ),
            Pattern(
                "/dev/shm", r"no space left on device.{0,120}/dev/shm|/dev/shm.{0,200}no space left on device", 0.96
            ),
            Pattern(
                "shared memory segment", r"error while (?:creating|attaching to) shared memory segment /dev/shm", 0.95
            ),
            Pattern("/dev/shm/", r"/dev/shm/\S{1,80} failed", 0.85),
            Pattern("/dev/shm", r"object store size .{0,40}exceeds /dev/shm size", 0.9, raised=True),
            Pattern("objectstorefullerror", weight=0.8, raised=True),
            Pattern(
                "bus error",
                r"^\s{0,4}bus error(?: \(core dumped\))?\s{0,4}$|: (?:\s{0,8}\d{1,10} )?bus error\b",
                0.72,
                fatal=True,
                unless="dataloader worker",
            ),
            Pattern("killed by signal: bus error", weight=0.96),
            *ended_by(7, 0.72),
        ),
        neighbours=("disk_full", "aborted"),
        tell="df -h /dev/shm",
    ),
    Cause(
        "disk_full",
        "a disk is full",
        Retry.AFTER_FIX,
        (
            "free space where the line says (old checkpoints, caches), or write elsewhere; df -h PATH shows "
            "how much is left",
            "after that, check that the newest checkpoint is intact before resuming from it",
        ),
        (
            Pattern("cannot be opened", r"runtimeerror: file \S{1,300} cannot be opened", 0.7, raised=True),
            Pattern("failed with input/output error", weight=0.7, raised=True),
            complained_abroad(shell_languages.NO_SPACE, 0.86),
            Pattern("file write failed", weight=0.78, raised=True),
            Pattern("requested and", r"^oserror: \d{1,15} requested and \d{1,15} written", 0.88, raised=True),
            Pattern("no space left on device", weight=0.95, unless=r"/dev/shm|</torch_"),
            Pattern("no space left on disk", weight=0.95),
            Pattern("wrote only ", r"^\S{0,40}tar: .{1,300}: wrote only \d{1,12} of \d{1,12} bytes", 0.88),
            Pattern(
                "checkpoint file: ",
                r"error writing .{0,20}checkpoint file: .{1,400}: resource exhausted",
                0.88,
                raised=True,
            ),
            Pattern("[errno 28]", weight=0.95, unless=r"/dev/shm"),
            Pattern("os error 28", weight=0.95),
            Pattern("errno = 28", weight=0.95),
            Pattern("enospc", r"\benospc\b", 0.93),
            Pattern("disk is full", r"(?:database or )?disk is full", 0.93),
            Pattern("low on resource: ephemeral-storage", weight=0.93, fatal=True),
            Pattern("diskpressure", r"node had condition: \[diskpressure\]", 0.93, fatal=True),
            Pattern("ephemeral", r"ephemeral (?:local )?storage usage exceeds", 0.9, fatal=True),
            Pattern("not enough free disk space", weight=0.85, raised=True),
            Pattern("not enough disk space", weight=0.9),
            Pattern("pytorchstreamwriter failed writing", weight=0.82),
            Pattern("basic_ios::clear: iostream error", weight=0.8, raised=True),
            Pattern("inline_container", r"enforce fail at inline_container\.cc:\d{1,5}\]\s?\.\s?unexpected pos", 0.8),
        ),
        neighbours=("disk_quota", "inodes_full"),
        tell="df -h PATH; df -i PATH; quota -s",
    ),
    Cause(
        "disk_quota",
        "a disk quota is used up",
        Retry.AFTER_FIX,
        (
            "delete or move what you own there, or ask for more quota (quota -s, lfs quota -h -u $USER PATH)",
            "caches in $HOME (pip, huggingface, wandb, triton) are often the reason; move them to another disk",
        ),
        (
            Pattern("disk quota exceeded", weight=0.97),
            Pattern("[errno 122]", weight=0.96),
            Pattern("os error 122", weight=0.96),
            Pattern("errno = 122", weight=0.96),
            Pattern("edquot", r"\bedquot\b", 0.95),
            Pattern("block quota exceeded", weight=0.95),
            # A limit of the process on the size of its files.
            Pattern("[errno 27]", weight=0.8, raised=True),
            noticed("file size limit exceeded", 0.86),
            Pattern(
                "quota exceeded|over quota|over disk quota",
                r"(?:storage|block|user|group|project) quota exceeded|over (?:disk )?quota",
                0.9,
            ),
        ),
        neighbours=("disk_full", "inodes_full"),
        tell="quota -s; lfs quota -h -u $USER PATH",
    ),
    Cause(
        "inodes_full",
        "the disk or quota has no inodes left (too many files)",
        Retry.AFTER_FIX,
        (
            "delete or pack small files (caches, unpacked datasets, per-step outputs); df -i PATH shows the count",
            "write fewer, bigger files: shards, tar, sqlite",
        ),
        (
            Pattern(
                "inode",
                r"(?:no|out of|not enough|insufficient) (?:free )?inodes?\b|inodes? (?:quota|limit) "
                r"(?:exceeded|reached)",
                0.95,
            ),
            Pattern("file count quota", r"file count quota (?:exceeded|reached)", 0.95),
            Pattern("files quota exceeded", r"(?:number of )?files quota exceeded", 0.93),
        ),
        neighbours=("disk_full", "disk_quota"),
        tell="df -i PATH; lfs quota -u $USER PATH",
    ),
    Cause(
        "too_many_open_files",
        "too many files or sockets are open",
        Retry.WITH_CHANGE,
        (
            "raise the limit in the job script (ulimit -n 65535), or use fewer data-loading workers",
            "for PyTorch loaders: torch.multiprocessing.set_sharing_strategy('file_system')",
        ),
        (
            Pattern("too many open files", weight=0.97),
            Pattern("[errno 24]", weight=0.96),
            Pattern("os error 24", weight=0.96),
            Pattern("items of ancdata", r"received \d{1,4} items of ancdata", 0.96),
            Pattern("emfile", r"\bemfile\b", 0.93),
            Pattern("enfile", r"\benfile\b", 0.9),
        ),
        neighbours=("shm_exhausted",),
        tell="ulimit -n; ls /proc/PID/fd | wc -l",
    ),
)
