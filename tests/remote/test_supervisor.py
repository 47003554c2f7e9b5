"""The supervisor, with real processes and real signals: whatever befalls it or its launcher, the job goes on."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dogwatch.actions.launch import start
from tests.remote.runs import alive, keep, ready, record, shell, started_pids, until
from tests.support import wait_until

LAUNCH_AND_STAY = """
import sys, time
from dogwatch.actions.launch import Run, start
start(Run("r", sys.argv[1], ("log",)))
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("script", "code", "signalled"),
    [
        ("exit 0", 0, None),
        ("exit 3", 3, None),
        ("exit 137", 137, None),
        ("kill -SEGV $$", None, signal.SIGSEGV),
        ("kill -TERM $$", None, signal.SIGTERM),
    ],
)
def test_how_a_worker_ended_is_recorded(home, script, code, signalled):
    """An exit code is a code and a signal is a signal; neither is dressed up as the other."""
    run = shell(home, script)
    (pid,) = started_pids(run)
    end = record(run, "worker-0.end.json")
    began = record(run, "worker-0.start.json")
    assert (end["code"], end["signal"]) == (code, signalled)
    assert (end["pid"], end["start"], end["run"], end["worker"]) == (pid, began["start"], run.id, 0)
    assert end["at"] >= began["at"]
    assert end["max_rss_bytes"] > 0
    assert end["cpu_user"] + end["cpu_system"] >= 0


def test_a_start_record_names_the_process_for_good(home):
    """Pid, start time and boot id are those that /proc shows of the running worker."""
    run = ready(home, "sleep", "60")
    (pid,) = started_pids(run)
    began = record(run, "worker-0.start.json")
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    assert (began["pid"], began["start"]) == (pid, int(fields[19]))
    assert began["boot"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert Path(f"/proc/{pid}/cmdline").read_bytes() == b"sleep\x0060\x00"
    assert os.getsid(pid) == pid


def test_sigkill_without_evidence_is_only_sigkill(home):
    """A worker killed by hand has no memory evidence: the number 9 alone proves nothing."""
    run = ready(home, "sleep", "60")
    (pid,) = started_pids(run)
    os.kill(pid, signal.SIGKILL)
    end = record(run, "worker-0.end.json")
    assert (end["code"], end["signal"]) == (None, signal.SIGKILL)
    assert end["oom"]["kernel_log"] is None
    assert end["oom"]["counter"] in (0, None)


def test_the_supervisor_leaves_when_the_last_worker_ended(home):
    """Workers that end at different times each get their record, and then the supervisor is gone."""
    run = shell(home, "exit $DOGWATCH_WORKER", workers=4)
    pid = start(run).supervisor_pid
    assert [record(run, f"worker-{k}.end.json")["code"] for k in range(4)] == [0, 1, 2, 3]
    wait_until(lambda: not alive(pid))


def test_signals_do_not_move_the_supervisor(home, tmp_path):
    """SIGTERM, SIGHUP, SIGINT and SIGQUIT leave the supervisor at its post, and the exit code is kept."""
    run = shell(home, until(tmp_path / "go", "exit 7"))
    started = start(run)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        os.kill(started.supervisor_pid, number)
    assert not os.path.exists(run.directory + "/worker-0.end.json")
    (tmp_path / "go").touch()
    assert record(run, "worker-0.end.json")["code"] == 7


def test_killing_the_launchers_whole_group_does_not_reach_the_job(home, tmp_path):
    """The launcher's process group dies of SIGKILL; supervisor and worker are in sessions of their own."""
    run = shell(home, until(tmp_path / "go", "exit 7"))
    command = [sys.executable, "-c", LAUNCH_AND_STAY, run.directory]
    with subprocess.Popen(command, start_new_session=True) as launcher:
        began = record(run, "worker-0.start.json")
        os.killpg(launcher.pid, signal.SIGKILL)
    assert alive(began["pid"])
    (tmp_path / "go").touch()
    assert record(run, "worker-0.end.json")["code"] == 7


def test_closing_the_terminal_does_not_reach_the_job(home, tmp_path):
    """When the terminal hangs up, the worker works on and its exit code is recorded."""
    run = shell(home, until(tmp_path / "go", "exit 7"))
    launcher, terminal = pty.fork()
    if launcher == 0:
        os.execv(sys.executable, [sys.executable, "-c", LAUNCH_AND_STAY, run.directory])
    began = record(run, "worker-0.start.json")
    os.close(terminal)
    assert os.WTERMSIG(os.waitpid(launcher, 0)[1]) == signal.SIGHUP
    assert alive(began["pid"])
    (tmp_path / "go").touch()
    assert record(run, "worker-0.end.json")["code"] == 7


def test_a_killed_supervisor_leaves_the_worker_running(home):
    """SIGKILL of the supervisor takes no worker with it, and nobody invents an end for it."""
    run = ready(home, "sleep", "60", workers=2)
    started = start(run)
    os.kill(started.supervisor_pid, signal.SIGKILL)
    wait_until(lambda: not alive(started.supervisor_pid))
    assert [alive(pid) for pid in started.worker_pids if pid] == [True, True]
    os.kill(started.worker_pids[0] or 0, signal.SIGTERM)
    wait_until(lambda: not alive(started.worker_pids[0] or 0))
    assert not os.path.exists(run.directory + "/worker-0.end.json")


def test_a_worker_that_goes_to_the_background_has_ended(home, tmp_path):
    """The record is of the process that was started; a child it left behind delays nothing."""
    run = shell(home, f"sleep 60 & echo $! > {tmp_path}/left; exit 4")
    supervisor_pid = start(run).supervisor_pid
    try:
        assert record(run, "worker-0.end.json")["code"] == 4
        wait_until(lambda: not alive(supervisor_pid))
    finally:
        os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)


