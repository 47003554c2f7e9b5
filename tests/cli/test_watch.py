"""`dogwatch watch` in its classic form: attaching to workers that somebody else started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tests.support import jobs, wait_until

WORKER = """
import sys, time
name, index, seconds, items, log, out = sys.argv[1], *sys.argv[2:]
with open(log, "a", buffering=1) as log, open(out, "a", buffering=1) as out:
    for done in range(1, int(items) + 1):
        time.sleep(float(seconds) / int(items))
        log.write(f"Processed {done}/{items} items\\n")
        out.write("{}\\n")
"""


class Crew:
    """Real workers started by somebody else, in the classic layout."""

    def __init__(self, folder: Path) -> None:
        self.name = f"crew{uuid.uuid4().hex[:8]}"
        self.logs, self.outputs, self.script = folder / "logs", folder / "outputs", folder / "worker.py"
        self.workers: list[subprocess.Popen[bytes]] = []
        for path in (self.logs, self.outputs):
            path.mkdir()
        self.script.write_text(WORKER)

    def start(self, count: int, seconds: float = 2.0, items: int = 10) -> None:
        for i in range(count):
            files = [str(self.logs / f"worker_{i}.log"), str(self.outputs / f"output_worker_{i}.json")]
            argv = [sys.executable, str(self.script), self.name, str(i), str(seconds), str(items), *files]
            self.workers.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL))

    @property
    def pids(self) -> list[int]:
        return [worker.pid for worker in self.workers]

    def flags(self, *more: str) -> list[str]:
        where = ["--output-dir", str(self.outputs), "--log-dir", str(self.logs)]
        return ["watch", "--job-name", self.name, *where, "--check-interval", "1", *more]


@pytest.fixture
def crew(tmp_path: Path):
    folder = tmp_path / "crew"
    folder.mkdir()
    made = Crew(folder)
    yield made
    for worker in made.workers:
        worker.kill()
        worker.wait()


def reaped(crew: Crew) -> None:
    for worker in crew.workers:
        worker.wait(20)


def only_job(dogwatch) -> dict:
    (job,) = jobs(dogwatch).values()
    return job


def test_workers_found_by_name_are_watched_to_a_verified_end(dogwatch, spawn, crew: Crew) -> None:
    """Nobody recorded their exit codes, and what they made is evidence enough for exit 0: completed."""
    crew.start(2)
    watching = spawn(*crew.flags("--num-workers", "2", "--total-items", "20"))
    reaped(crew)
    assert watching.wait(30) == 0
    job = only_job(dogwatch)
    assert (job["state"], job["outcome"], job["ended_as"]) == ("ended", "completed", "unknown")
    assert job["progress"]["step"] == 20
    assert job["verified"]["ok"] is True
    assert len(job["workers"]) == 2


def test_too_few_items_is_not_a_success(spawn, crew: Crew) -> None:
    """`completed, but only 20 of 40` is exit code 1."""
    crew.start(2, seconds=4.0)
    watching = spawn(*crew.flags("--num-workers", "2", "--total-items", "40"))
    reaped(crew)
    assert watching.wait(30) == 1


def test_workers_are_found_by_their_pid_file(dogwatch, spawn, crew: Crew) -> None:
    """worker_pids.txt in the log directory is taken before any name."""
    crew.start(3, seconds=60)
    (crew.logs / "worker_pids.txt").write_text(" ".join(map(str, crew.pids)))
    spawn(*crew.flags("--num-workers", "3"))
    wait_until(lambda: json.loads(dogwatch("ls", "--json").stdout)["jobs"])
    wait_until(lambda: only_job(dogwatch)["state"] == "running")
    job = only_job(dogwatch)
    assert [worker["pid"] for worker in job["workers"]] == crew.pids


def test_workers_that_come_late_are_gathered_and_ones_that_never_come_are_a_failed_launch(
    dogwatch, spawn, crew: Crew
) -> None:
    """Watching may begin before the workers do."""
    watching = spawn(*crew.flags("--num-workers", "2", "--launch-timeout", "4"))
    wait_until(lambda: json.loads(dogwatch("ls", "--json").stdout)["jobs"])
    assert wait_until(lambda: only_job(dogwatch)["state"]) == "waiting"
    assert watching.wait(30) == 1
    assert only_job(dogwatch)["findings"][0]["rule"] == "launch_failed"


def test_a_stall_beyond_the_limit_given_ends_the_watch_with_1(spawn, crew: Crew) -> None:
    """The job itself is left alone."""
    crew.start(1, seconds=300, items=2)
    watching = spawn(*crew.flags("--num-workers", "1", "--stall-timeout", "3"))
    assert watching.wait(40) == 1
    assert crew.workers[0].poll() is None


def test_ctrl_c_stops_the_watching_and_never_the_job(dogwatch, spawn, crew: Crew) -> None:
    """Exit code 130, and the workers work on, which is said."""
    crew.start(1, seconds=60)
    watching = spawn(*crew.flags("--num-workers", "1"), stderr=subprocess.PIPE)
    wait_until(lambda: json.loads(dogwatch("ls", "--json").stdout)["jobs"])
    wait_until(lambda: only_job(dogwatch)["state"] == "running")
    watching.send_signal(signal.SIGINT)
    _, said = watching.communicate(timeout=10)
    assert watching.returncode == 130
    assert f"{only_job(dogwatch)['ref']} keeps running, not watched; start a watcher: dogwatch daemon" in said
    assert crew.workers[0].poll() is None


def test_ctrl_c_while_the_watching_only_begins_says_the_same(dogwatch, spawn, crew: Crew) -> None:
    """The job is known from the moment it is registered, before anything has been shown of it."""
    crew.start(1, seconds=60)
    watching = spawn(*crew.flags("--num-workers", "1"), stderr=subprocess.PIPE)
    first = watching.stderr.readline()
    watching.send_signal(signal.SIGINT)
    _, said = watching.communicate(timeout=10)
    assert "watching here/process:" in first
    assert "keeps running, not watched; start a watcher: dogwatch daemon" in said


def test_a_config_file_says_the_same_as_the_flags(dogwatch, spawn, crew: Crew, tmp_path: Path) -> None:
    """The classic YAML sections, with the owner's own patterns."""
    config = tmp_path / "job.yaml"
    config.write_text(
        f"""
job: {{name: {crew.name}, num_workers: 1, gpu_ids: [3], total_items: 10}}
paths: {{output_dir: {crew.outputs}, log_dir: {crew.logs}}}
patterns: {{output: "output_worker_*.json", logs: "worker_*.log"}}
monitoring: {{check_interval: 1, launch_timeout: 30}}
progress_patterns: {{items_processed: 'Processed (\\d+)/(\\d+) items'}}
error_patterns:
  - {{pattern: 'Processed 7/', severity: warning}}
alerts: {{terminal: {{enabled: true, refresh_rate: 1}}}}
"""
    )
    crew.start(1, seconds=3)
    watching = spawn("watch", "--config", str(config))
    reaped(crew)
    assert watching.wait(30) == 0
    job = only_job(dogwatch)
    assert job["workers"][0]["gpu"] == "3"
    assert [(f["rule"], f["text"]) for f in job["findings"] if f["rule"] == "error_pattern"] == [
        ("error_pattern", "the log says: Processed 7/10 items")
    ]


