"""A person uses the real program on a host that lies: exit codes, bytes on the screen, memory and the store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.security.hosts import Hosts, Person, harm
from tests.security.lies import LIES
from tests.support import wait_until

MEGABYTES = 320  # with 60 MB on the way; what the parser made of them was 1,500
STORED = 4_000_000
WALKED = (
    "60 MB of empty lists",
    "a length of 6000 digits",
    "escapes in every word",
)


@pytest.fixture(scope="module")
def person(hosts: Hosts, tmp_path_factory: pytest.TempPathFactory) -> Person:
    """Somebody who added both hosts, and a job on each, while both were honest."""
    hosts.tell("")
    home = tmp_path_factory.mktemp("person") / "home"
    home.mkdir(mode=0o700)
    made = Person(hosts, home)
    for name in ("honest", "liar"):
        assert made.add_host(name).code == 0
        assert made.add_job(name).code == 0
    return made


@pytest.mark.parametrize("lie", WALKED)
def test_every_command_survives_a_host_that_lies(person: Person, lie: str, tmp_path: Path) -> None:
    """From adding the host to reading the report; the honest host beside it is watched."""
    person.hosts.tell(LIES[lie])
    walk = [person.add_host("liar"), person.add_job("liar", "13")]
    walk += [person.run(*words) for words in (("host", "test", "liar"), ("patrol", "--heartbeat"))]
    walk += [person.run(verb, "liar-12") for verb in ("logs", "report")]
    walk += [person.run(verb, "liar-12", "--no-poll") for verb in ("status", "why")]
    walk += [person.run("report", "liar-12", *flags) for flags in (("--html", "-"), ("--bundle", tmp_path / "bundle"))]
    walk += [person.run(*words) for words in (("events",), ("alerts",), ("host", "ls"), ("doctor",))]
    walk += [person.run("check", "--host", "liar", "/etc/hosts")]
    walk += [person.run("preflight", "--host", "liar", "--cwd", "/", "--", "true")]
    listed = person.run("ls", "--json", "--no-poll")
    for ran in (*walk, listed, person.run("ls", "--no-poll")):
        assert not ran.harm()
        assert ran.megabytes < MEGABYTES
    assert person.stored() < STORED
    states = {job["name"]: job["state"] for job in json.loads(listed.screen)["jobs"]}
    assert states["honest-12"] == "running"
    assert not (person.home / "faults").exists()


def test_the_daemon_watches_the_honest_host_while_the_other_one_floods_it(
    person: Person, spawn, tmp_path: Path
) -> None:
    """It stays alive and small, and the honest host is seen again and again."""
    person.hosts.tell(LIES["60 MB of empty lists"])
    daemon = spawn("daemon", env=person.environment)

    def host(name: str) -> dict:
        rows = json.loads(person.run("host", "ls", "--json").screen)["hosts"]
        return next(row for row in rows if row["name"] == name)

    wait_until(lambda: "parts" in (host("liar")["unreachable_why"] or ""), timeout=60, pause=0.3)
    seen = host("honest")["polls"]
    wait_until(lambda: host("honest")["polls"] > seen, timeout=60, pause=0.3)
    assert daemon.poll() is None
    assert host("honest")["unreachable_since"] is None
    peak = Path(f"/proc/{daemon.pid}/status").read_text().partition("VmHWM:")[2].split()[0]
    assert int(peak) / 1024 < MEGABYTES
    said = b"".join(path.read_bytes() for path in tmp_path.glob("spawn-*"))
    assert not harm(said)
    assert person.stored() < STORED
    person.hosts.tell("")
