"""What is found without being told: logs, one's own jobs, registries; and what a login shell may do to it."""

from __future__ import annotations

import json

import pytest

from tests.slurm.watch import findings, words
from tests.support import wait_until

GPUS = """\
timestamp, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB]
2026/01/02 10:00:00.000, 0, 11 %, 1024 MiB, 81920 MiB
2026/01/02 10:00:00.001, 1, [N/A], 1024 MiB, 81920 MiB
2026/01/02 10:00:10.000, 0, 50 %, 10240 MiB, 81920 MiB
2026/01/02 10:00:10.001, 1, 100 %, 20480 MiB, 81920 MiB
2026/01/02 10:00:20.000, 0, 9"""
COUNT = "n=0; while :; do n=$((n+1)); echo step $n/1000; sleep 0.2; done"


def test_progress_is_read_from_the_log_that_slurm_names(watch):
    """StdOut with its patterns, and a log that only the batch script names; a log that is given is taken instead."""
    lab = watch.lab
    named = lab.sbatch("alice", COUNT, "-o", "logs-%j-%x.txt", "-J", "count")
    inner = lab.sbatch("alice", f"({COUNT}) >inner.log 2>&1")
    given = lab.sbatch("alice", f"({COUNT}) >>/tmp/given-$SLURM_JOB_ID.log", "-o", "/dev/null")
    for job in (named, inner, given):
        lab.wait_state(job, "RUNNING")
    watch.add(named, inner)
    watch.add(given, flags=("--log", f"/tmp/given-{given}.log"))
    ids = [str(job) for job in (named, inner, given)]
    seen = watch.until(lambda jobs: all(jobs[job]["progress"] for job in ids))
    assert {(seen[job]["progress"]["total"], seen[job]["progress"]["unit"]) for job in ids} == {(1000, "steps")}
    assert seen[str(named)]["stdout"] == f"{lab.home('alice')}/logs-{named}-count.txt"
    lab.run("root", "rm", "-f", f"/tmp/given-{given}.log")


def test_the_log_of_a_job_that_had_ended_before_the_first_look_is_read(watch):
    """How far it came is known all the same."""
    job = watch.lab.sbatch("alice", "echo step 7/10; exit 1")
    watch.lab.wait_state(job, "FAILED")
    watch.add(job)
    seen = watch.until_ended(job)[str(job)]
    assert words(seen) == ("ended", "failed", "FAILED", "exit code 1")
    assert (seen["progress"]["step"], seen["progress"]["total"]) == (7, 10)


def test_a_job_that_needs_longer_than_its_limit_is_a_finding(watch):
    """As soon as the log says so, with the limit that it would take."""
    lab = watch.lab
    job = lab.sbatch("alice", COUNT.replace("1000", "100000"), "-t", "5")
    lab.wait_state(job, "RUNNING")
    watch.add(job)
    seen = watch.until(lambda jobs: "time_limit" in findings(jobs[str(job)]), timeout=90)[str(job)]
    level, text = findings(seen)["time_limit"]
    assert level in ("warning", "critical")
    assert "not finish before its time limit: about " in text
    assert "; it needs a limit of " in text
    assert seen["time_limit_at"] is not None


def test_all_of_ones_own_jobs_are_taken_and_nobody_elses(watch):
    """With the names they have in the queue; arrays and parts are one job; a second time adds nothing."""
    lab = watch.lab
    mine = {
        str(lab.sbatch("alice", "sleep 600", "--hold", "-J", "train")): "train",
        str(lab.sbatch("alice", "sleep 600", "-J", "sweep", "--array=1-5%2")): "sweep",
        str(lab.sbatch("alice", "sleep 600", "--hold", "-J", "a|b 'c' ü")): "a|b 'c' ü",
        str(lab.sbatch("alice", "sleep 600", "--hold", "-J", "two\nlines")): "two\\x0alines",
    }
    lab.sbatch("bob", "sleep 600", "--hold")
    for _ in range(2):
        told = watch.must("add", "slurm", "--mine", "--host", "lab").split()
        assert sorted(told) == sorted(f"lab/slurm:{job}" for job in mine)
    watch.patrol()
    assert {job["id"]: job["name"] for job in watch.jobs().values()} == mine


def test_jobs_are_added_while_the_host_is_dark(watch):
    """Exit 0 and no state; --mine cannot know and says so with exit 3."""
    lab = watch.lab
    job = lab.sbatch("alice", "sleep 600")
    lab.wait_state(job, "RUNNING")
    lab.kill_sshd()
    watch.add(job)
    assert watch.job(job)["state"] is None
    assert watch.patrol().returncode == 3
    assert watch.job(job)["state"] is None
    refused = watch.run("add", "slurm", "--mine", "--host", "lab")
    assert (refused.returncode, refused.stdout) == (3, "")
    lab.start_sshd()
    assert watch.patrol().returncode == 0
    assert words(watch.job(job)) == ("running", None, "RUNNING", "")


