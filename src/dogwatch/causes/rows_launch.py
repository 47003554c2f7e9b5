"""Causes that kept a program from starting: containers, launchers, and jobs that it waited for."""

from __future__ import annotations

from dogwatch.causes.interface import Cause, OnSlurm, Retry, Role, Sign
from dogwatch.causes.signals import complained_abroad
from dogwatch.logs.ending import tongues

rows = (
    Cause(
        "container_failed",
        "the container could not be started",
        Retry.AFTER_FIX,
        (
            "try the image and the command by hand on such a node; check image name, mounts and the path of "
            "the program inside",
        ),
        (
            Sign("cannot connect to the docker daemon", weight=0.93, fatal=True),
            Sign(
                "fatal:",
                r"^(?:\S{1,40}: )?fatal:\s{1,8}(?!not a git|unable to access|could not read|repository"
                r"|destination|remote|ambiguous|bad revision)\S.{0,200}(?:executable file not found"
                r"|container|image|mount|bind|overlay|namespace|squashfs|\.sif|stat|exec|while|setuid|open)",
                0.94,
                fatal=True,
                unless=r"^[gmn]?awk: ",
            ),
            Sign("fatal:", r"^fatal:\s{3,8}\S", 0.85, fatal=True),
            Sign("fatal   [u=", r"^fatal   \[u=\d{1,10},p=\d{1,10}\]", 0.93, fatal=True),
            Sign(
                "pyxis",
                r"error: pyxis: |pyxis: (?:child|container|failed|couldn't)\b.{0,200}(?:fail|error|couldn't)",
                0.93,
                fatal=True,
            ),
            Sign("enroot-", r"enroot-\w{1,20}: .{0,120}(?:fail|error|denied)", 0.6),
            Sign("hooks.d", r"/enroot/hooks\.d/\S{1,80} exited with return code [1-9]", 0.9, fatal=True),
            Sign(
                "oci runtime|runc create failed",
                r"oci runtime (?:create|exec) failed|oci runtime error|runc create failed",
                0.95,
                fatal=True,
            ),
            Sign("error response from daemon", weight=0.95, fatal=True),
            Sign("unable to start container process", weight=0.95, fatal=True),
            Sign("exec user process caused", r"\.go:\d{1,5}: exec user process caused", 0.95, fatal=True),
            Sign("ch-run[", r"^ch-run\[\d{1,10}\]: error: ", 0.93, fatal=True),
            Sign("oci runtime attempted to invoke", weight=0.95, fatal=True),
            Sign("nvidia-container-cli", r"nvidia-container-cli: .{0,80}error", 0.95, fatal=True),
            Sign("imagepullbackoff", weight=0.93, fatal=True),
            Sign("errimagepull", weight=0.93, fatal=True),
            Sign("createcontainer", r"createcontainer(?:config)?error", 0.93, fatal=True),
            Sign("manifest", r"manifest (?:for \S{1,200} )?(?:unknown|not found)", 0.9, fatal=True),
            Sign("could not open image", weight=0.93, fatal=True),
            Sign("failed to import docker image", weight=0.94, fatal=True),
            Sign("retval = ", r"^abort\s{0,4}: retval = \d", 0.9, fatal=True),
            Sign("failed to set securebits", weight=0.9, fatal=True),
        ),
        examples=(
            'FATAL:   "torchrun": executable file not found in $PATH',
            "standard_init_linux.go:228: exec user process caused: no such file or directory",
            "FATAL:   could not open image /scratch/images/train.sif: failed to retrieve path for "
            "/scratch/images/train.sif: lstat: no such file or directory",
            'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
            "slurmstepd: error: pyxis: child 8812 failed with error code: 1",
            "ABORT  : Retval = 255",
            "FATAL   [U=4711,P=812]     StageTwo()    exec /.singularity.d/actions/exec failed: no loader",
            "nvidia-container-cli: initialization error: nvml error: driver not loaded",
        ),
        counterexamples=(
            "fatal: not a git repository (or any of the parent directories): .git",
            "pyxis: imported docker image: nvcr.io#nvidia/pytorch:24.02-py3",
        ),
        neighbours=("launch_failed", "file_missing"),
        tell=OnSlurm(
            "run the same image by hand: srun --pty ... --container-image=IMAGE true",
            "run the same image by hand: docker run --rm IMAGE true",
        ),
    ),
    Cause(
        "launch_failed",
        "the program was never started",
        Retry.AFTER_FIX,
        (
            "check the command, its path, the environment it needs and the resources asked for, then start it again",
            'if it is conda activate that failed, put source "$(conda info --base)/etc/profile.d/conda.sh" before it',
        ),
        (
            Sign("container_g_join failed", weight=0.8, fatal=True),
            Sign("cannot execute: required file not found", weight=0.95, fatal=True),
            Sign("application launch failed", weight=0.93, fatal=True),
            Sign(
                "failed to run command",
                r"^(?:nohup|env|timeout|nice|stdbuf|ionice): failed to run command ",
                0.93,
                fatal=True,
            ),
            Sign(
                "execve()",
                r"error: execve\(\): .{1,200}: (?:no such file|exec format)",
                0.95,
                fatal=True,
            ),
            Sign(
                "execvp error on file",
                r"execvp error on file .{1,200} \((?:no such file|exec format)",
                0.95,
                fatal=True,
            ),
            Sign("couldn't chdir", r"error: couldn't chdir to", 0.75),
            Sign(
                "to be available|must be available|to be installed|must be installed",
                r"\b(?:command|executable|binary) (?:has to|needs to|must) be (?:available|installed)\b",
                0.8,
            ),
            Sign("unable to create step", r"unable to create step for job", 0.93, fatal=True),
            Sign("task launch", r"task launch for \S{1,40} failed on node", 0.93, fatal=True),
            Sign("launch failed", r"srun: error: .{0,120}launch failed", 0.93, fatal=True),
            Sign("batch job submission failed", weight=0.95, fatal=True),
            Sign(
                "qsub: |bsub: |msub: |oarsub: ",
                r"^(?:qsub|bsub|msub|oarsub): .{0,200}(?:\berror\b|exceed|cannot|can't|unknown|illegal|invalid"
                r"|unauthorized|not (?:found|allowed|permitted)|rejected|violates|denied|does not exist)",
                0.93,
                fatal=True,
            ),
            Sign("job not submitted", r"\bjob not submitted\b", 0.9, fatal=True),
            Sign("failedscheduling", r"\bfailedscheduling\b.{0,120}\b\d{1,5}/\d{1,5} nodes are available", 0.8),
            # What Slurm's commands refuse; of tasks that ran they speak by node and task.
            Sign(
                "srun: error: |salloc: error: |sbatch: error: ",
                r"^(?:sbatch|salloc): error: \S|^srun: error: (?:unable to|invalid|cannot|can't|could not|failed to"
                r"|unknown|no such|access denied|cpu count|memory specification|qos|resolve_|fetch_config"
                r"|only allocated|more |ambiguous|incompatible|required)",
                0.8,
                unless=r"\btemporarily|retry|\bsignal\b|\bi/o\b|terminate|: error: (?:for instance|line must start)",
            ),
            Sign("has been revoked", r"job allocation \d{1,12} has been revoked", 0.85, fatal=True),
            Sign(
                "group creation timed out|group startup timed out",
                r"(?:placement|worker) group (?:creation|startup) timed out",
                0.86,
                raised=True,
            ),
            Sign("prolog failure on node|error: prolog failed", weight=0.88, fatal=True),
            Sign(
                "error: failed to spawn: |error: no interpreter found for",
                r"^error: (?:failed to spawn: |no interpreter found for )",
                0.93,
                fatal=True,
            ),
            Sign("no such kernel named", weight=0.88, raised=True),
            # What runs another program and does not find it.
            Sign(
                "no such file or directory",
                r"^(?:/\S{1,60}/)?(?:xargs|time|setsid|taskset|chrt|numactl|sudo|unshare|setpriv|ionice|flock|strace): "
                r".{1,200}: no such file or directory\s{0,4}$",
                0.92,
            ),
            Sign("/bin/env: ", r"^/usr/bin/env: .{1,120}: no such file or directory", 0.9),
            Sign(": fatal: ", r"^(?:sbatch|srun|salloc): fatal: \S", 0.92, fatal=True),
            Sign(
                "unable to allocate resources",
                r"(?:srun|salloc|sbatch): error: unable to allocate resources",
                0.95,
                fatal=True,
            ),
            Sign("command not found", r"^(?!-)[^|]{0,160}: command not found\s{0,4}$", 0.8),
            complained_abroad(tongues.NO_COMMAND, 0.8),
            Sign(
                ": not found",
                r"^(?:/\S{1,40}/)?(?:ba|da|k|z)?sh: (?:line )?\d{1,6}: \S{1,120}: not found\s{0,4}$"
                r"|: line \d{1,6}: exec: \S{1,120}: not found\s{0,4}$",
                0.85,
            ),
            # A part of a program that is not installed, and modules of a cluster that are not there.
            Sign(
                " is not a git command| is not a docker command",
                r"^(?:git|docker): '[\w-]{1,40}' is not a (?:git|docker) command",
                0.85,
            ),
            Sign(
                "unable to locate a modulefile for|module(s) are unknown|module(s) exist but cannot be loaded",
                r"^(?:error: |modulecmd.{0,80})unable to locate a modulefile for|^(?:lmod.{0,80})?the following "
                r"module\(s\) (?:are unknown|exist but cannot be loaded)",
                0.74,
            ),
            # Its script most often goes on without.
            Sign("your shell has not been properly configured to use", weight=0.85, fatal=True, role=Role.CASCADE),
            Sign("condaerror: run 'conda init'", weight=0.85),
            Sign("exec format error", weight=0.93, fatal=True),
            Sign("argument list too long", r": line \d{1,6}: .{1,200}: argument list too long", 0.9),
            Sign("bad interpreter", weight=0.95, fatal=True),
            Sign("unable to access executable", r"\berror: unable to access executable\b", 0.9, fatal=True),
            Sign(
                "was unable to launch|was unable to find|attempt to run as root|open the hostfile",
                r"(?:mpirun|mpiexec|prterun|orterun) (?:was unable to (?:launch|find)"
                r"|has detected an attempt to run as root)|^open rte was unable to open the hostfile",
                0.95,
                fatal=True,
            ),
            Sign("not enough slots available", weight=0.95, fatal=True),
            Sign("environmentlocationnotfound", weight=0.85),
            Sign("environmentnamenotfound", weight=0.85),
            Sign("could not find conda environment", weight=0.85),
            Sign("executable file not found in $path", weight=0.85, fatal=True),
        ),
        examples=(
            "slurmstepd: error: execve(): trainer: No such file or directory",
            "[proxy:0:0@n7] HYDU_create_process (launch.c:7): execvp error on file solve (No such file or directory)",
            "error: Failed to spawn: `trainer`",
            "error: No interpreter found for Python 3.9.7 in virtual environments or search path",
            "jupyter_client.kernelspec.NoSuchKernel: No such kernel named pt2",
            "xargs: trainer: No such file or directory",
            "/var/spool/slurmd/job72/slurm_script: line 9: torchrun: command not found",
            "go.sh: ligne 9 : torchrun : commande introuvable",
            "[launch] Error: Unable to access executable -> ./fit",
            "go.sh: 行 9: torchrun: 未找到命令",
            "/bin/sh: 4: deepspeed: not found",
            "git: 'lfs' is not a git command. See 'git --help'.",
            "ERROR: Unable to locate a modulefile for 'cuda/13.1'",
            'Lmod has detected the following error: The following module(s) are unknown: "cuda/13.1"',
            "The enroot command has to be available for that.",
            "/usr/bin/env: 'python3.11': No such file or directory",
            "nohup: failed to run command 'dcgm-agent': No such file or directory",
            "salloc: Prolog failure on node k3-6",
            "TimeoutError: Placement group creation timed out. Make sure your cluster has enough resources",
            "srun: error: Unable to create step for job 9912: Requested node configuration is not available",
            "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
            "srun: error: Only allocated 2 nodes asked for 5",
            "sbatch: error: This does not look like a batch script.  The first",
            "srun: error: Unable to confirm allocation for job 881: Invalid job id specified",
            "Warning  FailedScheduling  3m  default-scheduler  0/9 nodes are available: 9 Insufficient nvidia.com/gpu.",
            "mpirun has detected an attempt to run as root.",
            "qsub: Job exceeds queue and/or server resource limits",
            "Queue does not accept jobs of this size. Job not submitted.",
            "bash: ./run.sh: /bin/bash^M: bad interpreter: No such file or directory",
        ),
        counterexamples=("launching 8 processes", "nvtop: optional command, not found, ignored"),
        neighbours=("config_error", "container_failed"),
        tell="run the command by hand on such a node",
    ),
    Cause(
        "dependency_failed",
        "a job it depended on failed, so it never ran",
        Retry.AFTER_FIX,
        (
            OnSlurm(
                "mend and finish the job it depends on, then submit this one again (scontrol show job JOB shows "
                "the dependency)",
                "mend and finish the job it depends on, then submit this one again",
            ),
        ),
        (
            Sign("dependencyneversatisfied", weight=0.98, fatal=True),
            Sign("dependency never satisfied", weight=0.97, fatal=True),
            Sign("kill_invalid_depend", weight=0.9),
            Sign("dependency ", r"(?:job|task) dependency (?:problem|failed|can never be satisfied)", 0.96, fatal=True),
            Sign("upstream_failed", weight=0.85),
            Sign(
                "dependency job|dependency task",
                r"\bdependency (?:job|task) \S{1,60} (?:has )?failed\b",
                0.9,
                fatal=True,
            ),
            Sign("upstream ", r"\bupstream (?:job|task|step|stage)\b.{0,80}\b(?:failed|did not succeed)\b", 0.86),
        ),
        examples=(
            "JobState=PENDING Reason=DependencyNeverSatisfied Dependency=afterok:4711(failed)",
            "sbatch: error: Batch job submission failed: Job dependency problem",
            "skipping eval: upstream task train (run 8) failed",
        ),
        counterexamples=("Resolving dependency graph", "(Dependency)"),
        neighbours=("cancelled",),
        tell=OnSlurm("scontrol show job JOB | grep -i depend"),
    ),
)
