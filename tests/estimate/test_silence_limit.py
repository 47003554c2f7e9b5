"""Silence limit is learnt from a job's own gaps, generous where little was seen, and never more than its owner
allows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dogwatch.estimate.last_lines import Lines
from dogwatch.estimate.milestones import Position, RunPosition
from dogwatch.estimate.silence_limit import (
    AFTER_SUCH,
    BETWEEN,
    EPOCH,
    HANGS,
    HOUR,
    LAST,
    LEAST,
    OF_EPOCH,
    OF_SEEN,
    OF_WHOLE,
    PAUSED,
    PAUSED_THERE,
    PHASES,
    SAFETY,
    STEADY,
    SURPRISE,
    THERE_TIMES,
    UNSEEN,
    USUAL_THERE,
    Gaps,
    has_paused,
    kind_of,
    silence_limit,
)

GAP_LISTS = st.lists(st.floats(0.0, 5000.0), min_size=1, max_size=60)


def at(position: Position, gone: float = 0.6, whole: float | None = None) -> RunPosition:
    return RunPosition(position, gone, whole)


def seen(*silences: float, look: float = 10.0) -> Gaps:
    gaps = Gaps()
    for silent in silences:
        gaps.note(silent, look)
    return gaps


@given(GAP_LISTS, st.floats(1.0, 1e5), st.sampled_from([STEADY, *PHASES]), st.booleans())
def test_the_limit_that_was_given_is_the_most_and_never_the_least(
    silences: list[float], limit: float, phase: str, asleep: bool
) -> None:
    """Whatever was learnt."""
    gaps = {STEADY: seen(*silences)}
    free = silence_limit(gaps, phase, None, asleep=asleep)
    assert silence_limit(gaps, phase, limit, asleep=asleep) == min(limit, free)


@given(GAP_LISTS, st.sampled_from([STEADY, *PHASES]), st.booleans())
def test_a_gap_that_was_survived_is_never_a_stall_the_second_time(
    silences: list[float], phase: str, asleep: bool
) -> None:
    """However the processes look meanwhile."""
    gaps = {STEADY: seen(*silences)}
    assert silence_limit(gaps, phase, asleep=asleep) >= SAFETY * max(silences)


@given(GAP_LISTS, GAP_LISTS, st.sampled_from([STEADY, *PHASES]))
def test_sleep_never_lengthens_patience(silences: list[float], others: list[float], phase: str) -> None:
    """In every phase, known or not."""
    gaps = {STEADY: seen(*silences), "validating": seen(*others)}
    assert silence_limit(gaps, phase, asleep=True) <= silence_limit(gaps, phase)


def test_a_first_validation_thirty_five_times_as_long_as_any_gap_is_no_stall() -> None:
    """That is how detectors begin: hours of even lines, then half an hour of nothing."""
    even = seen(*[0.0, 40.0] * 75, look=40.0)
    assert even.longest < 1740 / 25
    assert silence_limit({STEADY: even}, STEADY) > 1740


def test_a_job_whose_pauses_are_known_is_allowed_a_little_more_than_those() -> None:
    """After three validations of ten minutes, a quarter of an hour is enough."""
    epoch = [0.0] * 100
    known = seen(*epoch, 600.0, *epoch, 620.0, *epoch, 590.0)
    assert 600 < silence_limit({STEADY: known}, STEADY) < 1020


def test_what_is_new_lasts_no_longer_than_a_few_epochs_where_they_are_counted() -> None:
    """What a job evaluates is seldom more than what it trains on; a job that was hardly seen is given its start."""
    even = {STEADY: seen(*[5.0] * 200)}
    place = RunPosition(Position.MILESTONE, epochs_known=True, epoch_seconds=210.0)
    assert (
        silence_limit(even, STEADY, where=place)
        == OF_EPOCH * 210.0
        < silence_limit(even, STEADY, where=replace(place, epoch_seconds=None))
    )
    assert silence_limit(even, STEADY, where=replace(place, epoch_seconds=1.0)) == 2 * BETWEEN
    assert silence_limit({STEADY: seen(5.0)}, STEADY, where=replace(place, epoch_seconds=1.0)) == HOUR - 15.0


def test_one_look_that_saw_nothing_is_no_pause() -> None:
    """Lines that come about as often as the looks leave one of them empty now and then; nothing is learnt from it."""
    even = seen(*[0.0, 0.0, 60.0] * 40, look=60.0)
    assert silence_limit({STEADY: even}, STEADY) == UNSEEN


def test_gaps_that_come_by_turns_are_no_pauses() -> None:
    """A job that is quiet for a minute and then for seven has shown how it goes, not what else it may do."""
    by_turns = seen(*[0.0, 425.0] * 20)
    assert silence_limit({STEADY: by_turns}, STEADY) == UNSEEN


def test_what_may_still_come_for_the_first_time_grows_less_likely_with_the_hours() -> None:
    """A day of even gaps buys a shorter silence limit than two hours of them."""
    hours, day = seen(*[20.0] * 240), seen(*[20.0] * 2880)
    assert silence_limit({STEADY: day}, STEADY) < silence_limit({STEADY: hours}, STEADY) == UNSEEN


def test_a_phase_that_the_log_announces_has_a_patience_of_its_own() -> None:
    """And the pauses that it announced make the steady work the better known."""
    gaps = {STEADY: seen(*[0.0] * 200), "validating": seen(900.0, 950.0, 920.0)}
    assert silence_limit(gaps, "validating") == SAFETY * gaps["validating"].longest
    assert silence_limit(gaps, STEADY) == PAUSED


def test_between_milestones_the_second_half_of_a_job_that_never_paused_is_allowed_a_minute() -> None:
    """And a validation at a place where one may begin, or wherever nobody knows how far it is."""
    even = {STEADY: seen(*[20.0] * 160, look=10.0)}
    assert silence_limit(even, STEADY, where=at(Position.BETWEEN)) == BETWEEN
    assert silence_limit(even, STEADY, where=at(Position.MILESTONE)) == silence_limit(even, STEADY) == UNSEEN


def test_a_job_that_trains_to_a_target_may_come_to_its_end_at_any_moment() -> None:
    """And evaluate there for a good part of what was seen, between milestones too; but not asleep."""
    even = {STEADY: seen(*[200.0] * 160)}
    open_stretch = RunPosition(Position.BETWEEN, epochs_known=True)
    target = replace(open_stretch, to_target=True)
    assert silence_limit(even, STEADY, where=target) == pytest.approx(LAST * even[STEADY].seconds)
    assert silence_limit(even, STEADY, where=open_stretch) < silence_limit(even, STEADY, where=target)
    assert silence_limit(even, STEADY, asleep=True, where=target) < silence_limit(even, STEADY, where=target)


def test_in_the_first_half_the_end_of_an_epoch_may_come_as_a_surprise() -> None:
    """Where the total says nothing of epochs; a validation lasts up to a third of what came before it."""
    even = {STEADY: seen(*[20.0] * 120, look=10.0)}
    early = silence_limit(even, STEADY, where=at(Position.BETWEEN, gone=0.3))
    assert early == pytest.approx(SURPRISE * even[STEADY].seconds)
    assert silence_limit(even, STEADY, where=at(Position.BETWEEN, gone=EPOCH)) == BETWEEN
    assert silence_limit(even, STEADY, where=RunPosition(Position.BETWEEN, 0.05, epochs_known=True)) == BETWEEN


def test_what_is_new_lasts_no_longer_than_a_share_of_the_whole() -> None:
    """A job of an hour does not validate for forty minutes; one of a day may."""
    even = {STEADY: seen(*[20.0] * 160, look=10.0)}
    hour, day, minutes = (
        silence_limit(even, STEADY, where=at(Position.MILESTONE, whole=whole)) for whole in (3600, 86_400, 300)
    )
    assert hour == pytest.approx(OF_WHOLE * 3600)
    assert day == UNSEEN
    assert minutes == BETWEEN


def test_a_start_is_over_after_an_hour() -> None:
    """A few long gaps, in whatever phases: what is left of the hour is all that it may still take to begin."""
    loaded = {"starting": seen(0.0, 400.0, 390.0), STEADY: seen(300.0, 320.0, 310.0)}
    begun = {"starting": seen(0.0, 900.0), STEADY: seen(*[320.0] * 9)}
    assert silence_limit(loaded, STEADY) == pytest.approx(HOUR - sum(gaps.seconds for gaps in loaded.values()))
    assert silence_limit(begun, STEADY) == LEAST


def test_the_first_epoch_counts_though_it_passed_while_the_job_began() -> None:
    """A log that tells nothing before its first epoch ends, and then nothing but the ends of epochs."""
    first, later = ({"starting": seen(1.0, 3200.0), STEADY: seen(*[30.0] * lines)} for lines in (1, 40))
    assert silence_limit(first, STEADY) == SAFETY * first["starting"].longest > silence_limit(later, STEADY)


def lines_of(last: str, longest: float = 0.0, **kinds: int) -> Lines:
    return Lines(kinds, last, dict.fromkeys(kinds, longest))


def test_after_a_line_that_stood_last_n_times_what_is_new_takes_an_nth_of_an_hour_and_a_half() -> None:
    """Without a total, hours of even steps do not tell that a validation of forty minutes is no more to come; that each
    of them ended with the same kind of line does, the more the oftener. A first line of another kind may begin one."""
    even = {STEADY: seen(*[50.0] * 100)}
    once, twice, often, always = (lines_of("step", 55.0, step=times, saved=1) for times in (1, 2, 12, 99))
    assert silence_limit(even, STEADY, lines=once) == UNSEEN
    assert silence_limit(even, STEADY, lines=twice) == UNSEEN < AFTER_SUCH / 2
    assert silence_limit(even, STEADY, lines=often) == AFTER_SUCH / 12
    assert silence_limit(even, STEADY, lines=always) == SAFETY * 55.0 > AFTER_SUCH / 99
    assert silence_limit(even, STEADY, lines=lines_of("test", step=99)) == UNSEEN


def test_a_rhythm_is_known_before_a_start_is_over() -> None:
    """Seven epochs of three minutes, each told by the same kind of line, are no reason to wait for most of an hour; a
    bar that ran through its seven lines in a minute says nothing of the model that is loaded behind it."""
    epochs, bar = {STEADY: seen(*[170.0] * 7)}, {STEADY: seen(*[3.0] * 7, look=2.0)}
    lines = lines_of("epoch", 175.0, epoch=7, model=1)
    assert silence_limit(epochs, STEADY, lines=lines) == AFTER_SUCH / 7 < silence_limit(epochs, STEADY)
    assert silence_limit(bar, STEADY, lines=lines) == silence_limit(bar, STEADY) > 0.9 * HOUR


def test_pauses_count_by_the_line_after_which_they_came() -> None:
    """Items of very different size, each told by one line, may last as long again; beside a save that says so first,
    a step is not waited for much longer than the save took."""
    uneven = {STEADY: seen(*[20.0] * 90, 190.0)}
    item = Lines({"item": 90, "saved": 1}, "item", {"item": 195.0, "saved": 25.0})
    step = Lines({"step": 90, "saved": 1}, "step", {"step": 25.0, "saved": 195.0})
    assert (
        silence_limit(uneven, STEADY, lines=item) == SAFETY * 195.0 > silence_limit(uneven, STEADY, lines=step) == 195.0
    )


def test_a_pause_that_follows_a_line_of_its_own_is_known_by_that_line() -> None:
    """Twice the log spoke of a checkpoint before a long silence, and now of training again."""
    gaps = {STEADY: seen(*[20.0] * 300), "checkpointing": seen(310.0, 310.0)}
    saved = Lines({"step": 298, "saved": 2}, "saved", {"step": 25.0, "saved": 315.0})
    assert silence_limit(gaps, STEADY, lines=saved) == SAFETY * 315.0 > 310.0 > silence_limit(gaps, STEADY) == PAUSED


def test_a_log_of_several_words_announces_what_comes_at_a_target() -> None:
    """One that says nothing but its count may come to its end at any moment."""
    even, target = {STEADY: seen(*[50.0] * 400)}, RunPosition(Position.BETWEEN, to_target=True)
    alone, others = lines_of("step", 55.0, step=400), lines_of("step", 55.0, step=400, evaluated=9)
    assert silence_limit(even, STEADY, where=target, lines=others) == SAFETY * 55.0
    assert silence_limit(even, STEADY, where=target, lines=alone) == LAST * even[STEADY].seconds > 10 * SAFETY * 55.0


def test_the_longest_gap_after_a_line_that_nobody_kept_is_not_guessed() -> None:
    """What a release before had learnt has only how often lines stood last."""
    even = {STEADY: seen(*[50.0] * 100)}
    assert silence_limit(even, STEADY, lines=Lines({"step": 99, "saved": 1}, "step")) == silence_limit(even, STEADY)


def test_a_log_that_says_nothing_but_its_count_announces_nothing() -> None:
    """There the places of its counter are all that tells where something may begin."""
    even, place = {STEADY: seen(*[20.0] * 100)}, at(Position.MILESTONE)
    alone, others = lines_of("step", 25.0, step=THERE_TIMES), lines_of("step", 25.0, step=THERE_TIMES, saved=1)
    assert silence_limit(even, STEADY, where=place, lines=alone) == silence_limit(even, STEADY, where=place)
    assert (
        silence_limit(even, STEADY, where=place, lines=others) == USUAL_THERE < silence_limit(even, STEADY, where=place)
    )


def test_early_on_its_way_a_job_still_says_what_it_begins() -> None:
    """What every place ahead may bring is due after a line of another kind, not after one that stood there before."""
    even, early = {STEADY: seen(*[20.0] * 100)}, at(Position.EARLY, gone=0.02)
    step, alone = lines_of("step", 25.0, step=THERE_TIMES, saved=1), lines_of("step", 25.0, step=THERE_TIMES)
    assert silence_limit(even, STEADY, where=early, lines=step) == AFTER_SUCH / THERE_TIMES
    assert (
        silence_limit(even, STEADY, where=early, lines=alone)
        == silence_limit(even, STEADY, where=at(Position.MILESTONE))
        == UNSEEN
    )


def test_the_longer_a_job_runs_the_longer_a_file_system_may_hang_on_the_open_road() -> None:
    """A minute at first, five at most, whether the counter tells where it is or the line that always stands there."""
    open_stretch, often = at(Position.BETWEEN), lines_of("step", 25.0, step=9000, saved=1)
    for hours, allowed in ((1, BETWEEN), (20, HANGS * 20 * HOUR), (200, PAUSED)):
        even = {STEADY: seen(*[20.0] * (hours * 120))}
        assert silence_limit(even, STEADY, where=open_stretch) == pytest.approx(allowed)
        assert silence_limit(even, STEADY, lines=often) == pytest.approx(allowed)


def test_a_stop_that_was_told_beforehand_is_announced_by_no_line() -> None:
    """The first evaluation comes after a line that has stood there a hundred times."""
    even, step = {STEADY: seen(*[20.0] * 100)}, lines_of("step", 25.0, step=100, saved=1)
    place = at(Position.MILESTONE)
    assert silence_limit(even, STEADY, where=place, lines=step) < PAUSED
    assert silence_limit(even, STEADY, where=replace(place, due=True), lines=step) == UNSEEN


def test_a_new_kind_of_line_may_begin_something_even_on_the_open_road() -> None:
    """And after pauses, but no longer than at a place; where every line is of a kind of its own, it is no news."""
    even, open_stretch = {STEADY: seen(*[20.0] * 200)}, at(Position.BETWEEN)
    paused = {STEADY: seen(*[20.0] * 100, 180.0, *[20.0] * 100)}
    first, prose = Lines({"step": 200}, "test"), Lines({str(i): 1 for i in range(60)}, "test")
    assert (
        silence_limit(even, STEADY, where=open_stretch, lines=prose)
        == silence_limit(even, STEADY, where=open_stretch)
        == BETWEEN
    )
    assert (
        silence_limit(even, STEADY, where=open_stretch, lines=first)
        == silence_limit(paused, STEADY, lines=first)
        == PAUSED_THERE
    )
    assert silence_limit(paused, STEADY) == PAUSED


@given(
    GAP_LISTS,
    GAP_LISTS,
    st.sampled_from([STEADY, *PHASES]),
    st.sampled_from(list(Position)),
    st.dictionaries(st.sampled_from("abc"), st.integers(1, 99)),
    st.sampled_from(["", "a", "d"]),
)
def test_no_line_makes_a_stall_of_a_gap_that_was_survived(
    silences: list[float], others: list[float], phase: str, position: Position, kinds: dict[str, int], last: str
) -> None:
    gaps = {STEADY: seen(*others), phase: seen(*silences)}
    assert silence_limit(gaps, phase, where=at(position), lines=lines_of(last, **kinds)) >= max(silences)


def test_a_phase_that_was_announced_twice_alike_is_known_by_its_length() -> None:
    """Two validations of eighteen minutes are no reason to wait for an hour; short ones, and a single one, are."""
    steady = seen(*[20.0] * 100)
    once, twice = ({STEADY: steady, "validating": seen(*[1080.0] * times)} for times in (1, 2))
    short = {STEADY: steady, "validating": seen(5.0, 5.0)}
    assert silence_limit(twice, "validating") == SAFETY * twice["validating"].longest
    assert silence_limit(once, "validating") == silence_limit(short, "validating") == PHASES["validating"]


def test_a_first_line_of_its_kind_announces_another_evaluation() -> None:
    """After three validations of twenty minutes, a test on more may last longer than those; the next validation not."""
    gaps = {STEADY: seen(*[20.0] * 100), "validating": seen(*[1200.0] * 3)}
    again = Lines({"step": 100, "validate": 3}, "validate", {"step": 25.0, "validate": 1205.0})
    assert silence_limit(gaps, "validating", lines=again) == SAFETY * gaps["validating"].longest
    assert silence_limit(gaps, "validating", lines=replace(again, last="test")) == PHASES["validating"]


def test_a_pause_that_was_survived_elsewhere_is_none_on_the_open_road() -> None:
    """Where the log tells of its validations, a disk that made them wait may make a step wait; for some minutes."""
    steady, open_stretch = seen(*[20.0] * 200), at(Position.BETWEEN)
    short, long = ({STEADY: steady, "validating": seen(*[lasted] * 3)} for lasted in (100.0, 1200.0))
    assert (
        silence_limit(short, STEADY, where=open_stretch)
        == short["validating"].longest
        > BETWEEN
        == silence_limit({STEADY: steady}, STEADY, where=open_stretch)
    )
    assert silence_limit(long, STEADY, where=open_stretch) == PAUSED


def test_what_is_new_lasts_no_longer_than_most_of_what_was_seen() -> None:
    """Past the start, where a job compiles and loads for longer than it has ever run."""
    start, later = {STEADY: seen(*[5.0] * 11)}, {STEADY: seen(*[10.0] * 100)}
    assert silence_limit(start, STEADY) == HOUR - start[STEADY].seconds > UNSEEN
    assert silence_limit(later, STEADY) == pytest.approx(OF_SEEN * later[STEADY].seconds)


@example([0.0], [0.0], STEADY, Position.MILESTONE, 0.0, None)
@given(
    GAP_LISTS,
    GAP_LISTS,
    st.sampled_from([STEADY, *PHASES]),
    st.sampled_from(Position),
    st.floats(0.0, 1.0),
    st.none() | st.floats(1.0, 1e6),
)
def test_the_open_road_never_buys_patience(
    silences: list[float], others: list[float], phase: str, elsewhere: Position, gone: float, whole: float | None
) -> None:
    """Whatever was seen before; and what was survived stays survived."""
    gaps = {STEADY: seen(*silences), "checkpointing": seen(*others)}
    open_stretch = silence_limit(gaps, phase, where=RunPosition(Position.BETWEEN, gone, whole))
    assert (
        SAFETY * max(silences) <= open_stretch <= silence_limit(gaps, phase, where=RunPosition(elsewhere, gone, whole))
    )


def test_a_job_that_was_seen_for_a_few_minutes_only_has_no_open_road() -> None:
    """Whatever its counter says."""
    young = {STEADY: seen(*[5.0] * 25, look=5.0)}
    assert silence_limit(young, STEADY, where=at(Position.BETWEEN)) == LEAST


def test_the_pauses_of_a_job_that_has_become_slower_may_be_longer() -> None:
    """Somebody else came to its machine: its steps show that before its next validation does."""
    epoch = [20.0] * 40
    even = seen(*[*epoch, 400.0] * 4, *epoch)
    slower = seen(*[*epoch, 400.0] * 4, *epoch, *[60.0] * 4)
    assert silence_limit({STEADY: slower}, STEADY) > 2 * silence_limit({STEADY: even}, STEADY)
    once = seen(*[*epoch, 400.0] * 4, *epoch, 60.0, 20.0)
    assert silence_limit({STEADY: once}, STEADY) == silence_limit({STEADY: even}, STEADY)


def test_at_a_place_a_job_that_only_saved_so_far_may_begin_to_validate() -> None:
    """Fifteen short pauses say little about the first of another kind."""
    saving = {STEADY: seen(*([0.0] * 30 + [100.0]) * 15)}
    assert (
        silence_limit(saving, STEADY, where=at(Position.MILESTONE))
        == PAUSED_THERE
        > 765
        > silence_limit(saving, STEADY)
        == PAUSED
    )


def test_a_job_that_has_validated_is_allowed_little_more_than_that_anywhere() -> None:
    """Three pauses of minutes are no checkpoints; no other beginning is waited for."""
    validating = {STEADY: seen(*([0.0] * 60 + [170.0]) * 3)}
    assert (
        silence_limit(validating, STEADY, where=at(Position.MILESTONE)) == silence_limit(validating, STEADY) == PAUSED
    )


def test_a_job_that_told_of_its_validations_is_not_waited_for_to_begin_them() -> None:
    """However short they are beside its steps: what it may still do for the first time is something else."""
    steady = seen(*[180.0] * 20)
    told = {STEADY: steady, "validating": seen(*[20.0] * 3)}
    assert silence_limit({STEADY: steady}, STEADY) > 2 * silence_limit(told, STEADY)
    assert silence_limit(told, STEADY) == max(PAUSED, SAFETY * steady.longest)


def test_saves_that_are_well_known_say_nothing_of_a_validation_that_no_line_announces() -> None:
    """Nine epochs that were only saved, and the tenth is validated on, while the last words are still of saving."""
    saving = {STEADY: seen(*[20.0] * 300), "checkpointing": seen(*[30.0] * 9)}
    validated = {**saving, "validating": seen(*[30.0] * 3)}
    assert silence_limit(saving, "checkpointing", where=at(Position.MILESTONE)) >= LEAST
    assert silence_limit(validated, "checkpointing", where=at(Position.MILESTONE)) == PAUSED


def test_a_slow_start_is_no_pause() -> None:
    """Two minutes of loading say nothing of how long a first validation lasts, in the log's words or without."""
    slow = {STEADY: seen(130.0, *[0.0] * 60)}
    announced = {"starting": seen(0.0, 130.0), "compiling": seen(80.0), STEADY: seen(*[0.0] * 60)}
    assert not has_paused(slow)
    assert not has_paused(announced)
    assert silence_limit(slow, STEADY) > silence_limit(announced, STEADY) == OF_SEEN * 600.0 > PAUSED
    assert has_paused({STEADY: seen(130.0, *[0.0] * 60, 140.0)})


def test_a_phase_that_was_seen_often_is_judged_by_its_own_gaps() -> None:
    """What the steady work may still do for the first time is no reason to wait for an evaluation of many parts."""
    evaluating = {"validating": seen(*[200.0] * 12)}
    known = SAFETY * evaluating["validating"].longest
    assert silence_limit(evaluating, "validating") == known < silence_limit(evaluating, STEADY)


def test_a_word_for_a_phase_that_is_not_long_means_steady_work() -> None:
    """A log that says `Running` or `Done` after each part has no phases of its own for that."""
    assert kind_of("running") == kind_of("finished") == STEADY
    assert kind_of("validating") == "validating"
    even = {STEADY: seen(*[20.0] * 160)}
    assert silence_limit(even, "running") == silence_limit(even, STEADY)


def test_gaps_survive_their_json() -> None:
    """Value by value."""
    gaps = seen(1.0, 80.0, 3.0)
    assert Gaps(*gaps.to_json()) == gaps  # type: ignore[arg-type]
