"""A whole log as a series of the run's own counter on the log's own clock."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogwatch.logs.timeline import MOST, Timeline, timeline

START = 1767355445


def dated(seconds: float) -> str:
    whole = int(seconds)
    return f"2026-01-{2 + whole // 86400:02d} {whole // 3600 % 24:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def test_steps_with_dates_are_points_in_time() -> None:
    """Every line of a short log; the times are seconds since 1970."""
    log = "".join(
        f"{dated(43445 + 60 * n)} INFO step {n}/50 loss 0.5 and the rest of a line of some length\n" for n in range(9)
    )
    found = timeline([log.encode()])
    assert found[0] == (START, 0.0, 50.0)
    assert found[-1] == (START + 480, 8.0, 50.0)
    assert all(later - earlier == 60 * (b - a) for (earlier, a, _), (later, b, _) in pairwise(found))


def test_a_bar_carries_its_own_clock() -> None:
    """tqdm's elapsed time, rewritten in place, without any date."""
    log = "".join(f"\r {n}%|#   | {n}/100 [{n // 20:02d}:{3 * n % 60:02d}<09:99, 3.00s/it]" for n in range(0, 90))
    found = timeline([log.encode()])
    assert found[-1][1:] == (89.0, 100.0)
    assert found[-1][0] - found[0][0] == 3 * (89 - found[0][1])


def test_a_line_without_a_time_borrows_from_the_line_before() -> None:
    """A logger stamps its lines, a plain print does not."""
    log = "".join(
        f"[{dated(60 * n)}] saved nothing that is worth a long line of text\nstep {n}/50\n" for n in range(20)
    )
    times = [at for at, _, _ in timeline([log.encode()])]
    assert times[-1] - times[0] == 60 * 19


def test_a_log_without_times_has_no_series() -> None:
    """Steps alone say how far, not when."""
    assert timeline([b"".join(b"step %d/50\n" % n for n in range(20))]) == []


def test_the_name_of_an_epoch_at_its_end_takes_nothing_back() -> None:
    """A line that only names the epoch follows its steps: the run is where it was, and was heard then."""
    lines = []
    for epoch in range(4):
        lines += [
            f"[{dated(600 * epoch + 100 * part)}] Train: [{epoch}/4][{200 * part}/1000]  loss 0.5\n"
            for part in range(5)
        ]
        lines.append(f"[{dated(600 * epoch + 550)}] EPOCH {epoch} training takes 0:09:10\n")
    found = timeline(["".join(lines).encode()])
    (began, _, _), (ended, done, total) = found[0], found[-1]
    assert (ended - began, total) == (600 * 3 + 550, 4.0)
    assert done == pytest.approx(3.8, abs=0.01)


def test_a_resume_is_not_a_reset() -> None:
    """After the restart the counter goes on from its checkpoint; what was counted beyond it is gone."""
    first = [f"{dated(60 * n)} step {n}/50 {'x' * 200}\n" for n in range(20)]
    again = [f"{dated(3600 + 60 * n)} step {n}/50 {'x' * 200}\n" for n in range(10, 30)]
    found = timeline(["".join(first + again).encode()])
    assert [done for _, done, _ in found] == sorted(done for _, done, _ in found)
    assert found[-1][1] == 29
    assert found[0][1] == 0
    assert found[-1][0] - found[0][0] == 3600 + 60 * 29


def test_a_run_that_began_again_starts_its_series_anew() -> None:
    """A second run in the same file, from zero."""
    first = [f"{dated(60 * n)} step {n}/50 {'x' * 200}\n" for n in range(20)]
    again = [f"{dated(7200 + 60 * n)} step {n}/50 {'x' * 200}\n" for n in range(5)]
    found = timeline(["".join(first + again).encode()])
    assert [done for _, done, _ in found] == [0, 1, 2, 3, 4]


def test_a_run_that_began_again_late_in_a_long_log_has_points_enough_for_an_estimate() -> None:
    """An estimate is made of the last run alone, which may be a small part of the file."""
    first = [f"{dated(n)} step {n}/50000 {'x' * 200}\n" for n in range(24_000)]
    again = [f"{dated(90_000 + n)} step {n}/50000 {'x' * 200}\n" for n in range(700)]
    found = timeline(["".join(first + again).encode()])
    assert found[-1][1] == 699
    assert len(found) >= 6


