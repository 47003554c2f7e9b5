"""When a job will be done: near the truth where it can be known, None where it cannot, never nonsense."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogwatch.estimate.eta import estimate
from dogwatch.estimate.series import add
from dogwatch.model import Eta, Point
from tests.estimate.traces import asked, run, until, width

NUMBERS = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.integers(-5, 2000).map(float), st.floats(0, 1e4))
POINTS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=40)


def test_a_steady_job_is_foretold_closely():
    """A third of the way, at an even pace, the estimate is right and the interval narrow."""
    eta, truth = asked(run(1000, 2.0), 0.33)
    assert eta.remaining == pytest.approx(truth, rel=0.02)
    assert eta.low <= truth <= eta.high
    assert width(eta) < 0.2
    assert eta.confidence == 0.9


@pytest.mark.parametrize("share", [0.45, 0.6, 0.9])
def test_a_slow_start_does_not_count_against_the_run(share):
    """Ten minutes of loading and compiling before an even pace do not move the estimate by more than what a run so
    young may still show."""
    eta, truth = asked(run(1000, 1.0, every=10, start=600), share)
    assert eta.remaining == pytest.approx(truth, rel=0.07 if share < 0.5 else 0.04)


def test_a_first_pause_is_the_first_of_many_and_longer_than_they():
    """Five minutes of validation every 500 steps, seen once; or five minutes first, and two thirds of that after it."""
    seen = 0.15
    alike, truth = asked(run(6000, 1.0, every=10, pauses=[(500, 300)]), seen)
    assert alike.remaining == pytest.approx(truth, rel=0.1)
    assert alike.low <= truth <= alike.high
    moments = run(6000, 1.0, every=10, pauses=[(500, 300)])
    shorter = [Point(p.at - 100 * max(0, (p.done - 510) // 500), p.done) for p in moments]
    less, truth = asked(shorter, seen)
    assert less.remaining == pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.85, 0.95])
def test_pauses_that_come_in_a_cycle_are_carried_on(share):
    """Five minutes of validation every 500 steps: known after the second, and counted one by one at the end."""
    eta, truth = asked(run(6000, 1.0, every=10, pauses=[(500, 300)]), share)
    assert eta.remaining == pytest.approx(truth, rel=0.03)
    assert eta.low <= truth <= eta.high


def test_two_kinds_of_pauses_are_told_apart():
    """Short checkpoints and long validations keep their own cycles."""
    eta, truth = asked(run(8000, 1.0, every=10, pauses=[(1000, 400), (300, 60)]), 0.6)
    assert eta.remaining == pytest.approx(truth, rel=0.04)


def test_a_validation_after_the_last_step_is_not_waited_for():
    """A cycle that falls on the very end of the counter ends after it."""
    eta, truth = asked(run(4000, 1.0, every=10, pauses=[(1000, 600)]), 0.9)
    assert eta.remaining == pytest.approx(truth, rel=0.05)


def test_a_pause_of_known_length_runs_off_while_it_lasts():
    """In the middle of a validation, half of it is what is left of it."""
    points = run(6000, 1.0, every=10, pauses=[(500, 300)])
    before = next(point for point in points if point.done == 3000)
    past = [point for point in points if point.at <= before.at]
    eta = estimate(past, 6000, before.at + 150)
    assert eta is not None
    assert eta.remaining == pytest.approx(points[-1].at - before.at - 150, rel=0.02)


def test_a_single_late_pause_may_come_once_more():
    """One of 60 s at two thirds: a second is not waited for, but the interval has room for it."""
    once = [Point(p.at + (60.0 if p.done > 680 else 0.0), p.done) for p in run(1000, 1.013, every=10)]
    told = [point for point in once if point.done <= 800]
    eta = estimate(told, 1000, told[-1].at)
    assert eta is not None
    assert eta.remaining == pytest.approx(203, rel=0.02)
    assert eta.high > 203 + 50


def test_one_hiccup_is_not_expected_again():
    """A single stall of ten minutes in mid-run is not spread over the rest of it."""
    points = run(3000, 1.0, every=10)
    points = [point if point.done <= 400 else Point(point.at + 600, point.done) for point in points]
    eta, truth = asked(points, 0.6)
    assert eta.remaining == pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize("factor", [0.5, 1.6, 2.5])
def test_a_change_for_good_is_believed_soon(factor):
    """Two tenths of the run after its pace has changed, the estimate is the new pace's."""
    eta, truth = asked(run(2000, lambda step: 1.0 if step < 800 else factor, every=10), 0.65)
    assert eta.remaining == pytest.approx(truth, rel=0.06)


