"""What a poll adds to the question whether a job is stuck."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dogwatch.estimate.silence_limit import STEADY
from dogwatch.model import Expectation, Job, Progress, StallState, Step, Verdict, Worker
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.read_files import News, pass_time, read_files
from dogwatch.watcher.job.stall import (
    SOON,
    asks_usage,
    is_silent,
    judged,
    silence_left,
    stays,
    verdict_document,
)
from dogwatch.watcher.job.state.log import LogState
from dogwatch.watcher.job.state.progress import ProgressState
from dogwatch.watcher.job.state.usage import take_usage, usage_of
from dogwatch.wire.requests import LogCursor
from dogwatch.wire.sections import Files, ListedFile, Usage

JOB = Job("here/process:t", "here", "process", "t", "t", expect=Expectation(logs=("/l/*.log",)))
WORKER = Worker(0, "sleeping", 42)
AT = 1_800_000_000.0


def watched_for(memory: Memory, seconds: float, news: News | None = None, look: float = 10.0) -> None:
    """Looks in which every one of them moved the counter, or none did."""
    for _ in range(int(seconds / look)):
        pass_time(memory, look, news or News(), JOB, moved=news is not None, at=AT)


def known_job() -> Memory:
    """A job that has worked for an hour with pauses of a minute and a half."""
    log = LogState(cursors={"/l/0.log": LogCursor(1, 1, 1, 1, 1)}, seen=True)
    memory = Memory(log=log, progress=ProgressState(steps={"/l/0.log": Step(5.0, 10.0)}))
    for _ in range(4):
        watched_for(memory, 900, News(log_grew=True))
        watched_for(memory, 90)
    watched_for(memory, 10, News(log_grew=True))
    return memory


def judge(memory: Memory, *workers: Worker, news: News | None = None, **more: Any) -> Verdict:
    return judged(JOB, memory, workers, news or News(), None, None, AT, **more)


def sample(cpu: float, moved: int = 0, unread: int = 0) -> Usage:
    return Usage(processes=2, cpu=cpu, read=moved, write=0, unread=unread, blocked=0, stopped=0, age=1000.0)


def test_gaps_are_learnt_by_phase_and_survive_a_restart_and_another_attempt() -> None:
    """What the job showed before is worth as much to the next watcher."""
    memory = known_job()
    memory.silence.phase = "validating"
    watched_for(memory, 300)
    watched_for(memory, 10, News(log_grew=True))
    assert memory.silence.gaps["validating"].longest == pytest.approx(305, abs=1)
    assert memory.silence.gaps[STEADY].longest == pytest.approx(95, abs=1)
    again = Memory.from_json(json.loads(json.dumps(memory.to_json())))
    assert again == memory
    again.begin(AT)
    assert again.silence.gaps == memory.silence.gaps
    assert (again.silence.phase, again.silence.clock("signs").seconds) == ("starting", 0.0)


def test_a_gap_that_ended_while_nobody_looked_teaches_nothing() -> None:
    """It may have been the job's, or ours."""
    memory = known_job()
    before = memory.silence.gaps[STEADY].to_json()
    watched_for(memory, 300)
    pass_time(memory, 0.0, News(log_grew=True), JOB, moved=True, at=AT)
    assert memory.silence.gaps[STEADY].to_json() == before
    assert memory.silence.clock("signs").seconds == 0.0


def test_a_night_in_which_somebody_stopped_the_job_is_not_one_of_its_pauses() -> None:
    """Else it would be allowed another such night."""
    memory = known_job()
    before = memory.silence.gaps[STEADY].to_json()
    watched_for(memory, 600)
    assert judge(memory, Worker(0, "stopped", 42)).word is StallState.STALLED
    watched_for(memory, 10, News(log_grew=True))
    assert memory.silence.gaps[STEADY].to_json() == before
    watched_for(memory, 10, News(log_grew=True))
    assert memory.silence.gaps[STEADY].count == before[0] + 1


