"""`dogwatch run` and the verbs around it, against real processes."""

from __future__ import annotations

import json
import os
import signal
import time

from tests.support import jobs, wait_until


def test_exit_codes_and_outcomes_are_told_truthfully(dogwatch) -> None:
    """Four endings, four different answers, each with its evidence."""
    wanted = {
        "good": ("exit 0", "succeeded", 0, None, 0),
        "bad": ("exit 3", "failed", 3, None, 1),
        "crash": ("kill -SEGV $$", "failed", None, 11, 1),
        "killed": ("kill -KILL $$", "failed", None, 9, 1),
    }
    for name, (script, *_rest) in wanted.items():
        ref = dogwatch("run", "--detach", "--name", name, "--", "sh", "-c", script).stdout.strip()
        assert ref.startswith(f"here/process:{name}-")
    for name, (_, outcome, code, number, exit_code) in wanted.items():
        waited = dogwatch("wait", name, "--timeout", "30", "--json")
        assert waited.returncode == exit_code, waited.stderr
        job = json.loads(waited.stdout)["jobs"][0]
        assert (job["state"], job["outcome"], job["exit_code"], job["signal"]) == ("ended", outcome, code, number)
        assert job["evidence"][0]["by"] == "supervisor"
    assert jobs(dogwatch)["killed"]["reason"] == "killed by SIGKILL; sender and reason unknown"


def test_every_worker_gets_its_number_its_gpu_and_its_own_log(dogwatch) -> None:
    """And `logs` shows them apart."""
    script = "echo I am $DOGWATCH_WORKER of $DOGWATCH_WORKERS on $CUDA_VISIBLE_DEVICES with $X"
    args = ["run", "--detach", "--name", "quad", "--workers", "3", "--gpu-ids", "4", "5", "6", "--env", "X=y"]
    assert dogwatch(*args, "--", "sh", "-c", script).returncode == 0
    assert dogwatch("wait", "quad", "--timeout", "30").returncode == 0
    logs = json.loads(dogwatch("logs", "quad", "--json").stdout)["logs"]
    assert [log["lines"] for log in logs] == [[f"I am {i} of 3 on {i + 4} with y"] for i in range(3)]
    assert dogwatch("logs", "quad", "--worker", "1").stdout == "I am 1 of 3 on 5 with y\n"


def test_a_run_outlives_the_watcher_and_the_terminal(dogwatch, spawn) -> None:
    """SIGKILL of the watching `run` and of its whole session loses neither the job nor its exit code."""
    watching = spawn("run", "--name", "tough", "--", "sh", "-c", "sleep 2; exit 7", start_new_session=True)
    wait_until(lambda: "tough" in jobs(dogwatch))
    os.killpg(watching.pid, signal.SIGKILL)
    assert dogwatch("wait", "tough", "--timeout", "30").returncode == 1
    assert jobs(dogwatch)["tough"]["exit_code"] == 7


def test_a_killed_supervisor_leaves_the_worker_running_and_its_end_unknown(dogwatch, home) -> None:
    """The worker is still watched, and nobody claims to know how it ended."""
    dogwatch("run", "--detach", "--name", "orphan", "--", "sleep", "8")
    run = next((home / "runs").iterdir())
    supervisor = json.loads((run / "supervisor.json").read_text())["pid"]
    os.kill(supervisor, signal.SIGKILL)
    dogwatch("patrol")
    assert jobs(dogwatch)["orphan"]["state"] == "running"
    assert dogwatch("wait", "orphan", "--timeout", "30").returncode == 1
    job = jobs(dogwatch)["orphan"]
    assert (job["state"], job["outcome"], job["exit_code"]) == ("ended", "unknown", None)
    assert "supervisor was killed" in job["reason"]


