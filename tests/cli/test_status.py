"""`dogwatch status` without a name: the job that is meant, and why; of several none without being told which."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from dogwatch.clock import Clock
from dogwatch.model import Evidence, Job, Known, Place, Running
from dogwatch.store.rows import tick
from dogwatch.store.rows.places import add_place
from dogwatch.store.rows.registration import register
from dogwatch.store.sqlite.location import open_store
from tests.api import launchers
from tests.transport.conftest import sshd

__all__ = ["sshd"]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The directory from which it is asked; its user's home is beside it."""
    path = tmp_path / "work"
    path.mkdir()
    (tmp_path / "user").mkdir()
    return path


@pytest.fixture
def user(work: Path) -> Path:
    return work.parent / "user"


@pytest.fixture
def status(dogwatch, work, user):
    """`dogwatch status` asked in `work`."""
    kept = {"HOME": str(user), "XDG_DATA_HOME": "", "NEMORUN_HOME": "", "INSPECT_LOG_DIR": ""}
    return lambda *words, **more: dogwatch("status", *words, cwd=more.pop("cwd", work), env=kept, **more)


def sleeper(dogwatch, name: str) -> str:
    done = dogwatch("run", "--detach", "--name", name, "--", "sleep", "60")
    assert done.returncode == 0, done.stderr
    return str(done.stdout).strip()


def registry(folder: Path, *entries: dict) -> Path:
    path = folder / ".claude" / "active_jobs.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(list(entries)))
    return path


def entry(ref: str, **more: object) -> dict:
    return {"type": "process", "id": ref.partition(":")[2], "host": "here", "description": "d", **more}


def host(home: Path, name: str = "hpc", alias: str = "login.hpc") -> None:
    with open_store(str(home)) as store:
        add_place(store, Place(name, "ssh", {"ssh": alias, "config": None}, 60.0))


def seen(home: Path, ref: str) -> None:
    """A job that a poll found running."""
    clock = Clock()
    place, _, rest = ref.partition("/")
    with open_store(str(home)) as store:
        register(store, Job(ref, place, "slurm", rest.partition(":")[2], "train"), clock.now(), clock.mono())
        known = Known(
            Running(clock.now()), clock.now(), "RUNNING", "", "1:0", 1, clock.now(), (Evidence("squeue", "", 0),)
        )
        tick.commit(store, tick.Tick(clock.now(), clock.mono(), jobs=(tick.JobUpdate(ref, known),)))


def test_the_only_job_of_the_registry_is_meant_whatever_else_is_watched(dogwatch, status, work):
    """It says which and why; from a directory below as well."""
    ref = sleeper(dogwatch, "mine")
    sleeper(dogwatch, "other")
    path = registry(work, entry(ref))
    done = status()
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"mine ({ref}):")
    assert f"mine: the only job in the registry {path}" in done.stderr
    (work / "deep" / "er").mkdir(parents=True)
    told = json.loads(status("--json", cwd=work / "deep" / "er").stdout)
    assert [job["ref"] for job in told["jobs"]] == [ref]
    assert (told["chosen"]["from"], told["chosen"]["refs"], told["candidates"]) == ("registry", [ref], [])
    assert told["chosen"]["why"] == f"the only job in the registry {path}"


def test_a_session_has_a_registry_of_its_own(dogwatch, status, work):
    """Both forms are read, and an entry in both is one job."""
    ref = sleeper(dogwatch, "mine")
    registry(work, entry(ref))
    inner = work / ".claude" / "agents" / "s1"
    inner.mkdir(parents=True)
    (inner / "active_jobs.json").write_text(json.dumps([entry(ref, owner={"agent": "x"})]))
    assert status().returncode == 0


