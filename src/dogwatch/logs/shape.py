"""What a printed line looks like without its numbers, and what each number in it may count; pure.

Two lines of one print statement have the same shape. Dates and times of day are one sign, and a number that is part of
a name, a version or an address, or has a unit of its own behind it, belongs to the text. What stands behind the last
number is no part of a shape, because file names and remarks come there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from dogwatch.logs.lazily import lazily

LONGEST = 240  # characters of a line that are looked at
MOST, MOST_WHOLE = 12, 5  # numbers of a line, and those that may count
MOST_WORDS = 8  # before a number
MOST_NAMES = 8  # numbers in names, and times
NOW, NAME, STAMP = "\ue000", "\ue001", "\ue002"  # for a number, one in a name, a date or time

_TOKEN = lazily(
    r"(?=[\d.ni])(?:(\d{4}[-/.]\d\d[-/.]\d\d(?:[ t_,-]{1,2}\d\d:\d\d(?::\d\d)?)?(?:[.,]\d{1,9})?z?"
    r"|\d\d[-/]\d\d[ t]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?|\d{1,3}:\d\d(?!\d)(?::\d\d)?(?:[.,]\d{1,9})?)"
    r"|(\d{1,3}(?:,\d{3}){1,4}(?!\d)|\d{1,20})(\.(?!\.)\d{0,20})?(e[-+]?\d{1,3})?"
    r"|(?<![\w.])\.\d{1,20}(?:e[-+]?\d{1,3})?|(?<![a-z])(?:nan|inf)(?![a-z]))",
    re.ASCII,
)  # at most places one poll ahead tells that none is there
_WORD = lazily(r"[a-z]{1,20}|[\u4e00-\u9fff]{1,8}")
_BAR = lazily(r"\[[=#>*.█▓▒░ -]{5,120}\]")  # as long as it is drawn
_MEASURE = lazily(r" (?:[mun]?s|secs?|seconds?|min|minutes?|hours?|h|%|[kmgt]i?b|bytes)(?![a-z])", re.ASCII)
_COMPOUND = lazily(r"[a-z]_[a-z]{1,20}\W{0,6}$", re.ASCII)
_OPTION = lazily(r"--[a-z][a-z_-]{0,30}[ =]?$", re.ASCII)  # of a command that is shown
_ORDINAL = ("st", "nd", "rd", "th")
_CLOCK = f"time ={NOW}"  # of what is simulated, where nothing else stands on the line
_UNITS = {
    "epochs": "epoch epochs ep 轮",
    "steps": "step steps nstep nsteps 步 步骤",
    "iterations": "iter iters iteration iterations iterat itr itn it niter 迭代",
    "timesteps": "timestep timesteps",
    "updates": "update updates nupdate nupdates",
    "batches": "batch batches minibatch",
    "episodes": "episode episodes 回合",
    "generations": "generation generations gen ngen",
    "rounds": "round rounds",
    "trials": "trial trials",
    "folds": "fold folds",
    "frames": "frame frames",
    "games": "game games",
    "cycles": "cycle cycles",
    "sweeps": "sweep sweeps",
    "ticks": "tick ticks",
}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOOPS = {word: unit for unit, words in _UNITS.items() for word in words.split()}
_THINGS = _words(
    "item items file files image images img sample samples example examples line lines row rows record records "
    "sentence sentences document documents doc docs question questions query queries prompt prompts case cases "
    "video videos chunk chunks sequence sequences task tasks i n idx index"
)
_DONE = _words("processed completed finished handled generated encoded embedded evaluated scored indexed converted")
_DONE_BEHIND = lazily(rf" ?(?:[a-z]{{3,20}} )?(?:have been |were |are )?(?:{'|'.join(sorted(_DONE))}|done)\b", re.ASCII)
# what is said of a number besides what it counts
_BESIDE = _words("n no nr number count counter current cur global train training the now out idx index i")
# a number behind one of these is no count of what was done, and a loop behind one is not the one under way
_OTHERS = _words(
    "time times elapsed eta remaining sec secs second seconds ms min mins minute minutes hour hours day days date "
    "memory mem mb gb kb mib gib bytes size seed lr rate loss losses acc accuracy score version v pid port id uid "
    "rank gpu gpus cuda device node worker workers thread threads process proc core cpu host layer layers head "
    "channel class label level code status error errno exit retry retries attempt try params parameters dim shape "
    "width height length len page section chapter phase stage part rule option figure table release address key "
    "offset position pos"
)
_NOT_NOW = _words("best last previous prev from until every next since warmup patience early max maximum num per")

TESTS = lazily(r"\b(?:e?val|evaluat\w{0,4}|valid|validat\w{0,4}|test|testing)\b", re.ASCII)  # who counts something else

# Who prints such lines loads, builds or fetches, or it is a bar that is read elsewhere.
NOT_PROGRESS = lazily(
    r"it/s[],]|s/it[],]|%\||download|install|compil|building|linking|loading|fetch|https?:|unpack|setting up|collecting"
    r"|traceback|file \"|warning|retry|^wandb:"
)


class Number(NamedTuple):
    """What a number of a shape may be: the unit of what it counts ("" where no word says), how much that word says,
    whether it is the total of the number before it."""

    unit: str
    sure: int
    of: bool


NEVER, PERHAPS, THINGS, LOOP = range(4)  # how much a word says that the number behind it counts
LETTER = "letter"  # what names a setting, unless a total stands behind the number


@dataclass(frozen=True, slots=True)
class Line:
    """The shape of a line, and its numbers: None is one that is no whole count."""

    shape: str
    values: tuple[float | None, ...]


def parse_line(line: str) -> Line | None:
    """The shape of a line; None where it has no number of its own."""
    low = line[:LONGEST].lower()
    parts: list[str] = []
    values: list[float | None] = []
    end = names = 0
    for found in _TOKEN.finditer(low):
        start = found.start()
        gap = low[end:start].strip()
        end = found.end()
        stamp, whole, part, power = found.groups()
        if stamp is not None or (whole is not None and _in_name(low, start, end, part is None)):
            parts += (gap, STAMP if whole is None else NAME)
            names += 1
            if names == MOST_NAMES:
                break
            continue
        if gap.endswith("-") and (len(gap) == 1 or not gap[-2].isalnum()):
            gap, whole = gap[:-1].rstrip(), None  # a minus
        if gap[-1:] == "]":
            gap = _BAR.sub("[]", gap)
        parts += (gap, NOW)
        values.append(None if whole is None else _count(whole, part, power))
        if len(values) == MOST or len(values) - values.count(None) == MOST_WHOLE:
            break
    if not values:
        return None
    return Line("".join(parts[: 2 * _last(parts)]), tuple(values))


def _last(parts: list[str]) -> int:
    """How many signs there are up to the last number."""
    return next(i for i in range(len(parts) // 2, 0, -1) if parts[2 * i - 1] == NOW)


def _in_name(low: str, start: int, end: int, is_whole: bool) -> bool:
    """Whether a number is a part of a name, a version, an address, or is whole and has a unit of its own behind it."""
    before, after = low[start - 1 : start], low[end : end + 1]
    if is_whole and (after in ("%", "_") or (after == " " and _MEASURE.match(low, end))):
        return True
    if is_whole and after.isalpha() and low[end : end + 2] not in _ORDINAL:
        return True
    if after == "." and low[end + 1 : end + 2].isdigit():
        return True
    if before.isalpha():
        word = _WORD.findall(low[max(0, start - 20) : start])
        return not word or len(word[-1]) < 4 or word[-1] not in _LOOPS
    if before == "/":
        return not low[: start - 1].rstrip()[-1:].isdigit()
    if before == "-":
        return low[start - 2 : start - 1].isalnum()
    return before in ("_", ".", "\\") and start > 0


def _count(whole: str, part: str | None, power: str | None) -> float | None:
    """A whole count; `4.5e+04` is one that was shortened."""
    if power is None:
        return float(whole.replace(",", "")) if part is None and len(whole) < 16 else None
    value = float(whole.replace(",", "") + (part or "") + power)
    return value if 1 <= value < 1e15 and value == int(value) else None


def numbers(shape: str, behind: str = "") -> tuple[Number, ...]:
    """What the numbers of a shape may be, by the words before them, or by one `behind` them: 150 items processed."""
    found: list[Number] = []
    gaps = re.split(f"([{NOW}{NAME}{STAMP}])", shape)
    gaps[-1] = behind
    before = ""
    for gap, symbol, after in zip(gaps[0::2], gaps[1::2], gaps[2::2], strict=False):
        if symbol == NOW:
            of = bool(found) and before == NOW and _is_total(gap, shape)
            unit, sure = named(_WORD.findall(gap)[-MOST_WORDS:], bool(_COMPOUND.search(gap)))
            if shape == _CLOCK:
                unit, sure = "steps", THINGS
            elif sure in (PERHAPS, THINGS) and _DONE_BEHIND.match(after):
                unit, sure = "items", LOOP
            if of and found[-1].unit == LETTER:
                found[-1] = Number("items", PERHAPS, False)
            found.append(Number(unit, NEVER if of or _OPTION.search(gap) else sure, of))
        before = symbol
    return tuple(found)


def _is_total(gap: str, shape: str) -> bool:
    return gap.lstrip(". ") in ("/", "of", "out of", "]/[") or (gap == "|" and f"[{NOW}|{NOW}]" in shape)


def named(words: list[str], compound: bool = False) -> tuple[str, int]:
    """(unit, how sure) of a number behind these words, of which the last two may be one compound."""
    core = [word for word in words if word not in _BESIDE]
    if compound and core[-2:-1] and core[-2] in _LOOPS and core[-1] not in _OTHERS | _NOT_NOW | _LOOPS.keys():
        core.pop()  # epoch_outer
    last = core[-1] if core else ""
    if last in _LOOPS:
        past = "best" in core or (len(core) > 1 and core[-2] in _NOT_NOW)
        many = last.endswith("s") and words[-2:-1] == ["no"]  # how many a solver needed
        return _LOOPS[last], NEVER if past or many else LOOP
    if last in _OTHERS or last in _NOT_NOW:
        return "", NEVER
    if last in _DONE:
        return "items", LOOP
    if last in _THINGS:
        return last if last.endswith("s") else f"{last}s", THINGS
    if words and words[-1] in _THINGS:
        return "items", THINGS
    return (LETTER, NEVER) if len(last) == 1 else ("items", PERHAPS)


# what a launcher or a container puts before a line
LAUNCHED = lazily(
    r"(?i:\d{1,5}: |\[rank\d{1,5}\]: |\([^()]{1,80} pid=\d{1,9}[^()]{0,40}\) |\d{4}-\d\d-\d\d[t ][\d:.]{5,18}z? )",
    re.ASCII,
)


def column(cell: str) -> str:
    """The unit that a table's column counts in; empty where its name is none of a loop."""
    words = _WORD.findall(cell.lower())
    loops = [word for word in words if word in _LOOPS]
    others = [word for word in words if word not in _LOOPS and word not in _BESIDE]
    return _LOOPS[loops[0]] if len(loops) == 1 and not others and len(cell) <= 20 else ""