def test_ranks_that_are_a_little_apart_are_one_series() -> None:
    """Two ranks write the same counter into one file, one always a step behind."""
    log = "".join(f"{dated(60 * n)} step {n - n % 2}/200 {'x' * 200}\n" if n % 3 else "" for n in range(100))
    found = timeline([log.encode()])
    assert len(found) > 30
    assert found[-1][1] == 98


def test_only_the_counter_that_spoke_last_is_told() -> None:
    """The bar of the download before is not the run."""
    load = "".join(f"\r {n}%|# | {n}/100 [00:{n % 60:02d}<00:10, 9.00it/s]" for n in range(100))
    train = "".join(f"\r {n}%|# | {n}/7000 [10:{n % 60:02d}<00:10, 9.00it/s]" for n in range(50))
    assert {total for _, _, total in timeline([(load + "\n" + train).encode()])} == {7000.0}


def test_a_long_log_is_thinned_and_keeps_its_ends() -> None:
    """A hundred thousand steps leave a bounded number of points, spread over the run."""
    whole = Timeline()
    for n in range(0, 60_000, 1000):
        whole.feed("".join(f"{dated(m)} step {m}/60000 {'x' * 60}\n" for m in range(n, n + 1000)).encode())
    whole.close()
    found = whole.moments()
    assert 200 < len(found) <= MOST
    assert found[0][1] < 100
    assert found[-1][1] == 59_999
    assert max(b[1] - a[1] for a, b in pairwise(found)) < 3000


def test_a_log_of_known_size_is_read_in_larger_pieces_to_the_same_end() -> None:
    """Fewer points are kept than of a log that may go on for ever, spread as evenly, and the last word is the same."""
    log = "".join(f"{dated(n)} step {n}/60000 {'x' * 60}\n" for n in range(60_000)).encode()
    known, unknown = timeline([log], size=len(log)), timeline([log])
    assert 400 < len(known) < len(unknown)
    assert known[0][1] < 100
    assert known[-1] == unknown[-1]
    assert max(b[1] - a[1] for a, b in pairwise(known)) < 300


def test_a_log_that_grows_beyond_its_known_size_is_read_on() -> None:
    """What is written while it is read counts, and leaves no more points than of any other log."""
    log = "".join(f"{dated(n)} step {n}/60000 {'x' * 60}\n" for n in range(60_000)).encode()
    found = timeline([log], size=1000)
    assert found[-1][1] == 59_999
    assert len(found) <= MOST


def test_a_last_line_without_its_end_counts() -> None:
    """A bar is rewritten in place and never gets a newline."""
    whole = Timeline()
    whole.feed(b"step 1/50\nstep 2/50")
    assert whole.reading.step is not None
    assert whole.reading.step.done == 1
    step = whole.close().step
    assert step is not None
    assert step.done == 2


@pytest.mark.parametrize("cut", ["step 1", "step 12/1", "step 12/100"])
def test_a_number_that_was_cut_at_the_end_is_not_believed(cut: str) -> None:
    """Twelve of a thousand became one, or twelve of one: the line before speaks."""
    whole = Timeline()
    whole.feed(f"step 11/1000\n{cut}".encode())
    step = whole.close().step
    assert step is not None
    assert (step.done, step.total) == (11, 1000)


def test_a_whole_bar_at_the_end_may_be_behind_another() -> None:
    """Two jobs write into one file; the last word is the slower one's, and it was not cut."""
    whole = Timeline()
    whole.feed(b"\r 8%|#  | 80/1000 [00:10<00:20,  3.50it/s]\r 3%|#  | 30/1000 [00:10<00:20,  3.50it/s]")
    step = whole.close().step
    assert step is not None
    assert step.done == 30


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=80), max_size=8))
def test_any_bytes_give_a_series_that_runs_forward(pieces: list[bytes]) -> None:
    """Whatever was written: times never fall, counts never fall."""
    found = timeline(pieces)
    assert all(a[0] <= b[0] and a[1] <= b[1] for a, b in pairwise(found))


@pytest.mark.parametrize("size", [1, 7, 300, 10_000])
def test_the_end_of_the_series_does_not_depend_on_the_pieces(size: int) -> None:
    """Read in bytes or at once, the run is as far at the same time."""
    log = "".join(f"{dated(60 * n)} step {n}/500 loss 0.5\n" for n in range(200)).encode()
    found = timeline(log[at : at + size] for at in range(0, len(log), size))
    assert found[-1] == timeline([log])[-1]
