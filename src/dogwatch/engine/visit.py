"""Visit: one job in one round, from its files to its update; and what is held of it between rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dogwatch.engine import attempts, describe, launching, no_estimate
from dogwatch.engine.closer import made_by, saved_at, take_in
from dogwatch.engine.concluding import concluded, with_proofs
from dogwatch.engine.counting import Counts, count
from dogwatch.engine.error_groups import count_errors, error_groups
from dogwatch.engine.fresh import Fresh, hear, unsure
from dogwatch.engine.gaps import gap_event
from dogwatch.engine.gpu_witness import hear_gpus
from dogwatch.engine.gpus import take_gpus
from dogwatch.engine.look import Glance, with_logs
from dogwatch.engine.memory import Memory
from dogwatch.engine.outlook import counted_at, good_for, outlook, recall, remember
from dogwatch.engine.ram import held_by
from dogwatch.engine.reading import (
    OTHER_CLOCKS,
    OTHERS,
    Beginning,
    News,
    Readers,
    is_quiet,
    pass_quietly,
    pass_time,
    read_files,
    read_logs,
)
from dogwatch.engine.room import Rooms, gone_in
from dogwatch.engine.said import begins, checkpoint_event, is_new_attempt, moved
from dogwatch.engine.spent import Sample, add_up, measured, sampled
from dogwatch.engine.standing import judged, stays, stood, take_usage
from dogwatch.engine.steady import SAVE_EVERY, is_at_rest, is_idle, is_steady, is_told, must_save
from dogwatch.engine.tempo import behind, compared, due, note_at_work, slow_since
from dogwatch.engine.verify import NOT_ENDED, final
from dogwatch.engine.weighing import FACT, with_trees
from dogwatch.engine.worker_ends import with_ends
from dogwatch.estimate.series import rates
from dogwatch.estimate.trend import EVERY
from dogwatch.model import (
    Change,
    Ended,
    Eta,
    Gpu,
    GpuPast,
    Job,
    Known,
    Loss,
    Progress,
    Running,
    Sighting,
    Straggler,
    Verdict,
    Worker,
)
from dogwatch.model.outcome import GOOD
from dogwatch.rules.interface import Case, Disk, Held
from dogwatch.store.tick import Event, JobUpdate, Proved
from dogwatch.text import is_suspended

_NO_NEWS = News()
MILESTONES = (25, 50, 75, 100)
# A job of which nothing new is said has only its patience clocks to lose; not all are saved in the same round.
SAVE_STEADY = 600.0


@dataclass(slots=True)
class Watched:
    """One job between ticks: what it is, what is known of it, and what watching it has taught."""

    job: Job
    known: Known
    memory: Memory
    readers: Readers
    started: float | None = None
    remaining: float | None = None
    saved: float = float("-inf")
    described: float = float("-inf")  # when the store was last told all of it, if nothing has happened since
    heard: float = float("-inf")
    eta: Eta | None = None
    eta_at: float = float("-inf")
    counts: Counts | None = None
    progress: Progress | None = None
    told: Mapping[str, Any] | None = None
    disks: Mapping[str, Disk] = field(default_factory=dict)
    workers: tuple[Worker, ...] = ()
    verdict: Verdict | None = None
    slow: tuple[float, str] | None = None
    straggler: Straggler | None = None
    slow_at: float = float("-inf")
    gone_in: Mapping[tuple[str, str], float] = field(default_factory=dict)
    room_at: float = float("-inf")
    gpus: tuple[Gpu, ...] = ()
    kept: float = float("-inf")
    gpu_past: GpuPast | None = None
    loss: Loss | None = None
    fresh: Fresh = field(default_factory=Fresh)
    case: Case | None = None  # as the rules saw it in the round before, if nothing but time has passed since


class Visit:
    """One job in one round, from its files to its update. It works on the job's memory in place: a
    round that cannot be committed is thrown away together with every memory it touched."""

    launched: Sequence[Event] = ()
    stands = False  # whether its counters are where they were, as far as anybody can see
    rests = False  # whether it is as it was described, but for the numbers of its processes
    concluded = False  # whether this look decided its final outcome
    idle = False  # whether it rests, and not even a look at its parts is due
    described = float("-inf")

    def __init__(
        self,
        one: Watched,
        after: Known,
        sighting: Sighting | None,
        change: Change | None,
        glance: Glance,
        rooms: Rooms,
        at: float,
        mono: float,
        watched: float,
    ) -> None:
        self.one, self.after, self.sighting, self.change = one, after, sighting, change
        self.anew = change is not None and is_new_attempt(change)
        self.suspended = isinstance(after.state, Running) and is_suspended(after.native)
        # The clocks of a job stand while somebody has suspended it.
        self.glance, self.at, self.mono, self.watched_for = glance, at, mono, 0.0 if self.suspended else watched
        self.job = one.job
        if sighting is not None and sighting.track is not None:
            self.job = replace(one.job, track=sighting.track, name=describe.name_of(one.job, sighting.track))
        self.memory = one.memory
        self.progress: Progress | None = None
        self.final = NOT_ENDED
        self.diagnosis: Mapping[str, Any] | None = None
        self.eta: Eta | None = None
        self.sample: Sample | None = None
        self.steady = False
        if sighting is not None and change is None:
            self.idle = is_idle(one, after, sighting, glance, mono, watched)
            self.steady = self.idle or is_steady(one.job, one.known, after, sighting, one.memory, one.told, glance)
        if self.steady:
            self._stay(rooms)
        if self.steady:
            return
        self.news = News()
        self.facts = self._facts()
        self.job = with_logs(self.job, self.memory)
        self.workers = with_trees(sighting.workers, self.memory, mono) if sighting is not None else ()
        state = after.state
        first = one.started
        if not self.workers:
            first = state.since if isinstance(state, Running) else self.facts.get("started_at") or first
        if first is None and self.job.source == "process":
            first = self.job.submitted  # its workers' beginning; they may have ended since
        self.started = min((w.started for w in self.workers if w.started is not None), default=first)
        self.disks = rooms.of(self.job)
        learnt = change is not None or (sighting is not None and sighting.track is not None)
        self.save = learnt or mono - one.saved >= SAVE_EVERY

    def _stay(self, rooms: Rooms) -> None:
        """What a job has that is as it was; not so if its disks are not."""
        one = self.one
        self.disks = rooms.of(self.job)
        self.steady = self.idle or rooms.same(one.disks, self.disks)  # one that is idle is described soon anyway
        self.news, self.facts, self.workers, self.started = _NO_NEWS, one.memory.facts, (), one.started
        self.save = not self.idle and self.mono - one.saved >= SAVE_STEADY * (1 + hash(self.job.ref) % 16 / 16)

    def read(self) -> None:
        """Take in the files, run the patience clocks, and work out the progress."""
        ref, watched = self.job.ref, self.watched_for
        if self.steady:
            pass_quietly(self.memory, watched)
            return self._idle() if self.idle else self._judge_steady()
        if self.change is not None and self.anew:
            self.one.readers.begin_attempt()
            attempts.end(self.memory, self.change)
        if self.change is not None and begins(self.change):
            self.memory.begin(self.at)
        if self.change is not None and attempts.are_due(self.memory, self.change):
            # What came between its queueing and this was said by whoever wrote there before it.
            self.one.readers.begin_attempt()
            attempts.begin(self.memory, self.after.attempts, self.started, self.at)
        for answer in self.glance.logs.get(ref, ()):
            read_logs(self.memory, self.one.readers, answer, self.news, self._beginning())
        count_errors(self.memory, self.news.troubles, self.at)
        if ref in self.glance.files:
            read_files(self.memory, self.glance.files[ref], self.mono, self.news)
        if not is_quiet(self.news):
            self.one.heard = self.mono
        elif self.change is None and self.job.track is self.one.job.track:
            self.save = must_save(self.one, self.mono)
        before = self.memory.points[-1].done if self.memory.points else None
        self.progress = self._progress()
        moved = bool(self.memory.points) and self.memory.points[-1].done != before
        # A filesystem that did not answer leaves the patience clocks standing: that silence is ours.
        pass_time(self.memory, 0.0 if ref in self.glance.late else watched, self.news, self.job, moved, self.at)
        running = isinstance(self.after.state, Running)
        take_in(self.memory, self.glance, ref, watched=watched, step=before, running=running, new_attempt=self.anew)
        if ref in self.glance.usage_asked:
            take_usage(self.memory, self.glance.usage.get(ref), self.mono)
        take_gpus(self.one, self.job, self.workers, self.glance.gpus, self.started, self.mono, self.at)
        read = self.one.gpus if self.glance.gpus is not None else ()
        self.sample = sampled(self.glance.learnt.get(ref, {}).get("gpu"), read)
        add_up(self.memory.spent, self.memory.age, self.mono, self.workers, self.sample)
        self._rest()
        self.eta = self._eta()
        hear(self.one, self.news, self.progress, self.workers, self.mono)
        self._judge()
        self.workers = with_ends(self.workers, self.one, self.job, self.progress, news=self.news.log_grew)
        if isinstance(self.after.state, Ended):
            self._end()
        if launching.is_open(self.memory):
            self.launched = self._launching()

    def _idle(self) -> None:
        """Of an idle job, what moves with every look: what its processes hold, how long its counter has stood, and how
        old what was read of its GPUs is. Its verdict, tempo and launch are not due."""
        one, memory, sighting = self.one, self.memory, self.sighting
        self.workers = with_trees(sighting.workers if sighting is not None else (), memory, self.mono)
        self.workers = with_ends(self.workers, one, self.job, one.progress, news=False)
        add_up(memory.spent, memory.age, self.mono, self.workers, None)
        take_gpus(one, self.job, self.workers, None, self.started, self.mono, self.at)
        if one.counts is not None and one.counts.whole is not None:
            one.counts.until = self.mono
            remember(memory, self.mono, one.counts.whole)
        self.rests, self.stands, self.progress = True, True, one.progress
        self.eta = self._eta()

    def _beginning(self) -> Beginning | None:
        """When the attempt began, if anybody knows."""
        if self.started is None:
            return None
        writes_from = self.started - (OTHERS if self.workers else OTHER_CLOCKS)
        alone = self.job.source == "slurm" or "run" in self.job.track
        return Beginning(self.started, writes_from, self.anew, self.job.id if alone else "")

    def _end(self) -> None:
        """The final checks of a job that has ended, its final outcome, and why it failed if it did."""
        self.facts = self.memory.facts = describe.with_limit(self.memory.facts, self.progress)
        listed = self.glance.files.get(self.job.ref)
        crew = self.workers or self.one.workers
        self.final = final(self.job, self.memory, self.progress, listed, self.after, self.sighting, crew, self.started)
        slurm_id = self.job.id if self.job.source == "slurm" else ""
        fell = self.one.readers.hearing.diagnosis(self.final.known, self.disks, self.one.gpus, slurm_id)
        undecided = self.final.known.final is None
        self.after = concluded(
            self.job, self.memory, self.progress, self.news, self.final.known, self.final.checks, fell
        )
        self.concluded = undecided and self.after.final is not None
        if self.after.final is not None and self.after.final not in GOOD:
            self.diagnosis = describe.with_advice(attempts.with_doubt(self.memory, fell), self.facts)
        self.after = with_proofs(self.after, self.final, self.news, self.at, new=self.change is not None)

    def _launching(self) -> list[Event]:
        """What this look shows of the beginning of the attempt."""
        one, memory = self.one, self.memory
        seen = (self.workers, self.glance, self.started, self.progress, one.gpus, one.gpu_past)
        age = self.mono - memory.points[0].at if len(memory.points) > 1 else None
        signs = launching.signs_of(self.job, memory, *seen, age)
        why = one.readers.hearing.of_worker
        return launching.advance(memory, self.job, self.after, signs, self.started, self.at, why)

    def _rest(self) -> None:
        """See whether it is at rest: silent for a while, and told of not long ago."""
        one, same = self.one, self.job.track is self.one.job.track and self.change is None
        if same and is_quiet(self.news) and is_told(one, self.mono):
            self.rests = is_at_rest(one, self.after, self.workers, self.glance)
        if self.rests:
            self.described = one.described

    def _judge(self) -> None:
        """Is it stuck? A job that does not run is not asked."""
        if not isinstance(self.after.state, Running) or self.suspended:
            self.one.verdict = self.memory.verdict = None
            return
        late, before = self.job.ref in self.glance.late, self.one.verdict
        if not late:
            self._judge_tempo()
        if self.rests and self.one.slow is None and self._stays():
            return
        self.one.verdict = judged(
            self.job,
            self.memory,
            self.workers,
            self.news,
            self.progress,
            self.one.verdict,
            self.at,
            late=f"its files did not answer: {self.glance.why_late}" if late else "",
            slow=self.one.slow,
            gpu=hear_gpus(self.memory, self.one.gpus, self.mono),
        )
        if before is None or before.word is not self.one.verdict.word:
            self.save, self.rests = True, False

    def _stays(self) -> bool:
        """Whether the verdict has the word that it had, since nothing is new but the time."""
        ref, glance = self.job.ref, self.glance
        return ref not in glance.usage_asked and ref not in glance.late and stays(self.memory, self.one.verdict)

    def _judge_tempo(self) -> None:
        """Is it slow, or one of its workers? What was found stands until the next time it is asked."""
        one = self.one
        counted = one.counts.by_worker if one.counts is not None else {}
        if not counted and self.progress is None:
            one.slow = one.straggler = None
        elif due(self.memory, one.slow_at, self.mono):
            one.slow_at = self.mono
            note_at_work(self.memory, counted, self.workers, self.mono)
            one.slow = slow_since(self.memory, self.mono, self.at)
            one.straggler = behind(self.job, self.memory, counted, self.workers, self.mono, self.at)
            one.fresh.compared = compared(self.memory, counted, self.workers)

    def _judge_steady(self) -> None:
        """The same of a job that says nothing new; it stays steady unless the verdict has another word now."""
        before = self.one.verdict
        if isinstance(self.after.state, Running) and not self._stays():
            self._judge()
            word = self.one.verdict.word if self.one.verdict is not None else None
            if word is not (before.word if before is not None else None):
                self.steady, self.save = False, True

    def _facts(self) -> Mapping[str, Any]:
        """What else the place said; a look that said nothing of it keeps what an earlier one did."""
        told = self.sighting.facts if self.sighting is not None else {}
        learnt = self.glance.learnt.get(self.job.ref, {})
        if told or learnt:
            self.memory.facts = {**self.memory.facts, **told, **learnt}
        return self.memory.facts

    def _progress(self) -> Progress | None:
        before, anew = self.one.counts, self.change is not None
        tasks = self.facts.get("tasks")
        counts = self.one.counts = count(self.memory, self.news, self.job, self.mono, before, anew=anew, tasks=tasks)
        self.stands = counts is before
        whole = counts.whole
        if whole is None:
            return None
        mono = counted_at(self.memory, self.after.state, self.at - self.glance.skew, self.mono)
        if self.news.steps or not self.memory.points or (tasks and whole.done != self.memory.points[-1].done):
            recall(self.memory, self.news.told, self.news.ages(self.at), whole, self.mono)
            remember(self.memory, mono, whole)
        rate, average = rates(self.memory.points, mono)
        return Progress(whole.done, whole.total, whole.unit, rate, average, self.at)

    def case(self) -> Case:
        """As the rules see it; of a job that stays what it was, the case of the round before with what time moves."""
        memory = self.memory
        if not self.steady or memory.checkpoints or memory.produced.told:
            return self._new_case()
        case = self.one.case
        if case is None:
            case = self.one.case = self._new_case()
            return case
        case.known, case.age, case.disks = self.after, memory.age, self.disks
        case.verdict, case.straggler, case.gone_in = self.one.verdict, self.one.straggler, self._gone_in()
        case.held = self._held() if self.workers or memory.ram else None
        case.unsure, case.compared = unsure(self.one), self.one.fresh.compared
        case.stood = stood(self.job, memory)
        case.workers, case.eta, case.gpus, case.gpu_past = self.workers, self.eta, self.one.gpus, self.one.gpu_past
        return case

    def _new_case(self) -> Case:
        memory = self.memory
        return Case(
            job=self.job,
            known=self.after,
            workers=self.workers,
            age=memory.age,
            progress=self.progress,
            verdict=self.one.verdict,
            straggler=self.one.straggler,
            disks=self.disks,
            errors=error_groups(memory),
            verified=self.final.verified,
            eta=self.eta,
            facts=self.facts,
            diagnosis=self.diagnosis,
            checkpoints=saved_at(memory, self.glance) if memory.checkpoints else (),
            gone_in=self._gone_in(),
            gpus=self.one.gpus,
            gpu_past=self.one.gpu_past,
            made=made_by(memory, self.progress, self.after.state) if memory.produced.told else None,
            held=self._held() if self.workers or memory.ram or self.glance.learnt else None,
            loss=self.one.loss,
            launch=memory.launch,
            compared=self.one.fresh.compared,
            unsure=unsure(self.one),
            stood=stood(self.job, memory),
        )

    def _held(self) -> Held | None:
        return held_by(self.memory, self.workers, self.glance.learnt.get(self.job.ref, {}).get(FACT), self.mono)

    def _gone_in(self) -> Mapping[tuple[str, str], float]:
        """When the room will be gone; a trend is as good as its newest sample, and those are few."""
        one = self.one
        if not 0 <= self.mono - one.room_at < EVERY:
            one.gone_in, one.room_at = gone_in(self.memory, self.disks, self.mono), self.mono
        return one.gone_in

    def measured(self) -> dict[str, float]:
        """Its numbers, as its history keeps them."""
        lately = self.sample or sampled(None, self.one.gpus)
        return measured(self.progress, self.workers, lately, self.memory.outputs, self.memory.losses)

    def _eta(self) -> Eta | None:
        """The estimate; one that is still good, less the time that has passed since."""
        if self.progress is None or self.progress.is_too_much or not isinstance(self.after.state, Running):
            return None
        one, passed = self.one, self.mono - self.one.eta_at
        if not self.rests and not 0 <= passed < good_for(one.eta, stands=self.stands):
            one.eta, one.eta_at = outlook(self.memory, self.progress, self.mono, self.job.track), self.mono
        if one.eta is None or one.eta_at == self.mono:
            return one.eta
        left, low, high = (max(0.0, each - passed) for each in (one.eta.remaining, one.eta.low, one.eta.high))
        return Eta(left, low, high, one.eta.confidence)

    def _no_eta(self) -> str:
        """Why no estimate is shown. The rules still see it: what a job would need if it went on is the least."""
        if not isinstance(self.after.state, Running):
            return ""
        one, native = self.one, self.after.native
        found = (self.workers, self.progress, self.eta, one.verdict, one.straggler)
        why = no_estimate.reason(self.memory, self.job.track, native, *found, self.mono)
        return why or ("no progress" if stood(self.job, self.memory) else "")

    def update(self) -> JobUpdate | Proved:
        if self.steady:
            memory = self.memory.to_json() if self.save else None
            return Proved(self.job.ref, self.at, self.after.proof, memory)
        self.one.remaining = self.eta.remaining if self.eta is not None else None
        if self.rests and not self.save:
            return Proved(self.job.ref, self.at, self.after.proof)
        self.described = self.mono
        no_eta = self._no_eta()
        workers = [describe.worker_document(worker, self.memory, self.at, self.mono) for worker in self.workers]
        if self.save:
            self.one.readers.keep(self.memory)
        return JobUpdate(
            ref=self.job.ref,
            known=self.after,
            started=self.started,
            progress=describe.progress_document(self.progress),
            eta=describe.eta_document(None if no_eta else self.eta, self.at),
            diagnosis=self.diagnosis,
            detail=describe.detail_document(
                self.memory,
                workers,
                self.disks,
                self.final,
                self.facts,
                self.one.verdict,
                self.at,
                self.one.gone_in,
                self.glance.skew,
                no_eta,
                self.after,
            ),
            memory=self.memory.to_json() if self.save else None,
            track=None if self.sighting is None else self.sighting.track,
            name=self.job.name if self.job.name != self.one.job.name else None,
        )

    def events(self) -> list[Event]:
        if self.steady:
            return []
        ref = self.job.ref
        said = [*self.launched]
        said += moved(self.memory, self.job.ref, self.change, self.after, self.diagnosis)
        if self.news.new_checkpoints:
            said.append(checkpoint_event(ref, self.news.new_checkpoints))
        if self.news.gaps:
            said.append(gap_event(ref, self.news.gaps))
        fraction = self.progress.fraction if self.progress else None
        reached = max((m for m in MILESTONES if fraction is not None and 100 * fraction >= m), default=0)
        if reached > self.memory.milestone:
            self.memory.milestone = reached
            said.append(Event("progress.milestone", f"{reached} % done", ref=ref, body={"percent": reached}))
        return said

    def watched(self) -> Watched:
        """The job as the next round finds it, changed in place like its memory."""
        one = self.one
        one.known, one.saved = self.after, self.mono if self.save else one.saved
        if not self.steady:
            one.job, one.started, one.progress = self.job, self.started, self.progress
            one.disks, one.workers, one.case, one.described = self.disks, self.workers, None, self.described
            one.told = one.told if self.sighting is None else self.sighting.facts
        return one
