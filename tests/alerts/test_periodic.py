"""What the clock has to say: a heartbeat, a digest, progress."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dogwatch.assemble import Sources
from dogwatch.clock import Clock
from dogwatch.model import Job, Level, Place, Unreachable
from dogwatch.store.rows import channels as channel_rows
from dogwatch.store.rows import registration as register
from dogwatch.store.sqlite.database import SqliteStore as Store
from dogwatch.store.sqlite.location import open_store
from dogwatch.transport.interface import Answer
from dogwatch.transport.local import Here
from dogwatch.watcher.alerts import periodic
from dogwatch.watcher.alerts.heartbeat import Heartbeat
from dogwatch.watcher.loop.watcher import Watcher
from dogwatch.watcher.tick.place_poller import PlacePoller
from tests.alerts.receiver import Receiver, answer
from tests.alerts.stage import NOON, Stage
from tests.support import wait_until


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with open_store(str(home)) as opened:
        yield opened


@pytest.mark.parametrize(
    ("status", "trouble"),
    [(200, []), (204, []), (302, ["answered 302"]), (404, ["answered 404"]), (500, ["answered 500"])],
)
def test_a_heartbeat_counts_when_it_was_taken(receiver: Receiver, status: int, trouble: list[str]) -> None:
    """Only 2xx; a trouble is told once, and never with the URL."""
    receiver.always, told = answer(status), list[str]()
    beats = Heartbeat(lambda: receiver.url, 10.0, told.append)
    for mono in (0.0, 1.0, 9.0, 11.0, 12.0):
        beats.useful(mono)
        wait_until(lambda: beats._thread is not None and not beats._thread.is_alive())
    assert len(receiver.got) == 2
    assert len(told) == len(trouble)
    assert all(words in line for words, line in zip(trouble, told, strict=True))
    assert "secret-token" not in str(told)


def test_a_daemon_sends_a_heartbeat_only_when_it_has_seen_something(
    dogwatch, spawn, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without anything to look at nothing is of use; with a job it is."""
    config = tmp_path / "config" / "dogwatch" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[alerts]\nheartbeat = "env:BEAT_URL"\nheartbeat_every = "1s"\n')
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "BEAT_URL": receiver.url}
    spawn("daemon", "--interval", "1", env=env)
    wait_until(lambda: '"alive": true' in dogwatch("ls", "--json").stdout)
    time.sleep(3)
    assert receiver.got == []
    gate = tmp_path / "gate"
    dogwatch("run", "--detach", "--", "sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.1; done")
    wait_until(lambda: len(receiver.got) >= 2)
    gate.touch()


def test_a_look_that_sees_nothing_sends_no_heartbeat(home: Path, receiver: Receiver) -> None:
    """A place that does not answer is of no use to anybody, one that answers is; `patrol` sends one too."""
    clock, transport = Clock(), Shutter()
    told = list[str]()
    with open_store(str(home)) as store:
        place = Place("far", "ssh", {}, 0.0)
        register.add_place(store, place)
        track: dict[str, Any] = {"find": {"name": "no process is called this", "pidfile": None, "pids": [], "want": 1}}
        made = Job("far/process:1", "far", "process", "1", name="one", registered=1.0, track=track)
        register.register(store, made, clock.now(), clock.mono())
        beats = Heartbeat(lambda: receiver.url, 0.0, told.append)
        watch = Watcher(store, (PlacePoller(place, transport, Sources(), clock),), clock, who="test", heartbeat=beats)
        for shut, wanted in ((True, 0), (False, 1), (True, 1), (False, 2)):
            transport.shut = shut
            watch.poll_once()
            assert len(receiver.got) == wanted
        watch.close()
    assert told == []


class Shutter(Here):
    """The real reach, with a shutter."""

    shut = False

    def ask(self, request: Mapping[str, Any], deadline: float = 10.0) -> Answer | Unreachable:
        return Unreachable(self.place, 0.0, 1.0, "it is shut") if self.shut else super().ask(request, deadline)


def test_the_heartbeat_stops_when_every_channel_has_failed_for_ten_minutes(
    store: Store, receiver: Receiver, tmp_path: Path
) -> None:
    """Then a switch that misses it is the last that can tell somebody. It is said once, and one channel that works
    is enough to go on."""
    other, switch, told = Receiver(), Receiver(), list[str]()
    stage = Stage(store, tmp_path)
    stage.hook("one", receiver.url)
    stage.hook("two", other.url, levels=["critical"])
    beats = Heartbeat(lambda: switch.url, 0.0, told.append)

    def beat() -> int:
        since = channel_rows.mute_since(store)
        beats.useful(stage.clock.mono(), 0.0 if since is None else stage.clock.now() - since)
        beats.wait(20)
        return len(switch.got)

    assert beat() == 1
    receiver.always, other.always = answer(503), answer(404)
    stage.say(["a"])
    stage.go(300)
    assert beat() == 2
    stage.go(400)
    assert (beat(), beat()) == (2, 2)
    assert [line for line in told if "withheld" in line] == told
    assert len(told) == 1
    other.always = answer(200, b"ok")
    stage.say(["b"])
    stage.go(120)
    assert beat() == 3
    for one in (other, switch):
        one.close()


def job(**more: object) -> Any:
    return {"ref": "here/process:1", "name": "a", "state": "running", "outcome": None, "since": NOON, **more}


def test_a_digest_counts_what_ran_and_what_ended_within_a_day() -> None:
    """By name where it went badly."""
    known = [
        job(),
        job(state="ended", outcome="failed", name="bad"),
        job(state="ended", outcome="succeeded"),
        job(state="ended", outcome="failed", name="long ago", since=NOON - 2 * 86400),
    ]
    told = periodic.digest(known, 3, date(2027, 1, 15), NOON + 60)
    assert told.text == "1 running, 2 ended within a day (1 of them badly), 3 findings open; badly: bad"


def test_a_digest_comes_once_a_day_also_when_nothing_happened_and_after_restarts(
    store: Store, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the hour that was chosen, local time."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    stage = Stage(store, tmp_path, digest=9 * 60)
    stage.hook("hook", receiver.url)
    for _ in range(3 * 24):
        stage.go(3600, 300)
        stage.restart()
    assert [got.json["jobs"][0]["rule"] for got in receiver.got] == ["digest"] * 3


def test_progress_is_told_of_running_jobs_that_know_theirs() -> None:
    """With one key for each half an hour."""
    known = [job(fraction=0.25), job(fraction=None), job(fraction=1.0, state="ended")]
    tell = partial(periodic.progress, known)
    (told,) = tell(NOON)
    assert (told.text, told.level) == ("25 % done", Level.PROGRESS)
    assert {one.key for one in (*tell(NOON), *tell(NOON + 1799))} == {told.key}
    assert next(iter(tell(NOON + 1800))).key != told.key
