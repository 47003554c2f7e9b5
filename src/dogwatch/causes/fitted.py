"""Fitted: what to do about a cause, for the job at hand: Slurm's own commands with the job's id in them, or, where no
Slurm ran it, without them."""

from __future__ import annotations

import re
from typing import Any

_TOOLS = re.compile(r"\b(?:sacct|scontrol|sinfo|squeue)\b")
_ASIDE = re.compile(r" \(Slurm: [^)]{1,80}\)")
_JOB = re.compile(r"\bJOB\b")


def fitted(found: dict[str, Any], slurm_id: str = "") -> dict[str, Any]:
    """The document of a diagnosis with advice, and with what would tell, that can be followed as it stands; without
    other causes that only a scheduler could have been."""
    if slurm_id:
        advice = [_JOB.sub(slurm_id, text) for text in found["advice"]]
        others = [{**other, "tell": _JOB.sub(slurm_id, other["tell"])} for other in found["alternatives"]]
    else:
        own = [_ASIDE.sub("", text) for text in found["advice"] if not _TOOLS.search(text)]
        advice = own or found["advice"]
        told = [(other, _without_tools(other["tell"])) for other in found["alternatives"]]
        others = [{**other, "tell": tell} for other, tell in told if tell or not other["tell"]]
    return {**found, "advice": advice, "alternatives": others}


def _without_tools(tell: str) -> str:
    return "; ".join(part for part in tell.split("; ") if not _TOOLS.search(part))
