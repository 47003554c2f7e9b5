"""`dogwatch why` as a person meets it: of logs, of a watched job, and when there is nothing to say."""

from __future__ import annotations

import json
import os
import signal
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.support import wait_until

STEPS = "".join(f"step {i}/900 | loss {3 - i / 400:.3f}\n" for i in range(40))
TRACEBACK = 'Traceback (most recent call last):\n  File "/srv/train.py", line 9, in <module>\n    main()\n'
CAUGHT = 'Traceback (most recent call last):\n  File "/srv/tools.py", line 9, in resolve\n    find(name)\n'
KEYS = ["cause", "title", "confidence", "role", "evidence", "advice", "retry", "alternatives"]
FAILING = "print('step 1/10 loss 2', flush=True); raise OSError(28, 'No space left on device', 'out/3.pt')"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.err"
    path.write_text(STEPS + TRACEBACK + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n")
    return path


def test_a_document_has_exactly_the_promised_keys(dogwatch, log: Path) -> None:
    """The same for a failure and for a log that shows none."""
    found = json.loads(dogwatch("why", "--json", "--log", log).stdout)
    assert list(found) == KEYS
    assert (found["cause"], found["role"], found["retry"]) == ("cuda_oom", "root", "with_change")
    assert [(quote["file"], quote["line"]) for quote in found["evidence"]] == [(str(log), 44)]
    log.write_text(STEPS)
    healthy = json.loads(dogwatch("why", "--json", "--log", log).stdout)
    assert list(healthy) == KEYS
    assert healthy["cause"] is None


def test_a_person_reads_the_cause_the_line_and_what_to_do(dogwatch, log: Path) -> None:
    """In that order, and whether it is worth starting again."""
    lines = dogwatch("why", "--log", log).stdout.splitlines()
    assert lines[0].startswith("the GPU ran out of memory (cuda_oom, ")
    assert "line 44: torch.OutOfMemoryError" in lines[1]
    assert any(line.startswith("  do: ") for line in lines)
    assert any(line.startswith("  retry: ") for line in lines)


def test_what_else_is_known_of_the_ending_counts(dogwatch, tmp_path: Path) -> None:
    """A scheduler's word, an exit code or a signal decides where the log is silent."""
    quiet = tmp_path / "quiet.log"
    quiet.write_text(STEPS)
    for flags, cause in (
        (["--state", "TIMEOUT"], "time_limit"),
        (["--signal", "SEGV"], "segfault"),
        (["--exit-code", "137"], "killed"),
        (["--exit-code", "1"], "unknown"),
        (["--state", "COMPLETED", "--exit-code", "0"], None),
    ):
        assert json.loads(dogwatch("why", "--json", "--log", quiet, *flags).stdout)["cause"] == cause


def test_an_ending_alone_can_be_asked_about(dogwatch, tmp_path: Path) -> None:
    """Nobody needs a log to ask what an exit code, a signal or a scheduler's word means."""
    for flags, cause in (
        (["--exit-code", "137"], "killed"),
        (["--signal", "9"], "killed"),
        (["--signal", "KILL"], "killed"),
        (["--signal", "sigkill"], "killed"),
        (["--state", "OUT_OF_MEMORY"], "host_oom"),
        (["--state", "CANCELLED by 0"], "cancelled"),
        (["--exit-code", "0"], None),
    ):
        done = dogwatch("why", "--json", *flags)
        assert (done.returncode, json.loads(done.stdout)["cause"]) == (0, cause)
    empty, noise = tmp_path / "empty.log", tmp_path / "noise.log"
    empty.write_bytes(b"")
    noise.write_bytes(bytes(range(256)) * 200)
    for log in (empty, noise):
        assert json.loads(dogwatch("why", "--json", "--log", log).stdout)["cause"] is None
        assert json.loads(dogwatch("why", "--json", "--log", log, "--signal", "9").stdout)["cause"] == "killed"


def test_a_log_that_says_it_failed_and_not_why_is_not_called_well(dogwatch, tmp_path: Path) -> None:
    """As `read` says of it; the cause is not known, and its last line is quoted. One that says nothing stays well."""
    failed, well = tmp_path / "failed.log", tmp_path / "well.log"
    failed.write_text("building\nrunning\n72% tests passed, 3 tests failed out of 11\n")
    well.write_text("epoch 2/3 loss 0.5\nepoch 3/3 loss 0.4\nTraining finished\n")
    found = json.loads(dogwatch("why", "--json", "--log", str(well), str(failed)).stdout)
    assert found["cause"] == "unknown"
    assert found["evidence"][0] == {
        "file": str(failed),
        "line": 3,
        "text": "72% tests passed, 3 tests failed out of 11",
    }
    assert json.loads(dogwatch("why", "--json", "--log", str(well)).stdout)["cause"] is None
    assert json.loads(dogwatch("why", "--json", "--from-line", "4", "--log", str(failed)).stdout)["cause"] is None


def test_an_exception_that_explains_nothing_after_a_full_counter_is_no_failure(dogwatch, tmp_path: Path) -> None:
    """Threads that still worked when a program ended print such; somebody who knows how it ended is believed."""
    log = tmp_path / "fit.log"
    rest = (
        'Traceback (most recent call last):\n  File "/lib/connection.py", line 9, in recv\nOSError: handle is closed\n'
    )
    log.write_text("epoch 2/3 loss 0.5\nepoch 3/3 loss 0.4\n" + rest)
    assert json.loads(dogwatch("why", "--json", "--log", str(log)).stdout)["cause"] is None
    assert json.loads(dogwatch("why", "--json", "--log", str(log), "--exit-code", "1").stdout)["cause"] == "unknown"


def test_logs_that_say_they_finished_have_no_cause_unless_somebody_else_says_so(dogwatch, tmp_path: Path) -> None:
    """An engine that a program ends before it prints its results is told so by a signal."""
    log, other = tmp_path / "eval.log", tmp_path / "eval.err"
    engine = "(EngineCore pid=7) WARNING 06-25 16:32:09 [tools.py:9] "
    caught = "".join(f"{engine}{line}\n" for line in (*CAUGHT.splitlines(), "ImportError: no such library"))
    stopped = engine.replace("WARNING", "INFO") + "[shutdown] EngineCore: trigger received signal=SIGTERM\n"
    log.write_text(f"ready\n{caught}{stopped}" + "easy  F1=0.8\n" * 24 + "Results saved to out/answers.json\n")
    other.write_text(f"{STEPS}{TRACEBACK}KeyError: 'label'\n")
    for flags, cause in (([], None), (["--exit-code", "1"], "missing_module"), (["--log", str(other)], "code_error")):
        assert json.loads(dogwatch("why", "--json", "--log", str(log), *flags).stdout)["cause"] == cause


def test_only_the_part_of_a_shared_log_that_this_attempt_wrote_counts(dogwatch, log: Path) -> None:
    """An earlier attempt's error above the line that is given is nobody's cause now."""
    with log.open("a") as file:
        file.write(STEPS[:200])
    assert json.loads(dogwatch("why", "--json", "--log", log).stdout)["cause"] == "cuda_oom"
    assert json.loads(dogwatch("why", "--json", "--log", log, "--from-line", "45").stdout)["cause"] is None


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 2),
        (["job", "--log", "x"], 2),
        (["--log", "/nowhere/at/all.log"], 3),
        (["--log", "x", "--signal", "PURPLE"], 2),
        (["--signal", "0"], 2),
        (["--log", "/"], 3),
        (["job", "--exit-code", "1"], 2),
        (["--log", "x", "--stacks"], 2),
        (["--log", "x", "--from-line", "0"], 2),
        (["no-such-job"], 4),
    ],
)
def test_what_cannot_be_answered_is_said_in_one_sentence(dogwatch, words, code) -> None:
    """With the exit code that says of what kind it is, and no traceback."""
    done = dogwatch("why", *words)
    assert done.returncode == code
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_a_failure_carries_its_diagnosis_wherever_it_is_told(dogwatch) -> None:
    """In the job's document, its finding, its event, the patrol and `why`, with the same line."""
    dogwatch("run", "--detach", "--name", "full", "--", "python3", "-c", FAILING)
    job = json.loads(dogwatch("wait", "full", "--timeout", "30", "--json").stdout)["jobs"][0]
    assert job["diagnosis"]["cause"] == "disk_full"
    quote = job["diagnosis"]["evidence"][0]
    assert "No space left on device" in Path(quote["file"]).read_text().split("\n")[quote["line"] - 1]
    assert any("likely disk_full" in finding["text"] for finding in job["findings"])
    events = json.loads(dogwatch("events", "--json").stdout)["events"]
    assert [
        e["body"]["diagnosis"]["cause"] for e in events if e["kind"] == "job.state" and "diagnosis" in e["body"]
    ] == ["disk_full"]
    patrol = dogwatch("patrol").stdout
    assert "a disk is full" in patrol
    assert json.loads(dogwatch("why", "full", "--json").stdout) == job["diagnosis"]
    assert "a disk is full (disk_full" in dogwatch("status", "full").stdout


