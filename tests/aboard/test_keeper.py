"""The keeper, with real processes and real signals: no worker without a record, no exit code lost."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dogwatch import aboard
from dogwatch.aboard import keeper
from dogwatch.hands.launch import Run, prepare, start
from tests.support import wait_until

LAUNCH_AND_STAY = """
import sys, time
from dogwatch.hands.launch import Run, start
start(Run("r", sys.argv[1], ("log",)))
time.sleep(600)
"""


def ready(home: Path, *argv: str, workers: int = 1, **more) -> Run:
    asked = {"gpus": None, "env": [], "cwd": None, "now": 1000.0, **more}
    return prepare(str(home), "kept", argv, workers=workers, **asked)


def shell(home: Path, script: str, workers: int = 1) -> Run:
    return ready(home, "sh", "-c", script, workers=workers)


def until(path: Path, then: str) -> str:
    """A shell script that waits for a file and then does something."""
    return f"while [ ! -e {path} ]; do sleep 0.02; done; {then}"


def record(run: Run, name: str) -> dict:
    """A record of the run, once it is there."""
    path = Path(run.directory, name)
    wait_until(path.exists)
    return json.loads(path.read_text())


def started_pids(run: Run) -> list[int]:
    """Start the run; the pids of the workers that became their program."""
    return [pid for pid in start(run).worker_pids if pid]


def doing(pid: int) -> str:
    """The state letter of a process; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def alive(pid: int) -> bool:
    return doing(pid) not in ("", "Z", "X")


def keepers(run: Run) -> dict[int, int]:
    """Processes that are this run's keeper or have not become its workers yet, with their parents."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (path / "cmdline").read_bytes().split(b"\0")
            if os.fsencode(run.directory) in words and b"strace" not in words[0]:
                found[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
    return found


def keep(run: Run, **more) -> dict:
    """Run the keeper's first process by hand and return its report."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", aboard.KEEPER, run.directory], capture_output=True, timeout=30, **more
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("script", "code", "signalled"),
    [
        ("exit 0", 0, None),
        ("exit 3", 3, None),
        ("exit 137", 137, None),
        ("kill -SEGV $$", None, signal.SIGSEGV),
        ("kill -TERM $$", None, signal.SIGTERM),
    ],
)
def test_how_a_worker_ended_is_recorded(home, script, code, signalled):
    """An exit code is a code and a signal is a signal; neither is dressed up as the other."""
    run = shell(home, script)
    (pid,) = started_pids(run)
    end = record(run, "worker-0.end.json")
    began = record(run, "worker-0.start.json")
    assert (end["code"], end["signal"]) == (code, signalled)
    assert (end["pid"], end["start"], end["run"], end["worker"]) == (pid, began["start"], run.id, 0)
    assert end["at"] >= began["at"]
    assert end["max_rss_bytes"] > 0
    assert end["cpu_user"] + end["cpu_system"] >= 0


