"""What a source must offer, and what its plug-in says of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from dogwatch.model import Facts, Job, Known, Observation, RareFacts

if TYPE_CHECKING:
    from dogwatch.wire.box import BoxSection
    from dogwatch.wire.commands import CommandsSection
    from dogwatch.wire.programs import GpuHolder
    from dogwatch.wire.questions import Questions
    from dogwatch.wire.sections import GpuMetrics, ProcessSection

    Section: TypeAlias = ProcessSection | CommandsSection | BoxSection


class RareAnswers(NamedTuple):
    """The answers to what is asked once or seldom; a section that did not come is empty."""

    commands: CommandsSection
    gpu_metrics: Mapping[str, GpuMetrics | None]


@dataclass(frozen=True, slots=True)
class RarelyAsked:
    """The jobs of a source about which more is asked once or seldom: by ref, their states (`known`), what the last poll
    said of them (`facts`) and what was learnt this way before (`rare`). `turn` counts the polls."""

    jobs: Sequence[Job]
    known: Mapping[str, Known] = field(default_factory=dict)
    facts: Mapping[str, Facts] = field(default_factory=dict)
    rare: Mapping[str, RareFacts] = field(default_factory=dict)
    turn: int = 0


class Source(Protocol):
    """A kind of thing that jobs live in. `section` names its part of the probe's request and answer. Sources may share
    one: what is asked stands there by ref, and a source reads the rows of its own jobs only."""

    kind: str
    section: str

    def ask(self, jobs: Sequence[Job], known: Mapping[str, Known], at: float) -> Questions:
        """This source's part of the request: one question for all `jobs` of a place."""
        ...

    def read(
        self, answer: Section, jobs: Sequence[Job], known: Mapping[str, Known], at: float
    ) -> tuple[frozenset[str], dict[str, Observation]]:
        """The refs that this answer can speak for, and what it says of those it listed.

        A ref in the first and not in the second was really not there; one in neither keeps what was known.
        """
        ...

    def also_ask(self, about: RarelyAsked) -> Questions:
        """What else to ask in this poll; a source that asks nothing rarely leaves this as it is."""
        from dogwatch.wire.questions import Questions

        return Questions()

    def also_read(self, answers: RareAnswers, about: RarelyAsked) -> Mapping[str, RareFacts]:
        """What the answers to that say that is new, by ref."""
        return {}

    def trouble(self, answer: Section, jobs: Sequence[Job]) -> str | None:
        """Why this answer says nothing about any job, in one sentence: then the place is unreachable. None when it
        does."""
        ...

    def blind(self, answer: Section, jobs: Sequence[Job]) -> Mapping[str, str]:
        """The jobs that this answer cannot speak for, each with the reason in words."""
        ...


class PlainSource(Protocol):
    """A source of another package: as `Source`, in plain JSON values, which are checked where they come in."""

    kind: str
    section: str

    def ask(self, jobs: Sequence[Job], known: Mapping[str, Known], at: float) -> Mapping[str, Any]: ...

    def read(
        self, answer: Mapping[str, Any], jobs: Sequence[Job], known: Mapping[str, Known], at: float
    ) -> tuple[frozenset[str], dict[str, Observation]]: ...

    def also_ask(
        self, jobs: Sequence[Job], known: Mapping[str, Known], facts: Mapping[str, Mapping[str, Any]], turn: int
    ) -> Mapping[str, Any]: ...

    def also_read(
        self, body: Mapping[str, Any], jobs: Sequence[Job], facts: Mapping[str, Mapping[str, Any]]
    ) -> Mapping[str, Mapping[str, Any]]: ...

    def trouble(self, answer: Mapping[str, Any], jobs: Sequence[Job]) -> str | None: ...

    def blind(self, answer: Mapping[str, Any], jobs: Sequence[Job]) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class SourcePlugin:
    """A source by its name, which is the kind of its jobs. `config` is a dataclass of what `dogwatch add NAME ID --set
    KEY=VALUE` says of a job: its `track`. Without one, a verb of its own registers its jobs."""

    name: str
    help: str
    build: Callable[[], Any]  # a Source; of another package a PlainSource
    config: type | None = None


class JobId(NamedTuple):
    """A job by the id under which it is watched (an array and its tasks are one), and the cluster that was named with
    it, if one was."""

    id: str
    cluster: str | None = None


class QueuedJob(NamedTuple):
    """A job that a scheduler lists and that has not ended."""

    id: str
    name: str
    user: str
    submit: float | None
    native: str


