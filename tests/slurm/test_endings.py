"""How a job ended, by every evidence that Slurm has: the words that people read, on the real cluster."""

from __future__ import annotations

import pytest

from tests.slurm.scenes import LASTING, Scenes
from tests.slurm.watch import Document, findings, words

DOUBT = "Slurm says COMPLETED, but its step {id}.0 (false) is FAILED 1:0"
LIMIT = "it reached its time limit of 1 min"


@pytest.fixture
def seen(scenes: Scenes) -> dict[str, Document]:
    return scenes.seen


@pytest.mark.parametrize(
    ("name", "expected", "code", "signal"),
    [
        ("zero", ("ended", "succeeded", "COMPLETED", ""), 0, None),
        ("three", ("ended", "failed", "FAILED", "exit code 3"), 3, None),
        (
            "137",
            (
                "ended",
                "failed",
                "FAILED",
                "exit code 137, which programs use for SIGKILL; a program may also exit with that number itself",
            ),
            137,
            None,
        ),
        ("shot", ("ended", "failed", "FAILED", "killed by SIGKILL; sender and reason unknown"), None, 9),
        ("limit", ("ended", "timed_out", "TIMEOUT", LIMIT), None, 15),
        ("trapped", ("ended", "timed_out", "TIMEOUT", LIMIT), None, None),
        ("node", ("ended", "node_failed", "NODE_FAIL", "a node failed (gpu03)"), None, None),
        ("inner", ("ended", "unknown", "COMPLETED", f"{DOUBT}, and nothing else shows that the work is done"), 0, None),
        (
            "cancelled",
            ("ended", "cancelled", "CANCELLED by {alice}", "cancelled by its owner (alice)"),
            None,
            None,
        ),
        ("stopped", ("ended", "cancelled", "CANCELLED by 0", "cancelled by root, not by its owner"), None, 15),
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
            "parts",
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
def test_the_ending_is_told_in_these_words(seen, scenes, name, expected, code, signal):
    """State, outcome, Slurm's own word and the reason; code and signal only where somebody recorded them."""
    uid = scenes.lab.run("alice", "id", "-u", check=True).stdout.strip()
    job = seen[name]
    assert words(job) == tuple(
        word.replace("{alice}", uid).replace("{id}", str(scenes.jobs[name])) for word in expected
    )
    assert (job["exit_code"], job["signal"], job["attempts"]) == (code, signal, 1)


def test_memory_that_ran_out_is_told_wherever_it_did(seen, scenes):
    """In the batch script the job says so, inside srun only the step does, and the job itself is FAILED 1:0."""
    if not scenes.lab.has_memory_limits:
        pytest.skip(scenes.lab.notes[0])
    step = f"step {scenes.jobs['memory in srun']}.0 (python3) ran out of memory (OUT_OF_MEMORY 0:125)"
    assert words(seen["memory"]) == ("ended", "out_of_memory", "OUT_OF_MEMORY", "it ran out of memory")
    assert words(seen["memory in srun"]) == ("ended", "out_of_memory", "FAILED", step)


def test_a_success_with_a_failed_step_is_doubted(seen, scenes):
    """Nothing else shows that its work is done, so its outcome is unknown; the clean success has no doubt."""
    against = f"Slurm says COMPLETED, but its step {scenes.jobs['inner']}.0 (false) is FAILED 1:0"
    (rule, (level, text)) = next(iter(findings(seen["inner"]).items()))
    assert (seen["inner"]["outcome"], rule, level) == ("unknown", "all_ended", "warning")
    assert against in text
    assert findings(seen["zero"]) == {}
    assert [evidence["by"] for evidence in seen["zero"]["evidence"]] == ["Slurm"]


def test_preempted_has_ended_where_its_partition_cancels_what_it_preempts(seen):
    """Slurm leaves Requeue=1 as it was; that the queue still lists it as PREEMPTED tells that it does not come back."""
    why = "preempted: another job took its nodes, and Slurm did not put it back"
    assert words(seen["scrap"]) == ("ended", "preempted", "PREEMPTED", why)


def test_a_job_sent_to_a_dead_node_and_put_back_ends_as_its_second_run_did(seen):
    """The NODE_FAIL of the run that never began is not its ending."""
    assert words(seen["relaunched"]) == ("ended", "failed", "FAILED", "exit code 3")
    assert seen["relaunched"]["attempts"] == 2


def test_the_tasks_of_an_array_are_one_job(seen):
    """Counted by outcome, the failed ones first."""
    tasks = seen["parts"]["tasks"]
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
        "it reached its time limit; ask for 10 min next time",
    )


def test_every_ending_was_told_once(scenes):
    """One change to `ended` for each job, however many polls there were, and also of an attempt that began and ended
    between two of them."""
    changes = scenes.watch.events("job.state", "job.attempt")
    told = [event["ref"] for event in changes if event["body"]["after"] == "ended"]
    ended = [job for name, job in scenes.jobs.items() if name not in LASTING]
    assert set(told) >= {f"lab/slurm:{job}" for job in ended}
    assert len(told) == len(set(told))
