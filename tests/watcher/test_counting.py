"""Counters of logs that stand still: counted once, and what time alone changes is as if they were counted each time."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from dogwatch.model import Expectation, Job
from dogwatch.watcher.job.counting import Counts, count
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.read_files import News, Readers, read_logs
from dogwatch.wire.sections import LogFile, Logs

JOB = Job("here/process:1", "here", "process", "1", "job")
SAME = Logs(same=True)


def found(text: str, start: int = 0) -> LogFile:
    return LogFile(1, 1, 1, 1, start + len(text), 0.0, start, text, None, 0)


class Looks:
    """What is counted of the logs of two workers, look by look; `plainly` counts everything at every poll."""

    def __init__(self, *, plainly: bool = False) -> None:
        self.memory, self.readers, self.plainly = Memory(), Readers(None), plainly
        self.counts: Counts | None = None
        self.offsets = [0, 0]

    def look(self, mono: float, *steps: float, job: Job = JOB, anew: bool = False) -> Counts:
        """One poll in which the first worker has counted so far, and maybe the second; without any, nothing is new."""
        answer = SAME
        if steps:
            files = {}
            for worker, step in enumerate(steps):
                text = f"step {step:g}/1000 loss 0.5\n"
                files[f"/w{worker}.log"] = found(text, self.offsets[worker])
                self.offsets[worker] += len(text)
            answer = Logs(files, [f"/w{other}.log" for other in range(len(steps), 2)])
        news = News()
        read_logs(self.memory, self.readers, answer, news)
        before = None if self.plainly else self.counts
        self.counts = count(self.memory, news, job, mono, before, anew=anew)
        return self.counts


def test_nothing_is_counted_again_while_the_logs_stand_still() -> None:
    """The first poll that finds them as they were sees that nobody moved; the next ones have nothing to do."""
    looks = Looks()
    looks.look(10.0, 5, 7)
    first = looks.look(11.0)
    assert looks.memory.workers.steps == {"0": [11.0, 5, 0.0], "1": [11.0, 7, 0.0]}
    kept = dict(looks.memory.workers.steps)
    assert looks.look(12.0) is looks.look(13.0) is first
    assert looks.memory.workers.steps == kept
    assert first.whole is not None
    assert (first.whole.done, first.until) == (12, 13.0)


def test_a_worker_that_moves_again_has_the_pace_of_the_last_look() -> None:
    """The time in which it stood was seen, look by look, and is no part of how fast it goes now."""
    looks = Looks()
    for at, steps in ((10.0, (5, 7)), (11.0, ()), (12.0, ()), (13.0, ()), (15.0, (9, 7))):
        looks.look(at, *steps)
    assert looks.memory.workers.steps == {"0": [15.0, 9, 2.0], "1": [15.0, 7, 0.0]}


def test_a_job_that_has_changed_is_counted_anew() -> None:
    """Another attempt, another total, other files of its own: what was counted was counted for another job."""
    looks = Looks()
    looks.look(10.0, 5, 7)
    stands = looks.look(11.0)
    other = replace(JOB, expect=Expectation(total_items=50))
    now = looks.look(12.0, job=other)
    assert now is not stands
    assert looks.look(13.0, job=other) is now
    assert looks.look(13.5, job=other, anew=True) is not now
    own = replace(JOB, track={"progress": ["/w1.log"]})
    whole = looks.look(14.0, job=own).whole
    assert whole is not None
    assert whole.done == 7


def test_after_a_look_that_read_no_log_the_workers_are_counted_again() -> None:
    """A file system that did not answer says nothing of the workers, and then they say what they had said."""
    looks = Looks()
    looks.look(10.0, 5, 7)
    looks.look(11.0)
    looks.counts = count(looks.memory, News(), JOB, 12.0, looks.counts, anew=False)
    assert not looks.counts.by_worker
    assert set(looks.look(13.0).by_worker) == {"0", "1"}


@given(
    st.lists(st.tuples(st.floats(0.5, 90), st.sampled_from(["same", "one", "both"]), st.integers(0, 40)), max_size=30)
)
def test_what_is_known_is_what_counting_at_every_look_would_know(looked: list[tuple[float, str, int]]) -> None:
    """Totals, workers, their points and their pace: all but when a pace of none was last found to be none."""
    quick, plain = Looks(), Looks(plainly=True)
    at, steps = 0.0, [0.0, 0.0]
    for looks in (quick, plain):
        looks.look(at, *steps)
    for seconds, what, more in looked:
        at += seconds
        moved = {"same": (), "one": (steps[0] + more,), "both": (steps[0] + more, steps[1] + 1)}[what]
        steps[: len(moved)] = moved
        one, other = quick.look(at, *moved), plain.look(at, *moved)
        assert (one.whole, one.by_worker) == (other.whole, other.by_worker)
        assert (quick.memory.progress.steps, quick.memory.workers.points) == (
            plain.memory.progress.steps,
            plain.memory.workers.points,
        )
        paces = [{worker: row[1:] for worker, row in looks.memory.workers.steps.items()} for looks in (quick, plain)]
        assert paces[0] == paces[1]


def test_what_was_kept_is_not_made_again_until_a_log_says_more() -> None:
    """Saving a job whose logs stand still costs nothing per log; what is saved after they spoke is what they said."""
    looks = Looks()
    looks.look(10.0, 5, 7)
    looks.readers.keep(looks.memory)
    kept, heard = looks.memory.log.readers, looks.memory.log.gathered
    looks.look(11.0)
    looks.readers.keep(looks.memory)
    assert looks.memory.log.readers is kept
    looks.look(12.0, 6, 7)
    looks.readers.keep(looks.memory)
    assert looks.memory.log.readers != kept
    heard = looks.memory.log.gathered
    looks.readers.begin_attempt()
    looks.readers.keep(looks.memory)
    assert looks.memory.log.gathered is not heard