def test_a_job_that_succeeded_or_still_runs_has_no_cause(dogwatch) -> None:
    """And the answer says which of the two it is."""
    dogwatch("run", "--detach", "--name", "good", "--", "sh", "-c", "echo 'RuntimeError: only words'; exit 0")
    dogwatch("wait", "good", "--timeout", "30")
    assert json.loads(dogwatch("why", "good", "--json").stdout)["title"] == "it succeeded"
    dogwatch("run", "--detach", "--name", "alive", "--", "sleep", "60")
    dogwatch("patrol")
    assert "has not ended" in dogwatch("why", "alive").stdout


def test_an_ending_that_nothing_explains_is_told_with_its_code_and_last_line(dogwatch) -> None:
    """That is what anybody would look at next."""
    dogwatch("run", "--detach", "--name", "mute", "--", "sh", "-c", "echo begun; echo step 5/10; exit 3")
    dogwatch("wait", "mute", "--timeout", "30")
    found = json.loads(dogwatch("why", "mute", "--json").stdout)
    assert found["cause"] == "unknown"
    assert [(quote["line"], quote["text"]) for quote in found["evidence"]] == [
        (None, "exit code 3; no log line says why"),
        (2, "step 5/10"),
    ]
    (advice,) = found["advice"]
    assert "dogwatch logs mute" in advice
    assert "sacct" not in json.dumps(found)


