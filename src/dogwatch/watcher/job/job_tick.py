"""One job in one tick: what came in, and what each step of its update has worked out so far. Values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dogwatch.model import Change, Eta, Facts, Job, Known, Observation, Progress, Worker
from dogwatch.rules.interface import Disk
from dogwatch.store.rows.tick import Event
from dogwatch.watcher.job.final_checks import NOT_ENDED, Final
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.probe_answer import ProbeAnswer
from dogwatch.watcher.job.read_files import News
from dogwatch.watcher.job.resources import Sample
from dogwatch.watcher.job.watched import WatchedJob

if TYPE_CHECKING:
    from dogwatch.wire.documents.diagnosis import DiagnosisDocument

NO_NEWS = News()  # shared by all jobs of which nothing is new


@dataclass(slots=True)
class JobTick:
    """The update of one job works on what is kept of it in place: a tick that cannot be committed is thrown away
    together with all that it touched."""

    watched: WatchedJob
    after: Known
    observation: Observation | None
    change: Change | None
    probe_answer: ProbeAnswer
    at: float
    mono: float
    watched_for: float  # seconds since the poll before; none while somebody has suspended the job
    job: Job
    memory: Memory
    before: Facts | None = None  # what its place said of it up to now, where this poll says something new
    anew: bool = False  # whether another attempt has begun
    new_part: bool = False  # whether it is at another part of its work now
    suspended: bool = False
    steady: bool = False  # whether this poll says nothing that is not described already
    idle: bool = False  # whether it rests, and not even a look at its parts is due
    rests: bool = False  # whether it is as it was described, but for the numbers of its processes
    stands: bool = False  # whether its counters are where they were, as far as anybody can see
    save: bool = False
    news: News = field(default_factory=lambda: NO_NEWS)
    workers: tuple[Worker, ...] = ()
    started: float | None = None
    disks: Mapping[str, Disk] = field(default_factory=dict)
    progress: Progress | None = None
    eta: Eta | None = None
    sample: Sample | None = None
    final: Final = NOT_ENDED
    concluded: bool = False  # whether this poll decided its final outcome
    diagnosis: DiagnosisDocument | None = None
    launched: Sequence[Event] = ()
    described: float = float("-inf")
