"""Here comes back in time with a whole answer or with Unreachable, whatever becomes of its probe."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dogwatch.clock import Clock
from dogwatch.model import Unreachable
from dogwatch.transport.interface import Answer, Transport
from dogwatch.transport.local import Here
from tests.support import wait_until


@pytest.fixture
def here() -> Iterator[Here]:
    transport = Here(place="box", clock=Clock())
    yield transport
    transport.close()


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Callable[[str], Here]]:
    """A Here whose probe is a program of the test's own; `line` holds the request that it read."""
    opened: list[Here] = []

    def play(body: str) -> Here:
        script = tmp_path / f"python-{len(opened)}"
        script.write_text(
            f"#!{sys.executable}\nimport json, os, signal, sys, time\n"
            f"line = sys.stdin.readline()\nnonce = json.loads(line)['nonce']\n{body}\n"
        )
        script.chmod(0o700)
        opened.append(Here(python=str(script)))
        return opened[-1]

    yield play
    for transport in opened:
        transport.close()


def stop(pid: int) -> None:
    """SIGSTOP, and wait until it has taken hold: a process on another processor runs on for a moment."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")


def over(pid: int | None) -> bool:
    """Whether a process is gone or only waits to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def unreachable(answer: Answer | Unreachable) -> str:
    assert isinstance(answer, Unreachable), answer
    return answer.why


def whole(answer: Answer | Unreachable) -> Answer:
    assert isinstance(answer, Answer), answer
    return answer


def test_an_answer_carries_the_place_and_the_probes_own_clock(here: Here) -> None:
    """A whole answer is a dict with the machine's boot id and clock, under the name of the place."""
    transport: Transport = here
    answer = whole(transport.ask({"process": {}}))
    assert answer.place == "box"
    assert answer.body["boot"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert abs(answer.body["clock"]["wall"] - answer.at) < 60
    assert answer.body["process"]["ok"] is True


def test_one_child_serves_many_requests(here: Here) -> None:
    """The child is long-lived: a second request goes to the first one's."""
    whole(here.ask({}))
    first = here.pid
    for _ in range(20):
        whole(here.ask({"disks": ["/"]}))
    assert here.pid == first


def test_a_request_larger_than_a_pipe_goes_through(here: Here, tmp_path: Path) -> None:
    """Megabytes of request and answer pass while both sides write."""
    (tmp_path / "big.log").write_bytes(b"\0" * 3_000_000)
    globs = [str(tmp_path / "big.log")] + [f"/none/{'x' * 200}{number}" for number in range(5000)]
    answer = whole(here.ask({"logs": {"job": {"globs": globs, "max": 4 << 20}}}))
    assert len(answer.body["logs"]["job"]["missing"]) == 5000
    assert len(answer.body["logs"]["job"]["files"][globs[0]]["text"]) == 3_000_000


def test_a_stopped_probe_is_dark_and_replaced(here: Here) -> None:
    """SIGSTOP of the child: Unreachable when the deadline is over, the child killed, the next request answered."""
    whole(here.ask({}))
    stopped = here.pid
    assert stopped is not None
    stop(stopped)
    assert unreachable(here.ask({}, deadline=0.5)) == "the probe did not answer in 0.5 s"
    wait_until(lambda: over(stopped))
    whole(here.ask({}))
    assert here.pid != stopped


def test_a_probe_that_died_between_requests_is_replaced_unseen(here: Here) -> None:
    """Nothing was asked of the dead child, so nothing is unreachable."""
    whole(here.ask({}))
    killed = here.pid
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: over(killed))
    whole(here.ask({}))
    assert here.pid != killed


