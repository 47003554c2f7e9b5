"""One ssh to a real Slurm cluster: queue, accounting and scripts in one answer, and nothing is left there after."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from msgspec import convert, to_builtins

from dogwatch.model import Job, Unreachable
from dogwatch.sources.slurm import requests, source
from dogwatch.transport import host_keys
from dogwatch.transport.interface import Answer
from dogwatch.transport.ssh import Ssh
from dogwatch.wire.commands import CommandsSection
from tests.lab.lab import Lab
from tests.support import wait_until

AT = 1_794_000_000.0


def transport(lab: Lab, alias: str = "lab") -> Ssh:
    return Ssh(alias, alias, str(lab.ssh_config))


def question(*ids: int) -> dict[str, Any]:
    """What the watcher asks about jobs that it knows by id only."""
    jobs = [Job(f"lab/slurm:{one}", "lab", "slurm", str(one), str(one)) for one in ids]
    return source.ask(jobs, {}, AT).to_request()


def whole(answer: Answer | Unreachable) -> dict[str, Any]:
    assert isinstance(answer, Answer), answer
    return answer.body


def probes_of(lab: Lab, user: str) -> list[str]:
    return [
        command for command in lab.processes_of(user).values() if "dogwatch-probe" in command or "squeue" in command
    ]


@pytest.mark.parametrize(
    ("alias", "user"),
    [("lab", "alice"), ("lab-csh", "carol"), ("lab-noisy", "noisy"), ("lab-jump", "alice"), ("lab-bare", "bare")],
)
def test_queue_and_accounting_come_in_one_answer(calm_lab: Lab, alias: str, user: str) -> None:
    """Whatever the login shell is or prints, with python3 or without; the accounting is asked about what has ended."""
    ended = calm_lab.sbatch(user, "exit 3")
    waiting = calm_lab.sbatch(user, "sleep 600", "--hold")
    calm_lab.wait_accounting(ended, "FAILED")
    body = whole(transport(calm_lab, alias).ask(question(ended, waiting), 60))
    section, cluster = body["commands"], requests.cluster(convert(body["commands"], CommandsSection))
    queue, accounting = section["ran"]["slurm.queue"], section["ran"]["slurm.accounting"]
    assert (queue["rc"], accounting["rc"]) == (0, 0)
    assert (section["me"], cluster.name) == (user, "lab")
    assert str(cluster.version).count(".") >= 1
    assert accounting["ids"] == [str(ended)]
    assert section["counts"] == {"squeue": 1, "sacct": 1, "scontrol": 1}
    assert f"{waiting}\x1f" in queue["out"]
    assert "FAILED" in accounting["out"]
    times = [int(word) for word in accounting["out"].split("\x1f") if word.isdigit() and len(word) == 10]
    assert times, "no unix time in the accounting"


def test_the_accounting_is_left_alone_while_all_wait(calm_lab: Lab) -> None:
    """An array and a heterogeneous job are listed under their base."""
    array = calm_lab.sbatch("alice", "sleep 600", "--hold", "--array=1-9%2")
    body = whole(transport(calm_lab).ask(question(array), 60))
    assert "slurm.accounting" not in body["commands"]["ran"]
    assert body["commands"]["counts"] == {"squeue": 1, "scontrol": 1}


def test_a_batch_script_comes_as_it_was_submitted(calm_lab: Lab) -> None:
    """Redirections and all; another user's is refused in words only, because scontrol exits with 0 all the same."""
    mine = calm_lab.sbatch("alice", "python train.py >out.log 2>&1", "--hold")
    other = calm_lab.sbatch("bob", "true", "--hold")
    asked = question(mine)["commands"] | to_builtins(requests.script(str(mine)) | requests.script(str(other)))
    body = whole(transport(calm_lab).ask({"commands": asked}, 60))
    scripts = requests.scripts(convert(body["commands"], CommandsSection))
    assert scripts[str(mine)].out == "#!/bin/sh\npython train.py >out.log 2>&1\n"
    assert (scripts[str(other)].rc, scripts[str(other)].out) == (0, "")
    assert "Invalid user id" in scripts[str(other)].err


def test_a_stopped_controller_is_waited_for_once(calm_lab: Lab) -> None:
    """squeue hangs and is killed in time; neither the accounting nor the controller is asked after that."""
    job = calm_lab.sbatch("alice", "sleep 600", "--hold")
    calm_lab.stop_slurmctld()
    request = {"commands": question(job)["commands"] | to_builtins(requests.script(str(job))), "disks": ["/"]}
    body = whole(transport(calm_lab).ask(request, 12))
    assert body["commands"]["ran"].pop("slurm.queue")["why"] == "late"
    assert (body["commands"]["ran"], body["commands"]["counts"]) == ({}, {"squeue": 1})
    assert body["disks"]["ok"] is True
    wait_until(lambda: not probes_of(calm_lab, "alice"))


def test_a_foreign_key_and_an_unknown_one_are_told_apart(calm_lab: Lab) -> None:
    """Each is Unreachable of its own kind."""
    kinds = {}
    for alias in ("lab-refused", "lab-unknown"):
        answer = transport(calm_lab, alias).ask({}, 60)
        assert isinstance(answer, Unreachable)
        kinds[alias] = answer.kind
    assert kinds == {"lab-refused": "auth", "lab-unknown": "host_key"}
    shown = host_keys.unknown_key("lab-unknown", str(calm_lab.ssh_config))
    assert [line.split()[0] for line in shown] == ["ED25519"]


def cut_when_busy(lab: Lab, host: str) -> None:
    wait_until(lambda: any("squeue" in command for command in lab.processes_of("alice").values()))
    lab.cut(host)


def test_a_cable_pulled_during_a_look_leaves_nothing_there(calm_lab: Lab) -> None:
    """Nobody is told that the link is gone: the poll is late here, and the probe there ends by its own clock."""
    host = calm_lab.far()
    whole(transport(calm_lab, host).ask({}, 60))
    job = calm_lab.sbatch("alice", "sleep 600", "--hold")
    calm_lab.stop_slurmctld()
    cutter = threading.Thread(target=cut_when_busy, args=(calm_lab, host))
    cutter.start()
    answer = transport(calm_lab, host).ask(question(job), 12)
    cutter.join()
    assert isinstance(answer, Unreachable)
    assert answer.kind in ("late", "unreachable")
    wait_until(lambda: not probes_of(calm_lab, "alice"), timeout=30)
    calm_lab.restore(host)


def test_half_an_answer_of_the_host_is_void(calm_lab: Lab) -> None:
    """The command's output ends early and with exit code 0."""
    host = calm_lab.far()
    for count in (0, 1, 50, 100, 300):
        calm_lab.cut_after(host, count)
        answer = transport(calm_lab, host).ask({"disks": ["/"]}, 60)
        assert isinstance(answer, Unreachable), count
        assert answer.kind == "garbled"
    calm_lab.cut_after(host, None)
    whole(transport(calm_lab, host).ask({"disks": ["/"]}, 60))
