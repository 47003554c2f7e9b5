"""The supervisor of a chain in each shell that machines have as `sh`: dash, busybox and bash."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dogwatch.actions.chain.script import chain_script as script_of
from dogwatch.actions.chain.script import delivery, push_file
from dogwatch.wire.chain import Chain, Push, Stage, StartReport
from tests.support import wait_until

SHELLS = ("dash", "busybox", "bash")
NONCE = "0" * 32


class Machine:
    """A machine whose `sh` is one of the shells, without tmux; its runs are killed after the test."""

    def __init__(self, directory: Path, shell: str) -> None:
        self.runs = directory / "runs"
        self.home = directory
        tools = directory / "bin"
        tools.mkdir()
        program = shutil.which(shell)
        if program is None:
            pytest.skip(f"needs {shell}, which is not installed")
        if shell == "busybox":
            subprocess.run([program, "--install", "-s", str(tools)], check=True)
        else:
            (tools / "sh").symlink_to(program)
        self.path = str(tools) if shell == "busybox" else f"{tools}:/usr/bin:/bin"

    def start(
        self, *stages: str | Stage, run: str = "r-000000", push: Push | None = None, wait: bool = True, **more: Any
    ) -> StartReport:
        named = tuple(one if isinstance(one, Stage) else Stage(f"s{number}", one) for number, one in enumerate(stages))
        chain = Chain("r", named, cwd=str(self.home), **{"detach": "setsid", "push_way": push and push.way, **more})
        script = script_of(chain, run, 1.0)
        text = delivery(script, None if push is None else push_file(push), run, str(self.runs), NONCE)
        done = self.sh("-s", input=text)
        answer = done.stdout.partition(b"\nDOGWATCH-END")[0]
        report = json.loads(answer)
        assert len(answer) == int(done.stdout.rpartition(b" ")[2])
        return StartReport(**report)

    def sh(self, *words: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
        argv = [str(shutil.which("sh", path=self.path)), *words]
        env = {"PATH": self.path, "HOME": str(self.home), "LANG": "C.UTF-8", "run": "mine", "name": "it's"}
        done: subprocess.CompletedProcess[bytes] = subprocess.run(
            argv, env=env, capture_output=True, timeout=60, **more
        )
        return done

    def resume(self, run: str = "r-000000") -> str:
        done = self.sh(str(self.runs / run / "chain.sh"), "resume")
        return (done.stdout + done.stderr).decode()

    def read(self, name: str, run: str = "r-000000") -> dict[str, Any]:
        try:
            return json.loads((self.runs / run / name).read_bytes())
        except FileNotFoundError:
            return {}

    def end(self, run: str = "r-000000", attempt: int = 1) -> dict[str, Any]:
        wait_until(lambda: self.read("end.json", run).get("attempt") == attempt, timeout=40)
        return self.read("end.json", run)

    def log(self, stage: int = 0, run: str = "r-000000") -> str:
        return (self.runs / run / f"stage-{stage}.log").read_text()

    def kill_all(self) -> None:
        """Whatever still belongs to a run of this machine, by the directory it names."""
        for path in Path("/proc").glob("[0-9]*"):
            try:
                mine = str(self.runs).encode() in (path / "cmdline").read_bytes() + (path / "environ").read_bytes()
                if mine:
                    os.kill(int(path.name), 9)
            except (OSError, ProcessLookupError):
                continue


@pytest.fixture(params=SHELLS)
def machine(request, tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path, request.param)
    yield made
    made.kill_all()


@pytest.fixture
def dash(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path, "dash")
    yield made
    made.kill_all()


def test_stages_run_in_order_and_stop_at_the_first_that_fails(machine: Machine):
    """Each has its own log, exit code and times; what comes after a failure never begins, and has no marker."""
    report = machine.start("echo one; echo err >&2", "echo two; exit 5", "echo three")
    assert (report.started, report.attempts, report.error) == (True, 1, None)
    end = machine.end()
    assert (end["why"], end["code"], end["stage"], end["error"]) == ("failed", 5, "s1", None)
    assert (machine.log(0), machine.log(1)) == ("one\nerr\n", "two\n")
    assert machine.read("stage-0.done")["code"] == 0
    assert machine.read("stage-1.end.json")["code"] == 5
    assert not list((machine.runs / "r-000000").glob("stage-[12].done"))
    assert not (machine.runs / "r-000000" / "stage-2.log").exists()


def test_a_resume_begins_at_the_first_unfinished_stage(machine: Machine):
    """It is the next attempt, runs the resume command of the stage that was interrupted, and appends to its log."""
    failing = Stage("b", "echo first; exit 1", resume_command="echo again $DOGWATCH_ATTEMPT")
    machine.start("echo once", failing, Stage("c", "echo $DOGWATCH_STAGE", resume_command="false"))
    machine.end()
    assert "resumes at stage b as attempt 2" in machine.resume()
    assert machine.end(attempt=2)["why"] == "done"
    assert (machine.log(0), machine.log(1), machine.log(2)) == ("once\n", "first\nagain 2\n", "c\n")
    assert machine.read("stage-1.start.json")["log_from"] == len("first\n")
    assert "was not resumed: all of its stages are done" in machine.resume()


def test_a_chain_is_started_once_whoever_asks(machine: Machine):
    """Deliveries at the same moment, and one after the end, leave one attempt that ran the work once."""
    reports: list[StartReport] = []
    threads = [
        threading.Thread(target=lambda: reports.append(machine.start("echo x >> count; sleep 0.5"))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    machine.end()
    reports.append(machine.start("echo x >> count; sleep 0.5"))
    assert [report.error for report in reports] == [None] * 5
    assert (machine.home / "count").read_text() == "x\n"
    assert len(list((machine.runs / "r-000000").glob("attempt-*"))) == 1


def test_two_resumes_at_once_are_one(machine: Machine):
    """The lock is by identity: of several supervisors that find a dead owner, one goes on."""
    machine.start("echo x >> count; [ -e ready ] || sleep 600")
    wait_until(lambda: (machine.home / "count").exists())
    os.kill(machine.read("lock/owner.json")["pid"], 9)
    os.killpg(machine.read("stage-0.start.json")["pid"], 9)
    (machine.home / "ready").touch()
    answers: list[str] = []
    threads = [threading.Thread(target=lambda: answers.append(machine.resume())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    machine.end(attempt=2)
    assert (machine.home / "count").read_text() == "x\nx\n"
    assert len(list((machine.runs / "r-000000").glob("attempt-*"))) == 2


def test_a_killed_stage_is_told_as_shells_tell_it(machine: Machine):
    """128 and the signal; the chain has failed there."""
    machine.start("kill -KILL $$", "echo never")
    end = machine.end()
    assert (end["why"], end["code"]) == ("failed", 137)
    assert machine.read("stage-0.end.json")["signal"] == 9


def test_hostile_words_stay_words(machine: Machine):
    """Quotes, dollars, newlines and other alphabets in commands, names and variables arrive as they were given."""
    command = "printf '%s\\n' \"$HOSTILE\" '$(touch pwned)' `echo back` \"d'é\"\nprintf '%s' 'last \"line\" \\ x'"
    value = 'a\'b "c" $(touch pwned) `touch pwned`\n日本'
    machine.start(command, env=(("HOSTILE", value),))
    assert machine.end()["why"] == "done"
    assert machine.log() == f'{value}\n$(touch pwned)\nback\nd\'é\nlast "line" \\ x'
    assert not (machine.home / "pwned").exists()
    assert machine.read("spec.json")["stages"][0]["command"] == command
    wait_until(lambda: machine.read("heartbeat.json").get("line") == 'last "line" \\ x')


def test_what_a_stage_prints_is_cleaned_in_the_heartbeat(machine: Machine):
    """Escape sequences, carriage returns, NUL and broken UTF-8 never break its JSON or reach a terminal."""
    machine.start(r"printf 'x\n\033[2K\033]0;title\007 10%%\r 20%%|##  |\000\001\377 it\b\n'; sleep 600")
    line = wait_until(lambda: line_of_heartbeat(machine), timeout=40)
    assert line.startswith(" 20%|##  |")
    assert line.isprintable()


def line_of_heartbeat(machine: Machine) -> str:
    """What it says; it is written every 15 s, and its sleep may end earlier."""
    supervisor = machine.read("attempt-1.json").get("pid")
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            parent = (path.parent / "stat").read_text().split()[3]
            grandparent = Path(f"/proc/{parent}/stat").read_text().split()[3]
            if path.read_bytes().endswith(b"sleep\x0015\x00") and grandparent == str(supervisor):
                os.kill(int(path.parent.name), 15)
        except OSError:
            continue
    return str(machine.read("heartbeat.json").get("line", ""))


def test_a_stage_has_the_environment_of_the_start(machine: Machine):
    """Also variables that the supervisor uses itself; and its umask, which is not the one of our files."""
    machine.start("echo $name $run $DOGWATCH_RUN $PYTHONUNBUFFERED; umask")
    assert machine.end()["why"] == "done"
    first, mask = machine.log().splitlines()
    assert first == "it's mine r-000000 1"
    assert int(mask, 8) == os.umask(os.umask(0o022))


def test_nothing_is_left_of_a_chain_that_could_not_be_started(machine: Machine):
    """Its directory is taken back, and the reason is one sentence."""
    report = machine.start("true", detach="tmux") if not shutil.which("tmux", path=machine.path) else None
    if report is not None:
        assert report.error == "there is no tmux on this machine"
        assert list(machine.runs.iterdir()) == []
    machine.runs.mkdir(exist_ok=True)
    machine.runs.rmdir()
    machine.runs.write_text("in the way")
    report = machine.start("true")
    assert report.error is not None
    assert report.error.startswith("its directory cannot be made in")


def test_a_stage_that_cannot_be_recorded_is_not_run(dash: Machine):
    """Without a start record no command runs, because nobody could tell later whether it lives."""
    dash.start("echo a; mkdir runs/r-000000/stage-1.start.json", "touch ran")
    end = dash.end()
    assert end["why"] == "failed"
    assert "could not be started" in end["error"]
    assert not (dash.home / "ran").exists()
