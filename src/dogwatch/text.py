"""The one gate between foreign text and a terminal, and the check of names that people give.

Kept free of `re`, `typing` and `dataclasses`, because listing jobs imports it.
"""

from __future__ import annotations

from itertools import groupby

from dogwatch.errors import UsageError

NAME_LIMIT = 200
_CSI, _OSC, _ST = "\x9b", "\x9d", "\x9c"
_STRINGS = "\x90\x98\x9e\x9f" + _OSC
_C1_OF_ESC = {"[": _CSI, "]": _OSC, "P": "\x90", "X": "\x98", "^": "\x9e", "_": "\x9f"}
_INVISIBLE = frozenset(
    map(
        chr,
        [0xAD, 0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x200B, 0x200C, 0x200D, 0x3164, 0xFEFF, 0xFFA0],
    )
) | frozenset(map(chr, [*range(0x2060, 0x2065), *range(0xE0000, 0xE0080)]))
_SPACES = frozenset(map(chr, [0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000]))


def plain(text: str, limit: int = 500, keep: str = "") -> str:
    """`text` as it may touch a terminal: escape sequences dropped whole, other controls, bidi marks and
    line separators shown escaped, zero-width characters removed, at most `limit` characters long.
    Characters in `service` (say a newline) pass as they are."""
    if text.isascii() and text.isprintable():
        return text if len(text) <= limit else text[: limit - 1] + "…"
    text = text[: 16 * limit + 4096]
    out: list[str] = []
    size = at = 0
    end = len(text)
    while at < end and size <= limit:
        past = _past_escape(text, at)
        if past > at:
            at = past
            continue
        shown = text[at] if text[at] in keep else _shown(text[at])
        out.append(shown)
        size += len(shown)
        at += 1
    whole = "".join(out)
    return whole if size <= limit else whole[: limit - 1] + "…"


def named(text: str, what: str) -> str:
    """A name or description given by a person, stripped of outer blanks, or a sentence why it cannot be one.
    `what` says what it is for ("job name"); where that ends in "name", a leading dash is refused too."""
    given = text.strip(" ")
    shown = plain(given, 40)
    if not given:
        raise UsageError(f"the {what} is empty; give it at least one printable character")
    for at, char in enumerate(given):
        if char in _INVISIBLE or not (char.isprintable() or char in _SPACES):
            kind = "a newline" if char in "\r\n\u2028\u2029" else "an escape code" if char in "\x1b\x9b" else ""
            kind = kind or "a control or invisible character"
            raise UsageError(
                f"the {what} '{shown}' has {kind} (U+{ord(char):04X}) at position {at + 1};"
                " use printable text on one line"
            )
    if len(given) > NAME_LIMIT:
        raise UsageError(f"the {what} '{shown}' is {len(given)} characters long; use at most {NAME_LIMIT}")
    if given.startswith("-") and what.endswith("name"):
        raise UsageError(f"the {what} '{shown}' starts with a dash and would read as a flag; start it with a letter")
    return given


def lasting(seconds: float) -> str:
    """A length of time in a sentence, in one unit: 45 s, 12 min, 2.5 h."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 3600:.1f} h" if seconds >= 5400 else f"{round(seconds / 60)} min"


def as_counted(text: str) -> list[tuple[int, int, str]]:
    """The key that sorts names as people count: job2 before job10."""
    key = []
    for digits, run in groupby(text, str.isdecimal):
        part = "".join(run)
        counted = part.lstrip("0") if digits else part
        key.append((0, len(counted), counted) if digits else (1, 0, counted))
    return key


def _past_escape(text: str, at: int) -> int:
    """Where the escape sequence that starts at `at` ends, or `at` when none starts there."""
    opener, past = text[at], at + 1
    if opener == "\x1b":
        if past >= len(text):
            return at
        opener = _C1_OF_ESC.get(text[past], "")
        past += 1 if opener else 0
    if opener == _CSI:
        return _run(text, past, "\x20", "\x3f", 64)
    if opener and opener in _STRINGS:
        return _past_string(text, past)
    if opener == "":
        return _run(text, past, "\x20", "\x2f", 4)
    return at


def _run(text: str, at: int, low: str, high: str, most: int) -> int:
    """Past the parameter characters low..high and the one final character that ends them."""
    stop = min(len(text), at + most)
    while at < stop and low <= text[at] <= high:
        at += 1
    return at + 1 if at < len(text) and "\x30" <= text[at] <= "\x7e" else at


def _past_string(text: str, at: int) -> int:
    """Past the end of an OSC or DCS string; one that does not end soon loses only its opener."""
    for here in range(at, min(len(text), at + 4096)):
        if text[here] in "\x07\x9c":
            return here + 1
        if text[here] == "\x1b":
            return here + 2 if text[here + 1 : here + 2] == "\\" else here
        if not text[here].isprintable():
            return at
    return at


def _shown(char: str) -> str:
    if char in _INVISIBLE:
        return ""
    if char in _SPACES:
        return " "
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# A scheduler's words for a job that holds its nodes while its processes are stopped.
SUSPENDED = frozenset({"SUSPENDED", "STOPPED"})


def is_suspended(native: str | None) -> bool:
    """Whether a scheduler has suspended a job that runs; of an array (`2 SUSPENDED, 6 PENDING`), all tasks that run."""
    said = {part.split(" ")[-1] for part in (native or "").split(", ")}
    return bool(said & SUSPENDED) and "RUNNING" not in said