def test_a_command_whose_time_was_over_reached_a_limit(dogwatch) -> None:
    """timeout says so by an exit code of its own."""
    dogwatch("run", "--detach", "--name", "slow", "--", "timeout", "0.2", "sleep", "60")
    job = json.loads(dogwatch("wait", "slow", "--timeout", "30", "--json").stdout)["jobs"][0]
    assert job["diagnosis"]["cause"] == "time_limit"


def test_why_a_worker_fell_is_told_while_the_others_go_on(dogwatch) -> None:
    """By its own log, in the answer and in what to do."""
    fails = "echo 'Traceback (most recent call last):'; echo '  File \"/srv/x.py\", line 3, in <module>'; " + (
        "echo \"KeyError: 'input_ids'\"; exit 1"
    )
    script = f"[ $DOGWATCH_WORKER = 1 ] && {{ {fails}; }}; exec sleep 60"
    dogwatch("run", "--detach", "--name", "pair", "--workers", "2", "--", "sh", "-c", script)
    wait_until(lambda: dogwatch("patrol") and stands_at(dogwatch, "pair", "are all its workers running?"))
    found = json.loads(dogwatch("why", "pair", "--json").stdout)
    assert "worker 1: exit code 1; KeyError: 'input_ids' (worker-1.log:3)" in found["standing"]["says"]
    assert found["advice"] == found["standing"]["do"]
    assert "your own code" in found["advice"][0]


def test_a_job_whose_end_nobody_saw_is_not_called_running(dogwatch) -> None:
    """What was confirmed last is told as that, and its processes are looked for now."""
    dogwatch("run", "--detach", "--name", "short", "--", "sleep", "60")
    wait_until(lambda: dogwatch("patrol") and "it runs" in dogwatch("why", "short").stdout)
    told = dogwatch("why", "short")
    assert "it runs" in told.stdout
    assert "no watcher is running" in told.stderr
    pid = json.loads(dogwatch("status", "short", "--json").stdout)["jobs"][0]["workers"][0]["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: "it runs" not in dogwatch("why", "short", "--no-poll").stdout)
    told = dogwatch("why", "short", "--no-poll")
    assert "none of its processes exists any more" in told.stdout
    assert "do: dogwatch patrol" in told.stdout


def test_where_the_processes_of_a_running_job_are_is_told_when_asked(dogwatch) -> None:
    """By py-spy where it is there; else the answer says why not. Without the flag, nobody looks into a working job."""
    code = "import time\ndef hold_on():\n    time.sleep(60)\nhold_on()"
    dogwatch("run", "--detach", "--name", "held", "--", sys.executable, "-c", code)
    dogwatch("patrol")
    assert "stacks" not in json.loads(dogwatch("why", "held", "--json").stdout)["standing"]
    found = json.loads(dogwatch("why", "held", "--stacks", "--json").stdout)["standing"]
    (process,) = found["stacks"]
    if not (Path(sys.executable).parent / "py-spy").exists():
        assert process["why"] == "py-spy is not installed there"
        return
    assert process["frames"][0]["name"] == "hold_on"
    assert "is in hold_on (" in dogwatch("why", "held", "--stacks").stdout


def test_what_changed_since_the_last_good_run_is_told(dogwatch) -> None:
    """Of the same name: its command, its environment, and what its log says at the top."""
    good = "print('torch 2.4.1'); print('lr: 0.001')"
    bad = "print('torch 2.5.0'); print('lr: 0.001'); raise KeyError('x')"
    dogwatch("run", "--detach", "--name", "twin", "--env", "A=1", "--", sys.executable, "-c", good)
    first = json.loads(dogwatch("wait", "twin", "--timeout", "30", "--json").stdout)["jobs"][0]["ref"]
    ref = dogwatch("run", "--detach", "--name", "twin", "--env", "A=2", "--", sys.executable, "-c", bad).stdout.strip()
    dogwatch("wait", ref, "--timeout", "30")
    found = json.loads(dogwatch("why", ref, "--json").stdout)
    assert list(found) == [*KEYS, "changed"]
    changed = found["changed"]
    assert changed["since"] == first
    assert [(one["what"], one["name"]) for one in changed["changes"]] == [
        ("command", ""),
        ("environment", "A"),
        ("log", "torch version"),
    ]
    text = dogwatch("why", ref).stdout
    assert f"since {first} ended well:" in text
    assert "torch version: 2.4.1 -> 2.5.0 (line 1)" in text


MISBEHAVING = {
    "zombie": ("k = os.fork() or os._exit(3); time.sleep(600)", "its parent has not read its exit code (zombie "),
    "deadlock": ("l = threading.Lock(); l.acquire(); l.acquire()", "its processes sleep"),
    "spin": ("exec('while True: pass')", "compute without writing anything"),
    "stopped": ("os.kill(os.getpid(), 19); time.sleep(600)", "is stopped by a signal"),
}


def stands_at(dogwatch, name: str, branch: str) -> bool:
    said = dogwatch("why", name).stdout
    return branch in said and "\n  do: " in said


def test_a_job_that_misbehaves_is_told_by_the_branch_where_it_stands(dogwatch, spawn) -> None:
    """Real jobs, really stuck, each in its own way, under a real watcher; and what to do next is never left out."""
    steps = "import os, threading, time\nfor i in range(30): print(f'step {i}/9000', flush=True); time.sleep(0.05)\n"
    for name, (code, _) in MISBEHAVING.items():
        argv = ["run", "--detach", "--name", name, "--stall-timeout", "5s", "--", sys.executable, "-c", steps + code]
        assert dogwatch(*argv).returncode == 0
    gone = "import os, sys, time\nif os.environ['DOGWATCH_WORKER'] == '1': sys.exit(5)\ntime.sleep(600)"
    dogwatch("run", "--detach", "--name", "missing", "--workers", "2", "--", sys.executable, "-c", gone)
    watching = spawn("daemon")
    branches = {name: branch for name, (_, branch) in MISBEHAVING.items()} | {"missing": "worker 1: exit code 5"}
    for name, branch in branches.items():
        wait_until(partial(stands_at, dogwatch, name, branch), timeout=90)
    watching.terminate()
