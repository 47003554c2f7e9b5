"""Python tracebacks as logs hold them: behind rank and actor prefixes, interleaved, chained, boxed, headless."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dogwatch.diagnosis.lines import decoded, line_end
from dogwatch.logs.ending.opening import IMPORTS
from dogwatch.logs.ending.quoted_errors import goes_on, imported, is_quoted
from dogwatch.logs.lazily import lazily

HEAD = "Traceback (most recent call last)"
MOST_LINES = 800
MOST_ODD = 60
WINDOW = 4096
OPENS = 400  # characters of a line in which it says what it is

# What launchers put before each line: [rank3]: , [default0]:, (Actor pid=7), 12: , [1,0]<stderr>:, trainer-0 |
_PREFIX = lazily(
    r"(?:\[(?:rank|default|Rank )?\d{1,6}\]:? ?"
    r"|\[[\w.-]{1,40}:\d{1,4}\] ?"
    r"|\((?:[^()]{1,80} )?pid=\d{1,9}[^()]{0,60}\) ?"
    r"|\s{0,4}\d{1,5}: "
    r"|\[\d{1,4},\d{1,5}\]<std(?:err|out)>: ?"
    r"|(?:ERROR|CRITICAL|FATAL)\s{1,3}[\d-]{5,10} [\d:.,]{8,15} \[?[\w.]{1,60}:\d{1,6}\] ?"
    r"|[\w.-]{1,60} {1,3}\| ?)"
)
_KIND = (
    r"(?:Error|Exception|Interrupt|Exit|Failure|Failed|Fault|Timeout|StopIteration|Abort|Died|Unavailable|NotFound"
    r"|Denied|Warning|TimeoutExpired|Empty|Full|Mismatch|Conflict|Unsupported|BadZipFile|Group|Invalid\w{0,40})"
)
_RAISED = lazily(
    r"(?:[A-Za-z_]\w{0,60}\.){1,6}(?:error|Error|Exception|gaierror|herror|timeout)(?::\s|$)"
    rf"|(?:(?:[A-Za-z_]\w{{0,60}}|<locals>)\.){{0,10}}[A-Za-z_]\w{{0,80}}?{_KIND}(?:\(\w{{1,80}}\))?"
    r"(?: \(see above for traceback\))?(?::\s|:?\s{0,4}$)"
    r"|\[Errno \d{1,3}\] [A-Z][A-Za-z /-]{3,60}(?:: ['\"]|\s{0,4}$)",  # what is printed of one that was caught
    re.ASCII,
)
# Where the text of an exception that nobody caught begins, in other languages: C++, Rust, Julia, Java; and that of a
# check after which a logger of Google's ends the program.
_THROWN = lazily(
    r"^\s{0,4}what\(\):\s{1,4}|called `Result::\w{1,20}\(\)` on an `Err` value: |^ERROR: (?:LoadError: ){1,4}"
    r'|^Exception in thread "main" '
    r"|(?:^F\d{4} [^\]]{8,160}|: F [\w./-]{3,120}:\d{1,6}|^\[[\d :,.-]{15,30} [CF] \d{1,9} \d{1,9})\] ",
    re.ASCII,
)
# Last words of programs that only what stands below them tells from other errors (Julia, Rust, R, C#, OpenFOAM), with
# who alone says so, and those of Rust that show a value.
_LAST = (
    ("ERROR: ", "\nStacktrace:", "julia"),
    ("Error: ", "\nCaused by:", ""),
    ("Error: ", "\nExecution halted", "R"),
    ("Error in ", "\nExecution halted", "R"),
    ("Unhandled exception. ", "\n   at ", ""),
    ("--> FOAM FATAL ", "\n", ""),
)
# Headings of GROMACS, below which the reason stands.
_HEADINGS = ("Fatal error:", "Error in user input:", "Inconsistency in user input:")
_SHOWN = lazily(r'Error: (?:[A-Z]\w{1,60}(?:::\w{1,60}){0,4}(?:\(| \{ )|")', re.ASCII)
BELOW = 480  # bytes below an exception in which its text may go on: fewer than are ever held back
MOST_BELOW = 4  # lines of them that are not indented
THROWN = (
    *("what():", "on an `err` value: ", "error: loaderror: ", 'exception in thread "main"', "unhandled exception. "),
    *("check failed", ": f tensorflow/", ": f external/", "error in user input", "inconsistency in user input"),
)
_IN_USER_CODE = "in user code:"  # TensorFlow: what was raised stands below, indented, under frames of its own
_OTHERS = ("During handling of the above", "The above exception was", "Stacktrace:", "stack backtrace:")
_QUOTED_END = {quote: lazily(rf"(?<!\\){quote}") for quote in "'\""}
_ANY_NAME = lazily(r"(?:(?:[a-z_]\w{0,60}|<locals>)\.){0,10}[A-Z]\w{2,80}(?:: |:?$)", re.ASCII)
_NUMBER = lazily(r":\s{0,4}[-+]?[\d.]{1,20}(?:e[-+]?\d{1,4})?%?\s{0,4}(?:$|[,|;])", re.ASCII)
_FIGURE = lazily(r"[ \t]{1,12}[\w ./-]{1,40}:[ \t]{0,4}[-+]?\d[\d.]{0,24}(?:e[-+]?\d{1,4})?\s{0,4}\n", re.ASCII)
_THREAD_HEADS = (
    "exception in thread",
    "exception ignored",
    "error in atexit",
    "--- logging error ---",
    "error in sys.excepthook",
)
_HANDLED = (
    "exception ignored",
    "exception in asgi application",
    "error handling request",
    "exception on request",
    "error in preprocessing prompt",
    "during processing of request from",
    "uncaught exception in run_soon callback",  # of wandb, whose service is gone before the program
    "message_loop has been closed",
)
# Frames below which a server answers one request, and lives on whatever comes of it.
_OF_REQUESTS = ("in run_asgi", "starlette/middleware/errors.py", "in wsgi_app", "aiohttp/web_protocol.py")
_SERVING = lazily(r"\[serving_\w{1,40}\.py:\d{1,6}\]")
_LOGGER = lazily(r"\b(?:ERROR|CRITICAL|WARNING|WARN|INFO)\b")
_SOFT = lazily(r"\b(?:INFO|DEBUG|WARNING|WARN)\b")
# Where a program, a process or an actor begins: an exception that went past its outermost frame nobody caught.
_OUTERMOST = lazily(r", in (?:<module>|_run_module_as_main|_bootstrap)$|/ray/|/hydra/")
_PROGRAM = lazily(r'\s{0,12}File "([^"<]{1,300})", line \d{1,9}, in <module>')
_IMPORTS = lazily(IMPORTS.pattern.decode())
_FRAME = (
    " ",
    "\t",
    "│",
    "╭",
    "╰",
    "┃",
    "┏",
    "┗",
    "❱",
    "|",
    "+",
    "^",
    "~",
    "->",
    "-->",
    "--->",
    "---->",
    "<ipython",
    "Cell In",
    "File ",
)


@dataclass(frozen=True, slots=True)
class Raised:
    """The exception line of a traceback: where it lies, and what it says without its prefix.

    `from_thread`: a thread or a destructor printed it, so that the program may well have gone on; `logged`: a logger
    printed it, or the code that caught it: its outermost frame is one within the program; `excused`: the line above
    says that it is quoted, or that the program goes on; `unbegun`: the program failed at one of its own imports;
    `frame`: the line of its innermost frame, and below it those of the call that led into the folder of that frame,
    which is the library that raised it; `program`: the file that was run."""

    start: int
    stop: int
    body: str
    from_thread: bool
    logged: bool = False
    excused: bool = False
    unbegun: bool = False
    frame: str = ""
    program: str = ""


def body_of(line: str) -> str:
    """A line without what launchers put before it."""
    for _ in range(2):
        found = _PREFIX.match(line)
        if found is None or found.end() == 0:
            break
        line = line[found.end() :]
    return line


def bare(body: str) -> bool:
    """Does the line read like the last one of a traceback?"""
    found = _RAISED.match(body)
    return found is not None and "Warning" not in found.group() and _NUMBER.search(body[:200]) is None


def thrown(body: str) -> str | None:
    """What an exception of another language says, if the line is one that nobody caught."""
    found = _THROWN.search(body[:OPENS])
    return None if found is None else body[found.end() :]


def last_words(body: str, text: bytes, stop: int) -> tuple[str, str] | None:
    """What a program of another language says as it gives up, and which language, if the line, which ends at `stop`,
    is such."""
    for word, below, program in _LAST:
        if body.startswith(word) and below in decoded(text, stop, stop + BELOW):
            return body[len(word) :], program
    if _SHOWN.match(body):
        return body.partition(": ")[2], ""
    return ("", "") if body.rstrip() in _HEADINGS else None


def heading(body: str) -> bool:
    """Does the text of an exception only begin in its line?"""
    return body.rstrip().endswith(":")


def measures(body: str, text: bytes, stop: int) -> bool:
    """Is the line, which ends at `stop`, the heading of figures, as `MaxError:` above `  depth : 0.31`?"""
    return heading(body) and _FIGURE.match(decoded(text, stop + 1, stop + 1 + OPENS)) is not None


def below(text: bytes, stop: int, headed: bool) -> Iterator[tuple[int, int, str]]:
    """The lines in which the text of an exception goes on, whose own line ends at `stop`: those that are indented,
    and below a heading also the first of the others."""
    end, plain = min(len(text), stop + BELOW), 0
    while stop + 1 < end:
        start = stop + 1
        stop = line_end(text, start, end)
        line = decoded(text, start, stop)
        line = line if line.startswith((" ", "\t")) else body_of(line)
        if not line.strip():
            continue
        if not line.startswith((" ", "\t")):
            plain += 1
            if not headed or plain > MOST_BELOW or HEAD in line or line.startswith(_OTHERS):
                return
        yield start, stop, line


def escaped(line: str) -> str | None:
    """The exception of a traceback that a structured log holds in one line, with its line ends written out."""
    at = line.index(HEAD)
    if "\\n" not in (text := line[at:]):
        return None
    text = _QUOTED_END["'" if line[:at].endswith("'") else '"'].split(text, maxsplit=1)[0]
    found = [part for part in text.split("\\n")[-MOST_ODD:] if _RAISED.match(part)]
    return found[-1] if found else None


def framed(before: str) -> bool:
    """Is the line above an exception one of a traceback, whose head may be elsewhere?"""
    body = body_of(before) if not before.startswith(" ") else before
    return body.startswith(_FRAME) and bool(body.strip())


def read_traceback(text: bytes, end: int, at: int, head: str, before: str) -> tuple[list[Raised], int | None]:
    """The exceptions of the traceback whose head line ends at `at`, and where reading may go on; None there when
    the text ends first. `before` is the line above the head."""
    reading = _Reading(text, end, at, head, before)
    for start, stop, line in reading.lines():
        past = reading.take(start, stop, line)
        if past is not None:
            return reading.found, past
    if reading.cut and (not reading.found or reading.within):
        return reading.found, None
    return reading.found, reading.found[-1].stop if reading.found else at


class _Reading:
    """One traceback being read, line by line, until its exception is found."""

    def __init__(self, text: bytes, end: int, at: int, head: str, before: str) -> None:
        self.found: list[Raised] = []
        self.cut = self.within = False
        self._text, self._end, self._at = text, end, at
        self._group = "Exception Group" in head
        self._prefix = None if self._group else _shape(head[: head.index(HEAD)], text, at, end)
        self._from_thread = (
            before.strip().lower().startswith(_THREAD_HEADS)
            or any(word in before.lower() for word in _HANDLED)
            or _SOFT.search(head) is not None
            or _SERVING.search(head) is not None
        )
        self._excused = is_quoted(before) or goes_on(before)
        self._logged = _LOGGER.search(before[:300]) is not None or _LOGGER.search(head[:120]) is not None
        self._odd = 0
        self._frames = self._code = False
        self._frame = self._call = self._code_line = self._program = ""
        self._typed = self._filed = False  # frames of code that came as text, and of code in files
        self._outermost = self._unbegun = False  # the line above is the outermost frame; what that frame did

    def lines(self) -> Iterator[tuple[int, int, str]]:
        """The lines below the head, without the prefix they share with it; those of other writers left out."""
        place = self._at
        for _ in range(MOST_LINES):
            start = place + 1
            if start >= self._end:
                self.cut = True
                return
            stop = line_end(self._text, start, self._end)
            place = stop
            line = decoded(self._text, start, min(stop, start + WINDOW))
            if self._prefix is not None:
                match = self._prefix.match(line)
                if match is None:
                    continue
                line = line[match.end() :]
            elif not line.startswith((" ", "\t")):
                line = body_of(line)
            yield start, stop, _ungrouped(line) if self._group else line

    def take(self, start: int, stop: int, line: str) -> int | None:
        """Account for one line; returns where reading may go on once the traceback is over."""
        if not line.strip():
            return None
        if self.within:
            return self._take_within(start, stop, line)
        if HEAD in line and not (self._group and "Exception Group" in line):
            return start - 1
        if line.startswith(_FRAME) or self._code:
            if self.found and not self._group and not line.lstrip().startswith(("File ", "^", "~")):
                return start - 1
            self._frames, self._code = True, line.startswith('File "')
            if self._outermost:
                self._unbegun = _IMPORTS.match(line) is not None
            self._outermost = False
            if not line.lstrip().startswith(('File "', "^", "~")):
                self._code_line = self._code_line or line
            elif line.lstrip().startswith('File "'):
                first, own = not (self._filed or self._typed), imported(line)
                outermost = _OUTERMOST.search(line) is not None and not own
                self._excused |= first and own
                if _folder(line) != _folder(self._frame):
                    self._call = f"{self._frame}\n{self._code_line}"
                self._frame, self._code_line, self._outermost = line, "", first and outermost
                if first and (ran := _PROGRAM.match(line)):
                    self._program = ran[1]
                self._logged |= first and not outermost
                typed = 'File "<' in line and 'File "<stdin>' not in line  # a program may come from its input
                self._typed |= typed
                self._filed |= not typed
                self._from_thread |= any(frame in line for frame in _OF_REQUESTS)
            return None
        if _RAISED.match(line) or (self._frames and not self._odd and not self.found and _ANY_NAME.match(line)):
            from_thread = self._from_thread or (self._typed and not self._filed)
            said = (line, from_thread, self._logged, self._excused, self._unbegun)
            frame = f"{self._frame}\n{self._call}"
            self.found.append(Raised(start, min(stop, start + WINDOW), *said, frame, self._program))
            self.within = line.rstrip().endswith(_IN_USER_CODE)
            return None if self.within or self._goes_on(stop) else stop
        if self.found:
            return start - 1
        self._odd += 1
        return self._at if self._odd > MOST_ODD else None

    def _take_within(self, start: int, stop: int, line: str) -> int | None:
        """Account for one line below the head of code that was traced: the exception itself takes the head's place."""
        if not line.startswith((" ", "\t")):
            return start - 1
        if not _RAISED.match(line.strip()):
            return None
        self.within = False
        self.found[-1] = replace(self.found[-1], start=start, stop=min(stop, start + WINDOW), body=line.strip())
        return stop

    def _goes_on(self, stop: int) -> bool:
        """Do frames go on right below, as under a RayTaskError and within a group?"""
        if self._group:
            return len(self.found) < 4
        for _ in range(3):
            start = stop + 1
            if start >= self._end:
                return False
            stop = line_end(self._text, start, self._end)
            line = decoded(self._text, start, min(stop, start + 400))
            if self._prefix is not None and (found := self._prefix.match(line)):
                line = line[found.end() :]
            if line.strip():
                return line.startswith(" ") and (line.lstrip().startswith('File "') or not line.strip(" ^~"))
        return False


def _folder(frame: str) -> str:
    """The folder of the file that the line of a frame names."""
    return frame.partition('", line ')[0].rpartition("/")[0]


def _ungrouped(line: str) -> str:
    """A line of an exception group without the rails drawn before it."""
    bare_line = line.lstrip(" ")
    if bare_line.startswith("| "):
        return bare_line[2:]
    return " " + line if bare_line.startswith(("+", "|")) else line


def _shape(prefix: str, text: bytes, at: int, end: int) -> re.Pattern[str] | None:
    """A pattern for what stood before the head, if the line below begins with the same; of a box, how far it is
    indented, as Rich does below a line of its logger."""
    if (margin := len(prefix) - len(prefix.lstrip(" "))) and prefix[margin:].startswith(("╭", "┏")):
        return lazily(rf" {{{margin}}}")
    if not prefix.strip() or len(prefix) > 200:
        return None
    parts = re.split(r"(\d+)", prefix)
    pattern = lazily("".join(r"\d{1,12}" if part.isdigit() else re.escape(part) for part in parts))
    below = decoded(text, at + 1, line_end(text, at + 1, end)) if at + 1 < end else ""
    return pattern if pattern.match(below) else None
