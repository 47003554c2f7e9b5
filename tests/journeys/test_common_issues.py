"""The "common issues" of the design document (003, §5.1) that show within seconds, each provoked for real.

Judged as the person sees them: the exit code of `watch`, the letter that came, and what `why` and `status` say.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import memory_cgroup, wait_until

pytestmark = pytest.mark.needs_root


@pytest.fixture
def watch(crew, dogwatch, letters):
    """Watch the crew to its end, with mail; what was printed and the letters of each level."""

    def run(name, *flags):
        mail = ["--alert-email", "user@example.com"]
        watched = dogwatch("watch", "--job-name", name, *crew.flags(), "--check-interval", 1, *mail, *flags)
        said = watched.stdout + watched.stderr
        by_level = {
            level: [letter for letter in letters() if level in letter] for level in ("CRITICAL", "WARNING", "INFO")
        }
        return watched.returncode, said, by_level

    return run


def test_worker_not_starting(crew, watch, dogwatch):
    """One of four never came up: critical after the launch timeout, with its number and what its stderr says."""
    text = "if me == 3: import torch_that_is_not_installed\nsay('Processed 1/100 items')\ntime.sleep(8)\n"
    crew.start("never_up.py", 4, text=text)
    stderr = crew.logs / "worker_3_stderr.log"
    wait_until(lambda: stderr.exists() and "ModuleNotFoundError" in stderr.read_text())
    code, said, letters = watch("never_up", "--num-workers", 4, "--launch-timeout", 2)
    assert code == 1
    assert "only 3 of 4 workers started" in said
    assert any("3 of 4 workers" in letter for letter in letters["CRITICAL"])
    assert "torch_that_is_not_installed" in dogwatch("why", "never_up").stdout


def test_no_worker_starts_at_all(crew, watch):
    """Nothing of that name comes: the watch does not wait for ever, it says what it looked for, and ends with 1."""
    crew.logs.mkdir()
    crew.outputs.mkdir()
    code, said, letters = watch("never_was", "--num-workers", 2, "--launch-timeout", 2)
    assert code == 1
    assert "no worker started within 2 s: no process has the name 'never_was'" in said
    assert letters["CRITICAL"]


def test_oom_kill(crew, watch, dogwatch):
    """The kernel kills a worker that outgrew its cgroup: out of memory is the answer, not "it vanished"."""
    text = """
if me == 1:
    open(os.environ["GROUP"] + "/cgroup.procs", "w").write(str(os.getpid()))
for step in range(1, 41):
    time.sleep(0.1)
    say(f"Processed {step}/40 items")
    if me == 1 and step > 20:
        held = bytearray(os.urandom(1 << 20)) * 200
open(output, "w").write("[]")
"""
    with memory_cgroup(64 << 20) as group:
        crew.start("outgrows.py", 2, text=text, GROUP=str(group))
        code, said, letters = watch("outgrows", "--num-workers", 2)
        assert code == 1
        assert any("worker 1" in letter and "memory" in letter for letter in letters["CRITICAL"]), said
        assert "memory" in dogwatch("why", "outgrows").stdout.splitlines()[0]
        assert "out of memory" in dogwatch("status", "outgrows").stdout.lower()
        crew.end()


def test_checkpoint_corruption(crew, watch, dogwatch):
    """A checkpoint that was cut is named while the job runs, and whoever fails to load it reads why."""
    text = """
say("Processed 1/2 items")
with open(os.path.dirname(output) + "/checkpoint_epoch_1.pt", "wb") as file:
    file.write(b"PK\\x03\\x04" + bytes(5000))
time.sleep(5)
raise RuntimeError("PytorchStreamReader failed reading zip archive: failed finding central directory")
"""
    crew.start("resumes.py", 1, text=text)
    code, said, letters = watch("resumes", "--num-workers", 1)
    assert code == 1
    assert "checkpoint_epoch_1.pt" in said
    assert any("checkpoint" in letter for letter in letters["CRITICAL"])
    assert "checkpoint" in dogwatch("why", "resumes").stdout


def test_network_timeout(crew, watch, dogwatch):
    """Connection errors that a worker does not survive are why it failed; those before them are counted."""
    text = """
