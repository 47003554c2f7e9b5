"""Causes that kept a program from starting: containers, launchers, and jobs that it waited for."""

from __future__ import annotations

from dogwatch.diagnosis.interface import Cause, OnScheduler, Pattern, Retry, Role
from dogwatch.diagnosis.signals import complained_abroad
from dogwatch.logs.ending import shell_languages

rows = (
    Cause(
        "container_failed",
        "the container could not be started",
        Retry.AFTER_FIX,
        (
            "try the image and the command by hand on the same kind of node; check image name, mounts and the path of "
            "the program inside",
        ),
        (
            Pattern("cannot connect to the docker daemon", weight=0.93, fatal=True),
            Pattern(
                "fatal:",
                r"^(?:\S{1,40}: )?fatal:\s{1,8}(?!not a git|unable to access|could not read|repository"
                r"|destination|remote|ambiguous|bad revision)\S.{0,200}(?:executable file not found"
                r"|container|image|mount|bind|overlay|namespace|squashfs|\.sif|stat|exec|while|setuid|open)",
                0.94,
                fatal=True,
                unless=r"^[gmn]?awk: ",
            ),
            Pattern("fatal:", r"^fatal:\s{3,8}\S", 0.85, fatal=True),
            Pattern("fatal   [u=", r"^fatal   \[u=\d{1,10},p=\d{1,10}\]", 0.93, fatal=True),
            Pattern(
                "pyxis",
                r"error: pyxis: |pyxis: (?:child|container|failed|couldn't)\b.{0,200}(?:fail|error|couldn't)",
                0.93,
                fatal=True,
            ),
            Pattern("enroot-", r"enroot-\w{1,20}: .{0,120}(?:fail|error|denied)", 0.6),
            Pattern("hooks.d", r"/enroot/hooks\.d/\S{1,80} exited with return code [1-9]", 0.9, fatal=True),
            Pattern(
                "oci runtime|runc create failed",
                r"oci runtime (?:create|exec) failed|oci runtime error|runc create failed",
                0.95,
                fatal=True,
            ),
            Pattern("error response from daemon", weight=0.95, fatal=True),
            Pattern("unable to start container process", weight=0.95, fatal=True),
            Pattern("exec user process caused", r"\.go:\d{1,5}: exec user process caused", 0.95, fatal=True),
            Pattern("ch-run[", r"^ch-run\[\d{1,10}\]: error: ", 0.93, fatal=True),
            Pattern("oci runtime attempted to invoke", weight=0.95, fatal=True),
            Pattern("nvidia-container-cli", r"nvidia-container-cli: .{0,80}error", 0.95, fatal=True),
            Pattern("imagepullbackoff", weight=0.93, fatal=True),
            Pattern("errimagepull", weight=0.93, fatal=True),
            Pattern("createcontainer", r"createcontainer(?:config)?error", 0.93, fatal=True),
            Pattern("manifest", r"manifest (?:for \S{1,200} )?(?:unknown|not found)", 0.9, fatal=True),
            Pattern("could not open image", weight=0.93, fatal=True),
            Pattern("failed to import docker image", weight=0.94, fatal=True),
            Pattern("retval = ", r"^abort\s{0,4}: retval = \d", 0.9, fatal=True),
            Pattern("failed to set securebits", weight=0.9, fatal=True),
        ),
        neighbours=("launch_failed", "file_missing"),
        tell=OnScheduler(
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
            Pattern("container_g_join failed", weight=0.8, fatal=True),
            Pattern("cannot execute: required file not found", weight=0.95, fatal=True),
            Pattern("application launch failed", weight=0.93, fatal=True),
            Pattern(
                "failed to run command",
                r"^(?:nohup|env|timeout|nice|stdbuf|ionice): failed to run command ",
                0.93,
                fatal=True,
            ),
            Pattern(
                "execve()",
                r"error: execve\(\): .{1,200}: (?:no such file|exec format)",
                0.95,
                fatal=True,
            ),
            Pattern(
                "execvp error on file",
                r"execvp error on file .{1,200} \((?:no such file|exec format)",
                0.95,
                fatal=True,
            ),
            Pattern("couldn't chdir", r"error: couldn't chdir to", 0.75),
            Pattern(
                "to be available|must be available|to be installed|must be installed",
                r"\b(?:command|executable|binary) (?:has to|needs to|must) be (?:available|installed)\b",
                0.8,
            ),
            Pattern("unable to create step", r"unable to create step for job", 0.93, fatal=True),
            Pattern("task launch", r"task launch for \S{1,40} failed on node", 0.93, fatal=True),
            Pattern("launch failed", r"srun: error: .{0,120}launch failed", 0.93, fatal=True),
            Pattern("batch job submission failed", weight=0.95, fatal=True),
            Pattern(
                "qsub: |bsub: |msub: |oarsub: ",
                r"^(?:qsub|bsub|msub|oarsub): .{0,200}(?:\berror\b|exceed|cannot|can't|unknown|illegal|invalid"
                r"|unauthorized|not (?:found|allowed|permitted)|rejected|violates|denied|does not exist)",
                0.93,
                fatal=True,
            ),
            Pattern("job not submitted", r"\bjob not submitted\b", 0.9, fatal=True),
            Pattern("failedscheduling", r"\bfailedscheduling\b.{0,120}\b\d{1,5}/\d{1,5} nodes are available", 0.8),
            # What Slurm's commands refuse; of tasks that ran they speak by node and task.
            Pattern(
                "srun: error: |salloc: error: |sbatch: error: ",
                r"^(?:sbatch|salloc): error: \S|^srun: error: (?:unable to|invalid|cannot|can't|could not|failed to"
                r"|unknown|no such|access denied|cpu count|memory specification|qos|resolve_|fetch_config"
                r"|only allocated|more |ambiguous|incompatible|required)",
                0.8,
                unless=r"\btemporarily|retry|\bsignal\b|\bi/o\b|terminate|: error: (?:for instance|line must start)",
            ),
            Pattern("has been revoked", r"job allocation \d{1,12} has been revoked", 0.85, fatal=True),
            Pattern(
                "group creation timed out|group startup timed out",
                r"(?:placement|worker) group (?:creation|startup) timed out",
                0.86,
                raised=True,
            ),
            Pattern("prolog failure on node|error: prolog failed", weight=0.88, fatal=True),
            Pattern(
                "error: failed to spawn: |error: no interpreter found for",
                r"^error: (?:failed to spawn: |no interpreter found for )",
                0.93,
                fatal=True,
            ),
            Pattern("no such kernel named", weight=0.88, raised=True),
            # What runs another program and does not find it.
            Pattern(
                "no such file or directory",
                r"^(?:/\S{1,60}/)?(?:xargs|time|setsid|taskset|chrt|numactl|sudo|unshare|setpriv|ionice|flock|strace): "
                r".{1,200}: no such file or directory\s{0,4}$",
                0.92,
            ),
            Pattern("/bin/env: ", r"^/usr/bin/env: .{1,120}: no such file or directory", 0.9),
            Pattern(": fatal: ", r"^(?:sbatch|srun|salloc): fatal: \S", 0.92, fatal=True),
            Pattern(
                "unable to allocate resources",
                r"(?:srun|salloc|sbatch): error: unable to allocate resources",
                0.95,
                fatal=True,
            ),
            Pattern("command not found", r"^(?!-)[^|]{0,160}: command not found\s{0,4}$", 0.8),
            complained_abroad(shell_languages.NO_COMMAND, 0.8),
            Pattern(
                ": not found",
                r"^(?:/\S{1,40}/)?(?:ba|da|k|z)?sh: (?:line )?\d{1,6}: \S{1,120}: not found\s{0,4}$"
                r"|: line \d{1,6}: exec: \S{1,120}: not found\s{0,4}$",
                0.85,
            ),
            # A part of a program that is not installed, and modules of a cluster that are not there.
            Pattern(
                " is not a git command| is not a docker command",
                r"^(?:git|docker): '[\w-]{1,40}' is not a (?:git|docker) command",
                0.85,
            ),
            Pattern(
                "unable to locate a modulefile for|module(s) are unknown|module(s) exist but cannot be loaded",
                r"^(?:error: |modulecmd.{0,80})unable to locate a modulefile for|^(?:lmod.{0,80})?the following "
                r"module\(s\) (?:are unknown|exist but cannot be loaded)",
                0.74,
            ),
            # Its script most often goes on without.
            Pattern("your shell has not been properly configured to use", weight=0.85, fatal=True, role=Role.CASCADE),
            Pattern("condaerror: run 'conda init'", weight=0.85),
            Pattern("exec format error", weight=0.93, fatal=True),
            Pattern("argument list too long", r": line \d{1,6}: .{1,200}: argument list too long", 0.9),
            Pattern("bad interpreter", weight=0.95, fatal=True),
            Pattern("unable to access executable", r"\berror: unable to access executable\b", 0.9, fatal=True),
            Pattern(
                "was unable to launch|was unable to find|attempt to run as root|open the hostfile",
                r"(?:mpirun|mpiexec|prterun|orterun) (?:was unable to (?:launch|find)"
                r"|has detected an attempt to run as root)|^open rte was unable to open the hostfile",
                0.95,
                fatal=True,
            ),
            Pattern("not enough slots available", weight=0.95, fatal=True),
            Pattern("environmentlocationnotfound", weight=0.85),
            Pattern("environmentnamenotfound", weight=0.85),
            Pattern("could not find conda environment", weight=0.85),
            Pattern("executable file not found in $path", weight=0.85, fatal=True),
        ),
        neighbours=("config_error", "container_failed"),
        tell="run the command by hand on the same kind of node",
    ),
    Cause(
        "dependency_failed",
        "a job it depended on failed, so it never ran",
        Retry.AFTER_FIX,
        (
            OnScheduler(
                "fix and finish the job it depends on, then submit this one again (scontrol show job JOB shows "
                "the dependency)",
                "fix and finish the job it depends on, then submit this one again",
            ),
        ),
        (
            Pattern("dependencyneversatisfied", weight=0.98, fatal=True),
            Pattern("dependency never satisfied", weight=0.97, fatal=True),
            Pattern("kill_invalid_depend", weight=0.9),
            Pattern(
                "dependency ", r"(?:job|task) dependency (?:problem|failed|can never be satisfied)", 0.96, fatal=True
            ),
            Pattern("upstream_failed", weight=0.85),
            Pattern(
                "dependency job|dependency task",
                r"\bdependency (?:job|task) \S{1,60} (?:has )?failed\b",
                0.9,
                fatal=True,
            ),
            Pattern("upstream ", r"\bupstream (?:job|task|step|stage)\b.{0,80}\b(?:failed|did not succeed)\b", 0.86),
        ),
        neighbours=("cancelled",),
        tell=OnScheduler("scontrol show job JOB | grep -i depend"),
    ),
)
