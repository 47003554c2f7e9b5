"""Plain counters that people print themselves: `Epoch 3/10`, `step 300 of 1000`, `iter 250: loss 0.3`.

One row per word, and one more for a word with a total, which other lines of it may leave out. Patterns run on the
lower-cased line and start with a literal, which `re` finds at the speed of `find`. A number without a total counts
only in a line that looks like a record.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from dogwatch.logs.interface import (
    AGAIN,
    EPOCH,
    EPOCH_DONE,
    FROM_ZERO,
    INNER,
    PART,
    PERCENT,
    RUN,
    SECONDARY,
    STEPS,
    Format,
    FormatPlugin,
    is_argument,
    number,
    rate,
)
from dogwatch.logs.lazily import lazily
from dogwatch.model import LogEvent, Step

_N = r"\d{1,3}(?:,\d{3}){1,4}|\d{1,15}"
_LEAD = r"(?:\((?:train|val|test)\))?[\"']?[ \t]{0,3}[:=#]{0,2}[ \t]{0,6}[\"'\[(]?[ \t]{0,8}"
_OF = r"[ \t]{0,4}\]?(?:/|of|out of|\((?:total|of|max)[:=]?)[ \t]{0,8}\[?"
_PAIR = _LEAD + rf"({_N}){_OF}({_N})(?!\d|[/:,-]\d|\.\d)"
_PLAIN = r"(?:\((?:train|val|test)\))?[ \t]{0,3}[:=#]{0,2}[ \t]{0,6}(?:[\"'],[ ])?[\[(]?[ \t]{0,8}"
_BARE = _PLAIN + r"(\d{1,15})(?!\d|\.\d|[ \t]{0,4}/[ \t]{0,8}\d|:\d\d|(?!(?:st|nd|rd|th) )[a-z]|%|-\d)"
_PART = _PLAIN + r"(\d{1,6}\.\d{1,9})(?![\d%]|[ \t]{0,4}/[ \t]{0,8}\d|x)"
# What a hint may end with: `3/10`, and a number that stands alone or is a decimal's whole part.
_HINT_PAIR = _LEAD + rf"(?:{_N}){_OF}\d"
_HINT_BARE = _PLAIN + r"\d{1,15}(?:[^\d.a-z%]|\.[^\d]|(?:st|nd|rd|th) )"
_HINT_PART = _PLAIN + r"\d{1,15}(?:[^\da-z%]|(?:st|nd|rd|th) )"
_TRIED = 8  # places of one line at which a label may stand
_AFTER = lazily(r"[\])]?\s{1,2}([a-z]{2,20})\b(?![:=])", re.ASCII)
_FIGURES = lazily(r"\d\.\d|\de[-+]\d|[a-z\])][:=] ?-?\d|\bnan\b|\b\d{1,9} ?ms\b", re.ASCII)
_LEARNS = lazily(r"loss|acc|epoch|reward|lr", re.ASCII)
_OUTER = r"iteration(?=[ :=#]{1,3}\d{1,9}[ ,|]{1,4}(?:step|batch)[ :=#]{1,3}\d{1,9}[ ]?/)"  # the steps are those of one
_EP = lazily(
    rf"(?<![a-z0-9_])(?:ep(?:och)?|{_OUTER})[\"']?[ :=#]{{1,3}}\[?(\d{{1,9}})(?!\d|\.\d)"
    r"(?:[ ]?/[ ]?(\d{1,9}))?",
    re.ASCII,
)
_PLAYED = lazily(r"(?<![a-z_])episode[ :=#]{1,3}\[?\d{1,9}(?:[ ]?/[ ]?\d{1,9})?[]), :;]{1,4}$", re.ASCII)
_SENTENCE = lazily(r": [A-Z][a-z]{1,20}(?: [a-z]{1,20}){2,9}", re.ASCII)
_ORDINAL = ("th step", "st step", "nd step", "rd step", "th iter", "st iter", "nd iter", "rd iter")
_ALONE = " \t.:;,]|)}-=*#>~\"'_─━═—"
_WORD = lazily(r"((?<!\d)[a-z]|[a-z]{2,20})[ \t:_-]{0,2}$", re.ASCII)  # not the Z of a time
_PERCENT = lazily(r"progress(?: is|:|=)?\s{0,4}(\d{1,3}(?:\.\d{1,6})?)\s?%", re.ASCII)
_PERCENT_DONE = lazily(r"(?<![\d.])(\d{1,3}(?:\.\d{1,6})?)% (?:complete|done|finished)", re.ASCII)
_LOADS = ("loading", "download", "shards", "compil", "install")
_ENDS_EPOCH = (
    *("complete", "finish", "done", "took", "elapsed", "time", "loss", "acc"),
    *("dice", "iou", "auc", "f1", "score", "psnr", "bleu", "reward", "mean", "avg"),
)
_NOT_UNITS = frozenset({"in", "at", "with", "and", "loss", "eta", "elapsed", "took", "rate", "done", "train", "val"})
_NOT_NOW = frozenset(
    {
        "best",
        "last",
        "from",
        "warmup",
        "until",
        "every",
        "next",
        "stop",
        "per",
        "max",
        "total",
        "num",
        "save",
        "saved",
        "resume",
        "resuming",
        "load",
        "loaded",
        "loading",
        "deleted",
        "deleting",
        "previous",
        "first",
        "final",
        "target",
        "early",
        "since",
        "n",
        "eval",
        "evaluation",
        "valid",
        "validation",
        "val",
        "dev",
        "test",
    }
)
_OF_THE_RUN = ("global", "total", "overall")
_THINGS = lazily(
    r" (?:items|samples|examples|documents|articles|records|rows|files|texts|images|prompts|requests|tokens)\b",
    re.ASCII,
)  # `batch: 100 items` is how large it is
_MANY = lazily(r"[a-z]{3,10}s(?![a-z])", re.ASCII)  # `global_steps 300` counts, `steps 300` is how many there are
_MAY_LEAD = frozenset(
    {
        "train",
        "training",
        "global",
        "current",
        "time",
        "completed",
        "finished",
        "starting",
        "begin",
        "beginning",
        "optimizer",
        "opt",
        "epoch",
        "learning",
        "overall",
        "total",
    }
)


@dataclass(frozen=True, slots=True)
class _Label:
    """One word that counts: its pattern with a total, without, and what each of the two means."""

    unit: str
    pair: re.Pattern[str]
    bare: re.Pattern[str] | None
    rank: int
    hint: bytes


def _label(word: str, ending: str, unit: str, rank: int, bare_ending: str | None) -> _Label:
    bare = None if bare_ending is None else lazily(word + bare_ending + _BARE, re.ASCII)
    pair = lazily(word + ending + _PAIR, re.ASCII)
    alone = "" if bare_ending is None else f"|{bare_ending}{_HINT_BARE}"
    return _Label(unit, pair, bare, rank, f"{word}(?:{ending}{_HINT_PAIR}{alone})".encode())


def _before(low: str, start: int) -> str | None:
    """The word before a label ("" when none is), or None where the label is part of a longer name, an argument, or
    what a tracker sums up of a run that ended."""
    ahead = low[max(0, start - 24) : start]
    if low.startswith("wandb:") or is_argument(low, start):
        return None
    if not ahead or ahead[-1] in " \t|[(,:;>=*\"'{":
        word = _WORD.search(ahead.rstrip(" \t"))
        return word[1] if word and ahead[-1] in " \t" else ""
    if ahead[-1] in "_-/.":
        word = _WORD.search(ahead)
        if word and word[1] in _MAY_LEAD and ahead[: word.start()][-1:] not in ("_", "-"):  # save_epoch_step: a setting
            return word[1]
        return "" if ahead[-1] == "-" and not word else None
    return None if ahead[-1].isalnum() else ""


def _pair(label: _Label, low: str) -> re.Match[str] | None:
    """The first `3/10` behind the label that does not stand inside a longer name."""
    for found in islice(label.pair.finditer(low), _TRIED):
        before = _before(low, found.start())
        if before is not None and before not in _NOT_NOW and number(found[1]) <= number(found[2]):
            return found
    return None


def _bare(label: _Label, low: str, line: str) -> tuple[float, bool, int] | None:
    """(the first number behind the label that is a record of its own, whether it says that it counts the
    whole run, where it stands)."""
    if label.bare is None:
        return None
    for found in islice(label.bare.finditer(low), _TRIED):
        before = _before(low, found.start())
        if before is None or before in _NOT_NOW or "best" in low[max(0, found.start() - 80) : found.start()]:
            continue
        if (before != "global" and _MANY.match(low, found.start())) or _THINGS.match(low, found.end()):
            continue
        if _is_record(low, found.start(), found.end(), before, line):
            return float(found[1]), before in _OF_THE_RUN, found.start()
    return None


def _is_record(low: str, start: int, end: int, before: str, line: str) -> bool:
    """Figures stand beside the number, or nothing does: `Step 3: load the model` is an instruction, and
    `step: 3` a setting."""
    rest = low[end : end + 300]
    if not rest.strip(_ALONE) or rest.startswith(_ORDINAL):
        if "  :" in low[start:end] or _is_setting(low, start, end):
            return False  # an entry of a list of settings
        assigned = re.match(r"[-+]{0,24}[ \t]{1,40}[a-z_]{4,20} = \d{1,9}\s{0,4}$", line) is not None  # a line of code
        printed = line[start : start + 2].istitle() or low.startswith("episode ", start)  # `timestep 4` is a command
        return before in _MAY_LEAD or ((not before and (printed or bool(line[:start].strip()))) and not assigned)
    ahead = low[max(0, start - 120) : start]
    if _is_listed(low, start, end):
        return False
    figures = _FIGURES.search(rest)
    told = _SENTENCE.match(line, end)
    if told and figures and figures.start() >= told.end() - end and not _LEARNS.search(told[0].lower()):
        return False
    return bool(figures or _LEARNS.search(ahead))


def _is_setting(low: str, start: int, end: int) -> bool:
    """Whether it is the last of several that are given a value, none of which is measured: `lr=3 gpus=2 batch=8`."""
    ahead = low[max(0, start - 120) : start]
    measured = _LEARNS.search(ahead) or re.search(r"\d\.\d", ahead)
    return "=" in low[start:end] and not measured and re.search(r"[a-z_]=\S", ahead) is not None


def _is_listed(low: str, start: int, end: int) -> bool:
    """Whether it stands among settings, all of them whole numbers: `size=775 | step=5 | trees=110`."""
    if "=" not in low[start:end] or len(low) > _SHORT or _LEARNS.search(low) or re.search(r"\d\.\d|\d:\d\d", low):
        return False
    return _WHOLE.search(low, 0, start) is not None and _WHOLE.search(low, end) is not None


_SHORT = 160  # characters of a list that is told from a record
_WHOLE = lazily(r"[a-z][a-z_-]{1,30}=\d{1,9}(?=[ ,;|]|$)", re.ASCII)


def _goes_on(low: str) -> bool:
    """Whether the line says where a run resumed, or what was loaded, which is no step of it."""
    return any(word in low for word in _RESUMES) or bool(_LOADED.match(low[:400]) or _LOADS_MODEL.match(low[:200]))


_RESUMES = ("resum", "continuing training", "restored", "loaded checkpoint")
_LOADS_MODEL = lazily(
    r"[^\n]{0,60}?\bload(?:ed|ing)?\b[^\n]{0,40}?\b(?:model|checkpoint|weights)\b[^\n]{0,40}?\b(?:epoch|step|iter)",
    re.ASCII,
)
_LOADED = lazily(r"[^\n]{0,120}?\bload(?:ed|ing)?\b[^\n]{0,240}?\.(?:pth?|ckpt|tar|h5|bin|safetensors)\b", re.ASCII)
_NAMES = r" num| number| id|_num|_number|_idx|_index|_id|_no|\."
_EPOCH_PAIR = _label("epoch", f"(?:s|{_NAMES})?", "epochs", EPOCH, None)
_EPOCH_BARE = lazily(f"epoch(?:{_NAMES})?" + _BARE, re.ASCII)
_EPOCH_PART = lazily("epoch" + _PART, re.ASCII)


def _epoch_beside(low: str) -> tuple[float, float | None, int] | None:
    """(epoch, of how many, where it stands) of a line whose other counter is read. A counter that stands
    before the epoch counts the run; one behind it counts inside."""
    found = _EP.search(low) if "ep" in low or "iteration" in low else None
    if found:
        return float(found[1]), float(found[2]) if found[2] else None, found.start()
    pair = _pair(_EPOCH_PAIR, low) if "epoch" in low else None
    if pair:
        return number(pair[1]), number(pair[2]), pair.start()
    bare = _EPOCH_BARE.search(low) if "epoch" in low else None
    return (float(bare[1]), None, bare.start()) if bare else None


def _count(label: _Label, line: str) -> list[LogEvent]:
    """A counter of the run; beside an epoch on the same line it counts inside that epoch."""
    low = line.lower()
    pair = _pair(label, low)
    bare = None if pair or _goes_on(low) else _bare(label, low, line)
    if not pair and not bare:
        return []
    done, total = (number(pair[1]), number(pair[2])) if pair else (bare[0] if bare else 0.0, None)
    beside = _epoch_beside(low) if label.rank == RUN or "epoch" not in low else None
    inside = beside is not None and not (bare and (bare[1] or bare[2] < beside[2]))
    if label.unit in STEPS and not (bare and bare[1]):  # `Episode 5 Step 8`: those of one episode
        start = pair.start() if pair else bare[2] if bare else 0
        inside = inside or bool(_PLAYED.search(low, max(0, start - 40), start))
    rank = INNER if inside else label.rank
    unit = label.unit or _unit(low, pair)
    marks: list[LogEvent] = [Step(done, total or None, unit, rate(low, unit), rank)]
    if beside and "epoch" not in low:
        marks.append(Step(beside[0], beside[1], "epochs", None, EPOCH))
    return marks


def _unit(low: str, found: re.Match[str] | None) -> str:
    """The word behind the numbers."""
    word = _AFTER.match(low, found.end()) if found else None
    return word[1] if word and word[1] not in _NOT_UNITS else "items"


def _epoch(line: str) -> list[LogEvent]:
    """A line that only names the epoch opens it; one that sums up (a loss, a time) closes it."""
    low = line.lower()
    pair = _pair(_EPOCH_PAIR, low)
    if pair:
        done, total, start, end = number(pair[1]), number(pair[2]), pair.start(), pair.end()
    elif _goes_on(low):
        return []
    else:
        for found in islice(_EPOCH_BARE.finditer(low), _TRIED):
            before = "" if low.endswith("end-of-", 0, found.start()) else _before(low, found.start())
            best = "best" in low[max(0, found.start() - 40) : found.start()]
            setting = low.startswith("_num", found.start() + 5) and not low[found.end() :].strip(_ALONE)
            setting = setting or _is_name(low, found) or low.startswith((" evaluation *", _BY_PLATEAU), found.end())
            setting = setting or "performance of" in low[max(0, found.start() - 16) : found.start()]
            if (
                before is not None
                and not best
                and not setting
                and (before not in _NOT_NOW or before in ("eval", "val", "validation"))
            ):
                done, total, start, end = float(found[1]), None, found.start(), found.end()
                break
        else:
            return _epoch_part(low)
    step = _of_epochs(low, done, total, end)
    return [replace(step, rank=EPOCH_DONE) if low.endswith(_CLOSES_EPOCH, 0, start) else step]


_CLOSES_EPOCH = ("end of ", "end-of-", "ended ", "finished ", "completed ")
_BY_PLATEAU = ": reducing learning rate of group"  # of torch, which counts from nought beside any other count


def _is_name(low: str, found: re.Match[str]) -> bool:
    """Whether `epoch20` names a checkpoint: the number is joined to the word, something stands before it and no figure
    behind."""
    joined = low[found.start(1) - 1].isalpha()
    return joined and bool(low[: found.start()].strip()) and not _FIGURES.search(low, found.end(), found.end() + 200)


def _ep(line: str) -> list[LogEvent]:
    """The word cut short, `ep 11/50` or `Train Ep: 1200 lr 0.1`; where rewards are earned, it is an episode."""
    low = line.lower()
    for found in islice(_EP_ALONE.finditer(low), _TRIED):
        rest, before = low[found.end() : found.end() + 200], low[max(0, found.start() - 40) : found.start()]
        done, total = number(found[1]), number(found[2]) if found[2] else None
        if "best" in before or (total is None and not _FIGURES.search(rest)) or (total is not None and done > total):
            continue
        if is_argument(low, found.start() + 1):
            continue
        if any(word in rest for word in ("reward", "return", "score")):
            return [Step(done, total, "episodes", None, RUN)]
        return [_of_epochs(low, done, total, found.end())]
    return []


_EP_ALONE = lazily(
    r"(?:^|[ \t\[\](|,:;>\"'])ep[ .:=#]{1,3}\[?(\d{1,9})(?!\d|\.\d)(?:[ ]?/[ ]?(\d{1,9})(?!\d|\.\d))?", re.ASCII
)
_EP_HINT = rb"(?:(?m:^)|[ \t\[\](|,:;>\"'])ep[ .:=#]{1,3}\[?\d"
_EP_WORDS = tuple(f"{before}ep{behind}".encode() for before in "\n \t[](|,:;>\"'" for behind in " .:=#")


def _epoch_of(line: str) -> list[LogEvent]:
    """The same with a total alone, which a shorter line behind it (`Epoch 3 accuracy: 0.8`) leaves out."""
    low = line.lower()
    pair = _pair(_EPOCH_PAIR, low)
    return [_of_epochs(low, number(pair[1]), number(pair[2]), pair.end())] if pair else []


def _of_epochs(low: str, done: float, total: float | None, end: int) -> Step:
    rest = low[end : end + 200]
    return Step(done, total, "epochs", None, EPOCH_DONE if any(word in rest for word in _ENDS_EPOCH) else EPOCH)


def _behind(line: str) -> list[LogEvent]:
    """`1800/3000 files processed`: the word stands behind the numbers."""
    low = line.lower()
    found = _BEHIND.search(low) if not any(word in low for word in _LOADS) else None
    if not found or number(found[1]) > number(found[2]) or not number(found[2]):
        return []
    unit = found[3] if found[3] and found[3] not in _NOT_UNITS else "items"
    return [Step(number(found[1]), number(found[2]), unit, rate(low, unit), RUN)]


_BEHIND = lazily(
    rf"(?<![\w./-])({_N})[ ]?(?:/| of )[ ]?({_N}) (?:([a-z]{{2,20}}) )?(?:have been |were |are )?"
    r"(?:processed|completed|finished|done)\b",
    re.ASCII,
)
_BEHIND_HINT = (
    rb"(?:/| of ) ?[\d,]{1,19} (?:[a-z]{2,20} )?(?:have been |were |are )?(?:processed|completed|finished|done)"
)


def _alone(line: str) -> list[LogEvent]:
    """`iter = 4200` with nothing else on its line: a setting, unless it is said again and again."""
    found = _ALONE_COUNT.search(line.lower())
    unit = "steps" if found and found[1] == "step" else "iterations"
    return [Step(float(found[2]), None, unit, None, AGAIN)] if found else []


_ALONE_COUNT = lazily(r"(?:^|[ \t:|\]])(iter|iteration|step)[ ]?[:=][ ]{0,2}(\d{1,15})\s{0,4}$", re.ASCII)
_ALONE_HINT = rb"(?:iter|iteration|step) ?[:=] {0,2}\d{1,15}[ \t\r\f\v]{0,4}\n"
_ALONE_WORDS = tuple(
    f"{before}{word}{blanks}{symbol}".encode()
    for before in "\n \t:|]"
    for word in ("iter", "iteration", "step")
    for blanks in ("", " ")
    for symbol in ":="
)


def _epoch_part(low: str) -> list[LogEvent]:
    found = _EPOCH_PART.search(low)
    if not found or _before(low, found.start()) in (None, *_NOT_NOW):
        return []
    if _TAKEN.search(low, max(0, found.start() - 40), found.start()):
        return []  # `time taken for one epoch: 12.3`
    return [Step(float(found[1]), None, "epochs", None, PART)]


_TAKEN = lazily(r"(?<![a-z])(?:time|took|duration)(?![a-z])", re.ASCII)


def _epoch_zero(line: str) -> list[LogEvent]:
    """Epoch nought, which tells how the others are numbered."""
    low = line.lower()
    found = _ZERO.search(low)
    is_record = found and not is_argument(low, found.start())
    return [Step(0.0, None, "epochs", None, FROM_ZERO)] if is_record else []


_ZERO = lazily(f"epoch(?:{_NAMES})?" + _LEAD + r"0(?![\d.]|[a-z]|[ ]?/[ ]?0)", re.ASCII)


def _percent(pattern: re.Pattern[str], line: str) -> list[LogEvent]:
    low = line.lower()
    found = pattern.search(low)
    done = float(found[1]) if found and not any(word in low for word in _LOADS) else 101.0
    return [Step(done, 100.0, "%", None, PERCENT)] if done <= 100.0 else []


def _row(kind: str, word: str, ending: str, unit: str, rank: int = RUN, bare: str | None = None) -> Format:
    """A row whose label is its needle plus an ending; `bare` is the ending that needs no total."""
    label = _label(word, ending, unit, rank, bare)
    read = partial(_count, label)
    return Format(kind, (word.encode(),), read, hint=label.hint, family="plain", begins=rank == INNER)


_BEHIND_WORDS = (b" processed", b" completed", b" finished", b" done")
_DONE = (b"% complete", b"% done", b"% finished")
_EPOCH_HINT = f"epoch(?:(?:s|{_NAMES})?{_HINT_PAIR}|(?:{_NAMES})?{_HINT_PART})".encode()
_ZERO_HINT = rf"epoch(?:{_NAMES})?{_LEAD}0[^\d.a-z]".encode()

rows = (
    _row("processed", "processed", "", ""),
    _row("completed", "completed", "", ""),
    _row("progress", "progress", "", ""),
    Format("behind", _BEHIND_WORDS, _behind, hint=_BEHIND_HINT, family="plain"),
    _row("step", "step", "s?(?:_num|_idx)?", "steps", bare="s?(?:_num|_idx)?"),
    _row("step of", "step", "s?(?:_num|_idx)?", "steps"),
    _row("iteration", "iter", "(?:ation)?s?", "iterations", bare="(?:ation)?"),
    _row("iteration of", "iter", "(?:ation)?s?", "iterations"),
    _row("update", "update", "s?", "updates"),
    _row("episode", "episode", "s?", "episodes", bare=""),
    _row("timestep", "timestep", "s?", "timesteps", bare=""),
    _row("generation", "generation", "s?", "generations"),
    _row("round", "round", "s?", "rounds", bare=""),
    _row("trial", "trial", "s?", "trials", bare=""),
    _row("batch", "batch", "(?:es| id|_id|_idx)?", "batches", INNER, bare="(?: id|_id|_idx)?"),
    _row("sample", "sample", "s?", "samples", INNER),
    _row("image", "image", "s?", "images", INNER),
    _row("file", "file", "s?", "files", INNER),
    _row("task", "task", "s?", "tasks", INNER),
    _row("inference", "inference done", "", "images", SECONDARY),
    _row("question", "question", "s?", "questions", INNER),
    _row("fold", "fold", "s?", "folds", SECONDARY),
    Format("epoch", (b"epoch",), _epoch, hint=_EPOCH_HINT, family="plain"),
    Format("ep", _EP_WORDS, _ep, hint=_EP_HINT, family="plain"),
    Format("epoch of", (b"epoch",), _epoch_of, hint=_EPOCH_PAIR.hint, family="plain"),
    Format("epoch zero", (b"epoch",), _epoch_zero, hint=_ZERO_HINT),
    Format("alone", _ALONE_WORDS, _alone, hint=_ALONE_HINT, begins=True, family="plain"),
    Format("percent", (b"progress",), partial(_percent, _PERCENT), hint=_PERCENT.pattern.encode(), family="plain"),
    Format("percent_done", _DONE, partial(_percent, _PERCENT_DONE), family="plain"),
)

PLUGIN = FormatPlugin("counter", rows)
