"""Python tracebacks as logs hold them: behind rank and actor prefixes, interleaved, chained, without their head."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dogwatch.text import without_escapes

HEAD = "Traceback (most recent call last)"
MOST_LINES = 800
MOST_ODD = 40
REACH = 4096

# What launchers put before each line: [rank3]: , [default0]:, (Actor pid=7), 12: , [1,0]<stderr>:, trainer-0 |
_PREFIX = re.compile(
    r"(?:\[(?:rank|default|Rank )?\d{1,5}\]:? ?"
    r"|\((?:[^()]{1,80} )?pid=\d{1,9}[^()]{0,60}\) ?"
    r"|\s{0,4}\d{1,5}: "
    r"|\[\d{1,4},\d{1,5}\]<std(?:err|out)>: ?"
    r"|[\w.-]{1,60} {1,3}\| ?)"
)
_NAME = (
    r"(?:[A-Za-z_]\w{0,60}\.){0,10}[A-Za-z_]\w{0,80}?"
    r"(?:Error|Exception|Interrupt|Exit|Failure|Fault|Timeout|StopIteration|Abort|Died|Unavailable|NotFound|Denied"
    r"|Warning|TimeoutExpired|Empty|Full|Mismatch|Conflict|Unsupported|Invalid\w{0,40})"
)
_RAISED = re.compile(rf"{_NAME}(?:\(\w{{1,80}}\))?(?::\s|:?\s{{0,4}}$)", re.ASCII)
_ANY_NAME = re.compile(r"(?:[a-z_]\w{0,60}\.){0,10}[A-Z]\w{2,80}(?:: |:?$)", re.ASCII)
_NUMBER = re.compile(r":\s{0,4}[-+]?[\d.]{1,20}(?:e[-+]?\d{1,4})?%?\s{0,4}(?:$|[,|;])", re.ASCII)
_ASIDE = ("exception in thread", "exception ignored in", "exception ignored", "--- logging error ---")


@dataclass(frozen=True, slots=True)
class Raised:
    """The exception line of a traceback: where it lies, and what it says without its prefix."""

    start: int
    stop: int
    body: str
    aside: bool


def body_of(line: str) -> str:
    """A line without what launchers put before it."""
    for _ in range(2):
        found = _PREFIX.match(line)
        if found is None or found.end() == 0:
            break
        line = line[found.end() :]
    return line


def bare(body: str) -> bool:
    """Does the line read like the last one of a traceback whose head is elsewhere?"""
    found = _RAISED.match(body)
    return found is not None and "Warning" not in found.group() and _NUMBER.search(body[:200]) is None


def read_traceback(text: bytes, end: int, at: int, head: str, before: str) -> tuple[list[Raised], int | None]:
    """The exceptions of the traceback whose head line ends at `at`, and where reading may go on; None there when
    the text ends first. `before` is the line above the head."""
    prefix = _shape(head[: head.index(HEAD)], text, at, end)
    aside = before.strip().lower().startswith(_ASIDE) or "Exception ignored" in before
    found: list[Raised] = []
    odd = count = 0
    framed = False
    place = at
    while place < end and count < MOST_LINES and odd < MOST_ODD:
        start = place + 1 if text[place : place + 1] in (b"\n", b"\r") else place
        stop = _line_end(text, start, end)
        if stop is None:
            break
        line = without_escapes(text[start : min(stop, start + REACH)].decode("utf-8", "replace"))
        place, count = stop, count + 1
        if prefix is not None:
            match = prefix.match(line)
            if match is None:
                continue
            line = line[match.end() :]
        else:
            line = body_of(line) if not line.startswith((" ", "\t")) else line
        if not line.strip():
            continue
        if line.startswith((" ", "\t", "|", "+")):
            framed = True
            if found and not line.lstrip().startswith(("File ", "|", "^", "~")) and not _inside(text, place, end):
                return found, start - 1
            continue
        if HEAD in line:
            return found, start - 1
        if _RAISED.match(line) or (framed and odd == 0 and not found and _ANY_NAME.match(line)):
            found.append(Raised(start, min(stop, start + REACH), line, aside))
            if not _inside(text, stop, end, prefix):
                return found, stop
            framed = False
            continue
        if found:
            return found, start - 1
        odd += 1
    if place >= end - 1 and not found:
        return [], None
    return found, (found[-1].stop if found else at)


def _inside(text: bytes, stop: int, end: int, prefix: re.Pattern[str] | None = None) -> bool:
    """Do frames go on right below, as under a RayTaskError?"""
    for _ in range(3):
        start = stop + 1
        past = _line_end(text, start, end)
        if past is None or start >= end:
            return False
        line = text[start : min(past, start + 400)].decode("utf-8", "replace")
        if prefix is not None and (found := prefix.match(line)):
            line = line[found.end() :]
        if line.lstrip().startswith('File "') or (line.strip(" ^~") == "" and line.strip()):
            return line.startswith(" ")
        if line.strip():
            return False
        stop = past
    return False


def _shape(prefix: str, text: bytes, at: int, end: int) -> re.Pattern[str] | None:
    """A pattern for what stood before the head, if the line below begins with the same."""
    if not prefix.strip() or len(prefix) > 200:
        return None
    pattern = re.compile(
        "".join(r"\d{1,12}" if part.isdigit() else re.escape(part) for part in re.split(r"(\d+)", prefix))
    )
    stop = _line_end(text, at + 1, end)
    below = text[at + 1 : stop if stop is not None else end].decode("utf-8", "replace")
    return pattern if pattern.match(without_escapes(below)) else None


def _line_end(text: bytes, start: int, end: int) -> int | None:
    if start >= end:
        return None
    found = text.find(b"\n", start, end)
    return end if found < 0 else found
