"""`dogwatch eta` and `dogwatch backtest` as a person or a program meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.estimate.traces import run, until

HEADER = "unix_seconds,step,total\n"


def series(points, total: int = 1000) -> str:
    return HEADER + "".join(f"{1.7e9 + point.at:.3f},{point.done:.0f},{total}\n" for point in points)


@pytest.fixture
def half(tmp_path: Path) -> tuple[Path, float, float]:
    """(a run that is half done, the moment, the seconds that it really has left)."""
    past, now, truth = until(run(1000, 3.0, every=10), 0.5)
    path = tmp_path / "half.csv"
    path.write_text(series(past))
    return path, 1.7e9 + now, truth


def test_the_document_has_the_time_left_and_its_interval(dogwatch, half) -> None:
    """Exactly four keys, seconds all of them but the last."""
    path, now, truth = half
    done = dogwatch("eta", "--csv", path, "--now", now, "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert list(found) == ["remaining", "low", "high", "confidence"]
    assert found["remaining"] == pytest.approx(truth, rel=0.02)
    assert found["low"] <= truth <= found["high"]
    assert found["confidence"] == 0.9


def test_standard_input_and_words(dogwatch, half) -> None:
    """The same from a pipe, in plain words, as of the newest row."""
    path, _, _ = half
    done = dogwatch("eta", "--csv", "-", input=path.read_text())
    assert done.returncode == 0
    assert done.stdout.startswith("25m left (")
    assert "9 times in 10" in done.stdout


@pytest.mark.parametrize("words", [(), ("train",), ("train", "--json")])
def test_whoever_asks_for_a_job_is_told_where_that_is(dogwatch, words: tuple[str, ...]) -> None:
    """A series is not a job; the other two verbs know what is left of one, and of a log."""
    done = dogwatch("eta", *words)
    assert done.returncode == 2
    assert "--csv" in done.stderr
    assert "dogwatch status JOB" in done.stderr


@pytest.mark.parametrize(
    "body", ["", "1700000000,0,100\n", "1700000000,5,\n1700000010,6,\n", "1700000000,5,9\n1700000100,5,9\n"]
)
def test_what_cannot_be_known_is_null_and_no_error(dogwatch, body: str) -> None:
    """No rows, one row, no total, a counter that stands."""
    done = dogwatch("eta", "--csv", "-", "--json", input=HEADER + body)
    assert done.returncode == 0
    assert json.loads(done.stdout) == {"remaining": None, "low": None, "high": None, "confidence": None}
    assert dogwatch("eta", "--csv", "-", input=HEADER + body).stdout.startswith("not known")


def test_a_run_that_is_over_has_nothing_left(dogwatch, tmp_path: Path) -> None:
    """Zero, and sure of it."""
    path = tmp_path / "over.csv"
    path.write_text(series(run(1000, 1.0, every=10)))
    assert json.loads(dogwatch("eta", "--csv", path, "--json").stdout)["remaining"] == 0
    assert dogwatch("eta", "--csv", path).stdout == "done\n"


@pytest.mark.parametrize(
    "text",
    ["", "1700000000,0,100\n1700000010,1,100\n", "time,step,total\n1,2,3\n", "\0\0\0", '"never closed\n' * 9000],
)
def test_without_its_header_a_file_is_refused_in_one_sentence(dogwatch, tmp_path: Path, text: str) -> None:
    """Exit code 2, naming the file and what is wanted."""
    path = tmp_path / "strange.csv"
    path.write_text(text)
    done = dogwatch("eta", "--csv", path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "strange.csv" in done.stderr
    assert "unix_seconds,step,total" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_row_that_is_no_numbers_is_named_and_one_still_being_written_is_not_minded(dogwatch, half) -> None:
    """In the middle it is a mistake, at the end a write that is under way."""
    path, now, _ = half
    whole = json.loads(dogwatch("eta", "--csv", path, "--now", now, "--json").stdout)
    text = path.read_text()
    path.write_text(text + "17000")
    assert json.loads(dogwatch("eta", "--csv", path, "--now", now, "--json").stdout) == whole
    path.write_text(text + "soon,to,be\n1700009999,990,1000\n")
    done = dogwatch("eta", "--csv", path)
    assert done.returncode == 2
    assert "'soon,to,be'" in done.stderr


def test_columns_may_come_in_any_order_with_others(dogwatch) -> None:
    """They are found by name."""
    text = "loss,total,step,unix_seconds\n" + "".join(f"0.5,100,{i},{1000 + 10 * i}\n" for i in range(50))
    found = json.loads(dogwatch("eta", "--csv", "-", "--json", input=text).stdout)
    assert found["remaining"] == pytest.approx(510, rel=0.03)


def test_the_same_series_in_other_clothes_has_the_same_answer(dogwatch, half) -> None:
    """Windows line ends, a byte-order mark, spaces, quotes, another case, rows in no order, cells that hold nothing."""
    path, now, _ = half
    plain = path.read_text()
    rows = plain.splitlines()
    wanted = json.loads(dogwatch("eta", "--csv", path, "--now", now, "--json").stdout)
    for text in (
        plain.replace("\n", "\r\n"),
        "\ufeff" + plain,
        plain.replace(",", " ,  ").upper(),
        "\n".join(",".join(f'"{cell}"' for cell in row.split(",")) for row in rows),
        "\n".join([rows[0], *rows[:0:-1]]),
        plain.replace("\n", "\n\n"),
        plain + "nan,5,1000\n1700000001,NaN,1000\n",
        "\n".join([*rows[:9], *(row.replace(",1000", ",") for row in rows[9:])]),
    ):
        done = dogwatch("eta", "--csv", "-", "--now", now, "--json", input=text)
        assert done.returncode == 0, text[:80]
        assert json.loads(done.stdout) == wanted, text[:80]


def test_a_clock_that_was_set_back_does_not_hide_what_came_after(dogwatch) -> None:
    """An hour back in the middle of the run: it goes on at its pace, as of the newest row."""
    rows = [f"{1.7e9 + 10 * i - (3600 if i > 25 else 0):.0f},{i},100" for i in range(51)]
    found = json.loads(dogwatch("eta", "--csv", "-", "--json", input=HEADER + "\n".join(rows)).stdout)
    assert found["remaining"] == pytest.approx(500, rel=0.05)


@pytest.mark.parametrize("none", ["0", "-1", "", "nan"])
def test_a_total_that_is_not_known_any_more_is_the_one_before(dogwatch, none: str) -> None:
    """Some write 0 or less where they know none."""
    rows = [f"{1.7e9 + 10 * i:.0f},{i},{100 if 3 < i < 40 else none}" for i in range(51)]
    found = json.loads(dogwatch("eta", "--csv", "-", "--json", input=HEADER + "\n".join(rows)).stdout)
    assert found["remaining"] == pytest.approx(500, rel=0.02)


@pytest.mark.parametrize(
    ("body", "now", "why"),
    [
        ("1700000000,5,\n1700000010,6,\n", None, "there is no total"),
        ("1700000000,5,9\n1700000010,5,9\n", None, "the counter has not moved yet"),
        ("1700000000,5,9\n", 1.0, "nothing had been written by then"),
        ("1700000000,0,9\n1700000010,1,9\n1700000020,2,9\n", 1700009999.0, "it may be finished or stuck"),
    ],
)
def test_why_it_is_not_known_is_said(dogwatch, body: str, now: float | None, why: str) -> None:
    """In words, for a person; a silence beyond the end is no promise."""
    at = () if now is None else ("--now", now)
    assert why in dogwatch("eta", "--csv", "-", *at, input=HEADER + body).stdout


def test_a_file_that_is_not_there_is_exit_3(dogwatch, tmp_path: Path) -> None:
    """Not a wrong request: it could not be looked at."""
    done = dogwatch("eta", "--csv", tmp_path / "nowhere.csv")
    assert done.returncode == 3
    assert "nowhere.csv" in done.stderr


@pytest.fixture
def finished(tmp_path: Path) -> list[Path]:
    paths = []
    for seed in range(4):
        paths.append(tmp_path / f"run{seed}.csv")
        paths[-1].write_text(series(run(1000, 3.0, every=10, start=300, pauses=[(200, 150)], seed=seed)))
    return paths


def test_finished_runs_are_replayed_beside_the_usual_estimates(dogwatch, finished, tmp_path: Path) -> None:
    """Six moments, our predictor and five others, and what the interval did; what is unfit is named."""
    unfinished = tmp_path / "unfinished.csv"
    unfinished.write_text(series(run(500, 1.0, every=10)))
    done = dogwatch("backtest", "--csv", *finished, unfinished, "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["runs"] == 4
    assert found["left_out"] == [{"file": str(unfinished), "why": "it did not finish: 500 of 1000"}]
    assert [moment["share"] for moment in found["moments"]] == [0.05, 0.1, 0.25, 0.5, 0.75, 0.9]
    late = found["moments"][4]
    assert len(late["predictors"]) == 6
    assert late["predictors"]["dogwatch"]["within_10_percent"] == 1
    assert late["predictors"]["linear"]["within_10_percent"] < 1
    assert late["interval"]["coverage"] >= 0.75
    table = dogwatch("backtest", "--csv", *finished, unfinished)
    assert "tqdm's EMA (0.3)" in table.stdout
    assert "unfinished.csv is left out" in table.stderr


def test_logs_are_replayed_by_the_times_in_them(dogwatch, tmp_path: Path) -> None:
    """A log with dates is a series too."""
    log = tmp_path / "train.log"
    rows = (f"2026-01-02 {n // 60:02d}:{n % 60:02d}:00 step {n}/1000 loss: 0.5\n" for n in range(1001))
    log.write_text("".join(rows))
    found = json.loads(dogwatch("backtest", log, "--json").stdout)
    assert found["runs"] == 1
    assert found["moments"][3]["predictors"]["dogwatch"]["within_10_percent"] == 1


def test_with_nothing_to_replay_the_exit_code_says_so(dogwatch, tmp_path: Path) -> None:
    """3: there was nothing to look at."""
    path = tmp_path / "short.csv"
    path.write_text(HEADER)
    done = dogwatch("backtest", "--csv", path)
    assert done.returncode == 3
    assert "fewer than three rows" in done.stderr


def test_a_run_that_cannot_be_read_keeps_nobody_from_the_others(dogwatch, tmp_path: Path) -> None:
    """It is left out with the reason, in words that fit it; the others are replayed."""
    good, mute = tmp_path / "good.log", tmp_path / "mute.log"
    good.write_text("".join(f"2026-01-02 {n // 60:02d}:{n % 60:02d}:00 step {n}/1000 loss: 0.5\n" for n in range(1001)))
    mute.write_text("".join(f"step {n}/100 loss 0.5\n" for n in range(101)))
    done = dogwatch("backtest", tmp_path, tmp_path / "none.log", mute, good, "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["runs"] == 1
    assert {Path(one["file"]).name: one["why"] for one in found["left_out"]} == {
        tmp_path.name: "is a directory; name the log files in it",
        "none.log": "could not be read: No such file or directory",
        "mute.log": "fewer than three of its lines have both a count and a time",
    }
    assert dogwatch("backtest", tmp_path).returncode == 3
