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
        examples=(
            "[2026-01-05 22:51:07] Error: out of memory - /opt/nmt/src/tensors/gpu/device.cu:30",
            "ValueError: Some modules are dispatched on the CPU. Make sure you have enough GPU RAM to fit the "
            "quantized model.",
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.12 GiB. GPU 2 has a total "
            "capacity of 79.11 GiB of which 1.02 GiB is free.",
            "RuntimeError: CUDA out of memory. Tried to allocate 44.00 MiB (GPU 0; 7.79 GiB total capacity; "
            "6.40 GiB already allocated)",
            "RuntimeError: CUDA error: out of memory",
            "RuntimeError: CUDA driver error: out of memory",
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
            "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
            "allocate 8589934592 bytes.",
            "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with "
            "shape[64,512,768] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by "
            "allocator GPU_0_bfc",
            "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` "
            "when initializing the engine.",
            "RuntimeError: Unable to find a valid cuDNN algorithm to run convolution",
            "tensorflow.python.framework.errors_impl.InternalError: Failed copying input tensor: Dst tensor is not "
            "initialized.",
            "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
            "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 2,147,483,648 bytes (allocated so "
            "far: 0 bytes).",
            "RuntimeError: CudaArray_New: allocation failed.",
            "RuntimeError: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 41.20G of "
            "15.75G hbm.",
            "  (0) RESOURCE_EXHAUSTED: Attempting to reserve 5.10G at the bottom of memory. That was not possible. "
            "There are 4.02G free.",
            "llama_model_load: error loading model: unable to allocate CUDA0 buffer",
            "acme.Error: [07:41:20] src/device_api.cc:91: Check failed: e == cudaSuccess || e == "
            "cudaErrorCudartUnloading: CUDA: out of memory",
            "GPUassert: hipErrorOutOfMemory src/neighbours.cu 71",
            "GPUassert: out of memory field.cu 212",
            'CUDA error at solver.cu:98 code=2(cudaErrorMemoryAllocation) "cudaMalloc(&d_x, n)"',
            "Error allocating 81264640 bytes of device memory (out of memory). Driver report 20971520 bytes free",
            "MemoryError: Error allocating 81264640 bytes of device memory (out of memory).",
        ),
        counterexamples=(
            "step 300 | loss 2.11 | oom=0 | mem 41.2GiB",
            "WARNING: CUDA out of memory in forward pass, skipping this batch",
            "slurmstepd: error: Detected 1 oom_kill event in StepId=77.0. Some of the step tasks have been OOM Killed.",
            "Set expandable_segments to avoid CUDA out of memory errors",
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
        examples=(
            "Job exceeded a memory resource limit (vmem, pvmem, etc.). Job was aborted",
            "slurmstepd: error: Detected 3 oom_kill events in StepId=4711.batch. Some of the step tasks have "
            "been OOM Killed.",
            "slurmstepd: error: Detected 1 oom-kill event(s) in step 99.0 cgroup. Some of your processes may "
            "have been killed by the cgroup out-of-memory handler.",
            "slurmstepd: error: Step 815.0 exceeded memory limit (8388999 > 8388608), being killed",
            "srun: error: node7: task 0: Out Of Memory",
            'job 71.2 exceeds job hard limit "h_vmem" of queue "long@n4" (8.1G > limit:8.0G) - sending SIGKILL',
            "systemd[1]: job-9.scope: A process of this unit has been killed by the OOM killer.",
            "[88123.4] Out of memory: Killed process 4242 (python) total-vm:91234567kB, anon-rss:61234567kB",
            "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 31.2 GiB for an array with shape "
            "(65536, 65536) and data type float64",
            "OSError: [Errno 12] Cannot allocate memory",
            "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate "
            "memory: you tried to allocate 68719476736 bytes. Error code 12 (Cannot allocate memory)",
            "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
            "5151         pretrain-1        gpu OUT_OF_ME+    0:125",
            "ERROR:memwatch:This job has exceeded its memory quota and will be terminated",
            "Evicted: Pod The node had condition: [MemoryPressure].",
            "terminate called after throwing an instance of 'std::bad_alloc'",
            "MemoryError",
            "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 1440000000000 bytes.",
        ),
        counterexamples=(
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.",
            "oom_kill 0",
            "memory limit: 64 GB",
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
        examples=(
            "RuntimeError: DataLoader worker (pid 3312) is killed by signal: Bus error. It is possible that "
            "dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
            "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared "
            "memory (shm).",
            "RuntimeError: unable to write to file </torch_551_3313117>: No space left on device (28)",
            "OSError: [Errno 28] No space left on device: '/dev/shm/psm_9d1f'",
            "gpu3:88:101 [1] include/shm.h:48 NCCL WARN Error while creating shared memory segment "
            "/dev/shm/nccl-8xQzLo (size 9637888)",
            "Bus error (core dumped)",
            "./go.sh: line 3:  4411 Bus error               (core dumped) python eval.py",
            "[2025-07-20 15:45:13,982] [ERROR] [launch.py:321:sigkill_handler] ['python3', '-u', 'tune.py'] exits with "
            "return code = -7",
        ),
        counterexamples=(
            "RuntimeError: unable to open shared memory object </torch_12_99> in read-write mode: Too many "
            "open files (24)",
            "df: /dev/shm 64G 1% used",
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
        examples=(
            "OSError: [Errno 28] No space left on device: '/scratch/run7/checkpoint-900/optimizer.pt'",
            "OSError: 5000 requested and 512 written",
            "tee: train.log: No space left on device",
            "tee: train.log: 设备上没有空间",
            "sqlite3.OperationalError: database or disk is full",
            "The node was low on resource: ephemeral-storage. Threshold quantity: 4Gi, available: 1Gi.",
            "Evicted: Pod The node had condition: [DiskPressure].",
            "RuntimeError: basic_ios::clear: iostream error",
            "RuntimeError: [enforce fail at inline_container.cc:603] . unexpected pos 2816 vs 2710",
            "safetensors_rust.SafetensorError: Error while serializing: IoError(Os { code: 28, kind: "
            'StorageFull, message: "No space left on device" })',
        ),
        counterexamples=("OSError: [Errno 122] Disk quota exceeded", "free disk space: 1.2 TB"),
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
        examples=(
            "OSError: [Errno 122] Disk quota exceeded: '/home/kim/ckpt/latest'",
            "bash: /home/kim/run.out: Disk quota exceeded",
            "mkdir: cannot create directory 'ckpt-70': Disk quota exceeded",
        ),
        counterexamples=(
            "google.api_core.exceptions.ResourceExhausted: 429 Quota exceeded for requests per minute",
            "quota: 80% used",
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
        examples=(
            "fuse: create shard-000871.npy: out of inodes",
            "lfs: user kim: inode quota exceeded on /scratch",
        ),
        counterexamples=("inode 8812 is a directory", "df -i: 40% of inodes used"),
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
        examples=(
            "OSError: [Errno 24] Too many open files: '/data/shard_00017.bin'",
            "RuntimeError: received 0 items of ancdata",
            "RuntimeError: unable to open shared memory object </torch_12_99> in read-write mode: Too many "
            "open files (24)",
        ),
        counterexamples=("open files (-n) 1048576",),
        neighbours=("shm_exhausted",),
        tell="ulimit -n; ls /proc/PID/fd | wc -l",
    ),
)
