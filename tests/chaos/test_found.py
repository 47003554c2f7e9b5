"""What the storm has found, each kept as the shortest way to see it again."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from dogwatch.clock import Clock
from dogwatch.model import Finding, Job, Known, Level, Notification, Running
from dogwatch.store.rows import events, findings, jobs, notifications
from dogwatch.store.rows import registration as register
from dogwatch.store.rows.tick import Event, JobUpdate, Tick, commit
from dogwatch.store.sqlite.location import open_store
from dogwatch.transport.interface import Answer
from dogwatch.transport.local import Here
from tests.support import wait_until

CROWD = 2000  # run directories, which take the probe long enough to read


def test_a_second_connection_in_one_process_does_not_cost_the_log(home, dogwatch):
    """`dogwatch wait` reads and watches at once; another command that leaves must not take its log along."""
    clock = Clock()
    job = Job("here/process:x-1", "here", "process", "x-1", "x")
    with open_store(str(home), readonly=True) as reader, open_store(str(home)) as writer:
        assert jobs.brief(reader) == []
        register.register(writer, job, clock.now(), clock.mono())
        left = dogwatch("patrol", "--json")
        assert json.loads(left.stdout)["polled"] == ["here"], left.stderr
        seq = register.forget(writer, job.ref, clock.now(), clock.mono())
        shown = dogwatch("events", "--json", "--since", "0")
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["events"][-1]["seq"] >= seq


def test_a_job_forgotten_during_a_look_has_no_history_after_that(home):
    """What the poll concluded of it is dropped whole: no state, no finding that nobody could resolve."""
    clock = Clock()
    job = Job("here/process:x-1", "here", "process", "x-1", "x")
    update = JobUpdate(job.ref, Known(state=Running(), since=1.0, attempts=1))
    with open_store(str(home)) as store:
        register.register(store, job, clock.now(), clock.mono())
        register.forget(store, job.ref, clock.now(), clock.mono())
        tick = Tick(at=clock.now(), mono=clock.mono(), jobs=(update,))
        said = Event("job.state", "new → running", ref=job.ref)
        finding = Finding(job.ref, "silent", Level.WARNING, "silent")
        notification = Notification("key", job.ref, Level.WARNING, "silent")
        commit(store, replace(tick, events=(said,), opened=(finding,), notifications=(notification,)))
        assert events.read(store)[-1]["kind"] == "job.forgotten"
        assert findings.open_findings(store) == []
        assert notifications.unrouted(store) == []


def test_a_supervisor_that_leaves_during_a_look_is_asked_for_its_last_word(home, dogwatch, tmp_path):
    """Its records are read, it writes the last one and goes, and then it is seen to be gone: not killed."""
    go = tmp_path / "go"
    script = f"while [ ! -e {go} ]; do sleep 0.01; done; exit 3"
    ref = dogwatch("run", "--detach", "--name", "last", "--", "sh", "-c", script).stdout.strip()
    run = home / "runs" / ref.partition(":")[2]
    crowd = tmp_path / "crowd"
    for number in range(CROWD):
        (crowd / str(number)).mkdir(parents=True)
        (crowd / str(number) / "spec.json").write_text('{"workers": 1}')
    # The hand begins with the second of its units, and is busy with the crowd while the run ends.
    runs = {"0": str(crowd / "0"), "it": str(run)} | {str(n): str(crowd / str(n)) for n in range(1, CROWD)}
    with closing(Here()) as transport, ThreadPoolExecutor(1) as asking:
        asked = asking.submit(transport.ask, {"process": {"runs": runs}}, 20.0)
        wait_until(lambda: _children(transport.pid), pause=0.001)
        go.touch()
        answer = asked.result()
    assert isinstance(answer, Answer)
    seen = answer.body["process"]["runs"]["it"]
    assert seen["supervisor_alive"] or seen["workers"][0]["end"] is not None


def _children(pid: int | None) -> str:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text() if pid else ""
