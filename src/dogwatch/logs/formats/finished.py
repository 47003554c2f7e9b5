"""Lines that say the work is done. A claim for an interface to show; it closes nothing."""

from __future__ import annotations

import re
from functools import partial

from dogwatch.logs.interface import Format, FormatPlugin
from dogwatch.logs.lazily import lazily
from dogwatch.model import Finished, LogEvent

_WORK = ("training", "finetuning", "fine-tuning", "processing", "inference", "evaluation", "job", "run")
_OVER = ("complete", "finished", "done", "is complete", "is finished", "is done", "has finished")
PHRASES = (
    *(f"{work} {over}" for work in _WORK for over in _OVER),
    *(f"{over} {work}" for over in ("finished", "completed", "done") for work in _WORK[:4]),
    *(f"all {things} {over}" for things in ("items", "samples", "tasks") for over in ("processed", "done", "complete")),
    "completed successfully",
    "finished successfully",
)
_NOT_YET = lazily(r"\b(?:not|never|before|until|when|once|after|if|epoch|step)\b", re.ASCII)


def _read(phrases: tuple[str, ...], line: str) -> list[LogEvent]:
    """A claim about the whole run, not about an epoch, a step or a condition."""
    low = line.lower()
    for phrase in phrases:
        at = low.find(phrase)
        if at >= 0:
            inside = low[at - 1 : at].isalpha() or _NOT_YET.search(low, max(0, at - 60), at + 90)
            return [] if inside else [Finished(line.strip()[:200])]
    return []


def _row(verb: str) -> Format:
    phrases = tuple(phrase for phrase in PHRASES if verb in phrase)
    shortest = [phrase for phrase in phrases if not any(other != phrase and other in phrase for other in phrases)]
    return Format(f"finished by {verb}", tuple(phrase.encode() for phrase in shortest), partial(_read, phrases))


rows = tuple(map(_row, ("complete", "finished", "done", "s processed")))

PLUGIN = FormatPlugin("finished", rows)