@pytest.mark.parametrize(("alias", "user"), [("lab-csh", "carol"), ("lab-noisy", "noisy")])
def test_the_login_shell_changes_nothing(watch, alias, user):
    """Neither csh nor a .bashrc that prints lines like squeue's and exports formats of its own."""
    lab = watch.lab
    failed, waiting = lab.sbatch(user, "echo step 3/4; exit 3"), lab.sbatch(user, "true", "--hold")
    lab.wait_state(failed, "FAILED")
    watch.host(alias)
    watch.add(failed, waiting, host=alias)
    seen = watch.until_ended(f"{alias}/{failed}")
    assert words(seen[f"{alias}/{failed}"]) == ("ended", "failed", "FAILED", "exit code 3")
    assert words(seen[f"{alias}/{waiting}"])[:3] == ("waiting", None, "PENDING")


def test_a_registry_is_adopted_brought_up_to_date_and_cleared(watch, tmp_path):
    """The agents' file names a job; sync takes it, writes its state, and takes it out when it has ended."""
    lab = watch.lab
    job = lab.sbatch("alice", "sleep 600")
    lab.wait_state(job, "RUNNING")
    file = tmp_path / ".claude" / "active_jobs.json"
    file.parent.mkdir()
    entry = {"type": "slurm", "id": str(job), "host": "lab", "user": "alice", "description": "eval"}
    file.write_text(json.dumps([{**entry, "submitted": "2026-01-01 10:00", "last_status": None}]))
    watch.must("sync", "--dir", tmp_path)
    watch.patrol()
    assert words(watch.job(job)) == ("running", None, "RUNNING", "")
    assert watch.job(job)["description"] == "eval"
    watch.must("sync", "--dir", tmp_path)
    assert [(one["id"], one["last_status"]) for one in json.loads(file.read_text())] == [(str(job), "RUNNING")]
    lab.scancel(job)
    watch.until_ended(job)
    watch.must("sync", "--dir", tmp_path)
    assert json.loads(file.read_text()) == []


def test_the_experiment_log_has_its_blocks(watch, tmp_path):
    """What was looked at, every change with its job id, the GPUs while it runs, what was used, and once that all is
    complete. The looks at the GPUs stand in for an accounting that has no figures of them."""
    lab, log = watch.lab, tmp_path / "experiment.log"
    lab.run("alice", "mkdir", "-p", "gpus", check=True)
    (lab.home("alice") / "gpus" / "gpu_metrics.csv").write_text(GPUS)
    good = lab.sbatch("alice", "while [ ! -e done ]; do sleep 0.1; done", "-t", "10", "-D", lab.home("alice") / "gpus")
    bad = lab.sbatch("alice", "exit 3", "-t", "10")
    watch.add(good, flags=("--name", "run/good/0"))
    watch.add(bad, flags=("--name", "run/bad/0"))

    def logged(words: str) -> bool:
        watch.patrol("--log-file", log)
        return words in log.read_text()

    wait_until(lambda: logged("RESOURCE_STATUS: run/good/0\n"), timeout=60, pause=0.3)
    (lab.home("alice") / "gpus" / "done").touch()
    wait_until(lambda: logged("ALL_COMPLETE"), timeout=60, pause=0.3)
    watch.run("patrol", "--log-file", log)
    text = log.read_text()
    heads = [line.partition("] ")[2] for line in text.splitlines() if line.startswith("[")]
    assert any(head == "STATUS_CHECK: Polling SLURM" for head in heads)
    assert heads.count("ALL_COMPLETE: Monitoring finished") == 1
    assert heads.count("COMPUTE_METRICS: run/good/0") == heads.count("COMPUTE_METRICS: run/bad/0") == 1
    assert "GPU Utilization: 75% | GPU Memory: 30.0/160.0 GB" in text
    assert f"Current: COMPLETED\nJob ID: {good}\nCompleted: " in text
    assert f"Current: FAILED\nJob ID: {bad}\nCompleted: " in text
    assert f"Job ID: {good}\nGPU Time: 00:00:" in text
    assert "Summary: 2 evaluations completed - 1 COMPLETED, 1 FAILED\n" in text
    used = watch.job(good)["efficiency"]
    assert (used["gpu_percent"], used["gpu_memory_bytes"]) == (75.0, 30 << 30)
