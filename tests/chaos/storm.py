"""The storm: load through the real command line, and SIGKILL for watchers, commands and supervisors meanwhile."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

from dogwatch.errors import StoreError
from dogwatch.store.rows import deliveries
from dogwatch.store.rows import jobs as job_rows
from dogwatch.store.sqlite.location import open_store
from tests.chaos.history import LEFT, LOST, WRONG, Flaw
from tests.chaos.plans import Plan, draw
from tests.chaos.processes import Call, Family, adopt_orphans, children, kill_recorded, with_home

CROWD = 4  # commands at once; two cores are busy with them and one watcher
PAUSE = 0.004
SETTLE = 90.0
LEAVE = 15.0
# What a watcher says of a notification: when, how bad, the job by name and ref (or what else it is about), and the
# text.
NOTICE = re.compile(
    r"\d+ \w+ \d+ [\d:]+ (?P<level>info|warning|critical): (?:.*? \()?(?P<ref>[^\s()]+)\)?: (?P<text>.*)"
)
VERBS = {"run": 48, "add": 8, "forget": 5, "wait": 4, "patrol": 9, "ls": 6, "status": 5, "events": 15}
KILLED = {"run": 0.35}
KILLED_ELSE = 0.5
HEAD_START = 10
ALLOWED = {"status": {0, 2}, "add": {0, 2}, "forget": {0, 4}, "wait": {0, 1, 4, 124}, "patrol": {0, 1}}
BIRTHS = 20  # one kill in so many hits a home in which the store is just being made


class Storm:
    """One storm over one home. After `run()` everything it knows to be true is in its attributes, and
    `flaws` holds what went wrong before the history was even read."""

    def __init__(self, home: Path, scratch: Path, seed: int, kills: int, seconds: float | None = None) -> None:
        self.home, self.scratch, self.wanted = home, scratch, kills
        self.marks = scratch / "marks"
        self.marks.mkdir()
        self.rng = random.Random(seed)
        self.limit = None if seconds is None else time.monotonic() + seconds
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("DOGWATCH_")} | {"DOGWATCH_HOME": str(home)}
        self.family = Family()
        self.kills: Counter[str] = Counter()
        self.starts: Counter[str] = Counter()
        self.flaws: list[Flaw] = []
        self.plans: dict[str, Plan] = {}
        self.foreign: set[str] = set()
        self.promised: dict[str, str] = {}
        self.cut_short: set[str] = set()
        self.forgotten: dict[str, bool | None] = {}
        self.orphaned: set[str] = set()
        self.glimpsed: dict[int, dict[str, Any]] = {}
        self.patrolled: set[int] = set()
        self.printed: Counter[str] = Counter()
        self.spoke = 0
        self._watchers: list[Call] = []
        self._speakers: list[Call] = []
        self._calls: dict[Call, str] = {}
        self._usual: dict[str, float] = {}
        self._began: dict[Call, float] = {}
        self._number = 0

    @property
    def killed(self) -> int:
        return self.kills["watcher"] + self.kills["command"]

    def run(self) -> None:
        """Births, the storm itself, and a last watcher that is let finish."""
        adopt_orphans()
        try:
            for _ in range(self.wanted // BIRTHS):
                self._birth()
            while self.killed < self.wanted and (self.limit is None or time.monotonic() < self.limit):
                self._tick(calm=False)
            while self._calls or self._watchers:
                self._tick(calm=True)
            self._settle()
        finally:
            self._end_all()

    def call(self, *words: str) -> Call:
        """Run one command to its end, unkilled."""
        call = self._start(list(words), None)
        while not call.over:
            self.family.reap()
            time.sleep(PAUSE)
        return call

    def _tick(self, *, calm: bool) -> None:
        self.family.reap()
        self._mind_watchers(calm)
        for call in [call for call in self._calls if call.over or call.due]:
            self._finish(call, self._calls.pop(call))
        if calm:
            time.sleep(PAUSE)
            return
        if len(self._calls) < CROWD:
            self._next_command()
            if self.rng.random() < 0.12:
                self._kill_a_supervisor()
        time.sleep(PAUSE)

    def _start(self, words: list[str], kill_after: float | None, home: Path | None = None) -> Call:
        self._number += 1
        env = self.env if home is None else {**self.env, "DOGWATCH_HOME": str(home)}
        call = Call(words, self.scratch, self._number, env, kill_after)
        self.family.add(call.process)
        self.starts[words[0]] += 1
        self._began[call] = time.monotonic()
        return call

    def _birth(self) -> None:
        """Kill a command while it makes the store of a fresh home; the next command must not mind."""
        home = self.scratch / f"birth-{self._number}"
        first = self._start(["patrol"], self.rng.uniform(0.03, 0.25), home)
        while not (first.over or first.due):
            time.sleep(0.001)
        self.kills["command"] += first.kill()
        second = self._start(["patrol", "--json"], None, home)
        second.process.wait()
        if second.code != 0:
            self.flaws.append(Flaw(WRONG, f"a home whose making was killed is unusable: {second.said().strip()}"))
        self.flaws += [Flaw(LEFT, f"a draft from the making: {path.name}") for path in home.glob("*.new*")]

    def _mind_watchers(self, calm: bool) -> None:
        for call in list(self._watchers):
            if not call.over and not call.due and not calm:
                self._hear(call)
                continue
            self._watchers.remove(call)
            if not call.over:
                self._hear(call)
                self.kills["watcher"] += call.kill()
            self._bury_watcher(call)
        if not calm and not self._watchers:
            self._watchers.append(self._start_watcher())
            if self.rng.random() < 0.1:
                self._watchers.append(self._start_watcher())

    def _start_watcher(self) -> Call:
        usual = self._usual.get("daemon", 0.3)
        early = self.rng.random() < 0.45
        kill_after = self.rng.uniform(0, 1.1 * usual) if early else usual + self.rng.uniform(0, 0.7)
        return self._start(["daemon", "--interval", "1"], kill_after)

    def _hear(self, call: Call) -> None:
        """A watcher that says it watches is past the lease; no other that did may be alive then."""
        if call in self._speakers or "watching;" not in call.said():
            return
        for other in self._speakers:
            if not other.over:
                self.flaws.append(Flaw(WRONG, f"two watchers at once: {other.process.pid} and {call.process.pid}"))
        self._speakers = [call]
        self.spoke += 1
        self._learn("daemon", call)

    def _bury_watcher(self, call: Call) -> None:
        said = call.said()
        self.printed.update(
            f"{found['level']}: {found['ref']}: {found['text']}"
            for found in map(NOTICE.fullmatch, said.splitlines())
            if found
        )
        refused = call.code == 2 and "is watched already" in said
        if not (call.killed or refused):
            self.flaws.append(Flaw(WRONG, f"a watcher ended by itself with {call.code}: {said.strip()[-800:]}"))
        self._look_for_crash(call)
        self._forget_files(call)

    def _next_command(self) -> None:
        verb = self.rng.choices(list(VERBS), list(VERBS.values()))[0]
        told = self._words(verb)
        if told is None:
            return
        name, words = told
        # About as many watchers as commands: a watcher takes longer to be worth killing.
        enough = self.kills["command"] > HEAD_START + self.kills["watcher"]
        killed = not enough and self.rng.random() < KILLED.get(verb, KILLED_ELSE)
        kill_after = self.rng.uniform(0, 1.1 * self._usual.get(verb, 0.3)) if killed else None
        self._calls[self._start([verb, *words], kill_after)] = name

    def _words(self, verb: str) -> tuple[str, list[str]] | None:
        """What the command is about, and its words; None when there is nothing yet to say it of."""
        rng = self.rng
        match verb:
            case "run":
                plan = draw(rng, len(self.plans))
                self.plans[plan.name] = plan
                workers = ["--workers", str(len(plan.parts))]
                return plan.name, ["--detach", "--name", plan.name, *workers, "--", *plan.command(str(self.marks))]
            case "add":
                name = f"p{len(self.foreign)}"
                self.foreign.add(name)
                return name, ["process", str(self._foreign_process()), "--name", name]
            case "forget" | "wait":
                name = rng.choice(sorted(self.promised.keys() - self.forgotten.keys()) or [""])
                more = ["--timeout", "0.7"] if verb == "wait" else []
                return (name, [self.promised[name], *more]) if name else None
            case "events":
                return "", ["--json", "--since", str(max(self.glimpsed, default=0))]
            case "ls":
                return "", ["--no-poll", *rng.choice((["--all", "--json"], ["--json"], []))]
            case "status":
                return "", ["--json", "--no-poll"]
            case _:
                return "", ["--json"]

    def _foreign_process(self) -> int:
        process = subprocess.Popen(["sleep", f"{self.rng.uniform(0.2, 2.5):.2f}"], start_new_session=True)
        self.family.add(process)
        return process.pid

    def _finish(self, call: Call, name: str) -> None:
        if not call.over:
            self.kills["command"] += call.kill()
        if call.killed:
            self._cut_short(call, name)
        else:
            self._learn(call.verb, call)
            self._take(call, name)
        self._read(call)
        self._look_for_crash(call)
        self._forget_files(call)

    def _cut_short(self, call: Call, name: str) -> None:
        if call.verb in ("run", "add"):
            self.cut_short.add(name)
            if call.printed().endswith("\n"):
                self.promised[name] = call.printed().strip()
        if call.verb == "forget":
            self.forgotten[name] = None

    def _take(self, call: Call, name: str) -> None:
        """What a command that ended by itself has promised."""
        if call.code == 0 and call.verb in ("run", "add"):
            self.promised[name] = call.printed().strip()
        if call.code == 0 and call.verb == "forget":
            self.forgotten[name] = True
        allowed = ALLOWED.get(call.verb, {0})
        if call.verb == "run" and any(run.rpartition("-")[0] == name for run in self.orphaned):
            allowed = {0, 1, 3}
        if call.code not in allowed:
            self.flaws.append(Flaw(WRONG, f"{call.verb} ended with {call.code}: {call.said().strip()[-800:]}"))

    def _read(self, call: Call) -> None:
        """Whatever was printed whole was said, also by a command that was killed a moment later."""
        if call.verb not in ("events", "patrol") or not call.printed().endswith("\n"):
            return
        told = json.loads(call.printed())
        if call.verb == "patrol":
            self.patrolled.update(change["seq"] for change in told["changes"])
        for event in told.get("events", ()):
            if self.glimpsed.setdefault(event["seq"], event) != event:
                self.flaws.append(Flaw(LOST, f"event {event['seq']} was shown in two ways"))

    def _kill_a_supervisor(self) -> None:
        newest = sorted((self.home / "runs").glob("*/supervisor.json"), key=lambda path: path.stat().st_mtime)[-6:]
        if not newest:
            return
        record = self.rng.choice(newest)
        if record.parent.name in self.orphaned:
            return
        if kill_recorded(record):
            self.orphaned.add(record.parent.name)
            self.kills["supervisor"] += 1

    def _settle(self) -> None:
        """One watcher that nobody kills sees everything to its end; then nothing may be left running."""
        last = self._start(["daemon", "--interval", "1"], None)
        limit = time.monotonic() + SETTLE
        while not (settled := self._quiet() and last in self._speakers) and not last.over and time.monotonic() < limit:
            self._hear(last)
            self.family.reap()
            time.sleep(0.05)
        if not settled:
            self.flaws.append(Flaw(LOST, f"not settled after {SETTLE:g} s: {last.said().strip()[-800:]}"))
        last.process.send_signal(signal.SIGTERM)
        limit = time.monotonic() + LEAVE
        while time.monotonic() < limit and (not last.over or children() or with_home(str(self.home))):
            self.family.reap()
            time.sleep(0.02)
        if not last.over:
            last.kill()
        last.killed = last.code == 0
        self._bury_watcher(last)
        left = {**children(), **with_home(str(self.home))}
        self.flaws += [Flaw(LEFT, f"still running: {pid} {command}") for pid, command in left.items()]

    def _quiet(self) -> bool:
        """Whether every job that ever began has ended in the store, and every notification was said."""
        if not (self.home / "store.json").exists():
            return False
        try:
            with open_store(str(self.home), readonly=True) as store:
                active, waiting = job_rows.brief(store), deliveries.unshown(store)
        except StoreError as error:
            self.flaws.append(Flaw(WRONG, f"the store cannot be read: {error}"))
            return True
        begun = [job for job in active if job["name"] in self.foreign or self._began_run(job["id"])]
        return not begun and not waiting

    def _began_run(self, run: str) -> bool:
        return (self.home / "runs" / run / "supervisor.json").exists()

    def _learn(self, what: str, call: Call) -> None:
        """How long such a call usually takes here, so that kills fall into its life and not after it."""
        took = time.monotonic() - self._began[call]
        self._usual[what] = 0.8 * self._usual.get(what, took) + 0.2 * took

    def _look_for_crash(self, call: Call) -> None:
        if "Traceback" in call.said():
            self.flaws.append(Flaw(WRONG, f"{' '.join(call.words[:3])} crashed: {call.said().strip()[-1500:]}"))

    def _forget_files(self, call: Call) -> None:
        del self._began[call]
        call.tidy()

    def _end_all(self) -> None:
        """Whatever happened, leave nothing of ours running."""
        for record in [*self.home.glob("runs/*/supervisor.json"), *self.home.glob("runs/*/worker-*.start.json")]:
            kill_recorded(record)
        for process in list(self.family.ours.values()):
            process.kill()
            process.wait()
