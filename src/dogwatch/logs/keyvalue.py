"""Metrics that people print themselves: `loss: 0.345`, `loss=0.345`, `val loss 0.4`. One row per metric."""

from __future__ import annotations

import re
from functools import partial

from dogwatch.logs.interface import Format
from dogwatch.model import Mark, Metric

_VALUE = r"(?:[ \t]{0,3}[:=]|[ \t])[ \t]{0,6}([-+]?(?:\d{1,20}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?|nan|inf))(?![\w/]|\.\d)"
_VALIDATION = re.compile(r"(?<![a-z])e?val(?:id|idation)?[ _/]$", re.ASCII)
_TEST = ("test ", "test_", "test/")

_FORMS = {
    "acc": ("acc", "accuracy"),
    "learning": ("learning rate", "learning_rate"),
    "grad": ("grad norm", "grad_norm"),
}
_LEADS = tuple(f"{val}{link}" for val in ("val", "valid", "validation") for link in " _/")
_BEHIND = " \t:="  # one of these follows a label

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


def _read(name: str, pattern: re.Pattern[str], validation: bool, line: str) -> list[Mark]:
    low = line.lower()
    for found in pattern.finditer(low):
        before = low[max(0, found.start() - 12) : found.start()]
        if before[-1:].isalpha() or before.endswith(_TEST):
            continue
        if bool(_VALIDATION.search(before)) is validation:
            return [Metric(name, float(found[1]))]
    return []


def _row(name: str, literal: str, rest: str, validation: bool) -> Format:
    label = literal + rest + _VALUE
    leads, before = (_LEADS, r"val(?:id|idation)?[ _/]") if validation else (("",), "")
    forms = _FORMS.get(literal, (literal,))
    needles = tuple(f"{lead}{form}{end}".encode() for lead in leads for form in forms for end in _BEHIND)
    read = partial(_read, name, re.compile(label, re.ASCII), validation)
    return Format(f"{name} by {literal}", needles, read, hint=(before + label).encode())


rows = tuple(_row(*metric) for metric in METRICS)
