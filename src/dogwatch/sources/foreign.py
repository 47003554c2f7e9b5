"""A source of another package: what it raises makes it blind to its own jobs, and no other job pays for it. It speaks
plain JSON values, which are checked here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import convert, to_builtins

from dogwatch.model import Facts, Job, Known, Observation, RareFacts
from dogwatch.plugins import FAILURES
from dogwatch.sources.interface import PlainSource, RareAnswers, RarelyAsked, Source, SourcePlugin
from dogwatch.wire.questions import ProcessQuestions, Questions

if TYPE_CHECKING:
    from dogwatch.sources.interface import Section

T = TypeVar("T")


class MissingSource(Source):
    """Stands for a source that is not installed or cannot be loaded: its jobs cannot be seen, and why."""

    section = "process"

    def __init__(self, kind: str, why: str) -> None:
        self.kind, self._why = kind, why

    def ask(self, jobs: Sequence[Job], known: Mapping[str, Known], at: float) -> Questions:
        return Questions(process=ProcessQuestions()) if self.section == "process" else Questions(commands={})

    def read(
        self, answer: Section, jobs: Sequence[Job], known: Mapping[str, Known], at: float
    ) -> tuple[frozenset[str], dict[str, Observation]]:
        return frozenset(), {}

    def trouble(self, answer: Section, jobs: Sequence[Job]) -> str | None:
        return None

    def blind(self, answer: Section, jobs: Sequence[Job]) -> dict[str, str]:
        return {job.ref: self._why for job in jobs}


class ForeignSource(MissingSource):
    """A foreign source as it is used. From where it fails in a poll (`ask` is what a poll begins with) until the next,
    it is not asked again."""

    def __init__(self, plugin: SourcePlugin, title: str) -> None:
        super().__init__(plugin.name, "")
        self._title = title
        self._source: PlainSource | None = None
        try:
            self._source = plugin.build()
            self.section = str(self._source.section)
        except Exception as error:  # noqa: BLE001 - another package's code may fail in any way
            self._why = FAILURES.add(title, error)

    def _safely(self, call: Callable[[PlainSource], T], otherwise: T) -> T:
        if self._source is None or self._why:
            return otherwise
        try:
            return call(self._source)
        except Exception as error:  # noqa: BLE001 - another package's code may fail in any way
            self._why = FAILURES.add(self._title, error)
            return otherwise

    def ask(self, jobs: Sequence[Job], known: Mapping[str, Known], at: float) -> Questions:
        if self._source is not None:
            self._why = ""
        nothing = super().ask(jobs, known, at)
        return self._safely(lambda source: _questions({self.section: source.ask(jobs, known, at)}), nothing)

    def read(
        self, answer: Section, jobs: Sequence[Job], known: Mapping[str, Known], at: float
    ) -> tuple[frozenset[str], dict[str, Observation]]:
        refs = {job.ref for job in jobs}

        def read(source: PlainSource) -> tuple[frozenset[str], dict[str, Observation]]:
            spoken_for, observations = source.read(to_builtins(answer), jobs, known, at)
            if not spoken_for <= refs or not set(observations) <= spoken_for:
                raise ValueError("it reports jobs that are not its own")
            return frozenset(spoken_for), {ref: _checked(seen) for ref, seen in observations.items()}

        nothing: tuple[frozenset[str], dict[str, Observation]] = (frozenset(), {})
        return self._safely(read, nothing)

    def also_ask(self, about: RarelyAsked) -> Questions:
        plain = _as_json(about)
        return self._safely(
            lambda source: _questions(source.also_ask(about.jobs, about.known, plain, about.turn)), Questions()
        )

    def also_read(self, answers: RareAnswers, about: RarelyAsked) -> Mapping[str, RareFacts]:
        refs = {job.ref for job in about.jobs}

        def read(source: PlainSource) -> dict[str, RareFacts]:
            learnt = source.also_read(to_builtins(answers._asdict()), about.jobs, _as_json(about))
            return {ref: convert(news, RareFacts) for ref, news in learnt.items() if ref in refs}

        return self._safely(read, {})

    def trouble(self, answer: Section, jobs: Sequence[Job]) -> str | None:
        return self._safely(lambda source: source.trouble(to_builtins(answer), jobs), None)

    def blind(self, answer: Section, jobs: Sequence[Job]) -> dict[str, str]:
        nothing: dict[str, str] = {}
        unseen = self._safely(lambda source: dict(source.blind(to_builtins(answer), jobs)), nothing)
        return super().blind(answer, jobs) if self._why else unseen


def _questions(sections: Mapping[str, Any]) -> Questions:
    """What is asked, if the probe has such sections and they fit."""
    return convert(sections, type=_StrictQuestions)


class _StrictQuestions(Questions, forbid_unknown_fields=True, omit_defaults=True):
    """Nothing but what the probe can be asked."""


def _as_json(about: RarelyAsked) -> dict[str, dict[str, Any]]:
    """What is known of these jobs."""
    refs = [job.ref for job in about.jobs if job.ref in about.facts]
    return {ref: to_builtins(about.facts[ref]) | to_builtins(about.rare[ref]) for ref in refs}


def _checked(seen: Observation) -> Observation:
    """With its facts as ours; plain values are taken, and fields that nobody knows are left out."""
    facts = seen.facts
    return replace(seen, facts=convert(facts, Facts)) if facts is not None and type(facts) is not Facts else seen
