"""Closer: now and then a closer look at what jobs produce, and at the quotas of their disks. It rides with a poll as an
extra probe, last of all, within seconds and bytes of its own; what it could not do is asked for again later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dogwatch.model import Ended, Progress, Running, State
from dogwatch.results.integrity import BROKEN, INTACT
from dogwatch.rules.interface import Made
from dogwatch.transport import extra_probe
from dogwatch.watcher.job.artifacts import Produced
from dogwatch.watcher.job.folders import directories, real_of
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.probe_answer import ProbeAnswer, disk_paths
from dogwatch.watcher.job.stall import living_pids
from dogwatch.watcher.job.state.learnt import NOTHING
from dogwatch.watcher.job.watched import WatchedJob

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
        self._quotas: dict[str, Any] = {}

    def request(self, jobs: Mapping[str, WatchedJob], mono: float) -> dict[str, Any]:
        """The extra probes of this poll; mostly none."""
        asked: dict[str, Any] = {}
        if mono - self._asked >= self._pause:
            specs = self._specs(jobs)
            self._asked = mono if specs else mono - self._pause + AGAIN
            if specs:
                call = {"jobs": specs, "seconds": self._seconds, "bytes": MOST_BYTES}
                asked["closer"] = extra_probe.spec("integrity", call)
        if mono >= self._quota_due:
            self._quota_due = mono + QUOTA_EVERY
            paths = sorted({path for one in jobs.values() for path in disk_paths(one.job)})[:MOST_PATHS]
            if paths:
                call = {"paths": paths, "seconds": self._seconds}
                asked["quota"] = extra_probe.spec("quota", call)
        return asked

    def _specs(self, jobs: Mapping[str, WatchedJob]) -> dict[str, Any]:
        running = {ref: one for ref, one in jobs.items() if isinstance(one.known.state, Running)}
        specs: dict[str, Any] = {}
        search = len(running) <= CROWD
        for ref, one in running.items():
            if not search and not one.memory.produced.seen:
                continue
            spec = file_spec(one.memory.produced)
            if search and (guess := guess_spec(one)):
                spec["guess"] = guess
            if spec:
                specs[ref] = {**spec, "far": self._far, **real_of(one.memory.learnt)}
            if len(specs) == MOST_JOBS:
                break
        return specs

    def take(self, seen: ProbeAnswer, asked: Mapping[str, Any]) -> ProbeAnswer:
        """The poll with what the extra probes brought, and with the quotas that were last heard of."""
        closer, quota = (
            extra_probe.brought({"extra_probes": seen.extra_probes}, key)[0] for key in ("closer", "quota")
        )
        if "closer" in asked:
            self._pause = self._every if closer is not None else min(LONGEST, 2 * self._pause)
        if quota is not None:
            self._quotas = dict(quota.get("quotas") or {})
        disks = seen.disks
        if self._quotas:
            disks = {path: {**row, "quota": self._quotas.get(path)} for path, row in disks.items()}
        return replace(seen, closer=(closer or {}).get("jobs") or {}, disks=disks)


def file_spec(made: Produced) -> dict[str, Any]:
    """What is to be asked about the files of a job: texts that grew, and what stands still and was not judged yet."""
    spec: dict[str, Any] = {}
    lines = {}
    for path, one in made.files.items():
        known = one.get("lines") or []
        behind = one["mark"][0] - (known[1] if known else 0)
        if path.lower().endswith(TEXTS) and 0 < behind <= BEHIND:
            lines[path] = known
    if lines:
        spec["lines"] = dict(list(lines.items())[-MOST_TEXTS:])
    still = [path for path, one in made.files.items() if is_settled(one)]
    if still:
        spec["files"] = still[-MOST_FILES:]
    if checkpoints := checkpoints_to_judge(made):
        spec["checkpoints"] = checkpoints
    return spec


def is_settled(one: Mapping[str, Any]) -> bool:
    """Whether it stands still long enough to be judged, and is not."""
    wanted = SETTLED * 2 ** min(MOST_TRIES, one.get("judged", 0))
    return "verdict" not in one and one["still"] >= wanted


def checkpoints_to_judge(made: Produced) -> list[str]:
    """The newest ones that stand still, down to one that is known to be intact."""
    wanted: list[str] = []
    for path in reversed(made.by_age()):
        one = made.checkpoints[path]
        if "verdict" in one and one["verdict"]["verdict"] == INTACT:
            break
        if is_settled(one):
            wanted.append(path)
        if len(wanted) == MOST_CHECKPOINTS:
            break
    return wanted


def guess_spec(one: WatchedJob) -> dict[str, Any] | None:
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
    weak = not job.expect.outputs
    return {"folders": folders, "pids": pids, "since": since, "weak": weak} if folders or pids else None


def take_in(
    memory: Memory, seen: ProbeAnswer, ref: str, *, watched: float, step: float | None, running: bool, new_attempt: bool
) -> None:
    """What a poll says of what a job produces. `step` is where its counter stood before this poll."""
    made = memory.produced
    if ref in seen.files and ref not in seen.late:
        made.take_look(seen.files[ref], memory.age, watched, seen.look.at)
    if ref in seen.closer:
        take_closer(made, seen.closer[ref], memory.age)
    if confirmed := seen.learnt.get(ref, NOTHING).integrity:
        take_closer(made, {"checkpoints": confirmed.get("checkpoints")}, memory.age)
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


def take_closer(made: Produced, answer: Mapping[str, Any], age: float) -> None:
    """What a closer poll brought, of files that are still what they were then."""
    for path, counted in (answer.get("lines") or {}).items():
        if path in made.files:
            made.files[path].update(lines=counted["known"], counted=counted["known"][1] == counted["size"])
    for path, row in (answer.get("files") or {}).items():
        if path in made.files:
            made.files[path]["verdict"] = {key: row[key] for key in ("verdict", "why", "records", "sure")}
    for path, row in (answer.get("checkpoints") or {}).items():
        if path in made.checkpoints:
            kept = ("verdict", "why", "iteration", "latest")
            made.checkpoints[path]["verdict"] = {key: row[key] for key in kept}
    if "guessed" in answer:
        made.guessed, made.weak = list(answer["guessed"]), bool(answer.get("weak"))
        made.guess_after = age + min(GUESS_LONGEST, max(60.0, age))


def records_of(path: str, one: Mapping[str, Any]) -> int | None:
    """How many records an output has: of a text its lines when they were last counted, else what its format says."""
    judged, lines = one.get("verdict") or {}, one.get("lines")
    if judged.get("records") is not None and judged.get("verdict") != BROKEN:
        return int(judged["records"])
    if lines and one.get("counted"):
        header = path.lower().endswith((".csv", ".tsv"))
        return max(0, int(lines[2]) - header)
    return None
