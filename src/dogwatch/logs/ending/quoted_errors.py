"""Words that excuse the trouble beside them: it is another's, given again as an answer or an example, or the program
that met it says how it goes on."""

from __future__ import annotations

import re

from dogwatch.logs.lazily import lazily

# Words before which another's text is given again: a model's, a tool's, a user's.
_OPENS = lazily(
    r"\b(?:observation|response|prediction|completion|answer|prompt|content|assistant|verdict|generated text"
    r"|model output|tool output|question|instruction|hypothesis|hyp|reference|ref|transcript|transcription|translation"
    r"|utterance)['\"]?\s{0,3}[:=]",
    re.IGNORECASE,
)
_GOES_ON = lazily(
    r"\bre-?trying\b|\bre-?try (?:in|\d{1,4}/\d)"
    r"|\btrying (?:again|with|batch|smaller|(?:the )?(?:next|one before|previous|older)|\d)"
    r"|\bwill (?:be )?(?:re-?tr|try|skip)|\bskipp(?:ed|ing)\b|\bfall(?:ing)? back\b|\bignor(?:ed|ing)\b(?! in\b)"
    r"|\bgo(?:es|ing) on\b|\bcontinuing\b(?! from\b)|\breducing\b.{0,30}\b(?:batch|size)|\breducing to\b"
    r"|\battempting to recover\b|\brecovered\b|\bplugin configuration error\b",  # JAX then takes what else there is
    re.IGNORECASE,
)
_LIBRARY = lazily(r'/(?:site|dist)-packages/[^"\n]{1,300}", line \d{1,9}, in <module>')
_PROSE = lazily(r"[ ,.?!]{1,3}[\w'\"]")  # a sentence that goes on, or the next string of a list
_QUOTES = {"'": "'", '"': '"', "`": "`", "\u201c": "\u201d", "\u2018": "\u2019", "\u00ab": "\u00bb"}
_BEFORE = (" ", "\t", "(", "")


def is_quoted(before: str) -> bool:
    """Is what follows this text said by somebody else?"""
    return _OPENS.search(before) is not None


def goes_on(line: str) -> bool:
    """Does the line say that the program goes on in spite of it?"""
    return _GOES_ON.search(line) is not None


def imported(frame: str) -> bool:
    """Is the outermost frame of a traceback a library's? Nobody runs one so: as it was imported it caught this itself,
    and went on."""
    return _LIBRARY.search(frame) is not None


def mentioned(line: str, at: int, end: int) -> bool:
    """Are the words between two places only named: in quotes, in the middle of a sentence that goes on after them?
    The values of a structured line are not."""
    if line.lstrip()[:1] in ("{", "["):
        return False
    for opening, closing in _QUOTES.items():
        start = line.rfind(opening, 0, at + 1)
        if start < 0 or line[max(0, start - 1) : start] not in _BEFORE:
            continue
        stop = line.find(closing, max(end - 1, start + 1))
        if stop >= 0 and line.find(closing, start + 1, at) < 0 and _PROSE.match(line, stop + 1):
            return True
    return False
