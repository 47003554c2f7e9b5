"""Reading a growing log in pieces: what it says now does not depend on where the pieces were cut."""

from __future__ import annotations

import gc
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dogwatch.logs.formats import shipped
from dogwatch.logs.interface import EPOCH, INNER
from dogwatch.logs.reader import LINE_LIMIT, Reader, Reading
from dogwatch.logs.user import compile_patterns
from dogwatch.model import Finished, Step, Trouble
from dogwatch.text import plain

PATTERNS = compile_patterns(
    {"tiles": r"tile (\d+)/(\d+)", "throughput": r"([\d.]+) tiles/s"}, [("boom", "critical"), ("slow$", "warning")], "f"
)
SNIPPETS = [
    b"Epoch 3/10",
    b"Epoch 4/10 done loss 0.5",
    b"Batch 5/500 loss: 0.345",
    b"Processed 300/1000 items (25.1 items/s)",
    b"step 7 of 90",
    b"[3/7]",
    b"Progress: 45%",
    b"\r 30%|\xe2\x96\x88\xe2\x96\x88  | 30/100 [00:10<00:20,  3.50it/s]",
    b"\rval 50%|##  | 5/13 [00:01<00:01, 5.00it/s]",
    b"\rEpochs: 20%|##  | 2/10 [00:01<00:01, 5.00s/it]",
    b"\r420it [00:10, 41.9it/s]",
    b"{'loss': 0.4, 'epoch': 0.35}",
    b"{'eval_loss': 0.4}",
    b'{"step": 3, "total_steps": 9, "loss": 0.5}',
    b'{"loss": NaN}',
    b"Training completed",
    b"boom",
    b"it is slow",
    b"tile 3/9",
    b"2.5 tiles/s",
    b"\x1b[32mEpoch\x1b[0m 5/10",
    b"\x1b]0;title\x07",
    b"\xff\xfe\x00\x1b",
    b"\x00",
    b"/",
    b" ",
    b"1",
    b"x" * (LINE_LIMIT - 20),
]
LOGS = st.lists(st.one_of(st.sampled_from([*SNIPPETS, b"\n", b"\r", b"\r\n", b"\n", b"\n"]), st.binary(max_size=6)))


def feed_all(pieces: list[bytes], reader: Reader | None = None) -> tuple[Reading, list[Trouble]]:
    reader = reader or Reader(PATTERNS)
    readings = [reader.feed(piece) for piece in pieces] or [reader.feed(b"")]
    return readings[-1], [t for r in readings for t in r.troubles]


@settings(max_examples=400)
@given(LOGS, st.lists(st.integers(0, 400), max_size=6))
@example([b"a\r", b"\nEpoch 3/10\r\n"], [2])
@example([b"x" * LINE_LIMIT * 2, b"Epoch 3/10\n", b"step 1/2\n"], [100, 70000])
def test_where_the_log_is_cut_changes_nothing(parts, cuts):
    """All at once or split anywhere: the same step, phase, claim and troubles, so each line counts once."""
    log = b"".join(parts)
    places = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    pieces = [log[a:b] for a, b in pairwise(places)]
    whole, whole_troubles = feed_all([log])
    split, split_troubles = feed_all(pieces)
    assert (split.step, split.phase, split.finished) == (whole.step, whole.phase, whole.finished)
    assert split_troubles == whole_troubles


CODES = [
    "\x1b",
    "\x1b[",
    "\x1b[3",
    "\x1b[0m",
    "\x1b]0;",
    "\x1bP",
    "\x07",
    "\x9c",
    "\x1b\\",
    "[",
    "1m",
    ";",
    "x",
    "é",
    " ",
    "/",
]


