"""Directories that yesterday's run has left full: what it wrote is not this run's work."""

import os
import time

import pytest

from tests.support import jobs

YESTERDAY = time.time() - 86400
TODAY = """
for step in range(1, 21):
    time.sleep(0.15)
    if step <= int(os.environ.get("STOP_AT", "20")):
        say(f"Processed {step * 5}/100 items")
if os.environ.get("WRITES") == "1":
    with open(output, "w") as file:
        file.write('[1, 2, 3]')
"""


@pytest.fixture
def yesterday(crew):
    """Four logs with full counters and four whole outputs, a day old."""
    crew.logs.mkdir()
    crew.outputs.mkdir()
    for worker in range(4):
        log = crew.logs / f"worker_{worker}.log"
        log.write_text("".join(f"Processed {done}/100 items\n" for done in range(10, 101, 10)) + "done\n")
        output = crew.outputs / f"output_worker_{worker}.json"
        output.write_text("[1, 2, 3]")
        for path in (log, output):
            os.utime(path, (YESTERDAY, YESTERDAY))


def watch(dogwatch, crew, workers, *flags):
    return dogwatch(
        "watch", "--job-name", "again", "--num-workers", workers, *crew.flags(), "--check-interval", 1, *flags
    )


def test_outputs_of_yesterday_are_not_this_runs(yesterday, crew, dogwatch):
    """Today's workers count to the end and write nothing: the old files do not make that complete."""
    crew.start("again.py", 4, text=TODAY)
    watched = watch(dogwatch, crew, 4, "--total-items", 400)
    assert watched.returncode == 1, watched.stdout
    assert jobs(dogwatch)["again"]["outcome"] == "incomplete"
    assert "output" in dogwatch("why", "again").stdout


def test_logs_of_yesterday_are_not_counted(yesterday, crew, dogwatch):
    """Two workers of today end half-way in logs that go on from yesterday's: 100 of 200, and nothing of the others."""
    crew.start("again.py", 2, text=TODAY, STOP_AT="10", WRITES="1")
    watched = watch(dogwatch, crew, 2, "--total-items", 200)
    assert "100 % done" not in watched.stdout
    assert watched.returncode == 1, watched.stdout
    job = jobs(dogwatch)["again"]
    assert (job["outcome"], job["progress"]["step"]) == ("incomplete", 100)


def test_a_whole_run_over_yesterdays_files_is_complete(yesterday, crew, dogwatch):
    """Workers that do all their work again, over the old files, have done it: exit 0, each item counted once."""
    crew.start("again.py", 4, text=TODAY, WRITES="1")
    watched = watch(dogwatch, crew, 4, "--total-items", 400)
    assert watched.returncode == 0, watched.stdout
    job = jobs(dogwatch)["again"]
    assert (job["outcome"], job["progress"]["step"]) == ("completed", 400)


def test_a_crash_of_yesterday_is_not_todays(crew, dogwatch):
    """An old traceback further up in the same log does not make today's run failed."""
    crew.logs.mkdir()
    crew.outputs.mkdir()
    log = crew.logs / "worker_0.log"
    log.write_text("Processed 10/100 items\nTraceback (most recent call last):\nRuntimeError: CUDA out of memory\n")
    os.utime(log, (YESTERDAY, YESTERDAY))
    crew.start("again.py", 1, text=TODAY, WRITES="1")
    watched = watch(dogwatch, crew, 1, "--total-items", 100)
    assert watched.returncode == 0, watched.stdout
    assert jobs(dogwatch)["again"]["outcome"] == "completed"
    assert "!!" not in watched.stdout
