"""Causes that come from outside a program that ran: schedulers, people, nodes."""

from __future__ import annotations

from dogwatch.diagnosis.interface import Cause, OnScheduler, Pattern, Retry, Role
from dogwatch.diagnosis.signals import ended_by, noticed, told_abroad
from dogwatch.logs.ending import shell_languages

_AT = r" \S{1,60} (?:ON \S{1,120} )?CANCELLED AT \S{1,40}\s{0,4}\*\*\*"

rows = (
    Cause(
        "time_limit",
        "the job reached its time limit",
        Retry.WITH_CHANGE,
        (
            "ask for more time, or resume from the newest checkpoint in a chain of jobs",
            OnScheduler(
                "save a checkpoint on a signal before the end (Slurm: --signal=B:USR1@300)",
                "save a checkpoint on a signal before the end",
            ),
        ),
        (
            Pattern("wallclock time", r"exceeded (?:hard|soft) wallclock time", 0.93, fatal=True),
            Pattern("due to time limit", weight=0.98, fatal=True),
            Pattern("job killed: ", r"job killed: (?:walltime|cput) \S{1,20} exceeded limit", 0.97, fatal=True),
            Pattern("walltime limit", r"\bjob exceeded its walltime limit\b", 0.96, fatal=True),
            Pattern('limit "', r"exceeds job (?:hard|soft) limit \"[hs]_(?:rt|cpu)\"", 0.95, fatal=True),
            noticed("cpu time limit exceeded", 0.88),
            Pattern("timeout: sending signal", r"^timeout: sending signal \w{3,10} to command", 0.85, fatal=True),
            Pattern(
                "maximum execution time|execution took longer than",
                r"has exceeded the maximum execution time of \d|job failed: execution took longer than \d",
                0.93,
                fatal=True,
            ),
            Pattern("term_runlimit|term_cpulimit", weight=0.97, fatal=True),
            # A line of sacct.
            Pattern(
                "timeout ", r"^\d{1,12}\S{0,12}\s{1,20}\S.{0,100}\btimeout {1,10}\d{1,3}:\d{1,3}\b", 0.93, fatal=True
            ),
            Pattern("type=timeout", r"job\.exception type=timeout\b", 0.96, fatal=True),
            Pattern("resource allocation expired", weight=0.93, fatal=True),
            Pattern("longer than specified deadline", weight=0.93, fatal=True),
            Pattern(
                "wallclock|wall clock",
                r"exceeded (?:\w{1,8} )?wall ?clock (?:time )?limit",
                0.9,
                fatal=True,
            ),
            Pattern(
                "maximum runtime|max runtime|maxruntimeexceeded",
                r"exceeded (?:\w{1,8} )?max(?:imum)? runtime|maxruntimeexceeded",
                0.9,
                fatal=True,
            ),
            Pattern(
                "deadlineexceeded",
                r"\bdeadlineexceeded\b.{0,80}(?:job|pod|active)|(?:job|pod)\b.{0,80}\bdeadlineexceeded\b",
                0.9,
                fatal=True,
            ),
            Pattern(
                "time limit",
                r"(?:exceeded|reached|hit) (?:its |the )?(?:wall-?clock |wall |job |run )?time "
                r"limit.{0,40}(?:kill|cancel|terminat)",
                0.85,
                fatal=True,
            ),
        ),
        neighbours=("cancelled", "preempted"),
        tell=OnScheduler("sacct -j JOB -o State,Elapsed,Timelimit"),
    ),
    Cause(
        "preempted",
        "the job was preempted by another job",
        Retry.AS_IS,
        (
            OnScheduler(
                "start it again from the newest checkpoint; submit with --requeue to make this automatic",
                "start it again from the newest checkpoint",
            ),
        ),
        (
            Pattern("due to preemption", weight=0.98, fatal=True),
            # Of a preemption with requeue, and of an administrator's `scontrol requeue`.
            Pattern("due to job requeue", weight=0.75, fatal=True),
            Pattern(
                "preempt",
                r"(?:job|instance|vm|node|task|worker)\b.{0,40}\b(?:was|has been|is being|got) preempted\b(?!/)",
                0.85,
            ),
            Pattern(
                "spot instance|spot interruption|spot termination",
                r"spot instance (?:was interrupted|terminat)"
                r"|spot (?:instance )?(?:interruption|termination) (?:notice|payload|warning)",
                0.9,
                unless="user-initiated",
            ),
            Pattern(
                "termination is imminent", r"\b(?:metadata|spot|instance|vm)\b.{0,60}termination is imminent", 0.88
            ),
            Pattern("preempted", r"\bpreempted\b['\"]?\s{0,3}[=:]\s{0,3}true\b", 0.86),
            Pattern(
                "preempted ",
                r"\bpreempted (?:by (?:a )?(?:pod|job|higher|another)\b|in order to admit"
                r"|by [\w.-]{1,60}/[\w.-]{1,80} on node\b)",
                0.88,
            ),
            Pattern("scheduled event: preempt", weight=0.88),
            Pattern("maintenance event", r"maintenance event.{0,60}terminate_on_host_maintenance", 0.85),
        ),
        neighbours=("cancelled",),
        tell=OnScheduler("sacct -j JOB -o State,Reason"),
    ),
    Cause(
        "cancelled",
        "somebody cancelled the job",
        Retry.AS_IS,
        (
            OnScheduler(
                "ask who cancelled it before starting it again (sacct -j JOB -o State shows 'CANCELLED by UID')",
                "ask who cancelled it before starting it again",
            ),
        ),
        (
            Pattern("job was aborted", r"^009 \([\d.]{5,40}\) .{1,40} job was aborted", 0.85, fatal=True),
            Pattern("cancelled at", r"\*\*\* JOB" + _AT, 0.96, fatal=True),
            # Slurm cancels the step of a task that failed, too.
            Pattern("cancelled at", r"\*\*\* STEP" + _AT, 0.9, fatal=True, role=Role.CASCADE),
            Pattern("due to signal", r"cancelled at \S{1,40} due to signal\b", 0.93, fatal=True),
            Pattern("term_owner|term_admin|term_force_", weight=0.95, fatal=True),
            Pattern("srun: job has been cancelled|salloc: job has been cancelled", weight=0.93, fatal=True),
            Pattern(
                "(qdel)|deleted by", r"\bjob\b.{0,40} deleted by (?:owner|user|\S{1,60}@)|\(qdel\)", 0.93, fatal=True
            ),
            Pattern(
                "by user|by the user|by owner|by the owner",
                r"\b(?:execution|run|job|workflow|task)\b.{0,40}\b(?:aborted|cancell?ed|terminated|stopped) by "
                r"(?:the )?(?:user|owner)\b(?![-_])",
                0.88,
                fatal=True,
                unless=r"\b(?:will|would|can|may|could|if|when|not) (?:be )?",
            ),
            Pattern("type=cancel", r"job\.exception type=cancel\b", 0.95, fatal=True),
            Pattern("user-initiated", r"\bterminated due to user-initiated\b", 0.88, fatal=True),
            Pattern(
                "job was cancelled|was canceled|was cancelled",
                r"^.{0,80}\bjob (?:\d{1,12} )?was cancell?ed(?: by (?:the )?user)?\b",
                0.85,
                fatal=True,
            ),
        ),
        neighbours=("preempted", "interrupted"),
        tell=OnScheduler("sacct -j JOB -o JobID,State%30"),
    ),
    Cause(
        "node_failure",
        "a node of the job failed",
        Retry.AS_IS,
        (
            OnScheduler(
                "start it again from the newest checkpoint; leave the node out until it is repaired (--exclude=NODE)",
                "start it again from the newest checkpoint; leave the node out until it is repaired",
            ),
            "tell the administrators which node it was",
        ),
        (
            Pattern("its node has died", weight=0.94),
            Pattern("node has crashed", r"owner'?s node has crashed", 0.85),
            Pattern("due to node", r"due to node[ _]fail", 0.98, fatal=True),
            Pattern("node failure", r"srun: error: node failure on|node failure on \S", 0.97, fatal=True),
            Pattern("nodediederror", weight=0.95, raised=True),
            Pattern("marked dead", r"\bnode\b.{0,120}(?:was|has been) marked dead", 0.93),
            Pattern("lost communication", r"lost communication with a remote (?:daemon|process)", 0.85),
            Pattern("missing step on node", r"io error and missing step on node", 0.9),
            Pattern("node_fail", r"\bnode_fail\b", 0.93),
            Pattern("not responding, setting down", weight=0.92),
            Pattern("kubernetes.io/unreachable", weight=0.88),
            Pattern("system is going down", r"the system is going down for (?:reboot|power|halt|system halt)", 0.88),
            Pattern("nodelost", r"\bnodelost\b", 0.93),
            Pattern("nodenotready", r"\bnodenotready\b", 0.8),
            Pattern(
                "failed (non-responding)", r"\*\*\* (?:step|job) .{1,200} failed \(non-responding\)", 0.96, fatal=True
            ),
            Pattern(
                "requested job terminate", r"job killed: node \d.{0,120} requested job terminate", 0.93, fatal=True
            ),
        ),
        neighbours=("nccl_error", "network_error"),
        tell=OnScheduler("sinfo -R; scontrol show node NODE"),
    ),
    Cause(
        "interrupted",
        "it was interrupted (Ctrl-C, a closed terminal, a signal)",
        Retry.AS_IS,
        (
            OnScheduler(
                "start it again so that it survives a closed terminal (dogwatch run, sbatch, tmux)",
                "start it again so that it survives a closed terminal (dogwatch run, tmux)",
            ),
        ),
        (
            Pattern(
                "received sigint|received sighup|received sigterm",
                r"(?:main process )?received sig(?:int|hup|term)(?::? \(?\d{1,2}\)?)?,? ?(?:exiting|shutting|terminat"
                r"|stopping)",
                0.88,
                fatal=True,
            ),
            Pattern(
                "sigint received|sighup received|sigterm received",
                r"\bsig(?:int|hup|term) received\b.{0,80}(?:exit|shut|terminat|stop|drain)",
                0.88,
                fatal=True,
            ),
            Pattern(
                "forrtl: error (200)",
                r"forrtl: error \(200\): program aborting due to (?:control-\w{1,8}|window-close) event",
                0.93,
                fatal=True,
            ),
            # Ray's workers say it whoever ends them.
            Pattern("sigterm received at time=", r"\*\*\* sigterm received at time=", 0.69, role=Role.CASCADE),
            # Lightning's handler, before whatever the signal makes of the run.
            Pattern("received sigterm: 15", r"(?:^|\] )received sigterm: 15\s{0,4}$", 0.74, role=Role.CASCADE),
            # vLLM's engine says it whoever ended the server.
            Pattern("received signal=sig", r"trigger received signal=sig(?:int|term)", 0.7, role=Role.CASCADE),
            Pattern(
                "make: ***|]: ***",
                r"^make(?:\[\d{1,3}\])?: \*\*\* \[.{1,200}\] (?:interrupt|terminated|hangup)\s{0,4}$",
                0.88,
                fatal=True,
            ),
            Pattern(
                "keyboardinterrupt", r"(?:^|[\s:.\]])keyboardinterrupt\b(?!\s?(?:handler|hook|,))", 0.95, raised=True
            ),
            Pattern("detected keyboardinterrupt", weight=0.93),
            Pattern("interruptexception", r"\binterruptexception:?\s{0,4}$", 0.93, fatal=True),
            Pattern(
                "caught signal|received signal|got signal",
                r"^(?:.{0,80}[\]:] )?(?:caught|received|got) signal:? (?:1|2|15|sigint|sigterm|sighup)\b",
                0.74,
            ),
            Pattern("death signal", r"received (?:\d{1,2}|signals\.sig\w{1,6}) death signal", 0.88, fatal=True),
            Pattern("got signal", r"signalexception: process \d{1,10} got signal: \d{1,2}", 0.9, fatal=True),
            Pattern("srun: interrupt", weight=0.93),
            *ended_by(2, 0.7, Role.CASCADE),
            *ended_by(15, 0.7, Role.CASCADE),
            Pattern(
                "process killed (sigterm)|process interrupted (sigint)", weight=0.74, fatal=True, role=Role.CASCADE
            ),
            Pattern(
                "interrupted by|user interrupted|interrupt signal received|keyboard interrupt",
                r"\b(?:training|evaluation|execution|run|process|program|job) (?:was |has been )?interrupted by "
                r"(?:the )?user"
                r"|\buser interrupted (?:the )?(?:training|execution|run)|^interrupted by (?:the )?user"
                r"|\binterrupt signal received\b"
                r"|\bkeyboard interrupt(?:ion)?(?: (?:received|caught|detected))?(?:[.!,:]|$)",
                0.86,
                fatal=True,
            ),
            # Paddle's launcher ends the others so, too, when one trainer has failed.
            Pattern("`termination signal`", weight=0.74, fatal=True, role=Role.CASCADE, many=True),
            Pattern("3221225786", r"exit (?:status|code):? 3221225786\b", 0.88, raised=True, first=True),
            Pattern("cancelling snakemake on user request", weight=0.85, fatal=True),
            Pattern("hangup", r"^\s{0,4}hangup\s{0,4}$", 0.8, fatal=True),
            noticed("hangup|user defined signal|alarm clock", 0.7),
            Pattern(
                "terminated",
                r"^\s{0,4}terminated\s{0,4}$|: line \d{1,6}:\s{1,8}\d{1,10} terminated\b"
                r"|\d%.{1,400}[^\w\s'\"]terminated\s{0,4}$",
                0.7,
                fatal=True,
            ),
        ),
        neighbours=("cancelled", "killed"),
        tell=OnScheduler("last -x | head; sacct -j JOB -o State%30", "last -x | head"),
    ),
    Cause(
        "killed",
        "killed with SIGKILL; who sent it is not recorded",
        Retry.WITH_CHANGE,
        (
            "check the kernel's out-of-memory killer first (dmesg -T | grep -i oom): it is the usual "
            "sender, and leaves "
            "no message in the log of the job",
            OnScheduler(
                "then check limits and who could have killed it: sacct -j JOB -o State,ExitCode,MaxRSS, "
                "and the log of the machine",
                "then check limits and who could have killed it: the system log",
            ),
        ),
        (
            *ended_by(9, 0.72),
            # What a launcher saw before anything else ended.
            Pattern("failed (exitcode: -9)", weight=0.74, fatal=True, role=Role.ROOT, many=True),
            Pattern(
                "killed", r"(?:\d%|\d/\d{1,12} \[[=>.]{3,80}\]).{1,400}[^a-z_\s'\"]killed\s{0,4}$", 0.85, fatal=True
            ),
            Pattern("brokenprocesspool", weight=0.62, raised=True),
            Pattern("terminated abruptly", r"process in the process pool was terminated abruptly", 0.62, raised=True),
            Pattern("subprocesses has abruptly died", weight=0.76, raised=True),
            Pattern("killed", r"^\s{0,4}killed(?:: 9)?\s{0,4}$", 0.85, fatal=True),
            noticed("killed", 0.88),
            told_abroad(shell_languages.KILLED, 0.85),
            Pattern("term_external_signal", weight=0.8, fatal=True),
            Pattern("exceeded limit", r"job killed: \w{2,12} \S{1,20} exceeded limit", 0.72, fatal=True),
            Pattern("killedworker", weight=0.85, raised=True),
            Pattern("killed", r"^make(?:\[\d{1,3}\])?: \*\*\* \[.{1,200}\] killed\s{0,4}$", 0.85, fatal=True),
            Pattern("killed ##", r"^## oar .{0,60}job \d{1,12} killed ##", 0.75, fatal=True),
            Pattern("killed", r"srun: error: .{1,200}: tasks? [\d,\- ]{1,80}: killed", 0.7, fatal=True),
            Pattern(
                "sigkill",
                r"(?:terminated|died) with (?:signal sigkill|<signals\.sigkill)|signal: ?sigkill|received sigkill"
                r"|exit codes? of the workers? (?:are|is) .{0,80}\bsigkill\(",
                0.75,
                fatal=True,
            ),
        ),
        role=Role.CASCADE,
        neighbours=("host_oom", "cancelled"),
        tell="dmesg -T | grep -i -E 'oom|killed process'",
    ),
    Cause(
        "stalled",
        "it was stopped because it made no progress",
        Retry.AS_IS,
        (
            "next time, dump the stacks of the stuck process before it ends (py-spy dump --pid PID)",
            "start it again from the newest checkpoint; if it stops at the same step, look at the data of that step",
        ),
        (
            Pattern(
                "subsequent heartbeat|initial heartbeat",
                r"did not get (?:initial|subsequent) heartbeat\. waited [\d.]{1,9} seconds",
                0.9,
                fatal=True,
            ),
            Pattern(
                "no progress|no training progress|no heartbeat|no output",
                r"no (?:progress|training progress|heartbeats?|output) (?:\w{1,12} ){0,5}(?:for|in|since) "
                r"(?:the last )?[\d.]{1,9} ?(?:s|sec|min|m|h)[\w.]{0,8}\b.{0,90}"
                r"(?:abort|kill|terminat|exit|giving up|restart)",
                0.9,
                fatal=True,
            ),
            Pattern("failed: timeout ", r"^(?:e {1,8})?failed: timeout \(?>[\d.]{1,9}s\b", 0.86),
            # Python's faulthandler, which may only look and go on.
            Pattern("timeout (", r"^timeout \(\d{1,4}:\d\d:\d\d(?:\.\d{1,6})?\)!\s{0,4}$", 0.86),
            Pattern(
                "hang detected|stall detected",
                r"(?:hang|stall) detected.{0,80}(?:abort|kill|terminat|exit|restart)",
                0.88,
                fatal=True,
            ),
        ),
        neighbours=("nccl_timeout",),
        tell="py-spy dump --pid PID",
    ),
)