def test_a_start_record_names_the_process_for_good(home):
    """Pid, start time and boot id are those that /proc shows of the running worker."""
    run = ready(home, "sleep", "60")
    (pid,) = started_pids(run)
    began = record(run, "worker-0.start.json")
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    assert (began["pid"], began["start"]) == (pid, int(fields[19]))
    assert began["boot"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert Path(f"/proc/{pid}/cmdline").read_bytes() == b"sleep\x0060\x00"
    assert os.getsid(pid) == pid


def test_sigkill_without_evidence_is_only_sigkill(home):
    """A worker killed by hand has no memory evidence: the number 9 alone proves nothing."""
    run = ready(home, "sleep", "60")
    (pid,) = started_pids(run)
    os.kill(pid, signal.SIGKILL)
    end = record(run, "worker-0.end.json")
    assert (end["code"], end["signal"]) == (None, signal.SIGKILL)
    assert end["oom"]["kernel_log"] is None
    assert end["oom"]["counter"] in (0, None)


def test_the_keeper_leaves_when_the_last_worker_ended(home):
    """Workers that end at different times each get their record, and then the keeper is gone."""
    run = shell(home, "exit $DOGWATCH_WORKER", workers=4)
    pid = start(run).keeper_pid
    assert [record(run, f"worker-{k}.end.json")["code"] for k in range(4)] == [0, 1, 2, 3]
    wait_until(lambda: not alive(pid))


def test_signals_do_not_move_the_keeper(home, tmp_path):
    """SIGTERM, SIGHUP, SIGINT and SIGQUIT leave the keeper at its post, and the exit code is kept."""
    run = shell(home, until(tmp_path / "go", "exit 7"))
    started = start(run)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        os.kill(started.keeper_pid, number)
    assert not os.path.exists(run.directory + "/worker-0.end.json")
    (tmp_path / "go").touch()
    assert record(run, "worker-0.end.json")["code"] == 7


def test_killing_the_launchers_whole_group_does_not_reach_the_job(home, tmp_path):
    """The launcher's process group dies of SIGKILL; keeper and worker are in sessions of their own."""
    run = shell(home, until(tmp_path / "go", "exit 7"))
    command = [sys.executable, "-c", LAUNCH_AND_STAY, run.directory]
    with subprocess.Popen(command, start_new_session=True) as launcher:
        began = record(run, "worker-0.start.json")
        os.killpg(launcher.pid, signal.SIGKILL)
    assert alive(began["pid"])
    (tmp_path / "go").touch()
    assert record(run, "worker-0.end.json")["code"] == 7


def test_closing_the_terminal_does_not_reach_the_job(home, tmp_path):
    """When the terminal hangs up, the worker works on and its exit code is recorded."""
    run = shell(home, until(tmp_path / "go", "exit 7"))
    launcher, terminal = pty.fork()
    if launcher == 0:
        os.execv(sys.executable, [sys.executable, "-c", LAUNCH_AND_STAY, run.directory])
    began = record(run, "worker-0.start.json")
    os.close(terminal)
    assert os.WTERMSIG(os.waitpid(launcher, 0)[1]) == signal.SIGHUP
    assert alive(began["pid"])
    (tmp_path / "go").touch()
    assert record(run, "worker-0.end.json")["code"] == 7


def test_a_killed_keeper_leaves_the_worker_running(home):
    """SIGKILL of the keeper takes no worker with it, and nobody invents an end for it."""
    run = ready(home, "sleep", "60", workers=2)
    started = start(run)
    os.kill(started.keeper_pid, signal.SIGKILL)
    wait_until(lambda: not alive(started.keeper_pid))
    assert [alive(pid) for pid in started.worker_pids if pid] == [True, True]
    os.kill(started.worker_pids[0] or 0, signal.SIGTERM)
    wait_until(lambda: not alive(started.worker_pids[0] or 0))
    assert not os.path.exists(run.directory + "/worker-0.end.json")


def test_a_worker_that_goes_to_the_background_has_ended(home, tmp_path):
    """The record is of the process that was started; a child it left behind delays nothing."""
    run = shell(home, f"sleep 60 & echo $! > {tmp_path}/left; exit 4")
    keeper_pid = start(run).keeper_pid
    try:
        assert record(run, "worker-0.end.json")["code"] == 4
        wait_until(lambda: not alive(keeper_pid))
    finally:
        os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)


def test_a_worker_starts_with_a_clean_slate(home):
    """Ignored and blocked signals, open files and the keeper's umask do not reach the worker."""
    seen = "grep -E '^Sig(Blk|Ign)' /proc/self/status; umask; ls /proc/$$/fd; readlink /proc/$$/fd/0; exit 6"
    run = shell(home, seen)
    leak, other = os.pipe()

    def spoil() -> None:
        os.umask(0o027)
        for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGUSR1):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR2])

    report = keep(run, pass_fds=[leak, other], preexec_fn=spoil)
    os.close(leak)
    os.close(other)
    assert report["errors"] == {}
    assert record(run, "worker-0.end.json")["code"] == 6
    said = Path(run.logs[0]).read_text().split()
    # make starts programs with 32 and 33 ignored, which belong to libc and which it lets nobody change.
    ignored = int(said.pop(3), 16) & ~(0b11 << 31)
    assert ignored == 0
    assert said == ["SigBlk:", "0" * 16, "SigIgn:", "0027", "0", "1", "2", "/dev/null"]
    for name in os.listdir(run.directory):
        assert os.stat(f"{run.directory}/{name}").st_mode & 0o777 == 0o600, name


def test_a_spec_may_carry_the_users_umask(home):
    """A launcher that lives under umask 077 can still give the worker its user's own."""
    run = ready(home, "sh", "-c", "umask", umask=0o002)
    start(run)
    record(run, "worker-0.end.json")
    assert Path(run.logs[0]).read_text() == "0002\n"


