"""What is checked at the end of a job, and what it says of files that are missing, cut or not to be asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from dogwatch.clock import Clock
from dogwatch.logs.interface import INNER, PERCENT
from dogwatch.model import (
    Ended,
    Expectation,
    Facts,
    Finished,
    Job,
    Known,
    Observation,
    Outcome,
    Place,
    Point,
    Progress,
    Step,
    Unreachable,
)
from dogwatch.sources.process import source
from dogwatch.store.rows import jobs
from dogwatch.store.sqlite.location import open_store
from dogwatch.transport.interface import Answer
from dogwatch.transport.local import Here
from dogwatch.watcher.job import final_integrity
from dogwatch.watcher.job.final_checks import MOST_TRIES, checks, held, short_of, verdict
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.read_files import News, read_files
from dogwatch.watcher.job.state.ending import EndingState, FinalIntegrity
from dogwatch.watcher.job.state.learnt import NOTHING, Learnt
from dogwatch.watcher.job.state.log import LogState
from dogwatch.watcher.job.state.progress import ProgressState
from dogwatch.watcher.loop.watcher import Watcher
from dogwatch.watcher.tick.place_poller import PlacePoller
from dogwatch.wire.sections import Files, Output
from tests.support import wait_until

OVER = Known(Ended(Outcome.SUCCEEDED, 0, None, 1.0), 1.0)
SEEN = Observation("r", "a", Ended(Outcome.SUCCEEDED, 0, None, 1.0))


class Fickle:
    """A real reach that does not run extra probes, or does not look at files, as long as it is told so."""

    place = "here"

    def __init__(self) -> None:
        self.here, self.refuses, self.asked = Here(), frozenset[str](), 0

    def ask(self, request: Mapping[str, Any], deadline: float = 10.0) -> Answer | Unreachable:
        self.asked += 1
        if self.refuses & set(request) and "extra_probes" in request:
            return Unreachable("here", 0.0, 1.0, "it hangs", "late")
        return self.here.ask({key: part for key, part in request.items() if key not in self.refuses}, deadline)

    def close(self) -> None:
        self.here.close()


@pytest.fixture
def transport() -> Iterator[Fickle]:
    way = Fickle()
    yield way
    way.close()


def job(tmp_path: Path, **more: Any) -> Job:
    given: Any = {
        key: tuple(str(tmp_path / one) for one in value) for key, value in more.items() if isinstance(value, list)
    }
    expect = Expectation(**given, **{key: value for key, value in more.items() if not isinstance(value, list)})
    return Job("r", "here", "process", "r", "r", expect=expect)


def confirmed(transport: Fickle, jobs: list[Job], listed: Mapping[str, Files]) -> dict[str, Learnt]:
    """What one question about all of these jobs taught, by ref."""
    question = final_integrity.question(jobs, listed)
    extra_probes = question.extra_probes({})
    answer = transport.ask({"extra_probes": to_builtins(extra_probes)}, 30.0) if extra_probes else None
    return question.read(answer.checked if isinstance(answer, Answer) else None)


def ended(
    transport: Fickle, one: Job, progress: Progress | None = None, memory: Memory | None = None
) -> dict[str, str]:
    """What is checked of a job that has just ended, asked of real files: word and text by what."""
    memory = memory or Memory()
    globs = {"outputs": list(one.expect.outputs), "checkpoints": list(one.expect.checkpoints)}
    answer = transport.here.ask({"files": {"r": globs}})
    assert isinstance(answer, Answer)
    listed = answer.checked.files.rows["r"]
    read_files(memory, listed, 1.0, News())
    learnt = confirmed(transport, final_integrity.wanted([one], {"r": OVER}, {"r": memory}), {"r": listed})
    memory.learnt = memory.learnt.with_news(learnt.get("r", NOTHING))
    return {check.what: f"{check.word}: {check.text}" for check in checks(one, memory, progress, listed)}


def counted(step: float, total: float | None = 100.0, unit: str = "items") -> Progress:
    return Progress(step, total, unit, None, None, 0.0)


def test_what_was_expected_and_is_whole_is_verified(transport: Fickle, tmp_path: Path) -> None:
    """Outputs, their format, the items, the newest checkpoint."""
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n')
    (tmp_path / "checkpoint-9").mkdir()
    (tmp_path / "checkpoint-9" / "state.json").write_text("{}")
    one = job(tmp_path, outputs=["*.jsonl"], checkpoints=["checkpoint-*"], total_items=100)
    assert ended(transport, one, counted(99)) == {
        "outputs": "passed: 1 output file, none empty",
        "soundness": "passed: 1 of 1 intact",
        "items": "passed: 99 of 100 items by its logs",
        "checkpoint": "passed: the newest checkpoint checkpoint-9 is intact",
    }


def test_outputs_that_are_cut_empty_or_missing_are_not(transport: Fickle, tmp_path: Path) -> None:
    """Each is said by its name, and a pattern that means nothing too."""
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n{"a"')
    found = ended(transport, job(tmp_path, outputs=["*.jsonl", "scores-*.csv"]))
    assert found["soundness"].startswith("failed: it is damaged (a.jsonl ends in the middle of its last line")
    assert found["expected files"] == f"failed: no file matches {tmp_path}/scores-*.csv"
    (tmp_path / "b.jsonl").write_text("")
    found = ended(transport, job(tmp_path, outputs=["*.jsonl"]))
    assert found["outputs"].startswith("failed: 1 of 2 output files are empty")
    assert ended(transport, job(tmp_path, outputs=["*.bin"]))["outputs"].startswith("failed: no output file")


def test_a_newest_checkpoint_that_cannot_be_read_is_not(transport: Fickle, tmp_path: Path) -> None:
    """Older ones do not matter, and where there is none there is nothing to read."""
    one = job(tmp_path, checkpoints=["*.safetensors"])
    assert ended(transport, one) == {}
    (tmp_path / "m.safetensors").write_bytes(b"\x40" + bytes(7) + b'{"a":')
    assert ended(transport, one)["checkpoint"].startswith("failed: the newest checkpoint m.safetensors is damaged")


def test_of_a_newest_checkpoint_that_is_broken_the_newest_sound_one_is_named(transport: Fickle, tmp_path: Path) -> None:
    """It is what the job can be resumed from, and no older one is read."""
    for number, text in enumerate(("{", "{}", "{}", "{")):
        folder = tmp_path / f"checkpoint-{number}"
        folder.mkdir()
        (folder / "state.json").write_text(text)
        os.utime(folder, (1000 + number, 1000 + number))
    memory = Memory()
    found = ended(transport, job(tmp_path, checkpoints=["checkpoint-*"]), memory=memory)["checkpoint"]
    assert found.startswith("failed: the newest checkpoint checkpoint-3 is damaged (state.json ")
    assert found.endswith("; the newest intact one is checkpoint-2")
    assert memory.learnt.integrity is not None
    assert [os.path.basename(path) for path in memory.learnt.integrity.checkpoints] == [
        "checkpoint-3",
        "checkpoint-2",
    ]


UNCOUNTED = ", and nothing in them counts its 100,000 items"


@pytest.mark.parametrize(
    ("progress", "said"),
    [
        (counted(97_200, 100_000.0), "failed: only 97,200 of 100,000 items by its logs"),
        (counted(98_999, 100_000.0), "failed: only 98,999 of 100,000 items by its logs"),
        (counted(99_000, 100_000.0), "passed: 99,000 of 100,000 items by its logs"),
        (counted(400, 400.0, "steps"), "unknown: its logs count 400 of 400 steps, not its 100,000 items"),
        (counted(300, 400.0, "steps"), "failed: only 300 of 400 steps by its logs"),
        (counted(300, None, "steps"), f"unknown: its logs count 300 steps{UNCOUNTED}"),
        (counted(300, 100_000.0, "steps"), f"unknown: its logs count 300 steps{UNCOUNTED}"),
        (counted(80_000, None, "steps"), "failed: only 80,000 of 100,000 items by its logs"),
        (None, "unknown: nothing in its logs counts its 100,000 items"),
    ],
)
def test_items_are_held_against_what_the_counter_counts(tmp_path: Path, progress: Progress | None, said: str) -> None:
    """Steps with a total of their own are no items, and a log that counts nothing says nothing."""
    (found,) = checks(job(tmp_path, total_items=100_000), Memory(), progress, None)
    assert f"{found.word}: {found.text}" == said


def test_one_failure_decides_and_what_could_not_be_asked_proves_nothing(tmp_path: Path) -> None:
    """What is wrong is said first."""
    one = job(tmp_path, outputs=["*.jsonl"], total_items=10)
    found = checks(one, Memory(), counted(3, 10.0), None)
    told = verdict(found)
    assert told is not None
    assert (told.ok, told.text) == (False, "only 3 of 10 items by its logs; its output files could not be read")
    assert verdict(checks(one, Memory(), counted(10, 10.0), None)) is None
    assert verdict(()) is None


def test_an_ending_is_held_until_its_checks_are_answered_or_given_up(tmp_path: Path) -> None:
    """It counts as ended meanwhile; the job is only looked at again."""
    one, memory = job(tmp_path, outputs=["*.jsonl"]), Memory()
    for _ in range(MOST_TRIES):
        found = checks(one, memory, None, None)
        assert [check.word for check in found] == ["pending"]
        assert held(OVER, memory, found, SEEN).settled is False
    found = checks(one, memory, None, None)
    assert [check.word for check in found] == ["unknown"]
    assert held(OVER, memory, found, SEEN).settled is True


def test_a_new_attempt_is_judged_anew() -> None:
    """What an earlier one left says nothing of this one."""
    memory = Memory(facts=Facts(workdir="/w"), learnt=Learnt(integrity=FinalIntegrity()), ending=EndingState(tries=2))
    memory.begin(1.0)
    assert (memory.facts, memory.learnt, memory.ending.tries) == (Facts(workdir="/w"), NOTHING, 0)


def test_many_jobs_that_end_together_are_asked_about_once(transport: Fickle, tmp_path: Path) -> None:
    """Each is told of its own files."""
    known, memories, listed, given = {}, {}, {}, []
    for number in range(5):
        path = tmp_path / f"{number}.json"
        path.write_text("{}" if number % 2 else "{")
        ref = f"r{number}"
        given.append(Job(ref, "here", "process", ref, ref, expect=Expectation(outputs=(str(path),))))
        known[ref], memories[ref] = OVER, Memory()
        listed[ref] = Files(False, [], {}, [Output(str(path), 1, 1.0)], [])
    found = confirmed(transport, final_integrity.wanted(given, known, memories), listed)
    assert transport.asked == 1
    damaged = [integrity.outputs.damaged for n in range(5) if (integrity := found[f"r{n}"].integrity)]
    assert damaged == [1, 0, 1, 0, 1]
    memories["r0"].learnt = Learnt(integrity=FinalIntegrity())
    assert [one.ref for one in final_integrity.wanted(given, known, memories)] == ["r1", "r2", "r3", "r4"]


def test_files_that_do_not_answer_are_asked_for_again_while_the_watching_goes_on(home, tmp_path, dogwatch) -> None:
    """The job is known to have ended at once; the verification comes when the files answer."""
    script = f"echo '{{\"a\": 1}}' > {tmp_path}/a.jsonl"
    dogwatch("run", "--detach", "--name", "t", "--output", f"{tmp_path}/*.jsonl", "--", "sh", "-c", script)
    transport, clock = Fickle(), Clock()
    transport.refuses = frozenset({"extra_probes"})
    with open_store(str(home)) as store:
        watch = Watcher(
            store, [PlacePoller(Place("here"), transport, {"process": source}, clock, 0.01)], clock, who="test"
        )

        def told() -> Any:
            watch.step()
            return jobs.documents(store, everything=True)[0]

        first = wait_until(lambda: (found := told())["state"] == "ended" and found)
        assert [check["word"] for check in first["checks"]] == ["passed", "pending"]
        assert first["verified"] is None
        transport.refuses = frozenset()
        last = wait_until(lambda: (found := told())["verified"] and found)
        assert last["verified"]["ok"] is True
        assert [evidence["by"] for evidence in last["evidence"]] == ["supervisor", "outputs and counters"]
        wait_until(lambda: (watch.step(), jobs.documents(store))[1] == [])
        watch.close()


def stopped(
    *steps: float, total: float = 1000.0, silent: float = 0.0, rank: int = INNER, may_stop: bool = False
) -> str:
    """What speaks against the success of a job that counted these steps, ten seconds apart, and then ended."""
    memory = Memory(log=LogState(may_stop=may_stop))
    memory.progress.points = [Point(10.0 * at, done) for at, done in enumerate(steps)]
    memory.progress.steps = {"log": Step(steps[-1], total, "steps", None, rank)}
    memory.silence.clock("progress").seconds = silent
    pace = steps[-1] / (10.0 * len(steps))
    progress = Progress(steps[-1], total, "steps", pace, pace, 0.0)
    return short_of(Job("r", "here", "process", "r", "r"), memory, progress, None, OVER)


def test_a_success_far_before_its_own_total_is_doubted_in_words():
    """Nobody said how many there are, but the log did, and it says nothing of an end."""
    assert stopped(20, 40, 60).startswith("its log stops at 60 of 1,000 steps")


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("all is done", stopped(500, 1000)),
        ("its next report would have been the last", stopped(250, 500, 750)),
        ("two of three epochs, then the third was not announced", stopped(1, 2, total=3.0)),
        ("what lacks is little", stopped(*range(1, 961))),
        ("it was joined late and its strides are not known", stopped(600)),
        ("it went on for as long as the rest would have taken", stopped(20, 40, 60, silent=400.0)),
        ("its log speaks of early stopping", stopped(20, 40, 60, may_stop=True)),
        ("a percentage of nobody knows what", stopped(2, 4, 6, total=100.0, rank=PERCENT)),
    ],
)
def test_a_success_that_may_well_be_one_is_not_doubted(why, said):
    """Reports come in strides, early stopping is meant, and a bar of something else is not the run."""
    assert said == "", why


def test_only_a_silent_success_of_unknown_size_is_doubted():
    """A log that says it is done, a total that somebody gave and a failure each have an answer of their own."""
    steps = {"log": Step(60, 1000, "steps", None, INNER)}
    memory = Memory(progress=ProgressState(points=[Point(0.0, 20.0), Point(9.0, 60.0)], steps=steps))
    progress, one = Progress(60, 1000, "steps", None, None, 0.0), Job("r", "here", "process", "r", "r")
    sized = Job("r", "here", "process", "r", "r", expect=Expectation(total_items=1000))
    failed = Known(Ended(Outcome.FAILED, 1, None, 1.0), 1.0)
    assert short_of(one, memory, progress, None, OVER)
    assert not short_of(one, memory, progress, Finished("training finished"), OVER)
    assert not short_of(sized, memory, progress, None, OVER)
    assert not short_of(one, memory, progress, None, failed)
    assert not short_of(one, memory, None, None, OVER)
    assert not short_of(one, memory, Progress(60, None, "steps", None, None, 0.0), None, OVER)


def test_another_attempt_begins_without_the_doubts_of_the_last():
    """What spoke against one ending says nothing about the next."""
    memory = Memory(facts=Facts(contradiction="x", nodes="2"), log=LogState(may_stop=True))
    memory.begin(1.0)
    assert (memory.facts, memory.log.may_stop) == (Facts(nodes="2"), False)