@pytest.mark.parametrize(
    ("yaml", "words"),
    [
        ("job: {name: x, name: y}", "name"),
        ("job: !!python/object:os.system {}", "tag"),
        ("jobs: {name: x}", "job"),
        ("job: {name: x}\nprogress_patterns: {a: '(unclosed'}", "progress_patterns.a"),
        ("job: {name: x}\nprogress_patterns: {a: 'no group'}", "group"),
        ("job: {name: x}\nprogress_patterns: {a: '(x)(?=y)'}", "lookaround"),
        ("job: {name: x}\npaths: {output_dir: /no/such/dir}", "/no/such/dir"),
        ("job: {name: x}\nalerts: {slack: {enabled: true}}", "webhook"),
        ("job: {name: x}\nalerts: {email: {address: 'a b'}}", "e-mail address"),
    ],
)
def test_a_bad_config_is_refused_in_one_sentence_and_registers_nothing(
    dogwatch, tmp_path: Path, yaml: str, words: str
) -> None:
    """It names the file, the key and the remedy."""
    config = tmp_path / "bad.yaml"
    config.write_text(yaml)
    done = dogwatch("watch", "--config", str(config))
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert words in done.stderr
    assert json.loads(dogwatch("ls", "--all", "--json").stdout)["jobs"] == []


@pytest.mark.parametrize(
    "words",
    [
        ["--job-name", "x", "--output-dir", "/no/such/dir"],
        ["--job-name", "x", "--num-workers", "0"],
        ["--job-name", "x", "--check-interval", "soon"],
        ["--job-name", "x", "--stall-timeout", "-3"],
        ["--job-name", "x\x1b]0;owned\x07"],
        ["--job-name", "x", "--pid", "999999999"],
        ["--num-workers", "3"],
        ["--job-name", "x", "--alert-email", "nobody"],
        ["--job-name", "x", "--alert-slack", "hooks without a scheme"],
        ["--job-name", "x", "--log-pattern", "*.log"],
        ["--config", "/no/such/file.yaml"],
    ],
)
def test_bad_flags_are_refused_in_one_sentence_and_register_nothing(dogwatch, words: list[str]) -> None:
    """Exit code 2, and nothing half-registered."""
    done = dogwatch("watch", *words)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert "\x1b" not in done.stderr
    assert json.loads(dogwatch("ls", "--all", "--json").stdout)["jobs"] == []


def test_add_process_refuses_what_is_not_there_and_knows_what_it_already_watches(dogwatch, crew: Crew) -> None:
    """A second registration of the same process is the first one."""
    crew.start(1, seconds=60)
    first = dogwatch("add", "process", str(crew.pids[0]), "--name", "mine")
    assert first.returncode == 0
    again = dogwatch("add", "process", str(crew.pids[0]))
    assert again.stdout == first.stdout
    for words in (
        ["999999999"],
        ["--pidfile", "/no/such/file"],
        ["--match", "no-such-name-anywhere"],
        [],
        ["1", "--match", "x"],
    ):
        refused = dogwatch("add", "process", *words)
        assert refused.returncode == 2, words
        assert len(refused.stderr.strip().splitlines()) == 1
    assert only_job(dogwatch)["name"] == "mine"


def test_a_worker_that_vanished_without_a_record_is_never_a_success(dogwatch, crew: Crew) -> None:
    """Ended, outcome unknown, exit code 1."""
    crew.start(1, seconds=60)
    dogwatch("add", "process", str(crew.pids[0]), "--name", "mine")
    dogwatch("patrol")
    os.kill(crew.pids[0], signal.SIGKILL)
    reaped(crew)
    assert dogwatch("wait", "mine", "--timeout", "20").returncode == 1
    assert only_job(dogwatch)["outcome"] == "unknown"