def test_a_log_is_appended_to(home):
    """What a log already holds stays in front of what the worker writes."""
    run = shell(home, "echo second")
    Path(run.logs[0]).write_text("first\n")
    start(run)
    record(run, "worker-0.end.json")
    assert Path(run.logs[0]).read_text() == "first\nsecond\n"


def test_a_log_that_is_a_link_is_not_followed(home, tmp_path):
    """A planted link makes that worker fail; the file it points to is not touched."""
    run = shell(home, "echo harm")
    os.symlink(tmp_path / "precious", run.logs[0])
    assert "worker-0.log" in start(run).errors[0]
    assert record(run, "worker-0.end.json")["code"] == 127
    assert not (tmp_path / "precious").exists()


def test_a_cwd_that_vanished_is_an_error_of_the_worker(home, tmp_path):
    """The directory was there when the run was prepared and is not any more."""
    place = tmp_path / "place"
    place.mkdir()
    run = ready(home, "sh", "-c", "exit 0", cwd=str(place))
    place.rmdir()
    assert start(run).errors == {0: f"{place}: No such file or directory"}
    assert record(run, "worker-0.start.json")["error"] == f"{place}: No such file or directory"


def test_a_removed_run_directory_does_not_hold_the_keeper(home, tmp_path):
    """With nobody left to read the record, the keeper leaves instead of retrying for ever."""
    run = shell(home, until(tmp_path / "go", "exit 0"))
    keeper_pid = start(run).keeper_pid
    shutil.rmtree(run.directory)
    (tmp_path / "go").touch()
    wait_until(lambda: not alive(keeper_pid))


def test_the_bell_is_rung_for_start_and_end(home):
    """A watcher that listens on the FIFO is told, and finds the record whenever it is told."""
    os.mkfifo(home / "wake", 0o600)
    bell = os.open(home / "wake", os.O_RDONLY | os.O_NONBLOCK)
    run = shell(home, "sleep 0.1; exit 3", workers=3)
    start(run)
    heard = b""
    while heard.count(b"\n") < 4:
        assert select.select([bell], [], [], 20)[0]
        with contextlib.suppress(BlockingIOError):
            heard += os.read(bell, 4096)
        ends = [name for name in os.listdir(run.directory) if re.fullmatch(r"worker-\d\.end\.json", name)]
        assert len(ends) >= heard.count(b"\n") - 1
    os.close(bell)
    assert set(heard.decode().split("\n")) == {run.id, ""}


@pytest.mark.parametrize("kind", ["nobody listens", "no bell", "a plain file", "a full bell"])
def test_a_bell_that_cannot_be_rung_changes_nothing(home, kind):
    """Without a listener the record is there all the same, and what is no FIFO is not written to."""
    opened = []
    if kind == "a plain file":
        (home / "wake").touch()
    elif kind != "no bell":
        os.mkfifo(home / "wake")
    if kind == "a full bell":
        opened.append(os.open(home / "wake", os.O_RDWR | os.O_NONBLOCK))
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(opened[0], b"x" * 4096)
    run = shell(home, "exit 5")
    keeper_pid = start(run).keeper_pid
    assert record(run, "worker-0.end.json")["code"] == 5
    wait_until(lambda: not alive(keeper_pid))
    for fd in opened:
        os.close(fd)
    if kind == "a plain file":
        assert (home / "wake").read_bytes() == b""


@pytest.mark.needs_tool("strace")
def test_a_record_is_on_disk_before_the_bell_rings(home, tmp_path):
    """By the system calls: file synced, renamed, directory synced, and only then the FIFO opened."""
    os.mkfifo(home / "wake")
    bell = os.open(home / "wake", os.O_RDONLY | os.O_NONBLOCK)
    run = shell(home, "exit 0")
    trace = tmp_path / "trace"
    calls = "trace=fsync,rename,renameat,renameat2,openat,open"
    command = ["strace", "-f", "-o", str(trace), "-e", calls, sys.executable, "-I", "-S", aboard.KEEPER]
    subprocess.run([*command, run.directory], capture_output=True, timeout=60, check=True)
    os.close(bell)
    steps = re.findall(r"^\d+ +(fsync|rename\w*|open\w*)\((.*)$", trace.read_text(), re.MULTILINE)
    ours = [
        "end"
        if "worker-0.end.json" in rest and call.startswith("rename")
        else "bell"
        if f'"{home}/wake"' in rest
        else "sync"
        if call == "fsync"
        else ""
        for call, rest in steps
    ]
    order = [step for step in ours if step]
    at = order.index("end")
    assert order[at - 1 : at + 3] == ["sync", "end", "sync", "bell"]


