"""Registering a Slurm job is one step, right behind sbatch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.journeys.cluster import Desk, id_of
from tests.lab.lab import Lab
from tests.support import wait_until


@pytest.fixture
def desk(calm_lab: Lab, dogwatch, tmp_path: Path) -> Desk:
    (tmp_path / "project").mkdir()
    return Desk(calm_lab, dogwatch, tmp_path / "project")


def test_what_sbatch_prints_is_piped_into_add(desk: Desk):
    """`sbatch job.sh | dogwatch add slurm -` watches the job under Slurm's own name and says who polls it."""
    printed = desk.sbatch("sleep 600", "-J", "train-7b")
    done = desk("add", "slurm", "-", "--host", "lab", "--description", "the big one", input=printed)
    assert done.stdout == f"lab/slurm:{id_of(printed)}\n"
    assert "train-7b: " in done.stderr
    assert "no watcher is running; start one: dogwatch service on" in done.stderr
    for words in (("status", "train-7b"), ("report", "train-7b"), ("ls", "--json"), ("patrol",)):
        assert "the big one" in desk(*words).stdout, words


def test_every_form_that_sbatch_has_is_an_id(desk: Desk):
    """A whole sentence, the parsable form with its cluster, several lines at once, remarks in between."""
    first, second, third = (desk.sbatch("sleep 600", "--hold", "-J", name) for name in ("one", "two", "three"))
    assert desk("add", "slurm", first.strip(), "--host", "lab").stdout == f"lab/slurm:{id_of(first)}\n"
    cluster = desk.lab.run("alice", "sacctmgr", "-nP", "show", "cluster", "format=cluster").stdout.split()[0]
    done = desk("add", "slurm", f"{id_of(second)};{cluster}", "--host", "lab", "--json")
    assert json.loads(done.stdout)["name"] == "two"
    printed = f"sbatch: lua: account set to a100\n{first}{third}\n"
    done = desk("add", "slurm", "-", "--host", "lab", input=printed)
    assert done.stdout.split() == [f"lab/slurm:{id_of(first)}", f"lab/slurm:{id_of(third)}"]
    assert {job["name"] for job in desk.jobs().values()} == {"one", "two", "three"}


def test_what_slurm_does_not_know_is_refused_at_once(desk: Desk):
    """An unknown id, another cluster and a submission that failed: one sentence each, and nothing is registered."""
    real = id_of(desk.sbatch("sleep 600", "--hold"))
    done = desk("add", "slurm", real, "99999", "--host", "lab", code=4)
    assert "Slurm on lab knows no job 99999" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    done = desk("add", "slurm", f"{real};elsewhere", "--host", "lab", code=2)
    assert "is on the cluster elsewhere, and lab is the cluster" in done.stderr
    done = desk("add", "slurm", "-", "--host", "lab", code=2, input="sbatch: error: Batch job submission failed\n")
    assert "no job id on stdin" in done.stderr
    assert "submission failed" in done.stderr
    assert desk.jobs() == {}


def test_a_host_that_does_not_answer_is_no_reason_to_refuse(desk: Desk):
    """The job is registered, that is said, and the first poll gives it Slurm's own name."""
    printed = desk.sbatch("sleep 600", "--hold", "-J", "later")
    desk.lab.stop_sshd()
    done = desk("add", "slurm", "-", "--host", "lab", input=printed)
    assert "registered without asking Slurm (lab did not answer" in done.stderr
    assert desk.jobs()[id_of(printed)]["name"] == id_of(printed)
    desk.lab.cont_sshd()
    desk.patrol_until(lambda jobs: jobs[id_of(printed)]["state"] == "waiting")
    assert desk.jobs()[id_of(printed)]["name"] == "later"


