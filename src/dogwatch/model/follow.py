"""follow(): what a poll changes in what is known. The one place where states move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from dogwatch.model.poll import Answered, Observation, Poll, Unreachable
from dogwatch.model.state import Ended, Evidence, Missing, Outcome, Running, State


@dataclass(frozen=True, slots=True)
class Known:
    """What is held true of a job: its state, since when, when that was last confirmed, and by what.
    An ending that is not `settled` counts as one everywhere, and is still polled for what comes late. `final` is the
    outcome after the final checks, and `why` the reason for it where the place gave none; None until it is decided."""

    state: State | None = None
    since: float | None = None
    native: str = ""
    reason: str = ""
    attempt: str = ""
    attempts: int = 0
    confirmed_at: float | None = None
    evidence: tuple[Evidence, ...] = ()
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


def follow(known: Mapping[str, Known], poll: Poll) -> tuple[dict[str, Known], tuple[Change, ...]]:
    """What is known after `poll`, and the changes it made; an unreachable one makes none and confirms nothing."""
    match poll:
        case Unreachable():
            return dict(known), ()
        case Answered():
            return _follow_answer(known, poll)
        case _:
            assert_never(poll)


def _follow_answer(known: Mapping[str, Known], poll: Answered) -> tuple[dict[str, Known], tuple[Change, ...]]:
    after = dict(known)
    changes = []
    for ref, before in known.items():
        observation = poll.observations.get(ref)
        if observation is not None:
            now = _take(before, observation, poll.at)
        elif ref in poll.asked:
            now = _lose(before, poll.at)
        else:
            continue
        after[ref] = now
        if not _same(before.state, now.state) or now.attempt != before.attempt:
            changes.append(Change(ref, before, now, poll.at))
    return after, tuple(changes)


def _take(before: Known, observation: Observation, at: float) -> Known:
    """An observation of the same attempt moves its state; of another attempt, starts a new one."""
    if isinstance(observation.state, Missing):
        return _lose(before, at, observation.reason)
    if before.attempt and observation.attempt != before.attempt:
        return _enter(before, observation, at, attempts=max(before.attempts, observation.restarts) + 1)
    if isinstance(before.state, Ended) and not _settles(before.state, observation.state):
        return _confirm(before, before.state, observation, at)
    if _same(before.state, observation.state):
        return Known(  # the usual case, ten thousand times in a poll: `replace` takes three times as long
            observation.state,
            before.since,
            observation.native or before.native,
            observation.reason,
            before.attempt,
            before.attempts,
            at,
            observation.evidence or before.evidence,
            observation.settled,
        )
    return _enter(before, observation, at, attempts=max(before.attempts, observation.restarts + 1))


def _enter(before: Known, observation: Observation, at: float, attempts: int) -> Known:
    return Known(
        state=observation.state,
        since=_began(observation.state, at),
        native=observation.native or before.native,
        reason=observation.reason,
        attempt=observation.attempt,
        attempts=attempts,
        confirmed_at=at,
        evidence=observation.evidence,
        settled=observation.settled,
    )


def _confirm(before: Known, ended: Ended, observation: Observation, at: float) -> Known:
    """An ending stays what it is. The poll may confirm it again, and may add what was not known yet."""
    if not isinstance(observation.state, Ended):
        return before
    settled = before.settled or observation.settled
    if observation.state.outcome is not ended.outcome:
        return replace(before, settled=settled)
    after = replace(before, settled=settled, confirmed_at=at if observation.evidence else before.confirmed_at)
    if before.settled or not settled:
        return after
    native, reason = observation.native or before.native, observation.reason or before.reason
    return replace(after, native=native, reason=reason, evidence=observation.evidence or before.evidence)


def _lose(before: Known, at: float, reason: str = "") -> Known:
    """Listed before, not listed by a place that answered: the clock of `Missing` starts, once."""
    if isinstance(before.state, Ended):
        return before
    lost = replace(before, reason=reason or before.reason)
    if before.state is None or isinstance(before.state, Missing):
        return lost
    return replace(lost, state=Missing(since=at), since=at)


def _settles(ended: Ended, seen: State) -> bool:
    """Late evidence may name an outcome that nobody knew; it may never rename one that was known."""
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
