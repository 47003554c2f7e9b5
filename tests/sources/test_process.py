"""The process source: what the probe's answer means, told apart as finely as the evidence allows."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import convert

from dogwatch.model import Ended, Expectation, Job, Known, Observation, Outcome, Running, Waiting
from dogwatch.sources.process import source
from dogwatch.wire.sections import ProcessSection

REF = "here/process:train-1"
BOOT = "b00t"
NOW = 1000.0


def kept_job(workers: int = 1) -> Job:
    track = {"run": "/runs/train-1", "logs": [f"/runs/train-1/worker-{i}.log" for i in range(workers)], "gpus": []}
    return Job(REF, "here", "process", "train-1", "train", track=track, expect=Expectation(workers=workers))


def attached_job(**track: Any) -> Job:
    return Job(REF, "here", "process", "train-1", "train", track=track)


def process(doing: str = "sleeping", **more: Any) -> dict[str, Any]:
    unknown = dict.fromkeys(("exit", "oom", "kernel_log", "children", "threads", "uid", "command"))
    told = {"pid": 42, "doing": doing, "start": 7, "boot": BOOT, "started": 900.0, "cpu": 3.0, "rss": 10}
    return {**unknown, **told, **more}


def section(run: Any = None, processes: Any = (), find: Any = None) -> ProcessSection:
    """The probe's answer about one job."""
    runs = {REF: {"spec_workers": None, "abandoned": False, **run}} if run else {}
    body = {"ok": True, "runs": runs, "pids": {REF: list(processes)}, "find": {REF: find} if find else {}}
    return convert(body, ProcessSection)


def entry(index: int = 0, *, end: dict[str, Any] | None = None, process: Any = None, start: Any = True) -> Any:
    begun = {"pid": 42 + index, "start": 7, "boot": BOOT, "at": 900.0} if start is True else start
    return {"index": index, "start": begun, "end": end, "process": process}


def read_kept(*workers: Any, supervisor_alive: bool = True, job: Job | None = None) -> Observation | None:
    run = {"supervisor": {"pid": 1}, "supervisor_alive": supervisor_alive, "workers": list(workers), "problem": None}
    job = job or kept_job(len(workers))
    asked, seen = source.read(section(run), [job], {REF: Known()}, NOW)
    assert asked == {REF}
    return seen.get(REF)


def read_attached(job: Job, *processes: Any, find: Any = None) -> Observation:
    return source.read(section(None, processes, find), [job], {REF: Known()}, NOW)[1][REF]


def ended(code: int | None, signal: int | None = None, **oom: Any) -> dict[str, Any]:
    return {"at": 950.0, "code": code, "signal": signal, "oom": oom}


@pytest.mark.parametrize(
    ("end", "outcome", "words"),
    [
        (ended(0), Outcome.SUCCEEDED, ""),
        (ended(3), Outcome.FAILED, "exit code 3"),
        (ended(None, 11), Outcome.FAILED, "killed by SIGSEGV"),
        (ended(None, 9), Outcome.FAILED, "sender and reason unknown"),
        (ended(137), Outcome.FAILED, "a program may also exit with that number itself"),
        (ended(None, 9, kernel_log="Killed process 42 (python)"), Outcome.OUT_OF_MEMORY, "Killed process 42"),
        (ended(None, 9, counter=1, log_read=False), Outcome.OUT_OF_MEMORY, "oom_kill counter"),
        (ended(None, 9, counter=1, log_read=True), Outcome.FAILED, "sender and reason unknown"),
        (ended(None, 15, counter=1, log_read=False), Outcome.FAILED, "SIGTERM"),
    ],
)
def test_how_a_kept_worker_ended_is_told_apart(end: dict[str, Any], outcome: Outcome, words: str) -> None:
    """Exit code, signal, lack of memory with evidence, and a kill without any are four different things."""
    observation = read_kept(entry(end=end))
    assert observation is not None
    assert isinstance(observation.state, Ended)
    assert observation.state.outcome is outcome
    assert words in observation.state.reason
    assert observation.state.at == 950.0
    assert observation.evidence[0].by == "supervisor"


def test_a_job_runs_while_one_worker_does_and_ends_as_its_worst_one_did() -> None:
    """One survivor keeps it running; then the failure counts, not the successes."""
    running = read_kept(entry(0, end=ended(1)), entry(1, process=process()))
    assert running is not None
    assert running.state == Running(since=900.0, where="here")
    over = read_kept(entry(0, end=ended(0)), entry(1, end=ended(2)), entry(2, end=ended(0)))
    assert over is not None
    assert isinstance(over.state, Ended)
    assert (over.state.outcome, over.state.exit_code) == (Outcome.FAILED, 2)
    assert over.state.reason == "worker 1: exit code 2"


def test_a_worker_between_its_end_and_its_record_is_not_judged() -> None:
    """The supervisor lives and is about to write: the job is not listed rather than given an ending."""
    assert read_kept(entry(process=process("gone"))) is None


