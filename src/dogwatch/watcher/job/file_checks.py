"""File checks: from time to time the files that jobs write are checked, and the quotas of their disks read. This is an
extra probe beside a poll, the last one, with limits of its own on seconds and bytes; what it had no time for is asked
again later."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from dogwatch.model import Ended, Progress, Running, State
from dogwatch.results.integrity import BROKEN, INTACT
from dogwatch.rules.interface import Made
from dogwatch.watcher.job.artifacts import Judgement, Produced, ProducedFile
from dogwatch.watcher.job.extra_probes import extra_probe
from dogwatch.watcher.job.final_integrity import judgement
from dogwatch.watcher.job.folders import directories, real_of
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.probe_answer import ProbeAnswer, disk_paths
from dogwatch.watcher.job.stall import living_pids
from dogwatch.watcher.job.state.learnt import NOTHING
from dogwatch.watcher.job.watched import WatchedJob
from dogwatch.wire import programs
from dogwatch.wire.programs import Integrity, Quota, Quotas
from dogwatch.wire.requests import ExtraProbe, Guess, IntegrityCall, JobFilesCall, QuotaCall

# Every so many seconds here and elsewhere, within so many seconds.
HERE, FAR = (60.0, 1.5), (300.0, 6.0)
AGAIN = 15.0  # until it is worth looking again for something to ask, where there was nothing
LONGEST = 3600.0  # between two tries where the last one got no answer
MOST_BYTES = 256 << 20
MOST_JOBS, MOST_FILES, MOST_TEXTS, MOST_CHECKPOINTS = 32, 8, 16, 2
SETTLED = 60.0  # seconds that a file must have stood still; each time it moved on after being judged, twice as long
MOST_TRIES = 6
BEHIND = 512 << 20  # bytes of a text that are not counted yet, beyond which counting is not cheap
TEXTS = (".jsonl", ".ndjson", ".csv", ".tsv")
QUOTA_EVERY = 300.0
MOST_PATHS = 64
CROWD = 64  # running jobs of a place beyond which nobody's directories are searched for checkpoints
GUESS_LONGEST = 3600.0


class FileChecks:
    """What one place is asked closer, and when. It is forgotten with the watcher: all it would lose is time."""

    def __init__(self, here: bool) -> None:
        self._every, self._seconds = HERE if here else FAR
        self._far = not here  # the job may run where its processes cannot be seen
        self._pause, self._asked = self._every, float("-inf")
        self._quota_due = 0.0
        self._quotas: dict[str, list[Quota]] = {}

    def request(self, jobs: Mapping[str, WatchedJob], mono: float) -> dict[str, ExtraProbe]:
        """The extra probes of this poll; mostly none."""
        probes: dict[str, ExtraProbe] = {}
        if mono - self._asked >= self._pause:
            calls = self._calls(jobs)
            self._asked = mono if calls else mono - self._pause + AGAIN
            if calls:
                probes["closer"] = extra_probe("integrity", IntegrityCall(self._seconds, MOST_BYTES, calls))
        if mono >= self._quota_due:
            self._quota_due = mono + QUOTA_EVERY
            paths = sorted({path for one in jobs.values() for path in disk_paths(one.job)})[:MOST_PATHS]
            if paths:
                probes["quota"] = extra_probe("quota", QuotaCall(paths, self._seconds), seconds=int(self._seconds) + 1)
        return probes

    def _calls(self, jobs: Mapping[str, WatchedJob]) -> dict[str, JobFilesCall]:
        running = {ref: one for ref, one in jobs.items() if isinstance(one.known.state, Running)}
        calls: dict[str, JobFilesCall] = {}
        search = len(running) <= CROWD
        for ref, one in running.items():
            if not search and not one.memory.produced.seen:
                continue
            call = file_call(one.memory.produced)
            call.guess = guess_call(one) if search else None
            if call != JobFilesCall():
                call.far, call.real = self._far, real_of(one.memory.learnt)
                calls[ref] = call
            if len(calls) == MOST_JOBS:
                break
        return calls

    def take(self, seen: ProbeAnswer, asked: Collection[str]) -> ProbeAnswer:
        """The poll with what the extra probes brought, and with the quotas that were last heard of."""
        closer, quota = seen.extra_probes.get("closer"), seen.extra_probes.get("quota")
        if "closer" in asked:
            self._pause = self._every if isinstance(closer, Integrity) else min(LONGEST, 2 * self._pause)
        if isinstance(quota, Quotas):
            self._quotas = quota.quotas
        return replace(seen, closer=closer.jobs if isinstance(closer, Integrity) else {}, quotas=self._quotas)


def file_call(made: Produced) -> JobFilesCall:
    """What is to be asked about the files of a job: texts that grew, and what stands still and was not judged yet."""
    lines = {}
    for path, file in made.files.items():
        behind = (file.size or 0) - (file.lines[1] if file.lines else 0)
        if path.lower().endswith(TEXTS) and 0 < behind <= BEHIND:
            lines[path] = file.lines or ()
    still = [path for path, file in made.files.items() if is_settled(file)]
    return JobFilesCall(dict(list(lines.items())[-MOST_TEXTS:]), still[-MOST_FILES:], checkpoints_to_judge(made))


def is_settled(file: ProducedFile) -> bool:
    """Whether it stands still long enough to be judged, and is not."""
    return file.verdict is None and file.still >= SETTLED * 2 ** min(MOST_TRIES, file.judged)


def checkpoints_to_judge(made: Produced) -> list[str]:
    """The newest ones that stand still, down to one that is known to be intact."""
    wanted: list[str] = []
    for path in reversed(made.by_age()):
        file = made.checkpoints[path]
        if file.verdict is not None and file.verdict.verdict == INTACT:
            break
        if is_settled(file):
            wanted.append(path)
        if len(wanted) == MOST_CHECKPOINTS:
            break
    return wanted


def guess_call(one: WatchedJob) -> Guess | None:
    """Where to search for checkpoints of a job whose owner named none, if it is time to."""
    job, made = one.job, one.memory.produced
    if job.expect.checkpoints or made.guessed or one.memory.age < made.guess_after:
        return None
    folders = list(directories(job.expect.outputs))
    workdir = one.memory.facts.workdir
    folders += [workdir] if workdir.startswith("/") and not folders else []
    pids = [] if folders else list(living_pids(one.workers))[:4]
    folders = [folder for folder in folders if folder != "/"]
    since = one.started or job.submitted or job.registered
    return Guess(folders, pids, since, weak=not job.expect.outputs) if folders or pids else None


def take_in(
    memory: Memory, seen: ProbeAnswer, ref: str, *, watched: float, step: float | None, running: bool, new_attempt: bool
) -> None:
    """What a poll says of what a job produces. `step` is where its counter stood before this poll."""
    made = memory.produced
    if ref in seen.files and ref not in seen.late:
        made.take_poll(seen.files[ref], memory.age, watched, seen.look.at)
    if ref in seen.closer:
        take_closer(made, seen.closer[ref], memory.age)
    if (checked := seen.learnt.get(ref, NOTHING).integrity) is not None:
        take_checkpoints(made, checked.checkpoints)
    if new_attempt:
        made.end_attempt(step)
    elif not running:
        made.rest()


def saved_at(memory: Memory, seen: ProbeAnswer) -> tuple[float, ...]:
    """When each checkpoint was written, by our clock; nothing where they may be somebody else's."""
    if memory.produced.weak:
        return ()
    skew = seen.skew
    return tuple(time + skew for time in memory.files.checkpoints.values())


