"""`dogwatch patrol`: only changes, each reported once, whoever saw them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import wait_until


def patrol(dogwatch, *flags: str):
    done = dogwatch("patrol", "--json", *flags)
    return done.returncode, json.loads(done.stdout)


def test_each_change_is_reported_once_and_a_bad_ending_is_exit_1(dogwatch) -> None:
    """The second patrol of the same events is silent and fine."""
    dogwatch("run", "--detach", "--name", "bad", "--", "sh", "-c", "exit 5")
    dogwatch("wait", "bad", "--timeout", "20")
    code, report = patrol(dogwatch)
    assert code == 1
    ending = [change for change in report["changes"] if change.get("after") == "ended"]
    assert [(c["name"], c["outcome"], c["exit_code"]) for c in ending] == [("bad", "failed", 5)]
    assert report["unreachable"] == []
    names = ("changes", "groups", "runs", "reminders", "unreachable", "polled")
    assert patrol(dogwatch) == (0, {name: [] for name in names})


def test_nothing_new_prints_nothing_unless_a_heartbeat_is_asked_for(dogwatch) -> None:
    """Silence is for machines; the heartbeat is the line that says somebody looked."""
    dogwatch("run", "--detach", "--name", "calm", "--", "sleep", "60")
    assert "running" in dogwatch("patrol").stdout
    assert dogwatch("patrol").stdout == ""
    beat = dogwatch("patrol", "--heartbeat").stdout
    assert beat.startswith("polled at 20")
    assert "no change, 1 job watched" in beat


def test_beside_a_running_watcher_it_answers_from_the_store(dogwatch, spawn) -> None:
    """It does not look itself, and reports what the watcher saw."""
    spawn("daemon")
    wait_until(lambda: json.loads(dogwatch("ls", "--json", "--no-poll").stdout)["watch"]["alive"])
    dogwatch("run", "--detach", "--name", "seen", "--", "true")
    wait_until(lambda: json.loads(dogwatch("status", "seen", "--json").stdout)["jobs"][0]["state"] == "ended")
    code, report = patrol(dogwatch)
    assert code == 0
    assert report["polled"] == []
    assert [c["outcome"] for c in report["changes"] if c.get("after") == "ended"] == ["succeeded"]


def test_within_the_floor_of_a_place_it_does_not_look_again(dogwatch) -> None:
    """Two patrols in the same second are one poll."""
    dogwatch("run", "--detach", "--name", "calm", "--", "sleep", "60")
    looks = [patrol(dogwatch)[1]["polled"] for _ in range(2)]
    assert looks[0] == ["here"]
    counted = json.loads(dogwatch("ls", "--json", "--no-poll").stdout)["places"][0]["polls"]
    assert counted == sum(len(look) for look in looks)


def test_a_new_reader_begins_where_the_person_stands_and_then_goes_its_own_way(dogwatch, home) -> None:
    """What was told before it came is not told again; what one of them reads is not taken from the other."""
    dogwatch("run", "--detach", "--name", "first", "--", "true")
    dogwatch("wait", "first", "--timeout", "20")
    assert "succeeded" in dogwatch("patrol").stdout
    assert patrol(dogwatch, "--reader", "script")[1]["changes"] == []
    dogwatch("run", "--detach", "--name", "second", "--", "true")
    dogwatch("wait", "second", "--timeout", "20")
    for flags in ((), ("--reader", "script")):
        assert {change["name"] for change in patrol(dogwatch, *flags)[1]["changes"]} == {"second"}
    assert dogwatch("patrol", "--reader", "--x").returncode == 2


@pytest.mark.needs_root
@pytest.mark.needs_tool("unshare")
def test_a_log_file_on_a_full_disk_is_complained_of(dogwatch, environment: dict[str, str], tmp_path: Path) -> None:
    """The file can be opened and takes nothing; the poll itself is done."""
    dogwatch("run", "--detach", "--name", "calm", "--", "sleep", "60")
    script = (
        f"mount -t tmpfs -o size=32k none {tmp_path}/full && touch {tmp_path}/full/x.log && "
        f'{{ head -c 64k /dev/zero > {tmp_path}/full/fill; }} 2>/dev/null; exec "$@"'
    )
    (tmp_path / "full").mkdir()
    program = [sys.executable, "-m", "dogwatch", "patrol", "--log-file", f"{tmp_path}/full/x.log"]
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *program], env=environment, capture_output=True)
    assert b"running" in done.stdout
    assert b"x.log does not take the experiment log (No space left on device)" in done.stderr, done.stderr
