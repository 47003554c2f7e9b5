"""The probe tells processes apart, says how they ended, and never takes "cannot see" for "not there"."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dogwatch.remote import MARK
from dogwatch.remote.probe.processes import memory_held
from dogwatch.transport.interface import Answer
from dogwatch.transport.local import Here
from tests.support import memory_cgroup, wait_until

BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
SLEEP = "import time; time.sleep(600)"


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that a test started; each is killed and reaped afterwards."""
    children: list[subprocess.Popen[bytes]] = []
    yield children
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGCONT)
        child.kill()
        child.wait()


def spawn(started: list[subprocess.Popen[bytes]], *argv: str, **how: Any) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(argv or ("sleep", "600"), **how)
    started.append(child)
    return child


def start_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def name_of(pid: int) -> list[Any]:
    return [pid, start_of(pid), BOOT]


def process(here: Here, **sections: Any) -> dict[str, Any]:
    answer = here.ask({"process": sections})
    assert isinstance(answer, Answer), answer
    section: dict[str, Any] = answer.body["process"]
    assert section["ok"], section
    return section


def look(here: Here, *names: list[Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = process(here, pids={"job": list(names)})["pids"]["job"]
    return rows


def find(here: Here, **how: Any) -> dict[str, Any]:
    found: dict[str, Any] = process(here, find={"job": how})["find"]["job"]
    return found


def take_pid(started: list[subprocess.Popen[bytes]], pid: int) -> subprocess.Popen[bytes]:
    """A new process with a given pid, which must be free."""
    for _ in range(500):
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))
        child = subprocess.Popen(["sleep", "600"])
        if child.pid == pid:
            started.append(child)
            return child
        child.kill()
        child.wait()
    pytest.skip("other processes kept taking the pid")


def test_a_living_process_is_described(here: Here, started: list[subprocess.Popen[bytes]]) -> None:
    """Identity, owner, command, memory and threads are those of the process that was asked for."""
    child = spawn(started, sys.executable, "-c", SLEEP, "some-argument")
    wait_until(lambda: b"some-argument" in Path(f"/proc/{child.pid}/cmdline").read_bytes())
    proc = look(here, name_of(child.pid))[0]
    assert proc["doing"] in ("running", "sleeping")
    assert [proc["pid"], proc["start"], proc["boot"]] == name_of(child.pid)
    assert proc["uid"] == os.geteuid()
    assert proc["command"].endswith("some-argument")
    assert proc["rss"] > 0
    assert proc["cpu"] >= 0
    assert (proc["threads"], proc["exit"], proc["kernel_log"]) == (1, None, None)


@pytest.mark.needs_root
def test_a_reused_pid_is_not_the_old_worker(here: Here, started: list[subprocess.Popen[bytes]]) -> None:
    """Same pid and command, other start time: gone, to a probe that saw the old one and to a fresh one."""
    first = spawn(started)
    old = name_of(first.pid)
    assert look(here, old)[0]["doing"] != "gone"
    first.kill()
    first.wait()
    second = take_pid(started, first.pid)
    wait_until(lambda: start_of(second.pid) != old[1] or pytest.skip("both began in one clock tick"))
    fresh = Here()
    try:
        for transport in (here, fresh):
            was, now = look(transport, old, name_of(second.pid))
            assert was["doing"] == "gone"
            assert now["doing"] in ("running", "sleeping")
    finally:
        fresh.close()


def test_another_boot_is_gone_without_a_look_at_the_pid(here: Here) -> None:
    """After a reboot the pid means nothing, even if pid and start time happen to fit."""
    mine = name_of(os.getpid())
    proc = look(here, [mine[0], mine[1], str(uuid.uuid4())])[0]
    assert proc["doing"] == "gone"
    assert proc["rebooted"] is True


def test_a_vanished_process_is_gone_and_stays_gone(here: Here, started: list[subprocess.Popen[bytes]]) -> None:
    """Once reaped it is gone, in this poll and every later one, still with its command."""
    child = spawn(started)
    named = name_of(child.pid)
    look(here, named)
    child.kill()
    child.wait()
    assert [look(here, named)[0]["doing"] for _ in range(3)] == ["gone"] * 3


