"""The launch script of the design document (003, §6.3), run as it stands with `dogwatch watch` for monitor_job.py."""

import shutil
import subprocess

import pytest

from tests.journeys.workers import WORKER

# As in the document but for the two directories, a shorter sleep before the watch and --check-interval 1, so that the
# journey is short. `set -e` ends the script at once when the watch ends with 1.
SCRIPT = """#!/bin/bash
# launch_and_monitor.sh
# Integrated job launch and monitoring script

set -e

# Configuration
JOB_NAME="embedding_generation"
NUM_WORKERS=4
GPU_IDS=(0 1 2 3)
OUTPUT_DIR="$PWD/outputs"
LOG_DIR="$PWD/logs"

# Create directories
mkdir -p "$OUTPUT_DIR"
mkdir -p "$LOG_DIR"

# Launch job
echo "Launching job: $JOB_NAME"

for i in $(seq 0 $((NUM_WORKERS - 1))); do
    CUDA_VISIBLE_DEVICES=${GPU_IDS[$i]} \\
    python worker.py \\
        --worker-id $i \\
        --output-file "$OUTPUT_DIR/output_worker_$i.json" \\
        --log-file "$LOG_DIR/worker_$i.log" \\
        > "$LOG_DIR/worker_${i}_stdout.log" \\
        2> "$LOG_DIR/worker_${i}_stderr.log" &

    WORKER_PIDS[$i]=$!
    echo "Started worker $i (PID: ${WORKER_PIDS[$i]}) on GPU ${GPU_IDS[$i]}"
done

# Save PIDs for monitoring
echo "${WORKER_PIDS[@]}" > "$LOG_DIR/worker_pids.txt"

# Wait a moment for workers to initialize
sleep 1

# Launch monitoring in foreground
echo "Starting real-time monitoring..."
dogwatch watch \\
    --job-name "$JOB_NAME" \\
    --num-workers $NUM_WORKERS \\
    --gpu-ids ${GPU_IDS[@]} \\
    --output-dir "$OUTPUT_DIR" \\
    --log-dir "$LOG_DIR" \\
    --total-items 100000 \\
    --check-interval 1 \\
    --alert-email "user@example.com"

# Capture monitoring exit code
MONITOR_EXIT=$?

# Cleanup
if [ $MONITOR_EXIT -eq 0 ]; then
    echo "Job completed successfully!"
else
    echo "Job failed! Check logs in $LOG_DIR"
    exit 1
fi
"""


@pytest.fixture
def launch(crew, letters):
    """Run the script in a directory of its own, with mail going to the box."""
    shutil.copy(WORKER, crew.place / "worker.py")
    (crew.place / "launch_and_monitor.sh").write_text(SCRIPT)

    def run(**wrong):
        return subprocess.run(
            ["bash", "launch_and_monitor.sh"],
            cwd=crew.place,
            env={**crew.environment, **wrong},
            timeout=60,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )

    return run


def told(dogwatch):
    """The job as `ls`, `status` and `why` tell it afterwards."""
    return {
        "ls": dogwatch("ls", "--all").stdout,
        "status": dogwatch("status", "embedding_generation").stdout,
        "why": dogwatch("why", "embedding_generation").stdout,
    }


def insist_on_failure(done, letters, *words):
    """The script ended with 1 and did not call it a success, and a critical letter says all of `words`."""
    assert done.returncode == 1, done.stdout
    assert "Job completed successfully!" not in done.stdout
    critical = [letter for letter in letters() if "CRITICAL" in letter]
    for word in words:
        assert any(word in letter for letter in critical), (word, letters())


def test_all_well(launch, letters, dogwatch):
    """Four workers do all 100,000 items once: the script says so and ends with 0, and the only news is good."""
    done = launch()
    assert done.stdout.endswith("Job completed successfully!\n"), done.stdout
    assert done.returncode == 0
    assert "100,000 of 100,000 items" in done.stdout
    assert letters()
    assert not [letter for letter in letters() if "CRITICAL" in letter or "WARNING" in letter]
    for said in told(dogwatch).values():
        assert "completed" in said


def test_one_worker_crashes(launch, letters, dogwatch):
    """The worker that left a traceback is the one that is named, with its error, in every place."""
    done = launch(CRASH="2")
    insist_on_failure(done, letters, "worker 2", "shape mismatch")
    said = told(dogwatch)
    assert "failed" in said["ls"]
    assert "failed" in said["status"].splitlines()[0]
    assert "worker 0" not in said["status"].split("workers ")[0]
    assert "shape mismatch" in said["why"]


def test_one_worker_is_killed(launch, letters, dogwatch):
    """A worker that was killed leaves no words; that it is gone without its output is enough to be critical."""
    done = launch(KILL="2")
    insist_on_failure(done, letters, "worker 2")
    said = told(dogwatch)
    assert "succeeded" not in "".join(said.values())
    assert "no sign of a failure" not in said["why"]
    assert "worker 2" in said["why"]


def test_the_output_of_one_worker_is_cut(launch, letters, dogwatch):
    """All items by the logs, and half a JSON file: incomplete, and the file is named."""
    done = launch(CUT="2")
    insist_on_failure(done, letters, "output_worker_2.json")
    said = told(dogwatch)
    for words in said.values():
        assert "incomplete" in words
    assert "output_worker_2.json" in said["why"]


def test_one_worker_does_only_a_part(launch, letters, dogwatch):
    """85,000 of 100,000 items are not a success, though every worker went its way without a complaint."""
    done = launch(SHORT="2")
    insist_on_failure(done, letters, "85,000 of 100,000")
    for words in told(dogwatch).values():
        assert "incomplete" in words
        assert "85,000 of 100,000" in words or words.startswith("REF")


def test_errors_that_a_worker_survives_are_a_warning(launch, letters, dogwatch):
    """Refused connections in the log of a worker that finished are counted and told; the job completed all the same."""
    done = launch(REFUSE="2")
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("Job completed successfully!\n")
    assert "onnection refused" in done.stdout
    assert any("WARNING" in letter and "onnection refused" in letter for letter in letters())
    assert not [letter for letter in letters() if "CRITICAL" in letter]