def test_processes_are_asked_only_after_half_of_the_patience_and_not_at_every_look() -> None:
    """A job that works costs nothing."""
    memory = known_job()
    judge(memory, WORKER)
    assert not is_silent(memory)
    watched_for(memory, 140)
    judge(memory, WORKER)
    assert asks_usage(memory, 1000.0)
    take_usage(memory.usage, sample(5.0), 1000.0)
    assert not asks_usage(memory, 1005.0)
    assert asks_usage(memory, 1020.0)


def test_a_job_that_has_fallen_silent_is_asked_at_once_and_again_when_patience_ends() -> None:
    """What its processes use is a difference of two answers; a job without any is only waited for."""
    memory = known_job()
    assert silence_left(memory, judge(memory, WORKER), [WORKER]) is None
    watched_for(memory, memory.usage.ask_after + 10)
    found = judge(memory, WORKER)
    assert found.silence_limit is not None
    assert silence_left(memory, found, [WORKER]) == SOON
    assert silence_left(memory, found, []) == found.silence_limit - found.silent
    take_usage(memory.usage, sample(10.0), 1000.0)
    assert silence_left(memory, found, [WORKER]) == found.silence_limit - found.silent
    watched_for(memory, found.silence_limit)
    assert silence_left(memory, judge(memory, WORKER), [WORKER]) == 0


def test_what_is_used_is_judged_over_the_newer_half_of_the_silence() -> None:
    """A checkpoint that was still being written when it began is over."""
    memory = Memory()
    for at, moved in ((0.0, 0), (20.0, 10**9), (40.0, 10**9), (60.0, 10**9)):
        take_usage(memory.usage, sample(1.0, moved), at)
    found = usage_of(memory.usage)
    assert found is not None
    assert (found.bytes, found.over, found.usual) == (0.0, 40.0, 0.001)


def test_one_answer_is_no_rate_and_bytes_that_may_not_be_read_are_not_none() -> None:
    """Somebody else's process shows its CPU time and hides its files."""
    memory = Memory()
    take_usage(memory.usage, sample(1.0, unread=1), 0.0)
    assert usage_of(memory.usage) is None
    take_usage(memory.usage, sample(3.0, unread=1), 10.0)
    found = usage_of(memory.usage)
    assert found is not None
    assert found.cores == pytest.approx(0.2)
    assert found.bytes is None


def test_a_count_that_falls_starts_again_instead_of_looking_like_sleep() -> None:
    """A process that left took its seconds with it."""
    memory = Memory()
    for at, cpu in ((0.0, 50.0), (10.0, 60.0), (20.0, 12.0)):
        take_usage(memory.usage, sample(cpu), at)
    assert usage_of(memory.usage) is None


def test_samples_stay_few() -> None:
    """However long the silence lasts; the oldest stays, to measure from."""
    memory = Memory()
    for second in range(500):
        take_usage(memory.usage, sample(float(second)), float(second))
    assert len(memory.usage.samples) <= 24
    assert memory.usage.samples[0][0] == 0.0


def test_a_verdict_waits_for_processes_that_were_asked_but_not_for_ever() -> None:
    """Three looks without an answer, and it does without."""
    memory = known_job()
    watched_for(memory, 3000)
    assert judge(memory, WORKER).word is StallState.WORKING
    for _ in range(3):
        take_usage(memory.usage, None, 5.0)
    assert judge(memory, WORKER).word is StallState.STALLED


