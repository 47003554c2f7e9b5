"""Causes in the program itself and its settings; and the answer when nothing tells."""

from __future__ import annotations

from dogwatch.diagnosis.interface import Cause, Pattern, Retry, Role

rows = (
    Cause(
        "config_error",
        "the settings or arguments of the job are wrong",
        Retry.AFTER_FIX,
        ("correct the option, key or value that the line names, then start it again",),
        (
            Pattern("foam fatal ", r"^--> foam fatal (?:io )?error", 0.74, fatal=True),
            Pattern("fireexit", r"fire\.core\.fireexit: 2", 0.86, raised=True),
            Pattern(
                "is not a valid", r"^valueerror: '?[\w.-]{1,60}'? is not a valid [A-Z]\w{2,60}$", 0.82, raised=True
            ),
            Pattern("either all none or not none", weight=0.85, raised=True),
            Pattern("should be none when", r"should be none when \w{1,40} is none", 0.85, raised=True),
            Pattern(
                "syntax error",
                r": line \d{1,6}: syntax error|syntax error: unexpected|syntax error near unexpected",
                0.85,
                fatal=True,
            ),
            Pattern("unexpected eof while looking for matching", weight=0.9, fatal=True),
            Pattern(
                ": error: ",
                r"^(?:\S{1,120}|python -m \S{1,80}): error: (?:argument|--[a-z]|unrecognized|the following arguments"
                r"|ambiguous option|invalid|too few|one of the arguments|unknown|no such option|expected"
                r"|parser key|missing|configuration key)"
                r"|^.{1,160}: error: argument [^:]{1,80}: (?:expected|invalid|not allowed)",
                0.96,
                fatal=True,
                unless=r"^[^\s:]{1,200}:\d{1,6}:\d{1,5}: error: ",
            ),
            Pattern("error: unrecognized arguments", weight=0.96, fatal=True),
            Pattern("no such option", r"(?:error: |click\S{0,40}: |^│ )no such option", 0.95, fatal=True),
            Pattern(
                "│ error parsing |│ missing |│ invalid value for |│ got unexpected|│ unrecognized |│ required ",
                r"^│ (?:error parsing -|missing (?:option|argument|parameter)|invalid value for |got unexpected "
                r"|(?:unrecognized|required) options?: )",
                0.93,
                fatal=True,
            ),
            Pattern("error: --", r"^error: --[a-z]", 0.86, unless=r"--task-(?:pro|epi)log "),
            # The last words of programs that read their settings from a file of commands.
            Pattern(
                "error: unknown |error: unrecognized |error: illegal |error: invalid |error: incorrect |error: bad "
                "|error: unsupported |error: missing ",
                r"^(?:fatal )?error: (?:unknown|unrecognized|illegal|invalid|incorrect|unsupported|missing|bad) "
                r"(?:[\w/-]{1,30} ){0,3}(?:commands?|keywords?|options?|arguments?|args|parameters?|flags?|styles?"
                r"|sections?|directives?|settings?|values?|keys?|fields?|names?)\b",
                0.82,
            ),
            Pattern("error: pathspec '", r"^error: pathspec '.{1,200}' did not match any file", 0.86),
            Pattern(
                "error: could not consume arg|error: the function received no value for|error: parser key ",
                r"^error: (?:could not consume arg: |the function received no value for the required |parser key )",
                0.95,
                fatal=True,
            ),
            # What getopt says, in whatever program.
            Pattern(
                "illegal option -- |invalid option -- |unrecognized option '|requires an argument -- ",
                r"^[^\s:]{1,200}: (?:(?:illegal|invalid) option -- |unrecognized option '"
                r"|option requires an argument -- )",
                0.86,
            ),
            Pattern(
                "must be set|is not set|is unset",
                r"^\[?(?:error|fatal)\]?\b.{1,60}[ $'\"`{](?-i:[A-Z][A-Z0-9_]{2,60})['\"`}]{0,2} "
                r"(?:environment variable )?(?:must be set|is not set|is unset)"
                r"|^\[?(?:error|fatal)\]?[: ]{1,3}\$?(?-i:[A-Z][A-Z0-9_]{2,60}) (?:must be set|is not set|is unset)",
                0.82,
            ),
            Pattern(
                "error: ",
                r"^error: (?:missing (?:option|argument|parameter)|invalid value for|got unexpected extra argument)",
                0.95,
                fatal=True,
            ),
            Pattern("omegaconf", r"omegaconf\.errors\.\w{1,60}", 0.95, raised=True),
            Pattern("hydra.errors", weight=0.95, raised=True, unless="error (?:in call to|locating) target"),
            Pattern(
                "gym.error.|gymnasium.error.",
                r"gym(?:nasium)?\.error\.(?:name\w{0,10}notfound|versionnotfound|unregistered\w{0,10})",
                0.9,
                raised=True,
            ),
            # An exception that says what might have been asked for instead.
            Pattern(
                "one of|any of the following|choose from|choices are|options are|available|supported|valid|allowed"
                "|known|possible|registered",
                r"\b(?:must|should|has to|can only|expected to) be one of\b|\b(?:is not|expected|not) one of\b"
                r"|\bany of the following\b|\bchoose (?:from|one of)\b|\b(?:choices|options) are\b"
                r"|\b(?:available|supported|valid|allowed|known|possible|registered) (?:\w{1,20} ){0,2}"
                r"(?:are|is|include)\b|\b(?:available|supported|valid|allowed|known|possible|registered) "
                r"(?:\w{1,20} ){0,2}\w{1,20}: |\blist of (?:available|supported|valid) \w|[.;,(] ?available: ",
                0.85,
                raised=True,
                unless=r"scalar type|\bdtypes?\b|\bdevices?\b|\b(?:int|float|str|bool|tensor)\b",
            ),
            Pattern("is only supported on gpus with compute capability", weight=0.85, raised=True),
            Pattern("could not override '", weight=0.95, fatal=True),
            Pattern("is not in struct", r"key '[^']{1,120}' is not in struct", 0.95),
            Pattern("cannot find primary config", weight=0.95, fatal=True),
            Pattern(
                "could not find '|no viable alternative at|mismatched input|extraneous input",
                r"^in '[\w./-]{1,120}': could not find '|^(?:no viable alternative at|mismatched|extraneous) input '",
                0.86,
            ),
            Pattern("error loading asgi app", r"error loading asgi app\. attribute ", 0.86, fatal=True),
            Pattern("missing mandatory value", weight=0.95),
            Pattern(
                "missing|unexpected|unknown|unrecognized|unsupported|invalid",
                r"^(?:\[?(?:error|fatal)\]?|[\w.]{0,80}(?:error|exception)): .{0,60}"
                r"\b(?:missing|unexpected|unknown|unrecognized|unsupported|invalid) (?:\w{1,20} ){0,2}"
                r"(?:parameter|key|field|option|setting|section|entry|value)s?\b.{0,80}\bconfig",
                0.86,
            ),
            Pattern("validation error", r"\d{1,4} validation errors? for \w", 0.93, raised=True),
            Pattern(
                "validationerror",
                r"(?:pydantic|jsonschema|marshmallow|cerberus)\S{0,60}validationerror",
                0.93,
                raised=True,
            ),
            Pattern("yaml.", r"yaml\.(?:scanner|parser|constructor|composer|reader)\.\w{1,30}error", 0.95, raised=True),
            Pattern("tomldecodeerror", weight=0.93, raised=True),
            Pattern("configparser.", r"\bconfigparser\.\w{1,40}error\b", 0.93, raised=True),
            # JSON that is read where its name, or that of the function, says that it holds settings.
            Pattern(
                "jsondecodeerror",
                weight=0.88,
                raised=True,
                frame=r"\n.{1,400}, in \w{0,60}(?:config|cfg|settings)|\n {4,40}.{0,200}(?:config|cfg|settings)",
            ),
            Pattern("flags parsing error", weight=0.95, fatal=True),
            # Snakemake, of what an attempt that was broken off has left.
            Pattern("incompletefilesexception", r"^incompletefilesexception:", 0.86, fatal=True),
            Pattern("unknown command line flag", weight=0.95, fatal=True),
            Pattern("hfargumentparser", r"not used by the hfargumentparser", 0.95, raised=True),
            Pattern("misconfigurationexception", weight=0.9, raised=True),
            Pattern("configurationerror", weight=0.9, raised=True),
            Pattern("config", r"\bconfig(?:uration)?(?:attribute|key|type|value|parse)?error\b", 0.88, raised=True),
            Pattern(
                "divisible|a multiple",
                r"(?:must|should|has to|needs? to) be (?:evenly )?(?:divisible|a multiple)|(?:is )?not "
                r"(?:evenly )?divisible",
                0.85,
                raised=True,
                unless=r"\btensors?\b(?!.(?:model.)?parallel)|dimension",
            ),
            # The last words of a script that checks what it was given.
            Pattern("divisible by", r"^\[?(?:error|fatal)\b.{1,300}\b(?:not|must be|should be) divisible by\b", 0.8),
            Pattern("does not recognize this architecture", weight=0.88, raised=True),
            Pattern("train_batch_size is not equal", weight=0.95, raised=True),
            Pattern("existing deepspeed config", weight=0.92, raised=True),
            Pattern("config values that mismatch", weight=0.94, raised=True),
            Pattern("batch", r"check batch related parameters", 0.95, raised=True),
            # yacs, which detectron2 and its kin are configured with
            Pattern(
                "non-existent config key|non-existent key: |override list has odd length|for config key: ",
                weight=0.93,
                raised=True,
            ),
            Pattern(
                "registry|not registered in",
                r"is not in the [\w:' ]{1,80} registry|not registered in|no object named '\w{1,80}' found in "
                r"'\w{1,80}' registry",
                0.88,
                raised=True,
            ),
            Pattern("requires the", r"requires the (?:save|eval|evaluation) (?:and|strategy)", 0.93, raised=True),
            Pattern(
                "environment variable",
                r"environment variable \S{1,80} (?:expected|must|is not set|not set|missing)|(?:missing"
                r"|required) environment variable",
                0.88,
                raised=True,
            ),
            # A variable of the environment that nobody set.
            Pattern(
                "keyerror: '", weight=0.9, raised=True, frame=r"(?:<frozen os>|/os\.py)\", line \d{1,6}, in __getitem__"
            ),
            Pattern("api_key not configured|no api key configured", weight=0.9, raised=True),
            Pattern(
                "unsupported value",
                r"unsupported value .{0,80}(?:for|of) (?:option|key|argument|parameter|config)",
                0.88,
                raised=True,
            ),
            Pattern(
                "unknown|unsupported|unrecognized|invalid",
                r"\b(?:value|xgboost|lightgbm)error: (?:\[.{0,120}: )?(?:unknown|unsupported|unrecognized|invalid) "
                r"(?:\w{1,30} ){0,3}(?:model|objective|optimizer|scheduler|dataset|task|loss|backend|precision|strategy"
                r"|config|option"
                r"|argument|attention|mode|activation|architecture|quantization|tokenizer|dtype)\b",
                0.85,
                raised=True,
            ),
            Pattern(
                "not a valid",
                r"valueerror: .{0,80}is not a valid (?:\w{1,30} ){0,3}(?:value|choice|option|mode|strategy"
                r"|intervalstrategy|schedulertype|config|name|dtype|type|task)\b|is not a valid "
                r"\w{1,60}(?:, please select one of|type)\b",
                0.88,
                raised=True,
            ),
            Pattern("please select one of", weight=0.9, raised=True),
            Pattern("have a parameter named", r"(?:does not|doesn't) have a parameter named '", 0.88, raised=True),
            # A value that a program was given and does not take.
            Pattern(
                "valueerror",
                r"\bvalueerror: .{0,300}(?:\bmutually exclusive\b|\bonly one of\b.{1,80}\bcan\b|\buser-specified\b"
                r"|\b(?:cannot|can't) (?:use|set|specify|combine)\b.{1,80}\b(?:both|together|with|at the same time)\b"
                r"|\b(?:cannot|can't) be (?:used|set|combined) (?:with|together)\b|\bexceeds? the (?:model|max)"
                r"|\bplease (?:specify|set|select|choose|provide|pass)\b|\b(?:is|are) not supported\b"
                r"|not found in the base model)|\bvalueerror: invalid (?:\w{1,20} ){0,2}(?:rate|value|parameter)\b",
                0.82,
                raised=True,
                unless=r"\bdtypes?\b|scalar type",
            ),
            Pattern(
                "must provide|must specify|must supply|must set|must pass",
                r"^(?:\w{1,40}error|exception): (?:you )?must (?:provide|specify|supply|set|pass) "
                r"(?:a|an|the|either|one|at)\b",
                0.85,
                raised=True,
            ),
            Pattern(
                "you should|you must|you need to|you have to|has to be specified|must be specified|should be specified",
                r"\b(?:value|lightgbm)error: .{0,80}"
                r"(?:you (?:should|must|need to|have to) (?:specify|set|provide|supply|pass)"
                r"|(?:has to|must|should) be specified)",
                0.85,
                raised=True,
            ),
            Pattern(
                "command not found",
                r": line \d{1,6}: (?:--?[\w-]{1,60}\S{0,200}|\S{1,60}=\S{0,200}): command not found",
                0.9,
            ),
            Pattern(
                "no such file or directory",
                r": line \d{1,6}: (?:--?[\w-]{1,60}\S{0,200}|\S{1,60}=\S{0,200}): no such file or directory",
                0.9,
            ),
            Pattern("cd: too many arguments", weight=0.9),
            Pattern(
                "integer expression expected|unary operator expected|binary operator expected",
                r": line \d{1,6}: \S{1,20}: .{0,200}(?:integer expression|unary operator|binary operator) expected",
                0.66,
            ),
            Pattern("unbound variable", r": line \d{1,6}: \S{1,80}: unbound variable", 0.9, fatal=True),
            # What a shell says of ${NAME:?words}, after which its script ends.
            Pattern(
                "parameter null or not set|parameter not set",
                r"^[^\s:]{1,200}: (?:line )?\d{1,6}: \w{1,80}: parameter (?:null or )?not set\s{0,4}$",
                0.9,
                fatal=True,
            ),
            Pattern(
                ": line ",
                r"^[^\s:]{1,200}: line \d{1,6}: (?-i:[A-Z_][A-Z0-9_]{1,60}): \S",
                0.86,
                unless=r": (?:command not found|no such file or directory|permission denied|is a directory"
                r"|\w{1,20} variable|cannot execute.{0,80}|.{0,40} argument.{0,40}|syntax error.{0,80})\s{0,4}$",
            ),
            Pattern("label must be in", r"error: .{0,200}\blabel must be in \[0, ?\w", 0.86, raised=True),
            Pattern("doesn't support bf16", r"setup doesn't support bf16", 0.85, raised=True),
        ),
        neighbours=("code_error",),
        tell="the program's --help, or its configuration with the value named in the line",
    ),
    Cause(
        "code_error",
        "an error in the program",
        Retry.AFTER_FIX,
        (
            "read the quoted line and the last traceback frame in your own code; starting it again unchanged will fail "
            "the same way",
        ),
        (
            Pattern(".py::", r"^failed \S{1,200}\.py::\S{1,200}(?: - |\s{0,4}$)", 0.86),  # pytest sums up
            Pattern("error in call to target", r"^error in call to target '", 0.8, fatal=True),  # Hydra, without frames
            Pattern(
                "same device|expected device",
                r"expected all tensors to be on the same device|to have the same device as\b"
                r"|expected device \S{1,20} but got",
                0.95,
                raised=True,
            ),
            Pattern("inplace operation", r"modified by an inplace operation", 0.95, raised=True),
            Pattern("backward through the graph a second time", weight=0.95, raised=True),
            Pattern("does not require grad", weight=0.94, raised=True),
            Pattern(
                "scalar type|expected object of",
                r"expected (?:scalar type|object of) .{0,60}but (?:found|got)",
                0.93,
                raised=True,
            ),
            Pattern("same dtype", r"(?:must|to) have the same dtype", 0.93, raised=True),
            Pattern("values to unpack", r"(?:too many|not enough) values to unpack", 0.93, raised=True),
            Pattern("invalid literal for", r"invalid literal for (?:int|float)\(\)", 0.92, raised=True),
            Pattern("could not convert string to", r"could not convert string to float", 0.9, raised=True),
            Pattern("in forked subprocess", r"cannot re-initialize cuda in forked subprocess", 0.94, raised=True),
            Pattern("cannot be converted to scalar", weight=0.93, raised=True),
            Pattern("require gradient", r"(?:can|doesn't|not) require gradients?\b", 0.93, raised=True),
            Pattern("floating point", r"expected a floating point (?:or complex )?(?:tensor|type)", 0.93, raised=True),
            Pattern("default process group has not been initialized", weight=0.93, raised=True),
            Pattern("scalar types", r"to have one of the following scalar types", 0.93, raised=True),
            Pattern("argumenterror", r"argparse\.argumenterror: .{0,80}conflicting option string", 0.93, raised=True),
            Pattern("weight type|bias type", r"input type \(.{1,80}\) and (?:weight|bias) type", 0.94, raised=True),
            Pattern("finished reduction in the prior iteration", weight=0.94, raised=True),
            Pattern("mark a variable ready only once", weight=0.97, raised=True),
            Pattern("fallen out of sync", r"workers have fallen out of sync", 0.9, raised=True),
            Pattern("can't pickle|cannot pickle", r"can't pickle|cannot pickle", 0.93, raised=True),
            Pattern("weights only|weights_only", r"weights only load failed|weights_only", 0.88, raised=True),
            Pattern("typeerror", r"\btypeerror\b", 0.92, raised=True),
            Pattern("attributeerror", r"attributeerror\b", 0.92, raised=True),
            Pattern("nameerror", r"\bnameerror\b", 0.93, raised=True),
            Pattern("unboundlocalerror", r"\bunboundlocalerror\b", 0.93, raised=True),
            Pattern("keyerror", r"\bkeyerror\b", 0.88, raised=True),
            Pattern("indexerror", r"\bindexerror\b", 0.92, raised=True),
            Pattern("zerodivisionerror", weight=0.93, raised=True),
            Pattern("syntaxerror", r"\bsyntaxerror: ", 0.94, raised=True),
            Pattern("indentationerror", weight=0.94, raised=True),
            Pattern("taberror", r"^taberror\b", 0.94, raised=True),
            Pattern("recursionerror", weight=0.93, raised=True),
            Pattern("notimplementederror", weight=0.86, raised=True),
            Pattern("assertionerror", r"\bassertionerror\b", 0.8, raised=True),
            Pattern("unicode", r"unicode(?:decode|encode)error", 0.86, raised=True),
            Pattern("jsondecodeerror", weight=0.8, raised=True),
            Pattern("stopiteration", weight=0.85, raised=True),
            Pattern("overflowerror", weight=0.85, raised=True),
            Pattern(
                "torch._dynamo|torch._inductor", r"torch\._dynamo\.exc\.\w|torch\._inductor\.exc", 0.85, raised=True
            ),
            Pattern("compilationerror", weight=0.85, raised=True),
            Pattern("index out of range in self", weight=0.9, raised=True),
            Pattern("panicked at", r"thread '.{1,80}' (?:\(\d{1,9}\) )?panicked at", 0.8),
            Pattern("panicked at", r"thread 'main' (?:\(\d{1,9}\) )?panicked at", 0.81, fatal=True),
            Pattern("loaderror", r"^error: loaderror: ", 0.9, fatal=True, unless="interruptexception"),
            Pattern("fortran runtime error:|forrtl: severe", weight=0.86, fatal=True, unless="sigsegv|no such file"),
            Pattern("error using ", r"^\{?error using [\w./]{1,80}(?: \(line \d{1,6}\))?\s{0,4}$", 0.82, fatal=True),
            Pattern(": error: ", r"^[^\s:]{1,200}:\d{1,6}:\d{1,5}: error: \S", 0.78),
            Pattern("error on proc", r"^error on proc \d{1,6}: \S", 0.82, fatal=True, many=True),
            Pattern(".cpp:", r"^error: \S.{1,400}\(\S{1,120}\.cpp:\d{1,6}\)\s{0,4}$", 0.78, fatal=True),
            Pattern("assertion failed: ", r"\[error\] .{0,200}\bassertion failed: \S", 0.8),
            Pattern(
                "fatal error in |error occurred in mpi_",
                r"fatal error in (?:internal_|p)?mpi_\w{3,40}\b|\*\*\* an error occurred in mpi_\w{3,40}",
                0.78,
                fatal=True,
                many=True,
            ),
            Pattern("error in ", r"^error in [\w.]{1,80}\(.{0,300}\) ?: ", 0.82),
            Pattern('exception in thread "main"', r'^exception in thread "main" \S', 0.74, fatal=True),
            Pattern(" syntax error", r"^[gmn]?awk: .{0,120}\^ syntax error\s{0,4}$", 0.8),
            # What a linker does not find, and the last words of a program in Perl.
            Pattern("undefined reference to ", r": undefined reference to [`'\"]", 0.82),
            Pattern(
                ".pl line |.pm line ",
                r"^\S.{0,300} at \S{1,200}\.p[lm] line \d{1,6}\.\s{0,4}$",
                0.72,
                unless=r"^use of uninitialized|isn't numeric|\bredefined at|used only once|deprecated|masks earlier"
                r"|^wide character in|^useless use of|^odd number of elements|\bwarning\b",
            ),
            Pattern(
                "error in file |exception in file ",
                r"^\w{1,60}(?:error|exception) in file \"?\S.{0,300}, line \d{1,6}:",
                0.82,
                fatal=True,
                unless="^calledprocesserror",
            ),
            # What an exception says, logged without its name.
            Pattern(
                "is not defined|has no attribute '|unexpected keyword argument '|object is not ",
                r"\b(?:error|critical|fatal|exception)\b.{0,300}(?:\bname '\w{1,80}' is not defined"
                r"|object has no attribute '\w{1,80}'|got an unexpected keyword argument '\w{1,80}'"
                r"|object is not (?:callable|subscriptable|iterable))\s{0,4}$",
                0.76,
            ),
            Pattern("valueerror", r"\bvalueerror\b", 0.72, raised=True),
            Pattern("runtimeerror", r"\bruntimeerror\b", 0.66, raised=True),
        ),
        neighbours=("config_error",),
        tell="the last frame of the traceback in your own code",
    ),
    Cause(
        "unknown",
        "cause not found",
        Retry.WITH_CHANGE,
        ("run the commands shown with the likely causes, or read the end of each log of the job",),
        role=Role.ROOT,
    ),
)
