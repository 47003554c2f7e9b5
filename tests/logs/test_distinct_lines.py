"""What is compiled finds the same as what is not: lines that are passed over say nothing new, and nothing is lost."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogwatch.diagnosis import LineCollector
from dogwatch.logs import distinct_lines, native, scan
from dogwatch.logs.escapes import without_escapes
from dogwatch.logs.formats import plan
from dogwatch.logs.native import newlines
from dogwatch.logs.reader import Reader
from tests.logs.test_read_backwards import ENGINES, LINES

pytestmark = pytest.mark.needs_tool("cc")

WORDS = [
    b"RuntimeError: CUDA out of memory. Tried to allocate 20 MiB",
    b"OSError: [Errno 28] No space left on device",
    b"OSError: [Errno 13] Permission denied: '/x/7'",
    b"Process 7 got signal 9",
    b"Process 7 got signal 3",
    b"Traceback (most recent call last):",
    b'  File "train.py", line 7, in <module>',
    b"loss is nan",
    b"x" * 1100 + b" Killed " + b"y" * 1100,
    b"val error",
]


def renumbered(line: bytes, seed: int) -> bytes:
    """The line with other numbers, which are no stranger: done is at most the total, and 0 stays 0."""

    def other(found: re.Match[bytes]) -> bytes:
        if found[2] is not None:
            return b"%d%s%s" % (seed % (int(found[2]) + 1), found[1], found[2])
        return found[0][:1] + b"".join(b"%d" % (seed * at % 10) for at in range(7, 6 + len(found[0])))

    return re.sub(rb"\d+(?:( ?(?:/|of) ?)(\d+))?", other, line)


RUNS = st.builds(
    lambda line, seeds: [renumbered(line, seed) for seed in seeds],
    st.one_of(LINES, st.sampled_from(WORDS)),
    st.lists(st.integers(0, 3000), min_size=1, max_size=12),
)
ENDS = st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"])
LOGS = st.builds(
    lambda runs, ends: b"".join(
        line + ends[number % len(ends)] for number, line in enumerate(line for run in runs for line in run)
    ),
    st.lists(RUNS, max_size=12),
    st.lists(ENDS, min_size=1, max_size=3),
)


@pytest.fixture(params=ENGINES, ids=lambda fast: "hyperscan" if fast else "re2")
def _small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Texts of any size are thinned, to their ends."""
    monkeypatch.setattr(distinct_lines, "LEAST", 1)
    monkeypatch.setattr(distinct_lines, "SHORT", 1)
    monkeypatch.setattr(distinct_lines, "WHOLE", 0)
    scan.prefer(request.param)
    yield
    scan.prefer(None)
    native.prefer(True)


def known(pieces: list[bytes], compiled: bool) -> tuple[object, ...]:
    """All that is known of a log that came in pieces, by the reader and by who gathers why it ended."""
    native.prefer(compiled)
    reader, gather, alone = Reader(), LineCollector(), LineCollector()
    for piece in pieces:
        reader.feed(piece)
        gather.feed(piece)
        alone.feed(bytes(bytearray(piece)))  # which nobody has read before
    state = reader.state()
    # The one format that tells its lines from others by a digit: named amid other epochs, epoch 0 is not heard.
    state["records"] = [one for one in state["records"] if one[0] != "epoch zero"]
    for part in ("records", "metrics"):
        state[part] = sorted(map(repr, state[part]))
    return state, gather.collected(), alone.collected()


@pytest.mark.usefixtures("_small")
@settings(max_examples=300, deadline=None)
@given(LOGS, st.lists(st.integers(0, 4000), max_size=3))
def test_nothing_that_is_known_changes(log, cuts):
    """Every counter has the same newest line, first place and meaning, and every bad word its line."""
    places = sorted({0, len(log), *(cut for cut in cuts if cut < len(log))})
    pieces = [log[start:end] for start, end in pairwise(places)]
    assert known(pieces, True) == known(pieces, False)


