"""What is true of every run on a machine that it has to itself."""

from __future__ import annotations

from dogwatch.model import Facts, Job
from dogwatch.sources.box.track import tracks
from dogwatch.sources.interface import Kind


class BoxKind(Kind):
    """A machine without a scheduler: whatever runs there, and every GPU, is the run's."""

    title = "run"
    has_the_machine = True
    id_example = "the name of a run"

    def runs_on(self, facts: Facts, host: str) -> bool:
        return True

    def has_log_of_its_own(self, job: Job) -> bool:
        return tracks.of(job).chain is not None


KIND = BoxKind("box")
