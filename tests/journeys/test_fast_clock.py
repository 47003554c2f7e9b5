"""The sped-up clock itself: everything that a journey starts keeps the same fast time."""

import json
import subprocess
import sys
import time

from tests.support import jobs, wait_until

TELLS = """
import json, os, select, subprocess, threading, time
began = time.time(), time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME), time.perf_counter()
print("ready", flush=True)
input()
time.sleep(30)
select.select([], [], [], 30)
select.poll().poll(30_000)
select.epoll().poll(30)
threading.Event().wait(30)
condition = threading.Condition()
with condition:
    condition.wait(30)
threading.Thread(target=time.sleep, args=(30,)).start()
subprocess.run(["sleep", "30"], timeout=60, env={})
open("made", "w").close()
ended = time.time(), time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME), time.perf_counter()
print(json.dumps([b - a for a, b in zip(began, ended)] + [time.time() - os.stat("made").st_mtime]))
"""


def test_every_clock_wait_and_file_time_runs_at_the_same_pace(environment, fast, tmp_path):
    """Seven waits of 30 s take 210 s by all clocks of the process, and about five real ones."""
    began = time.monotonic()
    worker = subprocess.Popen(
        [sys.executable, "-c", TELLS],
        **{"env": environment, "cwd": tmp_path, "text": True, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE},
    )
    assert worker.stdout
    assert worker.stdout.readline() == "ready\n"
    with fast(100):
        *clocks, since_made = json.loads(worker.communicate("\n", timeout=60)[0])
    for each in clocks:
        assert 205 < each < 500
    assert -1 < since_made < 20
    assert time.monotonic() - began < 60
    assert fast.ahead > 200


def test_a_worker_that_says_nothing_for_400_seconds_takes_a_few_real_ones(dogwatch, spawn, environment, fast, tmp_path):
    """Dogwatch, its probe and a foreign worker agree that 400 s have passed."""
    log = tmp_path / "logs" / "worker_0.log"
    log.parent.mkdir()
    quiet = "import time; print('Processed 5/9 items', flush=True); time.sleep(400); print('Processed 9/9 items')"
    began = time.monotonic()
    with log.open("w") as out, subprocess.Popen([sys.executable, "-c", quiet], stdout=out, env=environment) as worker:
        flags = ["--pid", worker.pid, "--log-dir", log.parent, "--check-interval", 5]
        watch = spawn("watch", "--job-name", "quiet", *flags)
        wait_until(lambda: "quiet" in jobs(dogwatch) and jobs(dogwatch)["quiet"]["progress"])
        with fast(100):
            assert watch.wait(timeout=60) == 0
    assert time.monotonic() - began < 60
    assert "succeeded after 6m 4" in dogwatch("status", "quiet").stdout
    uptime = jobs(dogwatch)["quiet"]["workers"][0]["uptime_seconds"]
    assert 400 <= uptime < 450
