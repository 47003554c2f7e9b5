"""How a job ended, by every witness that Slurm has: the words that people read, on the real cluster."""

from __future__ import annotations

import pytest

from tests.lab.lab import Lab
from tests.slurm.watch import Document, Watch, findings, words
from tests.support import wait_until

EAT_MEMORY = "python3 -c 'kept = [bytearray(10**7) for _ in range(100)]'"
SAVE_STEPS = "for n in 1 2 3; do echo step $n/3; done"
LIMIT = "it ran into its time limit of 1 min"


@pytest.fixture(scope="module")
def jobs(long_watch: Watch) -> dict[str, int]:
    """Everything that ends, all of it begun at once."""
    lab = long_watch.lab
    jobs = _slow(lab)
    long_watch.add(jobs["relaunched"])
    lab.wait_state(jobs["relaunched"], "RUNNING")  # says Slurm, for as long as it has not tried to launch it
    long_watch.patrol()
    lab.update("NodeName=gpu03", State="DRAIN", Reason="no job shall be sent to the dead node")
    jobs |= {
        "zero": lab.sbatch("alice", f"{SAVE_STEPS}; exit 0", "-c", "2", "--mem=100M", "-t", "10"),
        "three": lab.sbatch("alice", "exit 3"),
        "137": lab.sbatch("alice", "exit 137"),
        "shot": lab.sbatch("alice", "kill -9 $$"),
        "inner": lab.sbatch("alice", "srun false; exit 0"),
        "no output": lab.sbatch("alice", "true", "-o", "/nowhere/at/all"),
        "array": lab.sbatch("alice", "exit $((SLURM_ARRAY_TASK_ID % 2))", "--array=1-4"),
        "het": _heterogeneous(lab),
        "cancelled": lab.sbatch("alice", "sleep 600", "--hold"),
        "stopped": lab.sbatch("bob", "sleep 600"),
        "memory": lab.sbatch("alice", EAT_MEMORY, "--mem=50M"),
        "memory in srun": lab.sbatch("alice", f"srun {EAT_MEMORY}", "--mem=50M"),
    }
    long_watch.add(*jobs.values())
    lab.run("alice", "scancel", jobs["cancelled"], check=True)
    lab.wait_state(jobs["stopped"], "RUNNING")
    lab.scancel(jobs["stopped"])
    return jobs


@pytest.fixture(scope="module")
def seen(long_watch: Watch, jobs: dict[str, int]) -> dict[str, Document]:
    """The job documents by the names above."""
    wait_until(lambda: long_watch.lab.show(jobs["relaunched"])["Restarts"] == "1", timeout=60, pause=0.3)
    long_watch.lab.start_node("gpu04", wait=False)
    ending = [job for name, job in jobs.items() if name != "scrap"]
    known = long_watch.until_ended(*ending, timeout=150)
    return {name: known[str(job)] for name, job in jobs.items()}


def _slow(lab: Lab) -> dict[str, int]:
    """Ends that Slurm takes up to half a minute for."""
    jobs = {
        "limit": lab.sbatch("alice", "sleep 600", "-w", "gpu02", "-t", "1"),
        "trapped": lab.sbatch("alice", "trap 'exit 0' TERM; sleep 600 & wait", "-w", "gpu02", "-t", "1"),
        "node": lab.sbatch("alice", "sleep 600", "-w", "gpu03", "--no-requeue"),
        "scrap": lab.sbatch("bob", "sleep 600", "-p", "scrap", "-n", "30"),
    }
    for job in jobs.values():
        lab.wait_state(job, "RUNNING")
    lab.expire(jobs["limit"])
    lab.expire(jobs["trapped"])
    lab.kill_node("gpu03")
    lab.kill_node("gpu04")
    jobs["relaunched"] = lab.sbatch("alice", "exit 3", "-w", "gpu04")
    lab.sbatch("alice", "sleep 1", "-p", "high", "--exclusive")
    return jobs


def _heterogeneous(lab: Lab) -> int:
    script = lab.home("alice") / "het.sh"
    script.write_text("#!/bin/sh\n#SBATCH -n 1\n#SBATCH hetjob\n#SBATCH -n 2\nsrun --het-group=1 false\nexit 4\n")
    script.chmod(0o755)
    done = lab.run("alice", "sbatch", "--parsable", str(script), check=True)
    return int(done.stdout.strip())


