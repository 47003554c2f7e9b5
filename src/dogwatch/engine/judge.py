"""Judge: what the rules conclude now, against what they concluded before."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TypeAlias

import dogwatch.rules
from dogwatch.model import Finding
from dogwatch.rules.interface import BlindCase, Case, PlaceCase

Identity: TypeAlias = tuple[str, str, str]
Rule: TypeAlias = Callable[..., Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What opens, what is still open (perhaps in other words), and what resolves."""

    opened: tuple[Finding, ...] = ()
    reworded: tuple[Finding, ...] = ()
    resolved: tuple[Finding, ...] = ()


NOTHING = Judgement()


def identity(finding: Finding) -> Identity:
    return finding.subject, finding.rule, finding.what


def by_subject(open_now: Mapping[Identity, Finding]) -> dict[str, dict[Identity, Finding]]:
    """The open findings of each subject, so that ten thousand jobs do not each look through all of them."""
    grouped: dict[str, dict[Identity, Finding]] = {}
    for key, finding in open_now.items():
        grouped.setdefault(key[0], {})[key] = finding
    return grouped


def judge_job(case: Case, open_now: Mapping[Identity, Finding], now: float) -> Judgement:
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
    return compare(case.job.ref, found, open_now)


def judge_blind(case: BlindCase, open_now: Mapping[Identity, Finding], now: float) -> Judgement:
    """What was found of a job before it could not be seen stays: only what is new is said."""
    found = [finding for rule in _rules("judge_blind") for finding in rule(case, now)]
    judgement = compare(case.job.ref, found, open_now)
    return Judgement(opened=judgement.opened, reworded=judgement.reworded)


def judge_place(case: PlaceCase, open_now: Mapping[Identity, Finding], now: float) -> Judgement:
    found = [finding for rule in _rules("judge_place") for finding in rule(case, now)]
    return compare(f"place:{case.place}", found, open_now)


def compare(subject: str, found: Iterable[Finding], open_now: Mapping[Identity, Finding]) -> Judgement:
    """Findings of `subject` that are new, reworded, or no longer found. A lasting one stays."""
    new = {identity(finding): finding for finding in found}
    old = {key: finding for key, finding in open_now.items() if key[0] == subject}
    return Judgement(
        opened=tuple(finding for key, finding in new.items() if key not in old),
        reworded=tuple(finding for key, finding in new.items() if key in old and finding != old[key]),
        resolved=tuple(finding for key, finding in old.items() if key not in new and not finding.lasting),
    )


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


def _modules() -> Iterable[ModuleType]:
    for found in pkgutil.iter_modules(dogwatch.rules.__path__):
        if found.name != "interface":
            yield importlib.import_module(f"dogwatch.rules.{found.name}")
