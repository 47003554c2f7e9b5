"""A silence begins when the log was written last, not when somebody looked; by whatever clock its times are."""

from __future__ import annotations

import pytest

from dogwatch.model import Expectation, Job
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.read_files import News, pass_time

JOB = Job("here/process:1", "here", "process", "1", "made", expect=Expectation(logs=("/log",)))
AT = 1_800_000_000.0


class Looks:
    """Looks at one job, each after so many seconds; `grew` is how long before it the log was written last."""

    def __init__(self, behind: float = 0.0) -> None:
        self.memory, self.at, self.behind = Memory(), AT, behind

    def look(self, after: float, grew: float | None = None, watched: float | None = None) -> float:
        """The silence that the job is now known to have kept."""
        self.at += after
        news = News()
        if grew is not None:
            news.log_grew, news.grew_at = True, self.at - grew - self.behind
        pass_time(self.memory, after if watched is None else watched, news, JOB, False, self.at)
        return self.memory.silence.clock("signs").seconds


@pytest.mark.parametrize("behind", [0.0, 3600.0, -45.0], ids=["the same clock", "an hour behind", "ahead"])
def test_the_age_of_the_newest_line_belongs_to_the_silence(behind: float) -> None:
    """Once a poll has seen a fresh line, it is known how far the clock of the file system is off."""
    looks = Looks(behind)
    for _ in range(3):
        looks.look(60.0, grew=0.0)
    assert looks.look(60.0, grew=40.0) == 0
    assert looks.look(60.0) == pytest.approx(100.0)
    assert looks.look(60.0) == pytest.approx(160.0)
    assert looks.memory.silence.moved_at == pytest.approx(looks.at - 160.0)


def test_until_then_nothing_is_added() -> None:
    """The first age may be the clock's."""
    looks = Looks()
    looks.look(60.0, grew=40.0)
    assert looks.look(60.0) == 60.0


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
def test_a_clock_that_is_set_makes_no_silence(jump: float) -> None:
    """Neither forwards nor backwards; the log grew since the last poll, so it is no older."""
    looks = Looks()
    for _ in range(3):
        looks.look(60.0, grew=0.0)
    looks.behind = jump
    looks.look(60.0, grew=0.0)
    assert looks.look(60.0) == 60.0


def test_a_file_system_that_keeps_no_times_makes_no_silence() -> None:
    """The log grows, and is as old as ever."""
    looks = Looks()
    for number in range(6):
        looks.look(60.0, grew=60.0 * number)
        assert looks.memory.silence.unseen == 0
    assert looks.look(60.0) == 60.0


def test_our_own_gap_makes_no_silence() -> None:
    """Nobody looked, so nobody knows."""
    looks = Looks()
    for _ in range(3):
        looks.look(60.0, grew=0.0)
    looks.look(7200.0, grew=7000.0, watched=0.0)
    assert looks.look(60.0) == 60.0


def test_a_file_that_grew_is_as_new_as_the_look() -> None:
    """Outputs and checkpoints are seen by their change; an old log beside them makes no silence."""
    looks = Looks()
    for _ in range(3):
        looks.look(60.0, grew=0.0)
    looks.at += 60.0
    news = News(log_grew=True, output_grew=True, grew_at=looks.at - 50.0)
    pass_time(looks.memory, 60.0, news, JOB, False, looks.at)
    assert looks.look(60.0) == 60.0


def test_no_second_is_counted_twice() -> None:
    """The time that a job was watched is the sum of its gaps."""
    looks = Looks()
    for _ in range(20):
        looks.look(60.0, grew=0.0)
        looks.look(60.0, grew=45.0)
        looks.look(60.0)
    looks.look(60.0, grew=0.0)
    assert sum(gaps.seconds for gaps in looks.memory.silence.gaps.values()) == looks.memory.age == looks.at - AT


def test_a_gap_is_no_longer_than_from_one_write_to_the_next() -> None:
    """A line each 80 seconds, seen by a poll each 60: half a poll is not added to what the log's own times tell."""
    looks = Looks()
    looks.look(60.0, grew=0.0)
    for number in range(1, 30):
        newest = 60.0 * number % 80.0
        looks.look(60.0, grew=newest if newest < 60.0 else None)
    assert looks.memory.silence.gaps["starting"].longest == pytest.approx(80.0)


def test_times_that_a_file_system_does_not_keep_make_no_gap_shorter() -> None:
    """Then half of the time between two polls is added to what was seen of a silence."""
    looks = Looks()
    for number in range(6):
        looks.look(60.0, grew=60.0 * number)
    assert looks.memory.silence.gaps["starting"].longest == 30.0
