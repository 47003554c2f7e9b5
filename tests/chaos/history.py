"""The checker: what is wrong with a recorded history, by what the storm knows to be true. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Document: TypeAlias = Mapping[str, Any]

LOST, WRONG, LEFT = "lost", "wrong", "left"
MOVES = ("job.state", "job.attempt")
FOLLOWS: Mapping[str | None, frozenset[str]] = {
    None: frozenset({"waiting", "running", "ended"}),
    "waiting": frozenset({"running", "ended", "missing"}),
    "running": frozenset({"ended", "missing"}),
    "missing": frozenset({"waiting", "running", "ended"}),
    "ended": frozenset(),
}


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that must not be: something `lost`, something `wrong`, or something `left` behind."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job or a worker ended."""

    outcome: str
    exit_code: int | None = None
    signal: int | None = None


UNKNOWN = Ending("unknown")


@dataclass(frozen=True, slots=True)
class Truth:
    """One job as the storm knows it. `endings` are those that would be right: none for a job that never
    began. `promised` means that a command said it is registered; `ran` that a worker of it ever did."""

    name: str
    endings: tuple[Ending, ...]
    promised: bool
    ran: bool = True
    forgotten: bool | None = False


@dataclass(frozen=True, slots=True)
class Said:
    """A notification of the store: the line it makes, whether it is off the queue, how often that was
    recorded, and by how many of those it was really printed."""

    line: str
    done: bool
    recorded: int
    printed: int


@dataclass(frozen=True, slots=True)
class History:
    """What was left after a storm: the store's own words, and what was seen from outside meanwhile."""

    events: Sequence[Document]
    jobs: Sequence[Document]
    truths: Sequence[Truth] = ()
    glimpsed: Sequence[Document] = ()
    started_runs: frozenset[str] = frozenset()
    notifications: Sequence[Said] = ()
    printed: Mapping[str, int] = field(default_factory=dict)
    killed_watchers: int = 0
    watchers_that_spoke: int = 0
    watchers_launched: int | None = None
    patrolled: frozenset[int] | None = None
    news: frozenset[str] = frozenset()


def check(history: History) -> list[Flaw]:
    """Everything that is wrong, in the order of the checks."""
    return [flaw for examine in CHECKS for flaw in examine(history)]


def numbers(history: History) -> Iterator[Flaw]:
    """1, 2, 3 … without a hole or a repeat."""
    for want, event in enumerate(history.events, start=1):
        if event["seq"] != want:
            yield Flaw(LOST, f"event {want} is not there: its place has {event['seq']}")
            return


def kept(history: History) -> Iterator[Flaw]:
    """Whatever a command once printed of the history is still in it, word for word."""
    held = {event["seq"]: event for event in history.events}
    for event in history.glimpsed:
        if held.get(event["seq"]) != event:
            yield Flaw(LOST, f"event {event['seq']} was shown as {event!r} and is now {held.get(event['seq'])!r}")


def chains(history: History) -> Iterator[Flaw]:
    """Each state of a job follows from the one before, and an attempt ends once."""
    state: dict[str, str | None] = {}
    attempt: dict[str, int] = {}
    forgotten: set[str] = set()
    for event in history.events:
        ref, body = event["ref"], event["body"]
        if event["kind"] == "job.added":
            state[ref] = None
            forgotten.discard(ref)
            continue
        if event["kind"] == "job.forgotten":
            forgotten.add(ref)
        if event["kind"] not in MOVES:
            continue
        where = f"event {event['seq']} of {ref}"
        if ref not in state:
            yield Flaw(LOST, f"{where}: a state of a job that was never added")
        if ref in forgotten:
            yield Flaw(WRONG, f"{where}: a state of a job that was forgotten")
        before = state.get(ref)
        if body["before"] != before:
            yield Flaw(LOST, f"{where}: it goes on from {body['before']}, but the state before was {before}")
        anew = event["kind"] == "job.attempt" and body["attempt"] == attempt.get(ref, 0) + 1
        if before == "ended" and body["after"] == "ended" and not anew:
            yield Flaw(WRONG, f"{where}: attempt {body['attempt']} ended twice")
        elif body["after"] not in FOLLOWS.get(before, frozenset()) and not anew:
            yield Flaw(WRONG, f"{where}: {body['after']} does not follow from {before}")
        state[ref], attempt[ref] = body["after"], body["attempt"]


