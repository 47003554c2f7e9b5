"""Where an attempt begins in a log that others wrote to before."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.logs.attempt_start import attempt_start

BEGAN = 1_760_000_000.0


def lines(first: float, count: int, zone: float = 0.0, word: str = "step") -> str:
    told = [datetime.fromtimestamp(first + 10 * n, UTC) + timedelta(seconds=zone) for n in range(count)]
    return "".join(f"{at:%Y-%m-%d %H:%M:%S},123 INFO {word} {n}\n  detail\n" for n, at in enumerate(told))


@pytest.mark.parametrize("zone", [0.0, 3600.0, -8 * 3600.0, 5.5 * 3600.0])
@pytest.mark.parametrize("silent", [0.0, 500.0])
def test_the_first_line_of_its_time_is_where_it_begins(zone: float, silent: float) -> None:
    """Whatever zone the lines are written in, and though the file was written to after the last time in it."""
    before, own = lines(BEGAN - 5000, 300, zone, word="old"), lines(BEGAN + 3, 200, zone, word="new")
    text = (before + "Traceback of the one before\n" + own).encode()
    place = attempt_start(text, BEGAN, BEGAN + 3 + 1990 + silent)
    assert place is not None
    assert text[place:] == own.encode()


def test_a_log_of_its_own_is_its_own() -> None:
    """Also with words above the first time."""
    assert attempt_start(("loading\n" + lines(BEGAN + 1, 50)).encode(), BEGAN, BEGAN + 500) == 0


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("no times\n" * 50, BEGAN + 100),
        (lines(BEGAN - 900, 20), BEGAN + 100),
        (lines(BEGAN - 900, 88) + "Traceback (most recent call last):\nKeyError: 'x'\n", BEGAN + 30),
        (lines(BEGAN + 3, 20), BEGAN + 200 + 20 * 3600),
        ("", BEGAN),
    ],
    ids=["none", "only old ones", "an end without a time", "no zone is that far", "nothing"],
)
def test_what_the_times_do_not_tell_is_not_guessed(text: str, written: float) -> None:
    """Then nothing is known, which is not the same as all of it."""
    assert attempt_start(text.encode(), BEGAN, written) is None


def test_slurm_tells_where_the_run_before_ended() -> None:
    """By its own last line about it, with or without times elsewhere."""
    banner = "slurmstepd: error: *** JOB 71 ON n3 CANCELLED AT 2025-10-09T08:53:20 DUE TO JOB REQUEUE ***\n"
    text = ("step 1\nKeyError: 'x'\n" + banner + "step 1\nexit\n").encode()
    assert text[attempt_start(text, BEGAN, BEGAN) :] == b"step 1\nexit\n"
    limit = "step 1\n" + banner.replace("JOB REQUEUE", "TIME LIMIT")
    assert attempt_start(limit.encode(), BEGAN + 9000, BEGAN) is None


@given(st.binary(max_size=2000), st.floats(0, 4e9), st.floats(0, 4e9))
def test_any_bytes_have_a_place_within_them_or_none(text: bytes, since: float, written: float) -> None:
    """Whatever a job prints."""
    place = attempt_start(text, since, written)
    assert place is None or 0 <= place <= len(text)
