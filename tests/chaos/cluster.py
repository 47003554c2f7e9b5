"""The controller of a real cluster is stopped and killed again and again, under a daemon that watches jobs of it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dogwatch.sources.slurm import words
from dogwatch.store.rows import jobs, places
from dogwatch.store.sqlite.location import open_store
from tests.chaos.history import LEFT, LOST, WRONG, Document, Flaw
from tests.lab.lab import Lab
from tests.support import wait_until

# Soon to say that nobody answers, slow to give up a node, and soon to forget what has ended.
QUICK = {"MessageTimeout": 2, "SlurmdTimeout": 300, "MinJobAge": 20}
LASTING, WAITING = 6, 4
SHORT, LONG, LONG_EVERY = (0.2, 4.0), (11.0, 15.0), 5  # a long one is looked into twice, and that is an alert
SETTLE = 90.0
# It runs until somebody writes its exit code into its FIFO, and takes no processor time until then.
SCRIPT = "f=go-$SLURM_JOB_ID; [ -p $f ] || mkfifo $f; read code <$f; echo $code >end-$SLURM_JOB_ID; exit $code"
OURS = ("dogwatch-probe", "squeue", "sacct", "scontrol")


@dataclass
class Cluster:
    """One storm over one cluster. What it did and what is true is in its attributes after `run()`."""

    lab: Lab
    home: Path
    seed: int
    wanted: int
    outages: Counter[str] = field(default_factory=Counter)
    noticed: int = 0
    took: float = 0.0
    down: list[float] = field(default_factory=list)
    codes: dict[int, int] = field(default_factory=dict)
    kept_by_slurm: list[int] = field(default_factory=list)
    held_by_slurm: list[str] = field(default_factory=list)
    lasting: list[int] = field(default_factory=list)
    flaws: list[Flaw] = field(default_factory=list)

    def run(self) -> None:
        """Jobs, a daemon, the outages, and time to settle."""
        began, self.rng = time.monotonic(), random.Random(self.seed)
        self.lab.heal()
        self.lab.configure(**QUICK)
        try:
            self._begin()
            daemon = self._start("daemon", "--interval", "1")
            try:
                self._wait_for_light(0)
                for number in range(self.wanted):
                    self._outage(number)
                self._settle()
            finally:
                daemon.terminate()
                daemon.wait(30)
            if daemon.returncode not in (0, -15, 143):
                self.flaws.append(Flaw(WRONG, f"the daemon ended with {daemon.returncode}"))
            self._look_for_what_is_left()
        finally:
            self.lab.heal()
        self.took = time.monotonic() - began

    def _begin(self) -> None:
        lab = self.lab
        self.lasting = [lab.sbatch("bob", "exec sleep 3600", "--output=/dev/null") for _ in range(LASTING)]
        self.lasting += [lab.sbatch("bob", "true", "--begin=now+2hours") for _ in range(WAITING)]
        for _ in range(2 * self.wanted):
            self.codes[lab.sbatch("alice", SCRIPT, "--output=/dev/null")] = self.rng.choice((0, 0, 3, 137))
        for job in (*self.lasting[:LASTING], *self.codes):
            lab.wait_state(job, "RUNNING")
        self._saved()
        self._must("host", "add", "lab", "--ssh-config", str(lab.ssh_config), "--floor", "1s")
        self._must("add", "slurm", *map(str, (*self.lasting, *self.codes)), "--host", "lab")
        self._releasable = list(self.codes)

    def _saved(self) -> None:
        """A killed controller forgets what it has not saved, and gives the ids out again."""
        state, changed = self.lab.directory / "state" / "job_state", time.time()
        self.lab.update(f"JobId={self.lasting[0]}", Comment="saved")
        wait_until(lambda: state.exists() and state.stat().st_mtime > changed, timeout=30, pause=0.1)

    def _outage(self, number: int) -> None:
        """Two jobs end just before, in, or just after it. How long it lasts decides how often it is looked into."""
        lab, how = self.lab, self.rng.choice(("killed", "stopped"))
        looks = self.place()["polls"]
        moments = sorted(self.rng.choices(("before", "within", "after"), k=2))
        length = self.rng.uniform(*(LONG if number % LONG_EVERY == 0 else SHORT))
        self._release(moments.count("before"))
        began = time.monotonic()
        lab.kill_slurmctld() if how == "killed" else lab.stop_slurmctld()
        time.sleep(length / 2)
        self._release(moments.count("within"))
        time.sleep(length / 2)
        lab.start_slurmctld() if how == "killed" else lab.cont_slurmctld()
        self._release(moments.count("after"))
        self.down.append(time.monotonic() - began)
        self.outages[how] += 1
        self._wait_for_light(looks)

    def _release(self, count: int) -> None:
        """Let jobs end, none of which may have been said to have ended by now."""
        with open_store(str(self.home)) as store:
            ended = {row["ref"] for row in jobs.brief(store, everything=True) if row["state"] == "ended"}
        for job in self._releasable:
            if f"lab/slurm:{job}" in ended:
                self.flaws.append(Flaw(WRONG, f"job {job} runs and was said to have ended"))
        for job in self._releasable[:count]:
            self._let_end(job)
        del self._releasable[:count]

    def _let_end(self, job: int) -> None:
        """Give it its exit code, if it waits for one."""
        with contextlib.suppress(OSError):
            fifo = os.open(self.lab.home("alice") / f"go-{job}", os.O_WRONLY | os.O_NONBLOCK)
            os.write(fifo, f"{self.codes[job]}\n".encode())
            os.close(fifo)

    def _wait_for_light(self, looks: int) -> None:
        """Until the daemon has looked and seen, so that the next outage is another one."""

        def seen() -> bool:
            place = self.place()
            return bool(place["polls"] > looks + 1 and place["unreachable_since"] is None)

        wait_until(seen, timeout=SETTLE, pause=0.1)

    def place(self) -> Any:
        with open_store(str(self.home)) as store:
            return next(row for row in places.places(store) if row["name"] == "lab")

    def _settle(self) -> None:
        """Everything ends that was let go; what a restarted controller put back in the queue is let go again."""
        limit = time.monotonic() + SETTLE
        while open_still := [job for job in self.jobs() if job["state"] != "ended" and int(job["id"]) in self.codes]:
            if time.monotonic() > limit:
                self._give_up_on(open_still)
                break
            for job in open_still:
                self._let_end(int(job["id"]))
            time.sleep(0.5)
        # A node whose first launch fails requeues the job and holds it: then the finding is true.
        held = [job for job in self.lasting if "Held" in self.lab.show(job).get("Reason", "")]
        self.held_by_slurm = [f"lab/slurm:{job}" for job in held]

    def _give_up_on(self, open_still: list[Document]) -> None:
        """A controller that was down when a job's end was reported may never hear of it: that is Slurm's own error."""
        for job in open_still:
            told = self.lab.squeue_state(job["id"])
            if told == "RUNNING" == job["native"]:
                self.kept_by_slurm.append(int(job["id"]))
            else:
                self.flaws.append(Flaw(LOST, f"not settled: {job['id']} is {job['state']}, and {told} to Slurm"))

    def jobs(self) -> list[Document]:
        found: list[Document] = json.loads(self._must("ls", "--all", "--json", "--no-poll"))["jobs"]
        return found

    def events(self) -> list[Document]:
        lines = [json.loads(line) for line in self._must("events", "--json", "--since", "0").splitlines()]
        found: list[Document] = lines[0]["events"] if len(lines) == 1 and "events" in lines[0] else lines
        return found

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DOGWATCH_")}
        return {**kept, "DOGWATCH_HOME": str(self.home)}

    def _must(self, *words: str) -> str:
        argv = [sys.executable, "-m", "dogwatch", *words]
        done = subprocess.run(argv, env=self._environment(), text=True, capture_output=True, timeout=120)
        if done.returncode:
            raise RuntimeError(f"dogwatch {words[0]} ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-m", "dogwatch", *words]
        with (self.home.parent / "daemon.log").open("wb") as log:
            return subprocess.Popen(argv, env=self._environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _look_for_what_is_left(self) -> None:
        """Nothing of a poll runs on the host or here once the daemon has gone."""
        config = str(self.lab.ssh_config)

        def there() -> list[str]:
            commands = self.lab.processes_of("alice").values()
            return [command for command in commands if any(word in command for word in OURS)]

        with contextlib.suppress(AssertionError):
            wait_until(lambda: not there(), timeout=60, pause=0.2)
        self.flaws += [Flaw(LEFT, f"on the host: {command}") for command in there()]
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                argv = path.read_bytes().decode(errors="replace").split("\0")
                if argv[0].endswith("ssh") and config in argv:
                    self.flaws.append(Flaw(LEFT, f"here: {' '.join(argv)}"))


def check(storm: Cluster, events: list[Document]) -> list[Flaw]:
    """What was said against what is true: verdicts, and one alert for each outage."""
    flaws = [*_wrong_verdicts(storm, events), *_alerts(storm, events)]
    for job in storm.lasting:
        told = [event["body"]["after"] for event in _moves(events, job)]
        if told not in (["running"], ["waiting"]):
            flaws.append(Flaw(WRONG, f"job {job} ran or waited all the time and was said to be {told}"))
    return flaws


def _moves(events: list[Document], job: int) -> list[Document]:
    return [one for one in events if one["ref"] == f"lab/slurm:{job}" and one["kind"] in ("job.state", "job.attempt")]


def _wrong_verdicts(storm: Cluster, events: list[Document]) -> list[Flaw]:
    """An ending must be the true one, one that Slurm itself has in its books, or unknown."""
    flaws = []
    for job, code in storm.codes.items():
        file = storm.lab.home("alice") / f"end-{job}"
        booked = [row["State"] for row in storm.lab.sacct(job, "State", every=True)]
        right = {str(words.ENDED[words.bare(word)]) for word in booked if words.bare(word) in words.ENDED} | {"unknown"}
        right |= {"failed" if code else "succeeded"} if file.exists() else set()
        for event in _moves(events, job):
            if event["body"]["after"] != "ended":
                continue
            outcome = event["body"]["outcome"]
            if outcome not in right:
                flaws.append(Flaw(WRONG, f"job {job} was said to have {outcome}; Slurm's books: {booked}, code {code}"))
            if outcome == "succeeded" and (code or not file.exists()):
                flaws.append(Flaw(WRONG, f"job {job} was said to have succeeded, and it did not"))
    return flaws


def _alerts(storm: Cluster, events: list[Document]) -> list[Flaw]:
    """Unreachable and seen by turns, at most once an outage; findings of the place likewise; of jobs only how they
    ended."""
    flaws = []
    turns = [event["kind"] for event in events if event["kind"] in ("place.unreachable", "place.answered")]
    storm.noticed = turns.count("place.unreachable")
    if turns != ["place.unreachable", "place.answered"] * storm.noticed:
        flaws.append(Flaw(WRONG, f"the place is unreachable and seen out of turn: {turns}"))
    if storm.noticed > storm.outages.total():
        flaws.append(Flaw(WRONG, f"{storm.noticed} outages were told, and there were {storm.outages.total()}"))
    opened = [event for event in events if event["kind"] == "finding.opened"]
    places_found = [event for event in opened if event["body"]["rule"] == "host_unreachable"]
    if len(places_found) > storm.noticed:
        flaws.append(Flaw(WRONG, f"{len(places_found)} alerts for {storm.noticed} outages"))
    ours = [event for event in opened if event["ref"] is not None and event["ref"] not in storm.held_by_slurm]
    other = {event["body"]["rule"] for event in ours} - {"all_ended"}
    if other:
        flaws.append(Flaw(WRONG, f"jobs were alerted about: {sorted(other)}"))
    return flaws


def report(storm: Cluster, events: list[Document], flaws: list[Flaw]) -> None:
    """The figures, for people."""
    kinds = Counter(flaw.kind for flaw in flaws)
    ended = [event for job in storm.codes for event in _moves(events, job) if event["body"]["after"] == "ended"]
    outcomes = Counter(event["body"]["outcome"] for event in ended)
    alerts = sum(one["kind"] == "finding.opened" and one["body"]["rule"] == "host_unreachable" for one in events)
    attempts = sum(event["kind"] == "job.attempt" for event in events)
    place = storm.place()
    print(
        f"slurmctld {storm.outages['killed']} times killed and {storm.outages['stopped']} times stopped, "
        f"for {min(storm.down):.1f} to {max(storm.down):.1f} s; "
        f"{place['polls']} polls, {place['failed_polls']} failed; "
        f"{storm.noticed} outages noticed, {alerts} alerts for the place; {storm.took:.0f} s"
    )
    print(
        f"{len(storm.codes)} jobs let go around them: {', '.join(f'{n} {what}' for what, n in outcomes.most_common())}"
        f"; {len(storm.kept_by_slurm)} that Slurm still calls running, {len(storm.held_by_slurm)} that it held"
        f"; {attempts} new attempts; "
        f"{len(storm.lasting)} jobs ran or waited all the time"
    )
    print(f"wrong {kinds[WRONG]}, not settled {kinds[LOST]}, left behind {kinds[LEFT]}")
    for flaw in flaws:
        print(f"  {flaw.kind}: {flaw.text}")
