"""A finding is called resolved only when it is; what ended with its job is closed as that; what gets worse is said."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.conftest import needs_root
from tests.support import wait_until

STALLS = 'for i in 1 2 3 4 5; do echo "step $i/1000"; sleep 0.2; done; sleep 1000'


@pytest.fixture
def hook(dogwatch, receiver, tmp_path, monkeypatch):
    """A webhook that takes alerts, and no configuration file of anybody's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert dogwatch("alerts", "add", "webhook", receiver.url).returncode == 0
    return receiver


def told(receiver, name: str, rule: str) -> list[tuple[str, str]]:
    """(level, text) of what arrived about a job by a rule, in its order."""
    jobs = [job for got in list(receiver.got) for job in got.json["jobs"]]
    return [(job["level"], job["text"]) for job in jobs if (job["name"], job["rule"]) == (name, rule)]


def good_news(receiver) -> list[str]:
    return [
        job["text"]
        for got in list(receiver.got)
        for job in got.json["jobs"]
        if job["rule"] != "disk_low" and (job["resolved"] or job["text"].startswith("resolved"))
    ]


def events(dogwatch, kind: str) -> list[dict]:
    found = json.loads(dogwatch("events", "--json").stdout)["events"]
    return [event for event in found if event["kind"] == kind and event["body"]["rule"] != "disk_low"]


def pids(dogwatch, name: str) -> list[int]:
    found = json.loads(dogwatch("status", name, "--json").stdout)
    job = found["jobs"][0] if "jobs" in found else found
    return [worker["pid"] for worker in job["workers"] if worker["pid"]]


def has_ended(dogwatch, name: str) -> bool:
    found = json.loads(dogwatch("ls", "--all", "--json").stdout)["jobs"]
    return next(job["state"] for job in found if job["name"] == name) == "ended"


def leave(daemon) -> None:
    """Whoever stops sends what is queued, without waiting for the minute between two messages."""
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(timeout=10) == 0


