"""Sentences that say what a job is doing: compiling, validating, writing a checkpoint, serving."""

from __future__ import annotations

import re
from functools import partial

from dogwatch.logs.interface import Format, FormatPlugin
from dogwatch.logs.lazily import lazily
from dogwatch.model import LogEvent, Phase

_THING = r"(?:the |a |final |best |latest |full |merged |new |training |current |adam |epoch )"
_NOW = r"ing(?: |\.\.)|ion (?:start|on)"
_KEPT = r"(?:model|checkpoint|ckpt|weights|state|adapter|optimizer|parameters|snapshot)"

# phase, literals, the sentence from the literal on (on the lower-cased line), the words that may lead up to it
SENTENCES = (
    ("starting", "loading ", rf"loading {_THING}{{0,2}}(?:model|checkpoint|weights|data)", ""),
    ("compiling", "compiling ", "compiling ", ""),
    ("compiling", "cuda graph", "cuda graph", r"(?:captur(?:e|ing)(?: the model for)? )"),
    ("training", "ing training", "ing training", r"(?:runn|start|beginn)"),
    ("training", "training start", "training start(?:s|ed|ing)", ""),
    ("training", "start training", "start training", ""),
    ("validating", "evaluating |evaluating.|evaluation start|evaluation on", rf"evaluat(?:{_NOW})", ""),
    ("validating", "ing evaluation|ing validation", r"ing (?:evaluation|validation)", "(?:runn|start)"),
    ("validating", "validating |validating.|validation start|validation on", rf"validat(?:{_NOW})", ""),
    (
        "validating",
        "testing net (#|evaluate:|eval epoch",
        r"(?:testing net \(#\d|evaluate: ?(?:dev|test|val)|eval epoch)",
        "",
    ),
    ("checkpointing", "saving |saved ", rf"sav(?:ing|ed) {_THING}{{0,3}}{_KEPT}", ""),
    ("exporting", "exporting ", "exporting ", ""),
    ("serving", "application startup complete", "application startup complete", ""),
    ("serving", "server is fired up and ready", "server is fired up and ready", ""),
)


def _read(pattern: re.Pattern[str], phase: str, line: str) -> list[LogEvent]:
    return [Phase(phase)] if pattern.search(line.lower()) else []


def _row(phase: str, literals: str, sentence: str, lead: str) -> Format:
    """The sentence must not start inside a longer word or a name: `resaving model`, `no_saving model`."""
    read = partial(_read, lazily(rf"(?<![\w./-]){lead}{sentence}", re.ASCII), phase)
    hint = sentence.encode() if sentence != literals else b""
    first, *others = literals.split("|")
    needles = tuple(literal.encode() for literal in (first, *others))
    return Format(f"{phase} by {first.strip()}", needles, read, hint=hint)


rows = tuple(_row(*sentence) for sentence in SENTENCES)

PLUGIN = FormatPlugin("phases", rows)
