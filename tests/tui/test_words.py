"""Numbers and times in words, for every kind of number that can turn up."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.tui import phrases, words
from tests.tui.sample import NOW

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (None, "-"),
        (NAN, "-"),
        (INF, "-"),
        (0, "0s"),
        (0.9, "0s"),
        (-0.4, "0s"),
        (-5, "-5s"),
        (59.9, "59s"),
        (60, "1m"),
        (61, "1m 1s"),
        (599, "9m 59s"),
        (601, "10m"),
        (3600, "1h"),
        (9240, "2h 34m"),
        (86400, "1d"),
        (273_600, "3d 4h"),
        (864_000_000, "10,000d"),
        (1e30, "over 100 years"),
    ],
)
def test_a_span_is_said_in_its_two_largest_units(seconds, said):
    """Seconds become the words people use, and nonsense becomes a dash."""
    assert words.span(seconds) == said


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (600, 900, "10-15m"),
        (10, 45, "10-45s"),
        (40, 130, "40s-2m"),
        (6600, 7800, "1h 50m-2h 10m"),
        (-5, 0, "0s"),
        (720, 720, "12m"),
        (None, 5, "-"),
        (0, INF, "-"),
    ],
)
def test_an_interval_is_said_in_one_breath(low, high, said):
    """A unit that both ends share is said once."""
    assert words.between(low, high) == said


@pytest.mark.parametrize(
    ("amount", "said", "short"),
    [
        (None, "-", "-"),
        (NAN, "-", "-"),
        (0, "0 B", "0"),
        (999, "999 B", "999"),
        (1000, "1.0 kB", "1.0K"),
        (999_949, "1.0 MB", "1.0M"),
        (1_400_000_000, "1.4 GB", "1.4G"),
        (14_200_000_000, "14.2 GB", "14G"),
        (120_000_000_000, "120 GB", "120G"),
        (-2000, "-2.0 kB", "-"),
        (5e21, "5,000 EB", "5000E"),
    ],
)
def test_bytes_are_said_in_decimal_units(amount, said, short):
    """Both the sentence form and the table form."""
    assert words.size(amount) == said
    assert words.short_size(amount) == short


@pytest.mark.parametrize(
    ("number", "said"),
    [(None, "-"), (NAN, "-"), (0, "0"), (-3, "-3"), (1_234_567, "1,234,567"), (2.5, "2.5"), (1e18, "1.0e+18")],
)
def test_counts_mark_their_thousands(number, said):
    """A counter of any size stays short enough to read."""
    assert words.count(number) == said


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (None, "-"),
        (INF, "-"),
        (0, "0 steps/s"),
        (1204.4, "1,204 steps/s"),
        (41.23, "41.2 steps/s"),
        (0.5, "30.0 steps/min"),
        (0.001, "3.60 steps/h"),
        (-2, "-2.00 steps/s"),
        (3e16, "3.0e+16 steps/s"),
    ],
)
def test_a_rate_is_said_in_the_unit_that_says_most(number, said):
    """Slow work is counted by the minute or the hour."""
    assert words.rate(number, "steps") == said


@pytest.mark.parametrize(
    ("now", "average", "said"),
    [
        (None, None, "-"),
        (None, 2.0, "2.00 x/s on average"),
        (2.0, None, "2.00 x/s now"),
        (0.5, 2.0, "30.0 x/min now, 120 average"),
        (0.0, 2.0, "0 x/s now, 2.00 average"),
    ],
)
def test_two_rates_share_a_unit(now, average, said):
    """Now and average can be compared at a probe answer."""
    assert words.rates(now, average, "x") == said


@pytest.mark.parametrize(
    ("fraction", "digits", "said"),
    [
        (None, 1, "-"),
        (0, 1, "0.0 %"),
        (0.0001, 1, "<0.1 %"),
        (0.004, 0, "<1 %"),
        (0.29, 0, "29 %"),
        (0.9, 0, "90 %"),
        (0.99999, 1, "99.9 %"),
        (1, 1, "100 %"),
        (1.7, 1, "100 %"),
        (-0.1, 1, "-"),
    ],
)
def test_only_the_whole_is_a_hundred_percent(fraction, digits, said):
    """Percentages are rounded down, so that 100 % means done, and what is little is not nothing."""
    assert words.percent(fraction, digits) == said


@given(st.one_of(st.none(), st.floats()))
def test_a_table_cell_never_outgrows_its_column(number):
    """Whatever is measured, the short forms are short."""
    assert len(words.short_figure(number)) <= 4
    assert len(words.short_size(None if number is None else min(number, 9e20))) <= 4


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(9999, 12, 31)))
def test_a_moment_is_what_datetime_says_it_is(when):
    """The calendar done by hand agrees with the library's."""
    when = when.replace(microsecond=when.microsecond // 1000 * 1000, tzinfo=UTC)
    text = when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert words.moment(text) == pytest.approx(when.timestamp(), abs=0.002)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-11-15T20:00:00Z", NOW),
        ("2026-11-15T20:00:00.250Z", NOW + 0.25),
        ("2026-11-15T21:30:00+01:30", NOW),
        ("2026-11-15T19:00:00-01:00", NOW),
        (None, None),
        ("", None),
        ("yesterday, about noon", None),
        ("2026-13-15T20:00:00Z", None),
        ("2026-11-15T20:00:00", None),
        ("2026-11-15T20:00:00.Z", None),
        ("2026-11-15T20:00:00 CET", None),
    ],
)
def test_what_is_not_a_time_is_not_known(text, seconds):
    """RFC 3339 with any offset is read; anything else is None, never an error."""
    assert words.moment(text) == seconds


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("2026-11-15T13:49:05Z", "13:49"),
        ("2026-11-14T13:49:05Z", "14 Nov 13:49"),
        ("2025-01-02T03:04:05Z", "2 Jan 2025 03:04"),
        (NOW, "20:00"),
        (None, "-"),
        (NAN, "-"),
        (-1.0, "-"),
        (1e20, "-"),
    ],
)
def test_a_clock_time_has_a_date_when_it_is_not_today(at, said):
    """Local time, and no doubt about the day."""
    assert words.clock(at, NOW) == said


