"""`dogwatch service`: shown first, made only on a person's word, and gone when there is nothing left to watch."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.actions.standin import stand_in
from tests.support import wait_until


@pytest.fixture
def table(tmp_path) -> Path:
    """The stand-in's crontab file."""
    return tmp_path / "stand-in" / "table"


@pytest.fixture
def keep(tmp_path, dogwatch):
    """Run `dogwatch service …` where crontab and systemctl are stand-ins, with a job to watch."""
    env = stand_in(tmp_path / "stand-in")
    dogwatch("run", "--detach", "--name", "long", "--", "sleep", "600")
    return lambda *words, **more: dogwatch("service", *words, env={**env, **more})


def test_without_a_word_or_a_terminal_it_is_shown_and_not_made(keep, table) -> None:
    """Nobody is asked who cannot answer."""
    done = keep("on")
    assert done.returncode == 2
    assert "service tick" in done.stderr
    assert "add --yes" in done.stderr
    assert not table.exists()


def test_with_yes_it_is_made_once_told_and_removed(keep, table) -> None:
    """On, still on, status, off, and off again."""
    assert keep("on", "--yes").returncode == 0
    assert "already on" in keep("on", "--yes").stderr
    assert table.read_text().count("service tick") == 1
    status = json.loads(keep("status", "--json").stdout)
    assert (status["on"], status["by"], status["every_seconds"], status["last_run"]) == (True, "cron", 900.0, None)
    assert "on, by cron, every 15m\nit has never run\n" in keep("status").stdout
    off = keep("off")
    assert (off.returncode, "removed from cron" in off.stderr) == (0, True)
    assert not table.exists()
    assert "it was not on" in keep("off").stderr
    assert keep("status").stdout.startswith("off\n")


def test_another_interval_takes_the_place_of_the_first(keep, table) -> None:
    """Never twice, and what cron cannot say is told."""
    keep("on", "--yes")
    done = keep("on", "--every", "45m", "--yes")
    assert "it replaces the old one" in done.stderr
    assert "it will run every 30m" in done.stderr
    assert table.read_text().count("service tick") == 1


def test_print_makes_nothing(keep, table, home) -> None:
    """Just the command, for a scheduler of one's own."""
    done = keep("on", "--print")
    assert done.stdout == f"/usr/bin/env DOGWATCH_HOME={home} {sys.executable} -E -P -m dogwatch service tick\n"
    assert not table.exists()


def test_with_nothing_to_watch_there_is_nothing_to_keep(keep, dogwatch, table) -> None:
    """It would remove itself at the first poll anyway."""
    dogwatch("forget", "long")
    done = keep("on", "--yes")
    assert (done.returncode, "no job to watch" in done.stderr) == (2, True)
    assert not table.exists()


@pytest.mark.parametrize(("answer", "code"), [("yes\n", 0), ("y\n", 2), ("\n", 2), ("no\n", 2)])
def test_at_a_terminal_only_the_whole_word_counts(keep, environment, table, tmp_path, answer, code) -> None:
    """A slip of the finger makes nothing."""
    ours, theirs = pty.openpty()
    env = {**environment, "PATH": f"{table.parent}{os.pathsep}{os.environ['PATH']}"}
    words = [sys.executable, "-m", "dogwatch", "service", "on"]
    asked = subprocess.Popen(words, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    try:
        said = b""
        while b"type yes" not in said:
            said += os.read(ours, 4096)
        os.write(ours, answer.encode())
        assert asked.wait(timeout=30) == code
    finally:
        asked.kill()
        asked.wait()
        os.close(ours)
    assert b"service tick" in said
    assert table.exists() == (code == 0)


def test_a_tick_looks_writes_to_the_log_and_prints_nothing(keep, table, home) -> None:
    """Cron mails whatever is printed; there is nothing to mail."""
    keep("on", "--yes")
    done = keep("tick")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "1 job watched" in (home / "service.log").read_text()
    assert (home / "service.log").stat().st_mode & 0o777 == 0o600
    assert json.loads(keep("status", "--json").stdout)["last_run"] is not None
    assert table.exists()


def test_the_tick_after_the_last_job_ended_is_the_last(keep, dogwatch, table, home) -> None:
    """It reports the end, with its exit code, and takes itself out."""
    keep("on", "--yes")
    dogwatch("run", "--detach", "--name", "bad", "--", "sh", "-c", "exit 5")
    dogwatch("forget", "long")
    wait_until(lambda: list(home.glob("runs/bad-*/worker-0.end.json")))
    assert keep("tick").returncode == 1
    assert not table.exists()
    assert "no job is left to watch" in (home / "service.log").read_text()


def test_what_a_tick_reported_is_still_news_to_the_person(keep, dogwatch, home) -> None:
    """Each reader has a place of their own in the history; the log tells a thing once, and so does one's patrol."""
    keep("on", "--yes")
    dogwatch("run", "--detach", "--name", "bad", "--", "sh", "-c", "exit 5")
    wait_until(lambda: list(home.glob("runs/bad-*/worker-0.end.json")))
    wait_until(lambda: keep("tick").returncode == 1)
    for _ in range(2):
        assert keep("tick").returncode == 0
    assert (home / "service.log").read_text().count("→ ended, failed") == 1
    mine = dogwatch("patrol")
    assert (mine.returncode, "exit code 5" in mine.stdout) == (1, True)
    assert dogwatch("patrol").stdout == ""


def test_a_tick_whose_home_is_gone_removes_itself(keep, table, home, tmp_path) -> None:
    """A deleted home does not leave an entry that fails every quarter of an hour."""
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    keep("on", "--yes")
    shutil.copytree(home, other, dirs_exist_ok=True, ignore=lambda *_: ["wake"])
    assert keep("on", "--yes", DOGWATCH_HOME=str(other)).returncode == 0
    assert table.read_text().count("service tick") == 2
    shutil.rmtree(other)
    assert keep("tick", DOGWATCH_HOME=str(other)).returncode == 0
    assert not other.exists()
    assert table.read_text().count("service tick") == 1