for step in range(1, 21):
    time.sleep(0.1)
    say(f"Processed {step}/40 items")
    say("WARNING Connection refused by data.example.org, trying again")
time.sleep(2)
raise ConnectionError("HTTPSConnectionPool(host='data.example.org', port=443): Max retries exceeded: Read timed out.")
"""
    crew.start("fetches.py", 1, text=text)
    code, said, letters = watch("fetches", "--num-workers", 1)
    assert code == 1
    assert "onnection refused" in said
    assert any("Max retries exceeded" in letter or "network" in letter for letter in letters["CRITICAL"])
    assert "network" in dogwatch("why", "fetches").stdout


def test_silent_crash(crew, watch, dogwatch):
    """A worker that dies without a word is critical by the very fact that it is gone."""
    text = """
for step in range(1, 41):
    time.sleep(0.1)
    say(f"Processed {step}/40 items")
    if me == 1 and step == 25:
        os.kill(os.getpid(), 11)
open(output, "w").write("[]")
"""
    crew.start("quiet_end.py", 3, text=text)
    code, said, letters = watch("quiet_end", "--num-workers", 3, "--total-items", 120)
    assert code == 1
    assert any("worker 1" in letter for letter in letters["CRITICAL"]), said
    assert "worker 1" in dogwatch("why", "quiet_end").stdout
    assert "105 of 120" in dogwatch("status", "quiet_end").stdout


def test_silent_crash_of_our_own_run(dogwatch):
    """Started by Dogwatch itself, the same crash has its signal in the answer."""
    text = "import os, time; print('Processed 5/40 items', flush=True); time.sleep(1); os.kill(os.getpid(), 11)"
    done = dogwatch("run", "--name", "quiet", "--", sys.executable, "-c", text)
    assert done.returncode == 1
    assert "SIGSEGV" in done.stdout
    assert "SIGSEGV" in dogwatch("why", "quiet").stdout


@pytest.fixture
def small_disk(crew):
    """A disk of 4 MB where the outputs go."""
    crew.outputs.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", crew.outputs], check=True)
    yield crew.outputs
    crew.end()
    subprocess.run(["umount", "-l", crew.outputs], check=True)


def test_disk_full(small_disk: Path, crew, watch, dogwatch):
    """The disk of the outputs fills up: critical, and the worker that died of it says so in `why`."""
    text = """
with open(output, "wb", buffering=0) as file:
    for step in range(1, 60):
        time.sleep(0.1)
        say(f"Processed {step}/100 items")
        if file.write(bytes(100_000)) < 100_000:
            time.sleep(3)
            raise OSError(28, "No space left on device", output)
"""
    crew.start("fills.py", 1, text=text)
    code, said, letters = watch("fills", "--num-workers", 1)
    assert code == 1
    assert any("free on the disk" in letter for letter in letters["CRITICAL"]), said
    assert "resolved" not in "".join(letters["CRITICAL"] + letters["WARNING"] + letters["INFO"])
    why = dogwatch("why", "fills").stdout
    assert "disk" in why
    assert "No space left" in why


def test_a_stopped_worker_is_told(crew, spawn, letters):
    """kill -STOP, as a debugger or Ctrl-Z does: the worker is named with the command that lets it go on."""
    crew.start("halted.py", 2, text="say('Processed 1/100 items')\ntime.sleep(60)\n")
    wait_until(lambda: (crew.logs / "worker_1.log").exists())
    mail = ["--alert-email", "user@example.com"]
    spawn("watch", "--job-name", "halted", *crew.flags(), "--num-workers", 2, "--check-interval", 1, *mail)
    found = subprocess.run(
        ["pgrep", "-s", str(crew.shell.pid), "-f", "worker-id 1 "], capture_output=True, text=True, timeout=20
    )
    os.kill(int(found.stdout), signal.SIGSTOP)
    wait_until(lambda: any("worker 1" in letter and "kill -CONT" in letter for letter in letters()))
