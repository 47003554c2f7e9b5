"""Counts that no word names: `[300/1000]`, `[3/25][100/1583]`, `(3/90)`."""

from __future__ import annotations

import re
from functools import partial
from itertools import islice

from dogwatch.logs.interface import EPOCH, INNER, SECONDARY, TRAINER, Format, FormatPlugin, number, pace, rate
from dogwatch.logs.lazily import lazily
from dogwatch.model import LogEvent, Phase, Step

_N = r"\d{1,3}(?:,\d{3}){1,4}|\d{1,15}"
_WINDOW = 1000  # characters of a line in which a count without a word is one, and not a part of some text
_TRIED = 8  # places of one line at which a count may stand
_BRACKET = lazily(rf"\[[ \t]{{0,8}}({_N})[ \t]{{0,4}}/[ \t]{{0,8}}({_N})\]", re.ASCII)
_BRACKET_END = rb"/[ \t]{0,8}[\d,]{1,19}\]"
_PAREN = lazily(r"\((\d{1,9})[ ]?/[ ]?(\d{1,9})\)", re.ASCII)
_PAREN_END = rb"/[ ]?\d{1,9}\)"
_PAREN_ENDS = tuple(b"%d)" % digit for digit in range(10))
_BUILDS = ("nvcc", "c++", "g++", "hipcc", "clang", "building", "linking", "compiling", "/bin/", "install", "recompil")
_TRIES = ("fail", "retry", "attempt", "attributes:", "_dynamo", "information (")


def _bracket(pattern: re.Pattern[str], line: str) -> list[LogEvent]:
    """A bare [300/1000]; one behind a word belongs to that word's row, and a build step is no progress.
    `[3/4] Training...` opens the third of four stages; `recall: 43.86% (268/611)` is a share of hits, not of work."""
    for found in islice(pattern.finditer(line, 0, _WINDOW), _TRIED):
        before = line[max(0, found.start() - 4) : found.start()].rstrip(" :=#")[-1:]
        done, total = number(found[1]), number(found[2])
        called = found[0][0] == "(" and line[found.start() - 1 : found.start()].isalnum()  # sqrt(1/2)
        alone = (
            not before.isalpha()
            or found[0][0] == "("
            or _LOGGED.search(line, max(0, found.start() - 12), found.start())
        )
        if alone and not called and 0 < total >= done:
            low = line.lower()
            ahead = low[max(0, found.start() - 60) : found.start()]
            if any(tool in low[found.end() : found.end() + 80] for tool in _BUILDS):
                return []
            share = _SHARE.search(ahead)
            if any(word in ahead[-40:] + found[0] for word in _TRIES) or (share and not share[1].endswith(_OF_WORK)):
                return []
            opens = total <= _STAGES and low.rstrip().endswith(("...", "…"))
            step = Step(done - opens, total, "items", rate(low, "items"), INNER, done if opens else None)
            epoch = _TRAINS.search(ahead)
            if epoch:
                return [step, Step(float(epoch[1]), None, "epochs", None, EPOCH)]
            batch = _inside(pattern, line, found.end())
            return [batch, Step(done, total, "epochs", None, EPOCH)] if batch and total > 1 else [step]
    return []


def _inside(pattern: re.Pattern[str], line: str, end: int) -> Step | None:
    """The batch of `[3/25][100/1583]`, of which the first counts epochs."""
    inner = next((found for at in range(end, end + 3) if (found := pattern.match(line, at))), None)
    if inner is None or line[end : inner.start()].strip(", ") or not 1 < number(inner[2]) >= number(inner[1]):
        return None
    return Step(number(inner[1]), number(inner[2]), "batches", rate(line.lower(), "batches"), INNER)


_LOGGED = lazily(r"(?:\b(?:INFO|DEBUG|info|debug)[\]:)]{0,2}|\dZ) {1,3}$")  # what a logger puts before
_STAGES = 12  # that a program names
_SHARE = lazily(r"([a-z\u4e00-\u9fff]{1,20})[\"')]{0,2}[:=] {0,3}\d{1,3}(?:\.\d{1,9})?% ?$", re.ASCII)
_OF_WORK = ("progress", "processed", "completed", "complete", "done", "train", "training", "epoch", "total", "进度")
_TRAINS = lazily(r"\btrain(?:ing)?[ :]{1,3}\[(\d{1,6})\] ?$", re.ASCII)  # `Train: [3][120/900]`


def _timed(line: str) -> list[LogEvent]:
    """`Evaluation  [ 570/1872]  eta: 3:12:57    time: 9.63`, what a MetricLogger says of other loops than epochs, and
    `Test: [ 30/196]	Time  0.168 ( 0.182)`, what a ProgressMeter says of a test."""
    found = _TIMED.search(line.lower())
    words = found[1].split() if found else []
    tests = any(word.startswith(("eval", "val", "test")) for word in words)
    if not found or number(found[2]) > number(found[3]):
        return []
    if not tests and (found[4].endswith("time ") or any(word.startswith("train") for word in words)):
        return []
    took = _TIME.search(line.lower(), found.end(3))
    phase = "validating" if tests else "running"
    return [
        Step(number(found[2]), number(found[3]), "batches", pace(took[1]) if took else None, SECONDARY),
        Phase(phase),
    ]


_TIMED = lazily(
    r"(?<![a-z])([a-z]{3,20}(?: [a-z]{1,20}){0,3}):?[ ]{1,4}\[[ ]{0,6}(\d{1,15})/(\d{1,15})\]"
    r"([ ]{1,4}eta: |[ \t][ ]{0,2}time )"
)
_TIME = lazily(r"(?<![a-z_])time:? {1,3}(\d{1,12}(?:\.\d{1,12})?)", re.ASCII)

rows = (
    Format("timed", (b"] eta: ", b"]  eta: ", b"]\ttime ", b"] time "), _timed, family="metric_logger", weight=TRAINER),
    Format("bracket", (b"]",), partial(_bracket, _BRACKET), hint=_BRACKET_END, begins=True, family="plain"),
    Format("parenthesis", _PAREN_ENDS, partial(_bracket, _PAREN), hint=_PAREN_END, begins=True, family="plain"),
)

PLUGIN = FormatPlugin("bracket", rows)
