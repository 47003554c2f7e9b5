"""One pass for all who look for something: nothing that is there is missed, wherever the stretches begin and end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogwatch.diagnosis import LineCollector
from dogwatch.diagnosis.line_collector import _LITERALS
from dogwatch.logs import literal_search, scan
from dogwatch.logs.formats import plan, shipped
from dogwatch.logs.literal_search import MOST_PLACES, TextSearch
from dogwatch.logs.native import SMALL, newlines
from dogwatch.logs.reader import Reader

NEEDED = pytest.mark.skipif(scan.hyperscan() is None, reason="hyperscan is missing")
EVERY = [literal.encode() for literal in _LITERALS]
PARTS = st.one_of(
    st.sampled_from([*EVERY, *(needle for fmt in shipped() for needle in fmt.needles)]),
    st.sampled_from([b"\n", b"\r", b"\r\n", b"x" * 50, b"Error", b"CUDA out of memory", b"\x1b[31m", b"\0"]),
    st.binary(max_size=9),
)
TEXTS = st.lists(PARTS, max_size=30).map(b"".join)


@pytest.fixture
def _fast() -> Iterator[None]:
    scan.prefer(True)
    yield
    scan.prefer(None)


def behind(text: bytes, start: int, end: int) -> set[int]:
    """The places just behind a literal, looked for one by one."""
    low = text.lower()
    found = {at + len(word) for word in EVERY for at in range(len(low)) if low.startswith(word, at)}
    return {place for place in found if start < place <= end}


@NEEDED
@pytest.mark.usefixtures("_fast")
@settings(max_examples=200)
@given(TEXTS, st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400)), max_size=4))
def test_every_place_is_told_whatever_was_looked_at_before(text, stretches):
    """Each literal of a cause has a place, also across the ends of what others looked at."""
    search_piece = TextSearch(text)
    for one, other in stretches:
        start, end = sorted((min(one, len(text)), min(other, len(text))))
        if start < end:
            search_piece.stretch(start, end)
        assert search_piece.behind(start, end) == sorted(behind(text, start, end))
    assert search_piece.behind(0, len(text)) == sorted(behind(text, 0, len(text)))


@NEEDED
@pytest.mark.usefixtures("_fast")
def test_a_flood_of_bad_words_hides_no_format():
    """In a log that says `error:` thousands of times every format is found that is there."""
    text = b"error:" * (MOST_PLACES + 1) + b" ".join(fmt.needles[0] for fmt in shipped())
    found = plan().present(TextSearch(text), 0, len(text))
    scan.prefer(False)
    assert found == plan().present(TextSearch(text), 0, len(text))


@NEEDED
@pytest.mark.usefixtures("_fast")
def test_of_very_many_places_none_is_told_and_everything_else_is():
    """A hostile text does not make a list as long as itself; formats are still found in it."""
    text = b"error:" * (MOST_PLACES + 1) + b" :::MLLOG " + b"." * 3000
    search_piece = TextSearch(text)
    assert search_piece.behind(0, len(text)) is None
    assert "mlperf" in {shipped()[number].kind for number in plan().present(search_piece, 0, len(text))}


@NEEDED
@pytest.mark.usefixtures("_fast")
@settings(max_examples=150)
@given(st.lists(st.tuples(TEXTS, st.integers(1, 3)), max_size=5))
def test_what_the_reader_saw_tells_the_listener_nothing_wrong(parts):
    """Whoever listens after a reader to the same pieces hears what it would have heard alone: every line, every
    number, every gap."""
    pieces = [text * times for text, times in parts]
    literal_search.LEAST, least = 0, literal_search.LEAST
    try:
        reader, after, alone = Reader(), LineCollector(), LineCollector()
        for piece in pieces:
            reader.feed(piece)
            after.feed(piece)
    finally:
        literal_search.LEAST = least
    for piece in pieces:
        alone.feed(piece)
    assert after.state() == alone.state()
    assert after.collected() == alone.collected()


@given(st.lists(st.sampled_from([b"\n", b"\r", b"ab", b"x" * 40]), max_size=60), st.integers(0, 99), st.integers(0, 99))
def test_newlines_are_counted_however_many_there_are(parts, start, less):
    """Both ways of counting agree."""
    text = b"".join(parts) * (2 * SMALL // 40)
    stop = max(start, len(text) - less)
    assert newlines(text, start, stop) == text[start:stop].count(b"\n")
