"""What a look at a Slurm cluster costs: against the bare commands, over many hosts, and of our own CPU."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from statistics import median
from typing import Any

from bench.figures import Figure
from dogwatch import assemble
from dogwatch.clock import Clock
from dogwatch.model import Job, Running
from dogwatch.model.job import Place
from dogwatch.sources.slurm import requests, source
from dogwatch.store.rows import places
from dogwatch.store.rows import registration as register
from dogwatch.store.sqlite.database import SqliteStore as Store
from dogwatch.store.sqlite.home import prepare
from dogwatch.store.sqlite.location import open_store
from dogwatch.transport.interface import Answer
from dogwatch.transport.ssh import Ssh
from dogwatch.watcher.loop.watcher import Watcher
from dogwatch.watcher.tick.place_poller import PlacePoller
from dogwatch.wire.answer import checked
from dogwatch.wire.json_value import JsonObject
from tests.lab.ground import why_not
from tests.lab.lab import Lab
from tests.lab.lease import SESSION, only_one
from tests.support import Ahead

JOBS, UNKNOWN, PAIRS = 1_000, 20, 11
HOSTS, DELAY = 50, 10.0
KNOWN, RUNS, MINUTE = 10_000, 7, 60.0
SEEDS = 20  # real jobs whose lines and logs stand for all known ones
WORK = (
    "On the laboratory's real cluster: one tick of the engine (`Watch.look_once`, without the start of a program) "
    f"over {JOBS:,} registered jobs, {UNKNOWN} of which the queue does not list, so that the accounting is asked too, "
    f"against the bare ssh with the same squeue and sacct, {PAIRS} times in turn; {HOSTS} hosts that answer after "
    f"{DELAY:.0f} s, then the same with one whose sshd is stopped; and the CPU of one tick, store included, over "
    f"{KNOWN:,} known jobs, nine in ten running, whose lines and logs are a real answer of the probe."
)


def measure() -> Iterator[Figure]:
    """The figures of each part as it ends: what comes after it, the tear-down too, cannot lose them."""
    reason = why_not()
    if reason:
        print(f"  skipped: {reason}")
        return
    with only_one(SESSION, 600, "the laboratory is used by somebody else"):
        lab = Lab.start()
        try:
            lab.heal()
            for part in (_against_the_bare_commands, _many_hosts, _own_cpu):
                yield from part(lab)
        finally:
            lab.heal()
            lab.leave()


@contextmanager
def _store(on: str | None = None) -> Iterator[Store]:
    """A store in a home of its own, to which this process alone writes."""
    with tempfile.TemporaryDirectory(prefix="dogwatch-bench-", dir=on) as directory:
        home = os.path.join(directory, "home")
        prepare(home)
        with open_store(home) as opened:
            yield opened


def _place(lab: Lab, name: str) -> Place:
    return Place(name, "ssh", {"ssh": name, "config": str(lab.ssh_config)}, 0.0)


def _job(place: str, id: object, clock: Clock) -> Job:
    track = {"user": "alice", "submit": None, "cluster": None, "log_given": False}
    ref = f"{place}/slurm:{id}"
    return Job(ref, place, "slurm", str(id), name=str(id), registered=clock.now(), track=track)


def _process(place: str, clock: Clock) -> Job:
    """This very process: all namespaces of one machine see it."""
    find = {"name": None, "pidfile": None, "pids": [os.getpid()], "want": 1}
    return Job(f"{place}/process:1", place, "process", "1", name="one", registered=clock.now(), track={"find": find})


def _register(store: Store, place: Place, jobs: list[Job], clock: Clock) -> None:
    register.add_place(store, place)
    for job in jobs:
        register.register(store, job, clock.now(), clock.mono())


def _against_the_bare_commands(lab: Lab) -> list[Figure]:
    clock = Clock()
    ids = lab.sbatch_many("alice", JOBS - UNKNOWN)
    nowhere = range(max(ids) + 100_000, max(ids) + 100_000 + UNKNOWN)
    jobs = [_job("lab", id, clock) for id in (*ids, *nowhere)]
    with _store() as store:
        _register(store, _place(lab, "lab"), jobs, clock)
        watch = assemble.watch(store, clock, who="bench")
        watch.poll_once()  # the first poll learns the owners and the cluster: from then on ticks are alike
        watch.poll_once()
        bare = _bare_argv(lab, jobs, [str(id) for id in nowhere], clock)
        ratios, ours = [], []
        for _ in range(PAIRS):
            alone, look = _timed_bare(bare), _timed_look(watch, store)
            ours.append(look)
            ratios.append(look / alone)
        watch.close()
    lab.cancel_all()
    print(f"  a tick over {JOBS:,} jobs {median(ours):.2f} s, the bare commands {median(ours) / median(ratios):.2f} s")
    return [Figure(f"tick over {JOBS:,} jobs / bare squeue and sacct", median(ratios), limit=1.3)]


def _bare_argv(lab: Lab, jobs: list[Job], nowhere: list[str], clock: Clock) -> list[str]:
    """What somebody would type: the very queries of the tick, the accounting asked about the same ids."""
    commands = source.ask(jobs, {}, clock.now()).commands or {}
    queue, books = (commands[name].argv for name in (requests.QUEUE, requests.ACCOUNTING))
    books = [word.replace("{ids}", ",".join(nowhere)) for word in books]
    settings = "SLURM_TIME_FORMAT=%s SLURM_BITSTR_LEN=0 LC_ALL=C"
    command = f"export {settings}; {shlex.join(queue)}; {shlex.join(books)}"
    return ["ssh", "-F", str(lab.ssh_config), "lab", command]


def _timed_bare(argv: list[str]) -> float:
    began = time.monotonic()
    done = subprocess.run(argv, capture_output=True, check=True, timeout=60)
    took, lines = time.monotonic() - began, done.stdout.count(b"\n")
    if lines < JOBS - UNKNOWN:
        raise RuntimeError(f"squeue listed {lines} lines for {JOBS} jobs")
    return took


def _timed_look(watch: Watcher, store: Store) -> float:
    began = time.monotonic()
    if watch.poll_once() != ["lab"]:
        raise RuntimeError(f"lab did not answer: {places.places(store)[-1]['unreachable_why']}")
    return time.monotonic() - began


def _many_hosts(lab: Lab) -> list[Figure]:
    """Namespaces have no Slurm of their own, so that each has a process to watch."""
    clock = Clock()
    names = lab.hosts(HOSTS)
    for name in names:
        lab.delay(name, DELAY)
    with _store() as store:
        for name in names:
            _register(store, _place(lab, name), [_process(name, clock)], clock)
        all_well = _answers(store, clock, names)
        lab.stop_sshd(names[0])
        with_hung = _answers(store, clock, names[1:])
        lab.cont_sshd(names[0])
    print(f"  {HOSTS} hosts: the last was known after {all_well:.1f} s; the others beside a hung one {with_hung:.1f} s")
    return [
        Figure(f"{HOSTS} hosts that take {DELAY:.0f} s / one of them", all_well / DELAY, limit=2.0),
        Figure("the others beside a hung host / with all well", with_hung / all_well, limit=1.3),
    ]


def _answers(store: Store, clock: Clock, names: list[str]) -> float:
    """Seconds of one round until the last of `names` was written down; what is hung may take longer."""
    watch = assemble.watch(store, clock, who="bench")
    before = {row["name"]: row["polls"] for row in places.places(store)}
    began = time.monotonic()
    took: list[float] = []

    def note(*_: object) -> bool:
        looks = {row["name"]: row["polls"] for row in places.places(store)}
        if not took and all(looks[name] > before[name] for name in names):
            took.append(time.monotonic() - began)
        return bool(took)

    watch.run(until=note)
    watch.close()
    return took[0]


class Replay:
    """Stands where ssh would: it turns the request into text and a real answer's text into values, as the real
    reach does, and counts what it takes to make that text, which is not ours."""

    def __init__(self, clock: Clock, body: Mapping[str, Any], queue: str, log: Mapping[str, Any]) -> None:
        self._clock, self._body, self._queue, self._log = clock, body, queue, log
        self._quiet = {**body["logs"]["x"], "files": {}}
        self.spent = 0.0

    def ask(self, request: Mapping[str, Any], deadline: float = 0.0) -> Answer:
        json.dumps(request).encode("ascii")
        began = time.process_time()
        text = self._text(request)
        self.spent += time.process_time() - began
        return Answer("lab", self._clock.now(), 1.0, checked(json.loads(text)))

    def close(self) -> None:
        pass

    def _text(self, request: Mapping[str, Any]) -> str:
        logs: dict[str, Any] = {"ok": True, "seconds": 0.1}
        for ref, row in request.get("logs", {}).items():
            new = {path: self._log for path in row["globs"] if path not in row["known"]}
            logs[ref] = {**self._quiet, "files": new, "unchanged": list(row["known"])}
        section, mark = self._body["commands"], request["commands"][requests.QUEUE]["rows"]["mark"]
        queue = {**section["ran"][requests.QUEUE], "out": self._queue.replace("@MARK@", mark)}
        commands = {**section, "ran": {requests.QUEUE: queue, requests.CONFIG: section["ran"][requests.CONFIG]}}
        rest = {"disks": {path: self._body["disk"] for path in request.get("disks", ())}, "ok": True, "seconds": 0.0}
        whole = {**self._body, "commands": commands, "logs": logs, "disks": rest, "files": {"ok": True, "seconds": 0.0}}
        del whole["disk"]
        return json.dumps(whole)


def _own_cpu(lab: Lab) -> list[Figure]:
    clock = Ahead()
    body, lines, log = _captured(lab, clock)
    ids = range(1_000_000, 1_000_000 + KNOWN)
    queue = "".join(lines[at % len(lines)].replace("@ID@", str(id)) for at, id in enumerate(ids))
    spent = []
    with _store("/dev/shm") as store:  # ten thousand registrations are as many fsyncs, which nobody measures here
        _register(store, _place(lab, "lab"), [_job("lab", id, clock) for id in ids], clock)
        replay = Replay(clock, body, queue, log)
        poller = PlacePoller(_place(lab, "lab"), replay, assemble.Sources(), clock)
        watch = Watcher(store, (poller,), clock, who="bench")
        for _ in range(RUNS + 3):
            clock.by += MINUTE
            replay.spent, began = 0.0, time.process_time()
            watch.poll_once()
            spent.append(time.process_time() - began - replay.spent)
        running = sum(isinstance(one.known.state, Running) for one in poller.jobs.values())
        if (len(poller.jobs), running) != (KNOWN, KNOWN * 9 // 10):
            raise RuntimeError(f"{running} of {len(poller.jobs)} jobs were seen running")
    first, steady = spent[0], spent[3:]
    print(f"  CPU of a tick over {KNOWN:,} jobs: first {first:.2f} s, then {min(steady):.2f} to {max(steady):.2f} s")
    return [Figure(f"our CPU for a tick over {KNOWN:,} known jobs", median(steady), "s", limit=0.5)]


def _captured(lab: Lab, clock: Clock) -> tuple[dict[str, Any], list[str], dict[str, Any]]:
    """A real answer about jobs that run and one that waits; its lines with `@ID@` and `@MARK@` for those."""
    running = [lab.sbatch("alice", "echo begun; exec sleep 600") for _ in range(SEEDS * 9 // 10)]
    waiting = lab.sbatch_many("alice", SEEDS // 10)
    for id in running:
        lab.wait_state(id, "RUNNING")
    jobs = [_job("lab", id, clock) for id in (*running, *waiting)]
    way = Ssh("lab", "lab", str(lab.ssh_config), clock)
    path = lab.show(running[0])["StdOut"]
    request: JsonObject = {
        **source.ask(jobs, {}, clock.now()).to_request(),
        "disks": ["/"],
        "logs": {"x": {"globs": [path], "known": {}}},
    }
    answer = way.ask(request, 60.0)
    if not isinstance(answer, Answer):
        raise RuntimeError(f"the laboratory did not answer: {answer.why}")
    found = answer.body["logs"]["x"]["files"][path]
    log = {**found, "from": found["size"], "text": ""}
    known = {key: found[key] for key in ("dev", "ino", "head", "headlen")} | {"offset": found["size"]}
    answer = way.ask({**request, "logs": {"x": {"globs": [], "known": {path: known}}}}, 60.0)
    if not isinstance(answer, Answer) or answer.body["logs"]["x"]["unchanged"] != [path]:
        raise RuntimeError("a log that did not grow was not told as the same")
    out = answer.body["commands"]["ran"][requests.QUEUE]["out"]
    ours = {job.id for job in jobs}  # the queue also lists what has just been cancelled
    rows = [row for row in (line.split("\x1f") for line in out.split("\n")) if row[0] in ours]
    lines = ["\x1f".join(_blank(row)) + "\n" for row in rows]
    lab.cancel_all()
    return {**answer.body, "disk": answer.body["disks"]["disks"]["/"]}, lines, log


def _blank(row: list[str]) -> list[str]:
    """A line of squeue without its id and mark, wherever they stand as such."""
    id, _, *rest = row
    # Digits of a small id stand in counts too: after the mark only JobID and ArrayJobID are one (queue.FIELDS).
    rest = [
        "@ID@" if at in (2, 3) else field.replace(f"slurm-{id}.out", "slurm-@ID@.out") for at, field in enumerate(rest)
    ]
    return ["@ID@", "@MARK@", *rest]
