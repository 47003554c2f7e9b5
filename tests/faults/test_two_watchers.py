"""One watcher per store: the lease, who says what about it, and what happens the moment its holder dies."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.faults.scene import events, gated, jobs, refused, states, watcher
from tests.support import wait_until


def test_a_second_daemon_leaves_and_names_the_first(dogwatch, spawn, home: Path) -> None:
    """Exit code 2 and one sentence with who holds the lease; the first goes on undisturbed."""
    first, _ = watcher(spawn, home)
    sentence = refused(dogwatch("daemon"), 2)
    assert f"daemon (pid {first.pid}" in sentence
    assert first.poll() is None
    assert [event["kind"] for event in events(dogwatch)] == ["watch.started"]


def test_the_lease_of_a_killed_daemon_is_free_at_once(dogwatch, spawn, home: Path, tmp_path: Path) -> None:
    """The next daemon starts without waiting, and says from when to when nobody watched."""
    gated(dogwatch, tmp_path / "good", 0)
    first, _ = watcher(spawn, home)
    wait_until(lambda: jobs(dogwatch)["good"]["state"] == "running")
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    (tmp_path / "good").touch()
    watcher(spawn, home)
    wait_until(lambda: jobs(dogwatch)["good"]["state"] == "ended")
    assert states(dogwatch, "good") == ["running", "succeeded"]
    (gap,) = events(dogwatch, "watch.gap")
    assert gap["level"] == "warning"
    assert "daemon died" in gap["text"]
    assert len(events(dogwatch, "watch.started")) == 2


def test_a_stopped_daemon_still_holds_its_lease(dogwatch, spawn, home: Path) -> None:
    """The lock decides and not whether the holder answers: a stopped watcher may wake at any moment."""
    first, _ = watcher(spawn, home)
    os.kill(first.pid, signal.SIGSTOP)
    try:
        assert f"pid {first.pid}" in refused(dogwatch("daemon"), 2)
        assert dogwatch("ls").returncode == 0
    finally:
        os.kill(first.pid, signal.SIGCONT)


def test_watch_leaves_the_watching_to_the_daemon_and_takes_over_when_it_dies(
    dogwatch, spawn, home: Path, tmp_path: Path
) -> None:
    """Two interfaces, one watcher at a time; the ending is recorded once, by whoever is left."""
    gated(dogwatch, tmp_path / "bad", 4)
    daemon, _ = watcher(spawn, home)
    wait_until(lambda: jobs(dogwatch)["bad"]["state"] == "running")
    watch = spawn("watch", "bad")
    wait_until(lambda: "running" in (tmp_path / "spawn-1.out").read_text())
    assert [event["text"] for event in events(dogwatch, "watch.started")] == ["dogwatch daemon started watching"]
    os.kill(daemon.pid, signal.SIGKILL)
    daemon.wait()
    wait_until(lambda: len(events(dogwatch, "watch.started")) == 2)
    assert events(dogwatch, "watch.started")[1]["text"] == "dogwatch watch started watching"
    (tmp_path / "bad").touch()
    assert watch.wait(timeout=20) == 1
    assert states(dogwatch, "bad") == ["running", "failed"]
    assert "exit code 4" in (tmp_path / "spawn-1.out").read_text()
