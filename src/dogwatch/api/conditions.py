"""What `dogwatch wait` may wait for, and whether it holds of a job: now, never any more, or not yet. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from dogwatch.api.queries import is_over
from dogwatch.errors import UsageError
from dogwatch.model.outcome import GOOD
from dogwatch.text import plain

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import JobDocument
    from dogwatch.wire.documents.stages import StageDocument

PLAIN = ("ended", "running", "change")
FORMS = "ended, running, change, stage:NAME, progress:50% or marker:PATH"
DONE, BAD_STAGES = "done", ("failed", "skipped")
NEVER_STARTS = ("cannot_start", "launch_failed")
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)\s*%")
_GLOB = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing to wait for. `about` is the name of a stage or the path of a file, `fraction` a share of the work."""

    kind: str
    text: str
    about: str = ""
    fraction: float = 0.0


class Answer(NamedTuple):
    """What is known of a condition and one job: it holds, or it never will; and why, in words."""

    holds: bool
    why: str


def condition(text: str) -> Condition:
    """The condition that a person wrote, or one sentence what is wrong with it."""
    kind, colon, about = text.partition(":")
    if text in PLAIN:
        return Condition(text, text)
    match kind, bool(colon and about.strip()):
        case "stage", True:
            return Condition(kind, text, about.strip())
        case "progress", True:
            return Condition(kind, text, fraction=_fraction(about))
        case "marker", True:
            return Condition(kind, text, _path(about))
    raise UsageError(f"--for takes {FORMS}, not {plain(text, 80)!r}")


def _fraction(text: str) -> float:
    found = _PERCENT.fullmatch(text.strip())
    percent = float(found[1]) if found else 0.0
    if not 0 < percent <= 100:
        raise UsageError(f"--for progress takes a percentage above 0, as in progress:50%, not {plain(text, 40)!r}")
    return percent / 100


def _path(text: str) -> str:
    shown = plain(text, 120)
    if not text.startswith("/"):
        raise UsageError(f"--for marker takes an absolute path on the job's host, not {shown!r}; write it from /")
    if _GLOB & set(text):
        raise UsageError(f"--for marker takes one path, without *, ? and [, not {shown!r}")
    if not text.isprintable() or not _is_utf8(text) or len(text) > 4000:
        raise UsageError(f"--for marker takes a path of printable characters, at most 4,000, not {shown!r}")
    return text.rstrip("/") or "/"


def _is_utf8(text: str) -> bool:
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


def answer(wanted: Condition, first: JobDocument | None, job: JobDocument, marker: bool | None = None) -> Answer | None:
    """What is known of the condition and a job that was as `first` when the wait began; None: not yet known. `marker`
    is whether the file is there, None where that was not asked."""
    if wanted.kind == "change":
        return Answer(True, "it changed") if first is None or _mark(job) != _mark(first) else None
    if why := never_starts(job):
        return Answer(False, why)
    match wanted.kind:
        case "running":
            over, runs = is_over(job), job["state"] == "running"
            return Answer(runs or job["outcome"] in GOOD, "") if over or runs else None
        case "stage":
            return _of_stage(wanted.about, job)
        case "progress":
            return _of_progress(wanted.fraction, job)
        case "marker":
            return _of_marker(wanted.about, job, marker)
    return Answer(job["outcome"] in GOOD, "") if is_over(job) else None


def never_starts(job: JobDocument) -> str:
    """Why a waiting job will never run as it is, in words; empty where it may."""
    if job["state"] != "waiting":
        return ""
    found = [one for one in job["findings"] if one["rule"] in NEVER_STARTS and one["level"] == "critical"]
    return plain(str(found[0]["text"]), 300) if found else ""


def stages(job: JobDocument) -> list[StageDocument]:
    """The stages of a job that is a chain; none of another."""
    return job.get("stages") or []


def check_stage(wanted: Condition, job: JobDocument) -> None:
    """Refuse a stage that the job does not have."""
    names = [plain(str(stage["name"]), 60) for stage in stages(job)]
    if not names:
        raise UsageError(f"{plain(job['name'], 80)} has no stages; wait for its end: dogwatch wait {plain(job['ref'])}")
    if wanted.about not in names:
        raise UsageError(
            f"{plain(job['name'], 80)} has no stage {plain(wanted.about, 60)!r}; its stages: {', '.join(names)}"
        )


def _of_stage(name: str, job: JobDocument) -> Answer | None:
    stage = next((stage for stage in stages(job) if stage["name"] == name), None)
    shown = plain(name, 60)
    state = "unknown" if stage is None else stage["state"]
    if state == DONE:
        return Answer(True, f"stage {shown} is done")
    if not is_over(job):  # a later attempt may still run a stage that failed in this one
        return None
    if state in BAD_STAGES:
        code = None if stage is None else stage.get("exit_code")
        return Answer(False, f"stage {shown} {state}" + (f" with exit code {code}" if code is not None else ""))
    return Answer(False, f"it ended before stage {shown} was done")


def _of_progress(fraction: float, job: JobDocument) -> Answer | None:
    progress = job["progress"]
    reached = None if progress is None else progress["fraction"]
    shown = f"{100 * fraction:g} %"
    if reached is not None and reached >= fraction:
        return Answer(True, f"{100 * reached:.3g} % done, {shown} wanted")
    if not is_over(job):
        return None
    if job["outcome"] in GOOD:
        return Answer(True, "it is complete" + ("" if reached is None else f", though its log stops at {reached:.0%}"))
    return Answer(False, f"it ended before {shown} was done")


def _of_marker(path: str, job: JobDocument, marker: bool | None) -> Answer | None:
    shown = plain(path, 200)
    if marker:
        return Answer(True, f"{shown} is there")
    if is_over(job) and marker is False:
        return Answer(False, f"it ended, and {shown} is not there")
    return None


def _mark(job: JobDocument) -> tuple[Any, ...]:
    findings = [(finding["rule"], finding["text"]) for finding in job["findings"]]
    states = [(stage["name"], stage["state"]) for stage in stages(job)]
    return job["state"], job["outcome"], job["attempts"], findings, states
