"""What people do at a terminal: Ctrl-C, a pipe that closes, a narrow window, a log full of colours."""

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time

from tests.support import jobs, wait_until

COUNTS = "import time\nfor n in range(1, 31):\n    print(f'Processed {n}/30 items', flush=True)\n    time.sleep(0.2)\n"
SLOW = "say('Processed 1/100 items')\ntime.sleep(60)\n"
MOVES = re.compile(rb"\x1b\[[0-9;]*[HfABEFJ]")
ESCAPE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>78]|\x1b\][^\x07]*\x07")


def flags(crew, name):
    return ["--job-name", name, "--num-workers", 1, *crew.flags(), "--check-interval", 1]


def test_ctrl_c_stops_the_watch_and_not_the_job(crew, spawn, dogwatch, tmp_path):
    """130, one line about what goes on and how to come back, and the worker still runs."""
    crew.start("goes_on.py", 1, text=SLOW)
    watch = spawn("watch", *flags(crew, "goes_on"))
    wait_until(lambda: jobs(dogwatch).get("goes_on", {}).get("progress"))
    os.killpg(watch.pid, signal.SIGINT)
    assert watch.wait(timeout=20) == 130
    said = (tmp_path / "spawn-0.err").read_text()
    assert "keeps running" in said
    assert "dogwatch watch" in said
    assert "Traceback" not in said
    assert crew.shell.poll() is None
    assert dogwatch("status", "goes_on").stdout.startswith("goes_on")


def test_ctrl_c_in_run_leaves_the_job_to_its_end(spawn, dogwatch):
    """The run was started at this terminal, and Ctrl-C there ends the watching only; `wait` tells its end."""
    run = spawn("run", "--name", "mine", "--total-items", 30, "--", sys.executable, "-c", COUNTS)
    wait_until(lambda: jobs(dogwatch).get("mine", {}).get("progress"))
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait(timeout=20) == 130
    assert jobs(dogwatch)["mine"]["state"] == "running"
    assert dogwatch("wait", "mine").returncode == 0
    assert jobs(dogwatch)["mine"]["outcome"] == "succeeded"


def test_a_pipe_that_closes_is_no_error(crew, dogwatch, environment):
    """`dogwatch watch … | head -2` prints two lines and no traceback, and the job goes on."""
    crew.start("piped.py", 1, text=SLOW)
    words = " ".join(map(str, flags(crew, "piped")))
    line = f"{sys.executable} -m dogwatch watch {words} | head -2; {sys.executable} -m dogwatch ls --all | head -1"
    done = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True, timeout=30)
    assert len(done.stdout.splitlines()) == 3
    assert "Traceback" not in done.stderr
    assert "Broken pipe" not in done.stderr
    assert crew.shell.poll() is None


def test_a_narrow_window_shows_whole_lines(crew, environment, dogwatch):
    """Forty columns: nothing is longer, the name and the progress are there, and Ctrl-C gives the window back."""
    crew.start("narrow.py", 1, text=SLOW)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    watch = subprocess.Popen(
        [sys.executable, "-m", "dogwatch", "watch", *map(str, flags(crew, "narrow"))],
        env={**environment, "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    os.set_blocking(ours, False)
    seen = bytearray()

    def shows(word):
        with contextlib.suppress(OSError):
            seen.extend(os.read(ours, 1 << 16))
        return word in ESCAPE.sub(b"", bytes(seen))

    wait_until(lambda: shows(b"1 of 100"))
    watch.send_signal(signal.SIGINT)
    wait_until(lambda: shows(b"keeps running") or watch.poll() is not None)
    assert watch.wait(timeout=20) == 130
    shows(b"")
    os.close(ours)
    screen = MOVES.sub(b"\n", bytes(seen).partition(b"\x1b[?1049h")[2].partition(b"\x1b[?1049l")[0])
    text = ESCAPE.sub(b"", screen).decode("utf-8", "replace")
    assert "narrow" in text
    assert max(len(line) for line in re.split(r"[\r\n]+", text)) <= 40
    assert b"\x1b[?25h" in seen or b"\x1b[?25l" not in seen  # the cursor is shown again


def test_a_log_full_of_escape_codes_reaches_no_terminal(crew, dogwatch):
    """Colours, titles and bells of a job are read through for its progress and its error, and never printed."""
    text = r"""
say("\x1b]0;owned\x07\x1b[2J\x1b[31mProcessed 40/100 items\x1b[0m\x07")
time.sleep(2)
raise RuntimeError("\x1b[31mbad batch\x1b[0m \x1b]8;;http://evil\x07click\x1b]8;;\x07")
"""
    crew.start("colours.py", 1, text=text)
    watched = dogwatch("watch", *flags(crew, "colours"))
    assert watched.returncode == 1
    said = [watched.stdout, watched.stderr]
    for verb in ("status", "why", "logs", "report", "events"):
        said += [(told := dogwatch(verb, *([] if verb == "events" else ["colours"]))).stdout, told.stderr]
    for one in said:
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\x9b]", one)
    assert "40" in watched.stdout
    assert "bad batch" in dogwatch("why", "colours").stdout


def test_sigterm_ends_a_watch_as_quietly(crew, spawn, dogwatch, tmp_path):
    """A batch system or `timeout` ends the watch with SIGTERM: no traceback, and the job goes on."""
    crew.start("timed.py", 1, text=SLOW)
    watch = spawn("watch", *flags(crew, "timed"))
    wait_until(lambda: jobs(dogwatch).get("timed", {}).get("progress"))
    watch.terminate()
    began = time.monotonic()
    assert watch.wait(timeout=20) != 0
    assert time.monotonic() - began < 10
    assert "Traceback" not in (tmp_path / "spawn-0.err").read_text()
    assert crew.shell.poll() is None


def test_a_watch_that_nobody_reads_any_more_does_not_say_that_the_job_ended_well(dogwatch, spawn) -> None:
    """`dogwatch watch train | head -1`: it leaves with 141 as every program does, and the job goes on."""
    counts = "i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo step $i/300; sleep 0.1; done"
    assert dogwatch("run", "--detach", "--name", "long", "--", "sh", "-c", counts).returncode == 0
    watching = spawn("watch", "long", stdout=subprocess.PIPE)
    assert watching.stdout.readline()
    watching.stdout.close()
    assert watching.wait(timeout=60) == 141
    assert jobs(dogwatch)["long"]["state"] != "ended"
