"""Gathering from a log: bounded memory, any cut, any bytes, and a state that another can go on from."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogwatch.diagnosis import LineCollector, collect_lines
from dogwatch.diagnosis.collected_lines import MOST_HITS, MOST_TEXT
from dogwatch.diagnosis.line_collector import HELD, CollectorState
from dogwatch.logs import scan

TRACEBACK = b'Traceback (most recent call last):\n  File "/srv/a.py", line 1, in f\n    g()\n'
STEPS = b"".join(b"step %d/900 | loss 2.5\n" % i for i in range(60))
PARTS = [
    b"step 3/10 loss 2.1\n",
    b"12%|xx| 3/25 [00:01<00:09, 2.4it/s]\r",
    TRACEBACK,
    b"KeyError: 'x'\n",
    b"RuntimeError: CUDA out of memory. Tried\n",
    b"\nDuring handling of the above exception, another exception occurred:\n\n",
    b"slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 ***\n",
    b"[rank1]: ",
    b"\x1b[31m",
    b"\xff\xfe\x00",
    b"Exception in thread T:\n",
    b"\n",
]


def said(collected):
    return [(hit.cause, hit.line, hit.text, hit.raised, hit.inner, hit.from_thread) for hit in collected.hits]


@settings(max_examples=60)
@given(st.lists(st.sampled_from(PARTS) | st.binary(max_size=40), max_size=40), st.integers(1, 200))
def test_where_a_log_is_cut_changes_nothing(parts, size):
    """The same hits on the same lines, whatever the pieces."""
    text = b"".join(parts)
    whole = collect_lines([text])
    pieces = collect_lines(text[i : i + size] for i in range(0, len(text), size))
    assert said(pieces) == said(whole)


@pytest.mark.skipif(scan.hyperscan() is None, reason="hyperscan is missing")
@settings(max_examples=100)
@given(st.lists(st.sampled_from(PARTS) | st.binary(max_size=40), max_size=40), st.sampled_from([1, 40]))
def test_the_fast_engine_hears_what_the_other_one_does(parts, times):
    """Every hit, every line number and every gap between them, however many there are."""
    text, heard = b"".join(parts) * times, []
    for fast in (False, True):
        scan.prefer(fast)
        heard.append(collect_lines([text, b"\nFATAL ERROR: \n"]))
    scan.prefer(None)
    assert heard[0] == heard[1]


@settings(max_examples=40)
@given(st.lists(st.sampled_from(PARTS) | st.binary(max_size=40), max_size=30), st.integers(0, 30))
def test_a_state_goes_through_json_and_on(parts, at):
    """Whoever is restarted hears the rest as if nothing had happened."""
    first, second = b"".join(parts[:at]), b"".join(parts[at:])
    collector = LineCollector()
    collector.feed(first)
    collector = LineCollector.restore(msgspec.json.decode(msgspec.json.encode(collector.state()), type=CollectorState))
    collector.feed(second)
    assert said(collector.collected()) == said(collect_lines([first, second]))


@given(st.binary(max_size=3000))
def test_any_bytes_are_read(text):
    """Nothing in a log can make reading it fail."""
    collected = collect_lines([text])
    assert all(hit.line is not None and 1 <= hit.line <= text.count(b"\n") + 1 for hit in collected.hits)


def test_lines_are_counted_by_newlines_alone():
    """What a progress bar wrote over does not move the number of a line."""
    bars = b"\r".join(b"%d%%|x| %d/99 [00:01<00:09, 2it/s]" % (i, i) for i in range(99))
    collected = collect_lines([bars + b"\n" + bars + b"\rRuntimeError: CUDA out of memory. Tried\n"])
    assert [(hit.line, hit.text) for hit in collected.hits] == [(2, "RuntimeError: CUDA out of memory. Tried")]


@pytest.mark.parametrize("text", [b"error: ", b"RuntimeError: CUDA out of memory.\n", TRACEBACK + b"KeyError: 1\n"])
def test_memory_does_not_grow_with_the_log(text):
    """Neither the hits nor their text nor what is held back are more in a log a hundred times as long."""
    collector = LineCollector()
    for _ in range(40):
        collector.feed(text * (200_000 // len(text)))
    assert len(collector._held) <= 2 * HELD
    collected = collector.collected()
    assert len(collected.hits) <= MOST_HITS
    assert all(len(hit.text) <= MOST_TEXT for hit in collected.hits)


def test_a_flood_does_not_wash_away_what_began_it():
    """Of thousands of lines that say the same, some are let go; the one that says something else stays."""
    text = TRACEBACK + b"OSError: [Errno 122] Disk quota exceeded\n" + b"Killing subprocess 7\n" * 5000
    assert collect_lines([text]).hits[0].cause == "disk_quota"


def test_a_new_attempt_begins_with_nothing_said_and_lines_counted_on():
    """In a log that attempts share, what the last one said is not held against this one."""
    collector = LineCollector()
    collector.feed(TRACEBACK + b"KeyError: 'x'\n" + STEPS)
    collector.begin_attempt()
    assert collector.collected().hits == []
    collector.feed(TRACEBACK + b"TypeError: y\n" + STEPS)
    assert [hit.line for hit in collector.collected().hits] == [68]


def test_nothing_that_was_held_back_of_an_earlier_attempt_is_held_against_the_next():
    """The end of a log is held back for what may belong to it; with another attempt nothing of it does."""
    collector = LineCollector()
    collector.feed(
        b'step 1/9\nTraceback (most recent call last):\n  File "/a.py", line 1, in <module>\n    main()\nKeyError: 1\n'
    )
    collector.begin_attempt()
    collector.feed(b"step 1/9\n")
    assert collector.collected().hits == []
    collector.feed(
        b'Traceback (most recent call last):\n  File "/a.py", line 1, in <module>\n    main()\nKeyError: 2\n'
    )
    (hit,) = collector.collected().hits
    assert (hit.text, hit.line) == ("KeyError: 2", 10)
