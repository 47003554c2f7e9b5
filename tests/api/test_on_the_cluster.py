"""What the api asks a real cluster for: the job that is meant, the scores of one that ended, a host without Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dogwatch.clock import Clock
from dogwatch.model import Place
from dogwatch.store.rows.places import add_place
from dogwatch.store.sqlite.location import open_store
from tests.api import launchers
from tests.lab.lab import Lab
from tests.lab.plugin import calm_lab, lab
from tests.support import wait_until

__all__ = ["calm_lab", "lab"]


@pytest.fixture
def asked(dogwatch, calm_lab: Lab, tmp_path: Path):
    """The real program in a directory where nothing else tells what runs, with the host `lab` added."""
    for name in ("work", "user"):
        (tmp_path / name).mkdir()
    env = {"HOME": str(tmp_path / "user"), "XDG_DATA_HOME": "", "NEMORUN_HOME": "", "INSPECT_LOG_DIR": ""}

    def run(*words):
        return dogwatch(*words, cwd=tmp_path / "work", env=env, timeout=120)

    assert add(run, calm_lab, "lab").returncode == 0
    return run


def add(run, lab: Lab, name: str):
    return run("host", "add", name, "--ssh", name, "--ssh-config", lab.ssh_config, "--floor", "1s")


def patrol_until(run, true) -> str:
    """Patrol until something is true of the jobs; all that was said meanwhile."""
    said = []

    def reached() -> bool:
        said.append(run("patrol").stdout)
        return bool(
            true({job["id"]: job for job in json.loads(run("ls", "--all", "--json", "--no-poll").stdout)["jobs"]})
        )

    wait_until(reached, timeout=90, pause=1.0)
    return "".join(said)


def test_ones_only_job_in_the_queues_is_meant_and_a_dark_host_is_named(asked, calm_lab: Lab, home: Path):
    """Somebody else's jobs do not matter; a second job of one's own is one too many."""
    with open_store(str(home)) as store:
        add_place(store, Place("locked", "ssh", {"ssh": "lab-refused", "config": str(calm_lab.ssh_config)}, 60.0))
    calm_lab.sbatch("bob", "sleep 600", "--hold", "-J", "bobs")
    mine = calm_lab.sbatch("alice", "sleep 600", "--hold", "-J", "train")
    done = asked("status")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"train (lab/slurm:{mine}): waiting"), done.stdout
    assert "train: your only job in the queue of lab" in done.stderr
    assert "locked is unreachable: locked refused our login" in done.stderr
    assert f"`dogwatch add slurm {mine} --host lab` watches it" in done.stderr
    told = json.loads(asked("status", "--json").stdout)
    assert (told["jobs"][0]["native"], told["jobs"][0]["state"]) == ("PENDING", "waiting")
    assert [one["place"] for one in told["unreachable"]] == ["locked"]
    other = calm_lab.sbatch("alice", "sleep 600", "--hold", "-J", "other")
    done = asked("status")
    assert done.returncode == 2
    assert sorted(line.split()[0] for line in done.stdout.splitlines()) == [f"lab/slurm:{mine}", f"lab/slurm:{other}"]


def test_the_jobs_of_an_evaluation_run_are_looked_at_though_nobody_watches_them(asked, calm_lab: Lab, tmp_path: Path):
    """By the Slurm ids in its own files; how one ended is the accounting's word."""
    ended = calm_lab.sbatch("alice", "exit 3")
    waiting = calm_lab.sbatch("alice", "sleep 600", "--hold")
    calm_lab.wait_accounting(ended, "FAILED")
    jobs = {"ifeval": str(ended), "mmlu_pro": str(waiting)}
    launchers.nel(tmp_path / "user", "aa11", Clock().now() - 60, jobs, host="lab", user="alice")
    done = asked("status")
    assert done.returncode == 0, done.stderr
    assert "ifeval, mmlu_pro (nel aa11): the only evaluation run" in done.stderr
    told = {job["id"]: job for job in json.loads(asked("status", "--json").stdout)["jobs"]}
    assert (told[str(ended)]["outcome"], told[str(ended)]["exit_code"]) == ("failed", 3)
    assert told[str(waiting)]["state"] == "waiting"
    assert json.loads(asked("ls", "--all", "--json", "--no-poll").stdout)["jobs"] == []


def test_scores_come_from_the_cluster_and_a_run_is_counted(asked, calm_lab: Lab):
    """Two of three jobs of a run complete, with what they scored; one is pending."""
    home = calm_lab.home("alice")
    lm_eval = '{"results": {"mmlu_pro": {"acc,none": 0.423}}}'
    nel = "results: {tasks: {gsm8k: {metrics: {score: {scores: {micro: {value: 0.671}}}}}}}"
    scripts = {
        "e/MMLU-Pro/0": f"mkdir -p {home}/m/model; echo '{lm_eval}' >{home}/m/model/results_2026.json",
        "e/GSM8K/0": f"mkdir -p {home}/g/artifacts; echo '{nel}' >{home}/g/artifacts/results.yml",
    }
    ids = []
    for (name, script), folder in zip(scripts.items(), "mg", strict=True):
        ids.append(str(calm_lab.sbatch("alice", script)))
        words = ("--host", "lab", "--name", name, "--output-dir", f"{home}/{folder}")
        assert asked("add", "slurm", ids[-1], *words).returncode == 0
    held = str(calm_lab.sbatch("alice", "sleep 600", "--hold"))
    assert asked("add", "slurm", held, "--host", "lab", "--name", "e/IFEval/0").returncode == 0
    said = patrol_until(asked, lambda jobs: all(jobs[one]["scores"] for one in ids))
    assert "e: 2 of 3 completed (GSM8K: 67.1%, MMLU-Pro: 42.3%), 1 pending" in said


def test_a_host_without_python_is_watched_and_doctor_says_what_is_not_seen(asked, calm_lab: Lab):
    """States and endings as anywhere."""
    added = add(asked, calm_lab, "lab-bare")
    assert (added.returncode, "no python3" in added.stdout) == (0, True)
    failed = str(calm_lab.sbatch("bare", "exit 4"))
    held = str(calm_lab.sbatch("bare", "sleep 600", "--hold"))
    assert asked("add", "slurm", failed, held, "--host", "lab-bare").returncode == 0
    patrol_until(asked, lambda jobs: jobs[failed]["state"] == "ended" and jobs[held]["state"] == "waiting")
    jobs = {job["id"]: job for job in json.loads(asked("ls", "--all", "--json", "--no-poll").stdout)["jobs"]}
    assert (jobs[failed]["outcome"], jobs[failed]["exit_code"], jobs[failed]["native"]) == ("failed", 4, "FAILED")
    checks = {check["what"]: check for check in json.loads(asked("doctor", "--json").stdout)["checks"]}
    assert checks["host lab-bare"]["verdict"] == "warn"
    assert "GPU figures are not read, nor logs, files and disks" in checks["host lab-bare"]["text"]
