"""How often a job saves, evaluates and logs, and how long its epochs are, where a configuration says it.

The words of a name tell what it is about, whatever stands between them: `save_steps`, `--eval-interval`,
`trainer.test_freq`, `CHECKPOINT_PERIOD`, `check_val_every_n_epoch`. A name with a word that says otherwise (how many
are kept, hours, a warm-up) is none of them, and how long one evaluation is (`eval_iters`) is no interval.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from dogwatch.logs import scan
from dogwatch.logs.interface import Format, FormatPlugin
from dogwatch.logs.lazily import lazily
from dogwatch.model import Interval, LogEvent

SAVE, EVALUATE, LOG, EPOCH = "save", "evaluate", "log", "epoch"
EPOCHS, STEPS = "epochs", "steps"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What a name is about, by its words; of two, the first row counts (`save_summary_steps` logs).
ABOUT = {
    LOG: _words("log logs logging logger print show disp display summary report"),
    SAVE: _words("save saves saving ckpt ckpts checkpoint checkpoints checkpointing snapshot"),
    EVALUATE: _words("eval evals evaluate evaluation val valid validate validation test sample"),
}
UNITS = {
    **dict.fromkeys(_words("step steps iter iters iteration iterations update updates batch batches"), STEPS),
    **dict.fromkeys((EPOCH, EPOCHS), EPOCHS),
}
OTHERWISE = _words(
    "max min total keep limit warmup sanity accumulation activation start first begin after before patience early"
    " stopping delay timeout hours hour minutes minute mins seconds second secs sec time size token tokens ephemeral"
    " frame"
)
NEVER = frozenset({"none", "null", "false", "never", "no"})

# Names that are an interval without a word for it, and those words; the literals by which they are looked for.
_PLAIN = (
    *("save_steps", "save_epoch", "save_epochs", "save_iter", "save_iters", "saving_steps", "logging_steps"),
    *("checkpointing_steps", "checkpoints_steps", "checkpoint_steps", "ckpt_steps", "eval_steps", "eval_epochs"),
    *("validation_steps", "validation_epochs"),
)
_WORDS = ("interval", "freq", "period", "every", "strategy")
_PER = ("per_epoch", "per epoch", "per-epoch", "per_print", "per_checkpoint", "per_save", "per_eval")
_NAME = (
    rf"(?:(?:{'|'.join(name.replace('_', '[_-]') for name in _PLAIN)})|(?:{'|'.join(_PER)})(?: / [^:=\n]{{1,24}})?"
    r"|(?:interval|freq|frequency|period|every)(?:[_-][a-z_-]{1,24})?|strategy)"
)
_IS = r"(?:[\"'], [\"']|[\"'`]?(?:[ ]?:[ ]?int)?[ \t]{0,24}(?:[:=]|\.{2,80}|[ \t]|\|)[ \t|]{0,24}[\"'`]?)"
_VALUE = (
    r"(?:<?[a-z]{4,16}strategy\.)?"
    r"(-?\d[\d_,]{0,15}(?:\.\d{0,6})?(?:e\+?\d{1,2})?|none|null|false|never|no|epoch|steps)(?![\w%/]|[.:-]\d)"
)
_SETTING = lazily(_NAME + _IS + _VALUE, re.ASCII)
_NEEDLE = scan.loose((_NAME + _IS + _VALUE).encode())
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_OF_NAMES = _LETTERS + "0123456789_.-"
_WINDOW, _WITHIN = 48, 160  # bytes before it in which a name, or what it stands in, begins
_OWNER = lazily(r"([a-z_]{3,30})[\"']?[ ]?[:=][ ]?(?:dict)?\Z", re.ASCII)
_HOOK = lazily(r"type=[\"'](\w{3,20})hook[\"']", re.ASCII)
_WORD = lazily(r"[a-z0-9]+", re.ASCII)
MOST, MOST_LINES = 32, 512  # of one line, and of a window, with what only looks like them


def read(line: str) -> list[LogEvent]:
    """Every interval that a line states."""
    return list(dict.fromkeys(found for _, found in _settings(line.lower())))


def sift(low: bytes) -> Iterator[tuple[str, int]]:
    """One record per line, named by the first setting on it: what is printed again replaces itself."""
    end = 0
    for _ in range(MOST_LINES):
        place = scan.first(_NEEDLE, low, end, len(low))
        if place is None:
            return
        start = low.rfind(b"\n", 0, place - 1) + 1
        end = low.find(b"\n", place - 1) + 1 or len(low)
        for name, _meant in islice(_settings(low[start:end].decode("latin-1")), 1):
            yield name, start


def _settings(low: str) -> Iterator[tuple[str, Interval]]:
    """(name, what it says) of the settings on a line."""
    for setting in islice(_SETTING.finditer(low), MOST):
        at = setting.start()
        words = [*_WORD.findall(_before(low, at)), *_WORD.findall(low, at, setting.start(1))]
        found = meant([*_around(low, at), *words] if words == ["interval"] else words, setting[1])
        if found is not None:
            yield " ".join(words), found


def _before(low: str, at: int) -> str:
    """The part of a name that stands before a place, or the word before it."""
    near = low[max(0, at - _WINDOW) : at]
    name = near[len(near.rstrip(_OF_NAMES)) :]
    return name or (near[len(near[:-1].rstrip(_LETTERS)) :] if near.endswith(" ") else "")


def _around(low: str, at: int) -> list[str]:
    """The words of the name whose bracket a place stands in; or of the hook that the bracket makes."""
    near = low[max(0, at - _WITHIN) : at]
    opened = max(near.rfind("("), near.rfind("{"))
    closed = max(near.rfind(")"), near.rfind("}"), near.rfind("\n"))
    owner = _OWNER.search(near, max(0, opened - _WINDOW), opened) if opened > closed else None
    owner = owner or _HOOK.search(low[at : at + _WITHIN].partition(")")[0])
    return owner[1].split("_") if owner else []


def meant(words: list[str], value: str) -> Interval | None:
    """What a name in words and a value say; None where that is no interval."""
    told = set(words)
    about = next((what for what, known in ABOUT.items() if told & known), None)
    if told & OTHERWISE:
        return None
    if "per" in told and EPOCH in words[words.index("per") :]:
        return _in_epoch(about, words, value)
    if words[:2] == ["every", "n"]:  # as Lightning's checkpoints call it
        about = about or SAVE
    if about is None:
        return None
    if value in (EPOCH, "steps"):
        return Interval(about, 1.0, EPOCHS) if value == EPOCH else None
    every = _count(value)
    if 0 < every <= 1 and "." in value:  # a share of an epoch
        return Interval(about, every, EPOCHS)
    return Interval(about, every, next((UNITS[word] for word in reversed(words) if word in UNITS), ""))


def _in_epoch(about: str | None, words: list[str], value: str) -> Interval | None:
    """`steps_per_epoch` is how long one is, `evals_per_epoch` how often something happens in it."""
    count = _count(value) if value[-1].isdigit() else 0.0
    counted = words[words.index("per") - 1] if words[0] != "per" else ""
    if count and about is None and UNITS.get(counted) == STEPS:
        return Interval(EPOCH, count, STEPS)
    return (
        Interval(about, 1 / count, EPOCHS) if count and about in (SAVE, EVALUATE) and counted in ABOUT[about] else None
    )


def _count(value: str) -> float:
    """So many; 0 for never."""
    count = 0.0 if value in NEVER else float(value.replace(",", "").replace("_", ""))
    return count if 0 < count < 1e12 else 0.0


rows = (
    Format(
        "interval",
        tuple(literal.encode() for literal in (*_PLAIN, *(name.replace("_", "-") for name in _PLAIN), *_WORDS, *_PER)),
        read,
        hint=(_NAME + _IS + _VALUE).encode(),
        sift=sift,
    ),
)

PLUGIN = FormatPlugin("intervals", rows)
