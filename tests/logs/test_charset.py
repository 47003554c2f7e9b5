"""Logs in UTF-16 and UTF-32, marked or not, become UTF-8; everything else passes untouched."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogwatch.logs.charset import as_utf8

TEXT = "Epoch 3/10\n 30%|███       | 30/100 [00:10<00:20, 3.50it/s]\r\nnäher, 損失 0.5\n" * 8


def through(raw: bytes, cuts: list[int]) -> bytes:
    places = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
    return b"".join(as_utf8(raw[a:b] for a, b in pairwise(places)))


@settings(max_examples=60)
@given(
    st.sampled_from(["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "utf-8"]), st.lists(st.integers(0, 900))
)
def test_every_encoding_reads_the_same_wherever_it_is_cut(encoding: str, cuts: list[int]) -> None:
    """With a mark or without, in pieces that split characters."""
    assert through(TEXT.encode(encoding), cuts).decode() == TEXT


@settings(max_examples=200)
@given(st.lists(st.binary(max_size=40), max_size=5))
def test_other_bytes_pass_as_they_are(pieces: list[bytes]) -> None:
    """Unless they are marked as wide characters, or every second one of them is zero."""
    raw = b"".join(pieces)
    if raw[:2] not in (b"\xff\xfe", b"\xfe\xff") and raw[:3] != b"\xef\xbb\xbf" and b"\0" not in raw:
        assert b"".join(as_utf8(pieces)) == raw


@pytest.mark.parametrize(
    "raw", [b"", b"\xff", b"\xff\xfe", b"\xff\xfea", b"\xfe\xff\xd8\x00", b"\0\0\0\0", b"\0a\0b\0c\0"]
)
def test_half_a_character_is_survived(raw: bytes) -> None:
    """A file that was cut anywhere, or is empty."""
    assert isinstance(b"".join(as_utf8([raw])), bytes)


def test_a_few_zero_bytes_do_not_make_it_utf_16() -> None:
    """A hole in a log that was truncated while it was written."""
    raw = b"step 1/2\n" * 20 + b"\0" * 300 + b"step 2/2\n" * 20
    assert b"".join(as_utf8([raw])) == raw


@settings(max_examples=60)
@given(st.sampled_from(["utf-16", "utf-16-le"]), st.lists(st.integers(0, 4000)))
def test_a_file_that_two_programs_wrote_is_read_to_its_end(encoding: str, cuts: list[int]) -> None:
    """A shell began it with two bytes a letter, another went on with one, and the first came back."""
    plain = "step 1200 of 5000, loss 0.4512, 3.5 it/s, and the validation is still to come ███\n" * 3
    raw = TEXT.encode(encoding) + plain.encode() + TEXT.encode("utf-16-le")
    assert through(raw, cuts).decode() == TEXT + plain + TEXT
