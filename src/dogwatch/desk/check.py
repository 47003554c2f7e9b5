"""Check: whether files are whole, judged where they lie by a program that travels there."""

from __future__ import annotations

from typing import Any

from dogwatch.aboard import errand
from dogwatch.errors import COULD_NOT_LOOK, ENDED_BADLY, FINE
from dogwatch.model import Dark
from dogwatch.reach.interface import Reach

SOUND, BROKEN, UNCLEAR = "sound", "not sound", "cannot tell"
MOST_BYTES = 1 << 40
GRACE = 5.0  # between the allowance of the reading and the moment we stop waiting for it


def check(reach: Reach, path: str, seconds: float) -> list[dict[str, Any]]:
    """The verdict on a file, or on each file under a directory; never raises for what is wrong with them."""
    call = {"paths": [path], "seconds": seconds, "bytes": MOST_BYTES}
    deadline = seconds + GRACE
    answer = reach.ask({"errands": {"check": {"program": errand("sound"), "call": call}}}, deadline + 0.3 * deadline)
    if isinstance(answer, Dark):
        return [_unknown(path, answer.why)]
    section = answer.body.get("errands") or {}
    if "check" not in section:
        return [_unknown(path, str(section.get("why", "no reason was given")))]
    files: list[dict[str, Any]] = section["check"]["files"]
    return files


def exit_code(verdicts: set[str]) -> int:
    """0 when all are sound, 1 when one is not, 3 when one cannot be judged."""
    if BROKEN in verdicts:
        return ENDED_BADLY
    return COULD_NOT_LOOK if UNCLEAR in verdicts else FINE


def _unknown(path: str, why: str) -> dict[str, Any]:
    return {
        "file": path,
        "format": None,
        "verdict": UNCLEAR,
        "why": f"could not be read: {why}",
        "size": None,
        "records": None,
    }
