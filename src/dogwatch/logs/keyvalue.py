"""Metrics that people print themselves: `loss: 0.345`, `loss=0.345`, `val loss 0.4`. One row per metric."""

from __future__ import annotations

import re
from functools import partial

from dogwatch.logs.interface import Format
from dogwatch.model import Mark, Metric

_VALUE = r"(?:[ \t]{0,3}[:=]|[ \t])[ \t]{0,6}([-+]?(?:\d{1,20}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?|nan|inf))(?![\w/]|\.\d)"
_VALIDATION = re.compile(r"(?<![a-z])e?val(?:id|idation)?[ _/]$", re.ASCII)
_TEST = ("test ", "test_", "test/")

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
    needle, before = (b"val", r"val(?:id|idation)?[ _/]") if validation else (literal.encode(), "")
    read = partial(_read, name, re.compile(label, re.ASCII), validation)
    return Format(f"{name} by {literal}", (needle,), read, hint=re.compile((before + label).encode()))


rows = tuple(_row(*metric) for metric in METRICS)