@pytest.mark.needs_tool("strace")
@pytest.mark.parametrize(
    "point",
    [*(f"fsync:when={n}" for n in range(1, 7)), "linkat:when=1", "renameat:when=1", "renameat:when=2"],
)
def test_a_keeper_killed_at_a_sync_leaves_no_unrecorded_worker(home, tmp_path, point):
    """SIGKILL at each sync and rename of the start: whoever runs has a start record on disk."""
    seen = tmp_path / "seen"
    seen.mkdir()
    run = shell(home, f"echo > {seen}/$$; exec sleep 60", workers=2)
    call, _, when = point.partition(":")
    inject = ["-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:{when}"]
    command = ["strace", "-f", "-o", "/dev/null", *inject, sys.executable, "-I", "-S", aboard.KEEPER]
    tracer = subprocess.Popen([*command, run.directory], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: keepers(run) or tracer.poll() is not None)
        wait_until(lambda: not keepers(run))
        check_every_worker_is_recorded(run, seen)
    finally:
        end_all(run, seen)
        tracer.wait(timeout=20)


def test_a_keeper_killed_at_random_leaves_no_unrecorded_worker(home, tmp_path):
    """Thirty keepers get SIGKILL somewhere in their first moments: whoever runs has a start record."""
    chance = random.Random(2)
    for round_ in range(30):
        seen = tmp_path / f"seen-{round_}"
        seen.mkdir()
        run = shell(home, f"echo > {seen}/$$; exec sleep 60", workers=6)
        command = [sys.executable, "-I", "-S", aboard.KEEPER, run.directory]
        first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.015, 0.06))
        while found := keepers(run):
            for pid, parent in found.items():
                if parent not in found:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            first.poll()
        first.wait(timeout=20)
        try:
            check_every_worker_is_recorded(run, seen)
        finally:
            end_all(run, seen)


def check_every_worker_is_recorded(run: Run, seen: Path) -> None:
    recorded = {json.loads(path.read_text())["pid"] for path in Path(run.directory).glob("worker-*.start.json")}
    assert {int(name) for name in os.listdir(seen)} <= recorded
    if recorded:
        assert Path(run.directory, "keeper.json").exists()


def end_all(run: Run, seen: Path) -> None:
    """End the workers that said they run, recorded or not (each one said so before it slept)."""
    for path in Path(run.directory).glob("worker-*.start.json"):
        (seen / str(json.loads(path.read_text())["pid"])).touch()
    for name in os.listdir(seen):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(int(name)) == int(name):
                os.kill(int(name), signal.SIGKILL)