class FoundJob(NamedTuple):
    """A job that a scheduler knows. `queued` is false for one that only its accounting knows: where its log is, is not
    said there."""

    name: str
    user: str
    submit: float | None
    native: str
    nodes: str
    workdir: str
    queued: bool


class Lookup(NamedTuple):
    """The jobs that were found, the ids that are not known, and why it is not known of the rest (`unsure`)."""

    found: Mapping[str, FoundJob]
    unknown: Sequence[str]
    unsure: str = ""
    cluster: str | None = None


class Installation(NamedTuple):
    """A scheduler that is installed on a host: version and cluster, or why it does not say."""

    name: str
    version: str | None
    cluster: str | None
    why: str | None


class Kind:
    """What is true of all jobs of one source, beyond what a poll says of each: whose a process is, whose a log is, how
    ids are written, what a scheduler is called. A source that says nothing has what stands here."""

    title = ""  # as sentences call it
    heading = "processes"  # as the experiment log calls what was polled
    is_scheduler = False  # whether a scheduler runs its jobs, whose commands take their ids
    has_the_machine = False  # whether a run has its machine to itself, which is paid for as long as it is on
    accounting_lags = False  # whether more is known of a job some time after its end
    memory_section = ""  # its part of the extra probe that measures memory
    id_example = "an id"  # what a registry's id should be

    def __init__(self, name: str) -> None:
        self.name = name

    def runs_on(self, facts: Facts, host: str) -> bool:
        """Whether a job's processes are on the machine that was polled."""
        return False

    def owns_process(self, job_id: str, process: GpuHolder, pids: set[int]) -> bool | None:
        """Whether a process is a worker (one of `pids`), descends from one, or was left in its session; None where
        nobody can say, as where a server (Docker, Ray) started it."""
        related = bool(pids & {process.pid, *process.above, *process.led_by})
        return None if not related and process.served else related

    def has_log_of_its_own(self, job: Job) -> bool:
        """Whether nothing but the job writes to its log."""
        return False

    def command_id(self, job_id: str) -> str:
        """The id that its scheduler's commands take; nothing without a scheduler."""
        return job_id if self.is_scheduler else ""

    def how_to_resume(self, job_id: str) -> str:
        """The command that resumes a suspended job, and who may run it; nothing without a scheduler."""
        return ""

    def how_to_repeat(self, job_id: str) -> str:
        """The command that starts a job that has ended once more, on its place; nothing where there is none."""
        return ""

    def memory_settings(self) -> dict[str, Any]:
        """What the extra probe needs to ask for memory, beside ids."""
        return {}

    def is_exact_memory(self, by: str, about: Mapping[str, str]) -> bool:
        """Whether files that are mapped into memory, and can be given back, are left out of the count."""
        return True

    def registered_id(self, text: str) -> str | None:
        """The id of the job that a registry names by `text`; None if that is no id of this kind."""
        return None


class Scheduler(Kind, ABC):
    """A kind whose jobs have a queue that can be asked: for one's own jobs, for ids, and which scheduler it is. Each
    reading takes the commands section of the answer."""

    is_scheduler = True
    source: Source

    @abstractmethod
    def ids_in_words(self, words: Sequence[str]) -> list[JobId]:
        """The jobs that arguments name, each once."""

    @abstractmethod
    def ids_in_output(self, text: str) -> list[JobId]:
        """The jobs in what its submit command printed, each once."""

    @abstractmethod
    def track(self, user: str | None, submit: float | None, cluster: str | None, log_given: bool) -> dict[str, Any]:
        """What is kept with a job to know it again."""

    @abstractmethod
    def ask_own_jobs(self, at: float) -> Questions:
        """For all jobs of whoever asks."""

    @abstractmethod
    def own_jobs(self, section: CommandsSection) -> list[QueuedJob]: ...

    @abstractmethod
    def ask_for(self, ids: Sequence[str], at: float) -> Questions:
        """For jobs that somebody wants to register."""

    @abstractmethod
    def trouble(self, section: CommandsSection, ids: Sequence[str]) -> str | None:
        """Why the answer says nothing, in one sentence; None when it does."""

    @abstractmethod
    def look_up(self, section: CommandsSection, ids: Sequence[str], user: str | None) -> Lookup:
        """What an answer without trouble says; jobs of other people than `user` do not count."""

    @abstractmethod
    def missing(self, section: CommandsSection) -> str:
        """The command that is not installed on the host; nothing where it is."""

    @abstractmethod
    def ask_about(self) -> Questions:
        """Which scheduler this is."""

    @abstractmethod
    def about(self, section: CommandsSection) -> Installation | None:
        """What it says of itself; None where it is not installed."""
