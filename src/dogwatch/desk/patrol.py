"""Patrol: what changed since the last patrol, whoever saw it change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dogwatch.clock import stamp
from dogwatch.store import cursors, events, jobs, places
from dogwatch.store.database import Store
from dogwatch.text import named

CURSOR = "patrol"  # the person's; every other reader has one of their own beside it
NEWS = frozenset({"job.state", "job.attempt", "finding.opened", "finding.resolved", "store.repaired", "store.full"})
GOOD = frozenset({"succeeded", None})


@dataclass(frozen=True, slots=True)
class Report:
    """What one patrol has to say; `upto` is the event it has read to."""

    changes: list[dict[str, Any]]
    dark: list[dict[str, Any]]
    all_dark: bool
    watched: int
    upto: int
    tally: str = ""

    @property
    def bad_ending(self) -> bool:
        return any(change.get("after") == "ended" and change.get("outcome") not in GOOD for change in self.changes)

    def sentence(self, now: float) -> str:
        """The one line of a heartbeat: that somebody looked, when, at how much, and whether it was quiet."""
        at = stamp(now)
        what = (
            f"{len(self.changes)} changes" if len(self.changes) > 1 else ("1 change" if self.changes else "no change")
        )
        jobs_ = f"{self.watched} job{'' if self.watched == 1 else 's'} watched"
        dark = f", {len(self.dark)} dark" if self.dark else ""
        return f"looked at {at}: {what}, {jobs_}{dark}"


def cursor_of(reader: str | None) -> str:
    """The cursor of a reader, by a name that somebody gave; none is the person."""
    return CURSOR if reader is None else f"{CURSOR}:{named(reader, '--reader name')}"


def report(store: Store, looked: list[str], cursor: str = CURSOR) -> Report:
    """Everything of note after the event that this reader was last told, and the places that do not answer. A reader
    who was never told anything begins where the person stands."""
    since = cursors.read(store, cursor) or cursors.read(store, CURSOR)
    found = events.read(store, since=since)
    news = [event for event in found if event["kind"] in NEWS]
    refs = dict.fromkeys(event["ref"] for event in news if event["ref"] is not None)
    spoken_of = jobs.documents(store, refs=refs)
    names = {job["ref"]: job["name"] for job in spoken_of}
    ended = [job for job in spoken_of if job["state"] == "ended"]
    changes = [_change(event, names) for event in news]
    active = [job for job in jobs.brief(store) if job["state"] != "ended"]
    used = {job["place"] for job in active}
    known = [place for place in places.places(store) if place["name"] in used]
    dark = [place for place in known if place["dark_since"]]
    upto = found[-1]["seq"] if found else since
    all_dark = bool(known) and len(dark) == len(known)
    return Report(changes, dark, all_dark, len(active), upto, tally([*active, *ended]))


def tally(jobs_: list[dict[str, Any]]) -> str:
    """`2 of 4 completed, 1 running, 1 waiting`; nothing for a single job, whose change says it all."""
    counts: dict[str, int] = {}
    for job in jobs_:
        word = str(job["outcome"] or job["state"] or "not looked at").replace("_", " ")
        counts[word] = counts.get(word, 0) + 1
    if len(jobs_) < 2:
        return ""
    done = counts.pop("succeeded", 0)
    return ", ".join([f"{done} of {len(jobs_)} completed", *(f"{n} {word}" for word, n in counts.items())])


def reported(store: Store, done: Report, cursor: str = CURSOR) -> None:
    """Remember that all this has been said to this reader: only after it was said."""
    if done.upto != cursors.read(store, cursor):
        cursors.write(store, cursor, done.upto)


def _change(event: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    plain = {key: event[key] for key in ("seq", "at", "kind", "ref", "place", "level", "text")}
    return {**event["body"], **plain, "name": names.get(event["ref"])}
