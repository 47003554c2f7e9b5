"""follow(): what a look changes in what is known. The one place where states move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from dogwatch.model.look import Dark, Look, Seen, Sighting
from dogwatch.model.state import Ended, Missing, Outcome, Proof, Running, State


@dataclass(frozen=True, slots=True)
class Known:
    """What is held true of a job: its state, since when, when that was last proved, and by what.
    An ending that is not `settled` counts as one everywhere, and is still looked at for what comes late. `final` is the
    outcome after the final checks, and `why` the reason for it where the place gave none; None until it is decided."""

    state: State | None = None
    since: float | None = None
    native: str = ""
    reason: str = ""
    attempt: str = ""
    attempts: int = 0
    proved_at: float | None = None
    proof: tuple[Proof, ...] = ()
    settled: bool = True
    final: Outcome | None = None
    why: str = ""

    @property
    def outcome(self) -> Outcome | None:
        """How it ended, all told; None before, and while what decides it is still being checked."""
        if not isinstance(self.state, Ended):
            return None
        return self.final or (self.state.outcome if self.settled else None)


@dataclass(frozen=True, slots=True)
class Change:
    """Before → after of one job's state, and when it was seen."""

    ref: str
    before: Known
    after: Known
    at: float


def follow(known: Mapping[str, Known], look: Look) -> tuple[dict[str, Known], tuple[Change, ...]]:
    """What is known after `look`, and the changes it made; a Dark look makes none and proves nothing."""
    match look:
        case Dark():
            return dict(known), ()
        case Seen():
            return _follow_seen(known, look)
        case _:
            assert_never(look)


def _follow_seen(known: Mapping[str, Known], look: Seen) -> tuple[dict[str, Known], tuple[Change, ...]]:
    after = dict(known)
    changes = []
    for ref, before in known.items():
        sighting = look.sightings.get(ref)
        if sighting is not None:
            now = _take(before, sighting, look.at)
        elif ref in look.asked:
            now = _lose(before, look.at)
        else:
            continue
        after[ref] = now
        if not _same(before.state, now.state) or now.attempt != before.attempt:
            changes.append(Change(ref, before, now, look.at))
    return after, tuple(changes)


def _take(before: Known, sighting: Sighting, at: float) -> Known:
    """A sighting of the same attempt moves its state; of another attempt, starts a new one."""
    if isinstance(sighting.state, Missing):
        return _lose(before, at, sighting.reason)
    if before.attempt and sighting.attempt != before.attempt:
        return _enter(before, sighting, at, attempts=max(before.attempts, sighting.restarts) + 1)
    if isinstance(before.state, Ended) and not _settles(before.state, sighting.state):
        return _confirm(before, before.state, sighting, at)
    if _same(before.state, sighting.state):
        return Known(  # the usual case, ten thousand times in a look: `replace` takes three times as long
            sighting.state,
            before.since,
            sighting.native or before.native,
            sighting.reason,
            before.attempt,
            before.attempts,
            at,
            sighting.proof or before.proof,
            sighting.settled,
        )
    return _enter(before, sighting, at, attempts=max(before.attempts, sighting.restarts + 1))


def _enter(before: Known, sighting: Sighting, at: float, attempts: int) -> Known:
    return Known(
        state=sighting.state,
        since=_began(sighting.state, at),
        native=sighting.native or before.native,
        reason=sighting.reason,
        attempt=sighting.attempt,
        attempts=attempts,
        proved_at=at,
        proof=sighting.proof,
        settled=sighting.settled,
    )


def _confirm(before: Known, ended: Ended, sighting: Sighting, at: float) -> Known:
    """An ending stays what it is. The look may prove it again, and may bring what was still to be learnt."""
    if not isinstance(sighting.state, Ended):
        return before
    settled = before.settled or sighting.settled
    if sighting.state.outcome is not ended.outcome:
        return replace(before, settled=settled)
    after = replace(before, settled=settled, proved_at=at if sighting.proof else before.proved_at)
    if before.settled or not settled:
        return after
    native, reason = sighting.native or before.native, sighting.reason or before.reason
    return replace(after, native=native, reason=reason, proof=sighting.proof or before.proof)


def _lose(before: Known, at: float, reason: str = "") -> Known:
    """Listed before, not listed by a place that answered: the clock of `Missing` starts, once."""
    if isinstance(before.state, Ended):
        return before
    lost = replace(before, reason=reason or before.reason)
    if before.state is None or isinstance(before.state, Missing):
        return lost
    return replace(lost, state=Missing(since=at), since=at)


def _settles(ended: Ended, seen: State) -> bool:
    """A late witness may name an outcome that nobody knew; it may never rename one that was known."""
    return isinstance(seen, Ended) and ended.outcome is Outcome.UNKNOWN and seen.outcome is not Outcome.UNKNOWN


def _began(state: State, seen_at: float) -> float:
    """When a state began: by the place's own record where it has one, else when we first saw it."""
    match state:
        case Ended(at=began) | Running(since=began) if began is not None:
            return began
        case _:
            return seen_at


def _same(before: State | None, seen: State | None) -> bool:
    """Whether the state is the same to a reader: a running job that learns its node has not changed."""
    return type(before) is type(seen) and not (isinstance(seen, Ended) and before != seen)
