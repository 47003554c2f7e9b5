"""Judge: what the rules conclude now, against what they concluded before.

A finding resolves only when its rule has looked at fresh evidence and found it gone, with the job still going on. What
could not be judged this time stays open, and what ended with its job or attempt is closed as that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

from dogwatch import rules
from dogwatch.model import Closing, Ended, Finding, Level
from dogwatch.model.message import RANK
from dogwatch.rules.interface import BlindCase, Case, PlaceCase, Rule

Identity: TypeAlias = tuple[str, str, str]
Judge: TypeAlias = Callable[[Any, float], Iterable[Finding]]
Fate: TypeAlias = Callable[[Finding], Closing]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What opens, what is still open, perhaps in other words or `escalated` (with the level before), what resolves, and
    what is `closed` otherwise."""

    opened: tuple[Finding, ...] = ()
    escalated: tuple[tuple[Finding, Level], ...] = ()
    reworded: tuple[Finding, ...] = ()
    resolved: tuple[Finding, ...] = ()
    closed: tuple[tuple[Finding, Closing], ...] = ()


NOTHING = Judgement()


def identity(finding: Finding) -> Identity:
    return finding.subject, finding.rule, finding.what


def by_subject(open_now: Mapping[Identity, Finding]) -> dict[str, dict[Identity, Finding]]:
    """The open findings of each subject, so that ten thousand jobs do not each poll through all of them."""
    grouped: dict[str, dict[Identity, Finding]] = {}
    for key, finding in open_now.items():
        grouped.setdefault(key[0], {})[key] = finding
    return grouped


def judge_job(case: Case, open_now: Mapping[Identity, Finding], now: float, *, new_attempt: bool = False) -> Judgement:
    """Of a job that the poll could speak for; `new_attempt` when another one has begun since the last."""
    kind: type = type(case.known.state)
    found: list[Finding] = []
    for need, judges in _judges_of(kind):
        if need is None or getattr(case, need):
            for judge in judges:
                found += judge(case, now)
    if not found and not open_now:
        return NOTHING
    if new_attempt:
        return _anew(case, found, open_now)
    return compare(case.job.ref, found, open_now, lambda finding: _fate(case, finding, found))


def _anew(case: Case, found: Iterable[Finding], open_now: Mapping[Identity, Finding]) -> Judgement:
    """What stood of the attempt before ended with it, facts about its past too; what is found again goes on, and what
    is about more than an attempt is judged as ever."""

    def fate(finding: Finding) -> Closing:
        rule = _by_name().get(finding.rule)
        spans = rule is not None and rule.spans_attempts
        return _fate(case, finding, found) if spans else Closing.ENDED_WITH_ATTEMPT

    past = [finding for finding in open_now.values() if finding.lasting]
    goes_on = {key: finding for key, finding in open_now.items() if not finding.lasting}
    judgement = compare(case.job.ref, found, goes_on, fate)
    ended = tuple((finding, Closing.ENDED_WITH_ATTEMPT) for finding in past)
    return replace(judgement, closed=(*judgement.closed, *ended))


def _fate(case: Case, finding: Finding, found: Iterable[Finding]) -> Closing:
    """What becomes of a finding that is not found any more; OPEN when nobody could tell whether it is gone."""
    rule = _by_name().get(finding.rule)
    if rule is not None and rule.judge is None:
        return Closing.RESOLVED  # it was about not seeing the job, which is seen
    if isinstance(case.known.state, Ended) and (rule is None or Ended not in (rule.gone_in or ())):
        return Closing.ENDED_WITH_JOB
    if rule is None:
        return Closing.RESOLVED
    if any(other.rule in rule.gives_way_to for other in found):
        return Closing.REPLACED
    if finding.rule in case.unsure:
        return Closing.OPEN
    states = rule.gone_in or rule.states
    if states is not None and not isinstance(case.known.state, states):
        return Closing.OPEN
    return rule.is_gone(case, finding.what)


def judge_blind(case: BlindCase, open_now: Mapping[Identity, Finding], now: float) -> Judgement:
    """What was found of a job before it could not be seen stays: only what is new is said."""
    found = [finding for judge in _judges("judge_blind") for finding in judge(case, now)]
    judgement = compare(case.job.ref, found, open_now)
    return replace(judgement, resolved=(), closed=())


def judge_place(case: PlaceCase, open_now: Mapping[Identity, Finding], now: float) -> Judgement:
    found = [finding for judge in _judges("judge_place") for finding in judge(case, now)]

    def fate(finding: Finding) -> Closing:
        rule = _by_name().get(finding.rule)
        waits = bool(case.failed_polls) and rule is not None and rule.needs_answer
        return Closing.OPEN if waits else Closing.RESOLVED

    return compare(f"place:{case.place}", found, open_now, fate)


def reminders() -> dict[str, float]:
    """The rules whose findings are said again until somebody acknowledges them, and after how many seconds."""
    return {name: rule.reminds for name, rule in _by_name().items() if rule.reminds is not None}


def compare(
    subject: str,
    found: Iterable[Finding],
    open_now: Mapping[Identity, Finding],
    fate: Fate = lambda finding: Closing.RESOLVED,
) -> Judgement:
    """Findings of `subject` that are new, reworded, or no longer found: `fate` decides on those. A lasting one
    stays."""
    new = {identity(finding): finding for finding in found}
    old = {key: finding for key, finding in open_now.items() if key[0] == subject}
    still = [(finding, old[key]) for key, finding in new.items() if key in old and finding != old[key]]
    gone = [(finding, fate(finding)) for key, finding in old.items() if key not in new and not finding.lasting]
    return Judgement(
        opened=tuple(finding for key, finding in new.items() if key not in old),
        escalated=tuple(
            (replace(now, opened=before.opened), before.level) for now, before in still if _worse(now, before)
        ),
        reworded=tuple(now for now, before in still if not _worse(now, before)),
        resolved=tuple(finding for finding, how in gone if how is Closing.RESOLVED),
        closed=tuple((finding, how) for finding, how in gone if how > Closing.RESOLVED),
    )


def _worse(now: Finding, before: Finding) -> bool:
    return RANK[now.level] > RANK[before.level]


@cache
def _judges_of(state: type) -> tuple[tuple[str | None, tuple[Judge, ...]], ...]:
    """The rules about jobs in such a state, by the part of the case without which they have nothing to say: ten
    thousand jobs are judged at every poll, and most cases have few parts."""
    about = [(r.needs, r.judge) for r in _by_name().values() if r.judge and (r.states is None or state in r.states)]
    needs = dict.fromkeys(need for need, _ in about)
    return tuple((need, tuple(judge for needed, judge in about if needed == need)) for need in needs)


@cache
def _judges(verb: str) -> tuple[Judge, ...]:
    return tuple(judge for rule in _by_name().values() if (judge := getattr(rule, verb)) is not None)


@cache
def _by_name() -> Mapping[str, Rule]:
    return rules.known()
