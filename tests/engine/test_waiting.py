"""Numbers that move with every look may be written a little later; what happened never is."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from dogwatch import assemble
from dogwatch.model import Expectation
from dogwatch.store import jobs
from dogwatch.store.database import open_store
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

        def job() -> dict:
            return jobs.documents(store, refs=[ref])[0]

        def looked_after(seconds: float) -> dict:
            clock.by += seconds
            watch.step()
            return job()

        first = wait_until(lambda: (found := looked_after(2.0))["state"] == "running" and found)
        assert looked_after(2.0)["proved_at"] == first["proved_at"]
        assert wait_until(lambda: looked_after(2.0)["proved_at"] > first["proved_at"]), "a memory is saved in time"
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

        def looked_after(seconds: float) -> dict:
            clock.by += seconds
            watch.step()
            return jobs.documents(store, refs=[ref])[0]

        wait_until(lambda: looked_after(2.0)["progress"])
        told = wait_until(lambda: (found := looked_after(2.0))["verdict"]["silent_seconds"] > 30.0 and found)
        spans = [looked_after(2.0) for _ in range(12)]
        assert len({found["proved_at"] for found in spans} | {told["proved_at"]}) == 13
        assert 2 <= len({found["workers"][0]["uptime_seconds"] for found in spans}) <= 4
        assert len({found["verdict"]["silent_seconds"] for found in spans}) >= 2
        gate.write_text("on\n")
        wait_until(lambda: "4/10" in Path(told["workers"][0]["log"]).read_text())
        assert looked_after(2.0)["progress"]["step"] == 4
        os.kill(told["workers"][0]["pid"], signal.SIGKILL)
        wait_until(lambda: looked_after(2.0)["state"] == "ended")
        watch.end()
