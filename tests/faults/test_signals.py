"""Pipes that close and signals that come: every verb leaves in order, and no job notifications."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.faults.scene import children, events, gated, jobs, watcher
from tests.support import wait_until

DOGWATCH = shlex.join([sys.executable, "-m", "dogwatch"])


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Run a pipeline in bash, in a home where a talkative job has ended; its exit code is that of dogwatch,
    the first program in it."""
    home = tmp_path_factory.mktemp("pipes") / "home"
    environment = {**os.environ, "DOGWATCH_HOME": str(home)}

    def run(line: str) -> subprocess.CompletedProcess[str]:
        script = f'{line.replace("dogwatch", DOGWATCH)}; exit "${{PIPESTATUS[0]}}"'
        return subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=30)

    assert run("dogwatch run --name job -- sh -c 'yes | head -c 1000000'").returncode == 0
    return run


@pytest.mark.parametrize(
    "line",
    [
        "dogwatch events | head -1",
        "dogwatch events --json | head -c 1",
        "dogwatch ls --all | head -0",
        "dogwatch ls --all --json | head -0",
        "dogwatch status job | head -0",
        "dogwatch logs job | head -1",
        "dogwatch logs --raw job | head -c 10",
        "dogwatch --help | head -1",
        "dogwatch doctor | head -0",
        "dogwatch patrol --heartbeat | head -0",
    ],
)
def test_a_reader_that_has_had_enough_is_no_error(shell, line: str) -> None:
    """Exit code 0 and nothing on stderr, however early the pipe is closed."""
    done = shell(line)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("verb", ["ls --all", "events --json", "logs job", "patrol", "run --detach -- true"])
def test_a_closed_stream_is_no_traceback(shell, verb: str, closed: str) -> None:
    """Cron and daemons start programs without streams; the work is done all the same."""
    done = shell(f"dogwatch {verb} {closed}")
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("verb", ["ls --all", "events --json", "logs job", "logs --raw job", "--help"])
def test_an_output_that_takes_no_more_is_one_sentence(shell, verb: str) -> None:
    """A full disk behind `>` is told, with exit code 3, and is no traceback."""
    done = shell(f"dogwatch {verb} > /dev/full")
    assert done.returncode == 3
    assert done.stderr == "dogwatch: cannot write the output: No space left on device\n"


@pytest.mark.parametrize(
    "verb", [["watch", "job"], ["wait", "job"], ["events", "--follow"], ["logs", "job", "-f"]], ids=lambda verb: verb[0]
)
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a daemon"])
def test_an_interrupt_ends_the_watching_and_never_the_job(
    dogwatch, spawn, home: Path, tmp_path: Path, verb: list[str], beside: bool
) -> None:
    """Ctrl-C gives 130 within five seconds, without a word too much, and the job runs on to its own end."""
    gated(dogwatch, tmp_path / "job", 0)
    if beside:
        watcher(spawn, home)
    with (tmp_path / "err").open("w") as stderr:
        process = spawn(*verb, stderr=stderr)
    wait_until(lambda: has_open(process.pid, "dogwatch.db") or children(process.pid))
    os.kill(process.pid, signal.SIGINT)
    # Hit inside exec(), as importing a dataclass is, CPython ends by the signal itself; a shell shows 130 as well.
    assert process.wait(timeout=5) in (130, -signal.SIGINT)
    assert "Traceback" not in (tmp_path / "err").read_text()
    assert "Exception" not in (tmp_path / "err").read_text()
    (tmp_path / "job").touch()
    assert dogwatch("wait", "job", "--timeout", "20").returncode == 0


def has_open(pid: int, name: str) -> bool:
    """Whether a process has a file of that name open; it opens and closes others meanwhile."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            if os.path.basename(os.readlink(link)) == name:
                return True
    return False


DROPPED = """
import signal, sys, time, weakref
from dogwatch.cli import main
class Lock: pass
def verb(argv):
    lock = Lock()
    gone = weakref.ref(lock, lambda _: signal.raise_signal(signal.SIGINT))
    del lock
    time.sleep(60)
main._dispatch = verb
sys.exit(main.main([]))
"""


def test_an_interrupt_that_python_drops_counts_all_the_same() -> None:
    """Ctrl-C in the moment in which an import lets go of a lock raises where nobody can hear it."""
    done = subprocess.run([sys.executable, "-c", DROPPED], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGINT, 130)])
def test_a_daemon_that_is_told_to_stop_stops_in_order(
    dogwatch, spawn, home: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """Within five seconds, with an event that says so, and with the job left alone."""
    gated(dogwatch, tmp_path / "job", 0)
    daemon, said = watcher(spawn, home)
    wait_until(lambda: jobs(dogwatch)["job"]["state"] == "running")
    os.kill(daemon.pid, number)
    assert daemon.wait(timeout=5) == code
    assert events(dogwatch)[-1]["kind"] == "watch.stopped"
    assert "Traceback" not in said()
    assert jobs(dogwatch)["job"]["state"] == "running"
    (tmp_path / "job").touch()
    assert dogwatch("wait", "job", "--timeout", "20").returncode == 0


def test_a_daemon_whose_terminal_is_gone_watches_on(dogwatch, spawn, home: Path, tmp_path: Path) -> None:
    """Its stderr is a pipe that nobody reads any more; what it has to say is lost, what it sees is not."""
    gated(dogwatch, tmp_path / "bad", 3)
    daemon = spawn("daemon", "--interval", "1", stderr=subprocess.PIPE)
    assert daemon.stderr is not None
    daemon.stderr.readline()
    daemon.stderr.close()
    (tmp_path / "bad").touch()
    wait_until(lambda: jobs(dogwatch)["bad"]["state"] == "ended")
    gated(dogwatch, tmp_path / "more", 0)
    (tmp_path / "more").touch()
    wait_until(lambda: jobs(dogwatch)["more"]["outcome"] == "succeeded")
    assert daemon.poll() is None
