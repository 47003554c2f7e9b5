"""How a job ended is one word, on every screen, in every alert and by the exit code."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import wait_until

OUTPUT = "{'results': [1, 2, 3]}".replace("'", '"')
COUNT = """
import os, sys, time
log, go, out, done_at, made = *sys.argv[1:4], int(sys.argv[4]), sys.argv[5]
with open(log, "a", buffering=1) as lines:
    for done in range(1, done_at + 1):
        lines.write(f"Processed {done}/100 items\\n")
        while done == done_at // 2 and not os.path.exists(go):
            time.sleep(0.05)
with open(out, "w") as file:
    file.write(made)
"""
SAY = """
import os, sys, time
log, go, last, *lines = sys.argv[1:]
sys.stderr = sys.stdout = open(log, "a", buffering=1)
for line in lines:
    print(line)
while not os.path.exists(go):
    time.sleep(0.05)
exec(last)
"""


class Others:
    """Workers that somebody else starts and reaps: nobody records how they end. They end once they are watched."""

    def __init__(self, folder: Path, spawn: Any, home: Path) -> None:
        self.logs, self.outputs, self.go, self._spawn, self._home = (
            folder / "logs",
            folder / "outputs",
            folder / "go",
            spawn,
            home,
        )
        for path in (self.logs, self.outputs):
            path.mkdir(parents=True)
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, code: str, *args: object) -> None:
        process = subprocess.Popen([sys.executable, "-c", code, *map(str, args)], stdin=subprocess.DEVNULL)
        self.started.append(process)
        threading.Thread(target=process.wait, daemon=True).start()

    def count(self, worker: int, upto: int = 100, made: str = OUTPUT) -> None:
        """One that counts to 100 items, or stops before, and leaves an output."""
        output = self.outputs / f"output_worker_{worker}.json"
        self.start(COUNT, self.logs / f"worker_{worker}.log", self.go, output, upto, made)

    def say(self, worker: int, *lines: str, last: str = "") -> None:
        """One that writes these lines to its log, and then does what `last` says."""
        self.start(SAY, self.logs / f"worker_{worker}.log", self.go, last, *lines)

    def watched(self, *more: str) -> tuple[int, str]:
        """The exit code of the watching and what it said."""
        pids = [str(process.pid) for process in self.started]
        where = ["--log-dir", str(self.logs), "--check-interval", "1"]
        watching = self._spawn("watch", "--job-name", "crew", *where, *more, "--pid", *pids)
        shown = self._home.parent / "spawn-0.out"
        wait_until(lambda: "running" in shown.read_text() or "items" in shown.read_text(), timeout=40)
        self.go.touch()
        return watching.wait(40), shown.read_text()


@pytest.fixture
def crew(tmp_path: Path, spawn: Any, home: Path) -> Iterator[Others]:
    made = Others(tmp_path / "crew", spawn, home)
    yield made
    for process in made.started:
        process.kill()


@pytest.fixture
def same_everywhere(dogwatch) -> Callable[[str, str, int], str]:
    """Every way to ask gives this word and this exit code; returns what `why` says."""

    def ask(name: str, word: str, code: int) -> str:
        waited = dogwatch("wait", name, "--timeout", "20")
        assert waited.returncode == code, waited.stdout
        why = dogwatch("why", name).stdout
        for told in (waited.stdout, dogwatch("ls", "--all").stdout, dogwatch("status", name).stdout, why):
            assert word in told, (word, told)
            assert word == "succeeded" or "succeeded" not in told, told
        assert word in dogwatch("report", name).stdout
        return why

    return ask


@pytest.mark.parametrize("items", [[], ["--total-items", "200"]], ids=["outputs", "outputs and items"])
def test_foreign_workers_that_left_what_was_declared_completed(dogwatch, crew, same_everywhere, items):
    """Nobody recorded their exit codes, the outputs are intact: exit 0, whether or not the items were declared too."""
    crew.count(0)
    crew.count(1)
    code, told = crew.watched("--num-workers", "2", "--output-dir", str(crew.outputs), *items)
    assert code == 0, told
    assert "completed, exit status unknown" in told
    same_everywhere("crew", "completed", 0)


def test_foreign_workers_that_stopped_short_are_incomplete(dogwatch, crew, same_everywhere):
    """185 of 200 items is not done, however intact the outputs are."""
    crew.count(0)
    crew.count(1, upto=85)
    code, told = crew.watched("--num-workers", "2", "--output-dir", str(crew.outputs), "--total-items", "200")
    assert code == 1, told
    assert "185 of 200 items" in told
    same_everywhere("crew", "incomplete", 1)


def test_a_log_that_stops_short_of_its_own_total_is_incomplete(dogwatch, crew, same_everywhere):
    """Nobody declared the items, and the outputs are intact; the log itself says that 15 of 100 are missing."""
    crew.count(0, upto=85)
    assert crew.watched("--output-dir", str(crew.outputs))[0] == 1
    assert "85 of 100 items" in same_everywhere("crew", "incomplete", 1)


def test_a_damaged_output_of_a_foreign_worker_is_incomplete(dogwatch, crew, same_everywhere):
    """All items were counted, and the file that should hold them ends in its middle."""
    crew.count(0, made=OUTPUT[:-8])
    code, told = crew.watched("--output-dir", str(crew.outputs), "--total-items", "100")
    assert code == 1, told
    assert "output_worker_0.json" in same_everywhere("crew", "incomplete", 1)


def test_a_foreign_worker_that_left_a_traceback_failed(dogwatch, crew, same_everywhere):
    """Its exit code is not known, and its log ends with an exception that nobody caught."""
    crew.say(0, "loading the model", last="raise ValueError('labels must be in range')")
    code, told = crew.watched()
    assert code == 1, told
    assert "labels must be in range" in told
    assert "ValueError" in same_everywhere("crew", "failed", 1)


def test_a_foreign_worker_of_which_nothing_is_known_is_unknown(dogwatch, crew, same_everywhere):
    """Nothing declared, nothing in its log: it ended, and that is all that can be said; exit 1."""
    crew.say(0, "hello")
    code, told = crew.watched()
    assert code == 1, told
    assert "outcome unknown" in told
    same_everywhere("crew", "unknown", 1)


def test_a_log_that_says_it_is_done_is_enough_where_nothing_was_declared(dogwatch, crew, same_everywhere):
    """Its own last words are evidence, and that its exit status is unknown is said with them."""
    crew.say(0, "step 1", "step 2", "Training complete")
    code, told = crew.watched()
    assert code == 0, told
    same_everywhere("crew", "completed", 0)


def test_one_worker_of_two_that_says_it_is_done_is_not_enough(dogwatch, crew, same_everywhere):
    """The other one vanished without a word."""
    crew.say(0, "Processed 5/10 items", "Processed 10/10 items", "Processing complete")
    crew.say(1, "Processed 5/10 items", last="import os; os.kill(os.getpid(), 9)")
    assert crew.watched("--num-workers", "2")[0] == 1
    same_everywhere("crew", "incomplete", 1)


def test_a_success_whose_output_is_empty_is_incomplete(dogwatch, receiver, tmp_path, same_everywhere):
    """Exit code 0 and an empty file: nothing says that it succeeded, and the one alert about its end is critical."""
    added = dogwatch("alerts", "add", "webhook", receiver.url, "--levels", "critical,warning,info")
    assert added.returncode == 0, added.stderr
    out = tmp_path / "out.jsonl"
    ran = dogwatch("run", "--name", "empty", "--output", out, "--", "sh", "-c", f": > {out}")
    assert ran.returncode == 1, ran.stdout
    assert "empty" in same_everywhere("empty", "incomplete", 1)
    dogwatch("patrol")
    wait_until(lambda: "empty" in receiver.names())
    told = [job for got in receiver.got for job in got.json["jobs"] if job["name"] == "empty"]
    assert [job["level"] for job in told if job["rule"] != "started"] == ["critical"], told


def test_a_success_that_is_verified_succeeded(dogwatch, tmp_path, same_everywhere):
    """Exit codes known, outputs intact: succeeded, exit 0."""
    out = tmp_path / "out.jsonl"
    script = f"echo '{{\"a\": 1}}' > {out}"
    ran = dogwatch("run", "--name", "good", "--output", out, "--", "sh", "-c", script)
    assert ran.returncode == 0, ran.stdout
    same_everywhere("good", "succeeded", 0)


def test_an_exit_code_of_a_kept_job_decides(dogwatch, tmp_path, same_everywhere):
    """Exit code 3 is a failure, also where the outputs are intact."""
    out = tmp_path / "out.jsonl"
    script = f"echo '{{\"a\": 1}}' > {out}; exit 3"
    ran = dogwatch("run", "--name", "bad", "--output", out, "--", "sh", "-c", script)
    assert ran.returncode == 1, ran.stdout
    same_everywhere("bad", "failed", 1)


DIES_SLOWLY = """
import os, sys, time
try:
    raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
finally:
    import traceback
    traceback.print_exc()
    sys.stderr.flush()
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.05)
    os._exit(1)
"""


def test_the_cause_is_known_though_one_patrol_read_it_and_the_next_saw_the_exit(dogwatch, tmp_path):
    """A program that dies slowly (other ranks, a profiler): its traceback comes minutes before its exit code."""
    go = tmp_path / "go"
    ref = dogwatch("run", "--detach", "--name", "slow", "--", sys.executable, "-c", DIES_SLOWLY, go).stdout.strip()
    wait_until(lambda: "CUDA out of memory" in dogwatch("logs", "slow").stdout)
    assert dogwatch("patrol").returncode == 0
    assert dogwatch("patrol").returncode == 0
    go.touch()
    watched = dogwatch("watch", ref)
    assert watched.returncode == 1
    assert "the GPU ran out of memory" in watched.stdout
    assert "CUDA out of memory. Tried to allocate 2.00 GiB" in dogwatch("why", ref).stdout