@pytest.fixture
def small_disk(home: Path) -> Iterator[Path]:
    """The home on a disk of one MiB."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", str(home)])
    if mounted.returncode:
        pytest.skip("needs to mount a tmpfs, which is not permitted here")
    yield home
    subprocess.run(["umount", "-l", str(home)], check=True)


def fill(disk: Path) -> Path:
    filler = disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    return filler


@pytest.mark.needs_root
@pytest.mark.needs_tool("mount", "umount")
def test_an_end_record_waits_for_room(small_disk, tmp_path):
    """On a full disk no exit code is lost: the keeper holds it until it fits."""
    run = shell(small_disk, until(tmp_path / "go", "exit 9"), workers=2)
    started = start(run)
    filler = fill(small_disk)
    (tmp_path / "go").touch()
    wait_until(lambda: not any(alive(pid or 0) for pid in started.worker_pids))
    assert alive(started.keeper_pid)
    assert not list(Path(run.directory).glob("*.end.json"))
    filler.unlink()
    assert [record(run, f"worker-{k}.end.json")["code"] for k in range(2)] == [9, 9]
    wait_until(lambda: not alive(started.keeper_pid))


@pytest.mark.needs_tool("strace")
def test_a_worker_whose_start_record_cannot_be_written_is_not_started(home, tmp_path):
    """With every sync failing after the claim, nothing runs, and the report says why."""
    run = shell(home, f"touch {tmp_path}/ran")
    inject = ["-e", "trace=fsync", "-e", "inject=fsync:error=ENOSPC:when=3+"]
    command = ["strace", "-f", "-o", "/dev/null", *inject, sys.executable, "-I", "-S", aboard.KEEPER]
    tracer = subprocess.Popen([*command, run.directory], stdout=subprocess.PIPE)
    assert tracer.stdout is not None
    report = json.loads(tracer.stdout.readline())
    assert report["workers"] == [None]
    assert "No space left" in report["errors"]["0"]
    os.kill(report["keeper"], signal.SIGKILL)  # it would hold the records until they fit
    tracer.wait(timeout=20)
    tracer.stdout.close()
    assert not (tmp_path / "ran").exists()


V1 = "9:name=systemd:/\n4:cpu,memory:/box/a\n0::/\n"
V1_MOUNTS = (
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,cpu,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
)


@pytest.mark.parametrize(
    ("cgroups", "mounts", "counter"),
    [
        (V1, V1_MOUNTS, "/sys/fs/cgroup/memory/box/a/memory.oom_control"),
        (V1, V1_MOUNTS.replace(" / /sys", " /box /sys"), "/sys/fs/cgroup/memory/a/memory.oom_control"),
        (
            "0::/user.slice/s.scope\n",
            "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n",
            "/sys/fs/cgroup/user.slice/s.scope/memory.events",
        ),
        ("0::/\n", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "/sys/fs/cgroup/memory.events"),
        ("0::/../outside\n", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n", None),
        (V1, "", None),
        ("", V1_MOUNTS, None),
    ],
)
def test_the_memory_counter_is_found_in_both_kinds_of_cgroup(cgroups, mounts, counter):
    """Version 1 where memory is there, version 2 otherwise, seen from a container as well."""
    assert keeper._find_counter(cgroups, mounts) == counter


@pytest.fixture
def cramped() -> Iterator[Path]:
    """A memory cgroup of 64 MiB without swap, removed afterwards."""
    if os.geteuid() != 0:
        pytest.skip("needs root: a memory cgroup cannot be made without it")
    own = keeper._find_counter(Path("/proc/self/cgroup").read_text(), Path("/proc/self/mountinfo").read_text())
    if own is None:
        pytest.skip("needs a memory cgroup, and none is mounted here")
    old = own.endswith("oom_control")
    top = re.search(
        r"^\S+ \S+ \S+ \S+ (\S+) .* - " + (r"cgroup \S+ (?:\S*,)?memory\b" if old else "cgroup2 "),
        Path("/proc/self/mountinfo").read_text(),
        re.MULTILINE,
    )
    assert top is not None
    group = Path(top.group(1), f"dogwatch-test-{os.getpid()}")
    limits = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"] if old else ["memory.max"]
    try:
        group.mkdir()
    except OSError as why:
        pytest.skip(f"needs to make a memory cgroup, which is not permitted here: {why}")
    try:
        if not (group / limits[0]).exists():
            pytest.skip("needs the memory controller, which is not handed down to new cgroups here")
        for name in limits:
            with contextlib.suppress(FileNotFoundError):
                (group / name).write_text(str(64 << 20))
        if (group / "memory.swap.max").exists():
            (group / "memory.swap.max").write_text("0")
        yield group
    finally:
        wait_until(lambda: not (group / "cgroup.procs").read_text().strip())
        group.rmdir()


def test_a_worker_killed_for_memory_carries_the_evidence(home, cramped):
    """The kernel's own kill is told by counter and log; a later kill by hand does not borrow them."""
    eat = f"{sys.executable} -c \"b'x' * (300 << 20)\""
    run = shell(home, f"[ $DOGWATCH_WORKER = 1 ] && exec sleep 60; exec {eat}", workers=2)
    enter = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(cramped / "cgroup.procs")]
    command = [*enter, sys.executable, "-I", "-S", aboard.KEEPER, run.directory]
    done = subprocess.run(command, capture_output=True, timeout=30, check=True)
    hungry, idle = json.loads(done.stdout)["workers"]
    first = record(run, "worker-0.end.json")
    os.kill(idle, signal.SIGKILL)
    second = record(run, "worker-1.end.json")
    assert (first["signal"], first["oom"]["counter"]) == (signal.SIGKILL, 1)
    if first["oom"]["log_read"]:
        assert f"Killed process {hungry} " in first["oom"]["kernel_log"]
    assert (second["signal"], second["oom"]["counter"]) == (signal.SIGKILL, 0)
    assert second["oom"]["kernel_log"] is None
