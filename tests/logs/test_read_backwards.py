"""Reading a long piece in windows, with either engine: nothing but the speed depends on them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dogwatch.logs import scan
from dogwatch.logs.distinct_lines import without_digits
from dogwatch.logs.formats import plan, shipped
from dogwatch.logs.formats.tqdm import others, sift
from dogwatch.logs.interface import BEGUN, INNER, MOST_TRIED
from dogwatch.logs.literal_search import TextSearch
from dogwatch.logs.meaning import Meaning
from dogwatch.logs.read_backwards import Plan, blind, read_piece
from dogwatch.model import LogEvent
from tests.logs.shapes import SHAPES

ENGINES = [False, pytest.param(True, marks=pytest.mark.skipif(scan.hyperscan() is None, reason="hyperscan is missing"))]
SHAPED = [line.encode() for shape in SHAPES.values() for line in shape.log.replace("\r", "\n").split("\n") if line]
LABELS = [
    "",
    "val ",
    "Epoch 3: ",
    "Epochs: ",
    "Loading: ",
    "Training Progress: ",
    "step ",
    "checkpoint shards ",
    "fit ",
]
BARS = st.builds(
    lambda label, done, total: b"%s%3d%%|##  | %d/%d [00:10<00:20,  3.50it/s, val_loss=0.3]" % (label, 9, done, total),
    st.sampled_from(LABELS).map(str.encode),
    st.integers(0, 3),
    st.sampled_from([5, 50, 500, 501, 7, 75]),
)
LINES = st.one_of(
    BARS,
    st.sampled_from(SHAPED),
    st.binary(max_size=12).map(lambda some: some.replace(b"\n", b"")),
    st.sampled_from(
        [
            b"[3/7] saved",
            b"[5, 6]",
            b"epoch 0",
            b"Ep 3/9",
            b"iter: 7",
            b"x" * 300,
            b'{"loss": 1.5}',
            b"\xff\xfe 10%|",
            b"% 3/4 [0",
        ]
    ),
)
LOGS = st.lists(st.one_of(LINES, st.builds(lambda line, times: b"\n".join([line] * times), LINES, st.integers(1, 40))))


@pytest.fixture(params=ENGINES, ids=lambda fast: "hyperscan" if fast else "re2")
def _engine(request: pytest.FixtureRequest) -> Iterator[None]:
    scan.prefer(request.param)
    yield
    scan.prefer(None)


def heard(pieces: list[bytes], window: int) -> dict[str, object]:
    """All that is known after some pieces, read in windows of this size at first."""
    meaning, offset = Meaning(), 0
    for text in pieces:
        read_piece(plan(), TextSearch(text), offset.__add__, meaning, window)
        offset += len(text)
        meaning.bound()
    state = meaning.state()
    return {"records": sorted(map(repr, state["records"])), "metrics": sorted(map(repr, state["metrics"]))}


@pytest.mark.usefixtures("_engine")
@settings(max_examples=300)
@given(LOGS, LOGS, st.integers(1, 600))
@example([b"Ep 2/9"], [b"nothing", b"Ep 3/9", b"nothing"], 1)
@example([b"val  9%|##  | 1/50 [0:1<0:2, 3it/s]"], [b" 9%|##  | 1/50 [0:1<0:2, 3it/s]"], 1)
@example([b" 9%|##  | 0/5 [0:1<0:2, 3it/s]"] * 9, [b"val  9%|##  | 1/5 [0:1<0:2, 3it/s]"] * 30, 40)
def test_the_windows_change_nothing(before, after, window):
    """All at once, or in windows of any size: every counter has the same newest line, first place and meaning."""
    pieces = [b"".join(line + b"\n" for line in lines) for lines in (before, after)]
    assert heard(pieces, window) == heard(pieces, 1 << 30)


@pytest.mark.usefixtures("_engine")
@settings(max_examples=200)
@given(st.lists(BARS, max_size=6), BARS)
def test_a_bar_of_another_counter_is_never_passed_over(bars, other):
    """Whatever was heard, a pattern for the others ends in every bar whose counter is not among them."""
    formats = {fmt.kind: fmt for fmt in shipped()}
    names = {name for bar in bars for name, _ in sifted(formats["tqdm"], bar)}
    line = other.lower() + b"\n"
    if {name for name, _ in sifted(formats["tqdm"], other)} - names:
        assert any(scan.places(group, line, 0, len(line)) for group in others(names))


@settings(max_examples=300)
@given(st.lists(BARS, min_size=1, max_size=2).map(b" ".join), st.lists(BARS, min_size=1, max_size=2).map(b" ".join))
def test_lines_that_are_passed_over_hold_what_was_heard(line, other):
    """A line that is taken for one like another holds the same counters and no beginning."""
    fmt = {fmt.kind: fmt for fmt in shipped()}["tqdm"]
    assert fmt.crowd is not None
    same = fmt.crowd.same(line + b"\n")
    if same and re.fullmatch(same, other + b"\n"):
        assert {name for name, _ in sifted(fmt, other)} == {name.removeprefix(BEGUN) for name, _ in sifted(fmt, line)}
    assert set(fmt.crowd.names(other.lower() + b"\n")) == {name for name, _ in sifted(fmt, other)}


def sifted(fmt, bar: bytes) -> list[tuple[str, int]]:
    return list(fmt.sift(bar.lower() + b"\n"))


@pytest.mark.usefixtures("_engine")
def test_a_hint_ends_within_its_line():
    """Also where empty lines follow, as they do after every line that ends with both line ends."""
    for line in SHAPED:
        text = line + b"\n\n \n"
        for fmt, sign in zip(plan().formats, plan().signatures, strict=True):
            if fmt.hint and fmt.read(line.decode("utf-8", "replace")):
                ends = scan.places((sign,), text, 0, len(text))
                assert any(end <= len(line) + 1 for end in ends), (fmt.kind, line)


@pytest.mark.usefixtures("_engine")
@settings(max_examples=200)
@given(LOGS)
def test_no_format_is_missed_in_a_long_text(lines):
    """A format whose literal is anywhere in a text is named, and so is the literal; also one that begins a line."""
    text = b"".join(line + b"\n" for line in lines) + b"." * 3000
    found, low = plan().present(TextSearch(text), 0, len(text)), b"\n" + text.lower()
    for number, fmt in enumerate(shipped()):
        assert set(found.get(number, ())) >= {needle for needle in fmt.needles if needle in low}


@given(st.sampled_from(SHAPED), st.randoms(use_true_random=False))
def test_no_format_is_missed_in_a_line_like_one_before(line, random):
    """What may be read in a line was found out in one with other digits; whatever its own are, nothing is missed."""
    made = re.sub(rb"\d", lambda digit: b"%d" % random.randrange(10), line)
    found = plan().lines(made.lower() + b"\n")
    plan().lines(line.lower() + b"\n")
    assert found == plan().lines(made.lower() + b"\n")
    readable = {n for n, fmt in enumerate(plan().formats) if fmt.read(made.decode("utf-8", "replace"))}
    assert readable <= found.keys()


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (rb"epoch [12]\b", b"epoch 2"),
        (rb"v[5-9]\d{2,4}", b"v712"),
        (rb"[^\d.] 3", b"x 3"),
        (rb"[^0-9]7", b"x7"),
        (rb"[^1]0", b"20"),
        (rb"\x31", b"1"),
    ],
)
def test_a_sign_is_found_again_without_digits(pattern, line):
    """A sign that tells digits apart matches where the digits are gone, or is not asked there at all."""
    assert re.search(pattern, line)
    assert re.search(blind(pattern), without_digits(line))


@pytest.mark.parametrize(
    ("pattern", "looser"),
    [
        (rb"a(?!b|(?:c))d", b"ad"),
        (rb"(?<![a-z(])x{2,40}y{0,3}?", b"x+y*"),
        (rb"[)(?!]{0,2}\(?=", rb"[)(?!]*\(?="),
        (rb"[](?!]a(?=[)])b", b"[](?!]ab"),
        (rb"[^]()]\[(?<=x)", rb"[^]()]\["),
        (rb"\d{3}(?:e\{1,2\})", rb"\d{3}(?:e\{1,2\})"),
    ],
)
def test_a_pattern_for_both_engines_does_not_look_around(pattern, looser):
    """Looking around is left out whole, repeats lose their bound, and everything else stays."""
    assert scan.loose(pattern) == looser


def test_every_pattern_means_something_to_both_engines():
    """What formats are looked for by compiles; a pattern that did not would be noticed only in a long log."""
    for signs in (*((sign,) for sign in plan().signatures), *others(["20/5", "20/5.2k"])):
        for fast in (False, scan.hyperscan() is not None):
            scan.prefer(fast)
            assert scan.places(signs, b"nothing\n", 0, 8) == []
    scan.prefer(None)


def test_the_bars_of_a_crowd_are_told_apart():
    """The label before a bar and its total make its counter, as the patterns for the others assume."""
    start = re.compile(rb"%\|[^|\n]{0,9}\|[ \t]{0,3}([\d.]{1,15})/([\d.]{1,15})")
    text = b"".join(b"%s 9%%|## | 0/5 [\n" % label.lower().encode() for label in LABELS)
    assert {name for name, _ in sift(start, text)} >= {"20/5", "0/5", "31/5", "-10/5", "40/5", "begun 20/5"}


INSIDE = [
    b"120/500 [====>.....] - ETA: 3s - loss: 0.3",
    "120/500 ━━━━━━━━━━━━━━━━━━━━ 3s 25ms/step - loss: 0.3".encode(),
    "Indexing ━━━━━━━━━━━━━━━╺━━━━━━━━━━ 742/1000 0:00:31".encode(),
    b"[>>>>>>>          ] 412/980, 3.4 task/s, elapsed: 121s, ETA:   167s",
    b" 45% (450 of 1000) |########          | Elapsed Time: 0:00:12 ETA:   0:00:15",
    b"on 312: |####  | 312/1320 [24%] in 31s (~1:40, 10.1/s)",
    b"[300/1000] frame written",
    b"frame.png (300/1000)",
    b"File 3/10",
    b"2024-03-04 05:06:07,890 - mmdet - INFO - Epoch [2][50/900]  lr: 0.02, time: 0.31, data_time: 0.01, loss: 0.9",
]
# Each holds what betrays one of the formats above, and says nothing.
DECOYS = [
    b"[=] - ",
    "━━━━━━━━".encode(),
    b"900 task/s",
    b"3% (some)",
    b"[9%] in a moment",
    b"[900/2] linking",
    b"[2/9] /usr/bin/nvcc -c kernel.cu",
    b"the half (9/2)",
    b"File 9/3",
    b"data_time: 0.1",
]


def began(pieces: list[bytes]) -> dict[tuple[str, str], int]:
    """Where the first record of each counter stood that may be a bar of the work."""
    meaning, offset = Meaning(), 0
    for text in pieces:
        read_piece(plan(), TextSearch(text), offset.__add__, meaning)
        offset += len(text)
    inside = ["s", INNER]
    records = meaning.state()["records"]
    return {
        (kind, counter): first
        for kind, counter, _, first, marks in records
        if any([mark[0], mark[5]] == inside and mark[2] for mark in marks)
    }


@settings(max_examples=300)
@given(st.lists(st.lists(st.sampled_from([*INSIDE, *DECOYS]), min_size=1, max_size=4), max_size=5))
@example([[line] for line in (*DECOYS, *INSIDE, *INSIDE)])
@example([[*INSIDE, *INSIDE]])
def test_where_a_counter_began_does_not_depend_on_the_pieces(lines):
    """Line by line or all at once: a bar began at its first line that can be read, not at one that only looks so."""
    pieces = [b"".join(line + b"\n" for line in some) for some in lines]
    assert began(pieces) == began([b"".join(pieces)])


def test_a_format_is_given_up_that_many_lines_only_look_like():
    """Of lines that only look like a format's so many are read, whatever their number, and the others are heard."""
    read: list[str] = []
    real = {fmt.kind: fmt for fmt in shipped()}["vllm"]

    def nothing(line: str) -> list[LogEvent]:
        read.append(line)
        return []

    fmt = replace(real, read=nothing)
    text = b"".join(b"Avg generation throughput: none, %d\n" % number for number in range(3 * MOST_TRIED))
    meaning = Meaning()
    read_piece(
        Plan([fmt, *(one for one in shipped() if one.kind == "step")]), TextSearch(b"step 3/9\n" + text), int, meaning
    )
    assert len(read) == MOST_TRIED
    step = meaning.reading().step
    assert step is not None
    assert (step.done, step.total) == (3, 9)


def test_lines_that_only_look_like_bars_are_given_up():
    """A text made of what looks like another counter's bars is not read to its last line, and what is said in it
    otherwise is heard."""
    meaning = Meaning()
    text = b"step 3/9\n" + b"%| 1/1 [\n" * (3 * MOST_TRIED)
    read_piece(plan(), TextSearch(text), int, meaning)
    step = meaning.reading().step
    assert step is not None
    assert (step.done, step.total) == (3, 9)