def test_a_slow_drift_is_followed():
    """A run that becomes 30 % slower bit by bit is foretold nearer than its present pace would."""
    points = run(4000, lambda step: 1.0 + 0.3 * step / 4000, every=10, noise=0.01)
    past, now, truth = until(points, 0.4)
    eta = estimate(past, 4000, now)
    assert eta is not None
    level = (past[-1].at - past[-20].at) / (past[-1].done - past[-20].done) * (4000 - past[-1].done)
    assert abs(eta.remaining - truth) < 0.6 * abs(level - truth)


def test_a_run_whose_pauses_come_as_they_like_has_a_wider_interval():
    """Between its pauses it is even; but its average has been wrong before."""
    lengths, points, at = (900, 60, 60, 1500, 30, 900, 60, 2000, 30), [Point(0.0, 0.0)], 0.0
    for i, length in enumerate(lengths):
        for _ in range(17 + 13 * (i % 4)):
            at += 10
            points.append(Point(at, points[-1].done + 10))
        at += length
    total = 2 * points[-1].done
    wild = estimate(points, total, points[-1].at)
    even = estimate(run(int(points[-1].done), 1.0, every=10), total, points[-1].done)
    assert wild is not None
    assert even is not None
    assert wild.high / wild.low > 2 * even.high / even.low


