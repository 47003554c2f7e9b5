"""Progress of logs that no known format reads, by lines of one shape in which a number counts."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogwatch.logs import shape
from dogwatch.logs.reader import Reader, Reading
from dogwatch.logs.structure import HEAD, MOST_SHAPES, PERIOD, Structure
from dogwatch.logs.table import header


def read(*lines: str) -> Reading:
    return Reader().feed("".join(f"{line}\n" for line in lines).encode())


def counted(*lines: str) -> tuple[float | None, float | None, str | None]:
    """(step, total, unit) of a log of these lines."""
    step = read(*lines).step
    return (step.done, step.total, step.unit) if step else (None, None, None)


NOTHING = (None, None, None)


def test_lines_of_one_print_statement_have_one_shape() -> None:
    """Numbers, dates, what stands behind the last number and the widths of columns do not matter."""
    one = shape.parse_line("2024-05-01 10:00:01 run 3 of 90: a_1.wav")
    two = shape.parse_line("2024-05-02 11:10:41 run  12 of 90: b_77 (again)")
    assert one is not None
    assert two is not None
    assert one.shape == two.shape
    assert (one.values, two.values) == ((3.0, 90.0), (12.0, 90.0))


@pytest.mark.parametrize(
    "line",
    [
        "conv1 and v1.2.3 at 10.0.0.7",
        "took 12 s, 40 MB, 30%",
        "12:04:11 started",
        "/data/item/12 and part-7",
        "0x5d73c9",
    ],
)
def test_a_number_in_a_name_or_with_a_unit_of_its_own_is_text(line: str) -> None:
    """Versions, addresses, times, sizes and parts of names count nothing."""
    assert shape.parse_line(line) is None


def test_a_word_before_a_number_says_what_it_counts() -> None:
    """A loop, things, something else altogether, or perhaps something."""
    assert shape.named(["kmc", "step", "count"]) == ("steps", shape.LOOP)
    assert shape.named(["saving", "file"]) == ("files", shape.THINGS)
    assert shape.named(["new", "best", "at", "epoch"])[1] == shape.NEVER
    assert shape.named(["listening", "on", "port"])[1] == shape.NEVER
    assert shape.named([])[1] == shape.PERHAPS


def test_what_a_word_names_may_rise_as_it_likes() -> None:
    """`frame 12`, `frame 30`: a loop's number need not rise by equal steps."""
    assert counted(*(f"rendered frame {n} in {n / 7:.2f}" for n in (3, 9, 30, 41))) == (41.0, None, "frames")


def test_instructions_are_no_progress() -> None:
    """Five numbered steps without a figure are somebody's advice."""
    assert counted(*(f"Step {n}: open the next window" for n in range(1, 6))) == NOTHING


def test_a_number_without_a_word_counts_from_the_start_and_by_equal_steps() -> None:
    """And figures stand beside it; a clock, an id and a port do not look like that."""
    assert counted(*(f"{n} {1 / (n + 1):.4f}" for n in range(12))) == (11.0, None, "items")
    assert counted(*(f"{n * n} {1 / (n + 1):.4f}" for n in range(12))) == NOTHING
    assert counted(*(f"{n + 4000} {1 / (n + 1):.4f}" for n in range(12))) == NOTHING
    assert counted(*(f"{n} ready" for n in range(12))) == NOTHING
    assert counted(*(f"{1700000000 + 60 * n} {1 / (n + 1):.4f}" for n in range(12))) == NOTHING


@pytest.mark.parametrize(
    "line",
    [
        "worker {n} started with pid 7{n}",
        '10.0.0.9 - - [01/Nov/2024 10:00:{n:02}] "GET /item/{n} HTTP/1.1" 200 51{n} 0.0{n}',
        "Get:{n} http://deb.example.org/debian main amd64 lib 1.0.{n} [{n} kB]",
        "  ({n}): Linear(in_features=128, out_features=128)",
        "[{n}/40] Building CXX object src/part{n}.o 0.1",
        "connection from 10.0.0.{n} port 4{n}, attempt {n}",
        "Current memory usage {n} MB after {n} s",
        "New best found at epoch {n}: 0.{n}",
        "layer {n}: mean 0.{n}",
    ],
)
def test_servers_installers_and_lists_say_nothing(line: str) -> None:
    """False progress is worse than none."""
    assert counted(*(line.format(n=n) for n in range(40))) == NOTHING


