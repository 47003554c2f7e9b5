"""Hosts: the places that ssh reaches. Each is added on a person's word, and never with a key that nobody knows."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dogwatch.api.commands import HERE
from dogwatch.api.host_names import HostNames
from dogwatch.clock import Clock
from dogwatch.errors import CouldNotPoll, UsageError
from dogwatch.model import Unreachable
from dogwatch.model.job import Place
from dogwatch.sources import schedulers
from dogwatch.sources.interface import Installation
from dogwatch.store.interface import Store
from dogwatch.store.rows import jobs, places
from dogwatch.store.rows import registration as register
from dogwatch.store.rows.places import REMOVED
from dogwatch.text import plain
from dogwatch.transport import host_keys
from dogwatch.transport.interface import Answer
from dogwatch.transport.ssh import Ssh
from dogwatch.transport.target import Target, audit
from dogwatch.transport.without_python import LIMITS
from dogwatch.wire.commands import NO_COMMANDS, CommandsSection
from dogwatch.wire.questions import Questions

if TYPE_CHECKING:
    from dogwatch.wire.documents.commands import (
        HostDocument,
        ListedHostDocument,
        SchedulerDocument,
        TestedHostDocument,
        TrialDocument,
    )
    from dogwatch.wire.documents.watch import PlaceDocument

KIND = "ssh"
FLOOR, LEAST_FLOOR = 60.0, 1.0
TEST_DEADLINE = 60.0
NOTHING_MORE: Mapping[str, str | None] = {}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True)
class Trial:
    """What one round trip to a host showed. `fingerprints` are of a key that is not known here."""

    reachable: bool
    seconds: float
    kind: str = ""
    why: str = ""
    python: str | None = None
    host: str | None = None
    skew: float | None = None
    scheduler: Installation | None = None
    limits: str | None = None
    fingerprints: tuple[str, ...] = ()

    def document(self) -> TrialDocument:
        return {
            "reachable": self.reachable,
            "kind": self.kind or None,
            "why": self.why or None,
            "seconds": round(self.seconds, 3),
            "python": self.python,
            "hostname": self.host,
            "skew_seconds": self.skew,
            "scheduler": _scheduler_document(self.scheduler),
            "limits": self.limits,
            "fingerprints": list(self.fingerprints),
        }


def add(
    store: Store,
    clock: Clock,
    name: str,
    *,
    alias: str | None = None,
    config: str | None = None,
    floor: float | None = None,
    accept_key: bool = False,
    profile: str | None = None,
    price: float | None = None,
) -> TestedHostDocument:
    """Try a host out and register it, or register it anew with another way to it. Not added (`added` is false): one
    whose key is not known, unless `accept_key`, and one that cannot be reached while its key is not known. Its profile
    and price stay as they were unless others are given."""
    known = next((row["transport"] for row in _rows(store) if row["name"] == name), {})
    given = {"profile": profile, "price_per_hour": None if price is None else f"{price:g}"}
    more = {key: value or known.get(key) for key, value in given.items()}
    place = _place(name, alias or name, config, FLOOR if floor is None else floor, more)
    target = Target(alias or name, config)
    warnings = audit(target)
    trial, accepted = _first_trial(target, place, clock, accept_key)
    added = trial.reachable or host_keys.is_known(target)
    if added:
        register.add_place(store, place)
        store.location.wake()
    return {**_document(place), **trial.document(), "warnings": warnings, "added": added, "accepted": accepted}


def listing(store: Store) -> list[ListedHostDocument]:
    """Every host, with when it was last seen and why it is unreachable."""
    return [
        {
            **_document(_place_of(row)),
            "polled_at": row["polled_at"],
            "answered_at": row["answered_at"],
            "unreachable_since": row["unreachable_since"],
            "unreachable_why": row["unreachable_why"],
            "polls": row["polls"],
            "failed_polls": row["failed_polls"],
            "jobs": len(_living(store, row["name"])),
        }
        for row in _rows(store)
    ]


def everyone(store: Store) -> list[Place]:
    """The hosts to watch, in the order they were added."""
    return [_place_of(row) for row in _rows(store)]


def find(store: Store, name: str) -> Place:
    """The host of that name, alias or address; the nearest name is told when there is none."""
    known = {row["name"]: row for row in _rows(store)}
    if name not in known:
        name = HostNames(store).place(name) or name
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = (
            f"did you mean {near[0]}?"
            if near
            else f"`dogwatch host ls` lists them, `dogwatch host add {plain(name, 40)}` adds it"
        )
        raise UsageError(f"no host named '{plain(name, 40)}'; {hint}")
    return _place_of(known[name])


def transport(place: Place, clock: Clock) -> Ssh:
    """The way to a host that was added."""
    return Ssh(place.name, str(place.transport["ssh"]), place.transport.get("config"), clock)


def test(store: Store, clock: Clock, name: str) -> TestedHostDocument:
    """One round trip to a host: whether it answers, with what, how fast, and what connecting runs here."""
    place = find(store, name)
    target = Target(str(place.transport["ssh"]), place.transport.get("config"))
    warnings = audit(target)
    trial = _with_key(target, try_out(transport(place, clock)))
    told: TestedHostDocument = {**_document(place), **trial.document(), "warnings": warnings}  # type: ignore[typeddict-item]
    return told


def remove(store: Store, name: str) -> None:
    """Let go of a host; refused while a job of it is watched. What happened there stays in the history."""
    place = find(store, name)
    living = _living(store, name)
    if living:
        more = f" and {len(living) - 1} more" if len(living) > 1 else ""
        raise UsageError(f"{living[0]}{more} is watched on {name}; remove its jobs with `dogwatch forget` first")
    register.add_place(store, Place(place.name, REMOVED, place.transport, place.floor))
    store.location.wake()


def try_out(way: Ssh, deadline: float = TEST_DEADLINE) -> Trial:
    """One probe there and back."""
    asked = Questions()
    for kind in schedulers():
        asked.add(kind.ask_about())
    answer = way.ask(asked.to_request(), deadline)
    if isinstance(answer, Unreachable):
        return Trial(False, answer.duration, answer.kind, answer.why)
    checked = answer.checked
    return Trial(
        True,
        answer.duration,
        python=checked.python,
        host=checked.host,
        skew=_skew(answer),
        scheduler=_scheduler(checked.commands or NO_COMMANDS),
        limits=LIMITS if checked.python is None else None,
    )


def _first_trial(target: Target, place: Place, clock: Clock, accept_key: bool) -> tuple[Trial, list[str]]:
    """The trial, and the fingerprints that were accepted for it."""
    way = transport(place, clock)
    trial = _with_key(target, try_out(way))
    if not trial.fingerprints or not accept_key:
        return trial, []
    accepted, _ = host_keys.accept(target.alias, target.config)
    return try_out(way), accepted


def _with_key(target: Target, trial: Trial) -> Trial:
    """With what an unknown host shows; a key that changed is refused for good."""
    if trial.kind != "host_key":
        return trial
    if host_keys.is_known(target):
        raise UsageError(trial.why)
    try:
        shown = host_keys.unknown_key(target.alias, target.config)
    except CouldNotPoll as error:
        return Trial(False, trial.seconds, trial.kind, str(error))
    return Trial(False, trial.seconds, trial.kind, trial.why, fingerprints=tuple(shown))


def _place(
    name: str, alias: str, config: str | None, floor: float, more: Mapping[str, str | None] = NOTHING_MORE
) -> Place:
    if not _NAME.fullmatch(name) or name == HERE:
        why = "means this machine" if name == HERE else "is not a name"
        raise UsageError(f"'{plain(name, 40)}' {why}; use letters, digits and . _ -")
    if floor < LEAST_FLOOR:
        raise UsageError(f"--floor {floor:g}s is too short; a host is polled at most once a second")
    kept = {key: value for key, value in more.items() if value is not None}
    return Place(name, KIND, {"ssh": alias, "config": config, **kept}, floor)


def _rows(store: Store) -> list[PlaceDocument]:
    return [row for row in places.places(store) if row["kind"] == KIND]


def _place_of(row: PlaceDocument) -> Place:
    return Place(row["name"], row["kind"], row["transport"], row["floor"])


def _document(place: Place) -> HostDocument:
    way = place.transport
    price = way.get("price_per_hour")
    return {
        "name": place.name,
        "ssh": str(way["ssh"]),
        "ssh_config": way.get("config"),
        "floor_seconds": place.floor,
        "profile": way.get("profile"),
        "price_per_hour": None if price is None else float(price),
    }


def _living(store: Store, name: str) -> list[str]:
    return [job["ref"] for job in jobs.brief(store) if job["place"] == name]


def _skew(answer: Answer) -> float | None:
    """How far the host's clock is ahead of ours. It was read before the scheduler was asked, after the way there."""
    clock, commands = answer.checked.clock, answer.checked.commands
    if clock is None:
        return None
    busy = 0.0 if commands is None else commands.seconds
    return round(clock.wall - (answer.at + max(0.0, answer.duration - busy) / 2), 1)


def _scheduler(section: CommandsSection) -> Installation | None:
    """The scheduler that is installed there; None where there is none."""
    installed = (kind.about(section) for kind in schedulers())
    return next((scheduler for scheduler in installed if scheduler is not None), None)


def _scheduler_document(told: Installation | None) -> SchedulerDocument | None:
    if told is None:
        return None
    return {"name": told.name, "version": told.version, "cluster": told.cluster, "why": told.why}
