"""A rule of another package: what it raises costs its own findings only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeAlias, TypeVar

from dogwatch.model import Closing, Finding
from dogwatch.plugins import FAILURES
from dogwatch.rules.interface import Case, Rule

C = TypeVar("C")
Judge: TypeAlias = Callable[[C, float], Iterable[Finding]]


def guarded(rule: Rule, package: str) -> Rule:
    """The rule as it is used. While it fails, it finds nothing new, and what it had found stays open."""
    guard = _Guard(rule, f"the rule {rule.name} of {package}")
    return replace(
        rule,
        judge=rule.judge and guard.judge(rule.judge),
        judge_blind=rule.judge_blind and guard.judge(rule.judge_blind),
        judge_place=rule.judge_place and guard.judge(rule.judge_place),
        gone=guard.gone,
    )


class _Guard:
    """Remembers whether the rule failed when it last judged."""

    def __init__(self, rule: Rule, title: str) -> None:
        self._rule, self._title, self._failed = rule, title, False

    def judge(self, judge: Judge[C]) -> Judge[C]:
        def run(case: C, now: float) -> list[Finding]:
            try:
                findings = [self._checked(finding) for finding in judge(case, now)]
            except Exception as error:  # noqa: BLE001 - another package's code may fail in any way
                FAILURES.add(self._title, error)
                self._failed = True
                return []
            self._failed = False
            return findings

        return run

    def gone(self, case: Case, what: str) -> Closing:
        if self._failed:
            return Closing.OPEN
        try:
            return Closing(self._rule.is_gone(case, what))
        except Exception as error:  # noqa: BLE001 - another package's code may fail in any way
            FAILURES.add(self._title, error)
            return Closing.OPEN

    def _checked(self, finding: object) -> Finding:
        if not isinstance(finding, Finding) or finding.rule != self._rule.name:
            raise TypeError("it returned something that is not its own finding")
        return finding