def test_a_letter_counts_where_a_total_stands_behind_it() -> None:
    """Alone it names a setting. A total may become another one where the count begins again, and nowhere else."""
    legs = [f"T = {n * 400} / {of} | maze_{of} | reward: {n / 7:.3f}" for of in (4000, 6000) for n in range(1, 11)]
    assert counted(*legs) == (4000, 6000, "items")
    assert counted(*(f"T = {n * 400} | maze | reward: {n / 7:.3f}" for n in range(1, 11))) == NOTHING
    drifting = (f"T = {n * 400} / {9000 + n} | maze | reward: {n / 7:.3f}" for n in range(1, 11))
    assert counted(*drifting) == (4000, None, "items")


def test_a_count_without_a_word_may_begin_again_after_a_long_way() -> None:
    """A second run wrote into the same log; what begins again every few lines counts something else."""
    one, two = ([f"{n}\t train loss={1 / n:.3f}\t acc=0.7{n}" for n in range(1, last)] for last in (9, 31))
    assert counted(*one, "run with batch size 700", *two) == (30, None, "items")
    assert counted(*one, *one, *one, *one) == NOTHING


def test_a_loop_has_the_total_of_a_bar_that_stands_where_it_does() -> None:
    """Two lines of one record may both count, and only one of them says how many there are."""
    lines = [(f"[{'=' * n}{' ' * (9 - n)}] {n * 700}/6300 | loss={n}.5", f"saved step {n * 700}") for n in range(1, 8)]
    assert counted(*(line for both in lines for line in both)) == (4900, 6300, "steps")


def test_the_loop_outside_is_told_by_the_one_that_begins_again() -> None:
    """A number that rises by one whenever another falls back counts what that one is inside of."""
    lines = [f"{turn} {n} {1 / (n + turn + 1):.3f}" for turn in range(1, 4) for n in range(0, 500, 100)]
    assert counted(*lines) == (3.0, None, "epochs")


def test_a_known_format_silences_the_structure() -> None:
    """Whatever was read by structure is forgotten when a format speaks."""
    lines = [f"round {n} score 0.{n}" for n in range(1, 9)]
    assert counted(*lines) == (8.0, None, "rounds")
    assert counted(*lines, "Epoch 2/9 loss 0.3") == (2.0, 9.0, "epochs")
    assert counted("Epoch 2/9 loss 0.3", *lines) == (2.0, 9.0, "epochs")


def test_totals_that_the_log_stated_belong_to_a_printed_count() -> None:
    """`max_steps=900` in a configuration is the total of a table's steps."""
    lines = ["max_steps=900", "step   loss   lr", *(f"{n}   0.{n}   0.1" for n in (100, 200, 300))]
    assert counted(*lines) == (300.0, 900.0, "steps")


def test_a_table_may_count_in_decimals() -> None:
    """A column of epochs that was written from floats counts all the same."""
    rows = [f"0.0,{epoch}.0,0.{epoch}71,0.5" for epoch in range(9)]
    assert counted("id,epoch,loss,acc", *rows) == (8.0, None, "epochs")


def test_a_header_names_columns_and_a_sentence_does_not() -> None:
    """A column that counts is a loop's name and nothing else."""
    found = header("| epoch | train loss | step-size |")
    assert found is not None
    assert found.row("| 3 | 0.5 | 0.1 |") is not None
    assert header("loss   accuracy   step-size") is None
    assert header("now training") is None


@pytest.mark.parametrize("sign", ["\t", ";", ","])
def test_cells_stand_between_tabs_semicolons_or_commas(sign: str) -> None:
    """A cell may be a tensor, with signs of its own in it."""
    head = sign.join(("epoch", "loss", "acc"))
    rows = (sign.join((str(n), f"tensor({1 / n:.4f})", "0.5")) for n in range(2, 6))
    assert counted(head, *rows) == (5, None, "epochs")
    assert counted("epoch\tloss\tacc", *(f"{n}\ttensor(0.1, device='cuda:0')\t0.5" for n in range(2, 6)))[0] == 5


