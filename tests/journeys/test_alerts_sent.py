"""Nothing is left unsent: what was found is delivered before a command leaves, or it says what was not sent."""

from __future__ import annotations

import json
import signal
import time

import pytest

from tests.alerts.conftest import free_port
from tests.alerts.receiver import answer, hang
from tests.support import wait_until

FAILS = ("sh", "-c", "echo loading; exit 3")
UNSENT = "the next dogwatch daemon, watch or patrol sends"


@pytest.fixture
def hook(dogwatch, receiver, tmp_path, monkeypatch):
    """A webhook that takes alerts, and no configuration file of anybody's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert dogwatch("alerts", "add", "webhook", receiver.url).returncode == 0
    return receiver


def critical(receiver) -> list[str]:
    return [job["name"] for got in list(receiver.got) for job in got.json["jobs"] if job["level"] == "critical"]


def wait_until_told(receiver, name: str) -> None:
    wait_until(lambda: name in critical(receiver), timeout=70)


def gated(dogwatch, gate, name: str, code: int = 3) -> None:
    """A job that ends when its gate is opened."""
    script = f"while [ ! -e {gate} ]; do sleep 0.1; done; exit {code}"
    assert dogwatch("run", "--detach", "--name", name, "--", "sh", "-c", script).returncode == 0


def said_of(done, words: str) -> list[str]:
    """The lines on stderr with these words."""
    return [line for line in done.stderr.splitlines() if words in line]


def undelivered(dogwatch) -> list:
    return json.loads(dogwatch("alerts", "--json").stdout)["undelivered"]


def test_run_sends_its_alert_before_it_leaves(dogwatch, hook) -> None:
    """The command line comes back after the critical alert has arrived, not before."""
    done = dogwatch("run", "--name", "train", "--", *FAILS)
    assert done.returncode == 1
    assert critical(hook) == ["train"]
    assert undelivered(dogwatch) == []


def test_watch_and_wait_send_before_they_leave(dogwatch, hook, tmp_path) -> None:
    """Whichever short command watched when the job failed."""
    for verb in ("watch", "wait"):
        (gate := tmp_path / verb).touch()
        gated(dogwatch, gate, verb)
        assert dogwatch(verb, verb).returncode == 1
        assert verb in critical(hook)


def test_a_daemon_that_leaves_when_idle_sends_first(dogwatch, hook) -> None:
    """`daemon --once-idle` does not leave with the last alert in its hands."""
    assert dogwatch("run", "--detach", "--name", "last", "--", *FAILS).returncode == 0
    assert dogwatch("daemon", "--once-idle", "--interval", "1").returncode == 0
    assert "last" in critical(hook)


def test_mail_is_sent_before_run_leaves(dogwatch, box, tmp_path, monkeypatch) -> None:
    """Through a real SMTP server."""
    mails, server = box
    (tmp_path / "config" / "dogwatch").mkdir(parents=True)
    (tmp_path / "config" / "dogwatch" / "config.toml").write_text(
        f'[smtp]\nhost = "127.0.0.1"\nport = {server.port}\nfrom = "watch@example.org"\ntls = "none"\n'
    )
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert dogwatch("alerts", "add", "email", "ann@example.org", env=env).returncode == 0
    assert dogwatch("run", "--name", "train", "--", *FAILS, env=env).returncode == 1
    assert [mail["subject"] for mail in mails.mails if "train" in mail["subject"]]


def test_run_says_what_it_could_not_send(dogwatch, hook) -> None:
    """The receiver is down: the command leaves all the same, and says how many, where and what happens next."""
    hook.always = answer(503, b"down", Retry_After="60")
    begun = time.monotonic()
    done = dogwatch("run", "--name", "train", "--", *FAILS)
    assert done.returncode == 1
    assert time.monotonic() - begun < 20
    (line,) = said_of(done, UNSENT)
    assert "not sent to webhook" in line
    assert "503" in line
    hook.always = answer(200, b"ok")
    hook.got.clear()
    dogwatch("patrol")
    assert "train" in critical(hook)


def test_a_receiver_that_stumbles_once_is_tried_again_before_run_leaves(dogwatch, hook) -> None:
    """A 500 that lasts a second is no reason to leave an alert behind."""
    hook.script = [answer(500, b"oops", Retry_After="1")]
    assert dogwatch("run", "--name", "train", "--", *FAILS).returncode == 1
    assert len({got.key for got in hook.got}) == 1
    assert len(hook.got) == 2
    assert undelivered(dogwatch) == []


def test_what_a_receiver_refuses_for_good_is_said(dogwatch, hook) -> None:
    """Nobody will send it by itself, so the way to do it is named."""
    hook.always = answer(404, b"no such hook")
    done = dogwatch("run", "--name", "train", "--", *FAILS)
    assert "not sent to webhook" in done.stderr
    assert "dogwatch alerts retry" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_whoever_stops_watching_gets_what_was_found(dogwatch, spawn, hook, tmp_path, number) -> None:
    """Ctrl-C, SIGTERM and SIGHUP send what is queued and leave within five seconds; the job goes on."""
    watching = spawn("run", "--name", "long", "--", "sleep", "60")
    wait_until(lambda: "long" in dogwatch("ls").stdout)
    (tmp_path / "gate").touch()
    gated(dogwatch, tmp_path / "gate", "short")
    wait_until(lambda: "failed" in dogwatch("status", "short").stdout)
    watching.send_signal(number)
    assert watching.wait(timeout=6) == 130
    assert "short" in critical(hook)
    assert "running" in dogwatch("status", "long").stdout


def test_a_receiver_that_hangs_holds_nobody(dogwatch, spawn, hook) -> None:
    """Ctrl-C leaves within five seconds and says that the alert was not sent."""
    hook.always = hang
    watching = spawn("run", "--name", "train", "--", *FAILS)
    wait_until(lambda: hook.got)
    watching.send_signal(signal.SIGINT)
    assert watching.wait(timeout=6) == 130


def test_a_critical_waits_neither_behind_an_info_nor_behind_another_jobs(dogwatch, spawn, hook, tmp_path) -> None:
    """A job that fails seconds after another completed or failed is told within seconds, not after the minute."""
    spawn("daemon", "--interval", "1")
    gated(dogwatch, tmp_path / "good", "good", 0)
    for name in ("bad", "worse"):
        gated(dogwatch, tmp_path / name, name, 3)
    (tmp_path / "good").touch()
    wait_until(lambda: "good" in hook.names())
    for name in ("bad", "worse"):
        failed = time.monotonic()
        (tmp_path / name).touch()
        wait_until_told(hook, name)
        assert time.monotonic() - failed < 25


@pytest.mark.parametrize("ends_by", ["itself", "SIGKILL"])
def test_a_daemon_beside_a_run_takes_over_when_that_ends(dogwatch, spawn, hook, tmp_path, home, ends_by) -> None:
    """It does not refuse: it says that it waits, and then watches, also when the run was killed."""
    gated(dogwatch, tmp_path / "later", "later")
    command = ["sh", "-c", f"while [ ! -e {tmp_path}/first ]; do sleep 0.1; done"]
    first = spawn("run", "--name", "first", "--", *command)
    wait_until(lambda: json.loads(dogwatch("ls", "--json").stdout)["watch"]["alive"])
    daemon = spawn("daemon", "--interval", "1")
    said = home.parent / "spawn-1.err"
    wait_until(lambda: "takes over when" in said.read_text())
    assert "watching;" not in said.read_text()
    if ends_by == "itself":
        (tmp_path / "first").touch()
        assert first.wait(timeout=30) == 0
    else:
        first.kill()
    wait_until(lambda: "watching;" in said.read_text())
    (tmp_path / "later").touch()
    wait_until(lambda: "later" in critical(hook), timeout=40)
    assert daemon.poll() is None


def test_a_second_daemon_is_refused_whether_the_first_watches_or_waits(dogwatch, spawn, home) -> None:
    """With one sentence that says which process it is."""
    spawn("run", "--name", "first", "--", "sleep", "60")
    wait_until(lambda: json.loads(dogwatch("ls", "--json").stdout)["watch"]["alive"])
    waiting = spawn("daemon")
    wait_until(lambda: "takes over when" in (home.parent / "spawn-1.err").read_text())
    second = dogwatch("daemon")
    assert second.returncode == 2
    assert f"pid {waiting.pid}" in second.stderr
    waiting.send_signal(signal.SIGTERM)
    assert waiting.wait(timeout=5) == 0


def test_a_patrol_says_what_it_could_not_send(dogwatch, tmp_path, monkeypatch) -> None:
    """From cron, the sentence is in the mail that cron sends."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert dogwatch("alerts", "add", "webhook", f"http://127.0.0.1:{free_port()}/hook").returncode == 0
    assert dogwatch("run", "--detach", "--name", "train", "--", *FAILS).returncode == 0
    said = wait_until(lambda: said_of(dogwatch("patrol"), UNSENT), timeout=60, pause=1.2)
    assert "not sent to webhook" in said[0]
