"""Keep: what is put into a crontab or a systemd, just once, and taken out again to the letter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.actions import service
from dogwatch.errors import UsageError
from tests.actions.cron import private_cron
from tests.actions.standin import stand_in
from tests.support import wait_until

MINE = "MAILTO=me\n# mine\n0 5 * * * backup 100\\%\n"


@pytest.fixture(autouse=True)
def world(tmp_path, monkeypatch) -> Path:
    """The folder of the stand-ins, which every test here uses."""
    for name, value in stand_in(folder := tmp_path / "stand-in").items():
        monkeypatch.setenv(name, value)
    return folder


@pytest.mark.parametrize(
    ("every", "fields", "real"),
    [
        (60, "* * * * *", 60),
        (900, "7-59/15 * * * *", 900),
        (45 * 60, "7-59/30 * * * *", 1800),
        (100, "* * * * *", 60),
        (3600, "7 * * * *", 3600),
        (5 * 3600, "7 */4 * * *", 14400),
        (86400, "7 0 * * *", 86400),
    ],
)
def test_cron_says_the_nearest_even_interval_that_is_not_longer(every, fields, real) -> None:
    """Cron cannot say every 45 minutes; it must not be less often than was asked for."""
    assert service.cron_schedule(every, 7) == (fields, real)


def test_the_command_is_absolute_and_carries_its_home(home) -> None:
    """Neither PATH nor the folder it is started in decides what runs."""
    words = service.command(str(home))
    assert words[:2] == ["/usr/bin/env", f"DOGWATCH_HOME={home}"]
    assert os.path.isabs(words[2])
    assert words[3:] == ["-E", "-P", "-m", "dogwatch", "service", "tick"]


def test_it_is_made_once_and_removed_to_the_letter(home, world) -> None:
    """Whatever else is in the crontab stays as it was, byte by byte."""
    (world / "table").write_text(MINE)
    assert service.found(str(home)) is None
    for every in (900, 900, 3600):
        service.install(service.plan(str(home), every))
    assert f"with {world}/crontab:" in service.plan(str(home), 900).shown()
    table = (world / "table").read_text()
    assert table.startswith(MINE)
    assert len(table.splitlines()) == len(MINE.splitlines()) + 3
    assert service.found(str(home)) == service.Kept("cron", 3600.0, table.removeprefix(MINE))
    removed = service.remove(str(home))
    assert removed is not None
    assert (world / "table").read_text() == MINE
    assert service.remove(str(home)) is None


def test_a_crontab_that_was_not_there_is_not_there_afterwards(home, world) -> None:
    """An empty file is not the same thing."""
    service.install(service.plan(str(home), 900))
    assert (world / "table").exists()
    service.remove(str(home))
    assert not (world / "table").exists()


def test_every_home_has_lines_of_its_own_however_it_is_reached(home, world, tmp_path) -> None:
    """Two homes do not disturb each other, and one home by two paths is one."""
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "link").symlink_to(home)
    for each in (home, other, tmp_path / "link"):
        service.install(service.plan(str(each), 900))
    assert (world / "table").read_text().count("service tick") == 2
    service.remove(str(home))
    assert str(other) in (world / "table").read_text()
    assert service.found(str(home)) is None


def test_a_crontab_that_cannot_be_read_is_never_written(home, world) -> None:
    """A failed `crontab -l` is not an empty crontab."""
    (world / "table").write_text(MINE)
    made = service.plan(str(home), 900)
    (world / "broken").touch()
    for act in (lambda: service.plan(str(home), 900), lambda: service.install(made), lambda: service.remove(str(home))):
        with pytest.raises(service.ServiceFailed, match="something is wrong"):
            act()
    assert (world / "table").read_text() == MINE


def test_a_change_that_is_not_taken_is_not_believed(home, world) -> None:
    """crontab's own words are passed on."""
    (world / "full").touch()
    with pytest.raises(service.ServiceFailed, match="no space left"):
        service.install(service.plan(str(home), 900))
    assert service.found(str(home)) is None


def test_marks_that_were_edited_are_left_to_a_person(home, world) -> None:
    """Half a block could reach anywhere."""
    service.install(service.plan(str(home), 900))
    lines = (world / "table").read_text().splitlines(keepends=True)
    (world / "table").write_text("".join(lines[:2]) + MINE)
    with pytest.raises(service.ServiceFailed, match="crontab -e"):
        service.remove(str(home))
    assert MINE in (world / "table").read_text()


def test_what_is_still_needed_is_not_removed(home, world) -> None:
    """The last question is asked when nobody else can change the answer's meaning."""
    service.install(service.plan(str(home), 900))
    assert service.remove(str(home), unless=lambda: True) is None
    assert service.found(str(home)) is not None


@pytest.mark.parametrize("every", [0.5, 59, 86401])
def test_an_interval_that_makes_no_sense_is_refused(home, every) -> None:
    """Not more often than every minute, not less often than every day."""
    with pytest.raises(UsageError, match="between 1m and 1d"):
        service.plan(str(home), every)