def test_a_remark_may_stand_behind_the_last_cell() -> None:
    """Between bars the first word of a cell is what counts."""
    rows = (f"     {n} |     0.{n}31 |    9{n}.19% | 2.51e-04  (55{n}.2s)" for n in range(1, 7))
    assert counted(" Epoch | Train Loss | Val Acc |       LR", *rows) == (6, None, "epochs")


def test_a_number_with_dots_behind_it_may_be_one_of_a_total() -> None:
    """`chunk 3... of 40`."""
    lines = (line for n in range(1, 9) for line in (f"chunk {n}... of 40", f"writing {n}"))
    assert counted(*lines) == (8, 40, "chunks")


def test_a_simulation_is_told_by_its_clock_and_not_by_what_a_solver_needed() -> None:
    """`No Iterations 3` says how many, and `Time = 40` alone on its line how far; a stopwatch does not go evenly."""
    solver = "GAMG:  Solving for p, Initial residual = 0.{0}, Final residual = 1.{0}e-05, No Iterations {0}"
    log = [line for n in range(1, 31) for line in (f"Time = {n}", "", solver.format(30 + n), solver.format(3))]
    assert counted(*log) == (30, None, "steps")
    assert counted(*(solver.format(n) for n in range(1, 40))) == NOTHING
    assert counted(*(f"Time = {n * n}" for n in range(1, 40))) == NOTHING


def test_the_newest_line_of_a_long_log_counts_wherever_it_is_cut() -> None:
    """Behind its beginning only some stretches of a log are read; which ones depends on their places alone."""
    lines = []
    size = 0
    for n in range(1, 100000):
        lines.append(f"sweep {n} energy {1 / n:.6f}\n" if n % 40 == 0 else f"note {'x' * (n % 50)} is kept\n")
        size += len(lines[-1])
        if size > HEAD + 3 * PERIOD + 777:
            break
    log = "".join(lines).encode()
    newest = float(max(n for n in range(1, len(lines) + 1) if n % 40 == 0))
    for piece in (len(log), 1 << 20, 70001, 4096, 999):
        reader = Reader()
        for at in range(0, len(log), piece):
            reading = reader.feed(log[at : at + piece])
            if at // piece == 3:
                reader = Reader.restore(json.loads(json.dumps(reader.state())))
        assert reading.step is not None
        assert (reading.step.done, reading.step.unit, reading.format) == (newest, "sweeps", "print"), piece


LINES = st.lists(
    st.one_of(
        st.builds("sweep {} of {} energy {}".format, st.integers(0, 9), st.integers(5, 9), st.floats(0, 1)),
        st.builds("{} {} {:.3f}".format, st.integers(0, 4), st.integers(0, 9), st.floats(0, 1)),
        st.sampled_from(["step  loss", "epoch,loss,lr", "1 0.5", "2 0.4", "3,0.2,0.1", "4,0.1,0.1", "5,0.1,0.1"]),
        st.text(max_size=30),
    ),
    max_size=60,
)


@settings(max_examples=200)
@given(LINES, st.lists(st.integers(0, 900), max_size=5))
def test_any_lines_mean_the_same_in_any_pieces_and_after_a_restart(lines: list[str], cuts: list[int]) -> None:
    """Cut anywhere, with the state saved between two pieces: the same slots as in one piece."""
    log = "\n".join(lines).encode() + b"\n"
    whole = Reader().feed(log)
    places = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    reader = Reader()
    for start, end in pairwise(places):
        split = reader.feed(log[start:end])
        reader = Reader.restore(json.loads(json.dumps(reader.state())))
    assert (split.step, split.at, split.format) == (whole.step, whole.at, whole.format)


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=60), max_size=80))
def test_memory_is_bounded_and_any_bytes_are_read(lines: list[bytes]) -> None:
    """Whatever the log says, a few shapes are kept."""
    found = Structure()
    found.read(b"".join(line.replace(b"\n", b"") + b" 7\n" for line in lines), 0)
    found.slots()
    assert len(found.state()["shapes"]) <= MOST_SHAPES
