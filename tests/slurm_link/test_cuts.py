"""One look at the cluster, and the link to it is cut at each of its stages: nothing is believed of half a poll."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.lab import Lab
from tests.slurm.watch import Watcher, words
from tests.support import wait_until
from tests.transport.sshd import Link

NOISE = "yes 'no answer is in this' | head -c 120000000\n"


@pytest.fixture
def link(calm_lab: Lab) -> Iterator[Link]:
    """A relay before the sshd of the cluster."""
    relay = Link(calm_lab.read()["servers"]["lab"][1])
    yield relay
    relay.close()


@pytest.fixture
def relayed(calm_lab: Lab, link: Link, tmp_path: Path, dogwatch: Any, home: Path) -> Watcher:
    """A home whose host `lab` is reached by way of the relay."""
    entry = calm_lab.ssh_config.read_text(encoding="utf-8").split("\n\n")[0]
    port = calm_lab.read()["servers"]["lab"][1]
    known = (calm_lab.ssh_directory / "known_hosts").read_text(encoding="ascii").replace(f":{port} ", f":{link.port} ")
    (tmp_path / "known_hosts").write_text(known, encoding="ascii")
    lines = [line for line in entry.split("\n") if not line.strip().startswith(("Port ", "UserKnownHostsFile "))]
    lines += [f"    Port {link.port}", f"    UserKnownHostsFile {tmp_path}/known_hosts"]
    (tmp_path / "ssh_config").write_text("\n".join(lines) + "\n", encoding="utf-8")
    watch = Watcher(calm_lab, dogwatch, home)
    watch.must("host", "add", "lab", "--ssh-config", tmp_path / "ssh_config", "--floor", "1s")
    return watch


def states(watch: Watcher) -> dict[str, tuple[Any, ...]]:
    return {name: (*words(job), job["confirmed_at"]) for name, job in watch.jobs().items()}


def left_there(lab: Lab) -> list[str]:
    own = ("dogwatch-probe", "squeue", "sacct", "scontrol")
    return [command for command in lab.processes_of("alice").values() if any(word in command for word in own)]


def test_a_link_that_is_cut_at_any_stage_of_a_look_changes_nothing(relayed: Watcher, link: Link) -> None:
    """While connecting, in the key exchange, with half the question sent, and in the middle of the answer: the place is
    unreachable once, each job keeps what was confirmed and when. With the whole answer here a cut comes too late to
    matter."""
    watch, lab = relayed, relayed.lab
    ids = [lab.sbatch("alice", "sleep 600"), *lab.sbatch_many("alice", 20)]
    lab.wait_state(ids[0], "RUNNING")
    watch.add(*ids)
    assert [watch.patrol().returncode for _ in range(3)] == [0, 0, 0]
    enough = link.carried
    cuts: dict[str, Callable[[], None]] = {
        "while connecting": lambda: setattr(link, "cut_after", 0),
        "in the middle of the banner": lambda: setattr(link, "cut_after", 12),
        "in the key exchange": lambda: setattr(link, "cut_after", 1200),
        "before the question is there": lambda: setattr(link, "cut_after_sent", 5000),
        "in the middle of the question": lambda: setattr(link, "cut_after_sent", 15_000),
        "in the middle of the answer": lambda: setattr(link, "cut_after", enough - 2000),
    }
    before = states(watch)
    for when, cut in cuts.items():
        cut()
        assert watch.patrol().returncode == 3, when
        assert states(watch) == before, when
        link.cut_after = link.cut_after_sent = None
        assert watch.patrol().returncode == 0, when
        before, was = states(watch), before
        assert [job[:4] for job in before.values()] == [job[:4] for job in was.values()], when
        wait_until(lambda: not left_there(lab))
    link.cut_after = enough - 40  # of what ends the connection only
    assert watch.patrol().returncode == 0
    assert len(watch.events("place.unreachable")) == len(watch.events("place.answered")) == len(cuts)
    found = [event["body"]["rule"] for event in watch.events("finding.opened")]
    assert "host_unreachable" not in found, "a poll that failed once is no news"


def test_half_an_answer_and_a_hundred_megabytes_are_no_answer(calm_lab: Lab, dogwatch: Any, home: Path) -> None:
    """The output ends early and with exit code 0; a .bashrc prints without end. Neither is taken for a queue, and both
    together are one outage."""
    lab, watch = calm_lab, Watcher(calm_lab, dogwatch, home)
    lab.far()
    watch.host("far")
    job = lab.sbatch("alice", "sleep 600")
    lab.wait_state(job, "RUNNING")
    watch.add(job, host="far")
    assert watch.patrol().returncode == 0
    before = states(watch)
    lab.cut_after("far", 500)
    assert watch.patrol().returncode == 3
    assert watch.place("far")["unreachable_why"] == "the answer of far broke off in the middle"
    lab.cut_after("far", None)
    rc = lab.home("alice") / ".bashrc"
    rc.write_text(NOISE)
    assert watch.patrol().returncode == 3
    assert watch.place("far")["unreachable_why"] == "it sent more than 100 MB and no end"
    assert states(watch) == before
    rc.unlink()
    assert watch.patrol().returncode == 0
    assert len(watch.events("place.unreachable")) == len(watch.events("place.answered")) == 1
    (found,) = watch.events("finding.opened")
    assert found["body"]["rule"] == "host_unreachable"
    wait_until(lambda: not left_there(lab))


def test_a_look_asks_the_scheduler_once_and_doctor_tells(calm_lab: Lab, dogwatch: Any, home: Path) -> None:
    """By the counters of slurmctld and slurmdbd themselves: one question to each for all jobs of a poll, and none to
    the accounting while the queue knows every job."""
    lab, watch = calm_lab, Watcher(calm_lab, dogwatch, home)
    watch.host()
    active, ended = lab.sbatch_many("alice", 20), lab.sbatch("alice", "exit 3")
    lab.wait_accounting(ended, "FAILED")
    watch.add(*active, ended)
    watch.patrol()
    watch.until_ended(ended)
    before = _asked(lab)
    for _ in range(3):
        assert watch.patrol().returncode == 0
    assert _asked(lab) == {"queue": before["queue"] + 3, "accounting": before["accounting"]}
    watch.adopt(900_000, 900_001)
    assert watch.patrol().returncode == 0
    assert _asked(lab) == {"queue": before["queue"] + 4, "accounting": before["accounting"] + 1}
    told = json.loads(watch.run("doctor", "--json").stdout)
    assert "; the last asked 1 squeue, 1 sacct, " in json.dumps(told)


def _asked(lab: Lab) -> dict[str, int]:
    """How often anybody asked for jobs. Asking for the counters is not asking for jobs."""
    queue = lab.must("sdiag")
    books = lab.must("sacctmgr", "--noheader", "show", "stats")
    kinds = ("REQUEST_JOB_INFO ", "REQUEST_JOB_INFO_SINGLE ", "REQUEST_JOB_USER_INFO ")
    return {
        "queue": sum(_count(line) for line in queue.split("\n") if line.strip().startswith(kinds)),
        "accounting": sum(_count(line) for line in books.split("\n") if "DBD_GET_JOBS_COND" in line),
    }


def _count(line: str) -> int:
    return int(line.partition("count:")[2].split()[0])