def made_by(memory: Memory, progress: Progress | None, state: State | None) -> Made:
    """What the job has produced, as the rules see it."""
    step = None if progress is None else progress.step
    return memory.produced.made(memory.age, memory.silence.phase, step, isinstance(state, Ended))


def take_closer(made: Produced, answer: programs.FileChecks, age: float) -> None:
    """What a closer poll brought, of files that are still what they were then."""
    for path, counted in answer.lines.items():
        if path in made.files:
            made.files[path].lines, made.files[path].counted = counted.known, counted.known[1] == counted.size
    for path, row in answer.files.items():
        if path in made.files:
            made.files[path].verdict = Judgement(row.verdict, row.why, row.records, row.sure)
    take_checkpoints(made, {path: judgement(row) for path, row in answer.checkpoints.items()})
    if answer.guessed is not None:
        made.guessed, made.weak = answer.guessed, bool(answer.weak)
        made.guess_after = age + min(GUESS_LONGEST, max(60.0, age))


def take_checkpoints(made: Produced, verdicts: Mapping[str, Judgement]) -> None:
    for path, verdict in verdicts.items():
        if path in made.checkpoints:
            made.checkpoints[path].verdict = verdict


def records_of(path: str, file: ProducedFile) -> int | None:
    """How many records an output has: of a text its lines when they were last counted, else what its format says."""
    verdict = file.verdict
    if verdict is not None and verdict.records is not None and verdict.verdict != BROKEN:
        return verdict.records
    if file.lines and file.counted:
        header = path.lower().endswith((".csv", ".tsv"))
        return max(0, file.lines[2] - header)
    return None
