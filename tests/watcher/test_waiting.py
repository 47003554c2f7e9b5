"""Numbers that move with every poll may be written a little later; what happened never is."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dogwatch import assemble
from dogwatch.model import Expectation
from dogwatch.store.rows import jobs
from dogwatch.store.sqlite.location import open_store
from tests.support import Ahead, wait_until


def test_a_quiet_look_is_written_with_a_later_one_and_an_ending_at_once(home: Path) -> None:
    """Within the pause the store keeps what it had; the death of the worker does not wait for its end."""
    clock = Ahead()
    with open_store(str(home)) as store:
        argv = ["sleep", "600"]
        ref = assemble.start_run(
            store, clock, argv, name="t", workers=1, gpus=None, env=(), cwd=None, expect=Expectation(workers=1)
        )
        watch = assemble.watch(store, clock, who="test", every=1.0, write_every=600.0)
        watch.begin()

        def job() -> Any:
            return jobs.documents(store, refs=[ref])[0]

        def looked_after(seconds: float) -> Any:
            clock.by += seconds
            watch.step()
            return job()

        first = wait_until(lambda: (found := looked_after(2.0))["state"] == "running" and found)
        assert looked_after(2.0)["confirmed_at"] == first["confirmed_at"]
        assert wait_until(lambda: looked_after(2.0)["confirmed_at"] > first["confirmed_at"]), (
            "a memory is saved in time"
        )
        os.kill(first["workers"][0]["pid"], signal.SIGKILL)
        assert wait_until(lambda: (found := looked_after(1.5))["state"] == "ended" and found)["signal"] == 9
        watch.end()


def test_a_silent_job_is_proved_at_every_look_and_described_now_and_then(home: Path, tmp_path: Path) -> None:
    """What only its clock moves is told every ten seconds; a line in its log ends the rest at once."""
    clock, gate = Ahead(), tmp_path / "gate"
    os.mkfifo(gate)
    argv = ["sh", "-c", f"echo step 3/10; read line < {gate}; echo step 4/10; exec sleep 600"]
    with open_store(str(home)) as store:
        ref = assemble.start_run(
            store, clock, argv, name="t", workers=1, gpus=None, env=(), cwd=None, expect=Expectation(workers=1)
        )
        watch = assemble.watch(store, clock, who="test", every=1.0)
        watch.begin()

        looked_after = looker(store, clock, watch, ref)
        wait_until(lambda: looked_after(2.0)["progress"])
        told = wait_until(lambda: (found := looked_after(2.0))["verdict"]["silent_seconds"] > 30.0 and found)
        spans = [looked_after(2.0) for _ in range(12)]
        assert len({found["confirmed_at"] for found in spans} | {told["confirmed_at"]}) == 13
        assert 2 <= len({found["workers"][0]["uptime_seconds"] for found in spans}) <= 4
        assert len({found["verdict"]["silent_seconds"] for found in spans}) >= 2
        gate.write_text("on\n")
        wait_until(lambda: "4/10" in Path(told["workers"][0]["log"]).read_text())
        assert looked_after(2.0)["progress"]["step"] == 4
        os.kill(told["workers"][0]["pid"], signal.SIGKILL)
        wait_until(lambda: looked_after(2.0)["state"] == "ended")
        watch.end()


def test_where_every_job_is_as_it_was_proofs_are_written_less_often_and_a_line_at_once(
    home: Path, tmp_path: Path
) -> None:
    """What only moves the time of a piece of evidence waits longer than numbers do; what the log says waits for
    nothing."""
    clock, gate = Ahead(), tmp_path / "gate"
    os.mkfifo(gate)
    argv = ["sh", "-c", f"echo step 3/10; read line < {gate}; echo step 4/10; exec sleep 600"]
    with open_store(str(home)) as store:
        ref = assemble.start_run(
            store, clock, argv, name="t", workers=1, gpus=None, env=(), cwd=None, expect=Expectation(workers=1)
        )
        watch = assemble.watch(store, clock, who="test", every=1.0, write_every=3.0)
        watch.begin()

        looked_after = looker(store, clock, watch, ref)
        told = wait_until(
            lambda: (found := looked_after(1.0))["verdict"] and found["verdict"]["silent_seconds"] > 20.0 and found
        )
        evidence = {looked_after(1.0)["confirmed_at"] for _ in range(28)}
        assert 3 <= len(evidence) <= 7
        gate.write_text("on\n")
        wait_until(lambda: "4/10" in Path(told["workers"][0]["log"]).read_text())
        clock.by += 3.0
        assert looked_after(1.0)["progress"]["step"] == 4
        os.kill(told["workers"][0]["pid"], signal.SIGKILL)
        wait_until(lambda: looked_after(1.0)["state"] == "ended")
        watch.end()


def test_the_most_memory_that_an_idle_job_held_is_not_missed_between_two_descriptions(
    home: Path, tmp_path: Path
) -> None:
    """What its processes hold is added up at every poll, also while nothing else of it is looked at."""
    clock, gate = Ahead(), tmp_path / "gate"
    os.mkfifo(gate)
    held = f"print('step 3/10', flush=True); open({str(gate)!r}).read(); held = b'x' * (150 << 20)\n"
    freed = f"open({str(gate)!r}).read(); del held; open({str(gate)!r}).read()\n"
    with open_store(str(home)) as store:
        ref = assemble.start_run(
            store,
            clock,
            [sys.executable, "-I", "-S", "-c", held + freed],
            name="t",
            workers=1,
            gpus=None,
            env=(),
            cwd=None,
            expect=Expectation(workers=1),
        )
        watch = assemble.watch(store, clock, who="test", every=1.0)
        watch.begin()

        looked_after = looker(store, clock, watch, ref)
        told = wait_until(
            lambda: (found := looked_after(1.0))["verdict"] and found["verdict"]["silent_seconds"] > 20.0 and found
        )
        pid = told["workers"][0]["pid"]
        gate.write_text("on\n")
        wait_until(lambda: resident(pid) > 150 << 20)
        looked_after(1.0)
        gate.write_text("on\n")
        wait_until(lambda: resident(pid) < 100 << 20)
        assert wait_until(lambda: (looked_after(10.0)["spent"] or {}).get("memory_peak_bytes", 0) > 150 << 20)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: looked_after(1.0)["state"] == "ended")
        watch.end()


def looker(store, clock: Ahead, watch, ref) -> Callable[[float], dict]:
    """What looks so many seconds later, and returns what is then known of the job."""

    def looked_after(seconds: float) -> Any:
        clock.by += seconds
        watch.step()
        return jobs.documents(store, refs=[ref])[0]

    return looked_after


def resident(pid: int) -> int:
    """Bytes of memory that a process holds now."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
