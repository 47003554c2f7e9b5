"""Lines of one print statement are of one kind, whatever numbers and paths they bear."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogwatch.logs.last_line import kind


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"2031-02-03 04:05:06 step 100 loss 0.71", b"2031-02-03 04:06:01 step 20100 loss 1.2e-3"),
        (b"saved checkpoint: out/best_3.pt", b"saved checkpoint: out/run/last.pt"),
        (b"step=4, loss=0.5, optimizer=sgd", b"step=900, loss=nan, optimizer=adam"),
        ("第 3 轮 损失 0.5".encode(), "第 12 轮 损失 0.25".encode()),
        (b" 45%|####   | 45/100 [00:12<00:15]", b" 46%|####   | 46/100 [00:13<00:15]"),
        (" 45%|███▌   | 45/100 [00:12<00:15]".encode(), " 86%|█████▉ | 86/100 [00:13<00:15]".encode()),
        ("work ━━━━━━━━╺━━━━ 45%".encode(), "work ━━━━━━━━━━━╸━ 86%".encode()),
    ],
)
def test_numbers_values_and_paths_make_no_other_kind(one: bytes, other: bytes) -> None:
    assert kind(one) == kind(other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"epoch 3 train loss 0.5", b"epoch 3 test loss 0.5"),
        (b"step=4", b"epoch=4"),
        (b"evaluate:dev", b"evaluate:test"),
        ("训练".encode(), "验证".encode()),
    ],
)
def test_other_words_are_another_kind(one: bytes, other: bytes) -> None:
    assert kind(one) != kind(other)


def test_the_last_whole_line_counts_and_a_fragment_only_by_itself() -> None:
    """What is flushed by the block ends in the middle of a line; what is drawn over begins with its return."""
    assert kind(b"testing net\nstep 4 loss 0.5\nste") == kind(b"step 5 loss 0.25\n") == kind(b"step 6 loss 0.1")
    assert kind(b"\rtesting 4/9") == kind(b"testing 5/9\r\rtes") == kind(b"testing 6/9\n\n")


@given(st.binary(max_size=600), st.integers(0, 6000))
def test_the_last_line_tells_its_kind_whatever_was_written_before(text: bytes, times: int) -> None:
    assert len(kind(text * times)) in (0, 8)
    assert kind(text * times + b"\nstep 4 loss 0.5\n") == kind(b"step 5 loss 0.25\n")
