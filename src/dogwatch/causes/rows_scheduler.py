"""Causes that come from outside the program: schedulers, people, nodes, containers and launchers."""

from __future__ import annotations

from dogwatch.causes.interface import Cause, Retry, Role, Sign

_AT = r" \S{1,60} (?:ON \S{1,120} )?CANCELLED AT \S{1,40}\s{0,4}\*\*\*"

rows = (
    Cause(
        "time_limit",
        "the job reached its time limit",
        Retry.WITH_CHANGE,
        (
            "ask for more time, or resume from the newest checkpoint in a chain of jobs",
            "save a checkpoint on a signal before the end (Slurm: --signal=B:USR1@300)",
        ),
        (
            Sign("due to time limit", weight=0.98, fatal=True),
            Sign("job killed: walltime", r"job killed: walltime \S{1,20} exceeded limit", 0.97, fatal=True),
            Sign("term_runlimit", weight=0.97, fatal=True),
            Sign("type=timeout", r"job\.exception type=timeout\b", 0.96, fatal=True),
            Sign("resource allocation expired", weight=0.93, fatal=True),
            Sign("longer than specified deadline", weight=0.93, fatal=True),
            Sign(
                "wallclock time limit|wall clock time limit",
                r"exceeded (?:\w{1,8} )?wall ?clock time limit",
                0.9,
                fatal=True,
            ),
            Sign(
                "maximum runtime|max runtime|maxruntimeexceeded",
                r"exceeded (?:\w{1,8} )?max(?:imum)? runtime|maxruntimeexceeded",
                0.9,
                fatal=True,
            ),
            Sign(
                "deadlineexceeded",
                r"\bdeadlineexceeded\b.{0,80}(?:job|pod|active)|(?:job|pod)\b.{0,80}\bdeadlineexceeded\b",
                0.9,
                fatal=True,
            ),
            Sign(
                "time limit",
                r"(?:exceeded|reached|hit) (?:its |the )?(?:wall-?clock |wall |job |run )?time "
                r"limit.{0,40}(?:kill|cancel|terminat)",
                0.85,
                fatal=True,
            ),
        ),
        examples=(
            "slurmstepd: error: *** JOB 5150 ON gpu12 CANCELLED AT 2026-01-09T04:11:00 DUE TO TIME LIMIT ***",
            "slurmstepd: error: *** STEP 5150.0 ON gpu12 CANCELLED AT 2026-01-09T04:11:00 DUE TO TIME LIMIT ***",
            "=>> PBS: job killed: walltime 86431 exceeded limit 86400",
            "TERM_RUNLIMIT: job killed after reaching LSF run time limit.",
            "Run exceeded maximum runtime of 3600 seconds and was stopped",
            "7200.3s: job.exception type=timeout severity=0 resource allocation expired",
        ),
        counterexamples=("timeout=1800", "Time limit reached: validation stopped early", "time limit: 24:00:00"),
        neighbours=("cancelled", "preempted"),
        tell="sacct -j JOB -o State,Elapsed,Timelimit",
    ),
    Cause(
        "preempted",
        "the job gave way to another (preemption)",
        Retry.AS_IS,
        ("start it again from the newest checkpoint; submit with --requeue so that this happens by itself",),
        (
            Sign("due to preemption", weight=0.98, fatal=True),
            # Of a preemption with requeue, and of an administrator's `scontrol requeue`.
            Sign("due to job requeue", weight=0.75, fatal=True),
            Sign(
                "preempt",
                r"(?:job|instance|vm|node|task|worker)\b.{0,40}\b(?:was|has been|is being|got) preempted\b(?!/)",
                0.85,
            ),
            Sign("spot instance", r"spot instance (?:interruption notice|was interrupted|terminat)", 0.9),
            Sign("preempted", r"\bpreempted\b['\"]?\s{0,3}[=:]\s{0,3}true\b", 0.86),
            Sign("preempted ", r"\bpreempted (?:by (?:a )?(?:pod|job|higher|another)\b|in order to admit)", 0.88),
            Sign("scheduled event: preempt", weight=0.88),
            Sign("maintenance event", r"maintenance event.{0,60}terminate_on_host_maintenance", 0.85),
        ),
        examples=(
            "slurmstepd: error: *** JOB 5151 ON gpu12 CANCELLED AT 2026-01-09T04:11:00 DUE TO PREEMPTION ***",
            "slurmstepd: error: *** JOB 5152 ON gpu13 CANCELLED AT 2026-01-09T05:20:41 DUE TO JOB REQUEUE ***",
            "The instance was preempted by the provider; shutting down",
            "Preempted by pod team-b/large-7 on node gpu-2",
            "metadata says instance/preempted: TRUE, 30 s are left",
        ),
        counterexamples=("'reached_preemption': False", "preempted=False", "preemptible partition, priority 10"),
        neighbours=("cancelled",),
        tell="sacct -j JOB -o State,Reason",
    ),
    Cause(
        "cancelled",
        "somebody cancelled the job",
        Retry.AS_IS,
        ("ask who cancelled it before starting it again (sacct -j JOB -o State shows 'CANCELLED by UID')",),
        (
            Sign("cancelled at", r"\*\*\* JOB" + _AT, 0.96, fatal=True),
            # Slurm cancels the step of a task that failed, too.
            Sign("cancelled at", r"\*\*\* STEP" + _AT, 0.9, fatal=True, role=Role.CASCADE),
            Sign("term_owner", weight=0.95, fatal=True),
            Sign("(qdel)|deleted by", r"\bjob\b.{0,40} deleted by (?:owner|user|\S{1,60}@)|\(qdel\)", 0.93, fatal=True),
            Sign(
                "by user|by the user|by owner|by the owner",
                r"\b(?:execution|run|job|workflow|task)\b.{0,40}\b(?:aborted|cancell?ed|terminated|stopped) by "
                r"(?:the )?(?:user|owner)\b(?![-_])",
                0.88,
                fatal=True,
                unless=r"\b(?:will|would|can|may|could|if|when|not) (?:be )?",
            ),
            Sign("type=cancel", r"job\.exception type=cancel\b", 0.95, fatal=True),
            Sign(
                "job was cancelled|was canceled|was cancelled",
                r"^.{0,80}\bjob (?:\d{1,12} )?was cancell?ed(?: by (?:the )?user)?\b",
                0.85,
                fatal=True,
            ),
        ),
        examples=(
            "slurmstepd: error: *** JOB 5152 ON gpu12 CANCELLED AT 2026-01-09T04:11:00 ***",
            "  8%|▊         | 4/50 [21:40<4:11:00, 327.1s/it]slurmstepd: error: *** JOB 5152 ON gpu12 "
            "CANCELLED AT 2026-01-09T04:11:00 ***",
            "TERM_OWNER: job killed by owner.",
            "PBS: job killed: job 7712 deleted by owner kim@login2",
            "Workflow train-7 was terminated by user kim",
            "0.412s: job.exception type=cancel severity=0 ",
        ),
        counterexamples=(
            "slurmstepd: error: *** STEP 5152.0 ON gpu12 CANCELLED AT 2026-01-09T04:11:00 DUE TO TASK FAILURE ***",
            "slurmstepd: error: *** JOB 5150 ON gpu12 CANCELLED AT 2026-01-09T04:11:00 DUE TO TIME LIMIT ***",
        ),
        neighbours=("preempted", "interrupted"),
        tell="sacct -j JOB -o JobID,State%30",
    ),
    Cause(
        "node_failure",
        "a machine of the job failed or was lost",
        Retry.AS_IS,
        (
            "start it again from the newest checkpoint; leave the node out until it is mended (--exclude=NODE)",
            "tell the administrators which node it was",
        ),
        (
            Sign("its node has died", weight=0.94),
            Sign("node has crashed", r"owner'?s node has crashed", 0.85),
            Sign("due to node", r"due to node[ _]fail", 0.98, fatal=True),
            Sign("node failure", r"srun: error: node failure on|node failure on \S", 0.97, fatal=True),
            Sign("nodediederror", weight=0.95, raised=True),
            Sign("marked dead", r"\bnode\b.{0,120}(?:was|has been) marked dead", 0.93),
            Sign("lost communication", r"lost communication with a remote (?:daemon|process)", 0.85),
            Sign("missing step on node", r"io error and missing step on node", 0.9),
            Sign("node_fail", r"\bnode_fail\b", 0.93),
            Sign("not responding, setting down", weight=0.92),
            Sign("kubernetes.io/unreachable", weight=0.88),
            Sign("system is going down", r"the system is going down for (?:reboot|power|halt|system halt)", 0.88),
            Sign("nodelost", r"\bnodelost\b", 0.93),
        ),
        examples=(
            "slurmstepd: error: *** JOB 616 ON n042 CANCELLED AT 2026-02-02T01:00:09 DUE TO NODE FAILURE, "
            "SEE SLURMCTLD LOG FOR DETAILS ***",
            "srun: error: Node failure on n042",
            "The system is going down for reboot NOW!",
            "ORTE has lost communication with a remote daemon.",
            "The node with node id: 8f31 and address: 10.1.2.3 has been marked dead because the detector has "
            "missed too many heartbeats from it.",
        ),
        counterexamples=("node n042 is up", "if a node fails, the run resumes"),
        neighbours=("nccl_error", "network_error"),
        tell="sinfo -R; scontrol show node NODE",
    ),
    Cause(
        "interrupted",
        "it was interrupted (Ctrl-C, a closed terminal, a signal)",
        Retry.AS_IS,
        ("start it again; run it so that it outlives the terminal (dogwatch run, sbatch, tmux)",),
        (
            Sign(
                "received sigint|received sighup|received sigterm",
                r"(?:main process )?received sig(?:int|hup|term)(?::? \(?\d{1,2}\)?)?,? ?(?:exiting|shutting|terminat"
                r"|stopping)",
                0.88,
                fatal=True,
            ),
            Sign("keyboardinterrupt", r"(?:^|[\s:.\]])keyboardinterrupt\b(?!\s?(?:handler|hook|,))", 0.95, raised=True),
            Sign("detected keyboardinterrupt", weight=0.93),
            Sign("interruptexception", r"\binterruptexception:?\s{0,4}$", 0.93, fatal=True),
            Sign("death signal", r"received (?:\d{1,2}|signals\.sig\w{1,6}) death signal", 0.88, fatal=True),
            Sign("got signal", r"signalexception: process \d{1,10} got signal: \d{1,2}", 0.9, fatal=True),
            Sign("srun: interrupt", weight=0.93),
            Sign("hangup", r"^\s{0,4}hangup\s{0,4}$", 0.8, fatal=True),
            Sign(
                "terminated", r"^\s{0,4}terminated\s{0,4}$|: line \d{1,6}:\s{1,8}\d{1,10} terminated\b", 0.7, fatal=True
            ),
        ),
        examples=(
            "KeyboardInterrupt",
            "[rank3]: KeyboardInterrupt",
            "received SIGTERM: 15, exiting",
            "W0109 04:11:00.123000 881 torch/distributed/elastic/agent/server/api.py:704] Received "
            "Signals.SIGHUP death signal, shutting down workers",
            "torch.distributed.elastic.multiprocessing.api.SignalException: Process 881 got signal: 15",
        ),
        counterexamples=("press Ctrl-C to stop (KeyboardInterrupt, handled)", "Setting signal handlers."),
        neighbours=("cancelled", "killed"),
        tell="last -x | head; sacct -j JOB -o State%30",
    ),
    Cause(
        "killed",
        "it was killed from outside (SIGKILL), by whom is not recorded",
        Retry.WITH_CHANGE,
        (
            "look for the kernel's memory killer first (dmesg -T | grep -i oom); it is the usual killer that "
            "leaves no word",
            "then for limits and people: sacct -j JOB -o State,ExitCode,MaxRSS, and the log of the machine",
        ),
        (
            Sign("exitcode", r"exitcode\s{0,8}:? -9\b", 0.7, fatal=True),
            Sign("brokenprocesspool", weight=0.62, raised=True),
            Sign(
                "code 137|code: 137|status 137|status: 137",
                r"exit(?:ed)?(?: with)?(?: exit)? (?:code|status):? 137\b",
                0.72,
                fatal=True,
            ),
            Sign("terminated abruptly", r"process in the process pool was terminated abruptly", 0.62, raised=True),
            Sign("killed", r"^\s{0,4}killed\s{0,4}$", 0.85, fatal=True),
            Sign("killed", r"^make(?:\[\d{1,3}\])?: \*\*\* \[.{1,200}\] killed\s{0,4}$", 0.85, fatal=True),
            Sign("killed ##", r"^## oar .{0,60}job \d{1,12} killed ##", 0.75, fatal=True),
            Sign("killed", r": line \d{1,6}:\s{1,8}\d{1,10} killed\b", 0.88, fatal=True),
            Sign("killed", r"srun: error: .{1,200}: tasks? [\d,\- ]{1,80}: killed", 0.7, fatal=True),
            Sign("sigkill", r"signal 9 \(sigkill\) received by pid|died with <signals\.sigkill", 0.72, fatal=True),
            Sign("signal 9|signal: 9", r"(?:killed|terminated|exited) (?:by|with|on) signal:? 9\b", 0.8, fatal=True),
            Sign("sigkill", r"terminated with signal sigkill|signal: ?sigkill|received sigkill", 0.75, fatal=True),
        ),
        role=Role.CASCADE,
        examples=(
            "Killed",
            "trainer-1 exited with code 137",
            "/var/spool/slurmd/job71/slurm_script: line 14:  2211 Killed                  python train.py",
            "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal SIGKILL",
        ),
        counterexamples=("Killing subprocess 881", "0 workers killed so far", "killed=0"),
        neighbours=("host_oom", "cancelled"),
        tell="dmesg -T | grep -i -E 'oom|killed process'",
    ),
    Cause(
        "container_failed",
        "the container could not be started",
        Retry.AFTER_FIX,
        (
            "try the image and the command by hand on such a node; check image name, mounts and the path of "
            "the program inside",
        ),
        (
            Sign(
                "fatal:",
                r"^(?:\S{1,40}: )?fatal:\s{1,8}(?!not a git|unable to access|could not read|repository"
                r"|destination|remote|ambiguous|bad revision)\S.{0,200}(?:executable file not found"
                r"|container|image|mount|bind|overlay|namespace|squashfs|\.sif|stat|exec|while|setuid|open)",
                0.94,
                fatal=True,
            ),
            Sign("fatal:", r"^fatal:\s{3,8}\S", 0.85, fatal=True),
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
            Sign("oci runtime attempted to invoke", weight=0.95, fatal=True),
            Sign("nvidia-container-cli", r"nvidia-container-cli: .{0,80}error", 0.95, fatal=True),
            Sign("imagepullbackoff", weight=0.93, fatal=True),
            Sign("errimagepull", weight=0.93, fatal=True),
            Sign("createcontainer", r"createcontainer(?:config)?error", 0.93, fatal=True),
            Sign("manifest", r"manifest (?:for \S{1,200} )?(?:unknown|not found)", 0.9, fatal=True),
            Sign("could not open image", weight=0.93, fatal=True),
            Sign("failed to import docker image", weight=0.94, fatal=True),
        ),
        examples=(
            'FATAL:   "torchrun": executable file not found in $PATH',
            "FATAL:   could not open image /scratch/images/train.sif: failed to retrieve path for "
            "/scratch/images/train.sif: lstat: no such file or directory",
            'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
            "slurmstepd: error: pyxis: child 8812 failed with error code: 1",
            "nvidia-container-cli: initialization error: nvml error: driver not loaded",
        ),
        counterexamples=(
            "fatal: not a git repository (or any of the parent directories): .git",
            "pyxis: imported docker image: nvcr.io#nvidia/pytorch:24.02-py3",
        ),
        neighbours=("launch_failed", "file_missing"),
        tell="run the same image by hand: srun --pty ... --container-image=IMAGE true",
    ),
    Cause(
        "launch_failed",
        "the program was never started",
        Retry.AFTER_FIX,
        ("check the command, its path, the environment it needs and the resources asked for, then start it again",),
        (
            Sign("container_g_join failed", weight=0.8, fatal=True),
            Sign("cannot execute: required file not found", weight=0.95, fatal=True),
            Sign("application launch failed", weight=0.93, fatal=True),
            Sign(
                "execve()",
                r"error: execve\(\): .{1,200}: (?:no such file|exec format)",
                0.95,
                fatal=True,
            ),
            Sign("couldn't chdir", r"error: couldn't chdir to", 0.75),
            Sign("unable to create step", r"unable to create step for job", 0.93, fatal=True),
            Sign("task launch", r"task launch for \S{1,40} failed on node", 0.93, fatal=True),
            Sign("launch failed", r"srun: error: .{0,120}launch failed", 0.93, fatal=True),
            Sign("batch job submission failed", weight=0.95, fatal=True),
            Sign(": fatal: ", r"^(?:sbatch|srun|salloc): fatal: \S", 0.92, fatal=True),
            Sign(
                "unable to allocate resources",
                r"(?:srun|salloc|sbatch): error: unable to allocate resources",
                0.95,
                fatal=True,
            ),
            Sign("command not found", r"^(?!-)[^|]{0,160}: command not found\s{0,4}$", 0.8),
            Sign(
                ": not found",
                r"^(?:/\S{1,40}/)?(?:ba|da|k|z)?sh: (?:line )?\d{1,6}: \S{1,120}: not found\s{0,4}$",
                0.85,
            ),
            Sign("your shell has not been properly configured to use", weight=0.85),
            Sign("exec format error", weight=0.93, fatal=True),
            Sign("bad interpreter", weight=0.95, fatal=True),
            Sign(
                "was unable to launch|was unable to find",
                r"(?:mpirun|mpiexec|prterun|orterun) was unable to (?:launch|find)",
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
            "/var/spool/slurmd/job72/slurm_script: line 9: torchrun: command not found",
            "/bin/sh: 4: deepspeed: not found",
            "srun: error: Unable to create step for job 9912: Requested node configuration is not available",
            "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
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
            "mend and finish the job it depends on, then submit this one again (scontrol show job JOB shows "
            "the dependency)",
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
        tell="scontrol show job JOB | grep -i depend",
    ),
    Cause(
        "stalled",
        "it stopped making progress and was ended for it",
        Retry.AS_IS,
        (
            "next time, dump the stacks of the stuck process before it ends (py-spy dump --pid PID)",
            "start it again from the newest checkpoint; if it stops at the same step, look at the data of that step",
        ),
        (
            Sign(
                "subsequent heartbeat|initial heartbeat",
                r"did not get (?:initial|subsequent) heartbeat\. waited [\d.]{1,9} seconds",
                0.9,
                fatal=True,
            ),
            Sign(
                "no progress|no training progress|no heartbeat|no output",
                r"no (?:progress|training progress|heartbeats?|output) (?:\w{1,12} ){0,5}(?:for|in|since) "
                r"(?:the last )?[\d.]{1,9} ?(?:s|sec|min|m|h)[\w.]{0,8}\b.{0,90}"
                r"(?:abort|kill|terminat|exit|giving up|restart)",
                0.9,
                fatal=True,
            ),
            Sign(
                "hang detected|stall detected",
                r"(?:hang|stall) detected.{0,80}(?:abort|kill|terminat|exit|restart)",
                0.88,
                fatal=True,
            ),
        ),
        examples=(
            "watchdog: no progress for 1800 seconds, aborting the run",
            "[guard] no training progress for 45 min (last step 812), terminating the job",
            "Monitor: no heartbeat from rank 7 for 900 seconds, killing the worker group",
            "no output was received for 1800 seconds, killing the job",
            "[n3] Did not get subsequent heartbeat. Waited 1801.20 seconds.",
        ),
        counterexamples=("no progress bar will be shown", "hang tight"),
        neighbours=("nccl_timeout",),
        tell="py-spy dump --pid PID",
    ),
)
