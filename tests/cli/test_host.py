"""`dogwatch host`: a host is added only with a key that somebody vouched for, and says what it is like there."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from dogwatch.api import hosts
from dogwatch.clock import Clock
from dogwatch.errors import UsageError
from dogwatch.model import Job
from dogwatch.model.job import Place
from dogwatch.store.rows import registration as register
from dogwatch.store.sqlite.location import open_store
from tests.transport.conftest import sshd
from tests.transport.sshd import make_key

__all__ = ["sshd"]


@pytest.fixture
def add(dogwatch, sshd):
    """`dogwatch host add lab` with the alias and config of the test's sshd."""
    return lambda *more: dogwatch("host", "add", "lab", "--ssh", "box", "--ssh-config", sshd.config, *more)


def names(dogwatch) -> list[str]:
    listed = dogwatch("host", "ls", "--json")
    assert listed.returncode == 0, listed.stderr
    return [host["name"] for host in json.loads(listed.stdout)["hosts"]]


def test_a_host_that_answers_is_added_with_what_it_said(dogwatch, sshd, add):
    """One line for people, the same facts as JSON, and a floor of a minute."""
    sshd.start()
    done = add()
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("lab: added, reachable in ")
    (host,) = json.loads(dogwatch("host", "ls", "--json").stdout)["hosts"]
    assert (host["name"], host["ssh"], host["ssh_config"]) == ("lab", "box", str(sshd.config))
    assert (host["floor_seconds"], host["jobs"], host["answered_at"]) == (60.0, 0, None)
    tested = dogwatch("host", "test", "lab", "--json")
    assert tested.returncode == 0, tested.stderr
    told = json.loads(tested.stdout)
    assert told["reachable"] is True
    assert told["hostname"] == os.uname().nodename
    assert abs(told["skew_seconds"]) < 30
    assert told["python"].startswith("3.")
    assert told["warnings"] == []


def test_an_unknown_key_is_shown_and_the_host_is_not_added(dogwatch, sshd, add):
    """Exit 2, the fingerprint, the flag that takes it, and no question asked."""
    sshd.known_hosts.write_text("")
    sshd.start()
    done = add()
    assert done.returncode == 2
    assert "ED25519 SHA256:" in done.stderr
    assert "--accept-key" in done.stderr
    assert names(dogwatch) == []
    assert sshd.known_hosts.read_text() == ""
    told = json.loads(add("--json").stdout)
    assert told["added"] is False
    assert told["fingerprints"][0].startswith("ED25519 SHA256:")


def test_an_accepted_key_adds_the_host(dogwatch, sshd, add):
    """The key goes to known_hosts, and what was trusted is told."""
    sshd.known_hosts.write_text("")
    sshd.start()
    done = add("--accept-key")
    assert done.returncode == 0, done.stderr
    assert "is trusted from now on: ED25519 SHA256:" in done.stderr
    assert names(dogwatch) == ["lab"]
    assert dogwatch("host", "test", "lab").returncode == 0


def test_a_changed_key_is_refused_even_with_the_flag(dogwatch, sshd, add):
    """Exit 2, the old key stays, and a host that is there already is refused the same way when it is tried."""
    sshd.start()
    assert add().returncode == 0
    sshd.end()
    make_key(sshd.directory / "host")
    sshd.start()
    kept = sshd.known_hosts.read_text()
    for done in (add("--accept-key"), dogwatch("host", "test", "lab")):
        assert done.returncode == 2
        assert "has changed" in done.stderr
    assert sshd.known_hosts.read_text() == kept


def test_a_host_that_is_down_is_added_with_a_note_if_its_key_is_known(dogwatch, add):
    """Exit 0 and why it could not be looked at; trying it out is exit 3."""
    done = add()
    assert done.returncode == 0
    assert "no sshd listens there" in done.stderr
    assert names(dogwatch) == ["lab"]
    tested = dogwatch("host", "test", "lab", "--json")
    assert tested.returncode == 3
    assert json.loads(tested.stdout)["kind"] == "unreachable"


def test_a_host_that_is_down_and_unknown_is_not_added(dogwatch, sshd, add):
    """Exit 3, also with the flag: there is no key to take."""
    sshd.known_hosts.write_text("")
    for more in ((), ("--accept-key",)):
        done = add(*more)
        assert done.returncode == 3
        assert "it was not added" in done.stderr
    assert names(dogwatch) == []


def test_a_refused_login_is_added_with_a_note(dogwatch, sshd, add):
    """Its key is known; that ours is refused is for its owner to mend."""
    sshd.write_config(key="stranger")
    sshd.start()
    done = add()
    assert done.returncode == 0
    assert "refused our login" in done.stderr