def test_pauses_that_were_foretold_make_no_doubt_of_the_pace():
    """Ten steps at once and then a hundred seconds, again and again: within a burst the average was off."""
    points = [Point(100.0 * (i // 10) + 0.001 * (i % 10), float(i)) for i in range(50)]
    eta = estimate(points, 100, points[-1].at)
    assert eta is not None
    assert eta.remaining == pytest.approx(600, rel=0.01)
    assert eta.high / eta.low < 1.2


def test_a_counter_that_went_back_resumed():
    """A crash and a resume from the last checkpoint keep what was learnt of the pace; the restart is no pace."""
    points = run(2000, 1.0, every=10)
    crash = [point for point in points if point.done <= 900]
    later = [Point(point.at + 1000, point.done) for point in points if point.done >= 800]
    eta, truth = asked(crash + later, 0.7)
    assert eta.remaining == pytest.approx(truth, rel=0.03)


def test_a_run_that_was_resumed_counts_its_cycle_from_there():
    """Started at step 3000, validated at 3500: the next one is at 4000, and none after the end."""
    points = run(4000, 1.0, every=10, pauses=[(500, 200)], first=3000)
    eta, truth = asked(points, 0.75)
    assert eta.remaining == pytest.approx(truth, rel=0.05)


def test_a_log_that_is_written_in_blocks_is_no_burst_of_speed():
    """Sixty lines with one time stamp, every few minutes: the pace is that between the blocks."""
    points = run(3000, 1.0)
    flushed = [Point(points[min(len(points) - 1, i // 60 * 60 + 59)].at, p.done) for i, p in enumerate(points)]
    eta, truth = asked(flushed, 0.5)
    assert eta.remaining == pytest.approx(truth, rel=0.03)


@pytest.mark.parametrize("tick", [1.0, 60.0])
def test_a_clock_of_whole_seconds_or_minutes_is_not_noise(tick):
    """Steps of a second and a half, stamped in whole seconds, or steps of half a minute, in whole minutes."""
    points = [Point(math.floor(point.at / tick) * tick, point.done) for point in run(400, 1.5 * tick / 2)]
    eta, truth = asked(points, 0.4)
    assert eta.remaining == pytest.approx(truth, rel=0.04)
    assert width(eta) < 0.35


@pytest.mark.parametrize("share", [0.25, 0.45, 0.75])
def test_a_run_of_few_long_epochs_is_foretold(share):
    """Twelve points in all, the first with the start in it."""
    eta, truth = asked(run(12, 600.0, start=300), share)
    assert eta.remaining == pytest.approx(truth, rel=0.04)


@pytest.mark.parametrize("told", [3, 5])
def test_a_first_count_that_is_told_at_once_does_not_hide_the_start(told):
    """Epoch 1 is told when it begins, so the gap that also loads is the one from 1 to 2."""
    points = [Point(0.0, 0.0), Point(0.2, 1.0), *(Point(300.2 + 100 * i, 2.0 + i) for i in range(told))]
    eta = estimate(points, 40, points[-1].at)
    assert eta is not None
    assert eta.remaining == pytest.approx(100 * (40 - points[-1].done), rel=0.01)


def test_a_zero_that_is_told_twice_begins_the_second_time():
    """Epoch 0 is told as the run starts and when it is done, 160 s later; the next takes 100 s, as the others will."""
    told = [Point(0.0, 0.0), Point(160.0, 0.0), Point(260.0, 1.0)]
    eta = estimate(told, 50, 260.0)
    assert eta is not None
    assert eta.remaining == pytest.approx(4900, rel=0.01)


def test_a_zero_that_is_told_again_and_again_is_one_long_count():
    """Ten lines within epoch 0: the first epoch took all of that time."""
    told = [*(Point(20.0 * i, 0.0) for i in range(10)), Point(200.0, 1.0)]
    eta = estimate(told, 50, 200.0)
    assert eta is not None
    assert eta.remaining == pytest.approx(9800, rel=0.01)


def test_the_rough_second_of_a_few_gaps_is_no_start():
    """Epochs of 90 to 130 s: the first measured one is among the slowest, but no slower than chance makes it."""
    points = [Point(0.0, 0.0), *(Point(at, i) for i, at in enumerate((130.0, 250.0, 380.0, 470.0, 590.0), 1))]
    eta = estimate(points, 50, 590.0)
    assert eta is not None
    assert eta.remaining == pytest.approx(115 * 45, rel=0.03)


def test_a_slow_stretch_in_the_past_is_not_a_row_of_pauses():
    """An hour at a third of the speed, then full speed again: the rest is at full speed."""
    points = run(2000, lambda step: 3.0 if 300 <= step < 600 else 1.0, every=20)
    eta, truth = asked(points, 0.7)
    assert eta.remaining == pytest.approx(truth, rel=0.05)


def test_a_thinned_history_says_the_same_as_the_whole():
    """What the watcher keeps of ten thousand points is enough for the estimate."""
    points = run(20_000, 1.0, every=2, pauses=[(1500, 240)], noise=0.3)
    past, now, truth = until(points, 0.5)
    kept: list[Point] = []
    for point in past:
        add(kept, point)
    thin = estimate(kept, 20_000, now)
    assert len(kept) <= 256
    assert thin is not None
    assert thin.remaining == pytest.approx(truth, rel=0.03)


def test_a_total_that_changed_is_the_one_that_counts():
    """The estimate is for what is to be done now."""
    points = run(1000, 1.0, every=10)
    late, _ = asked(points, 0.9)
    longer, _ = asked(points, 0.9, total=2000)
    assert longer.remaining == pytest.approx(late.remaining + 1000, rel=0.03)


def test_one_gap_is_a_wide_guess():
    """Two points are enough to speak, not to be sure."""
    eta = estimate([Point(0, 0), Point(60, 10)], 100, 60)
    assert eta is not None
    assert eta.remaining == pytest.approx(540, rel=0.1)
    assert eta.confidence < 0.9
    assert width(eta) > 1


@pytest.mark.parametrize("total", [None, 0.0, -3.0, math.nan, math.inf])
def test_without_a_total_there_is_no_eta(total):
    """No total, none above zero, or one that is no number: unknown."""
    assert estimate(run(50), total, 2000) is None


def test_too_little_to_go_on_is_unknown():
    """No points, one point, points of one moment, or a counter that stands still: None, not a guess."""
    assert estimate([], 10, 5) is None
    assert estimate([Point(0, 1)], 10, 5) is None
    assert estimate([Point(0, 1), Point(0, 2)], 10, 5) is None
    assert estimate([Point(t, 5.0) for t in range(50)], 10, 50) is None
    assert estimate(run(50), 100, -1.0) is None
    assert estimate([Point(10.0 * i, 1e-310 * i) for i in range(50)], 1e-308, 490) is None


def test_a_job_that_has_done_all_needs_no_more_time():
    """At or beyond the total nothing is left."""
    assert estimate(run(50), 50, 2000) == Eta(0, 0, 0, 1.0)
    assert estimate(run(50), 40, 2000) == Eta(0, 0, 0, 1.0)


def test_silence_does_not_bring_the_end_nearer():
    """Some minutes without a step, never seen before, may go on for as long again."""
    points = run(300, 2.0)
    before, after = estimate(points, 3000, points[-1].at), estimate(points, 3000, points[-1].at + 600)
    assert before is not None
    assert after is not None
    assert before.remaining < after.remaining < before.remaining + 600
    assert after.high >= before.high + 500


def test_silence_where_the_end_was_due_does_not_make_it_certain():
    """Half of a single gap was to go, and as long has passed: it may end now, or later, as its pace is in doubt."""
    eta = estimate([Point(0.0, 0.0), Point(10.0, 10.0)], 15, 15.5)
    assert eta is not None
    assert 0 <= eta.remaining < 1
    assert eta.high > 2


def test_a_run_that_nobody_told_of_for_long_may_have_gone_on():
    """A log with a hole: what was to go runs off, and the interval also holds that it did not."""
    points = run(300, 2.0)
    before, after = estimate(points, 3000, points[-1].at), estimate(points, 3000, points[-1].at + 2700)
    assert before is not None
    assert after is not None
    assert after.remaining == pytest.approx(before.remaining - 2700, rel=0.05)
    assert after.low <= after.remaining <= before.remaining < after.high


def test_a_counter_that_is_told_to_stand_still_has_not_gone_on():
    """Whoever goes on to say 300 does not do more in silence."""
    points = run(300, 2.0)
    still = [*points, *(Point(points[-1].at + 10 * i, 300.0) for i in range(1, 300))]
    eta = estimate(still, 3000, still[-1].at)
    assert eta is not None
    assert eta.remaining >= 5400


def test_a_run_that_should_have_ended_in_silence_is_unknown():
    """An hour of silence where twenty minutes were to go says neither that it is done nor that it ever will be."""
    points = run(300, 2.0)
    assert estimate(points, 1000, points[-1].at + 3600) is None


def test_a_long_silence_at_the_very_end_is_still_a_pause():
    """The last evaluation takes longer than any gap and a small part of the run."""
    points = run(990, 2.0)
    eta = estimate(points, 1000, points[-1].at + 120)
    assert eta is not None
    assert 0 < eta.low < eta.remaining < eta.high < 1000


def test_between_two_points_time_runs_off():
    """A minute after the last epoch ended, the rest is a minute less."""
    points = run(6, 600.0)
    at_once, later = estimate(points, 12, points[-1].at), estimate(points, 12, points[-1].at + 60)
    assert at_once is not None
    assert later is not None
    assert at_once.remaining - later.remaining == pytest.approx(60, abs=1)


def test_more_to_do_takes_longer():
    """The estimate grows with the total."""
    past, now, _ = until(run(1000, 1.0, every=10), 0.3)
    found = [estimate(past, total, now) for total in (400, 700, 1000, 5000)]
    left = [eta.remaining for eta in found if eta is not None]
    assert len(left) == 4
    assert left == sorted(left)


@settings(max_examples=400)
@given(POINTS, NUMBERS, NUMBERS, st.booleans(), POINTS)
def test_an_eta_is_never_negative_or_not_a_number(pairs, total, now, ordered, before):
    """Whatever the history, the answer is None or 0 <= low <= remaining <= high < infinity."""
    points = [Point(*pair) for pair in pairs]
    if ordered:
        points = []
        for pair in sorted(pairs, key=lambda p: (not math.isnan(p[0]), p[0])):
            add(points, Point(*pair))
    eta = estimate(points, total, now, [Point(*pair) for pair in before])
    if eta is not None:
        assert 0 <= eta.low <= eta.remaining <= eta.high < math.inf
        assert 0 <= eta.confidence <= 1


def test_counts_told_in_bursts_are_not_a_rough_pace():
    """Every third count is told late, a moment before the next: the pace is that of the whole, and no less sure."""
    points = run(900, 1.0, every=3)
    bursts = [Point(points[i + 1].at - 0.01, p.done) if i % 3 == 2 else p for i, p in enumerate(points[:-1])]
    bursts.append(points[-1])
    eta, truth = asked(bursts, 0.4)
    assert eta.remaining == pytest.approx(truth, rel=0.05)
    assert eta.low <= truth <= eta.high
    assert width(eta) < 0.3


def test_one_longer_gap_just_now_moves_little():
    """A gap half as long again, too short for a pause: it may be the first of many, and more likely is none."""
    past, now, truth = until(run(1000, 1.0, every=10), 0.5)
    late = [*past[:-1], Point(past[-1].at + 5, past[-1].done)]
    eta = estimate(late, 1000, late[-1].at)
    assert eta is not None
    assert eta.remaining == pytest.approx(truth + now - past[-1].at, rel=0.09)


def test_a_rough_run_is_averaged():
    """Items that take from a tenth to ten times the usual: no stretch of quick ones is a new pace."""
    off = []
    for seed in range(8):
        rng = Random(seed)
        lengths = [rng.lognormvariate(0, 0.8) for _ in range(600)]
        eta, truth = asked([Point(sum(lengths[:i]), float(i)) for i in range(601)], 0.5)
        off.append(abs(eta.remaining - truth) / truth)
        assert eta.low <= truth <= eta.high
    assert sorted(off)[-2] < 0.2


def test_a_slow_second_count_is_a_start_too():
    """The second of four counts loads the validation set: the middle of the four is the pace."""
    points = [Point(0, 0), Point(61, 1), Point(180, 2), Point(240, 3), Point(301, 4)]
    eta = estimate(points, 40, 301)
    assert eta is not None
    assert eta.remaining == pytest.approx(36 * 61, rel=0.07)


def test_a_pause_among_few_counts_comes_again():
    """The third of four counts holds a validation: it belongs to the pace, as nothing tells yet how often it comes."""
    eta = estimate([Point(0, 0), Point(60, 1), Point(121, 2), Point(240, 3), Point(301, 4)], 40, 301)
    assert eta is not None
    assert eta.remaining == pytest.approx(36 * 80, rel=0.07)


def test_what_was_added_for_the_unseen_is_in_the_interval():
    """A tenth of the way a steady run without a pause is told a little longer, as most are, and may end sooner."""
    eta, truth = asked(run(1000, 1.0, every=5), 0.1)
    assert 1.02 * truth < eta.remaining < 1.1 * truth
    assert eta.low <= truth


@pytest.mark.parametrize("every", [1, 0.25])
def test_what_comes_with_every_epoch_has_been_seen(every):
    """A counter that moves by epochs or by parts of one is told no longer than its pace says."""
    moments = [Point(60 * point.at, every * point.done) for point in run(int(200 / every), 1.0)]
    eta, truth = asked(moments, 0.1)
    assert eta.remaining == pytest.approx(truth, rel=0.01)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(1, 400), st.integers(1, 30)), min_size=1, max_size=60),
    st.sampled_from([1.0, 2.0, 16.0, 1024.0, 0.125]),
    st.integers(-5, 5),
)
def test_units_and_the_hour_do_not_matter(moves, unit, weeks):
    """Tokens or steps, this week or another: the same seconds are left."""
    at, done, points = 1_700_000_000.125, 0.0, [Point(1_700_000_000.125, 0.0)]
    for quarters, steps in moves:
        at, done = at + quarters / 4, done + 1000 * steps
        points.append(Point(at, done))
    total, shift = done * 3, weeks * 604_800.0
    other = [Point(point.at + shift, point.done * unit) for point in points]
    one, two = estimate(points, total, at + 1), estimate(other, total * unit, at + 1 + shift)
    assert (one is None) == (two is None)
    if one is not None and two is not None:
        assert (two.remaining, two.low, two.high) == pytest.approx((one.remaining, one.low, one.high), rel=1e-6)


@pytest.mark.parametrize("share", [0.55, 0.6, 0.85])
@pytest.mark.parametrize("pauses", [[], [(500, 300)], [(700, 200), (150, 30)]])
def test_how_often_a_count_is_told_does_not_matter(share, pauses):
    """Every step, every twentieth, or every one only late or only early in the past: the same time is left."""
    past, now, truth = until(run(3000, 1.0, pauses=pauses, start=120), share)
    last = past[-1].done
    for told in (
        past,
        [p for p in past if p.done % 20 == 0],
        [p for p in past if p.done % 20 == 0 or p.done > 0.8 * last],
        [p for p in past if p.done % 20 == 0 or p.done < 0.2 * last],
    ):
        eta = estimate(told, 3000, now)
        assert eta is not None
        assert eta.remaining == pytest.approx(truth, rel=0.03)
        assert eta.low <= truth <= eta.high