@pytest.mark.parametrize(
    ("name", "expected", "code", "signal"),
    [
        ("zero", ("ended", "succeeded", "COMPLETED", ""), 0, None),
        ("three", ("ended", "failed", "FAILED", "exit code 3"), 3, None),
        (
            "137",
            ("ended", "failed", "FAILED", "exit code 137, which programs use for SIGKILL; that alone proves nothing"),
            137,
            None,
        ),
        ("shot", ("ended", "failed", "FAILED", "killed by SIGKILL; nothing shows by whom or why"), None, 9),
        ("limit", ("ended", "timed_out", "TIMEOUT", LIMIT), None, 15),
        ("trapped", ("ended", "timed_out", "TIMEOUT", LIMIT), None, None),
        ("node", ("ended", "node_failed", "NODE_FAIL", "a node failed (gpu03)"), None, None),
        ("inner", ("ended", "succeeded", "COMPLETED", ""), 0, None),
        (
            "cancelled",
            ("ended", "cancelled", "CANCELLED by {alice}", "cancelled by uid {alice} (its owner)"),
            None,
            None,
        ),
        ("stopped", ("ended", "cancelled", "CANCELLED by 0", "cancelled by uid 0 (root)"), None, None),
        (
            "no output",
            (
                "ended",
                "failed",
                "FAILED",
                "Slurm could not open its output file (0:53): the directory may be missing or full",
            ),
            None,
            None,
        ),
        (
            "array",
            (
                "ended",
                "failed",
                "2 COMPLETED, 2 FAILED",
                "2 of 4 tasks failed: 1 (exit code 1), 3 (exit code 1)",
            ),
            1,
            None,
        ),
    ],
)
def test_the_ending_is_told_in_these_words(seen, long_watch, name, expected, code, signal):
    """State, outcome, Slurm's own word and the reason; code and signal only where somebody recorded them."""
    uid = long_watch.lab.run("alice", "id", "-u", check=True).stdout.strip()
    job = seen[name]
    assert words(job) == tuple(word.replace("{alice}", uid) for word in expected)
    if name != "stopped":  # the signal is recorded if the script had begun, and that is Slurm's to say
        assert job["signal"] == signal
    assert (job["exit_code"], job["attempts"]) == (code, 1)


def test_memory_that_ran_out_is_told_wherever_it_did(seen, jobs, long_watch):
    """In the batch script the job says so, inside srun only the step does, and the job itself is FAILED 1:0."""
    if not long_watch.lab.has_memory_limits:
        pytest.skip(long_watch.lab.notes[0])
    step = f"step {jobs['memory in srun']}.0 (python3) ran out of memory (OUT_OF_MEMORY 0:125)"
    assert words(seen["memory"]) == ("ended", "out_of_memory", "OUT_OF_MEMORY", "it ran out of memory")
    assert words(seen["memory in srun"]) == ("ended", "out_of_memory", "FAILED", step)


def test_a_success_with_a_failed_step_is_doubted(seen, jobs):
    """Slurm's word stands, and a finding says what speaks against it; the clean success has none."""
    against = f"Slurm says COMPLETED, but its step {jobs['inner']}.0 (false) is FAILED 1:0"
    assert findings(seen["inner"]) == {"contradiction": ("warning", against)}
    assert findings(seen["zero"]) == {}
    assert [proof["by"] for proof in seen["zero"]["proof"]] == ["Slurm"]


def test_preempted_is_no_ending_while_slurm_may_put_it_back(seen):
    """Not even where its partition cancels what it preempts: five minutes out of the queue have to pass."""
    why = "preempted; Slurm may still put it back in the queue"
    assert words(seen["scrap"]) in {
        ("missing", None, "PREEMPTED", why),
        ("running", None, "PREEMPTED", "preempted: another job took its nodes; Slurm may put it back in the queue"),
    }


def test_a_job_sent_to_a_dead_node_and_put_back_ends_as_its_second_run_did(seen):
    """The NODE_FAIL of the run that never began is not its ending."""
    assert words(seen["relaunched"]) == ("ended", "failed", "FAILED", "exit code 3")
    assert seen["relaunched"]["attempts"] == 2


def test_the_tasks_of_an_array_are_one_job(seen):
    """Counted by outcome, the failed ones first."""
    tasks = seen["array"]["tasks"]
    assert (tasks["count"], tasks["states"]) == (4, {"failed": 2, "succeeded": 2})
    assert [(row["id"], row["outcome"]) for row in tasks["rows"][:2]] == [("1", "failed"), ("3", "failed")]


def test_the_parts_of_a_heterogeneous_job_are_one_job(seen):
    """It ended as its worst part did, and each part has its own row."""
    job = seen["het"]
    assert (job["state"], job["outcome"], job["attempts"]) == ("ended", "failed", 1)
    assert {row["id"] for row in job["tasks"]["rows"]} == {"+0", "+1"}


def test_the_efficiency_is_that_of_seff(seen):
    """Time against the limit, processors and memory against what was asked for, without seff being there."""
    used = seen["zero"]["efficiency"]
    assert used["limit_seconds"] == 600
    assert used["wall_percent"] == pytest.approx(100 * used["wall_seconds"] / 600, abs=0.01)
    assert used["memory_requested_bytes"] == 100 << 20
    assert used["exceeded"] is False
    assert 0 < used["memory_bytes"] < 100 << 20


def test_an_exceeded_limit_comes_with_the_one_to_ask_for(seen):
    """Half as much again, in steps of ten minutes."""
    assert seen["limit"]["efficiency"]["exceeded"] is True
    assert seen["limit"]["efficiency"]["ask_for_seconds"] == 600
    assert findings(seen["limit"])["time_limit"] == (
        "warning",
        "it ran into its time limit; ask for 10 min next time",
    )


def test_every_ending_was_told_once(seen, long_watch, jobs):
    """One change to `ended` for each job, however many looks there were."""
    told = [event["ref"] for event in long_watch.events("job.state") if event["body"]["after"] == "ended"]
    assert sorted(told) == sorted(f"lab/slurm:{job}" for name, job in jobs.items() if name != "scrap")