@pytest.mark.parametrize(("hours", "said"), [(1, "21:00"), (5, "01:00"), (11.5, "07:30"), (13, "16 Nov 09:00")])
def test_what_is_due_within_half_a_day_needs_no_date(hours, said):
    """A screen of 80 columns has room for what stands behind it, also before midnight."""
    assert words.due(NOW + 3600 * hours, NOW) == said


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("2026-11-15T19:59:58Z", "2s ago"),
        ("2026-11-15T20:00:00Z", "just now"),
        ("2026-11-15T20:05:00Z", "in 5m"),
        (None, "never"),
    ],
)
def test_ages_are_told_even_when_a_clock_runs_ahead(at, said):
    """A time that lies ahead is said to, instead of being hidden."""
    assert words.ago(at, NOW) == said


def test_every_level_has_a_mark_of_its_own():
    """Levels differ without any colour; an unknown one counts as the lowest."""
    marks = [words.level(level) for level in words.LEVELS]
    assert len(set(marks)) == 3
    assert {len(mark) for mark in marks} == {2}
    assert words.level("odd") == words.level("info")


def test_words_are_light_to_import():
    """The plain verbs use them too, so nothing heavy comes along."""
    heavy = "rich typing dataclasses datetime enum re"
    code = f"import sys, dogwatch.tui.words; print([m for m in '{heavy}'.split() if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", "import sys; sys.path[:0] = ['src']; " + code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


GPU: Any = {
    "index": 0,
    "percent": 97.4,
    "memory_used_bytes": 64e9,
    "memory_total_bytes": 80e9,
    "watts": 612.0,
}
GPU |= {"watts_limit": 700.0, "celsius": 61, "throttle": [], "processes": [{"pid": 1, "ours": True}], "parent": None}


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({}, "97 %, 64.0 GB of 80.0 GB, 612 of 700 W, 61 °C"),
        ({"percent": None, "watts": None, "memory_total_bytes": None}, "64.0 GB, 61 °C"),
        ({"percent": 0.0, "watts_limit": None}, "0 %, 64.0 GB of 80.0 GB, 612 W, 61 °C"),
        ({"throttle": ["power cap"]}, "97 %, 64.0 GB of 80.0 GB, 612 of 700 W, 61 °C, power cap"),
        ({"processes": [{"pid": 2, "ours": False}, {"pid": 3, "ours": None}]},
         "97 %, 64.0 GB of 80.0 GB, 612 of 700 W, 61 °C, also 1 process of other users"),
        ({"parent": "GPU-1", "name": "NVIDIA A100 MIG 1g.5gb", "percent": None, "watts": None, "celsius": None},
         "64.0 GB of 80.0 GB, MIG 1g.5gb"),
        ({"trouble": "the GPU is lost"}, "cannot be used: the GPU is lost"),
    ],
)  # fmt: skip
def test_a_gpu_fits_a_line(other, told):
    """What it tells, and nothing in place of what it does not."""
    gpu: Any = {**GPU, **other}
    assert phrases.gpu(gpu) == told


def test_a_gpu_that_tells_nothing_is_said_to():
    """A row of nothing would look like an error of ours."""
    bare: Any = {"index": 0}
    assert phrases.gpu(bare) == "no readings"