def test_of_two_that_fit_none_is_chosen(dogwatch, status, work):
    """Exit 2 with both listed, for people and in JSON; naming one is enough."""
    refs = [sleeper(dogwatch, name) for name in ("one", "two")]
    done = status()
    assert done.returncode == 2
    assert sorted(line.split()[0] for line in done.stdout.splitlines()) == sorted(refs)
    assert "2 jobs fit; choose one" in done.stderr
    done = status("--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["chosen"]) == (2, None)
    assert sorted(job["ref"] for job in told["jobs"]) == sorted(refs)
    assert sorted(one["refs"][0] for one in told["candidates"]) == sorted(refs)
    assert status("two").stdout.startswith("two (")


@pytest.mark.parametrize(("answer", "code"), [("2\n", 0), ("3\n", 2), ("\n", 2), ("yes\n", 2)])
def test_at_a_terminal_it_asks(dogwatch, environment, work, user, answer, code):
    """A number chooses; anything else chooses nothing."""
    for name in ("one", "two"):
        sleeper(dogwatch, name)
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "dogwatch", "status"]
    env = {**environment, "HOME": str(user)}
    asked = subprocess.Popen(
        words, env=env, cwd=work, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    said = b""
    try:
        while b"which one?" not in said:
            said += os.read(ours, 4096)
        os.write(ours, answer.encode())
        while asked.poll() is None:
            try:
                said += os.read(ours, 4096)
            except OSError:
                break
        assert asked.wait(timeout=30) == code
    finally:
        asked.kill()
        asked.wait()
        os.close(ours)
    listed = said.decode().partition("which one?")[0]
    second = next(line for line in listed.splitlines() if line.strip().startswith("2 ")).split()
    if code == 0:
        assert f"{second[2]} ({second[1]}): " in said.decode()


def test_the_only_watched_job_is_meant_and_an_ended_one_is_not(dogwatch, status):
    """Without a registry."""
    sleeper(dogwatch, "alive")
    dogwatch("run", "--detach", "--name", "over", "--", "true")
    dogwatch("wait", "over", "--timeout", "20")
    done = status()
    assert (done.returncode, done.stdout.startswith("alive (")) == (0, True)
    assert "alive: the only job that is watched and has not ended" in done.stderr


def test_a_recent_evaluation_run_is_meant_when_nothing_is_watched(dogwatch, status, home, user):
    """Its jobs are those of a host of ours that goes by that name; one that is watched is shown from what is known."""
    host(home)
    launchers.nel(user, "aa11", Clock().now() - 600, {"mmlu_pro": "4401"})
    seen(home, "hpc/slurm:4401")
    with open_store(str(home)) as store:  # ended, and so not meant for being watched
        from dogwatch.model import Ended, Outcome

        known = Known(Ended(Outcome.FAILED, 1, None, 1.0), 1.0, "FAILED", "exit code 1", "1:0", 1, 1.0)
        tick.commit(store, tick.Tick(2.0, 2.0, jobs=(tick.JobUpdate("hpc/slurm:4401", known),)))
    done = status()
    assert done.returncode == 0, done.stderr
    assert "train (hpc/slurm:4401): failed" in done.stdout
    assert "mmlu_pro (nel aa11): the only evaluation run of the last 3 days" in done.stderr


def test_an_evaluation_that_is_not_over_comes_before_those_that_are(status, user, work):
    """And one on this machine without a job id is described by its files."""
    now = Clock().now()
    launchers.nel_here(user, "aa11", now - 60, over=True)
    launchers.nel_here(user, "bb22", now - 50, over=False)
    done = status()
    assert done.returncode == 0, done.stderr
    assert "ifeval (nel bb22): the only evaluation run of the last 3 days that has not ended" in done.stderr
    assert "not finished" in done.stdout
    assert "it has no job id" in done.stderr
    launchers.inspect(work / "logs", "capital", over=False)
    assert status().returncode == 2


def test_a_run_on_a_host_that_is_not_ours_is_named_and_not_asked_about(status, user):
    """With its job ids and what to do."""
    launchers.nel(user, "aa11", Clock().now() - 600, {"mmlu_pro": "4401"}, host="elsewhere")
    done = status()
    assert (done.returncode, "aa11" in done.stdout) == (0, True)
    assert "its jobs 4401 are on elsewhere, which is not a configured host" in done.stderr


def test_a_registry_entry_of_a_launcher_leads_to_its_jobs(dogwatch, status, home, user, work):
    """By the id that the launcher gave the run; one that nobody here knows of is said to be unknown."""
    host(home)
    seen(home, "hpc/slurm:4401")
    launchers.nel(user, "aa11bb", Clock().now() - 600, {"mmlu_pro": "4401"})
    nel = {"type": "nel", "id": "aa11", "host": "hpc", "description": "x"}
    registry(work, nel, {**nel, "id": "ffff"}, {"type": "odd", "id": "1", "host": "hpc"})
    done = status()
    assert "train (hpc/slurm:4401): running" in done.stdout
    assert "names nel ffff, which was not found here" in done.stderr
    assert "line 1: entry 3 ('1'): the type 'odd' is not known" in done.stderr


def test_a_host_that_cannot_be_asked_is_named_and_nothing_is_concluded(dogwatch, status, sshd, home):
    """Exit 3: an empty answer is not the same as none."""
    sshd.start()
    assert dogwatch("host", "add", "lab", "--ssh", "box", "--ssh-config", sshd.config).returncode == 0
    sshd.end()
    done = status()
    assert done.returncode == 3
    assert "lab is unreachable: lab refused the connection" in done.stderr
    told = json.loads(status("--json").stdout)
    assert told["unreachable"][0]["place"] == "lab"
    assert (told["jobs"], told["candidates"], told["chosen"]) == ([], [], None)


def test_a_launcher_experiment_is_the_last_that_is_looked_for(dogwatch, status, sshd, user, home):
    """The host that its tunnel went to is ours by the address that ssh uses; that it does not answer now is told."""
    sshd.start()
    assert dogwatch("host", "add", "lab", "--ssh", "box", "--ssh-config", sshd.config).returncode == 0
    sshd.end()
    launchers.nemo_run(user / ".nemo_run", f"tune_{int(Clock().now()) - 100}", {"a_0": "61"}, host="127.0.0.1")
    done = status()
    assert done.returncode == 3
    assert "the only launcher experiment of the last 3 days" in done.stderr
    assert done.stderr.count("lab is unreachable") == 2
    assert "lab/slurm:61" in done.stdout
    assert "`dogwatch add slurm 61 --host lab` watches it" in done.stderr


def test_with_nothing_anywhere_it_says_so(status):
    """That is an answer, and no error."""
    done = status()
    assert (done.returncode, done.stdout) == (0, "")
    assert "no job found that has not ended" in done.stderr
