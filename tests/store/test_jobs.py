"""What is read of jobs is what was written, and words find them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dogwatch.errors import NoSuchJob, UsageError
from dogwatch.model import (
    Ended,
    Evidence,
    Expectation,
    Finding,
    Known,
    Level,
    Missing,
    Outcome,
    Place,
    Running,
    State,
    Waiting,
)
from dogwatch.store.rows import events, findings, jobs, places, tick
from dogwatch.store.rows.places import add_place
from dogwatch.store.rows.registration import forget, register
from dogwatch.store.sqlite.location import open_store
from dogwatch.wire.documents.job import JobDocument
from tests.store.sample import NOW, ended, filled, job, numbered, running

HOSTILE = ["\x1b[2J\nname", "nul\0nul", "lone \udc80\udcff", "\ud83d\ude00 apart", "\x1a\\x41", "é🙂", "x" * 1_000_000]


def test_a_job_document_has_every_key_before_the_first_look(home: Path) -> None:
    """A job that was never looked at has a null state and all the keys that interfaces rely on."""
    store = open_store(str(home))
    register(store, job(submitted=NOW), NOW, 1.0)
    document: Any = jobs.documents(store)[0]
    assert sorted(document) == sorted(JobDocument.__required_keys__)
    assert (document["state"], document["outcome"], document["attempts"]) == (None, None, 0)
    assert document["submitted"] == "2027-01-15T08:00:00.000Z"
    json.dumps(document, allow_nan=False)


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_hostile_text_is_kept_to_the_character(home: Path, text: str) -> None:
    """Escape codes, NUL, lone surrogates and a megabyte come back as they went in, wherever they were put."""
    store = open_store(str(home))
    register(store, job(ref=f"here/process:{text}", id=text, name=text, description=text), NOW, 1.0)
    ref = f"here/process:{text}"
    known = Known(Running(NOW), NOW, text, text, text, 1, NOW)
    happened = tick.Event("job.state", text, ref=ref)
    finding = Finding(ref, "rule", Level.INFO, text, what=text)
    tick.commit(store, tick.Tick(NOW, 1.0, jobs=(tick.JobUpdate(ref, known),), events=(happened,), opened=(finding,)))
    document: Any = jobs.documents(store, refs=[ref])[0]
    assert {document[key] for key in ("id", "name", "description", "native", "reason")} == {text}
    assert jobs.brief(store)[0]["name"] == text
    assert events.read(store, ref=ref)[-1]["text"] == text
    assert findings.open_findings(store)[0] == finding
    assert tick.load(store, "here")[0].known == known
    assert jobs.resolve(store, ref) == [ref]


@pytest.mark.parametrize(
    "state",
    [
        None,
        Waiting("Priority"),
        Running(5.5, "node7"),
        Missing(7.0),
        Ended(Outcome.OUT_OF_MEMORY, None, 9, 8.0, "killed"),
    ],
)
def test_what_is_known_comes_back_equal(home: Path, state: State | None) -> None:
    """Every variant of a state survives the store with all it carries."""
    store = open_store(str(home))
    register(store, job(), NOW, 1.0)
    known = Known(state, 5.0, "NATIVE", "why", "a2", 2, 6.0, (Evidence("sacct", "says so", 6.0),))
    tick.commit(store, tick.Tick(NOW, 1.0, jobs=(tick.JobUpdate("here/process:1", known),)))
    tracked = tick.load(store, "here")
    assert [one.known for one in tracked] == ([] if isinstance(state, Ended) else [known])
    document: Any = jobs.documents(store, everything=True)[0]
    outcome = ("out_of_memory", 9) if isinstance(state, Ended) else (None, None)
    assert (document["outcome"], document["signal"]) == outcome


def test_a_job_and_its_expectation_come_back_equal(home: Path) -> None:
    """What the user said of a job is what the watcher loads."""
    store = open_store(str(home))
    expect = Expectation(
        4, ("/l/*.log",), ("/o",), ("/c/*",), 1000, 30.0, 5.0, 1.0, {"step": r"(\d+)"}, (("critical", "x"),)
    )
    one = job(track={"run": "/r", "pids": [[1, 2, "b"]]}, expect=expect, submitted=NOW)
    register(store, one, NOW, 1.0)
    assert [tracked.job for tracked in tick.load(store, "here")] == [one]
    assert tick.load(store, "elsewhere") == []


def test_numbers_that_no_cell_holds_do_not_stop_a_tick(home: Path) -> None:
    """NaN, infinities and integers beyond 64 bits become unknown instead of failing the commit."""
    store = open_store(str(home))
    register(store, job(), NOW, 1.0)
    known = Known(Ended(Outcome.FAILED, 2**70), float("inf"), confirmed_at=-0.0)
    progress: Any = {"step": float("nan"), "rate": [float("-inf"), 2**70]}
    update = tick.JobUpdate("here/process:1", known, progress=progress)
    tick.commit(store, tick.Tick(NOW, 1.0, jobs=(update,)))
    document: Any = jobs.documents(store, everything=True)[0]
    assert (document["exit_code"], document["since"]) == (None, None)
    assert document["progress"] == {"step": None, "rate": [None, 2**70]}


def test_ls_shows_what_has_not_ended_and_all_shows_what_is_not_forgotten(home: Path) -> None:
    """Ended jobs leave the short list, forgotten ones both; the newest comes first."""
    store = filled(home)
    forget(store, "here/process:2", NOW, 1.0)
    active = [f"here/process:{n}" for n in (4, 3, 1)]
    assert [row["ref"] for row in jobs.brief(store)] == active
    assert [row["ref"] for row in jobs.documents(store)] == active
    everybody = active + [f"here/process:{n}" for n in (8, 7, 6, 5)]
    assert [row["ref"] for row in jobs.brief(store, everything=True)] == everybody
    assert [row["ref"] for row in jobs.documents(store, everything=True)] == everybody
    assert [row["ref"] for row in jobs.documents(store, refs=["here/process:2", "nobody"])] == ["here/process:2"]


def test_a_short_row_carries_progress_and_the_worst_finding(home: Path) -> None:
    """What ls prints needs no second question."""
    store = filled(home)
    critical = Finding("here/process:1", "worse", Level.CRITICAL, "now")
    progress: Any = {"step": 5, "total": 10, "unit": "it", "fraction": 0.5, "rate": 2.0, "at": NOW}
    eta: Any = {"remaining_seconds": 2.5, "at": NOW + 2.5}
    update = tick.JobUpdate("here/process:1", running(), progress=progress, eta=eta)
    tick.commit(store, tick.Tick(NOW, 1.0, jobs=(update,), opened=(critical,)))
    row = next(row for row in jobs.brief(store) if row["ref"] == "here/process:1")
    assert (row["findings"], row["worst"]) == (2, "critical")
    assert (row["step"], row["total"], row["unit"], row["fraction"], row["rate"]) == (5, 10, "it", 0.5, 2.0)
    assert (row["remaining_seconds"], row["eta_at"]) == (2.5, NOW + 2.5)
    document: Any = jobs.documents(store, refs=["here/process:1"])[0]
    assert document["eta"]["at"] == "2027-01-15T08:00:02.500Z"
    assert [one["rule"] for one in document["findings"]] == ["numbered", "worse"]


def test_words_find_a_job_from_the_exact_to_the_vague(home: Path) -> None:
    """An exact ref, a unique beginning, an id, a name, a unique beginning of one, then words within."""
    store = open_store(str(home))
    register(store, job(1, name="llama sft", description="third try"), NOW, 1.0)
    register(store, job(2, name="llama dpo"), NOW, 1.0)
    register(store, job(12, name="evals"), NOW, 1.0)
    tick.commit(store, tick.Tick(NOW, 1.0, jobs=(tick.JobUpdate("here/process:2", ended()),)))
    one, two, twelve = (f"here/process:{n}" for n in (1, 2, 12))
    for words, found in [
        (one, [one]),
        ("here/process:12", [twelve]),
        ("1", [one]),
        ("evals", [twelve]),
        ("ev", [twelve]),
        ("llama", [one, two]),
        (["DPO", "llama"], [two]),
        ("third", [one]),
        ("here/process", [twelve, one, two]),
        ("nothing", []),
        ("", []),
    ]:
        assert jobs.resolve(store, words) == found, words


def test_a_watched_job_is_not_registered_twice(home: Path) -> None:
    """The second time is a usage error that leaves no trace; so is the same job under another ref."""
    store = open_store(str(home))
    register(store, job(submitted=NOW), NOW, 1.0)
    with pytest.raises(UsageError, match="watched already"):
        register(store, job(), NOW, 1.0)
    with pytest.raises(UsageError, match="same job"):
        register(store, job(ref="here/process:other", submitted=NOW), NOW, 1.0)
    with pytest.raises(UsageError, match="no place named 'moon'"):
        register(store, job(2, place="moon"), NOW, 1.0)
    assert len(events.read(store)) == len(jobs.documents(store)) == 1


def test_a_forgotten_job_may_come_back_with_its_history(home: Path) -> None:
    """Its row starts anew, what stood open about it is closed, and its events are all still there."""
    store = open_store(str(home))
    register(store, job(), NOW, 1.0)
    tick.commit(store, numbered(1))
    forget(store, "here/process:1", NOW, 1.0)
    assert jobs.resolve(store, "train-1") == []
    assert findings.open_findings(store) == []
    with pytest.raises(NoSuchJob):
        forget(store, "here/process:1", NOW, 1.0)
    register(store, job(name="again"), NOW, 1.0)
    document: Any = jobs.documents(store)[0]
    assert (document["name"], document["state"], document["progress"]) == ("again", None, None)
    kinds = [event["kind"] for event in events.read(store, ref="here/process:1")]
    assert kinds == ["job.added", "job.state", "finding.closed", "job.forgotten", "job.added"]


def test_a_job_forgotten_during_a_tick_stays_forgotten(home: Path) -> None:
    """The tick that was under way writes the rest of what it saw."""
    store = filled(home)
    forget(store, "here/process:1", NOW, 1.0)
    tick.commit(store, numbered(9))
    assert "here/process:1" not in {row["ref"] for row in jobs.documents(store, everything=True)}


def test_a_place_tells_since_when_it_is_dark(home: Path) -> None:
    """Unreachable looks keep the time of the first of them and prove nothing; a seen one ends it."""
    store = open_store(str(home))
    add_place(store, Place("box", "ssh", {"host": "box"}, 5.0))
    for at, seen in ((1.0, True), (2.0, False), (3.0, False)):
        tick.commit(store, tick.Tick(at, at, places=(tick.PlaceUpdate("box", at, seen, "" if seen else "no route"),)))
    here, box = places.places(store)
    assert (here["name"], here["polls"]) == ("here", 0)
    assert (box["answered_at"], box["unreachable_since"]) == ("1970-01-01T00:00:01.000Z", "1970-01-01T00:00:02.000Z")
    assert (box["unreachable_why"], box["polls"], box["failed_polls"]) == ("no route", 3, 2)
    tick.commit(store, tick.Tick(4.0, 4.0, places=(tick.PlaceUpdate("box", 4.0, True),)))
    assert places.places(store)[1]["unreachable_since"] is None
    add_place(store, Place("box", "ssh", {"host": "box2"}, 9.0))
    assert (places.places(store)[1]["floor"], places.places(store)[1]["polls"]) == (9.0, 4)


def test_a_removed_place_takes_no_job_until_it_is_added_again(home: Path) -> None:
    """Nobody would ever look there, so it is refused in one sentence that says how to get it back."""
    with open_store(str(home)) as store:
        add_place(store, Place("hpc", "removed", {"ssh": "hpc"}, 60.0))
        with pytest.raises(UsageError, match="The host hpc was removed: `dogwatch host add hpc`"):
            register(store, job(7, place="hpc"), NOW, 1.0)
        assert jobs.documents(store, everything=True) == []
        add_place(store, Place("hpc", "ssh", {"ssh": "hpc"}, 60.0))
        register(store, job(7, place="hpc"), NOW, 1.0)
        assert [one["place"] for one in jobs.documents(store)] == ["hpc"]