def test_one_missing_worker_of_several_is_a_finding_at_once(dogwatch, spawn, home) -> None:
    """The job runs on, and the finding says which worker and how."""
    dogwatch("run", "--detach", "--name", "crew", "--workers", "3", "--", "sleep", "60")
    spawn("daemon")
    wait_until(lambda: jobs(dogwatch)["crew"]["state"] == "running")
    run = next((home / "runs").iterdir())
    pid = json.loads((run / "worker-1.start.json").read_text())["pid"]
    os.kill(pid, signal.SIGTERM)
    finding = wait_until(lambda: jobs(dogwatch)["crew"]["findings"])[0]
    assert finding["rule"] == "worker_gone"
    assert finding["level"] == "critical"
    assert "worker 1" in finding["text"]
    assert "SIGTERM" in finding["text"]
    assert jobs(dogwatch)["crew"]["state"] == "running"


def test_run_watches_to_the_end_with_plain_lines_when_there_is_no_terminal(dogwatch) -> None:
    """Without --detach it goes on to watch, and its exit code is the job's."""
    done = dogwatch("run", "--name", "short", "--", "sh", "-c", "echo 'Processed 5/10 items'; sleep 1; exit 4")
    assert done.returncode == 1
    assert "failed (exit code 4)" in done.stdout
    assert "\x1b" not in done.stdout


def test_what_cannot_be_run_is_refused_in_one_sentence_and_leaves_nothing(dogwatch, home) -> None:
    """Exit code 2, one line on stderr, nothing registered, no run directory."""
    refused = [
        ["run", "--", "no-such-program-anywhere"],
        ["run", "--cwd", "/no/such/place", "--", "true"],
        ["run", "--workers", "0", "--", "true"],
        ["run", "--workers", "2", "--gpu-ids", "0", "1", "2", "--", "true"],
        ["run", "--env", "NOEQUALS", "--", "true"],
        ["run", "--min-growth", "10MB", "--", "true"],
        ["run", "--min-growth", "0MB/h", "--", "true"],
        ["run", "--name", "evil\x1b[2Jname", "--", "true"],
        ["run", "--name", "two\nlines", "--", "true"],
        ["run"],
    ]
    for words in refused:
        done = dogwatch(*words)
        assert done.returncode == 2, words
        assert done.stdout == ""
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
        assert "\x1b" not in done.stderr
    assert jobs(dogwatch) == {}
    assert not (home / "runs").exists() or not list((home / "runs").iterdir())


def test_a_job_document_has_every_documented_key(dogwatch) -> None:
    """The same keys in every verb, before the first poll and after the end."""
    keys = """ref id source place name description state outcome ended_as native reason exit_code signal attempts since
        submitted confirmed_at evidence progress eta findings diagnosis started workers outputs checkpoints disks expect
        outputs_missing gpus launch checks history folders unreachable time_limit_seconds no_eta_reason
        verdict verified spent tasks efficiency expected_start time_limit_at nodes stdout logs scores stages
        box""".split()  # noqa: SIM905 - a list of words
    detached = json.loads(dogwatch("run", "--detach", "--json", "--name", "keys", "--", "true").stdout)
    assert sorted(detached) == sorted(keys)
    assert detached["state"] is None
    waited = json.loads(dogwatch("wait", "keys", "--json", "--timeout", "30").stdout)["jobs"][0]
    listed = json.loads(dogwatch("ls", "--all", "--json").stdout)["jobs"][0]
    stated = json.loads(dogwatch("status", "keys", "--json").stdout)["jobs"][0]
    assert list(waited) == list(listed) == list(stated)
    assert sorted(waited) == sorted(keys)


def test_ls_shows_what_has_not_ended_and_all_shows_the_rest(dogwatch) -> None:
    """An ended job leaves the list, a forgotten one leaves both."""
    dogwatch("run", "--detach", "--name", "gone", "--", "true")
    dogwatch("wait", "gone", "--timeout", "30")
    assert "gone" not in dogwatch("ls").stdout
    assert "gone" in dogwatch("ls", "--all").stdout
    assert dogwatch("forget", "gone").returncode == 0
    assert "gone" not in dogwatch("ls", "--all").stdout
    assert dogwatch("status", "gone").returncode == 4


def test_wait_times_out_with_124_and_no_such_job_is_4(dogwatch) -> None:
    """Two ways of not getting an answer, told apart."""
    dogwatch("run", "--detach", "--name", "long", "--", "sleep", "60")
    began = time.monotonic()
    assert dogwatch("wait", "long", "--timeout", "1").returncode == 124
    assert time.monotonic() - began < 30
    assert dogwatch("wait", "long", "--for", "running", "--timeout", "30").returncode == 0
    assert dogwatch("wait", "nobody").returncode == 4


