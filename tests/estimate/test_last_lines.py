"""The kinds of lines at which a log stood tell whether something new may follow the one at which it stands now."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from dogwatch.estimate.last_lines import MOST, Lines


def stood(lines: Lines, *kinds: str) -> Lines:
    for kind in kinds:
        lines.last = kind
        lines.end_silence(1.0)
    return lines


def test_a_kind_is_new_before_the_first_time() -> None:
    """What stands last now counts only when its silence has ended."""
    lines = stood(Lines(), *["step"] * 10)
    lines.last = "step"
    assert not lines.new
    assert lines.times == 10
    lines.last = "evaluate"
    assert lines.new
    assert lines.times == 0
    assert not lines.several


def test_a_job_that_has_shown_nothing_yet_does_nothing_new() -> None:
    """Nor one whose log says nothing."""
    assert not Lines({}, "step").new
    assert not Lines({"step": 50}, "").new


def test_where_every_line_is_another_a_new_one_is_no_news() -> None:
    prose = stood(Lines(), *map(str, range(30)))
    prose.last = "31"
    assert not prose.new


def test_the_longest_gap_is_kept_by_the_kind_of_line_before_it() -> None:
    """And nothing is said of a kind that never stood there."""
    lines = Lines()
    for kind, gap in (("step", 5.0), ("saved", 90.0), ("step", 7.0), ("step", 4.0)):
        lines.last = kind
        lines.end_silence(gap)
    assert (lines.times, lines.longest_after) == (3, 7.0)
    lines.last = "saved"
    assert lines.longest_after == 90.0
    lines.last = "test"
    assert (lines.times, lines.longest_after) == (0, math.inf)


@given(st.lists(st.sampled_from([str(i) for i in range(3 * MOST)]), max_size=500))
def test_kinds_are_bounded_and_the_commonest_stay(kinds: list[str]) -> None:
    lines = stood(Lines(), *["step"] * 600, *kinds)
    assert len(lines.seen) <= MOST
    assert lines.seen.keys() == lines.longest.keys()
    assert lines.seen["step"] == 600
