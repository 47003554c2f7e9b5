"""What every test may ask for: a home of its own, the real program in it, and nothing left running after."""

from __future__ import annotations

import contextlib
import gc
import glob
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import hypothesis
import pytest

from dogwatch.transport.local import Here
from tests.lab.box import boxes as boxes
from tests.support import wait_until

needs_root = pytest.mark.needs_root
needs_tool = pytest.mark.needs_tool
needs_fuse = pytest.mark.needs_fuse


# What is about to land is judged by the same inputs each time; `make fuzz` looks for new ones. A deadline would be an
# assertion on timing.
hypothesis.settings.register_profile("same", derandomize=True, deadline=None)
hypothesis.settings.register_profile("fuzz", deadline=None)
hypothesis.settings.load_profile("same")

# A shell that starts the tests in the background, and nohup, leave these ignored, and every program that a test starts
# would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def here() -> Iterator[Here]:
    """The probe of this machine, gone afterwards."""
    transport = Here()
    yield transport
    transport.close()


@pytest.fixture(autouse=True)
def usual_garbage_collection() -> Iterator[None]:
    """A watcher in this very process collects garbage seldom; the tests after it leave files open in theirs."""
    usual = gc.get_threshold()
    yield
    gc.set_threshold(*usual)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Turn the needs_… markers into skips that say what to install."""
    if item.get_closest_marker("needs_root") and os.geteuid() != 0:
        pytest.skip("needs root: run the tests as root to include it")
    for marker in item.iter_markers("needs_tool"):
        for tool in marker.args:
            if not _installed(tool):
                pytest.skip(f"needs {tool}, which is not installed")
    if item.get_closest_marker("needs_fuse"):
        reason = _no_fuse()
        if reason:
            pytest.skip(f"needs FUSE: {reason}")


def _installed(tool: str) -> bool:
    return shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is not None


def _no_fuse() -> str | None:
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse is not there or not open to this user"
    if not _installed("fusermount3"):
        return "fusermount3 is not installed (Debian: fuse3)"
    if importlib.util.find_spec("mfusepy") is None:
        return "the Python package mfusepy is not installed"
    return None


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A fresh DOGWATCH_HOME; every supervisor and worker recorded in it is killed when the test is over."""
    path = tmp_path / "home"
    path.mkdir(mode=0o700)
    yield path
    kill_recorded(path)


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """The caller's environment without its own Dogwatch or terminal settings, pointing at `home`."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("DOGWATCH_")}
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"):
        kept.pop(name, None)
    return {**kept, "DOGWATCH_HOME": str(home)}


@pytest.fixture
def dogwatch(environment: dict[str, str]):
    """Run the real program to its end: dogwatch("ls", "--json") → CompletedProcess with text."""

    def run(*args, env=None, timeout=60, **more) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "dogwatch", *map(str, args)],
            env={**environment, **(env or {})},
            timeout=timeout,
            text=True,
            **{"capture_output": True, "stdin": None if "input" in more else subprocess.DEVNULL, **more},
        )

    return run


@pytest.fixture
def spawn(environment: dict[str, str], home: Path):
    """Start the real program as a Popen in a session of its own; killed and reaped when the test is over.

    Its output goes to spawn-N.out and spawn-N.err beside `home` unless the test says otherwise.
    """
    with contextlib.ExitStack() as stack:

        def start(*args, env=None, **more) -> subprocess.Popen[str]:
            number = len(started)
            for stream, ending in (("stdout", "out"), ("stderr", "err")):
                if stream not in more:
                    path = home.parent / f"spawn-{number}.{ending}"
                    more[stream] = stack.enter_context(path.open("w"))
            process = subprocess.Popen(
                [sys.executable, "-m", "dogwatch", *map(str, args)],
                env={**environment, **(env or {})},
                text=True,
                **{"stdin": subprocess.DEVNULL, "start_new_session": True, **more},
            )
            started.append(process)
            stack.callback(_end, process)
            return process

        started: list[subprocess.Popen[str]] = []
        yield start


def _end(process: subprocess.Popen[str]) -> None:
    """SIGKILL, reap, close: whatever state the test left it in (SIGKILL also ends a stopped process)."""
    if process.poll() is None:
        process.kill()
    process.wait(timeout=20)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):  # what was still buffered for a reader that is gone
                stream.close()


def kill_recorded(home: Path) -> None:
    """End what runs/*/ names: supervisors first, so that none of them starts another worker meanwhile."""
    for pattern in ("supervisor.json", "attempt-*.json", "worker-*.start.json", "stage-*.start.json"):
        killed = [pid for path in glob.glob(f"{home}/runs/*/{pattern}") for pid in _kill(path)]
        for pid in killed:
            wait_until(partial(_is_over, pid))


def _kill(record: str) -> Iterator[int]:
    """SIGKILL the process a record names, and its group where it leads one, if it is still that process."""
    try:
        with open(record, encoding="utf-8") as file:
            known = json.load(file)
    except (OSError, ValueError):
        return
    pid = known.get("pid")
    if not pid or known.get("boot") != _boot() or _start_time(pid) != known.get("start"):
        return
    with contextlib.suppress(ProcessLookupError):
        leads = os.getpgid(pid) == pid
        (os.killpg if leads else os.kill)(pid, signal.SIGKILL)
        yield pid


def _is_over(pid: int) -> bool:
    return _start_time(pid) is None


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _start_time(pid: int) -> int | None:
    """Field 22 of /proc/PID/stat; None when the process is gone or only waits to be reaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])
