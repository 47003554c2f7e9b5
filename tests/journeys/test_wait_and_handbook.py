"""Somebody waits, is replaced, is killed, leaves a note; nobody waits for ever and nothing is left behind."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from dogwatch.cli.parser import parser_of
from tests.support import wait_until

STEPS = "for i in 1 2 3 4; do echo step $i/4; while [ ! -e {gate} ]; do sleep 0.1; done; done; exit {code}"


@pytest.fixture
def gated(dogwatch, tmp_path: Path):
    """Start a job that does a quarter of its work, waits for a file of its name, and then ends with the given code."""

    def start(name: str, code: int = 0) -> Path:
        gate = tmp_path / f"{name}.gate"
        script = STEPS.format(gate=gate, code=code)
        done = dogwatch("run", "--detach", "--name", name, "--cwd", tmp_path, "--", "sh", "-c", script)
        assert done.returncode == 0, done.stderr
        return gate

    return start


def waiters(dogwatch) -> list[dict]:
    """Who waits, as any program would ask."""
    return json.loads(dogwatch("waiters", "--json").stdout)["waiters"]


def listed(dogwatch, **wanted) -> dict | None:
    """The first waiter of which all this is true."""
    return next((one for one in waiters(dogwatch) if wanted.items() <= one.items()), None)


def test_one_line_and_a_code_say_why_each_wait_ended(dogwatch, gated, tmp_path) -> None:
    """Progress, a file, an end, a condition that can never hold, one that makes no sense, and the time."""
    gate = gated("train")
    quarter = dogwatch("wait", "train", "--for", "progress:25%", "--timeout", "30")
    assert (quarter.returncode, quarter.stdout.count("\n")) == (0, 1), quarter.stderr
    assert "25 % wanted" in quarter.stdout
    marker = f"marker:{tmp_path}/half done"
    late = dogwatch("wait", "train", "--for", marker, "--timeout", "1", "--json")
    assert late.returncode == 124
    assert json.loads(late.stdout)["timed_out"] is True
    assert late.stderr.startswith("dogwatch: timed out after 1s; wait again: dogwatch wait train --for 'marker:/")
    (tmp_path / "half done").touch()
    reached = dogwatch("wait", "train", "--for", marker, "--timeout", "30")
    assert (reached.returncode, reached.stdout.count("\n")) == (0, 1), reached.stderr
    assert f"{tmp_path}/half done is there" in reached.stdout
    gate.touch()
    assert dogwatch("wait", "train", "--timeout", "30").returncode == 0
    absent = dogwatch("wait", "train", "--for", f"marker:{tmp_path}/never")
    assert (absent.returncode, absent.stderr) == (
        1,
        f"dogwatch: stopped waiting for train: it ended, and {tmp_path}/never is not there\n",
    )
    stage = dogwatch("wait", "train", "--for", "stage:eval")
    assert (stage.returncode, "train has no stages" in stage.stderr) == (2, True)


@pytest.mark.long
def test_a_watcher_asks_for_the_file_in_the_polls_that_it_makes_anyway(dogwatch, gated, spawn, home, tmp_path) -> None:
    """The waiter reads the store; when it is gone nobody asks for its file any more."""
    gated("train")
    spawn("daemon", "--interval", "1")
    wait_until(lambda: json.loads(dogwatch("ls", "--json", "--no-poll").stdout)["watch"]["alive"])
    waiting = spawn("wait", "train", "--for", f"marker:{tmp_path}/FLAG")

    def markers() -> dict[str, bool] | None:
        places = json.loads(dogwatch("ls", "--json", "--no-poll").stdout)["places"]
        return places[0]["facts"].get("markers")

    wait_until(lambda: markers() == {f"{tmp_path}/FLAG": False})
    (tmp_path / "FLAG").touch()
    assert waiting.wait(timeout=20) == 0
    wait_until(lambda: not markers())
    assert list((home / "waiters").iterdir()) == []


def test_a_new_waiter_of_a_consumer_ends_the_one_before(dogwatch, gated, spawn, tmp_path) -> None:
    """Of one consumer and job; others, and waiters without a name, go on beside it."""
    gates = [gated("train"), gated("other")]
    first = spawn("wait", "train", "--consumer", "ci")
    beside = [spawn("wait", "other", "--consumer", "ci"), spawn("wait", "train"), spawn("wait", "train")]
    wait_until(lambda: len(waiters(dogwatch)) == 4)
    second = spawn("wait", "train", "--consumer", "ci")
    assert first.wait(timeout=20) == 5
    assert f"(pid {second.pid}) waits for ci now" in (tmp_path / "spawn-0.err").read_text()
    assert len(waiters(dogwatch)) == 4
    limits = {one["condition"]: one["until"] > one["since"] for one in waiters(dogwatch)}
    assert limits == {"ended": True}
    for gate in gates:
        gate.touch()
    assert [one.wait(timeout=30) for one in (second, *beside)] == [0, 0, 0, 0]
    assert waiters(dogwatch) == []


def test_a_killed_waiter_is_stale_and_a_living_one_can_be_ended(dogwatch, gated, spawn, home, tmp_path) -> None:
    """SIGKILL leaves a record that says so, until it is removed or its consumer waits again; a stopped process is
    named, since it cannot end."""
    gated("train")
    killed = [spawn("wait", "train", "--consumer", "ci"), spawn("wait", "train")]
    living = spawn("wait", "train", "--for", "progress:99%")
    wait_until(lambda: len(waiters(dogwatch)) == 3)
    for process in killed:
        process.kill()
        process.wait()
    wait_until(lambda: sum(one["alive"] for one in waiters(dogwatch)) == 1)
    assert dogwatch("waiters").stdout.count("stale") == 2
    again = spawn("wait", "train", "--consumer", "ci")
    wait_until(lambda: listed(dogwatch, pid=again.pid))
    assert listed(dogwatch, pid=killed[0].pid) is None, "its consumer waits again"
    removed = dogwatch("waiters", "rm", "--stale", "--json")
    assert len(json.loads(removed.stdout)["removed"]) == 1
    mine = listed(dogwatch, pid=living.pid)
    assert mine is not None
    os.kill(living.pid, signal.SIGSTOP)
    slow = dogwatch("waiters", "rm", mine["id"])
    assert (slow.returncode, "has not yet" in slow.stderr) == (1, True)
    os.kill(living.pid, signal.SIGCONT)
    assert living.wait(timeout=20) == 5
    assert "ended by `dogwatch waiters rm`" in (tmp_path / "spawn-2.err").read_text()
    assert dogwatch("waiters", "rm", mine["id"]).returncode == 4
    again.terminate()
    assert again.wait(timeout=20) == 130
    assert list((home / "waiters").iterdir()) == []


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, *(pytest.param(one, marks=pytest.mark.long) for one in (signal.SIGINT, signal.SIGHUP))]
)
def test_a_signal_ends_a_wait_with_a_sentence(dogwatch, gated, spawn, home, tmp_path, number) -> None:
    """It names the signal, says how to go on, leaves no record, and the job runs on."""
    gated("train")
    waiting = spawn("wait", "train", "--consumer", "me", "--json")
    wait_until(lambda: waiters(dogwatch))
    waiting.send_signal(number)
    assert waiting.wait(timeout=10) == 130
    said = (tmp_path / "spawn-0.err").read_text().splitlines()[-1]
    assert said == f"dogwatch: stopped by {number.name}; wait again: dogwatch wait train --consumer me"
    assert json.loads((tmp_path / "spawn-0.out").read_text())["reached"] is False
    assert list((home / "waiters").iterdir()) == []
    wait_until(lambda: json.loads(dogwatch("status", "train", "--json").stdout)["jobs"][0]["state"] == "running")


@pytest.mark.long
def test_a_wait_that_nobody_reads_ends(dogwatch, gated, spawn, tmp_path) -> None:
    """Whoever started it has closed the pipe: it would wait for nobody."""
    gated("train")
    waiting = spawn("wait", "train", stdout=subprocess.PIPE)
    wait_until(lambda: waiters(dogwatch))
    assert waiting.stdout is not None
    waiting.stdout.close()
    assert waiting.wait(timeout=10) == 141
    assert "the reader of the output is gone" in (tmp_path / "spawn-0.err").read_text()
    assert waiters(dogwatch) == []


@pytest.mark.long
def test_a_wait_whose_store_is_gone_ends(dogwatch, gated, spawn, home, tmp_path) -> None:
    """Exit code 3 and the reason, whoever was watching."""
    gated("train")
    waiting = spawn("wait", "train")
    wait_until(lambda: waiters(dogwatch))
    moved = home.rename(tmp_path / "elsewhere")
    try:
        assert waiting.wait(timeout=20) == 3
        assert "dogwatch:" in (tmp_path / "spawn-0.err").read_text()
    finally:
        moved.rename(home)


def test_a_note_is_in_the_history_without_its_secrets(dogwatch, gated) -> None:
    """`status` shows it however much has happened since, `events` where it was written; one line, bounded."""
    gated("train").touch()
    token = "ghp_" + "a1B2" * 9
    noted = dogwatch("note", "train", f"diverged at 3e-4\x1b[2J\nnow 1e-4 with {token}")
    assert noted.returncode == 0, noted.stderr
    assert token not in noted.stdout + noted.stderr
    assert "diverged at 3e-4 now 1e-4 with ghp_…" in noted.stdout
    dogwatch("wait", "train", "--timeout", "20")
    assert "diverged at 3e-4 now 1e-4" in dogwatch("status", "train").stdout
    history = json.loads(dogwatch("events", "train", "--json").stdout)["events"]
    [event] = [one for one in history if one["kind"] == "job.note"]
    assert event["text"] == f"note: {event['body']['note']}"
    for text, sentence in ((" \n ", "is empty"), ("x" * 2001, "at most 2,000")):
        refused = dogwatch("note", "train", text)
        assert (refused.returncode, sentence in refused.stderr) == (2, True), refused.stderr


def taken(words: list[str]) -> bool:
    """Whether the real parser takes a command as it is."""
    assert words[0] == "dogwatch"
    given = words[2 : words.index("--")] if "--" in words else words[2:]
    parser_of(words[1]).parse_args(given)
    return True


def test_the_handbook_has_every_command_and_each_is_one_that_can_be_given(dogwatch, gated, spawn, home, tmp_path):
    """Living, failed, with a secret in its command line, with a hostile name: the commands parse, those of the page run
    as they are, and what has happened since is in the next page."""
    gated("living")
    token = "ghp_" + "a1B2" * 9
    hostile = "x`](http://e)|<b>"
    failing = ["sh", "-c", f"echo token={token}\necho 'a  b'; exit 3"]
    assert dogwatch("run", "--detach", "--name", hostile, "--env", f"KEY={token}", "--", *failing).returncode == 0
    assert dogwatch("wait", hostile, "--timeout", "30").returncode == 1
    dogwatch("note", hostile, "see  ``` <script>")
    waiting = spawn("wait", "living", "--consumer", "ci")
    wait_until(lambda: waiters(dogwatch))
    book = json.loads(dogwatch("handbook", "--json").stdout)
    failed, living = (next(job for job in book["jobs"] if job["name"] == name) for name in (hostile, "living"))
    rows = [row for job in book["jobs"] for row in job["commands"]] + book["first"]
    commands = [shlex.split(row["command"]) for row in rows if row["command"]]
    assert all(taken(words) for words in commands if words[0] == "dogwatch")
    known = {row["what"] for row in living["commands"]}
    assert {"follow its logs", "wait for its end", "stop it", "show how it is"} <= known
    again = next(row for row in failed["commands"] if row["what"] == "start it")
    assert shlex.split(again["command"])[-1].endswith("\necho 'a  b'; exit 3"), "to the blank"
    assert again["note"].startswith("add --env NAME=VALUE for KEY")
    assert "a secret in it was left out" in again["note"]
    assert [(row["attempt"], row["outcome"]) for row in failed["attempts"]] == [(1, "failed")]
    assert failed["remarks"][0]["text"] == "see ``` <script>"
    assert [(one["consumer"], one["alive"]) for one in book["waiters"]] == [("ci", True)]
    page = dogwatch("handbook").stdout
    assert token not in page + json.dumps(book)
    assert "## Job ``x`](http://e)|<b>``" in page
    assert "```` see" not in page
    assert "money: unknown" in page
    waiting.kill()
    waiting.wait()
    stop = next(row["command"] for row in living["commands"] if row["what"] == "stop it")
    assert dogwatch(*shlex.split(stop)[1:]).returncode == 0
    assert dogwatch("wait", "living", "--timeout", "30").returncode == 1
    later = dogwatch("handbook", "living").stdout
    assert "STALE" in later
    assert "## Job `living`" in later
    assert hostile not in later


def test_the_handbook_is_written_whole_private_and_through_no_link(dogwatch, gated, tmp_path: Path) -> None:
    """A link, a directory and a disk without room are refused, and what was there stays."""
    gated("train")
    page = tmp_path / "HANDBOOK.md"
    page.write_text("old")
    page.chmod(0o644)
    assert dogwatch("handbook", "--write", page).stdout == f"{page}\n"
    assert page.stat().st_mode & 0o777 == 0o600
    assert "## Job `train`" in page.read_text()
    link = tmp_path / "link.md"
    link.symlink_to(tmp_path / "victim")
    for path, why in ((link, "is a symbolic link"), (tmp_path, "is not a regular file"), ("/dev/full", "regular file")):
        refused = dogwatch("handbook", "--write", path)
        assert (refused.returncode, why in refused.stderr) == (2, True), refused.stderr
    assert not (tmp_path / "victim").exists()
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []
