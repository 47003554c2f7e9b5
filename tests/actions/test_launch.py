"""Launching: nothing is written for a bad request, and a run is started or discarded exactly once."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dogwatch import remote
from dogwatch.actions.launch import AlreadyStarted, LaunchFailed, LaunchUnclear, Run, discard, prepare, start, sweep
from dogwatch.errors import DogwatchError, UsageError
from tests.support import wait_until


def ready(home: Path, argv: list[str], name: str = "job", **more) -> Run:
    asked = {"workers": 1, "gpus": None, "env": [], "cwd": None, "now": 1000.0, **more}
    return prepare(str(home), name, argv, **asked)


def ended(run: Run, worker: int = 0) -> dict:
    path = Path(run.directory, f"worker-{worker}.end.json")
    wait_until(path.exists)
    return json.loads(path.read_text())


def script(path: Path, text: str, mode: int = 0o755) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_prepared_run_is_only_an_intent(home):
    """prepare() writes the spec, privately, and starts nothing."""
    run = ready(home, ["sh", "-c", "exit 0"], workers=2, env=["A=b=c"], token="abc123")
    spec = json.loads(Path(run.directory, "spec.json").read_text())
    assert run.id == "job-abc123"
    assert run.logs == tuple(f"{run.directory}/worker-{k}.log" for k in range(2))
    assert os.listdir(run.directory) == ["spec.json"]
    assert (spec["run"], spec["workers"], spec["created"]) == ("job-abc123", 2, 1000.0)
    assert spec["argv"] == ["sh", "-c", "exit 0"]
    assert spec["env"] == {"A": "b=c"}
    assert spec["wake"] == str(home / "wake")
    assert os.stat(run.directory).st_mode & 0o777 == 0o700
    assert os.stat(run.directory + "/spec.json").st_mode & 0o777 == 0o600


def test_started_workers_are_reported_with_their_pids(home):
    """start() returns only when every worker has a start record that says the same pid."""
    run = ready(home, ["sleep", "60"], workers=3)
    started = start(run)
    for k, pid in enumerate(started.worker_pids):
        assert json.loads(Path(run.directory, f"worker-{k}.start.json").read_text())["pid"] == pid
    assert json.loads(Path(run.directory, "supervisor.json").read_text())["pid"] == started.supervisor_pid
    assert started.errors == {}


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Train LLaMA 7B!", "train-llama-7b"),
        ("\x1b[31mred\nrm -rf", "31mred-rm--rf"),
        ("../../etc/passwd", "etc-passwd"),
        ("x" * 90, "x" * 40),
        ("日本", "sh"),
        ("", "sh"),
    ],
)
def test_a_run_id_is_tame_whatever_the_name_holds(home, name, slug):
    """A run id is a safe file name: the name's tame part, or the program's, and six hex digits."""
    run = ready(home, ["sh"], name=name)
    assert re.fullmatch(re.escape(slug) + "-[0-9a-f]{6}", run.id)
    assert Path(run.directory).parent == home / "runs"


@pytest.mark.parametrize(
    ("argv", "more", "says"),
    [
        ([], {}, "no command"),
        ([""], {}, "no command"),
        (["sh\0"], {}, "NUL"),
        (["sh", "a\0b"], {}, "NUL"),
        (["sh", "\ud800"], {}, "no program can be given"),
        (["no-such-program"], {}, "not found in PATH"),
        (["sh"], {"env": ["PATH=/nowhere"]}, "not found in PATH (/nowhere)"),
        (["./no-such"], {"cwd": "/tmp"}, "'./no-such' was not found in /tmp"),
        (["/no/such"], {}, "'/no/such' was not found"),
        (["/tmp"], {}, "is a directory"),
        (["sh"], {"cwd": "/no/such/dir"}, "/no/such/dir is not a directory"),
        (["sh"], {"cwd": "/tmp\0"}, "NUL"),
        (["sh"], {"workers": 0}, "between 1 and 1024"),
        (["sh"], {"workers": 1025}, "between 1 and 1024"),
        (["sh"], {"env": ["NOVALUE"]}, "has no '='"),
        (["sh"], {"env": ["=x"]}, "no usable name"),
        (["sh"], {"env": ["1A=x"]}, "no usable name"),
        (["sh"], {"env": ["A B=x"]}, "no usable name"),
        (["sh"], {"env": ["A=\0"]}, "NUL"),
        (["sh"], {"env": ["DOGWATCH_WORKER=7"]}, "set by Dogwatch"),
        (["sh"], {"workers": 4, "gpus": ["0", "1"]}, "2 GPUs for 4 workers"),
        (["sh"], {"workers": 2, "gpus": ["0"]}, "1 GPUs for 2 workers"),
        (["sh"], {"workers": 2, "gpus": ["0", ""]}, "not a GPU id"),
        (["sh"], {"gpus": ["0"], "env": ["CUDA_VISIBLE_DEVICES=1"]}, "give one of them"),
    ],
)
def test_a_bad_request_gets_one_sentence_and_writes_nothing(home, argv, more, says):
    """Every mistake is told in one sentence before anything is on disk."""
    with pytest.raises(UsageError) as told:
        ready(home, argv, **more)
    assert says in str(told.value)
    assert "\n" not in str(told.value)
    assert os.listdir(home) == []


def test_a_program_that_is_not_executable_is_refused(home, tmp_path):
    """A file without its x bit is named together with the remedy."""
    path = script(tmp_path / "train.sh", "#!/bin/sh\n", mode=0o644)
    with pytest.raises(UsageError, match=r"train\.sh is not executable; chmod"):
        ready(home, [str(path)])


def test_a_relative_program_and_path_are_found_from_the_workers_cwd(home, tmp_path):
    """./program and relative PATH entries mean the directory that the worker will start in."""
    script(tmp_path / "mine", "#!/bin/sh\npwd\nexit 5\n")
    for argv, env in ((["./mine"], []), (["mine"], [f"PATH=.:{os.environ['PATH']}"])):
        run = ready(home, argv, env=env, cwd=str(tmp_path))
        start(run)
        assert ended(run)["code"] == 5
        assert Path(run.logs[0]).read_text() == f"{tmp_path}\n"


def test_each_worker_gets_its_own_gpu_environment_and_log(home):
    """Four workers see four indices, four GPUs and four logs, beside the launcher's own environment."""
    say = "echo $DOGWATCH_WORKER/$DOGWATCH_WORKERS $DOGWATCH_RUN $CUDA_VISIBLE_DEVICES $MINE $HOME; echo e >&2"
    run = ready(home, ["sh", "-c", say], workers=4, gpus=["0", "1", "2,3", "GPU-7"], env=["MINE=a"])
    start(run)
    for k, gpu in enumerate(["0", "1", "2,3", "GPU-7"]):
        assert ended(run, k)["code"] == 0
        assert Path(run.logs[k]).read_text() == f"{k}/4 {run.id} {gpu} a {os.environ['HOME']}\ne\n"
        assert os.stat(run.logs[k]).st_mode & 0o777 == 0o600


def test_one_worker_gets_all_gpus(home):
    """With one worker, --gpu-ids 0,1,2 is one CUDA_VISIBLE_DEVICES."""
    run = ready(home, ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES"], gpus=["0", "1", "2"])
    start(run)
    ended(run)
    assert Path(run.logs[0]).read_text() == "0,1,2\n"


def test_arguments_arrive_byte_for_byte(home):
    """Spaces, quotes, newlines, non-ASCII and bytes that are not UTF-8 reach the program unchanged."""
    words = ["a b", "'\"$(x)", "line\nline", "é日本", os.fsdecode(b"\xff\xfe"), ""]
    program = "import sys, os; os.write(1, b'|'.join(map(os.fsencode, sys.argv[1:])))"
    run = ready(home, [sys.executable, "-c", program, *words])
    start(run)
    assert ended(run)["code"] == 0
    assert Path(run.logs[0]).read_bytes() == b"|".join(map(os.fsencode, words))


def test_a_program_that_is_no_program_is_reported(home, tmp_path):
    """An exec format error is an error of that worker and an end record with code 126."""
    path = script(tmp_path / "junk", "\x00\x01 not a program")
    run = ready(home, [str(path)], workers=2)
    started = start(run)
    assert started.worker_pids == (None, None)
    assert "Exec format error" in started.errors[1]
    assert ended(run)["code"] == 126
    assert "Exec format error" in json.loads(Path(run.directory, "worker-0.start.json").read_text())["error"]


def test_a_missing_interpreter_is_named_as_such(home, tmp_path):
    """A script whose #! line names nothing is code 127, with a hint at that line."""
    path = script(tmp_path / "orphan", "#!/no/such/interpreter\n")
    run = ready(home, [str(path)])
    assert "interpreter" in start(run).errors[0]
    assert ended(run)["code"] == 127


def test_a_run_is_never_started_twice(home):
    """A second start() is refused and starts no process."""
    run = ready(home, ["sleep", "60"])
    start(run)
    before = sorted(os.listdir(run.directory))
    with pytest.raises(AlreadyStarted):
        start(run)
    assert sorted(os.listdir(run.directory)) == before


def test_of_many_starts_at_once_one_wins(home):
    """However many launchers race for a run, its program is executed once."""
    run = ready(home, ["sh", "-c", f"echo x >> {home}/count; sleep 60"])
    told: list[object] = []

    def one() -> None:
        try:
            told.append(start(run))
        except DogwatchError as why:
            told.append(why)

    threads = [threading.Thread(target=one) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(not isinstance(each, DogwatchError) for each in told) == 1
    assert (home / "count").read_text() == "x\n"


def test_a_discarded_run_is_gone_and_cannot_start(home):
    """discard() removes the directory; a late start() fails, with a sentence."""
    run = ready(home, ["sleep", "60"])
    discard(run)
    assert os.listdir(home / "runs") == []
    with pytest.raises(LaunchFailed, match="No such file"):
        start(run)
    discard(run)


def test_a_started_run_is_not_discarded(home):
    """discard() refuses a run that has a supervisor and leaves every record."""
    run = ready(home, ["sleep", "60"])
    start(run)
    with pytest.raises(AlreadyStarted):
        discard(run)
    assert Path(run.directory, "spec.json").exists()


def test_a_supervisor_that_comes_after_discard_began_leaves(home):
    """The claim decides: with supervisor.json already taken, a supervisor starts nothing."""
    run = ready(home, ["sh", "-c", f"touch {home}/ran"])
    Path(run.directory, "supervisor.json").touch()
    late = subprocess.run(
        [sys.executable, "-I", "-S", remote.SUPERVISOR, run.directory], capture_output=True, timeout=30
    )
    assert late.returncode == 1
    assert "already started or discarded" in json.loads(late.stdout)["error"]
    assert not (home / "ran").exists()


def test_a_spec_that_is_no_spec_is_told(home):
    """A damaged spec.json is an error that names the file, and the run can still be discarded."""
    run = ready(home, ["sh"])
    Path(run.directory, "spec.json").write_text('{"run": "x"}')
    with pytest.raises(LaunchFailed, match=r"spec\.json is not a run's spec"):
        start(run)
    discard(run)


@pytest.mark.needs_root
@pytest.mark.needs_tool("mount", "umount")
def test_a_full_disk_is_told_and_leaves_no_run(home):
    """A spec that does not fit is one sentence, and no half-written run stays behind."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,nr_inodes=2", "tmpfs", str(home)], check=True)
    try:
        with pytest.raises(LaunchFailed, match="no room left"):
            ready(home, ["sh"])
        assert not any((home / "runs").glob("*"))
    finally:
        subprocess.run(["umount", str(home)], check=True)


def test_a_supervisor_killed_while_starting_is_unclear_or_failed(home, tmp_path):
    """When the supervisor's first process dies, start() says so instead of claiming success."""
    run = ready(home, ["sleep", "60"])
    os.mkfifo(tmp_path / "fifo")
    os.unlink(run.directory + "/spec.json")
    os.rename(tmp_path / "fifo", run.directory + "/spec.json")  # reading it blocks: a disk that hangs

    def kill_first() -> None:
        for pid in wait_until(lambda: pids_with(run.directory)):
            os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_first)
    killer.start()
    with pytest.raises(LaunchUnclear, match="without a report"):
        start(run)
    killer.join()
    discard(run)


def pids_with(text: str) -> list[int]:
    """Processes whose command line holds `text`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if os.fsencode(text) in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


KILLED_BEFORE_STARTING = """
import os, signal, sys
from dogwatch.actions.launch import prepare
run = prepare(sys.argv[1], "job", ["true"], workers=1, gpus=None, env=[], cwd=None, now=1000.0, token=sys.argv[2])
os.kill(os.getpid(), signal.SIGKILL)
"""


def written_by_one_who_was_killed(home: Path, token: str) -> Path:
    done = subprocess.run([sys.executable, "-c", KILLED_BEFORE_STARTING, home, token])
    assert done.returncode == -signal.SIGKILL
    return home / "runs" / f"job-{token}"


def grown_old(directory: Path) -> Path:
    os.utime(directory, (1000.0, 1000.0))
    return directory


def test_what_a_killed_launcher_wrote_is_swept_when_it_is_old(home):
    """A run that nobody registered or started goes; a young one, a registered one and one that may still start stay."""
    old = grown_old(written_by_one_who_was_killed(home, "old"))
    half = grown_old(written_by_one_who_was_killed(home, "half"))
    (half / "spec.json").rename(half / "spec.json.tmp")
    young = written_by_one_who_was_killed(home, "young")
    registered = grown_old(written_by_one_who_was_killed(home, "registered"))
    held = grown_old(Path(ready(home, ["true"]).directory))
    now = young.stat().st_mtime + 60
    grown_old(half)
    assert sorted(sweep(str(home), lambda: {registered.name}, now)) == ["job-half", "job-old"]
    assert not old.exists()
    assert not half.exists()
    assert all(path.exists() for path in (young, registered, held))


def test_only_what_is_just_an_intent_is_swept(home, tmp_path):
    """Anything with a record, a log, a stranger's file or a link in its place is left alone."""
    started = ready(home, ["true"])
    start(started)
    ended(started)
    odd = written_by_one_who_was_killed(home, "odd")
    (odd / "notes.txt").write_text("mine")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (home / "runs" / "job-link").symlink_to(elsewhere)
    (home / "runs" / "file").write_text("")
    for path in (home / "runs").iterdir():
        os.utime(path, (1000.0, 1000.0), follow_symlinks=False)
    assert sweep(str(home), set, 1e10) == []
    assert elsewhere.exists()
    assert (odd / "notes.txt").exists()
    assert sweep(str(tmp_path / "no home"), set, 1e10) == []
