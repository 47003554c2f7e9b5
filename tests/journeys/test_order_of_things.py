"""Things that happen in another order than the manual has them: watching before, after, twice; a worker comes back."""

import json
import subprocess

from tests.support import jobs, wait_until

COUNTS = """
if os.environ.get("CRASH") == str(me) and not os.path.exists(log):
    say("Processed 1/20 items")
    time.sleep(2)
    raise RuntimeError("the data of worker %d is not there yet" % me)
for step in range(1, 21):
    time.sleep(float(os.environ.get("PAUSE", "0.15")))
    say(f"Processed {step}/20 items")
with open(output, "w") as file:
    file.write("[1, 2, 3]")
"""


def flags(crew, name, workers=2):
    return ["--job-name", name, "--num-workers", workers, *crew.flags(), "--check-interval", 1]


def test_the_watch_comes_before_the_workers_and_their_directories(crew, spawn, dogwatch, tmp_path):
    """Nothing is there yet, not even the log directory: the watch waits, finds all of it, and ends with 0."""
    watch = spawn("watch", *flags(crew, "early"), "--total-items", 40)
    wait_until(lambda: "early" in jobs(dogwatch))
    crew.start("early.py", 2, text=COUNTS)
    assert watch.wait(timeout=30) == 0, (tmp_path / "spawn-0.out").read_text()
    job = jobs(dogwatch)["early"]
    assert (job["outcome"], job["progress"]["step"], len(job["workers"])) == ("completed", 40, 2)


def test_the_watch_comes_when_all_is_over(crew, dogwatch):
    """The workers of worker_pids.txt have ended long ago: logs and outputs tell how, at once."""
    crew.start("late.py", 2, text=COUNTS, PAUSE="0.1")
    wait_until(lambda: len(list(crew.logs.glob("worker_?.log"))) == 2)
    pids = subprocess.run(["pgrep", "-P", str(crew.shell.pid)], capture_output=True, text=True, timeout=20).stdout
    (crew.logs / "worker_pids.txt").write_text(" ".join(pids.split()))
    crew.shell.wait(timeout=20)
    watched = dogwatch("watch", *flags(crew, "late"), "--total-items", 40, "--launch-timeout", 3)
    assert watched.returncode == 0, watched.stdout + watched.stderr
    assert jobs(dogwatch)["late"]["outcome"] == "completed"


def test_two_watches_at_once_say_the_same(crew, spawn, dogwatch, tmp_path):
    """Two terminals with the same command: one job, both end with the same answer."""
    crew.start("twice.py", 2, text=COUNTS)
    both = [spawn("watch", *flags(crew, "twice"), "--total-items", 40) for _ in range(2)]
    assert [watch.wait(timeout=30) for watch in both] == [0, 0], (tmp_path / "spawn-1.err").read_text()
    assert list(jobs(dogwatch)) == ["twice"]
    assert "twice" in (tmp_path / "spawn-1.out").read_text()


def test_a_worker_is_started_again_by_hand(crew, spawn, dogwatch, tmp_path):
    """One of two crashes, and somebody starts it again: the first watch ends with 1 and names it, and the same command
    for the new worker alone sees that one through."""
    crew.start("mended.py", 2, text=COUNTS, CRASH="1", PAUSE="0.4")
    watch = spawn("watch", *flags(crew, "mended"), "--total-items", 40)
    wait_until(lambda: "not there yet" in (tmp_path / "spawn-0.out").read_text())
    files = ["--output-file", crew.outputs / "output_worker_1.json", "--log-file", crew.logs / "worker_1.log"]
    second = subprocess.Popen(
        ["python", "mended.py", "--worker-id", "1", *files],
        **{"cwd": crew.place, "env": {**crew.environment, "PAUSE": "0.6"}},
    )
    assert watch.wait(timeout=30) == 1
    assert "worker 1" in (tmp_path / "spawn-0.out").read_text()
    again = dogwatch("watch", "--job-name", "worker 1 again", "--pid", second.pid, "--check-interval", 1)
    assert again.returncode == 0, again.stdout
    assert second.wait(timeout=30) == 0