def test_a_probe_killed_while_it_is_asked_is_dark(here: Here) -> None:
    """SIGKILL in the middle of a request: Unreachable at once, and the next request is answered."""
    whole(here.ask({}))
    killed = here.pid
    assert killed is not None
    stop(killed)
    killer = threading.Timer(0.3, os.kill, (killed, signal.SIGKILL))
    killer.start()
    assert unreachable(here.ask({}, deadline=60.0)) == "the probe ended before it had answered"
    killer.join()
    whole(here.ask({}))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("print('{\"nonce\": ', end='', flush=True); time.sleep(600)", "did not answer in"),
        ("print('{\"nonce\": ', end='', flush=True)", "ended before it had answered"),
        ("print('{}', flush=True); time.sleep(600)", "did not answer in"),
        ("print('{}\\nDOGWATCH-END', nonce, '3', flush=True); time.sleep(600)", "incomplete"),
        ("print('{}\\nDOGWATCH-END 00 2', flush=True); time.sleep(600)", "incomplete"),
        ("print('{}\\nDOGWATCH-END', nonce, '2', flush=True); time.sleep(600)", "a different request"),
        ("print('{x\\nDOGWATCH-END', nonce, '2', flush=True); time.sleep(600)", "not JSON"),
        ("print('{}\\nDOGWATCH-END', nonce, '2\\nmore', flush=True); time.sleep(600)", "more than was asked for"),
        ("sys.exit('no module named json')", "ended before it had answered (no module named json)"),
    ],
)
def test_half_an_answer_is_dark_as_a_whole(played: Callable[[str], Here], body: str, why: str) -> None:
    """Cut short, without its sentinel, with a wrong one or with more behind it: void, and the child is killed."""
    transport = played(body)
    assert why in unreachable(transport.ask({}, deadline=1.5))
    assert transport.pid is None


def test_an_endless_answer_is_cut_off(played: Callable[[str], Here], tmp_path: Path) -> None:
    """More than 64 MiB: Unreachable, and the child is killed."""
    note = tmp_path / "pid"
    transport = played(f"open({str(note)!r}, 'w').write(str(os.getpid()))\nwhile True: os.write(1, b'x' * 65536)")
    assert unreachable(transport.ask({}, deadline=60.0)) == "the probe's answer was larger than 64 MiB"
    wait_until(lambda: over(int(note.read_text())))


def test_what_the_probe_started_dies_with_it(played: Callable[[str], Here], tmp_path: Path) -> None:
    """The whole process group is killed, and a grandchild that holds the pipes open delays nobody."""
    note = tmp_path / "pid"
    transport = played(
        "import subprocess\nkid = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(note)!r}, 'w').write(str(kid.pid))\ntime.sleep(600)"
    )
    assert "did not answer" in unreachable(transport.ask({}, deadline=1.5))
    wait_until(lambda: over(int(note.read_text())))


def test_a_python_that_is_not_there_is_dark() -> None:
    """Not being able to start a probe is a reason, not an exception."""
    assert "could not be started" in unreachable(Here(python="/none/python3").ask({}))


def test_the_probe_sees_a_clean_environment(played: Callable[[str], Here], tmp_path: Path) -> None:
    """Only the path and the C locale reach the child; it sits in / and leads a session of its own."""
    note = tmp_path / "seen"
    transport = played(
        "seen = dict(names=sorted(os.environ), cwd=os.getcwd(), leads=os.getsid(0) == os.getpid())\n"
        f"open({str(note)!r}, 'w').write(json.dumps(seen))"
    )
    transport.ask({}, deadline=10.0)
    assert json.loads(note.read_text()) == {"names": ["LANG", "LC_ALL", "PATH"], "cwd": "/", "leads": True}


def test_the_probe_and_its_hand_leave_when_the_asker_is_killed() -> None:
    """SIGKILL of the asker closes the pipes, and nothing stays behind."""
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from dogwatch.transport.local import Here\n"
        "here = Here()\n"
        "here.ask({'disks': ['/']})\n"
        "kids = Path(f'/proc/{here.pid}/task/{here.pid}/children').read_text()\n"
        "print(here.pid, kids, flush=True)\n"
        "time.sleep(600)\n"
    )
    asker = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert asker.stdout is not None
    pids = [int(word) for word in asker.stdout.readline().split()]
    assert len(pids) == 2
    asker.kill()
    asker.communicate()
    wait_until(lambda: all(over(pid) for pid in pids))


def test_close_ends_the_probe_and_may_be_called_twice(here: Here) -> None:
    """After close nothing runs, even if the child was stopped; a later request would start anew."""
    whole(here.ask({"disks": ["/"]}))
    child = here.pid
    assert child is not None
    stop(child)
    here.close()
    assert not os.path.exists(f"/proc/{child}")
    here.close()
    whole(here.ask({}))


def test_replacing_children_leaks_neither_descriptors_nor_zombies(here: Here) -> None:
    """Ten children later there are as many open files as before, and no zombie of ours."""
    whole(here.ask({}))
    before = len(os.listdir("/proc/self/fd"))
    pids = []
    for _ in range(10):
        assert here.pid is not None
        pids.append(here.pid)
        stop(here.pid)
        unreachable(here.ask({}, deadline=0.05))
        whole(here.ask({}))
    assert len(os.listdir("/proc/self/fd")) == before
    here.close()
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))