@pytest.mark.parametrize(("argv", "status"), [(["sh", "-c", "exit 3"], 3 << 8), (["sh", "-c", "kill -9 $$"], 9)])
def test_a_zombie_says_how_it_exited(
    here: Here, started: list[subprocess.Popen[bytes]], argv: list[str], status: int
) -> None:
    """Exited but not reaped is a zombie, with its wait status, not a running process."""
    child = spawn(started, *argv)
    named = name_of(child.pid)
    proc = wait_until(lambda: next((p for p in look(here, named) if p["doing"] == "zombie"), None))
    assert proc is not None
    assert proc["exit"] == status


def test_a_process_lives_on_when_only_its_main_thread_has_left(
    here: Here, started: list[subprocess.Popen[bytes]]
) -> None:
    """The kernel shows such a process as Z; as long as another thread works, it has not exited."""
    code = (
        "import ctypes, threading, time\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "ctypes.CDLL(None).syscall(60, 0)\n"
    )
    if os.uname().machine != "x86_64":
        pytest.skip("the number of the exit system call is x86_64's")
    child = spawn(started, sys.executable, "-c", code)
    wait_until(lambda: ") Z " in Path(f"/proc/{child.pid}/stat").read_text())
    proc = look(here, name_of(child.pid))[0]
    assert proc["doing"] == "running"
    assert proc["exit"] is None


def test_a_stopped_process_is_stopped(here: Here, started: list[subprocess.Popen[bytes]]) -> None:
    """SIGSTOP shows as stopped and SIGCONT ends it."""
    child = spawn(started)
    named = name_of(child.pid)
    os.kill(child.pid, signal.SIGSTOP)
    wait_until(lambda: look(here, named)[0]["doing"] == "stopped")
    os.kill(child.pid, signal.SIGCONT)
    wait_until(lambda: look(here, named)[0]["doing"] == "sleeping")


