"""The storm over boxes: chains are started, watched and fetched while links, power and programs fail.

What really happened is read from the boxes' disks: each stage notes there when it begins and when it is done.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.history import LEFT, LOST, WRONG, Flaw
from tests.lab.box import Box, Boxes
from tests.support import wait_until

HOME = "/root"  # of a box
BOXES = 3
TRIES = 6
GOOD = ("succeeded", "completed")
TRAIN = (
    "echo begun >> ~/truth/{name}.train; for i in 1 2 3 4 5 6; do echo step $i/6; sleep 0.5; done; "
    "echo {name} > ~/truth/{name}.trained"
)
EVAL = (
    "echo begun >> ~/truth/{name}.eval; sleep 1; {ending}; mkdir -p ~/out/{name}; head -c 300000 /dev/urandom > "
    "~/out/{name}/scores.bin; cat ~/truth/{name}.trained > ~/out/{name}/result.txt; touch ~/truth/{name}.finished"
)


@dataclass
class Run:
    """One chain: what is done to it, and what was seen."""

    name: str
    box: Box
    fault: str
    fails: bool
    resume: bool
    document: dict[str, Any] = field(default_factory=dict)

    def directories(self) -> list[Path]:
        runs = self.box.home / ".dogwatch" / "runs"
        return [path for path in runs.glob(f"{self.name}-*") if path.is_dir()] if runs.exists() else []

    def begun(self, stage: str) -> int:
        path = self.box.home / "truth" / f"{self.name}.{stage}"
        return len(path.read_text().splitlines()) if path.exists() else 0

    @property
    def finished(self) -> bool:
        return (self.box.home / "truth" / f"{self.name}.finished").exists()

    @property
    def attempts(self) -> int:
        return sum(len(list(directory.glob("attempt-*.json"))) for directory in self.directories())


class BoxStorm:
    """So many runs on a few boxes, a fault for each, and one Dogwatch that knows them all."""

    def __init__(self, place: Path, seed: int, count: int) -> None:
        place.mkdir(mode=0o700)
        self.place, self.count = place, count
        self.dice = random.Random(seed)
        self.env = {**os.environ, "DOGWATCH_HOME": str(place / "home"), "NO_COLOR": "1"}
        (place / "boxes").mkdir()
        self.boxes = Boxes(place / "boxes")
        self.runs: list[Run] = []
        self.flaws: list[Flaw] = []
        self.fetched = 0
        self.faults: dict[str, Callable[[Run], None]] = {
            "none": self._nothing,
            "the link is cut while it is sent": self._cut_while_sending,
            "the sender is killed": self._kill_sender,
            "a stage is killed": self._kill_stage,
            "the supervisor is killed": self._kill_supervisor,
            "the box is rebooted": self._reboot,
            "connections are reset": self._reset,
            "the watcher is killed": self._kill_watcher,
            "the link is cut while it is fetched": self._nothing,
            "the fetcher is killed": self._nothing,
        }

    def rage(self) -> None:
        """All runs, three boxes side by side, and what is wrong after them."""
        try:
            boxes = [self.boxes.start(f"box{number}") for number in range(BOXES)]
            for box in boxes:
                (box.home / "truth").mkdir()
                added = self._call("host", "add", box.name, "--ssh-config", self.boxes.ssh_config, "--floor", "1s")
                assert added.returncode == 0, added.stderr
            shares: list[list[Run]] = [[] for _ in boxes]
            for number in range(self.count):
                fault = list(self.faults)[number % len(self.faults)]
                fails, resume = self.dice.random() < 0.15, self.dice.random() < 0.6
                shares[number % BOXES].append(Run(f"run{number}", boxes[number % BOXES], fault, fails, resume))
            with ThreadPoolExecutor(BOXES) as pool:
                list(pool.map(self._run_all, shares))
        finally:
            self.boxes.end()

    def _run_all(self, runs: list[Run]) -> None:
        for run in runs:
            try:
                self.faults[run.fault](run)
                self._conclude(run)
            except Exception as error:  # noqa: BLE001 - the other runs go on, and this one is told of
                self.flaws.append(Flaw(LOST, f"{run.name} ({run.fault}): {type(error).__name__}: {error}"))
            self.runs.append(run)
        # Here, because a box that this thread has rebooted ends with this thread.
        for box in {run.box.name: run.box for run in runs}.values():
            self._check_box(box)

    # ---- the program

    def _call(self, *words: object, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "dogwatch", *map(str, words)]
        return subprocess.run(
            argv, env=self.env, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL
        )

    def _words(self, run: Run) -> list[str]:
        ending = "exit 3" if run.fails else ":"
        words = ["run", "--on", run.box.name, "--detach", "--name", run.name]
        words += ["--output", f"{HOME}/out/{run.name}/*", "--on-reboot", "resume" if run.resume else "leave"]
        for stage, command in (("train", TRAIN), ("eval", EVAL)):
            words += ["--stage", f"{stage}: {command.format(name=run.name, ending=ending)}"]
        return words

    def _send(self, run: Run) -> None:
        """As a person would: the same command again until it says that the chain was started."""
        for _ in range(TRIES):
            sent = self._call(*self._words(run))
            if sent.returncode == 0:
                return
        raise AssertionError(f"it could not be started: {sent.stderr[-300:]}")

    def _start_sender(self, run: Run) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-m", "dogwatch", *self._words(run)]
        null = subprocess.DEVNULL
        return subprocess.Popen(argv, env=self.env, stdin=null, stdout=null, stderr=null)

    # ---- the faults

    def _nothing(self, run: Run) -> None:
        self._send(run)

    def _cut_while_sending(self, run: Run) -> None:
        sender = self._start_sender(run)
        time.sleep(self.dice.uniform(0.2, 2.5))
        run.box.cut()
        time.sleep(2)
        run.box.restore()
        if sender.wait(timeout=150) != 0:
            self._send_if_unknown(run)

    def _kill_sender(self, run: Run) -> None:
        sender = self._start_sender(run)
        time.sleep(self.dice.uniform(0.2, 2.5))
        sender.kill()
        sender.wait()
        self._send_if_unknown(run)

    def _send_if_unknown(self, run: Run) -> None:
        """Whoever finds that it is not known, or still being sent, gives the same command again."""
        job = self._job(run)
        if job is None or job["state"] == "waiting":
            self._send(run)

    def _kill_supervisor(self, run: Run) -> None:
        self._send(run)
        time.sleep(self.dice.uniform(0.0, 3.0))
        (directory,) = run.directories()
        with contextlib.suppress(OSError, ValueError, KeyError):
            owner = json.loads((directory / "lock" / "owner.json").read_text())
            run.box.run("kill", "-KILL", owner["pid"], check=False)

    def _kill_stage(self, run: Run) -> None:
        self._send(run)
        time.sleep(self.dice.uniform(0.0, 4.0))
        (directory,) = run.directories()
        for start in directory.glob("stage-*.start.json"):
            with contextlib.suppress(OSError, ValueError, KeyError):
                run.box.run("kill", "-KILL", json.loads(start.read_text())["pid"], check=False)

    def _reboot(self, run: Run) -> None:
        self._send(run)
        time.sleep(self.dice.uniform(0.0, 4.0))
        run.box.reboot()

    def _reset(self, run: Run) -> None:
        self._send(run)
        for _ in range(3):
            run.box.reset()
            time.sleep(self.dice.uniform(0.1, 1.0))

    def _kill_watcher(self, run: Run) -> None:
        self._send(run)
        watcher = subprocess.Popen(
            [sys.executable, "-m", "dogwatch", "wait", run.name, "--timeout", "60s"],
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(self.dice.uniform(0.3, 4.0))
        watcher.kill()
        watcher.wait()

    # ---- what came of it

    def _job(self, run: Run) -> dict[str, Any] | None:
        listed = json.loads(self._call("ls", "--all", "--json", "--no-poll").stdout)["jobs"]
        named = [job for job in listed if job["name"] == run.name]
        if len(named) > 1:
            self.flaws.append(Flaw(WRONG, f"{run.name} ({run.fault}): it is listed {len(named)} times"))
        return named[0] if named else None

    def _conclude(self, run: Run) -> None:
        wait_until(lambda: not self._alive(run), timeout=120, pause=0.3)
        if run.fault == "the box is rebooted" and run.resume:
            wait_until(lambda: run.attempts > 1 or (run.finished or run.fails), timeout=60, pause=0.3)
            wait_until(lambda: not self._alive(run), timeout=120, pause=0.3)
        for _ in range(TRIES):
            self._call("patrol")
            job = self._job(run)
            if job is not None and job["state"] == "ended" and self._is_settled(run, job):
                break
            time.sleep(1)
        if job is None:
            self.flaws.append(Flaw(LOST, f"{run.name} ({run.fault}): nobody knows it"))
            return
        run.document = job
        self._check(run, job)

    def _is_settled(self, run: Run, job: dict[str, Any]) -> bool:
        return bool(job["outcome"] in GOOD) == (run.finished and not run.fails)

    def _alive(self, run: Run) -> bool:
        return any(run.name in line for line in run.box.processes())

    def _check(self, run: Run, job: dict[str, Any]) -> None:
        about, outcome = f"{run.name} ({run.fault})", job["outcome"] or job["state"]
        if outcome in GOOD and not run.finished:
            self.flaws.append(Flaw(WRONG, f"{about}: called {outcome}, and it never finished"))
        if job["state"] != "ended":
            self.flaws.append(Flaw(WRONG, f"{about}: nothing of it runs, and it is called {outcome}"))
        elif run.finished and outcome not in GOOD and run.fault != "the supervisor is killed":
            self.flaws.append(Flaw(WRONG, f"{about}: it finished and is called {outcome} ({job['reason']})"))
        if len(run.directories()) > 1:
            self.flaws.append(Flaw(WRONG, f"{about}: {len(run.directories())} chains were started"))
        for stage in ("train", "eval"):
            if run.begun(stage) > max(1, run.attempts):
                self.flaws.append(Flaw(WRONG, f"{about}: stage {stage} ran {run.begun(stage)} times"))
        if outcome in GOOD:
            self._fetch(run)

    def _fetch(self, run: Run) -> None:
        target = self.place / "fetched" / run.name
        words = ["fetch", run.name, "--to", str(target)]
        if run.fault in ("the fetcher is killed", "the link is cut while it is fetched"):
            fetcher = subprocess.Popen(
                [sys.executable, "-m", "dogwatch", *words],
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            time.sleep(self.dice.uniform(0.2, 2.0))
            if run.fault == "the fetcher is killed":
                fetcher.kill()
            else:
                run.box.cut()
                time.sleep(2)
                run.box.restore()
            fetcher.wait(timeout=150)
        last = None
        for _ in range(TRIES):
            last = self._call(*words)
            if last.returncode == 0:
                break
        results = list(target.rglob("result.txt"))
        if last is None or last.returncode or [path.read_text().strip() for path in results] != [run.name]:
            words_of_it = last.stderr[-200:] if last else ""
            self.flaws.append(Flaw(LOST, f"{run.name} ({run.fault}): its result was not fetched: {words_of_it}"))
        else:
            self.fetched += 1

    def _check_box(self, box: Box) -> None:
        """Nothing is left but run directories and hooks for a reboot, each of which the handbook names."""
        with contextlib.suppress(AssertionError):  # what stays is told of below
            wait_until(lambda: not box.processes(), timeout=30, pause=0.5)
        left = [*box.processes(), *box.sh("tmux ls 2>/dev/null || true").splitlines()]
        self.flaws += [Flaw(LEFT, f"{box.name}: {line}") for line in left]
        book = self._call("handbook").stdout
        hooks = [line for line in box.sh("crontab -l 2>/dev/null || true").splitlines() if line.strip()]
        named = [path.name for path in box.home.glob(".dogwatch/runs/*")] + [line.split()[-1] for line in hooks]
        self.flaws += [Flaw(LEFT, f"{box.name}: {name} is not in the handbook") for name in named if name not in book]


def report(storm: BoxStorm, took: float) -> str:
    """The figures of a storm in lines."""
    outcomes = Counter(run.document.get("outcome") or "not ended" for run in storm.runs)
    finished = sum(run.finished for run in storm.runs)
    kinds = Counter(flaw.kind for flaw in storm.flaws)
    lines = [
        f"boxes: {len(storm.runs)} runs on {BOXES} boxes, {took:.0f} s; {finished} finished, {storm.fetched} fetched; "
        + ", ".join(f"{count} {what}" for what, count in outcomes.most_common()),
        f"boxes: lost {kinds[LOST]}, wrong {kinds[WRONG]}, left behind {kinds[LEFT]}",
    ]
    return "\n".join(lines)
