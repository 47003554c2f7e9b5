"""Judge: what the rules conclude now, against what they concluded before.

A finding resolves only when its rule has looked at fresh evidence and found it gone, with the job still going on. What
could not be judged this time stays open, and what ended with its job or attempt is closed as that.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import TypeAlias

import dogwatch.rules
from dogwatch.model import Closing, Ended, Finding, Level
from dogwatch.model.message import RANK
from dogwatch.rules.interface import BlindCase, Case, PlaceCase

Identity: TypeAlias = tuple[str, str, str]
Rule: TypeAlias = Callable[..., Iterable[Finding]]


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
    """The open findings of each subject, so that ten thousand jobs do not each look through all of them."""
    grouped: dict[str, dict[Identity, Finding]] = {}
    for key, finding in open_now.items():
        grouped.setdefault(key[0], {})[key] = finding
    return grouped


def judge_job(case: Case, open_now: Mapping[Identity, Finding], now: float, *, new_attempt: bool = False) -> Judgement:
    """Of a job that the look could speak for; `new_attempt` when another one has begun since the last."""
    kind: type = type(case.known.state)
    found = [
        finding
        for need, rules in _rules_of(kind)
        if need is None or getattr(case, need)
        for rule in rules
        for finding in rule(case, now)
    ]
    if not found and not open_now:
        return NOTHING
    if new_attempt:
        return _anew(case, found, open_now)
    return compare(case.job.ref, found, open_now, lambda finding: _fate(case, finding, found))


def _anew(case: Case, found: Iterable[Finding], open_now: Mapping[Identity, Finding]) -> Judgement:
    """What stood of the attempt before ended with it, facts about its past too; what is found again goes on, and what
    is about more than an attempt is judged as ever."""

    def fate(finding: Finding) -> Closing:
        spans = getattr(_by_name().get(finding.rule), "spans_attempts", False)
        return _fate(case, finding, found) if spans else Closing.ENDED_WITH_ATTEMPT

    past = [finding for finding in open_now.values() if finding.lasting]
    goes_on = {key: finding for key, finding in open_now.items() if not finding.lasting}
    judgement = compare(case.job.ref, found, goes_on, fate)
    ended = tuple((finding, Closing.ENDED_WITH_ATTEMPT) for finding in past)
    return replace(judgement, closed=(*judgement.closed, *ended))


def _fate(case: Case, finding: Finding, found: Iterable[Finding]) -> Closing:
    """What becomes of a finding that is not found any more; OPEN when nobody could tell whether it is gone."""
    rule = _by_name().get(finding.rule)
    if rule is not None and not hasattr(rule, "judge"):
        return Closing.RESOLVED  # it was about not seeing the job, which is seen
    if isinstance(case.known.state, Ended) and Ended not in getattr(rule, "gone_in", ()):
        return Closing.ENDED_WITH_JOB
    if rule is None:
        return Closing.RESOLVED
    instead = getattr(rule, "gives_way_to", ())
    if any(other.rule in instead for other in found):
        return Closing.REPLACED
    if finding.rule in case.unsure:
        return Closing.OPEN
    states = getattr(rule, "gone_in", getattr(rule, "states", None))
    if states is not None and not isinstance(case.known.state, states):
        return Closing.OPEN
    if hasattr(rule, "gone"):
        gone: Closing = rule.gone(case, finding.what)
        return gone
    need = getattr(rule, "needs", None)
    return Closing.RESOLVED if need is None or getattr(case, need) else Closing.OPEN


def judge_blind(case: BlindCase, open_now: Mapping[Identity, Finding], now: float) -> Judgement:
    """What was found of a job before it could not be seen stays: only what is new is said."""
    found = [finding for rule in _rules("judge_blind") for finding in rule(case, now)]
    judgement = compare(case.job.ref, found, open_now)
    return replace(judgement, resolved=(), closed=())


def judge_place(case: PlaceCase, open_now: Mapping[Identity, Finding], now: float) -> Judgement:
    found = [finding for rule in _rules("judge_place") for finding in rule(case, now)]
    return compare(f"place:{case.place}", found, open_now)


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
def _rules_of(state: type) -> tuple[tuple[str | None, tuple[Rule, ...]], ...]:
    """The rules about jobs in such a state, by the part of the case without which they have nothing to say: ten
    thousand jobs are judged at every look, and most cases have few parts."""
    modules = [rule for rule in _modules() if state in getattr(rule, "states", (state,)) and hasattr(rule, "judge")]
    needs = dict.fromkeys(getattr(rule, "needs", None) for rule in modules)
    return tuple((need, tuple(m.judge for m in modules if getattr(m, "needs", None) == need)) for need in needs)


@cache
def _rules(verb: str) -> tuple[Rule, ...]:
    return tuple(getattr(rule, verb) for rule in _modules() if hasattr(rule, verb))


@cache
def _by_name() -> Mapping[str, ModuleType]:
    return {module.name: module for module in _modules()}


def _modules() -> Iterable[ModuleType]:
    for found in pkgutil.iter_modules(dogwatch.rules.__path__):
        if found.name != "interface":
            yield importlib.import_module(f"dogwatch.rules.{found.name}")
