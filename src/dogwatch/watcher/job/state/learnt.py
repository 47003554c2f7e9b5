"""What is asked about a job beside the poll itself, and is known until it is asked again."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from dogwatch.model import RareFacts
from dogwatch.watcher.job.state.ending import FinalIntegrity
from dogwatch.watcher.job.state.ram import Weighed
from dogwatch.wire.documents.job import ScoreDocument


@dataclass(frozen=True, slots=True)
class Learnt(RareFacts):
    """None is what was not asked, or got no answer. `moved` says which of its folders lead
    elsewhere now; `integrity` is whether its files are whole, `memory` what it holds of the memory."""

    moved: list[str] | None = None
    scores: list[ScoreDocument] | None = None
    integrity: FinalIntegrity | None = None
    memory: Weighed | None = None

    def with_news(self, news: RareFacts) -> Learnt:
        """The same, with what was learnt since."""
        told = {each.name: value for each in fields(news) if (value := getattr(news, each.name)) is not None}
        return replace(self, **told) if told else self


NOTHING = Learnt()
