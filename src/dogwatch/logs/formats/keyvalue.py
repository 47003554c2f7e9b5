"""Metrics that people print themselves: `loss: 0.345`, `loss=0.345`, `val loss 0.4`. One row per metric."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from dogwatch.logs.interface import Format, FormatPlugin, is_argument
from dogwatch.logs.lazily import lazily
from dogwatch.model import LogEvent, Metric

_VALUE = r"(?:[ \t]{0,3}[:=]|[ \t])[ \t]{0,6}([-+]?(?:\d{1,20}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?|nan|inf))(?![\w/]|\.\d)"
_VALIDATION = lazily(r"(?<![a-z])e?val(?:id|idation)?[ _/]$", re.ASCII)
_TEST = ("test ", "test_", "test/")
_LEAD = lazily(r"[a-z0-9_./-]{1,24}$", re.ASCII)  # what a label is joined to
_WHOLE = {
    *("all", "average", "avg", "batch", "cur", "current", "epoch", "final", "global", "iter", "lm", "mean", "overall"),
    *("running", "smoothed", "step", "sum", "total", "tr", "train", "training"),
}
# A rate is measured where something else is; by itself it is a setting.
_MEASURED = lazily(
    r"(?<![a-z])(?:loss|acc|accuracy|norm|ppl|perplexity|reward|ep|epoch|epoches|step|it|iter|iteration|update)[\]\"']?"
    r"[ \t:=\[(#]{1,16}[-+.\d]|(?<![a-z])(?:current|new) (?:lr|learning)",
    re.ASCII,
)

_FORMS = {
    "acc": ("acc", "accuracy"),
    "learning": ("learning rate", "learning_rate"),
    "grad": ("grad norm", "grad_norm"),
}
_LEADS = tuple(f"{val}{link}" for val in ("val", "valid", "validation") for link in " _/")
_BEHIND = " \t:="  # one of these follows a label
_TRIES = 64  # lines with names such as actor/kl_loss, of which whole logs consist
_SETTINGS = ("learning_rate", "grad_norm")  # max_grad_norm, base_lr

# name, literal, rest of the label, whether it is the validation's
METRICS = (
    ("loss", "loss", "", False),
    ("val_loss", "loss", "", True),
    ("accuracy", "acc", "(?:uracy)?", False),
    ("val_accuracy", "acc", "(?:uracy)?", True),
    ("learning_rate", "lr", "", False),
    ("learning_rate", "learning", "[ _]rate", False),
    ("grad_norm", "grad", "[ _]norm", False),
    ("perplexity", "ppl", "", False),
    ("perplexity", "perplexity", "", False),
    ("reward", "reward", "", False),
)
_NAMES = tuple(dict.fromkeys(name for name, *_ in METRICS))


def shared_first(metrics: Mapping[str, float]) -> dict[str, float]:
    """Metrics as they are shown: what all logs have in common first, each figure once. A record that is read as it is
    printed and for what is common has `lr` and `learning_rate`."""
    common = {name: metrics[name] for name in _NAMES if name in metrics}
    rest = {
        printed: metrics[printed]
        for printed in sorted(metrics.keys() - common.keys())
        if not any(value == metrics[printed] and _is_form(printed.lower(), name) for name, value in common.items())
    }
    return {**common, **rest}


def _is_form(printed: str, name: str) -> bool:
    return any(label in printed for named, label, *_ in METRICS if named == name)


def _read(name: str, pattern: re.Pattern[str], validation: bool, line: str) -> list[LogEvent]:
    low = line.lower()
    part: list[LogEvent] = []
    for found in pattern.finditer(low):
        before = low[max(0, found.start() - 24) : found.start()]
        if before[-1:].isalpha() or before.endswith(_TEST) or bool(_VALIDATION.search(before)) is not validation:
            continue
        lead = _LEAD.search(before)
        whole = validation or lead is None or _WHOLE.issuperset(re.split(r"[_./-]", lead[0].rstrip("_./-")))
        if not whole and (part or lead is None or not _is_part(name, lead[0])):
            continue
        if is_argument(low, found.start()) or (name == "learning_rate" and not _MEASURED.search(low)):
            continue
        part = [Metric(name, float(found[1]))]
        if whole:
            break
    return part


def _is_part(name: str, lead: str) -> bool:
    """Whether a label that is joined to this names one of several parts of a metric."""
    return "/" not in lead and bool(lead.strip("-")) and name not in _SETTINGS


def _row(name: str, literal: str, rest: str, validation: bool) -> Format:
    label = literal + rest + _VALUE
    leads, before = (_LEADS, r"val(?:id|idation)?[ _/]") if validation else (("",), "")
    forms = _FORMS.get(literal, (literal,))
    needles = tuple(f"{lead}{form}{end}".encode() for lead in leads for form in forms for end in _BEHIND)
    read = partial(_read, name, lazily(label, re.ASCII), validation)
    return Format(f"{name} by {literal}", needles, read, hint=(before + label).encode(), tries=_TRIES)


rows = tuple(_row(*metric) for metric in METRICS)

PLUGIN = FormatPlugin("keyvalue", rows)