def start(dogwatch, name: str, script: str, *flags: str) -> None:
    done = dogwatch("run", "--detach", "--name", name, *flags, "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr


def test_a_stall_is_not_resolved_by_a_kill(dogwatch, spawn, hook, fast) -> None:
    """The stall ended with the job: the history says so, nobody is told good news, and the receiver can close it."""
    daemon = spawn("daemon", "--interval", "1")
    start(dogwatch, "train", STALLS, "--stall-timeout", "2")
    with fast(10):
        wait_until(lambda: told(hook, "train", "stalled"), timeout=40)
    os.kill(pids(dogwatch, "train")[0], signal.SIGKILL)
    wait_until(lambda: has_ended(dogwatch, "train"))
    leave(daemon)
    assert told(hook, "train", "all_ended")
    assert good_news(hook) == []
    (closed,) = [e for e in events(dogwatch, "finding.closed") if e["body"]["rule"] == "stalled"]
    assert closed["text"].startswith("ended with the job: stalled")
    assert closed["body"]["how"] == "ended_with_job"
    assert events(dogwatch, "finding.resolved") == []
    assert "ended_with_job" in [job["closed"] for got in hook.got for job in got.json["jobs"]]
    assert "ended with the job" in dogwatch("alerts", "explain").stdout


def test_mail_never_calls_a_dead_job_resolved(dogwatch, spawn, box, tmp_path, fast) -> None:
    """People get the stall and the end, and no third mail."""
    mails, server = box
    folder = tmp_path / "config" / "dogwatch"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(
        f'[smtp]\nhost = "127.0.0.1"\nport = {server.port}\nfrom = "watch@example.org"\ntls = "none"\n'
    )
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert dogwatch("alerts", "add", "email", "ann@example.org", env=env).returncode == 0
    daemon = spawn("daemon", "--interval", "1", env=env)
    start(dogwatch, "train", STALLS, "--stall-timeout", "2")
    with fast(10):
        wait_until(lambda: any("stalled" in str(mail["subject"]) for mail in mails.mails), timeout=40)
    os.kill(pids(dogwatch, "train")[0], signal.SIGKILL)
    wait_until(lambda: has_ended(dogwatch, "train"))
    leave(daemon)
    said = [mail.get_body(("plain",)).get_content() for mail in mails.mails]
    assert any("ended" in text for text in said)
    assert not any("resolved" in text or "ended with the job" in text for text in said)


def test_what_really_went_away_is_resolved(dogwatch, spawn, hook, fast) -> None:
    """A worker that was stopped and goes on is good news, and said."""
    daemon = spawn("daemon", "--interval", "1")
    start(dogwatch, "train", "while :; do echo tick; sleep 0.5; done")
    pid = wait_until(lambda: pids(dogwatch, "train"))[0]
    os.kill(pid, signal.SIGSTOP)
    with fast(10):
        wait_until(lambda: told(hook, "train", "worker_gone"), timeout=40)
    os.kill(pid, signal.SIGCONT)
    wait_until(lambda: events(dogwatch, "finding.resolved"))
    leave(daemon)
    assert good_news(hook)


def test_a_finding_that_gets_worse_is_an_event_and_an_alert(dogwatch, spawn, hook, fast) -> None:
    """A stopped worker is a warning; killed, it is critical, said once, and never resolved."""
    spawn("daemon", "--interval", "1")
    start(dogwatch, "pair", "while :; do echo tick; sleep 0.5; done", "--workers", "2")
    wait_until(lambda: len(pids(dogwatch, "pair")) == 2)
    victim = pids(dogwatch, "pair")[1]
    os.kill(victim, signal.SIGSTOP)
    with fast(10):
        wait_until(lambda: told(hook, "pair", "worker_gone"), timeout=40)
    os.kill(victim, signal.SIGKILL)
    with fast(5):
        wait_until(lambda: len(told(hook, "pair", "worker_gone")) > 1, timeout=40)
    assert [level for level, _ in told(hook, "pair", "worker_gone")] == ["warning", "critical"]
    escalated = events(dogwatch, "finding.escalated")[-1]
    assert escalated["level"] == "critical"
    assert escalated["body"]["before"] == "warning"
    assert "worker 1" in escalated["text"]
    assert good_news(hook) == []


@needs_root
def test_a_full_disk_is_not_resolved_at_no_bytes(dogwatch, spawn, hook, tmp_path, fast) -> None:
    """A warning becomes critical when the disk is full, and ends with the job that filled it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], check=True)
    try:
        daemon = spawn("daemon", "--interval", "1")
        gate = tmp_path / "gate"
        script = f"until [ -e {gate} ]; do sleep 0.1; done; cat /dev/zero > {disk}/out.bin; sleep 1000"
        start(dogwatch, "writer", script, "--output", f"{disk}/*.bin")
        with fast(10):
            wait_until(lambda: [level for level, _ in told(hook, "writer", "disk_low")] == ["warning"], timeout=40)
        gate.touch()
        with fast(5):
            wait_until(lambda: len(told(hook, "writer", "disk_low")) > 1, timeout=40)
        assert [level for level, _ in told(hook, "writer", "disk_low")] == ["warning", "critical"]
        for pid in pids(dogwatch, "writer"):
            os.killpg(pid, signal.SIGKILL)
        wait_until(lambda: has_ended(dogwatch, "writer"))
        leave(daemon)
        assert told(hook, "writer", "all_ended")
        assert "0 MB" in told(hook, "writer", "disk_low")[1][1]
        assert not any(text.startswith("resolved") for _, text in told(hook, "writer", "disk_low"))
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_forgetting_a_job_resolves_nothing(dogwatch, spawn, hook, fast) -> None:
    """What stood open about it is closed as no longer watched; the receiver can close it, people are not told."""
    daemon = spawn("daemon", "--interval", "1")
    start(dogwatch, "train", STALLS, "--stall-timeout", "2")
    with fast(10):
        wait_until(lambda: told(hook, "train", "stalled"), timeout=40)
    assert dogwatch("forget", "train").returncode == 0
    leave(daemon)
    assert "no longer watched: stalled" in str(told(hook, "train", "stalled"))
    assert good_news(hook) == []
    assert json.loads(dogwatch("alerts", "--json").stdout)["open"] == []


HANGS = """
import os, time
worker = int(os.environ["DOGWATCH_WORKER"])
for step in range(1, 61):
    print(f"step {step}/60", flush=True)
    time.sleep(1)
    if worker == 0 and step == 10:
        time.sleep(100_000)
"""


def test_a_hang_is_not_resolved_because_the_others_have_finished(dogwatch, spawn, hook, fast) -> None:
    """Worker 0 stands still while the others go on, and still does when they have nothing left to do."""
    daemon = spawn("daemon", "--interval", "1")
    flags = ("--workers", "3", "--stall-timeout", "12")
    assert dogwatch("run", "--detach", "--name", "train", *flags, "--", sys.executable, "-c", HANGS).returncode == 0
    with fast(15):
        wait_until(lambda: told(hook, "train", "straggler"), timeout=30)
        wait_until(lambda: events(dogwatch, "finding.opened")[-1]["body"]["rule"] == "stalled", timeout=40)
    assert events(dogwatch, "finding.resolved") == []
    leave(daemon)
    assert "no progress" in dogwatch("status", "train").stdout
    assert good_news(hook) == []


NOT_A_NUMBER = """
import time
for step in range(1, 100):
    print(f"step {step}/1000 loss: nan", flush=True)
    time.sleep(5)
    if step == 40:
        time.sleep(100_000)
"""


def test_another_watcher_resolves_nothing_by_coming(dogwatch, spawn, hook, fast) -> None:
    """A loss that is not a number stays so for the next watcher, which has not read one yet."""
    first = spawn("daemon", "--interval", "2")
    start = ("run", "--detach", "--name", "train", "--", sys.executable, "-c", NOT_A_NUMBER)
    assert dogwatch(*start).returncode == 0
    with fast(20):
        wait_until(lambda: told(hook, "train", "loss_bad"), timeout=40)
    first.kill()
    first.wait()
    second = spawn("daemon", "--interval", "1")
    looks = json.loads(dogwatch("ls", "--json").stdout)["places"][0]["polls"]
    wait_until(lambda: json.loads(dogwatch("ls", "--json").stdout)["places"][0]["polls"] > looks + 2)
    leave(second)
    assert events(dogwatch, "finding.resolved") == []
    assert "loss_bad" in [one["rule"] for one in json.loads(dogwatch("alerts", "--json").stdout)["open"]]