@pytest.mark.parametrize("host", [("--host", "here"), ()])
def test_the_slurm_of_this_machine_needs_no_host(desk: Desk, host: tuple[str, ...]):
    """On a login node `--host here`, or no host at all, is the Slurm beside us."""
    printed = desk.sbatch("sleep 600", "-J", "beside")
    here = {"SLURM_CONF": str(desk.lab.slurm_conf)}
    done = desk("add", "slurm", "-", *host, input=printed, env=here)
    assert "beside: " in done.stderr
    desk("patrol", env=here)
    job = desk.jobs()[id_of(printed)]
    assert (job["name"], job["state"]) in {("beside", "running"), ("beside", "waiting")}


def test_a_machine_without_slurm_says_so(dogwatch):
    """Without a host and without a squeue beside us, the sentence says which flag is missing."""
    done = dogwatch("add", "slurm", "12", env={"PATH": "/nowhere"})
    if "no Slurm on this machine" not in done.stderr:  # squeue is installed where the laboratory is, without a cluster
        assert done.returncode == 0
        assert "registered without asking Slurm" in done.stderr
        return
    assert done.returncode == 2
    assert "--host" in done.stderr


def test_a_job_that_left_the_controller_gets_its_log_or_says_what_to_give(desk: Desk):
    """Work directory and usual name lead to the log; where they do not, a command that works is named."""
    desk.lab.configure(MinJobAge=2)
    home = desk.lab.home("alice")
    script = "echo 'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB'; exit 1"
    usual = id_of(desk.sbatch(script, "-J", "usual", "-D", home))
    odd = id_of(desk.sbatch("echo 'ValueError: bad shape'; exit 1", "-J", "odd", "-D", home, "-o", f"{home}/else.txt"))
    for job in (usual, odd):
        desk.lab.wait_accounting(job, "FAILED")
        desk.lab.wait_purged(int(job))
    done = desk("add", "slurm", usual, odd, "--host", "lab")
    assert "usual: FAILED" in done.stderr
    assert f"looking in {home} for the usual names" in done.stderr
    desk.patrol_until(lambda jobs: all(jobs[job]["state"] == "ended" for job in (usual, odd)))
    assert "CUDA" in desk("why", usual, code=None).stdout
    assert "CUDA out of memory" in desk("logs", usual).stdout
    assert f"dogwatch add slurm {odd} --host lab --log PATH" in desk("logs", odd, code=None).stderr
    desk("add", "slurm", odd, "--host", "lab", "--log", f"{home}/else.txt")
    desk.patrol_until(lambda jobs: jobs[odd]["state"] == "ended")
    assert "ValueError: bad shape" in desk("logs", odd).stdout


def test_add_sets_up_the_recurring_poll_and_the_registry(desk: Desk, tmp_path: Path):
    """`--registry` and `--keep` in the same step: the entry is there, cron polls, and later ones find both."""
    from tests.actions.standin import stand_in

    cron = stand_in(tmp_path / "stand-in")
    registry = desk.directory / ".claude" / "active_jobs.json"
    first, second = desk.sbatch("sleep 600", "-J", "ptq"), desk.sbatch("sleep 600", "--hold", "-J", "eval")
    words = ("--host", "lab", "--registry", registry, "--keep")
    done = desk("add", "slurm", "-", *words, "--description", "PTQ of llama", input=first, env=cron)
    assert "cron polls it every 15m, also after logout" in done.stderr
    assert (tmp_path / "stand-in" / "table").read_text().count("service tick") == 1
    desk("add", "slurm", "-", *words, input=second, env=cron)
    assert (tmp_path / "stand-in" / "table").read_text().count("service tick") == 1
    entries = json.loads(registry.read_text())
    assert [(one["type"], one["id"], one["host"], one["user"], one["description"]) for one in entries] == [
        ("slurm", id_of(first), "lab", "alice", "PTQ of llama"),
        ("slurm", id_of(second), "lab", "alice", "eval"),
    ]
    assert entries[1]["last_status"] == "PENDING"
    desk.lab.wait_state(id_of(first), "RUNNING")
    desk.lab.scancel(id_of(first))

    def ticked() -> bool:
        desk("service", "tick", env=cron, code=None)
        return [one["id"] for one in json.loads(registry.read_text())] == [id_of(second)]

    wait_until(ticked, timeout=60, pause=1.0)