def test_a_worker_whose_supervisor_was_killed_lives_on_and_ends_unknown() -> None:
    """Nobody saw its exit code, so nobody may claim one."""
    alive = read_kept(entry(process=process()), supervisor_alive=False)
    assert alive is not None
    assert isinstance(alive.state, Running)
    gone = read_kept(entry(process=process("gone")), supervisor_alive=False)
    assert gone is not None
    assert isinstance(gone.state, Ended)
    assert gone.state.outcome is Outcome.UNKNOWN
    assert "supervisor was killed" in gone.state.reason


def test_a_run_without_a_supervisor_yet_is_waiting() -> None:
    """Registered, not started: neither running nor failed."""
    run = {"supervisor": None, "supervisor_alive": False, "workers": [entry(start=None)], "problem": None}
    _, seen = source.read(section(run), [kept_job()], {REF: Known()}, NOW)
    assert isinstance(seen[REF].state, Waiting)


def test_a_run_directory_that_cannot_be_read_says_nothing_of_the_job() -> None:
    """A problem with the records is not an ending: the job keeps what was known."""
    run: dict[str, Any] = {
        "supervisor": None,
        "supervisor_alive": False,
        "workers": [],
        "problem": "/runs/train-1: Permission denied",
    }
    asked, seen = source.read(section(run), [kept_job()], {REF: Known()}, NOW)
    assert (asked, seen) == (frozenset(), {})


def test_a_foreign_worker_that_vanished_ended_and_nobody_knows_how() -> None:
    """Never success, whatever its log said last."""
    job = attached_job(workers=[[42, 7, BOOT]])
    state = read_attached(job, process("gone")).state
    assert isinstance(state, Ended)
    assert state.outcome is Outcome.UNKNOWN


def test_a_restart_of_the_machine_ends_its_processes() -> None:
    """Another boot id proves that they are gone, and nothing more."""
    state = read_attached(attached_job(workers=[[42, 7, "old"]]), process("gone", rebooted=True)).state
    assert isinstance(state, Ended)
    assert "restarted" in state.reason


def test_a_hidden_process_is_not_a_dead_one() -> None:
    """What may not be seen is taken to run on."""
    assert isinstance(read_attached(attached_job(workers=[[42, 7, BOOT]]), process("hidden")).state, Running)


def test_what_a_zombie_showed_is_remembered_after_it_was_reaped() -> None:
    """The exit status of a zombie is evidence that is gone a moment later."""
    job = attached_job(workers=[[42, 7, BOOT], [43, 8, BOOT]])
    first = read_attached(job, process("zombie", exit=3 << 8), process())
    assert isinstance(first.state, Running)
    assert first.track is not None
    later = read_attached(attached_job(**first.track), process("gone"), process("gone"))
    assert [worker.exit_code for worker in later.workers] == [3, None]


def test_workers_are_gathered_until_all_are_there() -> None:
    """Found ones are kept by identity, so that the rest can come later."""
    job = attached_job(find={"name": "train", "want": 2})
    none_yet = read_attached(job, find={"workers": [], "process": [], "problem": None})
    assert none_yet.state == Waiting("no worker yet of 2")
    one = read_attached(job, find={"workers": [[42, 7, BOOT]], "process": [process()], "problem": None})
    assert isinstance(one.state, Running)
    assert one.track is not None
    assert one.track["workers"] == [[42, 7, BOOT]]
    assert one.evidence[0].says == "1 of 1 workers found"


def test_gathering_stops_when_the_launch_is_long_over() -> None:
    """A process of the same name next week is somebody else's."""
    job = attached_job(find={"name": "train", "want": 2}, workers=[[42, 7, BOOT]])
    early, late = Known(state=Running(), since=990.0), Known(state=Running(), since=100.0)
    assert REF in source.ask([job], {REF: early}, NOW).to_request()["process"]["find"]
    assert REF not in source.ask([job], {REF: late}, NOW).to_request()["process"]["find"]


def test_a_run_that_nobody_is_left_to_start_has_failed():
    """No supervisor, and the one who should have started it is gone: nothing ran, and nothing will."""
    run = {
        "supervisor": None,
        "supervisor_alive": False,
        "workers": [entry(start=None), entry(1, start=None)],
        "problem": None,
    }
    job = kept_job(2)
    for abandoned, ended in ((False, False), (True, True)):
        seen = source.read(section({**run, "abandoned": abandoned}), [job], {REF: Known()}, NOW)[1][REF]
        assert isinstance(seen.state, Ended if ended else Waiting)
    assert isinstance(seen.state, Ended)
    assert (seen.state.outcome, seen.state.exit_code, seen.native) == (Outcome.FAILED, None, "never started")
    assert "never started: the command" in seen.reason
    assert [(one.doing, one.outcome) for one in seen.workers] == [("gone", Outcome.FAILED)] * 2
