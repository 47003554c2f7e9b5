"""Alerts of the real daemon while the disk is full, the clock is moved, or the configuration file is half written."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dogwatch.assemble import channel
from dogwatch.errors import StoreFull
from dogwatch.store.rows import channels as channel_rows
from dogwatch.store.sqlite.location import open_store
from dogwatch.tuning import Tuning
from tests.alerts.receiver import Receiver, answer
from tests.alerts.stage import Hand
from tests.conftest import kill_recorded, needs_root, needs_tool
from tests.faults.scene import watcher
from tests.faults.test_clock import moved
from tests.store.sample import fill_up, mounted
from tests.support import wait_until

WAIT = 40.0


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the configuration file would be."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "dogwatch").mkdir(parents=True)
    return tmp_path / "config" / "dogwatch" / "config.toml"


@pytest.fixture
def home(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A home; where a test names a size, a small disk of its own."""
    path, options = tmp_path / "home", getattr(request, "param", None)
    with mounted(path, options) if options else contextlib.nullcontext(path):
        path.mkdir(mode=0o700, exist_ok=True)
        yield path
        kill_recorded(path)


def overview(dogwatch) -> dict:
    return json.loads(dogwatch("alerts", "--json").stdout)


def fail(dogwatch, name: str) -> None:
    assert dogwatch("run", "--detach", "--name", name, "--", "sh", "-c", "exit 3").returncode == 0


def failures(receiver: Receiver) -> Counter[str]:
    """How often each failure arrived, by the name of its job."""
    return Counter(job["name"] for got in list(receiver.got) for job in got.json["jobs"] if job["level"] == "critical")


@needs_root
@pytest.mark.parametrize("home", ["size=6m"], indirect=True)
def test_what_was_pending_when_the_disk_filled_up_leaves_while_it_is_full(
    dogwatch, spawn, home: Path, receiver: Receiver
) -> None:
    """Once, though that cannot be noted, and it is noted as soon as there is room; the daemon lives on."""
    dogwatch("alerts", "add", "webhook", receiver.url)
    receiver.always = answer(503, b"down", Retry_After="1")
    process, _ = watcher(spawn, home)
    fail(dogwatch, "pending")
    wait_until(lambda: receiver.got, timeout=WAIT)
    wait_until(lambda: overview(dogwatch)["undelivered"][0]["tries"], timeout=WAIT)
    (home / "reserve").unlink(missing_ok=True)
    fill_up(home)
    receiver.got.clear()
    receiver.always = answer(200, b"ok")
    wait_until(lambda: failures(receiver)["pending"], timeout=WAIT)
    assert len(overview(dogwatch)["undelivered"]) == 1
    (home / "ballast").unlink()
    wait_until(lambda: not overview(dogwatch)["undelivered"], timeout=WAIT)
    assert failures(receiver) == {"pending": 1}
    assert process.poll() is None


@needs_tool("faketime")
def test_a_clock_that_is_set_under_the_daemon_holds_no_alert_back(
    dogwatch, spawn, home: Path, tmp_path: Path, receiver: Receiver
) -> None:
    """A day back while one is pending, two days ahead with the next: each arrives once, with its first key."""
    dial = _dial(tmp_path)
    dogwatch("alerts", "add", "webhook", receiver.url)
    receiver.always = answer(503, b"down", Retry_After="1")
    watcher(spawn, home, env=moved(tmp_path))
    fail(dogwatch, "first")
    wait_until(lambda: receiver.got, timeout=WAIT)
    key = receiver.got[0].key
    dial("-1d")
    fail(dogwatch, "second")
    wait_until(lambda: len(receiver.got) > 1, timeout=WAIT)
    dial("+1d")
    receiver.got.clear()
    receiver.always = answer(200, b"ok")
    wait_until(lambda: len(failures(receiver)) == 2, timeout=2 * WAIT)
    assert failures(receiver) == {"first": 1, "second": 1}
    assert key in {got.key for got in receiver.got}


def _dial(tmp_path: Path) -> Callable[[str], None]:
    def turn(offset: str) -> None:
        (tmp_path / "dial.new").write_text(f"{offset}\n")
        (tmp_path / "dial.new").rename(tmp_path / "dial")

    turn("+0")
    return turn


CONFIG = """
[alerts]
heartbeat = "env:BEAT_URL"
[[alerts.channel]]
name = "one"
kind = "file"
path = "/tmp/one.jsonl"
[[alerts.channel]]
name = "two"
kind = "file"
path = "/tmp/two.jsonl"
"""


def look(tuning: Tuning, clock: Hand, times: int) -> None:
    """Time goes by, and the file is looked at so often."""
    for _ in range(times):
        clock.pass_(11)
        tuning.again()
        assert tuning._reading is not None
        tuning._reading.join()


@needs_root
@pytest.mark.parametrize("home", ["size=2m"], indirect=True)
def test_a_watcher_starts_on_a_full_disk_with_a_configuration_that_is_new(home: Path, config: Path) -> None:
    """What needs no store holds at once; the channels are taken over when there is room."""
    told, clock = list[str](), Hand()
    config.write_text(CONFIG)
    with open_store(str(home)) as store:
        fill_up(home)
        tuning = Tuning(store, clock, told.append, channel)
        assert tuning.heartbeat.due < float("inf")
        assert channel_rows.channels(store) == []
        with pytest.raises(StoreFull):
            look(tuning, clock, 4)
        (home / "ballast").unlink()
        look(tuning, clock, 4)
        assert [row.name for row in channel_rows.channels(store)] == ["one", "two"]
    assert told == []


def test_a_configuration_file_that_is_half_written_or_wrong_drops_nothing(home: Path, config: Path) -> None:
    """It is taken over when it has been the same for two polls, told of once when it is wrong, and what it said when it
    was right holds meanwhile: also for a watcher that is started then."""
    told, clock = list[str](), Hand()

    def names() -> list[str]:
        return [row.name for row in channel_rows.channels(store)]

    with open_store(str(home)) as store:
        config.write_text(CONFIG)
        tuning = Tuning(store, clock, told.append, channel)
        assert names() == ["one", "two"]
        config.write_text(CONFIG.partition('[[alerts.channel]]\nname = "two"')[0])  # as an editor that is not done yet
        look(tuning, clock, 1)
        config.write_text(CONFIG + "[smtp]\nport = 0\n")
        look(tuning, clock, 6)
        assert names() == ["one", "two"]
        assert told == [
            f"the configuration file is not used: {config}: smtp.port is a number from 1 to 65535"
            "; the version before stays in use"
        ]
        again = Tuning(store, clock, told.append, channel)
        assert told[1] == told[0]
        assert again.heartbeat.due < float("inf")
        config.write_text(CONFIG.replace('"two"', '"three"'))
        look(tuning, clock, 4)
        assert names() == ["one", "three"]
        assert told[2:] == ["the configuration file has changed and was loaded again"]
