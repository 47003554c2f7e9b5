"""Jobs of a cluster are cancelled by scancel and fetched over the same ssh as everything else."""

from __future__ import annotations

import json

from tests.slurm.watch import Watcher


def test_a_slurm_job_is_cancelled_and_another_users_is_not(watch: Watcher) -> None:
    """The outcome is Slurm's own word; a job of somebody else, or one that is gone, is left as it is."""
    mine, theirs = watch.lab.sbatch("alice", "sleep 600"), watch.lab.sbatch("bob", "sleep 600")
    watch.add(mine, theirs)
    watch.lab.wait_state(mine, "RUNNING")
    other = watch.run("cancel", theirs, "--yes")
    assert other.returncode == 1, other.stdout + other.stderr
    assert "is of another user" in other.stdout
    signal = watch.run("cancel", mine, "--yes", "--signal", "INT")
    assert signal.returncode == 2
    assert "--signal is not for Slurm jobs" in signal.stderr
    told = json.loads(watch.must("cancel", mine, "--yes", "--json"))
    assert told["cancelled"] is True
    watch.lab.wait_state(mine, "CANCELLED")
    assert watch.until_ended(mine)[str(mine)]["outcome"] == "cancelled"
    assert watch.run("cancel", mine, "--yes").returncode == 2
    assert watch.lab.state(theirs) in ("RUNNING", "PENDING")


def test_the_outputs_of_a_slurm_job_are_fetched(watch: Watcher, tmp_path) -> None:
    """A login node is no box: nothing is said of stopping it."""
    made = watch.lab.sbatch("alice", "echo '{}' >scores.json")
    folder = watch.lab.show(made)["WorkDir"]
    watch.add(made)
    watch.lab.wait_state(made, "COMPLETED")
    watch.until_ended(made)
    words = ["--results", f"{folder}/scores.json", "--to", tmp_path / "got", "--json"]
    told = json.loads(watch.must("fetch", made, *words))["transfer"]
    assert (tmp_path / "got/scores.json").read_text() == "{}\n"
    assert (told["state"], told["safe_to_stop"]) == ("done", None)
