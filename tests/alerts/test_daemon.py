"""The whole way with the real daemon: a job fails, a message arrives, once; and what holds it back."""

from __future__ import annotations

import json
import time

import pytest

from tests.alerts.receiver import answer
from tests.support import wait_until

WAIT = 40.0


def alerts(dogwatch, *words: str) -> dict:
    done = dogwatch("alerts", *words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def hook(dogwatch, receiver, tmp_path, monkeypatch):
    """A daemon's home with one webhook, and no configuration file of anybody's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    alerts(dogwatch, "add", "webhook", receiver.url)
    return receiver


def fail(dogwatch, name: str, code: int = 3) -> None:
    assert dogwatch("run", "--detach", "--name", name, "--", "sh", "-c", f"exit {code}").returncode == 0


def test_jobs_that_fail_together_are_one_message_that_names_them(dogwatch, spawn, hook):
    """With their exit codes; `explain` knows that it was sent."""
    spawn("daemon")
    for n in range(5):
        fail(dogwatch, f"job{n}")
    wait_until(lambda: len(set(hook.names())) == 5, timeout=WAIT)
    (got,) = hook.got
    assert got.json["level"] == "critical"
    assert {job["text"] for job in got.json["jobs"] if job["level"] == "critical"} == {"ended, failed: exit code 3"}
    wait_until(lambda: alerts(dogwatch, "explain")["decisions"][0]["decision"] == "sent", timeout=WAIT)
    assert alerts(dogwatch)["undelivered"] == []


def test_a_receiver_that_is_down_gets_it_when_it_is_back(dogwatch, spawn, hook):
    """The same message with the same key; meanwhile it is shown as undelivered."""
    hook.script = [answer(500, b"down", Retry_After="1"), answer(503, b"", Retry_After="1")]
    spawn("daemon")
    fail(dogwatch, "late")
    wait_until(lambda: hook.got, timeout=WAIT)
    wait_until(lambda: "500" in str(alerts(dogwatch)["undelivered"]), timeout=WAIT)
    wait_until(lambda: len(hook.got) == 3 and not alerts(dogwatch)["undelivered"], timeout=WAIT)
    assert len({(got.key, got.body) for got in hook.got}) == 1


def test_the_list_of_jobs_says_when_alerts_do_not_arrive(dogwatch, spawn, hook):
    """One line on stderr as long as the newest message is not taken, and none before and after."""
    banner = "alerts do not arrive (webhook)"
    assert banner not in dogwatch("ls").stderr
    hook.always = answer(404, b"no such hook")
    spawn("daemon")
    fail(dogwatch, "unheard")
    wait_until(lambda: banner in dogwatch("ls").stderr, timeout=WAIT)
    hook.always = answer(200, b"")
    assert dogwatch("alerts", "retry").returncode == 0
    wait_until(lambda: banner not in dogwatch("ls").stderr, timeout=WAIT)


def test_what_is_refused_for_good_is_parked_and_said_elsewhere(dogwatch, spawn, hook, tmp_path):
    """One broken channel holds back no other, and another try can be asked for."""
    alerts(dogwatch, "add", "file", str(tmp_path / "alerts.jsonl"), "--levels", "warning")
    (tmp_path / "alerts.jsonl").touch()
    hook.always = answer(404, b"no such hook")
    spawn("daemon")
    fail(dogwatch, "parked")
    wait_until(lambda: {one["state"] for one in alerts(dogwatch)["undelivered"]} == {"given up"}, timeout=WAIT)
    wait_until(lambda: "rejects messages permanently" in (tmp_path / "alerts.jsonl").read_text(), timeout=WAIT * 2)
    hook.always = answer(200, b"ok")
    assert alerts(dogwatch, "retry")["retried"] >= 1
    wait_until(lambda: not alerts(dogwatch)["undelivered"], timeout=WAIT)
    assert "parked" in hook.names()


def test_a_silence_holds_from_the_moment_it_is_said_also_after_a_kill(dogwatch, spawn, hook):
    """And its reason is what `explain` gives."""
    daemon = spawn("daemon")
    number = alerts(dogwatch, "silence", "hush*", "--for", "1h")["silence"]
    daemon.kill()
    daemon.wait()
    spawn("daemon")
    fail(dogwatch, "hushed")
    fail(dogwatch, "loud")
    wait_until(lambda: "loud" in hook.names(), timeout=WAIT)
    time.sleep(1)
    assert "hushed" not in hook.names()
    told = [one for one in alerts(dogwatch, "explain")["decisions"] if one["name"] == "hushed"]
    assert {one["reason"] for one in told} == {f"silenced (#{number})"}


def test_what_one_look_finds_is_sent_before_it_ends(dogwatch, hook):
    """`patrol` from cron, without a daemon."""
    fail(dogwatch, "alone")
    wait_until(lambda: "alone" in hook.names() or not dogwatch("patrol") or False, timeout=WAIT, pause=1.2)


def test_doctor_sends_by_the_way_that_alerts_take(dogwatch, spawn, hook):
    """With and without a watcher, and shows the receipt."""
    for _ in range(2):
        done = dogwatch("doctor", "--send", "--json")
        checks = {one["what"]: one for one in json.loads(done.stdout)["checks"]}
        assert checks["channel webhook"]["verdict"] == "ok", done.stdout
        assert "answered 200" in checks["channel webhook"]["text"]
        spawn("daemon")
        wait_until(lambda: json.loads(dogwatch("ls", "--json").stdout)["watch"]["alive"])
    assert len(hook.got) == 2


def test_the_owner_sees_no_secret_again(dogwatch, hook):
    """Neither the URL nor what it is kept in is printed, and the file is the owner's alone."""
    listed = (
        dogwatch("alerts", "ls").stdout + dogwatch("alerts", "ls", "--json").stdout + dogwatch("alerts", "test").stdout
    )
    assert "secret-token" not in listed
    (row,) = json.loads(dogwatch("alerts", "ls", "--json").stdout)["channels"]
    path = row["settings"]["url"].removeprefix("file:")
    import os

    assert os.stat(path).st_mode & 0o777 == 0o600