def test_the_same_job_again_after_it_ended_is_another(crew, dogwatch):
    """The script is run a second time under its name: the second run has its own counters and its own outcome."""
    for run in range(2):
        crew.start("daily.py", 2, text=COUNTS, PAUSE="0.1")
        watched = dogwatch("watch", *flags(crew, "daily"), "--total-items", 40)
        assert watched.returncode == 0, (run, watched.stdout)
        crew.shell.wait(timeout=20)
    listed = json.loads(dogwatch("ls", "--all", "--json").stdout)["jobs"]
    assert [job["progress"]["step"] for job in listed if job["name"] == "daily"] == [40, 40]


KILLED = """
time.sleep(4)
for n in range(1, 31):
    say(f"iter {n} loss {1 / n:.3f}")
    time.sleep(0.2)
    if n == 10 and me == 1:
        os.kill(os.getpid(), 9)
with open(output, "w") as file:
    file.write("[1, 2, 3]")
"""


def test_a_worker_that_vanished_half_way_is_no_success_without_any_total(crew, dogwatch, receiver):
    """kill -9, no exit code, no traceback, no total: the counts of the others tell
    that it left early. While they run the alert is critical, and in the end the job is incomplete everywhere."""
    assert dogwatch("alerts", "add", "webhook", receiver.url).returncode == 0
    crew.start("vanish.py", 3, text=KILLED)
    watched = dogwatch(
        "watch", "--job-name", "vanish", "--num-workers", 3, "--log-dir", crew.logs, "--check-interval", 1
    )
    assert watched.returncode == 1, watched.stdout
    told = [dogwatch(*words).stdout for words in (("status", "vanish"), ("why", "vanish"), ("ls", "--all"))]
    for text in (watched.stdout, *told):
        assert "incomplete" in text
        assert "its log stops at 10 iterations" in text
    assert any("CRITICAL: vanish" in got.json["subject"] for got in receiver.got)


def test_old_logs_are_no_progress_of_a_job_that_never_started(crew, dogwatch):
    """worker_0.log of yesterday lies in the log directory; the workers do not come: no per cent anywhere."""
    crew.logs.mkdir(parents=True)
    (crew.logs / "worker_0.log").write_text("".join(f"Processed {n}/20 items\n" for n in range(1, 20)))
    watched = dogwatch("watch", *flags(crew, "absent"), "--launch-timeout", 2)
    assert watched.returncode == 1
    assert "no worker started" in watched.stdout
    assert jobs(dogwatch)["absent"]["progress"] is None
    assert "% done" not in watched.stdout + dogwatch("events").stdout


def test_whoever_waits_for_a_job_learns_that_it_was_forgotten(dogwatch, spawn, tmp_path):
    """`forget` in another terminal: `wait` and `watch` end with 4 and say so, where they would have waited for ever."""
    for name in ("kept", "dropped"):
        assert dogwatch("run", "--detach", "--name", name, "--", "sleep", 30).returncode == 0
    alone, watch, both = spawn("wait", "dropped"), spawn("watch", "dropped"), spawn("wait", "dropped", "kept")
    wait_until(lambda: jobs(dogwatch)["dropped"]["state"] == "running")
    assert dogwatch("forget", "dropped").returncode == 0
    assert (alone.wait(timeout=20), watch.wait(timeout=20)) == (4, 4)
    assert "dropped was forgotten" in (tmp_path / "spawn-0.err").read_text()
    assert both.poll() is None


UNEVEN = """
time.sleep(4)
for n in range(1, 8 if me == 0 else 26):
    say(f"Processed {n} items")
    time.sleep(0.2)
say("Finished processing, all done")
with open(output, "w") as file:
    file.write("[1, 2, 3]")
"""


def test_a_worker_with_less_to_do_is_no_trouble_when_its_log_says_that_it_is_done(crew, dogwatch):
    """Shares of 7 and 25 items without a total: the first one leaves early, nobody is warned, and the job completed."""
    crew.start("uneven.py", 2, text=UNEVEN)
    watched = dogwatch("watch", *flags(crew, "uneven"))
    assert watched.returncode == 0, watched.stdout
    assert "exited" not in watched.stdout
    assert jobs(dogwatch)["uneven"]["outcome"] == "completed"