def test_a_process_that_cannot_be_interrupted_says_so(
    here: Here, started: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    """A parent that waits in vfork for a child stuck in open() is in state D."""
    os.mkfifo(tmp_path / "never")
    code = (
        "import os, sys\n"
        "never = (os.POSIX_SPAWN_OPEN, 9, sys.argv[1], os.O_RDONLY, 0)\n"
        "os.posix_spawn('/bin/true', ['true'], {}, file_actions=[never])\n"
    )
    child = spawn(started, sys.executable, "-c", code, str(tmp_path / "never"), start_new_session=True)
    try:
        named = name_of(child.pid)
        wait_until(lambda: look(here, named)[0]["doing"] == "uninterruptible")
    finally:
        os.killpg(child.pid, signal.SIGKILL)


def test_children_are_counted(here: Here, started: list[subprocess.Popen[bytes]]) -> None:
    """A launcher with three children has three, and two after one was killed and reaped."""
    code = (
        "import subprocess\n"
        "kids = [subprocess.Popen(['sleep', '600']) for _ in range(3)]\n"
        "kids[0].wait()\n"
        "kids[1].wait()\n"
    )
    child = spawn(started, sys.executable, "-c", code, start_new_session=True)
    named = name_of(child.pid)
    try:
        wait_until(lambda: look(here, named)[0]["children"] == 3)
        kids = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
        os.kill(int(kids[0]), signal.SIGKILL)
        wait_until(lambda: look(here, named)[0]["children"] == 2)
    finally:
        os.killpg(child.pid, signal.SIGKILL)


@pytest.fixture
def small_cgroup() -> Iterator[Path]:
    with memory_cgroup(30_000_000) as group:
        yield group


def test_a_kill_for_lack_of_memory_leaves_its_evidence(
    here: Here, started: list[subprocess.Popen[bytes]], small_cgroup: Path
) -> None:
    """The cgroup's counter has grown when the process is gone, and the kernel log names it where it can be read."""
    code = "import sys; sys.stdin.readline(); block = b'x' * 300_000_000"
    child = spawn(started, sys.executable, "-c", code, stdin=subprocess.PIPE)
    (small_cgroup / "cgroup.procs").write_text(str(child.pid))
    named = name_of(child.pid)
    before = look(here, named)[0]["oom"]
    assert before["cgroup"].endswith(small_cgroup.name)
    limit = int((small_cgroup / "memory.limit_in_bytes").read_text())
    assert (before["limit"], "machine" in before) == (limit, False)
    assert 0 <= before["used"] <= limit
    child.communicate(b"go\n")
    assert child.returncode == -signal.SIGKILL
    proc = look(here, named)[0]
    assert proc["doing"] == "gone"
    assert proc["oom"]["kills"] == before["kills"] + 1
    readable = os.access("/dev/kmsg", os.R_OK) and os.readlink("/proc/self/ns/pid") == "pid:[4026531836]"
    assert (str(child.pid) in (proc["kernel_log"] or "")) == readable


def test_the_tightest_memory_limit_above_a_process_counts(tmp_path: Path) -> None:
    """In the newer kind of cgroup `max` is no limit, a parent's may be the tightest, and pages of files are not
    counted; without any limit it is the machine that can fill."""
    step = tmp_path / "job" / "step"
    step.mkdir(parents=True)
    (step / "memory.max").write_text("max\n")
    assert memory_held(f"{step}/memory.events", str(tmp_path))["machine"]
    (step.parent / "memory.max").write_text("4000000\n")
    (step.parent / "memory.current").write_text("3000000\n")
    (step.parent / "memory.stat").write_text("anon 1000000\ninactive_file 1200000\nactive_file 300000\n")
    held = memory_held(f"{step}/memory.events", str(tmp_path))
    assert held == {"used": 1500000, "limit": 4000000}


def test_a_name_finds_neither_the_asker_nor_its_ancestors(started: list[subprocess.Popen[bytes]]) -> None:
    """The asker's own command line holds the name it asks for; only the worker is found."""
    token = "job-" + uuid.uuid4().hex
    worker = spawn(started, sys.executable, "-c", SLEEP, token)
    wait_until(lambda: token.encode() in Path(f"/proc/{worker.pid}/cmdline").read_bytes())
    code = (
        "import json, sys\n"
        "from dogwatch.transport.local import Here\n"
        "here = Here()\n"
        "answer = here.ask({'process': {'find': {'job': {'name': sys.argv[1]}}}})\n"
        "print(json.dumps(answer.body['process']['find']['job']['workers']))\n"
        "here.close()\n"
    )
    asker = ["env", f"NAME={token}", "sh", "-c", '"$0" -c "$1" "$2"; exit', sys.executable, code, token]
    said = subprocess.run(asker, capture_output=True, check=True, timeout=60)
    assert json.loads(said.stdout) == [name_of(worker.pid)]


def test_a_name_never_finds_dogwatch_itself(here: Here, started: list[subprocess.Popen[bytes]]) -> None:
    """Another Dogwatch that was given the same name on its command line is not a worker."""
    token = "job-" + uuid.uuid4().hex
    commands = [["dogwatch", "watch", "--job-name"], ["-m", "dogwatch", "wait"], ["/x/dogwatch/remote/supervisor.py"]]
    commands += [["/dev/fd/9", "--serve", MARK]]
    for words in commands:
        spawn(started, sys.executable, "-c", SLEEP, *words, token)
    worker = spawn(started, sys.executable, "-c", SLEEP, "--out", "/data/dogwatch", token)
    for child in started:
        wait_until(lambda pid=child.pid: token.encode() in Path(f"/proc/{pid}/cmdline").read_bytes())  # type: ignore[misc]
    assert find(here, name=token)["workers"] == [name_of(worker.pid)]


def test_the_wanted_number_of_workers_chooses_the_generation(
    here: Here, started: list[subprocess.Popen[bytes]]
) -> None:
    """A launcher and its four workers share a name: one wanted is the launcher, four are the workers, and of three
    nobody can tell which."""
    token = "job-" + uuid.uuid4().hex
    code = (
        "import subprocess, sys, time\n"
        "argv = [sys.executable, '-c', 'import time; time.sleep(600)', sys.argv[1]]\n"
        "kids = [subprocess.Popen(argv) for _ in range(4)]\n"
        "time.sleep(600)\n"
    )
    root = spawn(started, sys.executable, "-c", code, token, start_new_session=True)
    try:
        workers = wait_until(
            lambda: find(here, name=token, want=4)["workers"][3:] and find(here, name=token, want=4)["workers"]
        )
        kids = {int(pid) for pid in Path(f"/proc/{root.pid}/task/{root.pid}/children").read_text().split()}
        assert {pid for pid, _, _ in workers} == kids
        for want in (None, 1):
            assert [row[0] for row in find(here, name=token, want=want)["workers"]] == [root.pid]
        unsure = find(here, name=token, want=3)
        assert unsure["workers"] == []
        assert {row["pid"] for row in unsure["choice"]} == kids
    finally:
        os.killpg(root.pid, signal.SIGKILL)


def test_a_name_that_nobody_has_is_a_problem_not_a_crash(here: Here) -> None:
    """No match is said in a sentence."""
    found = find(here, name="job-" + uuid.uuid4().hex)
    assert found["workers"] == []
    assert "no process has the name" in found["problem"]


def test_a_pid_file_names_workers(here: Here, started: list[subprocess.Popen[bytes]], tmp_path: Path) -> None:
    """Pids in a file get their identity; one that has ended keeps its place, as a process that is gone."""
    pair = [spawn(started), spawn(started)]
    dead = subprocess.Popen(["true"])
    dead.wait()
    path = tmp_path / "worker_pids.txt"
    path.write_text(f"{pair[0].pid}\n{pair[1].pid} {dead.pid}\n")
    found = find(here, pidfile=str(path))
    *living, ended = found["workers"]
    assert living == [name_of(child.pid) for child in pair]
    assert [proc["doing"] for proc in found["process"]] == ["sleeping", "sleeping", "gone"]
    assert (ended[0], look(here, ended)[0]["doing"], found["gone"]) == (dead.pid, "gone", [dead.pid])


def test_a_process_that_started_after_the_pid_file_was_written_is_another(
    here: Here, started: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    """A pid of yesterday's file may be somebody else's today."""
    child = spawn(started)
    path = tmp_path / "worker_pids.txt"
    path.write_text(str(child.pid))
    os.utime(path, (time.time() - 3600, time.time() - 3600))
    found = find(here, pidfile=str(path))
    assert [proc["doing"] for proc in found["process"]] == ["gone"]


def test_a_pid_file_with_more_pids_than_expected_is_a_problem(here: Here, tmp_path: Path) -> None:
    """Nobody can tell which of them are the workers."""
    path = tmp_path / "worker_pids.txt"
    path.write_text("11 12 13")
    found = find(here, pidfile=str(path), want=2)
    assert found["workers"] == []
    assert "names 3 processes, where 2 are expected" in found["problem"]


@pytest.mark.parametrize("content", [b"", b"pid: 12", b"-1", b"0", b"\xff\xfe", b"99999999999999999999"])
def test_a_pid_file_with_something_else_in_it_is_refused(here: Here, tmp_path: Path, content: bytes) -> None:
    """What is not a list of pids is told, and nothing is found."""
    path = tmp_path / "worker_pids.txt"
    path.write_bytes(content)
    found = find(here, pidfile=str(path))
    assert found["workers"] == []
    assert "does not hold process ids" in found["problem"]


def test_a_pid_file_that_is_missing_or_a_fifo_is_a_problem(here: Here, tmp_path: Path) -> None:
    """Neither hangs the poll."""
    os.mkfifo(tmp_path / "fifo")
    assert "No such file" in find(here, pidfile=str(tmp_path / "none"))["problem"]
    assert "a FIFO" in find(here, pidfile=str(tmp_path / "fifo"))["problem"]


def test_a_run_directory_is_read_beside_its_processes(
    here: Here, started: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    """Records and live processes come together; an ended worker's end record appears when it is written."""
    supervisor, worker = spawn(started), spawn(started)

    def paper(name: str, **rows: Any) -> None:
        (tmp_path / "tmp").write_text(json.dumps({"run": "r1", **rows}))
        (tmp_path / "tmp").rename(tmp_path / name)

    def named(child: subprocess.Popen[bytes]) -> dict[str, Any]:
        return {"pid": child.pid, "start": start_of(child.pid), "boot": BOOT, "at": 1.0}

    paper("spec.json", workers=2)
    paper("supervisor.json", **named(supervisor))
    paper("worker-0.start.json", worker=0, **named(worker))
    run = process(here, runs={"job": str(tmp_path)})["runs"]["job"]
    assert run["supervisor_alive"] is True
    assert run["spec_workers"] == 2
    assert [row["index"] for row in run["workers"]] == [0, 1]
    assert run["workers"][0]["process"]["doing"] in ("running", "sleeping")
    assert run["workers"][1] == {"index": 1, "start": None, "end": None, "process": None}
    paper("worker-0.end.json", worker=0, code=0)
    supervisor.kill()
    supervisor.wait()
    run = process(here, runs={"job": str(tmp_path)})["runs"]["job"]
    assert run["supervisor_alive"] is False
    assert run["workers"][0]["end"]["code"] == 0
    assert run["problem"] is None


def test_a_record_of_another_run_or_a_broken_one_is_told(here: Here, tmp_path: Path) -> None:
    """A stale marker and half a record never become a worker's end."""
    (tmp_path / "spec.json").write_text('{"run": "r2", "workers": 1}')
    (tmp_path / "worker-0.end.json").write_text('{"run": "r1", "code": 0}')
    run = process(here, runs={"job": str(tmp_path)})["runs"]["job"]
    assert run["workers"][0]["end"] is None
    assert "another run" in run["problem"]
    (tmp_path / "worker-0.end.json").unlink()
    (tmp_path / "worker-0.start.json").write_text('{"run": "r2", "pi')
    run = process(here, runs={"job": str(tmp_path)})["runs"]["job"]
    assert "is not a record" in run["problem"]
    missing = process(here, runs={"job": str(tmp_path / "none")})["runs"]["job"]
    assert "No such file" in missing["problem"]
    assert missing["supervisor_alive"] is None


HIDDEN_VIEW = """
import os, subprocess, sys, json, fnmatch, select, signal, stat, zlib, re, errno, time
source = open(sys.argv[1]).read()
subprocess.run(["mount", "-o", "remount,hidepid=2", "/proc"], check=True)
sleeper = subprocess.Popen(["sleep", "600"])
start = int(open("/proc/%d/stat" % sleeper.pid).read().rpartition(")")[2].split()[19])
boot = open("/proc/sys/kernel/random/boot_id").read().strip()
names = [[sleeper.pid, start, boot], [4000, 5, boot]]
request = {"nonce": "a1", "process": {"pids": {"job": names}, "find": {"job": {"pids": [sleeper.pid]}}}}
inward, outward = os.pipe()
os.write(outward, json.dumps(request).encode() + b"\\n")
os.dup2(inward, 0)
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
sys.argv = ["probe.py"]
exec(compile(source, "probe.py", "exec"), {"__name__": "__main__"})
"""


@pytest.mark.needs_root
@pytest.mark.needs_tool("unshare")
def test_a_process_that_proc_hides_is_hidden_and_not_gone(probe_file: str) -> None:
    """Under hidepid a stranger's process is told as hidden; a pid that nobody has is still gone."""
    space = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    said = subprocess.run([*space, sys.executable, "-c", HIDDEN_VIEW, probe_file], capture_output=True, timeout=60)
    if b"DOGWATCH-END" not in said.stdout:
        pytest.skip(f"no namespace of our own with hidepid here: {said.stderr.decode()[-200:]}")
    section = json.loads(said.stdout.splitlines()[0])["process"]
    assert [proc["doing"] for proc in section["pids"]["job"]] == ["hidden", "gone"]
    assert "cannot be seen" in section["find"]["job"]["problem"]


def test_a_run_directory_that_stood_still_is_read_again_when_it_changes(here: Here, tmp_path: Path) -> None:
    """It is not listed at every poll, and still no record is missed, nor one that is written anew."""

    def paper(name: str, **rows: Any) -> None:
        (tmp_path / "tmp").write_text(json.dumps({"run": "r1", **rows}))
        (tmp_path / "tmp").rename(tmp_path / name)

    def run() -> dict[str, Any]:
        return process(here, runs={"job": str(tmp_path)})["runs"]["job"]

    paper("spec.json", workers=1)
    settled = time.monotonic() + 3.5
    wait_until(lambda: run()["spec_workers"] == 1 and time.monotonic() > settled, pause=0.5)
    assert run() == run()
    for code in (1, 0):
        paper("worker-0.end.json", worker=0, code=code)
        assert run()["workers"][0]["end"]["code"] == code
    (tmp_path / "worker-0.end.json").unlink()
    assert run()["workers"][0]["end"] is None
