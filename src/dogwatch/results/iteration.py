"""Iteration: which one a checkpoint holds, by its name."""

from __future__ import annotations

import os
import re

# The finer counter wins: `epoch=3-step=1200.ckpt` holds step 1200.
_STEP = re.compile(
    r"(?<![a-z])(?:global[-_]?step|step|iteration|iter|it|update)s?[-_=.]{0,2}(\d{1,15})(?!\d)", re.ASCII
)
_COUNTED = re.compile(r"(?<![a-z])(?:checkpoint|ckpt|cp|model|weights)[-_=.]{0,2}(\d{1,15})(?!\d)", re.ASCII)
_EPOCH = re.compile(r"(?<![a-z])(?:epoch|ep)[-_=.]{0,2}(\d{1,15})(?!\d)", re.ASCII)
_BARE = re.compile(r"(\d{1,15})(?:\.[a-z]{1,12})?", re.ASCII)


def iteration_of(path: str) -> int | None:
    """The number that a checkpoint's name gives as its iteration; None where it gives none."""
    name = os.path.basename(path.rstrip("/")).lower()[:200]
    for pattern in (_STEP, _COUNTED, _EPOCH):
        found = pattern.findall(name)
        if found:
            return int(found[-1])
    bare = _BARE.fullmatch(name)
    return int(bare[1]) if bare else None