@pytest.mark.usefixtures("_small")
@settings(max_examples=200, deadline=None)
@given(LOGS, st.lists(st.integers(0, 4000), max_size=3))
def test_lines_that_no_format_can_read_are_passed_over_without_loss(log, cuts):
    """Who reads a whole log for what the formats say of it learns the same with and without what is compiled."""
    places = sorted({0, len(log), *(cut for cut in cuts if cut < len(log))})
    pieces = [log[start:end] for start, end in pairwise(places)]
    states = []
    for compiled in (True, False):
        native.prefer(compiled)
        reader = Reader(listen=lambda at, text: None)
        for piece in pieces:
            reader.feed(piece)
        states.append(reader.state())
    for state in states:
        state["records"] = sorted(repr(one) for one in state["records"] if one[0] != "epoch zero")
        state["metrics"] = sorted(map(repr, state["metrics"]))
    assert states[0] == states[1]


def test_what_says_nothing_is_left_out_of_the_next_text():
    """A kind of line that was judged silent is not copied again, but for the end of a text."""
    words = [bytes(97 + ord(digit) % 26 for digit in f"{n * n:07d}") for n in range(300)]
    text = b"".join(b"worker fetched %s in %d ms\n" % (words[n % 300], n) for n in range(12_000))
    text += b"step 5/10 loss 0.5\n" * 400
    first, second = (distinct_lines.distinct_lines(text, is_silent=plan().is_silent) for _ in range(2))
    assert first is not None
    assert second is not None
    assert b"fetched" in first.copy
    assert b"fetched" not in second.copy
    assert second.copy.endswith(b"step 5/10 loss 0.5\n")


def test_no_line_that_a_format_reads_is_judged_silent():
    """Of all the logs in the shapes of the programs, whatever the numbers."""
    lines = [line for line in Path(__file__).with_name("shapes.txt").read_bytes().splitlines()]
    lines = [line for line in lines if line.strip() and not line.startswith(b"===")]  # which name the shapes
    read = [line for line in lines if any(fmt.read(line.decode()) for fmt in plan().formats)]
    assert len(read) > 100
    assert [line for line in read if plan().is_silent(line)] == []
    assert plan().is_silent(b"worker is idle, next batch is ready")


def test_what_can_be_compiled_is():
    """Where a compiler is there, installing the package made the library, and of this release."""
    assert native.library() is not None


def test_no_byte_is_touched_outside_of_its_text(tmp_path):
    """Under the compiler's own watch, on texts made of what it is fond of."""
    program = str(tmp_path / "fuzz")
    source = str(Path(__file__).with_name("native_fuzz.c"))
    guarded = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    built = subprocess.run(
        ["cc", "-std=c11", "-g", "-O1", *guarded, source, "-o", program], capture_output=True, text=True
    )
    if "sanitize" in built.stderr or "lasan" in built.stderr:
        pytest.skip("this compiler has no sanitizers")
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([program], capture_output=True, text=True, timeout=240)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@settings(max_examples=500)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                [b"\x1b", b"\x1b[", b"\x1b]0;", b"\x07", b"\xc2\x9c", b"\xc2\xa0", b"\xc2", b"\x1b\\", b"m"]
            ),
            st.sampled_from([b"1;" * 40, b"y" * 4100, b"\xc2\xa1" * 4095, b"P", b"~", b"\x7f", b"\n", b"//", b"31m"]),
            st.binary(max_size=4),
        )
    ).map(b"".join)
)
def test_escapes_are_stripped_alike(text):
    native.prefer(False)
    plain = without_escapes(text)
    native.prefer(True)
    assert without_escapes(text) == plain


@given(st.lists(st.sampled_from([b"\n", b"x" * 3000, b"\n" * 700, b"line\n"])).map(b"".join), st.integers(0, 99))
def test_lines_are_counted_alike(text, start):
    assert newlines(text, start, len(text)) == text.count(b"\n", start)


def test_a_text_without_likeness_is_left_alone():
    """Where every line is new, thinning would cost and give nothing."""
    words = b"".join(b"%s\n" % bytes(97 + ord(digit) % 26 for digit in str(n * n)) for n in range(100_000))
    assert len(words) > distinct_lines.LEAST
    assert distinct_lines.distinct_lines(words) is None


def test_a_long_run_is_thinned_to_little():
    log = b"".join(b"step %d/100000 loss 0.%04d\n" % (n, n % 9973) for n in range(100_000))
    lines = distinct_lines.distinct_lines(log)
    assert lines is not None
    assert len(lines.copy) < 2 * distinct_lines.WHOLE
    assert lines.copy.endswith(log[-distinct_lines.WHOLE + 99 :])
    at = lines.copy.index(b"step 99999/")
    assert log.startswith(b"step 99999/", lines.origin(at))
