"""The words by which a log says how it ended. Data: each row is a sign, a literal that is in every such line, and
a pattern over the lower-cased line.

FAILED lines are written by what watches a process from outside (scheduler, launcher, shell, kernel) or by a program
that gives up, CRASHED ones where nobody caught an exception. GONE lines say it of a process that may have been one of
many: who speaks on is another. TOLD lines say it of one that perhaps took it and went on. Life after any of these three
refutes it. After a COMPLAINT a script often goes on, so it counts at the very end only, and an exception that is
only NAMED, as the last word only. FINISHED lines say so of the whole run, EARLY lines that it stops of its own will
before its counter is full, STOPPED lines that a server was told to and does, STAGE lines of a part that may be all
there is, BEGUN lines that something starts, perhaps again. CLOSING lines are the last words of a run that went well,
and mean that only at the very end of a log in which nothing failed. SUMMARY lines are the same where the log says
them for the first time: a score after every sample closes nothing. LAST lines say of anything that it is over, and mean
the run as the last line alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from dogwatch.logs.ending import shell_languages
from dogwatch.logs.lazily import lazily

FAILED, CRASHED, GONE, TOLD = "failed", "crashed", "gone", "told"
COMPLAINT, NAMED = "complaint", "named"
CAUGHT, IN_THREAD = "caught", "in_thread"  # of a traceback, by its outermost frame: one within the program, a thread's
FINISHED, EARLY, STOPPED = "finished", "early", "stopped"
STAGE, BEGUN, CLOSING, SUMMARY, LAST = "stage", "begun", "closing", "summary", "last"

_RUN = (
    "training|train|pre-?training|fine-?tuning|optimization|experiment|pipeline|job|run|script|program|fit|solving"
    "|simulation|integration|distillation|sweep|tuning|computation|calculation"
)
_STAGE = (
    "evaluation|evaluating|evaluate|eval|inference|generation|testing|test|bench(?:mark(?:ing)?)?|prediction|processing"
    "|preprocessing|conversion|export|build|download|compression|quantization|sampling|encoding|indexing|analysis"
)
_STOP = r"(?:[!.\s(]|！|。|$)"
# What a logger puts before its words; and what is over long before a run is.
_LOGGED = r"^[^a-z\n]{0,60}(?:(?:[\w.]{1,40}[^a-z\n]{1,10}){0,2}info[^a-z\n]{1,10})?"
_BY_THE_WAY = (
    r"(?!.{0,80}\b(?:load|read|init|compil|warm|start|set|prepar|import|connect|request|check|cach|pars|open|fetch|sync"
    r"|iter|batch|fold|round|trial|layer|block|episode|sample|chunk|file|item|epoch|step|phase|part|task|worker|rank"
    r"|data|tokeniz|calibrat|captur|allocat|quantiz))"
)
_BEFORE_IT = "集|的|数据|样本|语料|权重"  # what is read for a training, which is over before that begins
_STATUS = r"-?(?:[1-9]\d?|1\d\d|255)\b(?!/| of )"  # of a process: not one of HTTP's, nor the first of several
_RANK = r"(?:\[?rank ?\d{1,6}\]?:? ?|\[?\d{1,5}\]?: {0,2}|\([^()\n]{1,80}\) ){0,2}"


class Row(NamedTuple):
    """One way to say how it ended."""

    kind: str
    needle: bytes
    pattern: re.Pattern[bytes]


def _row(kind: str, needle: str, pattern: str = "") -> Row:
    written = (pattern or re.escape(needle)).replace("{work}", f"(?:{_RUN if kind == FINISHED else _STAGE})")
    return Row(kind, needle.encode(), lazily(written.encode()))


def _over(kind: str) -> tuple[Row, ...]:
    """That the run, or a stage, is over, in the words people use."""
    ours = r"(?<![a-z]){work}(?: of(?: [\w.-]{1,60}){1,10}|(?: [\w.-]{1,60}){0,3}) "
    is_ = "(?:is |was |has |has been |now )?"
    return (
        _row(kind, "complete", rf"{ours}{is_}complete[d!.]?(?![a-z])"),
        _row(kind, "finished", rf"{ours}{is_}finished(?![a-z])"),
        _row(kind, "done", r"(?<![a-z]){work} (?:process )?(?:is |was |all )?done(?![a-z]| ?\d)"),
        _row(kind, " end", r"(?<![a-z]){work} (?:has |was )?end(?:ed|s)(?![a-z])"),
        _row(kind, "finish", r"(?<![a-z])finish(?:ed)? (?:the )?{work}(?![a-z])"),
        _row(kind, "completed ", r"(?<![a-z])completed (?:the )?{work}(?![a-z])"),
        _row(kind, "done ", r"(?<![a-z])done:? (?:with )?(?:the |a )?{work}(?![a-z])"),
        _row(kind, " success", r"(?<![a-z]){work} (?:was |is )?success(?:ful)?(?![a-z_]|[ :=]{1,3}(?:rate|ratio|\d))"),
        _row(kind, " succeeded", r"(?<![a-z]){work} (?:has )?succeeded(?![a-z])"),
        _row(
            kind,
            "end",
            r"(?:^|(?:info|\.py:\d{1,6})[\]:]{0,2} )[^a-z0-9]{0,60}end (?:of )?(?:the )?{work}[^a-z0-9]{0,60}$",
        ),
    )


def _abroad(kind: str, words: tuple[str, ...], written: Callable[[tuple[str, ...]], str]) -> tuple[Row, ...]:
    """What a shell says in other languages: one row for each of its words, so that each is found by its literal."""
    pairs = zip(words, shell_languages.needles(words), strict=True)
    return tuple(_row(kind, needle, written((word,))) for word, needle in pairs)


ROWS = (
    # Slurm, PBS, LSF
    _row(FAILED, "cancelled at", r"\*\*\* (?:job|step|\w{1,20}) ?\S{1,40} (?:on \S{1,80} )?cancelled at "),
    _row(FAILED, "due to time limit"),
    _row(FAILED, "oom_kill event", r"detected \d{1,6} oom_kill event"),
    _row(FAILED, "oom-kill event", r"detected \d{1,6} oom-kill event"),
    _row(
        FAILED,
        "srun: error",
        r"srun: error: .{0,300}(?:exited with exit code [1-9]|: killed|: terminated|segmentation fault|aborted"
        r"|out of memory|bus error|node failure|unable to (?:create|allocate|confirm))",
    ),
    _row(FAILED, "job step aborted", r"srun: job step aborted"),
    _row(FAILED, "memory limit", r"slurmstepd: error: .{0,120}memory limit"),
    _row(FAILED, "pbs: job killed", r"=>> pbs: job killed"),
    _row(FAILED, "term_", r"^term_(?:memlimit|runlimit|owner|external_signal|requeue)"),
    # Shells, make, containers
    # Of a process that was killed nothing is written out later.
    _row(
        GONE,
        "killed",
        rf"^{_RANK}killed$|: line \d{{1,6}}: {{1,4}}\d{{1,9}} killed\b|\[[=>.]{{3,80}}\].{{1,400}}\dkilled$",
    ),
    _row(GONE, "core dumped", r"\(core dumped\)"),
    _row(GONE, "segmentation fault", r"segmentation fault(?:$|[\s!:(])"),
    _row(FAILED, "fault", r"\bsegfault at |caught signal 11|fatal python error"),
    _row(GONE, "aborted", r": line \d{1,6}: {1,4}\d{1,9} aborted\b"),
    _row(FAILED, ": cuda error", r"/ggml[\w.-]{0,40}:\d{1,6}: cuda error$"),
    _row(FAILED, ": ggml_assert(", r"/ggml[\w.-]{0,40}:\d{1,6}: ggml_assert\(.{1,300}\) failed$"),
    _row(GONE, "terminated", r": line \d{1,6}: {1,4}\d{1,9} terminated\b"),
    _row(TOLD, "terminated", rf"^{_RANK}terminated$"),
    _row(COMPLAINT, "command not found", r": command not found$"),
    _row(COMPLAINT, ": not found", r"^\S{0,80}sh: \d{1,6}: .{1,200}: not found$"),
    _row(COMPLAINT, "no such file or directory", r"(?:: line \d{1,6}|sh): .{1,300}: no such file or directory$"),
    _row(COMPLAINT, "permission denied", r"(?:: line \d{1,6}|sh): .{1,300}: permission denied$"),
    _row(COMPLAINT, "can't open file", r"python\S{0,40}: can't open file "),
    _row(COMPLAINT, "error while finding module", r": error while finding module specification for"),
    _row(COMPLAINT, "no module named", r"python\S{0,40}: no module named "),
    _row(FAILED, "***", r"^g?make(?:\[\d{1,3}\])?: \*\*\* .{0,200}(?:error \d|interrupt|killed|terminated)"),
    # Snakemake, where the log that it names holds the reason
    _row(FAILED, "exiting because a job execution failed", r"^exiting because a job execution failed"),
    _row(TOLD, "one of the commands exited with non-zero", r"^\s{1,12}\(one of the commands exited with non-zero exit"),
    _row(TOLD, "cancelling snakemake on user request", r"^cancelling snakemake on user request"),
    _row(FAILED, "fatal:", rf"^{_RANK}fatal: {{2,6}}\S"),
    _row(FAILED, "error response from daemon"),
    _row(FAILED, "non-zero code", r"^the command '.{1,400}' returned a non-zero code: \d"),
    _row(FAILED, "(unix time)", r"^(?:\[\d{1,4},\d{1,5}\]<std\w{3}>: ?)?\*\*\* aborted at \d{6,12} \(unix time\)"),
    _row(
        TOLD,
        "(): ",
        r"^(?:free|malloc|realloc|munmap_chunk|malloc_consolidate)\(\): (?:double|invalid|corrupt|unaligned|mismatch)",
    ),
    _row(TOLD, "double free or corruption"),
    _row(TOLD, "error while attempting to bind on address"),
    _row(TOLD, "stack smashing detected", r"\*\*\* stack smashing detected \*\*\*"),
    _row(FAILED, "oci runtime", r"oci runtime (?:create|exec) failed"),
    _row(COMPLAINT, "error: ", r"\.py: error: (?:argument|unrecognized|the following|ambiguous|invalid)"),
    _row(GONE, "conda run", r"error conda\.cli\.main_run:execute.{0,80}conda run"),
    # An exception by its name alone, where the traceback went elsewhere
    _row(
        NAMED,
        "error",
        rf"^{_RANK}(?:[a-z_][\w.]{{0,80}}\.)?(?!brokenpipe)[a-z_]{{2,40}}error(?::|$)(?!.{{0,40}}conda deactivate)",
    ),
    _row(NAMED, "exception", rf"^{_RANK}(?:[a-z_][\w.]{{0,80}}\.)?[a-z_]{{0,40}}exception: "),
    _row(NAMED, "interrupt", rf"^{_RANK}keyboardinterrupt(?::|$)"),
    # A script's own check, before it leaves
    *(
        _row(NAMED, mark, rf"^[^a-z0-9]{{0,40}}{mark}.{{1,200}}\.\w{{1,12}}['\"]? (?:is |was )?(?:not found|missing)\b")
        for mark in ("✗", "✘", "❌")
    ),
    _row(TOLD, "interrupted", r"\binterrupted by (?:the )?user\b|\buser interrupted (?:execution|training|the)\b"),
    _row(TOLD, "interrupt signal received"),
    _row(TOLD, "keyboard interrupt", r"\bkeyboard interrupt(?:ion)?(?: (?:received|caught|detected))?(?:[.!,:]|$)"),
    _row(TOLD, "stacktrace:", r"^stacktrace:$"),  # of Julia; a logger would put a rail before it
    # Launchers
    _row(FAILED, "childfailederror"),
    _row(FAILED, "exits with return code", r"exits with return code = -?[1-9]"),
    _row(FAILED, "exitcode", r"\bexitcode {0,3}[:=] {0,2}-?[1-9]"),
    _row(GONE, "exit code", r"(?<!exit with )\bexit code(?: was| is| of)?[:=]? {0,2}-?[1-9]\d{0,3}\b"),
    _row(GONE, "died with <signals.", r"\bdied with <signals\.sig\w{2,6}: \d{1,2}>"),
    _row(GONE, "exit status", r"\bexit status[:=]? {0,2}-?[1-9]\d{0,3}\b"),
    *(
        _row(
            GONE,
            f"ed with {word}",
            rf"(?:end|exit|fail|finish|return|terminat)ed with {word}[:=]? {{0,2}}{_STATUS}",
        )
        for word in ("code", "status", "return code")
    ),
    _row(GONE, "ed with 1", r"\b(?:exit|terminat)ed with 1(?:2[89]|[345]\d)[\s.,;)]{0,4}$"),
    _row(FAILED, "error executing job with overrides"),
    _row(FAILED, "exiting because a job execution failed"),
    _row(
        TOLD,
        "received",
        r"\breceived sig(?:term|int|quit|hup|kill|abrt|usr[12])\b|\bsig(?:term|int|quit|hup) received",
    ),
    _row(FAILED, "signal", r"received \d{1,3} death signal|got signal: \d|exited on signal \d|closing signal sig"),
    _row(FAILED, "detected keyboardinterrupt"),
    _row(FAILED, "process received signal", r"\*\*\* process received signal \*\*\*"),
    _row(FAILED, "execvp error on file"),
    _row(FAILED, "primary job", r"primary job {1,3}terminated normally, but"),
    _row(FAILED, "mpi_abort was invoked"),
    _row(FAILED, "non-zero status", r"^(?:mpirun|mpiexec|prterun|orterun) detected .{0,80}exited with non-zero status"),
    _row(TOLD, "worker died", r"a worker died or was killed|worker \S{1,80} died|worker process .{0,60}died"),
    _row(FAILED, "actordiederror", r"\bactordiederror\b"),
    _row(FAILED, "raytaskerror", r"raytaskerror(?:\(|: )"),
    # Programs that give up
    _row(COMPLAINT, "failed", rf"^[^a-z0-9]{{0,40}}(?:{_RUN}|{_STAGE}) failed(?: with error)?(?::|[!.]{{0,3}}$)"),
    _row(FAILED, "error", r"^error(?: on proc \d{1,6})?: .{1,400}\(\S{1,120}\.cpp:\d{1,6}\)$"),
    _row(FAILED, "error: aborted from ", r"\berror: aborted from \w"),
    _row(FAILED, "unhandled exception", r"^unhandled exception(?:\. |: )\S"),
    _row(GONE, "terminate called", r"terminate called (?:after throwing|without an active)"),
    _row(FAILED, "collective operation timeout", r"watchdog caught collective operation timeout"),
    _row(
        FAILED, "terminating the process", r"taking the entire process down|terminating the process|to avoid data incon"
    ),
    _row(FAILED, "xid", r"nvrm: xid \("),
    _row(FAILED, "out of memory: kill", r"out of memory: kill(?:ed)? process"),
    _row(FAILED, "engine core initialization failed"),
    _row(CRASHED, "enginedeaderror"),
    _row(FAILED, '"aborted"', r'"status": "aborted"|"key": "status", "value": "aborted"'),
    # Finished
    _row(FINISHED, "train_runtime", r"['\"]train_runtime['\"] ?:|train_runtime {1,40}= "),
    _row(FINISHED, "exits successfully", r"process \d{1,9} exits successfully"),
    _row(FINISHED, "stopped:", r"trainer\.\w{1,12}` stopped: .{0,60}reached"),
    _row(FINISHED, "run_stop", r'"key": ?"run_stop"|^\S{0,20}:::mlp\S{0,12} .{0,200}\brun_stop\b(?!.{0,40}false)'),
    _row(FINISHED, "ended (code", r"\bended \(code 0\)"),
    _row(FAILED, "ended (code", r"\bended \(code [1-9]\d{0,5}\)"),
    _row(FINISHED, '"success"', r'"key": ?"status", ?"value": ?"success"|"status": ?"success"'),
    *_over(FINISHED),
    *_over(STAGE),
    _row(
        FINISHED,
        "successfully",
        r"(?:completed|finished|trained|ended|exited|exiting) successfully(?!, but)"
        r"|successfully (?:completed|finished|trained)",
    ),
    _row(FINISHED, "optimizer stripped from"),
    _row(FINISHED, "epochs completed", r"\d{1,9} epochs completed in "),
    _row(FINISHED, "training time", r"^(?:[^a-z\n]{0,80}|.{0,80}info.{0,40})(?:total )?training time[:= ]"),
    _row(FINISHED, "training took", r"training took "),
    _row(FINISHED, "overall training speed"),
    _row(FINISHED, "exiting program", r"\[exiting program (?:at|after)"),
    _row(FINISHED, "server process", r"finished server process \["),
    _row(FINISHED, "exit code", r"\bexit code(?: was| is| of)?[:=]? {0,2}0\b"),
    _row(FINISHED, "normal", r"(?<![a-z])normal termination\b(?! \(return value [1-9])|terminated normally(?!, but)"),
    _row(TOLD, "termination", r"\bnormal termination \(return value [1-9]|\babnormal termination \(signal \d"),
    _row(FINISHED, "finished mdrun"),
    _row(FINISHED, "nbconvertapp] writing", r"^\[nbconvertapp\] writing \d{1,15} bytes to \S"),
    _row(FINISHED, "_finished", r"^\W{0,20}(?:job|run|training|train)_finished\W{0,20}$"),
    _row(FINISHED, "ret_code", r"^\+? ?ret_?code=0$"),
    _row(FINISHED, "ending timing run", r"ending timing run at "),
    _row(FINISHED, "#> joined", r"^#> joined"),
    _row(FINISHED, "loss for final step", r"\bloss for final step: "),
    _row(FINISHED, " passed", r"^=[= ]{2,100}\d{1,6} passed[^=\n]{0,80} in [\d.:]{1,12}s?[^=\n]{0,20}=[= ]{2,100}$"),
    # After a minute pytest also tells the time as a clock, in brackets.
    *(
        _row(
            FAILED,
            end,
            r"^=[= ]{2,100}\d{1,6} (?:failed|errors?)[,\s][^=\n]{0,100}in [\d.:]{1,12}s?[^=\n]{0,20}=[= ]{2,100}$",
        )
        for end in ("s ====", ") ====")
    ),
    _row(FINISHED, "tests passed", r"^100% tests passed, 0 tests failed out of \d"),
    _row(FINISHED, "test result: ok", r"^test result: ok\. \d{1,6} passed; 0 failed"),
    _row(FAILED, "test result: failed", r"^test result: failed\. "),
    _row(FAILED, "tests: ", r"^tests: {1,20}[1-9]\d{0,6} failed, "),
    _row(FAILED, " failed", r"^=* ?[1-9]\d{0,6} failed(?:, \d{1,7} \w{1,20}){0,6} in [\d.]{1,12}s\b"),
    _row(FAILED, "tests failed", r"^\d{1,3}% tests passed, [1-9]\d{0,6} tests failed out of \d"),
    _row(FINISHED, "ran ", r"^ran \d{1,6} tests? in [\d.]{1,12}s$"),
    _row(FAILED, "failed (", r"^failed \((?:failures|errors)=\d"),
    # Of its own will, or told to
    _row(STOPPED, "received signal=sig", r"\[shutdown\] .{0,60}\breceived signal=sig(?:term|int)\b"),
    _row(
        EARLY,
        "early stop",
        r"\bearly stop(?:ping|ped)? (?:was |is |has been |got )?(?:triggered|activated|reached|invoked|at \w|after \d)"
        r"|\b(?:trigger(?:ed|ing)|performing|hit) early stop|\bearly stop(?:ping|ped)?(?: now)?[!.]{1,3}$"
        r"|^\W{0,20}early stop(?:ping|ped)?[^\w:]{0,20}$",
    ),
    _row(EARLY, "stopping", r"\bstopping[_ ]early\b(?!=|: ?(?:true|false|none|null|\d))"),
    _row(
        EARLY,
        "training",
        r"^(?!.{0,300}\b(?:nan\b|inf\b|infinite|diverge|error|fail|exception|interrupt|signal|by (?:the )?user))"
        r".{0,300}\b(?:(?:stopping|stopped|stop) (?:the )?training\b(?! (?:if|when|after|once))"
        r"|training stop(?:s|ped)\b(?! (?:if|when|once)))",
    ),
    _row(EARLY, "training loop", r"\b(?:exiting|leaving|ending) (?:the )?training loop\b"),
    _row(EARLY, "trainer to stop", r"signaling trainer to stop"),
    _row(
        EARLY,
        "target ",
        r"\btarget (?:[\w-]{1,20} )?(?:loss|acc|accuracy|score|reward|return|bleu|f1|auc|map|wer|perplexity|ppl|metric)"
        r"\b.{0,40}\b(?:reached|achieved|met)\b",
    ),
    _row(EARLY, " reached", r"\btarget \w.{0,40} reached\b.{0,20}\b(?:exiting|stopping|done|ending)\b"),
    _row(EARLY, "early stopping", r"^epoch \d{1,9}: early stopping\b"),
    _row(EARLY, "best", r"^[^a-z0-9]{0,20}end\b.{0,60}\bbest (?:\w{1,20} )?epoch\b"),
    _row(
        FINISHED,
        "all ",
        r"\ball (?:\d{1,6} )?(?:experiments|trainings|runs|jobs|trials|seeds|folds|variants|ablations|configurations)"
        r" (?:are |were |have |is )?(?:been )?(?:now )?(?:complete|completed|finished|done)\b",
    ),
    # The same in other languages
    *(
        _row(FINISHED, word)
        for word in ("训练完成", "训练结束", "訓練完成", "学習完了", "学習が完了", "бучение завершено")
    ),
    _row(FINISHED, "완료", r"(?:전체|모든).{0,30}완료|(?:학습|훈련|실험|training|tuning|distillation)(?:이|가)? 완료"),
    *(
        _row(FINISHED, over, rf"(?:全部|所有).{{0,30}}{over}|(?:训练(?!{_BEFORE_IT})|实验|程序).{{0,20}}{over}{_STOP}")
        for over in ("完成", "结束", "完毕")
    ),
    *(
        _row(STAGE, over, rf"(?:评估|测试|推理|处理|生成|导出|验证|下载|转换|分析|运行|任务).{{0,12}}{over}{_STOP}")
        for over in ("完成", "结束", "完毕")
    ),
    _row(FINISHED, "退出代码", r"退出代码(?:为)?(?::|：)? {0,2}0\b"),  # what PyCharm says of a process
    _row(TOLD, "退出代码", r"退出代码(?:为)?(?::|：)? {0,2}-?[1-9]"),
    _row(FINISHED, "abgeschlossen", r"\b(?:training|lauf|auswertung|berechnung) (?:erfolgreich )?abgeschlossen\b"),
    _row(FINISHED, " termin", r"\b(?:entra(?:î|i)nement|entrenamiento|addestramento) (?:ha )?termin(?:é|e|ado|ato)"),
    _row(FINISHED, " complet", r"\b(?:entrenamiento|treinamento|addestramento) (?:foi )?complet(?:ado|o|ato)\b"),
    _row(FINISHED, "finalizado", r"\b(?:entrenamiento|treinamento) (?:foi |ha )?finalizado\b"),
    _row(FINISHED, "treinamento", r"\btreinamento (?:foi )?conclu(?:í|i)do\b"),
    *(_row(SUMMARY, word) for word in ("已保存到", "保存しました", "저장 완료", "время обучения")),
    *_abroad(
        GONE,
        (*shell_languages.KILLED, *shell_languages.FAULTED, *shell_languages.ABORTED),
        shell_languages.of_a_process,
    ),
    *_abroad(
        COMPLAINT,
        (*shell_languages.NO_COMMAND, *shell_languages.NO_FILE, *shell_languages.NO_RIGHT),
        shell_languages.complaint,
    ),
    *_abroad(BEGUN, shell_languages.NOHUP, shell_languages.began),
    # Begun
    _row(BEGUN, "server process", r"started server process \["),
    _row(BEGUN, "startup complete", r"application startup complete"),
    _row(
        BEGUN,
        "training",
        r"\b(?:start(?:ed|ing)?|begin(?:ning)?|running|resuming) (?:the )?(?:[\w-]{1,20} ){0,2}training\b",
    ),
    # What launchers say first
    _row(BEGUN, "setting omp_num_threads environment variable for each process to be"),
    _row(BEGUN, "nohup: ignoring input", r"^nohup: ignoring input"),
    # Last words
    _row(CLOSING, "done", rf"^{_RANK}[^a-z0-9]{{0,40}}(?:all )?done[^a-z0-9]{{0,40}}$"),
    _row(CLOSING, "done", rf"^{_RANK}[^a-z0-9]{{0,40}}(?:all )?done[!.] "),
    _row(CLOSING, "finish", rf"^{_RANK}[^a-z0-9]{{0,40}}(?:all )?finish(?:ed)?[^a-z0-9]{{0,40}}$"),
    _row(CLOSING, "complete", rf"^{_RANK}[^a-z0-9]{{0,40}}(?:all )?completed?[^a-z0-9]{{0,40}}$"),
    _row(
        CLOSING,
        "finished",
        r"^(?!.{0,200}\b(?:captur|load|compil|init|warm)).{0,600}\bfinished (?:at|in|on|after|job|run|all)\b"
        r"|\b(?:job|end) (?:finished|time|date)\b",
    ),
    _row(CLOSING, "completed", r"\b(?:completed|ended) (?:at|on)\b"),
    _row(CLOSING, "all ", r"\ball (?:\w{1,20} ){0,2}(?:done|finished|complete|completed|processed|saved)\b"),
    _row(SUMMARY, "total time"),
    _row(SUMMARY, "total ", r"\btotal \w{1,20} time\b"),
    _row(SUMMARY, "apsed", r"\b(?:total|time) ell?apsed\b|\bell?apsed time:"),
    _row(SUMMARY, "peak memory"),
    _row(
        SUMMARY,
        "final",
        r"(?<![a-z])final[_-](?:ckpt|checkpoint|model|weights|results?|metrics|report)(?![a-z])"
        r"|\bfinal (?:\w{1,20} ){0,2}(?:model|checkpoint|weights|results?|metrics|accuracy|loss|score|eval\w*|test"
        r"|\w{1,20} ?[:=] ?-?\d)",
    ),
    _row(SUMMARY, "test loss", r"\b(?:total|overall|final|average|mean)\b.{0,40}\btest loss\b"),
    _row(SUMMARY, "execution time", r"\bexecution time[:= ]"),
    _row(SUMMARY, "time taken", r"\btime taken[:= ]"),
    _row(CLOSING, "end", rf"^{_RANK}[^a-z0-9]{{0,40}}(?:the )?end[^a-z0-9]{{0,40}}$"),
    _row(
        SUMMARY,
        "sav",
        r"\bsav(?:ed|e|ing)(?: [\w/-]{1,20}){0,3}"
        r" (?:results?|metrics|summary|predictions?|final|report|metadata|outputs?)\b",
    ),
    _row(SUMMARY, "results", r"\bresults? (?:is |are |was |were )?(?:saved|written|stored|logged|dumped)\b"),
    _row(SUMMARY, "wrote ", r"\bwrote (?:[\w/-]{1,20} ){0,3}(?:data|results?|output|predictions?|summary|report) to\b"),
    _row(
        SUMMARY, "written to", r"\b(?:results?|output|predictions?|metrics|summary|report|logs?) \S{0,40} ?written to\b"
    ),
    _row(SUMMARY, "accuracy", r"\b(?:total|overall|final|average|mean)\b.{0,80}\baccuracy\b"),
    _row(SUMMARY, "accuracy of the", r"\baccuracy of the (?:\w{1,20} ){1,2}on the\b.{0,60}\btest\b"),
    _row(SUMMARY, "score", r"\b(?:total|overall|final|average|mean)\b.{0,80}\bscore\b"),
    _row(
        SUMMARY,
        "saved to",
        r"\bsaved to:? [^\s'\"]{0,200}\.(?:jsonl?|csv|xlsx|txt|npy|npz|parquet|png|pdf|html|md)\b",
    ),
    *(
        _row(
            LAST,
            over,
            rf"{_LOGGED}{_BY_THE_WAY}(?:[a-z][\w./'-]{{0,40}},? ){{1,6}}(?:successfully )?{over}d?"
            r"(?: successfully)?[^a-z0-9\n]{0,40}$",
        )
        for over in ("complete", "finished", "done", "downloaded", "generated", "exported", "converted")
    ),
    *(
        _row(LAST, over, rf"{_LOGGED}{over}(?:with )?{_BY_THE_WAY}(?!during|nothing|everything)[a-z]{{2,20}}ing\b")
        for over in ("finished ", "completed ", "done ")
    ),
    _row(LAST, "done", rf"{_LOGGED}(?:[\w.]{{1,60}} [-:|] )?(?:all )?done[^a-z0-9\n]{{0,40}}$"),
    _row(LAST, "end ", rf"{_LOGGED}end (?:of )?[\w./-]{{1,80}}\.(?:py|sh|r|jl|m|ipynb)\W{{0,20}}$"),
    _row(CLOSING, "end of ", r"^[^a-z0-9]{0,40}end of (?:the )?(?:output|job|log)\b"),
    _row(CLOSING, "bestiteration = ", r"^bestiteration = \d"),
    _row(CLOSING, "shrink model to first", r"^shrink model to first \d"),
    _row(CLOSING, "copypaste: ", r"evaluation\.testing\W.{0,20}copypaste: "),
    _row(CLOSING, "find logs at", r"wandb: find logs at|wandb: .{0,40}synced \d"),
    _row(CLOSING, "view run", r"wandb: .{0,20}view run .{0,200} at:"),
    _row(CLOSING, "synced", r"wandb: synced "),
    _row(CLOSING, "|tasks|", r"\|tasks\|version\||\| {0,4}tasks {0,40}\| {0,4}version"),
    _row(CLOSING, "|\u00b1", "\\|\u00b1 {0,4}\\|"),
    _row(
        SUMMARY,
        "early stop",
        r"(?<!no )(?<!without )early stop(?:ping)?\b(?!\s{0,2}[:=(]| (?:patience|counter|with patience|enabled|after))",
    ),
    _row(CLOSING, "benchmark result", r"={4,60} serving benchmark result"),
    _row(CLOSING, "cleaning up orphan processes"),
    _row(CLOSING, "gromacs reminds you"),
    _row(CLOSING, "shutdown complete", r"application shutdown complete"),
    _row(CLOSING, "result,", r"^(?:\s{0,4}\d{1,5}: )?result,\w"),
    _row(CLOSING, "joined", r"\ball (?:workers|processes|ranks) (?:have )?joined"),
)
PLAIN = tuple(row for row in ROWS if row.needle.isascii())  # all that a text in ASCII can say