@pytest.mark.parametrize("cores", [0.0, 0.9])
@pytest.mark.parametrize("moved", [0, 5_000_000])
def test_a_verdict_that_is_left_as_it_was_has_the_word_that_judging_gives(cores: float, moved: int) -> None:
    """Whether a silent job is judged at every poll or only when something but time has passed, it is told the same."""
    memory, found, left = known_job(), None, 0
    for second in range(3600):
        ahead = stays(memory, found, 1.0)
        pass_time(memory, 1.0, News(), JOB, moved=False, at=AT + second)
        assert ahead == stays(memory, found) or not second, "silence limit that ends in this poll is seen before it"
        asked = asks_usage(memory, second)
        if asked:
            take_usage(memory.usage, sample(1000.0 + cores * second, moved * second), second)
        stands = not asked and stays(memory, found)
        word = judged(JOB, memory, (WORKER,), News(), None, found, AT + second)
        assert not stands or (found is not None and word.word is found.word)
        found, left = found if stands else word, left + stands
    assert found is not None
    assert found.word is (StallState.SILENT_BUT_BUSY if moved else StallState.STALLED)
    assert left > 3000


def test_a_log_that_was_taken_away_or_locked_cannot_be_judged() -> None:
    """That is not the silence of the job."""
    memory = known_job()
    watched_for(memory, 3000)
    memory.log.cursors.clear()
    assert judge(memory).word is StallState.CANNOT_TELL
    found = judge(Memory(), news=News(unreadable={"/l/0.log": "Permission denied"}))
    assert found.word is StallState.CANNOT_TELL
    assert "Permission denied" in found.why


def test_a_checkpoint_that_is_written_over_is_a_sign_of_life_and_not_a_new_one() -> None:
    """`last.ckpt` has one name for ever."""
    memory, first, again = Memory(), News(), News()
    read_files(memory, Files(False, [], {}, [], [ListedFile("/c/last.ckpt", 5, 1.0)]), 1.0, first)
    read_files(memory, Files(False, [], {}, [], [ListedFile("/c/last.ckpt", 5, 2.0)]), 2.0, again)
    assert (first.new_checkpoints, first.checkpoint_grew) == (["/c/last.ckpt"], True)
    assert (again.new_checkpoints, again.checkpoint_grew) == ([], True)


def test_a_counter_at_its_total_is_allowed_to_finish() -> None:
    """A last evaluation or upload comes after the last step."""
    memory = known_job()
    watched_for(memory, 1000)
    middle, end = (Progress(step, 10.0, "items", None, None, AT) for step in (5.0, 10.0))
    assert judged(JOB, memory, (), News(), middle, None, AT).word is StallState.STALLED
    assert judged(JOB, memory, (), News(), end, None, AT).word is StallState.WORKING


@pytest.mark.parametrize("phase", [STEADY, "validating"])
def test_a_last_evaluation_may_be_longer_than_all_before(phase: str) -> None:
    """After the last step a test set comes that is larger than the part that was validated on."""
    memory = known_job()
    memory.silence.phase = phase
    for _ in range(8):
        memory.silence.gaps_of("validating").note(90.0, 10.0)
    watched_for(memory, 1700.0)
    middle, end = (Progress(step, 10.0, "items", None, None, AT) for step in (5.0, 10.0))
    assert judged(JOB, memory, (), News(), middle, None, AT).word is StallState.STALLED
    assert judged(JOB, memory, (), News(), end, None, AT).word is StallState.WORKING


def test_a_validation_is_no_slowdown_and_no_end_of_one() -> None:
    """A job that was slow before it began to validate is not found slow anew with every epoch."""
    memory, slow = known_job(), (AT - 3600.0, "half of what it was")
    memory.silence.phase = "validating"
    assert judge(memory, slow=slow).word is StallState.WORKING
    memory.silence.phase = STEADY
    assert judge(memory, slow=slow).word is StallState.SLOW
    memory.silence.phase = "validating"
    assert judge(memory, slow=slow).word is StallState.SLOW
    assert judge(memory).word is StallState.WORKING


def test_the_document_names_word_time_witnesses_and_patience() -> None:
    """As every interface prints it."""
    memory = known_job()
    body = verdict_document(judge(memory, WORKER))
    assert body is not None
    assert (body["word"], body["why"], body["silent_seconds"]) == ("working", None, 0.0)
    assert body["silence_limit_seconds"] == 300.0
    assert [witness["by"] for witness in body["evidence"]] == ["progress", "log"]
    assert verdict_document(None) is None
