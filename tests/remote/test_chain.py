"""The supervisor of a chain in the shells that machines have as `sh`: dash and busybox, and once bash."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dogwatch.wire.chain import After, Stage, StartReport
from tests.remote.chain_machine import Machine
from tests.support import wait_until

SHELLS = ("dash", "busybox")


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


def test_bash_as_sh_does_the_same(tmp_path: Path):
    """Fedora's sh is bash, also in its mode of POSIX."""
    machine = Machine(tmp_path, "bash")
    failing = Stage("b", "echo first; kill -TERM $$", resume_command="echo again")
    machine.start("echo one", failing)
    assert machine.end()["code"] == 143
    assert "resumes at stage b as attempt 2" in machine.resume()
    assert machine.end(attempt=2)["why"] == "done"
    assert machine.log(1) == "first\nagain\n"
    machine.kill_all()


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


def test_a_stage_that_outlived_its_supervisor_is_waited_for(machine: Machine):
    """No second one beside it, and no success: its exit code is unknown."""
    machine.start("echo x >> count; while [ ! -e go ]; do sleep 0.1; done", "echo after")
    wait_until(lambda: (machine.home / "count").exists())
    os.kill(machine.read("lock/owner.json")["pid"], 9)
    assert "resumes at stage s0 as attempt 2" in machine.resume()
    assert "it is running" in machine.resume()
    (machine.home / "go").touch()
    end = machine.end(attempt=2)
    assert (end["why"], end["code"]) == ("unknown", None)
    assert (machine.home / "count").read_text() == "x\n"
    assert not list((machine.runs / "r-000000").glob("stage-*.done"))


def test_a_cancelled_stage_is_ended_by_the_supervisor(machine: Machine):
    """With all of its session; SIGTERM without cancelled.json leaves both as they are, as at a shutdown."""
    machine.start("sleep 600 & echo $! > child; wait; true", "echo never")
    wait_until(lambda: (machine.home / "child").exists() and (machine.home / "child").read_text())
    (machine.runs / "r-000000" / "cancelled.json").write_text("{}")
    os.kill(machine.read("lock/owner.json")["pid"], signal.SIGTERM)
    assert machine.end()["why"] == "cancelled"
    child = int((machine.home / "child").read_text())
    wait_until(lambda: not Path(f"/proc/{child}/exe").exists())


def test_a_stage_waits_for_a_file_and_a_line(machine: Machine):
    """The line is looked for in the run's own logs, as it is, not as a pattern."""
    later = Stage("b", "echo b", after=(After("file", "da ta"), After("line", "a.c [x]")))
    machine.start("echo abc x; (while [ ! -e go ]; do sleep 0.1; done; echo 'a.c [x]') & true", later)
    wait_until(lambda: machine.read("stage-1.waits.json").get("for") == "file da ta")
    (machine.home / "da ta").touch()
    wait_until(lambda: machine.read("stage-1.waits.json").get("for") == "line a.c [x]")
    (machine.home / "go").touch()
    assert machine.end()["why"] == "done"


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
