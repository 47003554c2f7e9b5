"""The way to the cluster fails in every manner at once, under the real daemon: no job is called what it is not,
each outage is told once, and nothing is left running there or here."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.lab.lab import Lab
from tests.support import wait_until

PLACES = ("far", "stopped", "rekeyed", "refused")
JOBS = 3


class Ways:
    """Four ways to one cluster: a link that can be cut, an sshd that can be stopped, a host key and a login key that
    can be made wrong. The last three share a server and have files of their own."""

    def __init__(self, lab: Lab, directory: Path) -> None:
        self.lab, self.config = lab, directory / "ssh_config"
        self.known, self.key = directory / "known_hosts", directory / "id"
        lab.far()
        self.right_host_key()
        self.right_key()
        entry = lab.ssh_config.read_text(encoding="utf-8").split("\n\n")[0].split("\n", 1)[1]
        parts = [lab.ssh_config.read_text(encoding="utf-8"), f"Host stopped\n{entry}"]
        parts.append(f"Host rekeyed\n    UserKnownHostsFile {self.known}\n{entry}")
        own_key = entry.replace(f"{lab.ssh_directory}/id\n", f"{self.key}\n")
        parts.append(f"Host refused\n{own_key}")
        self.config.write_text("\n\n".join(parts), encoding="utf-8")

    def right_host_key(self) -> None:
        shutil.copy(self.lab.ssh_directory / "known_hosts", self.known)

    def wrong_host_key(self) -> None:
        """What the server shows is not what was known: to ssh, the host key has changed."""
        stranger = (self.lab.ssh_directory / "stranger.pub").read_text(encoding="ascii").split()[1]
        lines = [line.split() for line in self.known.read_text(encoding="ascii").splitlines()]
        self.known.write_text("".join(f"{name} {kind} {stranger}\n" for name, kind, *_ in lines), encoding="ascii")

    def right_key(self) -> None:
        shutil.copy(self.lab.ssh_directory / "id", self.key)

    def wrong_key(self) -> None:
        shutil.copy(self.lab.ssh_directory / "stranger", self.key)


class Person:
    """Somebody who reads what the daemon says."""

    def __init__(self, dogwatch: Any, spawn: Any) -> None:
        self._run, self._spawn = dogwatch, spawn

    def must(self, *words: object) -> str:
        done = self._run(*words, timeout=120)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return str(done.stdout)

    def daemon(self) -> Any:
        return self._spawn("daemon")

    def listed(self) -> dict[str, dict[str, Any]]:
        return {job["ref"]: job for job in json.loads(self.must("ls", "--all", "--json", "--no-poll"))["jobs"]}

    def events(self, kind: str, place: str | None = None) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.must("events", "--json", "--since", "0").splitlines()]
        found = lines[0]["events"] if len(lines) == 1 and "events" in lines[0] else lines
        return [one for one in found if one["kind"] == kind and place in (None, one["place"])]

    def findings(self, kind: str, place: str) -> list[dict[str, Any]]:
        return [one for one in self.events(kind, place) if one["body"].get("rule") == "host_unreachable"]


@pytest.fixture
def ways(calm_lab: Lab, tmp_path: Path) -> Ways:
    return Ways(calm_lab, tmp_path)


@pytest.fixture
def person(dogwatch: Any, spawn: Any) -> Person:
    return Person(dogwatch, spawn)


def test_every_way_to_fail_at_once(ways: Ways, person: Person, home: Path) -> None:
    """A link cut while the probe runs, a stopped sshd, a changed host key and a refused login: jobs keep what was
    confirmed, each outage is one event and one finding, local jobs are not kept waiting, and all of it heals."""
    lab = ways.lab
    ids = [lab.sbatch("bob", "exec sleep 600", "--output=/dev/null") for _ in range(JOBS)]
    for job in ids:
        lab.wait_state(job, "RUNNING")
    local = person.must("run", "--detach", "--name", "local", "--", "sleep", "600").strip()
    for place in PLACES:
        person.must("host", "add", place, "--ssh-config", ways.config, "--floor", "1s")
        person.must("add", "slurm", *ids, "--host", place)
    daemon = person.daemon()
    wait_until(lambda: _running(person) == len(PLACES) * JOBS, timeout=60, pause=0.3)

    seen_before = {name: len(person.events(name)) for name in ("job.state", "job.attempt")}
    ways.wrong_host_key()
    ways.wrong_key()
    wait_until(lambda: all(person.events("place.unreachable", place) for place in PLACES[2:]), timeout=60, pause=0.3)
    lab.delay("far", 6)
    wait_until(lambda: any("sleep" in command for command in lab.processes_of("alice").values()), timeout=60)
    lab.cut("far")
    lab.stop_sshd("lab")
    _kill_worker(home)
    wait_until(lambda: all(person.events("place.unreachable", place) for place in PLACES), timeout=90, pause=0.5)
    wait_until(lambda: all(person.findings("finding.opened", place) for place in PLACES), timeout=90, pause=0.5)

    ended = [one for one in person.events("job.state") if one["ref"] == local and one["body"]["after"] == "ended"]
    unreachable = {place: person.events("place.unreachable", place) for place in PLACES}
    assert "host key of rekeyed has changed" in unreachable["rekeyed"][0]["text"]
    assert "refused our login" in unreachable["refused"][0]["text"]
    assert ended
    assert ended[0]["seq"] < max(unreachable["far"][0]["seq"], unreachable["stopped"][0]["seq"])
    _nothing_was_claimed(person, unreachable, seen_before)

    daemon.send_signal(signal.SIGTERM)  # a door that is locked is tried again in ten minutes, or by a new watcher
    daemon.wait(timeout=60)
    assert _ours(ways) == []
    lab.delay("far", 0)
    lab.restore("far")
    lab.cont_sshd("lab")
    ways.right_host_key()
    ways.right_key()
    daemon = person.daemon()
    wait_until(lambda: all(person.events("place.answered", place) for place in PLACES), timeout=90, pause=0.5)
    for place in PLACES:
        assert len(person.events("place.unreachable", place)) == len(person.events("place.answered", place)) == 1
        assert len(person.findings("finding.opened", place)) == len(person.findings("finding.resolved", place)) == 1
    jobs = _remote(person)
    assert {job["state"] for job in jobs.values()} == {"running"}
    assert all(job["confirmed_at"] > unreachable[job["place"]][0]["at"] for job in jobs.values())

    daemon.send_signal(signal.SIGTERM)
    daemon.wait(timeout=60)
    wait_until(lambda: not lab.processes_of("alice"), timeout=90, pause=0.2)
    assert _ours(ways) == []


def _nothing_was_claimed(person: Person, unreachable: dict[str, list[dict[str, Any]]], before: dict[str, int]) -> None:
    """In the outage: states as they were, evidence no newer than it, and one word for each place."""
    jobs = _remote(person)
    assert len(jobs) == len(PLACES) * JOBS
    assert {(job["state"], job["outcome"]) for job in jobs.values()} == {("running", None)}
    for job in jobs.values():
        assert job["confirmed_at"] < unreachable[job["place"]][0]["at"]
        assert job["findings"] in ([], 0), job
    assert len(person.events("job.attempt")) == before["job.attempt"]
    assert len(person.events("job.state")) == before["job.state"] + 1, "only the local job may have changed"
    for place in PLACES:
        assert len(unreachable[place]) == len(person.findings("finding.opened", place)) == 1
        assert person.findings("finding.opened", place)[0]["text"].count(f"{JOBS} jobs") == 1


def _remote(person: Person) -> dict[str, dict[str, Any]]:
    return {ref: job for ref, job in person.listed().items() if job["source"] == "slurm"}


def _running(person: Person) -> int:
    return sum(job["state"] == "running" for job in _remote(person).values())


def _kill_worker(home: Path) -> None:
    [record] = home.glob("runs/*/worker-*.start.json")
    os.kill(json.loads(record.read_bytes())["pid"], signal.SIGKILL)


def _ours(ways: Ways) -> list[str]:
    """The ssh processes here that use our configuration."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if str(ways.config).encode() in words and words[0].endswith(b"ssh"):
                found.append(b" ".join(words).decode(errors="replace"))
    return found