@settings(max_examples=400)
@given(st.lists(st.sampled_from([*CODES, "█", "\n", "0" * 70, "y" * 4096]), max_size=14).map("".join))
@example("\x1b[3\x1b[0m1m")
@example("\x1b]0;title\x1b[0mstep 3/9")
def test_terminal_codes_are_taken_out_as_before_a_screen(text):
    """Whole or unfinished, one within the other: what is read is what `plain` would show."""
    heard: list[bytes] = []
    Reader(listen=lambda at, lines: heard.append(lines)).feed(text.encode() + b"\n")
    assert b"".join(heard).decode() == plain(text + "\n", 1 << 20, keep="\n\x07\x9c")


@settings(max_examples=60)
@given(LOGS)
def test_byte_by_byte_is_the_same_as_line_by_line(parts):
    """The finest cut there is agrees with the coarsest."""
    log = b"".join(part[:200] for part in parts)[:2000]
    whole, troubles = feed_all([log])
    fine, fine_troubles = feed_all([log[i : i + 1] for i in range(len(log))])
    assert (fine.step, fine_troubles) == (whole.step, troubles)


@settings(max_examples=200)
@given(st.lists(st.binary(max_size=300), max_size=5))
def test_arbitrary_bytes_never_raise(pieces):
    """Whatever a job writes, the reader answers."""
    feed_all(pieces)


@settings(max_examples=100)
@given(LOGS, LOGS)
def test_a_restored_reader_goes_on_where_the_other_stopped(before, after):
    """Saved as JSON and read back, it says the same as one that was never stopped."""
    first = Reader(PATTERNS)
    first.feed(b"".join(before))
    second = Reader.restore(json.loads(json.dumps(first.state(), allow_nan=False)), PATTERNS)
    assert second.feed(b"".join(after)) == first.feed(b"".join(after))


def test_a_state_of_another_version_is_forgotten():
    """A saved state that this program cannot read costs a fresh start, not an error."""
    strange: Any = {"v": 99, "strange": True}
    assert Reader.restore(strange).feed(b"step 1/2\n").step is not None


def test_a_partial_line_waits():
    """Half a number is not a number."""
    reader = Reader()
    assert reader.feed(b"step 1").step is None
    assert reader.feed(b"2/100").step is None
    reading = reader.feed(b"0\n")
    assert reading.step is not None
    assert (reading.step.done, reading.step.total) == (12, 1000)


def test_the_newest_record_speaks():
    """Of a thousand lines in one piece the last one counts, for every counter and metric."""
    log = b"".join(b"Processed %d/1000 items loss: %d\n" % (i, i) for i in range(1000))
    reading = Reader().feed(log)
    assert reading.step is not None
    assert reading.step.done == 999
    assert reading.metrics["loss"] == 999


def test_epochs_are_refined_by_the_batches_in_them():
    """Epoch 3 of 10, batch 250 of 500: two and a half epochs are done."""
    reader = Reader()
    assert reader.feed(b"Epoch 3/10\nBatch 250/500\n").step == Step(2.5, 10, "epochs", None, EPOCH, 3)
    assert reader.feed(b"Epoch 4/10\n").step == Step(3.0, 10, "epochs", None, EPOCH, 4)
    one_line = Reader().feed(b"Epoch [3/10], Step [250/500], Loss: 0.1\n").step
    assert one_line is not None
    assert one_line.done == 2.5


def test_epochs_that_are_summed_up_when_done_count_as_done():
    """Batches that follow a closed third epoch belong to the fourth."""
    step = Reader().feed(b"Batch 500/500\nEpoch 3/10 took 60 s\nBatch 50/500\n").step
    assert step is not None
    assert step.done == pytest.approx(3.1)


def test_a_bar_of_epochs_round_a_bar_of_batches():
    """Nested bars: the outer counts what is done, the inner what is under way."""
    log = (
        b"Epochs:  20%|##   | 2/10 [00:10<00:40,  5.00s/it]\n"
        b"\rTrain:  50%|#####     | 250/500 [00:02<00:02, 100.00it/s]\r"
    )
    step = Reader().feed(log).step
    assert step is not None
    assert (step.done, step.total, step.unit) == (2.5, 10, "epochs")


