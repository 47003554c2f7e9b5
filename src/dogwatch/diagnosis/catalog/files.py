"""Causes in files and the data that is read from them: what is missing, closed to us, or not handed on."""

from __future__ import annotations

from dogwatch.diagnosis.interface import Cause, Pattern, Retry
from dogwatch.diagnosis.signals import complained_abroad
from dogwatch.logs.ending import shell_languages

rows = (
    Cause(
        "file_missing",
        "a file or folder is missing",
        Retry.AFTER_FIX,
        (
            "check the path in the line on the machine that ran it: a relative path, a mount or a finished "
            "clean-up is the usual reason",
        ),
        (
            Pattern("_src.empty()", weight=0.76, raised=True),
            Pattern("filenotfounderror", weight=0.95, raised=True),
            Pattern("non-existent directory", weight=0.93, raised=True),
            Pattern("no such file", r"no such file(?: or directory| \")", 0.9, raised=True),
            Pattern("can't open file", r"can't open file '[^']{1,300}': \[errno 2\]", 0.96, fatal=True),
            Pattern(
                "no such file or directory",
                r"^(?:\S{1,80}: )?(?:cat|cp|mv|ls|cd|tar|source|bash|sh|rm|head|mkdir|sed|[gmn]?awk|python\d?)\b"
                r".{0,200}: no such file or directory|^[a-z][\w.+-]{1,30}: .{1,300}: no such file or directory\s{0,4}$",
                0.72,
            ),
            # The last words of a program in Perl, and of Java.
            Pattern(
                "no such file or directory at ",
                r"^\S.{0,300}: no such file or directory at \S{1,200} line \d{1,6}\.",
                0.88,
            ),
            Pattern("error: unable to access jarfile", r"^error: unable to access jarfile \S", 0.93, fatal=True),
            Pattern(
                "no such file or directory", r"^[^\s:]{1,200}: line \d{1,6}: .{1,300}: no such file or directory", 0.8
            ),
            Pattern(
                "error: can't open|error: cannot open|error: could not open|error: unable to open",
                r"^(?:fatal )?error: (?:can't|cannot|could not|unable to) open (?:\w{1,20} ){0,3}(?:file|folder)\b",
                0.8,
            ),
            complained_abroad(shell_languages.NO_FILE, 0.72),
            Pattern("failed to open gguf file", weight=0.85),
            Pattern(
                "fortran runtime error: |forrtl: severe ",
                r"(?:fortran runtime error: |forrtl: severe ).{0,300}(?:no such file or directory|\bfile not found\b)",
                0.9,
                fatal=True,
            ),
            # A script's own check, before it leaves.
            Pattern(
                "✗|✘|❌",
                r"^\W{0,40}[✗✘❌][^\n]{1,200}[\w-]\.\w{1,12}['\"]? (?:is |was )?"
                r"(?:not found|missing|does not exist)\b",
                0.8,
            ),
            Pattern("no such file or directory", r"^[\w./-]{1,200}\.\w{1,8}: no such file or directory\s{0,4}$", 0.72),
            Pattern(
                "does not exist|doesn't exist",
                r"\b(?:file|folder|directory|path) ['\"`]?[\w.~-]{0,80}/[^\s'\"`]{1,300}['\"`]? "
                r"(?:does not|doesn't) exist\b",
                0.72,
            ),
            Pattern(
                "no rule to make target", r"^make(?:\[\d{1,3}\])?: \*\*\* no rule to make target '", 0.86, fatal=True
            ),
            Pattern(
                "open ",
                r"\b(?:could not|couldn't|cannot|can't|unable to|failed to) open (?:\w{1,20} ){0,3}"
                r"['\"<]?(?:[\w./-]{1,200}\.\w{1,12}\b|/[\w.-]{1,100}/[\w./-]{1,200})",
                0.85,
                raised=True,
                unless=r"\.so\b",
            ),
            Pattern("notadirectoryerror", weight=0.9, raised=True),
            # A hub takes a folder that is not there for the name of a model.
            Pattern(
                "repo id must|path_or_model_id",
                r"(?:repo id must .{1,160}|incorrect path_or_model_id): ?'(?:[./~]|[^'/]{1,80}/[^'/]{1,80}/)",
                0.95,
                raised=True,
            ),
            Pattern("is a directory|isadirectoryerror", r"isadirectoryerror|\bis a directory\b", 0.85, raised=True),
            Pattern(
                "does not exist|doesn't exist",
                r"\b(?:does not|doesn't) exist\b",
                0.85,
                raised=True,
                unless=r"\bhub\b|attribute|column|key\b|\bclass\b|gym(?:nasium)?\.error\.",
            ),
            Pattern(
                "not found|could not find|couldn't find|can't find|cannot find",
                r"(?:file|path|directory|folder|checkpoint|dataset|resource|norm\w{0,12} stats)\b.{0,120}\bnot found"
                r"|(?:could not|couldn't|can't|cannot) find (?:any |an? |the )?(?:valid )?"
                r"(?:file|checkpoint|directory|dataset|path|folder)"
                r"|(?:could not|couldn't|can't|cannot) find ['\"]?[\w./-]{1,200}\.(?:json|ya?ml|toml|csv|txt|bin|pth?"
                r"|ckpt|safetensors|model|npz?|h5|pkl|parquet|tar|zip)\b",
                0.85,
                raised=True,
            ),
            Pattern(
                "found",
                r"\bno (?:[\w.*-]{1,20} ){0,2}(?:checkpoint|file|folder|image|weight|model)s? (?:was |were )?found\b",
                0.85,
                raised=True,
            ),
            Pattern("does not appear to have a file named", weight=0.85, raised=True),
            Pattern(
                "unable to open file", r"unable to (?:synchronously )?open file \(unable to open file", 0.9, raised=True
            ),
            Pattern("stale file handle", weight=0.8, raised=True),
            Pattern("nosuchkey|nosuchbucket", r"\b(?:nosuchkey|nosuchbucket)\b", 0.92, raised=True),
            Pattern("api_core.exceptions.notfound", weight=0.9, raised=True),
            Pattern(
                " not found",
                r"(?:^|[\s'\":])(?:\.{0,2}/|~/)[^\s'\"]{2,300}['\"]? (?:was )?not found\b",
                0.88,
                raised=True,
            ),
            Pattern("no file named", r"no file named .{1,200} found in directory", 0.88, raised=True),
            Pattern("unable to open database file", weight=0.86, raised=True),
            Pattern(
                "valid path to a data directory|: system error.",
                r"\bor a valid path to a data directory|\berror opening .{1,300}: system error\.",
                0.86,
                raised=True,
            ),
            Pattern("missinginputexception", r"^missinginputexception in (?:rule|file) ", 0.93, fatal=True),
            Pattern("missing input files for rule", weight=0.9, fatal=True),
            Pattern("missingoutputexception", r"^missingoutputexception in (?:rule|file) ", 0.9, fatal=True),
        ),
        neighbours=("permission_denied", "config_error"),
        tell="ls -l PATH on the machine that ran it",
    ),
    Cause(
        "permission_denied",
        "permission denied",
        Retry.AFTER_FIX,
        ("check owner and mode of the path in the line (ls -ld PATH), or use one that is yours",),
        (
            Pattern("permissionerror", weight=0.95, raised=True),
            complained_abroad(shell_languages.NO_RIGHT, 0.72),
            Pattern("[winerror 5]", weight=0.93, raised=True),
            Pattern("permission denied", weight=0.9, raised=True),
            Pattern(
                "permission denied",
                r"^(?:\S{1,160}: ){1,3}.{0,200}permission denied\s{0,4}$|permission denied \(publickey",
                0.85,
            ),
            Pattern("execve()", r"error: execve\(\): .{1,200}: permission denied", 0.95, fatal=True),
            Pattern("execvp error on file", r"execvp error on file .{1,200} \(permission denied\)", 0.95, fatal=True),
            Pattern(
                "fatal: could not read |fatal: authentication failed for|fatal: detected dubious ownership",
                r"^fatal: (?:(?:could not read (?:username|password) for|authentication failed for) '"
                r"|detected dubious ownership)",
                0.9,
            ),
            Pattern("[errno 13]", weight=0.94, raised=True),
            Pattern("read-only file system", weight=0.92),
            Pattern("operation not permitted", weight=0.85, raised=True),
            Pattern("accessdenied|access denied", r"\baccessdenied\b|access denied", 0.88, raised=True),
            Pattern("credentialserror", r"(?:no|default|partial|invalid)credentialserror", 0.88, raised=True),
            Pattern("forbidden", r"\b403\b.{0,80}\bforbidden\b", 0.85, raised=True),
            Pattern("api_core.exceptions.forbidden", weight=0.93, raised=True),
            Pattern(
                "authenticationerror", r"\bauthenticationerror\b", 0.88, raised=True, unless="verifying the api key"
            ),
            Pattern("permissiondeniederror", weight=0.9, raised=True),
            Pattern("denied on resource", r"permission '[\w.]{1,80}' denied on resource", 0.93, raised=True),
        ),
        neighbours=("file_missing", "launch_failed"),
        tell="ls -ld PATH; id",
    ),
    Cause(
        "dataloader_worker_died",
        "a data-loading worker died",
        Retry.WITH_CHANGE,
        (
            "if the signal is Killed, check the memory of the machine and use fewer workers "
            "(num_workers): the kernel's "
            "out-of-memory killer is the usual reason; if it is Terminated or Interrupt, somebody "
            "stopped the whole job",
            "run once with num_workers=0 to see an error of the dataset itself",
        ),
        (
            Pattern(
                "dataloader worker",
                r"dataloader worker \(pid(?:\(s\))? [\d, ]{1,200}\) (?:exited unexpectedly|is killed by signal)",
                0.93,
                unless=r"bus error|out of shared memory",
            ),
            Pattern(
                "worker",
                r"(?:data ?loader|loader|dataset) worker.{0,60}(?:died|exited unexpectedly|was killed)",
                0.88,
                raised=True,
            ),
            Pattern("background workers are no longer alive", weight=0.86, raised=True),
            Pattern("pin memory thread exited unexpectedly", weight=0.8),
            Pattern("dataloader timed out after", weight=0.88, raised=True),
            # Its tensor was on its way when it died.
            Pattern(
                "connectionreseterror|connectionrefusederror|eoferror|filenotfounderror: [errno 2]",
                r"^(?:connection(?:reset|refused)error|eoferror\s{0,4}$|filenotfounderror: \[errno 2\])",
                0.97,
                raised=True,
                frame=r"/torch/multiprocessing/reductions\.py",
            ),
        ),
        neighbours=("host_oom", "shm_exhausted", "segfault"),
        tell="dmesg -T | grep -i oom; num_workers=0",
    ),
)
