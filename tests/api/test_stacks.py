"""Where the processes of a hanging job are: asked of real ones, by a real py-spy."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dogwatch.api import decision_tree, stacks
from dogwatch.model import Unreachable
from dogwatch.transport.local import Here
from tests.support import wait_until, with_the_probe

LOCKED = """
import threading
lock = threading.Lock()

def take_twice():
    lock.acquire()
    print("up", flush=True)
    lock.acquire()

take_twice()
"""
ASLEEP = """
import time

def wait_for_nobody():
    print("up", flush=True)
    time.sleep(600)

wait_for_nobody()
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    started: list[subprocess.Popen[bytes]] = []

    def run(name: str, text: str, *before: str) -> subprocess.Popen[bytes]:
        script = tmp_path / f"{name}.py"
        script.write_text(text)
        argv = [*before, sys.executable, str(script)]
        child = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)
        started.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        return child

    yield run
    for child in started:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def job(*pids: int, **known: Any) -> Any:
    workers = [
        {"index": i, "pid": pid, "doing": "sleeping", "cpu_percent": 0.0, "log": None} for i, pid in enumerate(pids)
    ]
    verdict = {"word": "stalled", "why": "nothing has moved for 40 minutes", "evidence": []}
    return {
        "ref": "here/process:x",
        "state": "running",
        "workers": workers,
        "verdict": verdict,
        "findings": [],
        **known,
    }


def needs_spy() -> None:
    if shutil.which("py-spy", path=str(Path(sys.executable).parent)) is None:
        pytest.skip("py-spy is not installed beside this Python")


@pytest.mark.parametrize(
    ("name", "text", "frame"), [("locked", LOCKED, "take_twice"), ("asleep", ASLEEP, "wait_for_nobody")]
)
def test_the_innermost_frame_of_a_hanging_worker_is_named(
    here: Here, start: Any, name: str, text: str, frame: str
) -> None:
    """A lock that is never given back and a sleep without end, each by its own function and line."""
    needs_spy()
    child = start(name, text)
    wait_until(lambda: Path(f"/proc/{child.pid}/wchan").read_text() not in ("", "0"))
    (found,) = stacks.ask(here, job(child.pid))
    assert (found["pid"], found["why"], found["frames"][0]["name"]) == (child.pid, "", frame)
    line = text.splitlines()[found["frames"][0]["line"] - 1]
    assert "acquire" in line or "sleep" in line
    assert f"is in {frame} ({name}.py:" in stacks.says(found)


def test_the_program_under_a_launcher_is_looked_at(here: Here, start: Any) -> None:
    """A shell that only waits for its child is not what hangs."""
    needs_spy()
    child = start("under", ASLEEP, "env", "A=1", "sh", "-c", '"$0" "$@"; true')
    (found,) = stacks.ask(here, job(child.pid))
    assert found["pid"] != child.pid
    assert found["frames"][0]["name"] == "wait_for_nobody"


def test_without_a_python_stack_the_kernel_says_what_it_waits_for(here: Here, start: Any) -> None:
    """Weak evidence, and why there is no better."""
    child = start("quiet", ASLEEP, "sh", "-c", "echo up; sleep 600; true")
    wait_until(lambda: any(one["waits_for"] == "the end of a sleep" for one in stacks.ask(here, job(child.pid))))
    found = stacks.ask(here, job(child.pid))
    assert all(one["frames"] == [] for one in found)
    assert any("waits for the end of a sleep; its stack cannot be read: " in stacks.says(one) for one in found)


@pytest.mark.needs_root
@pytest.mark.needs_tool("/usr/bin/python3")
def test_who_may_not_look_into_a_process_is_told_so(start: Any) -> None:
    """Another user's program is not read, and the answer says why."""
    needs_spy()
    child = start("mine", ASLEEP)
    call = json.dumps({"pids": [child.pid], "seconds": 9})
    code = f"import json, sys; n = dict(); exec(sys.stdin.read(), n); print(json.dumps(n['extra_probe']({call})))"
    program = with_the_probe("stacks")
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        shutil.copy(Path(sys.executable).parent / "py-spy", place)
        argv, path = ["/usr/bin/python3", "-c", code], {"PATH": f"{place}:/usr/bin:/bin"}
        done = subprocess.run(argv, input=program, capture_output=True, user="nobody", env=path, check=True)
    (process,) = json.loads(done.stdout)["processes"]
    assert (process["threads"], process["why"]) == ([], "no permission to read that process")


def test_a_process_that_is_gone_leaves_an_honest_answer(here: Here) -> None:
    """Nothing is invented about it."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    (found,) = stacks.ask(here, job(gone.pid))
    assert (found["pid"], found["why"]) == (None, "none is there")


def test_the_walk_names_the_frame_and_drops_the_advice_to_look_for_it() -> None:
    """What `dogwatch why` prints of it."""
    process: Any = {
        "pid": 7,
        "command": "python train.py",
        "doing": "S",
        "waits_for": "a lock",
        "threads": 1,
        "frames": [
            {"name": "acquire", "file": "/usr/lib/python3.11/threading.py", "line": 3},
            {"name": "load", "file": "/srv/data.py", "line": 41},
        ],
        "why": "",
    }
    stands = decision_tree.document(job(7), [process])
    assert stands["asked"][-1]["says"] == "process 7 is in acquire (threading.py:3), called from load (data.py:41)"
    assert not any("py-spy" in does for does in stands["do"])
    blind = decision_tree.document(job(7), [process | {"frames": [], "why": "py-spy is not installed there"}])
    assert "process 7 waits for a lock" in blind["asked"][-1]["says"]
    assert "pip install py-spy" in blind["do"][0]


@pytest.mark.parametrize(
    ("known", "asks"),
    [({}, True), ({"verdict": {"word": "working"}}, False), ({"state": "waiting"}, False), ({"workers": []}, False)],
)
def test_only_a_job_that_does_not_move_is_looked_into(known: dict[str, Any], asks: bool) -> None:
    """A process is read into only for a reason."""
    assert stacks.wanted(job(7, **known)) is asks


PARENT = """
import os, time
if os.fork() == 0:
    os._exit(7)
if os.fork() == 0:
    time.sleep(600)
print("up", flush=True)
time.sleep(600)
"""


def test_all_that_a_worker_started_is_counted(here: Here, start: Any) -> None:
    """Who of it has ended unnoticed and how, and who is stopped; nobody's stack is read for that."""
    child = start("parent", PARENT)
    wait_until(lambda: (stacks.inspect(here, job(child.pid), spy=False).family or {}).get("dead") == 1)
    closer = stacks.inspect(here, job(child.pid), spy=False)
    assert closer.processes is None
    assert closer.family is not None
    assert closer.family["processes"] == 2
    (zombie,) = closer.family["zombies"]
    assert (zombie["parent"], zombie["status"]) == (child.pid, 7 << 8)
    assert closer.family["cpu_percent"] < 50
    os.kill(child.pid, signal.SIGSTOP)
    wait_until(lambda: (stacks.inspect(here, job(child.pid), spy=False).family or {})["stopped"] == [child.pid])


def test_a_host_that_cannot_be_asked_leaves_the_walk_as_it_was() -> None:
    """Whatever is known stands without a closer poll."""
    assert stacks.inspect(Nowhere(), job(7), spy=False) == stacks.LiveProcesses(None)


class Nowhere:
    """A place that does not answer."""

    def ask(self, request: Any, deadline: float = 1.0) -> Unreachable:
        return Unreachable("far", 0.0, 0.0, "no route to host")

    def close(self) -> None:
        pass