def test_a_home_that_a_crontab_cannot_hold_is_refused(tmp_path) -> None:
    """A line break would be a line of its own, and cron cuts what is too long."""
    with pytest.raises(UsageError, match="cannot be written"):
        service.plan(f"{tmp_path}/a\n* * * * * evil", 900)
    with pytest.raises(UsageError, match="too long"):
        service.plan(f"{tmp_path}/{'a/' * 450}", 900)


@given(st.text(alphabet="/ab %$'\"\\ #*\t;`é", min_size=1, max_size=20))
def test_every_path_comes_through_cron_and_the_shell_unchanged(name) -> None:
    """As cron reads the line: the first bare % would end it, an escaped one is a %; then a shell splits it."""
    home = os.path.realpath("/tmp/" + name)
    line = service.cron_plan(home, 60).block.splitlines()[1]
    assert "\n" not in line
    words = line.split(" ", 5)[5]
    assert "%" not in words.replace(r"\%", "")
    said = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {words.replace(chr(92) + '%', '%')}"], capture_output=True, text=True
    )
    assert said.stdout.splitlines() == service.command(home)


def test_units_are_made_enabled_and_removed(home, world) -> None:
    """By a stand-in for systemctl: which files, which commands, and nothing left. No systemd is started here."""
    (world / "systemd").touch()
    made = service.systemd_plan(str(home), 900)
    service.install(made)
    assert sorted(os.listdir(world / "config/systemd/user")) == sorted(map(os.path.basename, made.files))
    there = service.found(str(home))
    assert there is not None
    assert (there.by, there.every) == ("systemd", 900.0)
    service.install(made)
    assert service.remove(str(home)) is not None
    assert os.listdir(world / "config/systemd/user") == []
    timer = f"dogwatch-keep-{service.tag(str(home))}.timer"
    asked = (world / "asked").read_text().splitlines()
    assert f"--user enable --now {timer}" in asked
    assert f"--user disable --now {timer}" in asked
    assert asked[-1] == "--user daemon-reload"


@pytest.mark.needs_tool("systemd-analyze")
def test_systemd_itself_finds_nothing_wrong_with_the_units(tmp_path) -> None:
    """`systemd-analyze verify` reads them without a systemd running; also with a path full of traps."""
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    made = service.systemd_plan(f"{tmp_path}/a b%n$HOME\"c\\d'", 900)
    paths = []
    for path, text in made.files.items():
        paths.append(tmp_path / os.path.basename(path))
        paths[-1].write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "--user", "--man=no", "verify", *paths],
        env={**os.environ, "XDG_RUNTIME_DIR": str(run)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_printed_goes_to_a_private_log_within_bounds(home) -> None:
    """service.log is 0600, appended to, and set aside when it has grown."""
    code = f"from dogwatch.actions import service; service.write_to_log({str(home)!r}); print('x' * 300_000)"
    for _ in range(5):
        subprocess.run([sys.executable, "-c", code], check=True)
    assert (home / "service.log").stat().st_mode & 0o777 == 0o600
    assert (
        sum((home / name).stat().st_size for name in ("service.log", "service.log.1"))
        < 2 * service.LARGEST_LOG + 300_001
    )


def test_only_one_tick_runs_at_a_time(home) -> None:
    """The second leaves instead of queueing up behind a host that hangs."""
    with service.alone(str(home)) as first, service.alone(str(home)) as second:
        assert (first, second) == (True, False)
    with service.alone(str(home)) as again:
        assert again


@pytest.mark.needs_root
@pytest.mark.needs_tool("cron", "crontab", "unshare", "nsenter")
def test_a_real_cron_looks_and_the_entry_removes_itself(environment, home, dogwatch, tmp_path) -> None:
    """Without anybody logged in: cron starts the tick, it sees the job's end, and leaves only the user's own lines."""
    started = dogwatch("run", "--detach", "--name", "short", "--", "sh", "-c", "exit 3")
    assert started.returncode == 0, started.stderr
    program = [sys.executable, "-m", "dogwatch", "service"]
    outside = {**environment, "PATH": os.environ["PATH"].partition(os.pathsep)[2]}
    with private_cron(tmp_path / "cron") as cron:

        def inside(*words: object, text: str | None = None) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                cron.inside(*words), env=outside, input=text, capture_output=True, text=True, timeout=60
            )

        assert inside("crontab", "-", text=MINE).returncode == 0
        on = inside(*program, "on", "--every", "1m", "--yes")
        assert on.returncode == 0, on.stderr
        assert "no cron daemon" not in on.stderr
        again = inside(*program, "on", "--every", "1m", "--yes")
        assert "already on" in again.stderr
        assert inside("crontab", "-l").stdout.count("service tick") == 1
        wait_until((home / "service.json").exists, timeout=150, pause=0.5)
        wait_until(lambda: inside("crontab", "-l").stdout == MINE)
        status = json.loads(inside(*program, "status", "--json").stdout)
    assert (status["on"], status["last_code"]) == (False, 1)
    assert "short: " in (home / "service.log").read_text()
    assert "no job is left to watch" in (home / "service.log").read_text()