def listed(history: History) -> Iterator[Flaw]:
    """What is listed is what the last event of the job says, and every job that was added is listed."""
    last = {event["ref"]: event["body"] for event in history.events if event["kind"] in MOVES}
    for job in history.jobs:
        body = last.get(job["ref"], {"after": None})
        told = (body["after"], body.get("outcome"), body.get("exit_code"), body.get("signal"))
        shown = (job["state"], job["outcome"], job["exit_code"], job["signal"])
        if told != shown:
            yield Flaw(WRONG, f"{job['ref']} is listed as {shown}, its last event says {told}")
    there = Counter(job["ref"] for job in history.jobs)
    for ref in _watched(history.events):
        if there[ref] != 1:
            yield Flaw(LOST, f"{ref} was added and not forgotten, and is listed {there[ref]} times")


def truths(history: History) -> Iterator[Flaw]:
    """Every job is there that was promised, and is what it really was."""
    added = {event["text"].removesuffix(" is watched") for event in history.events if event["kind"] == "job.added"}
    jobs = {job["name"]: job for job in history.jobs}
    for truth in history.truths:
        if truth.name not in added:
            if truth.promised:
                yield Flaw(LOST, f"{truth.name} was promised and is not in the history")
            elif truth.ran:
                yield Flaw(LOST, f"{truth.name} ran and is not in the history")
            continue
        job = jobs.get(truth.name)
        if job is None:
            if truth.forgotten is False:
                yield Flaw(LOST, f"{truth.name} is not listed and nobody forgot it")
        elif truth.forgotten is True:
            yield Flaw(WRONG, f"{truth.name} was forgotten and is listed")
        else:
            yield from _ended_right(truth, job)


def runs(history: History) -> Iterator[Flaw]:
    """No worker ever ran outside of the history."""
    added = {event["ref"] for event in history.events if event["kind"] == "job.added"}
    for ref in sorted(history.started_runs - added):
        yield Flaw(LOST, f"{ref} has start records and was never registered")


def notifications(history: History) -> Iterator[Flaw]:
    """Said and recorded once, or still queued; printed again only where a watcher was killed in between."""
    owed: Counter[str] = Counter()
    for notification in history.notifications:
        if notification.recorded > 1:
            yield Flaw(WRONG, f"recorded {notification.recorded} times as said: {notification.line}")
        if notification.done and not notification.recorded:
            yield Flaw(LOST, f"off the queue, and nobody said it: {notification.line}")
        owed[notification.line] += notification.printed
    for line, times in owed.items():
        if history.printed.get(line, 0) < times:
            yield Flaw(LOST, f"recorded as said, and never printed: {line}")
    again = sum(max(0, times - owed[line]) for line, times in history.printed.items())
    if again > history.killed_watchers:
        yield Flaw(
            WRONG, f"{again} notifications were printed again after {history.killed_watchers} kills of a watcher"
        )


def watchers(history: History) -> Iterator[Flaw]:
    """Every watcher that said it watches is in the history, and no more than were started."""
    began = sum(event["kind"] == "watch.started" for event in history.events)
    if began < history.watchers_that_spoke:
        yield Flaw(LOST, f"{history.watchers_that_spoke} watchers said they watch, the history has {began}")
    if history.watchers_launched is not None and began > history.watchers_launched:
        yield Flaw(WRONG, f"{began} watchers in the history, {history.watchers_launched} were started")


def patrols(history: History) -> Iterator[Flaw]:
    """Every piece of news was reported by some patrol, but for news of jobs that were forgotten: it may come too late
    for that."""
    if history.patrolled is None:
        return
    there = {None, *_watched(history.events)}
    for event in history.events:
        if event["kind"] in history.news and event["ref"] in there and event["seq"] not in history.patrolled:
            yield Flaw(LOST, f"event {event['seq']} ({event['text']}) was reported by no patrol")


CHECKS: tuple[Callable[[History], Iterator[Flaw]], ...] = (
    numbers,
    kept,
    chains,
    listed,
    truths,
    runs,
    notifications,
    watchers,
    patrols,
)


def _watched(events: Sequence[Document]) -> list[str]:
    """The refs that were added and not forgotten since."""
    there: dict[str, bool] = {}
    for event in events:
        if event["kind"] in ("job.added", "job.forgotten"):
            there[event["ref"]] = event["kind"] == "job.added"
    return [ref for ref, still in there.items() if still]


def _ended_right(truth: Truth, job: Document) -> Iterator[Flaw]:
    if not truth.endings:
        if job["state"] not in (None, "waiting") and job.get("native") != "never started":
            yield Flaw(WRONG, f"{truth.name} never began and is listed as {job['state']} {job['outcome']}")
        return
    shown = Ending(job["outcome"], job["exit_code"], job["signal"])
    if job["state"] != "ended":
        yield Flaw(LOST, f"{truth.name} has ended and is listed as {job['state']}")
    elif shown not in truth.endings:
        yield Flaw(WRONG, f"{truth.name} ended as {_any(truth.endings)} and is listed as {shown} ({job['reason']})")


def _any(endings: Sequence[Ending]) -> str:
    return " or ".join(map(str, endings))
