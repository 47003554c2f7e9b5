"""The logs of jobs that have ended are read to their end, in one more question for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dogwatch.model import Answered, Ended, Expectation, Job, Known, Outcome, Unreachable
from dogwatch.transport.interface import Answer
from dogwatch.transport.local import Here
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.probe_answer import ANSWER_BYTES, ProbeAnswer
from dogwatch.watcher.tick import follow_up
from dogwatch.wire.sections import Logs

LINE = b"loss 0.25 and nothing else in this line\n"


class Counted:
    """A real reach, and how often it was asked."""

    def __init__(self) -> None:
        self.here, self.asked = Here(), 0

    def ask(self, request: Mapping[str, Any], deadline: float = 10.0) -> Answer | Unreachable:
        self.asked += 1
        return self.here.ask(request, deadline)

    def close(self) -> None:
        self.here.close()


@pytest.fixture
def transport() -> Iterator[Counted]:
    counted = Counted()
    yield counted
    counted.close()


def first(transport: Counted, logs: Mapping[str, Path]) -> dict[str, list[Logs]]:
    """What a poll reads of logs that it knew from their first byte on."""
    known = {}
    for ref, path in logs.items():
        text = path.read_bytes()
        path.write_bytes(b"")
        answer = transport.ask({"logs": {ref: {"globs": [str(path)], "known": {}}}})
        assert isinstance(answer, Answer)
        found = answer.body["logs"][ref]["files"][str(path)]
        known[ref] = {str(path): {**{key: found[key] for key in ("dev", "ino", "head", "headlen")}, "offset": 0}}
        path.write_bytes(text)
    request = {ref: {"globs": list(files), "known": files} for ref, files in known.items()}
    answer = transport.ask({"logs": request})
    assert isinstance(answer, Answer)
    return {ref: [answer.checked.logs.rows[ref]] for ref in logs}


def rest_of_logs(
    transport: Counted, answers: Mapping[str, list[Logs]], paths: Mapping[str, Path]
) -> Mapping[str, list[Logs]]:
    """The logs after the follow-up of a poll in which all of these jobs ended."""
    jobs = [Job(ref, "here", "process", ref, ref, expect=Expectation(logs=(str(path),))) for ref, path in paths.items()]
    over = {job.ref: Known(Ended(Outcome.SUCCEEDED)) for job in jobs}
    look = Answered("here", 0.0, 0.0, frozenset(over), {})
    seen = ProbeAnswer(look, logs=answers)
    memories = {ref: Memory() for ref in over}
    wanted = follow_up.wanted(seen, look, jobs, list(over), over, memories, most=ANSWER_BYTES, bundles=True, gpus={})
    return follow_up.ask(wanted, transport, seen, 30.0)[0].logs


def read(answers: list[Logs], path: Path) -> bytes:
    return b"".join(answer.files[str(path)].text.encode("latin-1") for answer in answers)


def test_many_jobs_that_end_together_are_read_together(transport: Counted, tmp_path: Path) -> None:
    """Forty logs of half a megabyte: every byte once, in one question."""
    logs = {f"job {number}": tmp_path / f"{number}.log" for number in range(40)}
    for path in logs.values():
        path.write_bytes(LINE * 13_000)
    answers = first(transport, logs)
    before = transport.asked
    whole = rest_of_logs(transport, answers, logs)
    assert transport.asked - before == 1
    assert {ref: len(read(whole[ref], path)) for ref, path in logs.items()} == dict.fromkeys(logs, 13_000 * len(LINE))
    assert read(whole["job 7"], logs["job 7"]) == LINE * 13_000


def test_the_longest_backlog_is_read_whole(transport: Counted, tmp_path: Path) -> None:
    """A job can leave 16 MB behind in its last interval."""
    path = tmp_path / "long.log"
    path.write_bytes(LINE * 400_000)
    answers = first(transport, {"job": path})
    assert read(rest_of_logs(transport, answers, {"job": path})["job"], path) == LINE * 400_000


def test_a_log_that_is_longer_still_is_read_at_its_end(transport: Counted, tmp_path: Path) -> None:
    """How a job ended stands in its last lines; what is left out before them is told."""
    short, long, longer = (tmp_path / name for name in ("short.log", "long.log", "longer.log"))
    short.write_bytes(LINE * 20_000)
    for path in (long, longer):
        path.write_bytes(LINE * 350_000 + b"ValueError: the end\n")
    logs = {"short": short, "long": long, "longer": longer}
    answers = first(transport, logs)
    found = rest_of_logs(transport, answers, logs)
    for ref in ("long", "longer"):
        before, last = (answer.files[str(logs[ref])] for answer in found[ref])
        assert last.text.endswith("ValueError: the end\n")
        assert last.skipped == last.from_ - len(before.text) > 0
    assert read(found["short"], short) == LINE * 20_000


def test_a_log_that_grows_as_fast_as_it_is_read_is_asked_for_once(tmp_path: Path) -> None:
    """Whatever it does, there is one question and no more."""
    path = tmp_path / "endless.log"
    path.write_bytes(LINE * 10_000)

    class Growing(Counted):
        def ask(self, request: Mapping[str, Any], deadline: float = 10.0) -> Answer | Unreachable:
            with path.open("ab") as file:
                file.write(LINE * 120_000)
            return super().ask(request, deadline)

    counted, growing = Counted(), Growing()
    rest_of_logs(growing, first(counted, {"job": path}), {"job": path})
    assert growing.asked == 1
    counted.close()
    growing.close()


def test_a_place_that_does_not_answer_is_asked_once(tmp_path: Path) -> None:
    """What was read before is kept."""

    class Gone(Counted):
        def ask(self, request: Mapping[str, Any], deadline: float = 10.0) -> Answer | Unreachable:
            self.asked += 1
            return Unreachable("box", 0.0, 1.0, "gone")

    path = tmp_path / "some.log"
    path.write_bytes(LINE * 10_000)
    counted = Counted()
    answers = first(counted, {"job": path})
    counted.close()
    gone = Gone()
    assert rest_of_logs(gone, answers, {"job": path}) == answers
    assert gone.asked == 1
    gone.close()