def test_a_worker_starts_with_a_clean_slate(home):
    """Ignored and blocked signals, open files and the supervisor's umask do not reach the worker."""
    seen = "grep -E '^Sig(Blk|Ign)' /proc/self/status; umask; ls /proc/$$/fd; readlink /proc/$$/fd/0; exit 6"
    run = shell(home, seen)
    leak, other = os.pipe()

    def spoil() -> None:
        os.umask(0o027)
        for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGUSR1):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR2])

    report = keep(run, pass_fds=[leak, other], preexec_fn=spoil)
    os.close(leak)
    os.close(other)
    assert report["errors"] == {}
    assert record(run, "worker-0.end.json")["code"] == 6
    said = Path(run.logs[0]).read_text().split()
    # make starts programs with 32 and 33 ignored, which belong to libc and which it lets nobody change.
    ignored = int(said.pop(3), 16) & ~(0b11 << 31)
    assert ignored == 0
    assert said == ["SigBlk:", "0" * 16, "SigIgn:", "0027", "0", "1", "2", "/dev/null"]
    for name in os.listdir(run.directory):
        assert os.stat(f"{run.directory}/{name}").st_mode & 0o777 == 0o600, name


def test_a_spec_may_carry_the_users_umask(home):
    """A launcher that lives under umask 077 can still give the worker its user's own."""
    run = ready(home, "sh", "-c", "umask", umask=0o002)
    start(run)
    record(run, "worker-0.end.json")
    assert Path(run.logs[0]).read_text() == "0002\n"


def test_a_log_is_appended_to(home):
    """What a log already holds stays in front of what the worker writes."""
    run = shell(home, "echo second")
    Path(run.logs[0]).write_text("first\n")
    start(run)
    record(run, "worker-0.end.json")
    assert Path(run.logs[0]).read_text() == "first\nsecond\n"


def test_a_log_that_is_a_link_is_not_followed(home, tmp_path):
    """A planted link makes that worker fail; the file it points to is not touched."""
    run = shell(home, "echo harm")
    os.symlink(tmp_path / "precious", run.logs[0])
    assert "worker-0.log" in start(run).errors[0]
    assert record(run, "worker-0.end.json")["code"] == 127
    assert not (tmp_path / "precious").exists()


def test_a_cwd_that_vanished_is_an_error_of_the_worker(home, tmp_path):
    """The directory was there when the run was prepared and is not any more."""
    place = tmp_path / "place"
    place.mkdir()
    run = ready(home, "sh", "-c", "exit 0", cwd=str(place))
    place.rmdir()
    assert start(run).errors == {0: f"{place}: No such file or directory"}
    assert record(run, "worker-0.start.json")["error"] == f"{place}: No such file or directory"


def test_a_removed_run_directory_does_not_hold_the_supervisor(home, tmp_path):
    """With nobody left to read the record, the supervisor leaves instead of retrying for ever."""
    run = shell(home, until(tmp_path / "go", "exit 0"))
    supervisor_pid = start(run).supervisor_pid
    shutil.rmtree(run.directory)
    (tmp_path / "go").touch()
    wait_until(lambda: not alive(supervisor_pid))