def test_a_run_whose_records_are_gone_is_not_ended_and_not_forgotten(dogwatch, home) -> None:
    """What cannot be seen keeps what was known, says so as a finding, and resolves when it can be seen again."""
    dogwatch("run", "--detach", "--name", "hidden", "--", "sleep", "60")
    dogwatch("patrol")
    run = next((home / "runs").iterdir())
    run.rename(home / "elsewhere")
    wait_until(lambda: "cannot be read" in dogwatch("patrol").stdout)
    job = jobs(dogwatch)["hidden"]
    assert job["state"] == "running"
    assert [finding["rule"] for finding in job["findings"]] == ["cannot_see"]
    (home / "elsewhere").rename(run)
    wait_until(lambda: dogwatch("patrol").returncode == 0 and not jobs(dogwatch)["hidden"]["findings"])


def test_a_description_with_an_escape_code_is_refused_in_one_plain_sentence(dogwatch) -> None:
    """It names the character and starts nothing."""
    refused = dogwatch("run", "--detach", "--description", "a\x1b[31mb", "--", "true")
    assert refused.returncode == 2
    assert refused.stderr.startswith("dogwatch: the description 'ab' has an escape code (U+001B) at position 2;")
    assert jobs(dogwatch) == {}


def test_the_directory_of_an_output_may_still_be_made_by_the_job(dogwatch, tmp_path) -> None:
    """Jobs make their output directories themselves: one that is not there yet is said, waited for and found."""
    script = "mkdir -p new/deep && printf '{}' > new/deep/a.json && mkdir saved && printf '{}' > saved/step_1.json"
    flags = ["--cwd", str(tmp_path), "--output", "new/deep/*.json", "--checkpoint", "saved/*"]
    started = dogwatch("run", "--detach", "--name", "maker", *flags, "--", "sh", "-c", script)
    assert started.returncode == 0
    assert f"--output: {tmp_path}/new/deep does not exist yet" in started.stderr
    assert dogwatch("wait", "maker", "--timeout", "30").returncode == 0
    job = json.loads(dogwatch("status", "maker", "--json").stdout)["jobs"][0]
    assert [os.path.basename(one["path"]) for one in job["outputs"]] == ["a.json"]
    assert (job["outcome"], job["checkpoints"]["count"]) == ("succeeded", 1)


def test_an_output_directory_that_never_came_is_no_success(dogwatch, tmp_path) -> None:
    """Waiting for a directory is not taking its absence for an answer."""
    flags = ["--cwd", str(tmp_path), "--output", "never/*.json"]
    dogwatch("run", "--detach", "--name", "idle", *flags, "--", "true")
    waited = dogwatch("wait", "idle", "--timeout", "30")
    assert waited.returncode == 1
    assert "never/*.json" in waited.stdout


def test_an_output_below_a_file_is_refused(dogwatch, tmp_path) -> None:
    """No job can make a directory in a file."""
    (tmp_path / "file").write_text("x")
    refused = dogwatch("run", "--detach", "--output", f"{tmp_path}/file/deep/*", "--", "true")
    assert refused.returncode == 2
    assert "file is not a directory" in refused.stderr


def test_a_success_that_stopped_far_before_its_total_is_incomplete(dogwatch) -> None:
    """Exit code 0 at 60 of 1,000 steps is not enough; early stopping is."""
    count = "for i in $(seq 5 5 60); do echo step $i/1000 loss 0.5; done"
    for name, script in (("short", count), ("meant", f"{count}; echo 'Early stopping: no improvement'")):
        dogwatch("run", "--detach", "--name", name, "--", "sh", "-c", script)
        waited = dogwatch("wait", name, "--timeout", "30")
        assert waited.returncode == (1 if name == "short" else 0)
        assert ("its log stops at 60 of 1,000 steps" in waited.stdout) is (name == "short")
    found = {name: [one["rule"] for one in job["findings"]] for name, job in jobs(dogwatch).items()}
    assert found == {"short": ["not_verified"], "meant": []}
