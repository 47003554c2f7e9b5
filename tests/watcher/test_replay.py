"""Whole runs, hours long, replayed through the real looks and rules: no cry of wolf, and no hang overlooked."""

from __future__ import annotations

import pytest

from bench.replay import Replay, Run, measure_run
from dogwatch.model import StallState


def run(gaps: list[float]) -> Run:
    moments = [0.0]
    for gap in gaps:
        moments.append(moments[-1] + gap)
    return Run("made", "made", [(at, f"step {i}/{len(gaps)}\n".encode()) for i, at in enumerate(moments)])


DETECTOR = run(([35.0] * 150 + [1500.0]) * 6)
EVEN = run([20.0] * 1500)
FLUSHED = run([400.0, 500.0, 450.0] * 40)


@pytest.mark.parametrize("healthy", [DETECTOR, EVEN, FLUSHED], ids=["detector", "even", "flushed by the block"])
def test_a_healthy_run_is_never_called_stalled(healthy: Run) -> None:
    """Neither for its first validation nor for a log that comes in blocks."""
    replay = Replay(healthy)
    replay.to_end(healthy.seconds)
    assert [finding.rule for finding in replay.opened] == []
    assert replay.one.verdict is not None
    assert replay.one.verdict.word is StallState.WORKING


@pytest.mark.parametrize("kind", ["hidden", "asleep", "spinning"])
def test_a_hang_is_noticed_within_twice_the_longest_pause(kind: str) -> None:
    """By a watcher that knows the job only from what another one saved."""
    noticed = measure_run(DETECTOR, [0.5, 0.75], [kind]).noticed
    assert max(noticed[kind]) <= 2 * DETECTOR.longest_gap


def test_processes_asleep_are_noticed_sooner_than_a_log_alone() -> None:
    """Where nothing was ever seen to pause and the first validation may be due, the process table makes the
    difference; that the processes spin makes none."""
    noticed = measure_run(EVEN, [0.1], ["hidden", "asleep", "spinning"]).noticed
    assert noticed["asleep"][0] < noticed["hidden"][0] == noticed["spinning"][0]


def test_on_the_open_road_a_hang_is_noticed_within_two_minutes_however_it_looks() -> None:
    """In the second half, with no epoch's end, no part of the whole and no round number near."""
    noticed = measure_run(EVEN, [0.56], ["hidden", "asleep", "spinning"]).noticed
    assert max(seconds[0] for seconds in noticed.values()) <= 120.0


def test_an_epoch_that_the_total_says_nothing_of_may_end_with_a_validation() -> None:
    """At any count of steps, as long as it comes twice."""
    epochs = run([*[20.0] * 431, 1500.0, *[20.0] * 431, 1500.0, *[20.0] * 155])
    replay = Replay(epochs)
    replay.to_end(epochs.seconds)
    assert [finding.rule for finding in replay.opened] == []


def test_a_healthy_silence_that_is_called_a_stall_is_told_with_its_lengths() -> None:
    """How soon it was called, how long it lasted, and what was the longest before it: even steps, and then an hour."""
    called = measure_run(run([20.0] * 550 + [3600.0] + [20.0] * 400), [], []).called
    assert called is not None
    assert 60.0 <= called.after < called.lasted == 3600.0
    assert called.before == 20.0
    assert measure_run(EVEN, [], []).called is None
