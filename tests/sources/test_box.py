"""Runs on machines without a scheduler: what records, sessions, processes and markers mean together."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dogwatch.model import Ended, Job, Known, Observation, Outcome, Running, Waiting
from dogwatch.sources.box import source
from dogwatch.wire.answer import Malformed, checked
from dogwatch.wire.box import BoxSection

NOW = 1_800_000_000.0
BOOT, OTHER_BOOT, MACHINE = "boot-a", "boot-b", "a" * 32
NOT_KNOWN = Known()
SPEC = {"run": "two-1", "stages": [{"name": "train"}, {"name": "eval"}], "on_reboot": "resume"}


def process(pid: int, doing: str = "sleeping", **more: Any) -> dict[str, Any]:
    names = ("started", "cpu", "rss", "children", "threads", "uid", "command", "exit", "oom", "kernel_log")
    return dict.fromkeys(names) | {"pid": pid, "doing": doing, "start": 100 + pid, "boot": BOOT} | more


def claim(pid: int, attempt: int = 1, **more: Any) -> dict[str, Any]:
    return {"pid": pid, "start": 100 + pid, "boot": BOOT, "attempt": attempt, "at": NOW - 100, **more}


def machine(**more: Any) -> dict[str, Any]:
    known = {"id": MACHINE, "wall": NOW, "boot": BOOT, "init_start": 1, "cpus": 8, "quota": None, "load": 0.1}
    return known | more


def poll(track: dict[str, Any], row: dict[str, Any], known: Known = NOT_KNOWN, **more: Any) -> Observation | None:
    """What the source says after this answer, which is checked as one of a host is."""
    job = Job("gpu/box:two-1", "gpu", "box", "two-1", "two", track=track)
    body = {"box": {"ok": True, "machine": machine(**more), "tmux": {"asked": True}, "rows": {job.ref: row}}}
    section = checked(body).section("box")
    assert isinstance(section, BoxSection)
    asked, observations = source.read(section, [job], {job.ref: known}, NOW)
    blind = source.blind(section, [job])
    assert (job.ref in asked) is not (job.ref in blind)
    if blind:
        raise LookupError(blind[job.ref])
    return observations.get(job.ref)


def chain(processes: list[dict[str, Any]], known: Any = NOT_KNOWN, **records: Any) -> Observation:
    """A poll of a chain of two stages with these records and processes."""
    more = {name: records.pop(name) for name in ("id", "wall", "boot", "init_start") if name in records}
    names = {"spec": "spec.json", "owner": "lock/owner.json", "one": "attempt-1.json", "two": "attempt-2.json"}
    names |= {"start0": "stage-0.start.json", "start1": "stage-1.start.json", "done0": "stage-0.done"}
    names |= {"done1": "stage-1.done", "end0": "stage-0.end.json", "end1": "stage-1.end.json", "end": "end.json"}
    texts = {names[name]: json.dumps(record) for name, record in {"spec": SPEC, **records}.items()}
    row = {"processes": processes, "chain": {"there": True, "problem": None, "texts": texts}}
    observation = poll({"chain": "/w/two-1"}, row, known, **more)
    assert observation is not None
    return observation


ALIVE = {"owner": claim(1), "one": claim(1, machine=MACHINE), "start0": claim(2)}
DONE = {"code": 0, "attempt": 1, "started": NOW - 90, "ended": NOW - 50}


def states(observation: Observation) -> list[str]:
    assert observation.facts is not None
    return [stage.state for stage in observation.facts.stages]


def test_a_chain_is_at_the_stage_that_its_records_and_processes_show() -> None:
    """The log is that of the stage, from where this attempt began to write it."""
    seen = chain([process(1), process(2)], **{**ALIVE, "start0": claim(2, log_from=70)})
    assert isinstance(seen.state, Running)
    assert (seen.native, seen.attempt, states(seen)) == ("stage train (1 of 2)", "two-1:1", ["running", "waiting"])
    assert seen.facts is not None
    assert (seen.facts.logs, dict(seen.facts.log_starts)) == (("/w/two-1/stage-0.log",), {"/w/two-1/stage-0.log": 70})


def test_a_chain_has_succeeded_only_with_every_marker_and_without_a_process() -> None:
    """Neither its own word without a marker nor all markers with a process that lives are an end that is good."""
    end = {"attempt": 1, "code": 0, "why": "done", "at": NOW}
    gone = [process(1, "gone"), process(2, "gone")]
    whole = {**ALIVE, "done0": DONE, "done1": DONE, "end": end}
    assert chain(gone, **whole).state == Ended(Outcome.SUCCEEDED, 0, at=NOW)
    assert isinstance(chain([process(1), process(2, "gone")], **whole).state, Running)
    without = chain(gone, **{**ALIVE, "done0": DONE, "end": end}).state
    assert isinstance(without, Ended)
    assert without.outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("more", "records", "outcome", "reason"),
    [
        ({}, {}, Outcome.FAILED, "its supervisor was killed during stage train (1 of 2)"),
        ({"boot": OTHER_BOOT}, {}, Outcome.NODE_FAILED, "the box was rebooted during stage train (1 of 2)"),
        ({"init_start": 5000}, {}, Outcome.NODE_FAILED, "the container was restarted during stage train (1 of 2)"),
        ({"id": "b" * 32}, {}, Outcome.NODE_FAILED, "lost: another machine answers at this address"),
        (
            {},
            {"end0": {"attempt": 1, "code": 137, "signal": 9}, "end": {"attempt": 1, "why": "failed"}},
            Outcome.FAILED,
            "stage train (1 of 2): killed by signal 9",
        ),
        ({}, {"end": {"attempt": 1, "why": "cancelled"}}, Outcome.CANCELLED, "cancelled with dogwatch cancel"),
    ],
)
def test_what_ended_a_chain_is_told_apart(
    more: dict[str, Any], records: dict[str, Any], outcome: Outcome, reason: str
) -> None:
    """A reboot, a restarted container, another machine, a signal, a person, and a supervisor that was killed."""
    state = chain([process(1, "gone"), process(2, "gone")], **ALIVE, **records, **more).state
    assert isinstance(state, Ended)
    assert (state.outcome, state.reason.startswith(reason)) == (outcome, True), state.reason


def test_a_chain_that_resumes_by_itself_is_waited_for_and_is_the_next_attempt() -> None:
    """Its ending is not settled for a while after the reboot; then it is."""
    gone = [process(1, "gone"), process(2, "gone")]
    ended = Known(Ended(Outcome.NODE_FAILED), since=NOW - 10)
    assert not chain(gone, ended, **ALIVE, boot=OTHER_BOOT).settled
    late = Known(Ended(Outcome.NODE_FAILED), since=NOW - 7200)
    assert chain(gone, late, **ALIVE, boot=OTHER_BOOT).settled
    again = {**ALIVE, "two": claim(7, 2, boot=OTHER_BOOT), "owner": claim(7, boot=OTHER_BOOT)}
    seen = chain([process(7, boot=OTHER_BOOT)], **again, boot=OTHER_BOOT)
    assert (seen.attempt, seen.restarts, type(seen.state)) == ("two-1:2", 1, Running)


@pytest.mark.parametrize("hours", [-30, -5, 5, 30])
def test_a_clock_that_is_hours_off_changes_no_verdict(hours: int) -> None:
    """Only differences on the clock of the machine count."""
    off = 3600.0 * hours
    whole = {**ALIVE, "done0": DONE, "done1": DONE, "end": {"attempt": 1, "code": 0, "why": "done", "at": NOW + off}}
    gone = [process(1, "gone"), process(2, "gone")]
    assert isinstance(chain([process(1), process(2)], **ALIVE, wall=NOW + off).state, Running)
    state = chain(gone, **whole, wall=NOW + off).state
    assert isinstance(state, Ended)
    assert state.outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("start0", {"pid": -4}, "stage-0.start.json is not a record: Expected `int` >= 0 - at `$.pid`"),
        ("spec", {"stages": "all"}, "spec.json is not a record: Expected `array`, got `str` - at `$.stages`"),
        ("end", [], "end.json is not a record: Expected `object`, got `array`"),
        ("done0", {"code": 1e300}, "stage-0.done is not a record"),
    ],
)
def test_a_record_that_does_not_fit_blinds_that_run_alone(name: str, text: object, said: str) -> None:
    """The file and the field are named, and no verdict follows from it."""
    with pytest.raises(LookupError, match=r"is not a record") as refused:
        chain([process(1)], **{**ALIVE, name: text})
    assert said in str(refused.value)


def test_a_run_directory_that_is_gone_is_missing_and_one_on_its_way_waits() -> None:
    """Nothing follows from a directory that is not there, unless the machine is another one."""
    row = {"processes": [], "chain": {"there": False, "problem": None, "texts": {}}}
    assert poll({"chain": "/w/two-1", "machine": MACHINE}, row) is None
    waiting = poll({"chain": "~/two-1", "sending": "abc"}, row)
    assert waiting is not None
    assert waiting.state == Waiting("being sent")
    lost = poll({"chain": "/w/two-1", "machine": MACHINE}, row, id="b" * 32)
    assert lost is not None
    assert (lost.native, lost.is_other) == ("lost", True)


def marked(*files: tuple[str, float]) -> dict[str, Any]:
    newest = [{"path": path, "size": 0, "mtime": at} for path, at in files]
    return {"count": len(newest), "bytes": 0, "capped": False, "newest": newest, "unreadable": {}}


def session(**more: Any) -> dict[str, Any]:
    pane = {"dead": False, "status": None, "command": "python3", "process": process(5, children=2)} | more
    return {"name": "train", "created": NOW - 100, "panes": [pane]}


TMUX = {"tmux": "train", "markers": ["/w/TRAIN_DONE", "/w/EVAL_DONE"]}
KNOWN = TMUX | {"seen": True, "created": NOW - 100, "began": NOW - 100, "machine": MACHINE, "boot": BOOT}
BOTH = (("/w/TRAIN_DONE", NOW - 50), ("/w/EVAL_DONE", NOW - 5))


def test_a_marker_of_an_earlier_run_does_not_count_until_it_is_written_again() -> None:
    """A file that was there before the run began says nothing of it."""
    old = marked(("/w/TRAIN_DONE", NOW - 5000), ("/w/EVAL_DONE", NOW - 4000))
    first = poll(TMUX, {"processes": [], "session": session(), "markers": old})
    assert first is not None
    assert states(first) == ["running", "waiting"]
    assert first.track is not None
    after = poll(dict(first.track), {"processes": [process(5, "gone")], "markers": old})
    assert after is not None
    assert isinstance(after.state, Ended)
    assert after.state.outcome is Outcome.FAILED
    again = poll(dict(first.track), {"processes": [process(5, "gone")], "markers": marked(*BOTH)})
    assert again is not None
    assert isinstance(again.state, Ended)
    assert again.state.outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize(
    ("pane", "marks", "running"),
    [
        ({}, BOTH, True),  # something still runs in it
        ({"command": "bash", "process": process(5, children=0)}, BOTH, False),  # a shell that waits for a command
        ({"command": "bash", "process": process(5, children=0)}, BOTH[:1], True),
        ({"dead": True, "status": 0, "process": None}, BOTH, False),
    ],
)
def test_a_session_is_over_when_nothing_runs_in_it_and_the_last_marker_is_there(
    pane: dict[str, Any], marks: tuple[tuple[str, float], ...], running: bool
) -> None:
    """A shell that was left open does not keep a finished run alive, and ends none that is not finished."""
    seen = poll(KNOWN, {"processes": [], "session": session(**pane), "markers": marked(*marks)})
    assert seen is not None
    assert isinstance(seen.state, Running) is running


def test_an_answer_that_is_not_what_it_should_be_is_refused_with_its_field() -> None:
    """The path of the field is named, and nothing of the answer is used."""
    wrong = {"ok": True, "machine": machine(cpus="many"), "rows": {}}
    with pytest.raises(Malformed, match=r"box\.machine\.cpus: Expected `int`, got `str`"):
        checked({"box": wrong})
    with pytest.raises(Malformed, match=r"unknown field `shell`"):
        checked({"box": {"ok": True, "rows": {"a": {"processes": [], "shell": "rm"}}}})


def decisions(observation: Observation | None) -> list[str]:
    assert observation is not None
    assert observation.facts is not None
    assert observation.facts.box is not None
    return [row.name for row in observation.facts.box.decisions]


def held(used: float, kills: int = 0) -> dict[str, Any]:
    return {"cgroup": "/box", "kills": kills, "used": int(used * 1e9), "limit": 10**9}


@pytest.mark.parametrize(
    ("row", "more", "track", "named"),
    [
        ({"session": session(process=process(5, children=1, oom=held(0.95)))}, {}, {}, ["memory_high"]),
        ({"session": session(process=process(5, children=1, oom=held(0.2, 3)))}, {}, {"kills": 1}, ["killed"]),
        (
            {"session": session(), "threads": {"count": 90, "running": 40, "processes": 9}},
            {"quota": 4.0},
            {},
            ["thread_storm"],
        ),
        (
            {"session": session(), "threads": {"count": 9, "running": 1, "processes": 1}},
            {"load": 60.0},
            {},
            ["noisy_neighbour"],
        ),
        ({"session": session(command="bash", process=process(5, children=0))}, {}, {}, ["session_idle"]),
        ({}, {}, {"expect_files": 3}, ["died", "incomplete"]),
        ({"markers": marked(*BOTH)}, {}, {}, ["done"]),
        ({}, {"boot": OTHER_BOOT}, {}, ["restarted"]),
        ({}, {"id": "b" * 32}, {}, ["lost"]),
        ({"session": session()}, {}, {}, []),
    ],
)
def test_each_row_of_the_decision_table_holds_for_what_it_names(
    row: dict[str, Any], more: dict[str, Any], track: dict[str, Any], named: list[str]
) -> None:
    """What is seen leads to the row that says so, and to no other."""
    counted = {"results": marked()} if "expect_files" in track else {}
    seen = poll(KNOWN | track, {"processes": [], "markers": marked(), **counted, **row}, **more)
    assert decisions(seen) == named
