"""The times in log lines: every way of writing them, and numbers that are none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogwatch.logs import scan
from dogwatch.logs.stamps import CLOCKED, dated, span, stamps

NOON = 1767355445.0  # 2026-01-02 12:04:05 UTC
SAME_DAY_OF_LEAP = 1704197045.0  # 2024-01-02 12:04:05 UTC


@pytest.mark.parametrize(
    ("line", "axis", "seconds"),
    [
        ("2026-01-02 12:04:05 - INFO - step 3", "wall", NOON),
        ("[2026-01-02 12:04:05,250] [INFO] step 3", "wall", NOON + 0.25),
        ("2026-01-02T12:04:05.5Z step 3", "wall", NOON + 0.5),
        ("2026-01-02T14:04:05+02:00 step 3", "wall", NOON),
        ("2026-01-02T07:04:05-0500 step 3", "wall", NOON),
        ("2026-01-02:12:04:05,100 INFO [loop.py:7] x", "wall", NOON + 0.1),
        ("2026/01/02 12:04:05 step", "wall", NOON),
        ("RUN BEGINS AT 2026-01-02 12:04:05 PM", "wall", NOON),
        ("RUN BEGINS AT 2026-01-02 12:04:05 AM", "wall", NOON - 43200),
        ("[Fri Jan 02 12:04:05 2026] NVRM: something", "wall", NOON),
        ("2 Jan 2026 12:04:05 step", "wall", NOON),
        ('{"step": 3, "time": 1767355445.5}', "wall", NOON + 0.5),
        ('{"step": 3, "ts": 1767355445500}', "wall", NOON + 0.5),
        ('{"step": 3, "note": "x", "timestamp": "2026-01-02T12:04:05"}', "wall", NOON),
        (':::MLLOG {"namespace": "", "time_ms": 1767355445500, "key": "x"}', "wall", NOON + 0.5),
        ("[1767355445.500000] [node7:123:0] UCX WARN", "wall", NOON + 0.5),
        ("W0000 00:00:1767355445.500000 77 cost.cc:12] x", "wall", NOON + 0.5),
        ("01/02/2026 12:04:05 - INFO", "wall mdy", NOON),
        ("[02/01/26 12:04:05][main][INFO]", "wall dmy", NOON),
        ("26/01/02 12:04:05 INFO Executor: x", "wall ymd", NOON),
        ("01/02 12:04:05 - engine - INFO", "yearless", SAME_DAY_OF_LEAP),
        ("Jan  2 12:04:05 node7 kernel: x", "yearless", SAME_DAY_OF_LEAP),
        ("[Jan 02, 12:04:05] 17 3.5", "yearless", SAME_DAY_OF_LEAP),
        ("I0102 12:04:05.250000 17 train.py:5] x", "yearless", SAME_DAY_OF_LEAP + 0.25),
        ("12:04:05.250 [I] Progress", "day", 43445.25),
        ("[HOST][12:04:05][INFO] Iter: 5", "day", 43445.0),
        ("step:5/10 train_time:12345ms step_avg:1ms", "elapsed", 12.345),
        ('{"current_steps": 5, "elapsed_time": "1 day, 0:00:10"}', "elapsed", 86410.0),
        ("[>>> ] 5/10, 6.1 task/s, elapsed: 3320s, ETA: 0s", "elapsed", 3320.0),
        ("epoch 001: 5 / 10 loss=3.1, wall=77", "elapsed", 77.0),
        ("Progress: 5/10 elapsed:1:02:03 postfix", "elapsed", 3723.0),
        ("elapsed: 1h 2m 3s", "elapsed", 3723.0),
        (" 65%|###  | 13/20 [1:00:02<30:00, 3.00s/it]", "bar", 3602.0),
        ("  5%|#    | 1/20 [2 days, 01:00:00<30:00, 3.00s/it]", "bar", 2 * 86400 + 3600.0),
        ("120it [00:10, 11.9it/s]", "bar", 10.0),
        ('{"epoch": 3, "step": 7, "time": 135}', "count", 135.0),
        ("Epoch: [ 2] [  17/ 400] time: 1234.5678, d_loss: 0.61, g_loss: 1.42", "count", 1234.5678),
        (" iteration 6/ 10 | elapsed time per iteration (ms): 12500.5 | loss", "pace", 12.5005),
        ("iter 70: loss 1.5, time 333.50ms, mfu 7%", "pace", 0.3335),
    ],
)
def test_a_time_is_read_however_it_is_written(line: str, axis: str, seconds: float) -> None:
    """On its own axis, in seconds."""
    assert stamps(line)[axis] == pytest.approx(seconds)


@pytest.mark.parametrize(
    "line",
    [
        "step 3 of 10, loss 0.5",
        "Epoch: [2]  [17/400]  eta: 0:04:10  loss: 0.61  time: 0.6421  data: 0.0003",
        "step 3 of 10, data time: 0.31, loss 0.5",
        "ratio 1:2:3, shape 12:34",
        "commit 20260102 of version 12.04.05",
        "ip 10.0.0.1:5000, port 1767355445",
        "eta: 12:04:05, memory: 4268",
        "loss 2026",
        "id 99/99 12:04:05x",
        "",
    ],
)
def test_numbers_that_only_look_alike_are_no_times(line: str) -> None:
    """Ratios, versions, addresses and what is still to go."""
    assert stamps(line) == {}


def test_a_date_that_can_be_read_in_three_ways_is_given_in_all_of_them() -> None:
    """Only the rest of the log can tell which is meant; what is no date at all is left out."""
    assert set(stamps("[03/04/25 10:00:00] x")) == {"wall dmy", "wall mdy", "wall ymd"}
    assert set(stamps("[25/04/25 10:00:00] x")) == {"wall dmy", "wall ymd"}
    assert set(stamps("04/25/2025 10:00:00 x")) == {"wall mdy"}


@settings(max_examples=300)
@given(st.text(max_size=300))
def test_any_text_is_survived(text: str) -> None:
    """Numbers come out, or nothing."""
    assert all(isinstance(value, float | int) for value in stamps(text).values())


@settings(max_examples=200)
@given(st.integers(0, 10**8), st.integers(0, 59), st.integers(0, 59))
def test_a_span_is_what_was_written(hours: int, minutes: int, seconds: int) -> None:
    """Hours, minutes and seconds with colons, however many hours."""
    if hours < 10**6:
        assert span(f"{hours}:{minutes:02d}:{seconds:02d}") == hours * 3600 + minutes * 60 + seconds


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "part",
    ["2026-01-02 ", "1:", "[00:", "elapsed ", "time ", "01/02 ", "Jan 2 ", '"time": ', "9", " ", "[1767355445", ", 1"],
)
def test_a_hostile_line_cannot_hang_it(part: str) -> None:
    """A hundred lines of a megabyte of beginnings of times are done before anybody gives up: nothing is a square."""
    line = part * (1_000_000 // len(part))
    for _ in range(100):
        stamps(line)


CLOCKS = st.from_regex(
    r"[IWT\[( |]{0,2}(Jan |2026[-/.])?\d{1,4}[-/. ]?\d{0,2}[T _:,-]{0,3}\d{1,2}:\d\d:\d\d[<,. \]|]?", fullmatch=True
)


@settings(max_examples=300)
@given(st.lists(st.one_of(st.text(max_size=20), CLOCKS, st.sampled_from(['"ts": 1767355445', "[1767355445]", "x"]))))
def test_no_clock_is_missed_by_looking_for_one_first(parts: list[str]) -> None:
    """The sign that is looked for before a line is read for its clock is in every line that has one."""
    line = "".join(parts).replace("\n", " ")
    text = f"above\n{line}\n".encode("utf-8", "replace")
    if dated(line):
        for fast in (False, True):
            scan.prefer(fast)
            try:
                assert scan.first(CLOCKED, text, 0, len(text)) is not None
            finally:
                scan.prefer(None)
