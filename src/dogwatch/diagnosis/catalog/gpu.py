"""Causes in the GPU and in the processes themselves: hardware, kernels, drivers, crashes."""

from __future__ import annotations

from dogwatch.diagnosis.interface import Cause, Pattern, Retry, Role
from dogwatch.diagnosis.signals import ended_by, noticed, told_abroad
from dogwatch.logs.ending import shell_languages

# Xid numbers that a program's own fault raises; every other one speaks of the board, its memory or its links.
XIDS_OF_PROGRAMS = frozenset((13, 31, 43, 45, 68, 69))
_XID_OF_PROGRAMS = "|".join(map(str, sorted(XIDS_OF_PROGRAMS)))

# What the driver calls a GPU that it cannot use at all, by the names of CUDA and of HIP.
_UNUSABLE = (
    r"\b(?:cuda_error_|cudaerror|hiperror)(?:no_?device|invalid_?device|not_?initialized|initialization_?error"
    r"|insufficient_?driver|system_?(?:driver_?mismatch|not_?ready)|compat_?not_?supported|no_?binary_?for_?gpu"
    r"|no_?kernel_?image|(?:unsupported|invalid)_?ptx|devices?_?unavailable|stub_?library)"
)

rows = (
    Cause(
        "gpu_hardware",
        "a GPU or its link failed",
        Retry.AS_IS,
        (
            "leave that node or GPU out and start again from the newest checkpoint (--exclude=NODE)",
            "give the administrators the node and its Xid line (dmesg -T | grep Xid); nvidia-smi -q -d "
            "ECC,ROW_REMAPPER shows the state of the memory",
        ),
        (
            Pattern("nvrm: xid", rf"nvrm: xid \(\S{{1,40}}\): (?!(?:{_XID_OF_PROGRAMS})\b)\d{{1,3}}\b", 0.95),
            Pattern("fallen off the bus", weight=0.97),
            Pattern("ecc error", r"uncorrectable (?:sram |dram )?ecc error", 0.97),
            Pattern(
                "cuda_error_|cudaerror",
                r"\b(?:cuda_error_|cudaerror)(?:ecc_?uncorrectable|nvlink_?uncorrectable|hardware_?stack)",
                0.96,
            ),
            Pattern("bit ecc|dbe ecc", r"double[- ]bit ecc|dbe ecc", 0.94),
            Pattern("gpu is lost", weight=0.96),
            Pattern("nvlink", r"uncorrectable nvlink error|nvlink error detected|nvlink: fatal error", 0.94),
            Pattern("unable to determine the device handle", weight=0.9),
            Pattern("hardware", r"cuda error: .{0,60}hardware", 0.85, raised=True),
            # Of a driver that lost the board in the midst of work; one that was never usable says it otherwise.
            Pattern("unknown error", r"cuda (?:runtime )?error(?: \(\d{1,3}\))? ?: unknown error", 0.8),
            Pattern("row remap", r"row remapping? (?:failure|failed)", 0.93),
            Pattern("rpc response from gpu", r"timeout after \d{1,4}s of waiting for rpc response from gpu", 0.93),
        ),
        neighbours=("cuda_illegal_access", "node_failure"),
        tell="dmesg -T | grep Xid; nvidia-smi -q -d ECC,ROW_REMAPPER",
    ),
    Cause(
        "cuda_illegal_access",
        "illegal memory access in a GPU kernel",
        Retry.AFTER_FIX,
        (
            "run once with CUDA_LAUNCH_BLOCKING=1 (or under compute-sanitizer) to see which kernel it is",
            "if it only ever happens on one node, suspect the GPU: dmesg -T | grep Xid",
        ),
        (
            Pattern("illegal memory access", weight=0.95),
            Pattern("illegal_address|illegaladdress", r"cuda_error_illegal_address|cudaerrorillegaladdress", 0.95),
            Pattern("illegal address", r"(?:warp|cuda\w{0,20}) illegal address", 0.93),
            Pattern("misaligned address", weight=0.93),
            # AMD's drivers.
            Pattern("memory access fault by gpu", weight=0.93, fatal=True),
            Pattern("memory critical error by agent", weight=0.85, fatal=True),
            Pattern(
                "hsa_status_error_",
                r"aborting with error ?: hsa_status_error_(?:exception|memory_(?:aperture|fault)|illegal_instruction)",
                0.88,
                fatal=True,
            ),
            Pattern("unspecified launch failure", weight=0.82),
            Pattern("the launch timed out and was terminated", weight=0.85),
            Pattern(
                "cuda_error_launch_failed|cudaerrorlaunchfailure",
                r"cuda_error_launch_failed|cudaerrorlaunchfailure",
                0.8,
            ),
            Pattern("illegal instruction was encountered", weight=0.8),
            Pattern("nvrm: xid", r"nvrm: xid \(\S{1,40}\): (?:13|31)\b", 0.8),
        ),
        neighbours=("gpu_hardware", "cuda_device_assert"),
        tell="CUDA_LAUNCH_BLOCKING=1; dmesg -T | grep Xid",
    ),
    Cause(
        "cuda_device_assert",
        "an assertion in a GPU kernel failed, usually an index out of range",
        Retry.AFTER_FIX,
        (
            "look for labels or token ids outside the range of the layer (vocabulary, number of classes)",
            "run once on the CPU, or with CUDA_LAUNCH_BLOCKING=1, to get the line that really failed",
        ),
        (
            Pattern("device-side assert", r"device-side assert(?!ion)", 0.96),
            Pattern(
                "thread: [", r"block: \[\d{1,9},\d{1,9},\d{1,9}\], thread: \[\d{1,9},\d{1,9},\d{1,9}\] assertion", 0.96
            ),
            Pattern("cuda_error_assert", weight=0.94),
            Pattern("cudaerrorassert", weight=0.9),
        ),
        neighbours=("cuda_illegal_access", "shape_mismatch"),
        tell="CUDA_LAUNCH_BLOCKING=1",
    ),
    Cause(
        "cuda_unavailable",
        "no usable GPU, driver or CUDA build",
        Retry.AFTER_FIX,
        (
            "check on the node: nvidia-smi, echo $CUDA_VISIBLE_DEVICES, python -c 'import torch; "
            "print(torch.version.cuda, torch.cuda.is_available())'",
            "match the CUDA version of the build to the driver, and ask the scheduler for a GPU (--gres=gpu:1)",
        ),
        (
            Pattern("busy or unavailable", r"cuda-capable devices?.{0,20}busy or unavailable", 0.94, raised=True),
            Pattern("cuda unavailable", r"cuda unavailable, invalid device", 0.94, raised=True),
            Pattern("unknown backend", r"unknown backend:? '?(?:gpu|cuda|rocm|tpu)'?", 0.94, raised=True),
            Pattern(
                "unable to initialize backend",
                r"unable to initialize backend '(?:gpu|cuda|rocm|tpu)'",
                0.9,
                raised=True,
            ),
            Pattern(
                "failed to initialize|initialization failed",
                r"\bbackend \S{1,40} but it failed to initialize|\btpu initialization failed",
                0.9,
                raised=True,
            ),
            Pattern("tpu system has not been initialized", weight=0.85),
            Pattern("invalid cuda", r"invalid cuda .?device", 0.9, raised=True),
            Pattern(
                "torch.cuda.is_available()",
                r"torch\.cuda\.is_available\(\).{0,12} (?:is|was|returned|returns|==) false",
                0.93,
                raised=True,
            ),
            Pattern("initialization error", r"cuda error: initialization error", 0.88, raised=True),
            Pattern("driver initialization failed", r"cuda driver initialization failed", 0.95, raised=True),
            Pattern("runtime error (", r"cuda runtime error \((?:(?:35|38|100)\)|30\).{1,200}thcgeneral)", 0.93),
            Pattern("no cuda gpus are available", weight=0.97),
            Pattern("found no nvidia driver", weight=0.96, raised=True),
            Pattern("not compiled with cuda|'torch._c' has no attribute '_cuda_", weight=0.96, raised=True),
            Pattern(
                "nccl built in|was not enabled in this build",
                r"doesn't have nccl built in|\b(?:cuda|gpu) tree learner was not enabled in this build",
                0.93,
                raised=True,
            ),
            Pattern(
                "gpu|ampere|cuda device",
                r"\brequires? (?:an? )?(?:nvidia |cuda |newer )?(?:gpu|cuda device|ampere)\b"
                r"|\bcan only be used on (?:an? )?(?:nvidia )?(?:gpu|cuda device)",
                0.86,
                raised=True,
            ),
            # JAX, which was asked for a platform alone that it cannot use.
            Pattern("assertionerror", r"^assertionerror\s{0,4}$", 0.86, raised=True, frame=r"/jax/_src/xla_bridge\.py"),
            Pattern("no cuda-capable device is detected", weight=0.95, raised=True),
            Pattern(
                "no cuda-capable device is detected",
                r"^\s{0,4}no cuda-capable device is detected\s{0,4}$"
                r"|cuda ?failure\b.{0,120}no cuda-capable device is detected",
                0.9,
            ),
            Pattern("driver version is insufficient", weight=0.95, raised=True),
            Pattern("nvidia driver on your system is too old", weight=0.95, raised=True),
            Pattern("unsupported toolchain", r"ptx was compiled with an unsupported toolchain", 0.95),
            Pattern("no kernel image is available", weight=0.95, raised=True),
            Pattern("kernel image is invalid", r"\bkernel image is invalid\b", 0.9, raised=True),
            Pattern("is not compatible with the current pytorch", weight=0.7, raised=True),
            Pattern("invalid device ordinal", weight=0.93, raised=True),
            Pattern(
                "cudasupporterror|no opencl device|platform_not_found_khr|device < num_gpus",
                r"cudasupporterror: |no opencl device|platform_not_found_khr|device >= 0 && device < num_gpus",
                0.9,
                raised=True,
            ),
            Pattern("devices are busy or unavailable", weight=0.93, raised=True),
            Pattern("cuda unknown error", weight=0.9, raised=True),
            Pattern(
                "torch.cuda.is_available() is false",
                r"deserialize object on a cuda device but torch\.cuda\.is_available\(\) is false",
                0.95,
                raised=True,
            ),
            Pattern("cuda", r"not implemented for cuda below version", 0.9, raised=True),
            Pattern("forward compatibility was attempted", weight=0.94, raised=True),
            Pattern("system not yet initialized", weight=0.93, raised=True),
            Pattern("driver/library version mismatch", weight=0.93),
            Pattern("couldn't communicate with the nvidia driver", weight=0.9),
            Pattern("libcuda.so", r"libcuda\.so\S{0,6}: cannot open shared object", 0.96, raised=True),
            Pattern("gpu backend", r"no supported gpu backend found", 0.95, raised=True),
            Pattern(
                "but your machine only has", r"requested gpus?: .{0,60}but your machine only has", 0.95, raised=True
            ),
            Pattern("you requested gpu", r"misconfigurationexception: you requested gpus?: ", 0.93, raised=True),
            Pattern(
                "only ",
                r"(?:require|request|need|want)\w{0,4} \d{1,4} (?:gpus?|devices?)\b.{0,60}\bonly \d{1,4} ",
                0.86,
                raised=True,
            ),
            Pattern("cuda setup failed despite", weight=0.9, raised=True),
            Pattern(
                "cuda|gpu",
                r"(?:requires?|needs?) (?:a |an )?(?:cuda|gpu)\b.{0,80}(?:not available|unavailable|none|not "
                r"found|no gpu)|cuda is not available",
                0.8,
                raised=True,
            ),
            Pattern("unable to initialize backend 'cuda'", weight=0.85, raised=True),
            Pattern("cuda_error_|cudaerror|hiperror", _UNUSABLE, 0.9, raised=True),
            Pattern("cuda_error_|cudaerror|hiperror", rf"^(?:fatal )?error\b.{{0,120}}{_UNUSABLE}", 0.85),
            Pattern("failed to initialize nvml", weight=0.97, raised=True),
            Pattern("failed to initialize nvml", r"^failed to initialize nvml: ", 0.8),
            Pattern("failed to infer device type", weight=0.85, raised=True),
            Pattern(
                "gpu|cuda device",
                r"(?:no (?:gpu|cuda device)s? (?:(?:were|was|is|are) )?(?:found|detected|available)|you need a gpu"
                r"|gpu (?:device )?(?:is )?not (?:found|available))",
                0.95,
                raised=True,
            ),
        ),
        neighbours=("missing_module", "gpu_hardware"),
        tell="nvidia-smi; echo $CUDA_VISIBLE_DEVICES",
    ),
    Cause(
        "segfault",
        "the program crashed (segmentation fault)",
        Retry.AFTER_FIX,
        (
            "run it with PYTHONFAULTHANDLER=1 to see where; compiled extensions built for another version "
            "are the usual reason",
        ),
        (
            *ended_by(11, 0.88),
            # What Windows calls it.
            Pattern(
                "3221225477|0xc0000005",
                r"exit (?:status|code):? 3221225477\b|\b0xc0000005\b",
                0.88,
                raised=True,
                first=True,
            ),
            Pattern(
                "segmentation fault",
                r"segmentation fault(?:\s{0,12}[(\[.:,;]|\s{0,12}$|\s{2,12}"
                r"|\s(?:occur|encounter|receiv|at\b|in\b|while\b))",
                0.93,
                fatal=True,
                unless="dataloader worker|caused by",
            ),
            Pattern("sigsegv", r"\bsigsegv\b", 0.9, fatal=True, unless=r"(?:potential root|common) causes"),
            told_abroad(shell_languages.FAULTED, 0.93),
            Pattern("segfault at", r"segfault at [0-9a-f]{1,16} ip", 0.9),
            Pattern("sanitizer: ", r"^==\d{1,10}==error: (?:address|memory|thread)sanitizer: ", 0.9, fatal=True),
        ),
        role=Role.ROOT,
        neighbours=("aborted", "gpu_hardware"),
        tell="PYTHONFAULTHANDLER=1; coredumpctl info",
    ),
    Cause(
        "aborted",
        "the program aborted (SIGABRT)",
        Retry.AFTER_FIX,
        ("read the lines above it: an abort nearly always follows an error that was printed before",),
        (
            *ended_by(6, 0.74),
            *ended_by(4, 0.74),
            *ended_by(8, 0.74),
            told_abroad(shell_languages.ABORTED, 0.85),
            noticed("aborted|abort|trace trap|floating point exception|illegal instruction", 0.85),
            Pattern("trace/breakpoint trap", weight=0.85, fatal=True),
            Pattern("process abort signal", r"fatalerror: .{0,40}process abort signal", 0.74, raised=True),
            Pattern("]aborted", r"\d%\|.{1,400}\]aborted(?: \(core dumped\))?\s{0,4}$", 0.85, fatal=True),
            Pattern("libc++abi: terminating", weight=0.85, fatal=True),
            Pattern("error: aborted from ", r"\berror: aborted from \w", 0.85, fatal=True),  # Marian
            # What the loggers of C++ programs give up with.
            Pattern(
                "check failed|non-ok-status",
                r"^(?:f\d{4,8} \d\d:\d\d:\d\d.{0,80}|(?:[\d-]{10} [\d:.]{8,15}: )?f \S{1,200}:\d{1,6}"
                r"|\[[\d :,.-]{15,30} [cf] \d{1,9} \d{1,9})\] (?:\S{1,80}:\d{1,6}: {1,3})?"
                r"(?:check failed|non-ok-status)",
                0.82,
                fatal=True,
            ),
            Pattern(
                "' failed.",
                r": assertion [`'].{1,300}' failed\.\s{0,4}$",
                0.86,
                fatal=True,
                unless=r"\bthread: \[",
            ),
            Pattern("abort trap: 6", r"\babort trap: 6\b", 0.85, fatal=True),
            Pattern(
                "aborted",
                r"^\s{0,4}aborted(?: \(core dumped\))?\s{0,4}$|: aborted \(core dumped\)"
                r"|srun: error: .{1,200}: tasks? [\d,\- ]{1,80}: aborted",
                0.85,
                fatal=True,
            ),
            Pattern(
                ": cuda error|: ggml_assert(",
                r"/ggml[\w.-]{0,40}:\d{1,6}: (?:cuda error\s{0,4}$|ggml_assert\(.{1,300}\) failed)",
                0.74,
                fatal=True,
            ),
            Pattern("fatal python error", r"fatal python error: (?!segmentation)\S", 0.9, fatal=True),
            Pattern("terminate called", r"terminate called (?:after throwing|without an active)", 0.74, fatal=True),
            Pattern("sigabrt", r"\bsigabrt\b", 0.74, fatal=True),
            Pattern("double free or corruption", weight=0.92, fatal=True),
            Pattern(
                "free(): invalid|free(): double free",
                r"free\(\): (?:invalid (?:pointer|size|next size)|double free detected)",
                0.92,
                fatal=True,
            ),
            Pattern(
                "malloc(): ",
                r"malloc\(\): (?:corrupted|invalid|memory corruption|unaligned|mismatching)",
                0.92,
                fatal=True,
            ),
            Pattern("corrupted size vs", weight=0.92, fatal=True),
            Pattern("munmap_chunk(): invalid pointer", weight=0.92, fatal=True),
            Pattern("stack smashing detected", weight=0.92, fatal=True),
            Pattern(
                "floating point exception",
                r"^(?:.{0,80}: )?floating point exception(?! trapping)",
                0.88,
                fatal=True,
            ),
            Pattern(
                "illegal instruction",
                r"^(?:.{0,80}: )?illegal instruction(?: \(core dumped\))?\s{0,4}$",
                0.88,
                fatal=True,
            ),
            Pattern("pure virtual method called", weight=0.9, fatal=True),
            # All that is known where no rank says why it called that.
            Pattern(
                "mpi_abort",
                r"mpi_abort was invoked on rank|application called mpi_abort\(",
                0.4,
                fatal=True,
                role=Role.TEARDOWN,
                many=True,
            ),
        ),
        role=Role.CASCADE,
        neighbours=("segfault", "nccl_error"),
        tell="the lines just above it; coredumpctl info",
    ),
)