@pytest.mark.parametrize(("floor", "seconds"), [("5s", 5.0), ("2m", 120.0), ("1", 1.0)])
def test_a_floor_is_as_low_as_somebody_says(dogwatch, add, floor, seconds):
    """Below a minute only by saying so."""
    assert add("--floor", floor).returncode == 0
    (host,) = json.loads(dogwatch("host", "ls", "--json").stdout)["hosts"]
    assert host["floor_seconds"] == seconds


@pytest.mark.parametrize("floor", ["0.5s", "0", "-1", "never"])
def test_a_floor_below_a_second_is_refused(dogwatch, add, floor):
    """Whoever says so."""
    assert add("--floor", floor).returncode == 2
    assert names(dogwatch) == []


@pytest.mark.parametrize(
    "words",
    [
        ("here",),
        ("a/b",),
        ("lab", "--ssh=-oProxyCommand=touch x"),
        ("lab", "--ssh", "host;rm"),
        ("lab", "--ssh", "$(x)"),
        ("$(x)",),
        ("lab", "--ssh-config", "/none/config"),
    ],
)
def test_what_cannot_be_a_host_is_refused_by_name(dogwatch, words):
    """Exit 2 with the value in the message."""
    done = dogwatch("host", "add", *words)
    assert done.returncode == 2
    assert words[-1].removeprefix("--ssh=").split()[0] in done.stderr
    assert names(dogwatch) == []


def test_what_connecting_runs_here_is_told(dogwatch, sshd, add):
    """A proxy command of the user's own config is used, and warned of."""
    sshd.write_config(f"ProxyCommand nc -N 127.0.0.1 {sshd.port}")
    done = add()
    assert "warning: connecting runs a command of your ssh config here (proxycommand)" in done.stderr


def test_a_host_goes_when_no_job_lives_there(dogwatch, home, add):
    """Not before; and it can be added again."""
    assert add().returncode == 0
    clock = Clock()
    job = Job("lab/slurm:7", "lab", "slurm", "7", "train")
    with open_store(str(home)) as store:
        register.register(store, job, clock.now(), clock.mono())
    refused = dogwatch("host", "rm", "lab")
    assert refused.returncode == 2
    assert "lab/slurm:7" in refused.stderr
    assert dogwatch("forget", "lab/slurm:7").returncode == 0
    assert dogwatch("host", "rm", "lab").returncode == 0
    assert names(dogwatch) == []
    assert dogwatch("host", "test", "lab").returncode == 2
    assert add().returncode == 0
    assert names(dogwatch) == ["lab"]


def test_a_misspelt_host_is_told_the_nearest(home):
    """Or where the list is."""
    with open_store(str(home)) as store:
        register.add_place(store, Place("cluster", hosts.KIND, {"ssh": "cluster", "config": None}, 60.0))
        with pytest.raises(UsageError, match="did you mean cluster"):
            hosts.find(store, "clustre")
        assert hosts.find(store, "cluster").transport["ssh"] == "cluster"


def test_people_get_a_table(dogwatch, sshd, add):
    """Name, alias, profile, floor, jobs, when it was seen."""
    assert "host add" in dogwatch("host", "ls").stderr
    assert add().returncode == 0
    head, row = dogwatch("host", "ls").stdout.splitlines()
    assert head.split()[:5] == ["NAME", "SSH", "PROFILE", "FLOOR", "JOBS"]
    assert row.split()[:6] == ["lab", "box", "-", "60", "s", "0"]


def test_a_host_without_python_is_added_and_says_what_is_not_seen_there(dogwatch, sshd, add):
    """In one sentence, for people and in the JSON, and doctor goes on saying it once it was looked at."""
    poor = sshd.directory / "poor"
    poor.mkdir()
    for tool in ("sh", "env", "sed", "awk", "sleep", "date", "uname", "id", "cat", "wc", "timeout", "true"):
        (poor / tool).symlink_to(shutil.which(tool))
    sshd.start(env=f"PATH={poor}")
    done = add("--floor", "1s")
    assert done.returncode == 0, done.stderr
    assert ", no python3, " in done.stdout
    assert "GPU figures are not read, nor logs, files and disks" in done.stderr
    told = json.loads(dogwatch("host", "test", "lab", "--json").stdout)
    assert (told["reachable"], told["python"], told["hostname"]) == (True, None, os.uname().nodename)
    assert told["limits"].startswith("there is no python3")
