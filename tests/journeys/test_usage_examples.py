"""The three usage examples of the design document (003, §3.2), as `dogwatch watch` with the same flags.

What differs: the directories, and --check-interval 1, so that a journey takes seconds; what else, the test says.
"""

import zipfile

from tests.support import jobs, wait_until


def test_basic_monitoring(crew, dogwatch):
    """Four workers found by the name of their script, 100,000 items, every log read once."""
    crew.start("embedding_generation.py", 4)
    watched = dogwatch(
        "watch",
        *("--job-name", "embedding_generation", "--num-workers", 4, "--gpu-ids", 0, 1, 2, 3),
        *("--output-dir", crew.outputs, "--log-dir", crew.logs, "--total-items", 100000),
        *("--check-interval", 1),
    )
    assert watched.returncode == 0, watched.stdout + watched.stderr
    assert "100,000 of 100,000 items" in watched.stdout
    assert "4 output files" in watched.stdout
    job = jobs(dogwatch)["embedding_generation"]
    assert (job["outcome"], job["progress"]["step"]) == ("completed", 100000)
    assert len(job["workers"]) == 4


def test_with_alerts_and_custom_patterns(crew, dogwatch, letters, receiver, tmp_path):
    """Eight workers, checkpoints of another name, mail and Slack: both get the good news, and nothing else.

    --alert-slack is the receiver of this test; each worker prints its epoch, its batch and its items in one line.
    """
    checkpoints = tmp_path / "checkpoints"
    checkpoints.mkdir()
    for step in (100, 200):
        with zipfile.ZipFile(checkpoints / f"model_step_{step}.pt", "w") as file:
            file.writestr("archive/data.pkl", b"\x80\x02}q\x00.")
    crew.start("training_run.py", 8, "results_gpu_%d.jsonl", ITEMS="125000", LINES="1", PAUSE="0.3")
    watched = dogwatch(
        "watch",
        *("--job-name", "training_run", "--num-workers", 8, "--gpu-ids", *range(8)),
        *("--output-dir", crew.outputs, "--log-dir", crew.logs, "--checkpoint-dir", checkpoints),
        *("--total-items", 1000000, "--check-interval", 1, "--stall-timeout", 600),
        *("--alert-email", "user@example.com", "--alert-slack", receiver.url),
        *("--output-pattern", "results_gpu_*.jsonl", "--checkpoint-pattern", "model_step_*.pt"),
    )
    assert watched.returncode == 0, watched.stdout + watched.stderr
    assert "1,000,000 of 1,000,000 items" in watched.stdout
    assert jobs(dogwatch)["training_run"]["outcome"] == "completed"
    slack = [got.body.decode() for got in receiver.got]
    assert any("completed" in letter for letter in letters())
    assert any("completed" in body for body in slack)
    for text in letters() + slack:
        assert "CRITICAL" not in text
        assert "WARNING" not in text


def test_monitor_an_already_running_job(crew, dogwatch):
    """Workers that run since before, nothing known of how many items: they end, their outputs are whole, exit 0."""
    crew.start("inference_batch_5.py", 4)
    wait_until(lambda: len(list(crew.logs.glob("worker_?.log"))) == 4)
    wait_until(lambda: all("Processed 5000" in path.read_text() for path in crew.logs.glob("worker_?.log")))
    watched = dogwatch(
        "watch",
        *("--job-name", "inference_batch_5", "--num-workers", 4, "--gpu-ids", 0, 1, 2, 3),
        *("--output-dir", crew.outputs, "--log-dir", crew.logs),
        *("--check-interval", 1),
    )
    assert watched.returncode == 0, watched.stdout + watched.stderr
    assert jobs(dogwatch)["inference_batch_5"]["outcome"] == "completed"
    assert "100,000 of 100,000" in watched.stdout  # 25,000 in each of four logs


def test_the_flags_of_the_document_are_all_there(dogwatch):
    """Whoever copies the command line of the document gets no "unrecognized arguments"."""
    helped = dogwatch("watch", "--help").stdout
    for flag in (
        *("--job-name", "--num-workers", "--gpu-ids", "--output-dir", "--log-dir", "--checkpoint-dir"),
        *("--total-items", "--check-interval", "--launch-timeout", "--stall-timeout", "--alert-email"),
        *("--alert-slack", "--output-pattern", "--log-pattern", "--checkpoint-pattern"),
    ):
        assert flag in helped