def test_a_run_counter_outranks_what_happens_inside():
    """Run-wide items win over epochs, epochs over brackets, and a validation bar never counts as the run."""
    reading = Reader().feed(
        b"Processed 300/1000 items\nEpoch 3/10\n[4/7]\n\rval 50%|##  | 5/13 [00:01<00:01, 5.00it/s]\r"
    )
    assert reading.step is not None
    assert (reading.step.done, reading.step.unit) == (300, "items")
    assert reading.phase == "validating"


def test_an_evaluation_inside_a_training_bar_does_not_take_over():
    """Two bars without a word: the shorter one that comes and goes is not the run."""
    train = b"\r  5%|#    | 50/1000 [00:10<03:10,  5.00it/s]"
    assess = b"\r 38%|##   | 5/13 [00:01<00:01,  5.00it/s]"
    step = Reader().feed(train + assess + b"\r").step
    assert step == Step(50, 1000, "it", 5.0, INNER)


def test_a_metric_that_turned_into_nan_is_not_shown_as_its_last_good_value():
    """After `loss: nan` there is no loss to show."""
    reader = Reader()
    assert reader.feed(b"loss: 0.5\n").metrics == {"loss": 0.5}
    assert reader.feed(b"loss: nan\n").metrics == {}


def test_a_claim_to_be_finished_is_kept_as_a_claim():
    """The text that said it goes along, and the step stays what it was."""
    reading = Reader().feed(b"step 5/10\nTraining completed\n")
    assert reading.finished == Finished("Training completed")
    assert reading.step is not None
    assert reading.step.done == 5


def test_a_line_without_end_costs_no_memory():
    """Sixty-four megabytes without a line end leave a small state behind, and the next line is read."""
    reader = Reader(PATTERNS)
    for _ in range(64):
        reader.feed(b"x" * (1 << 20))
    assert len(json.dumps(reader.state())) < 2 * LINE_LIMIT
    assert reader.feed(b"\nstep 1/2\n").step is not None


def test_what_stands_beyond_the_limit_of_a_line_is_cut():
    """A long line is read up to the limit, in one piece or in many."""
    line = b"step 1/2 " + b" " * LINE_LIMIT + b"step 2/2\n"
    for pieces in ([line], [line[:50], line[50:70000], line[70000:]]):
        reading, _ = feed_all(pieces)
        assert reading.step is not None
        assert reading.step.done == 1


def test_endless_counters_and_metrics_are_bounded():
    """A log that invents a new total or a new name on every line does not grow the state."""
    reader = Reader()
    for i in range(300):
        reader.feed(b"\r 3%%|#  | 1/%d [00:10<00:20,  3.50it/s]\r\n{'loss': 1, 'm%d': 1, 'epoch': 1}\n" % (i + 9, i))
    assert len(json.dumps(reader.state())) < 8192


def test_utf16_text_is_readable():
    """A log in UTF-16 is ASCII with NULs between, which do not matter."""
    step = Reader().feed("Processed 3/9 items\nnext\n".encode("utf-16")).step
    assert step is not None
    assert step.done == 3


def test_formats_are_found_without_a_registry():
    """Every module of the first set is there, each kind once."""
    kinds = [fmt.kind for fmt in shipped()]
    assert len(kinds) == len(set(kinds))
    assert {"tqdm", "epoch", "step", "jsonl", "hf_trainer", "finished by complete", "processed"} <= set(kinds)


def test_reading_leaves_nothing_that_only_garbage_collection_frees() -> None:
    """A watcher collects garbage seldom: a cycle for each log and poll would be megabytes."""
    reader = Reader()
    lines = [f"Processed {step}/1000 items (9.5 items/s)\n".encode() for step in range(40)]
    reader.feed(b"".join(lines[:10]))
    gc.collect()
    gc.disable()
    try:
        for line in lines[10:]:
            assert reader.feed(line).step is not None
        assert gc.collect() == 0
    finally:
        gc.enable()
