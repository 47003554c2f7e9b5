"""`dogwatch read` as a person meets it: documents, blocks of text, and one sentence for what is no log."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import json
import os
import pty
import signal
import socket
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

KEYS = ["file", "format", "progress", "rate", "metrics", "phase", "ending", "eta", "diagnosis"]


def training(steps: int, total: int = 1000) -> str:
    """A run that reports every step, a step a minute."""
    rows = (
        f"2026-01-{2 + n // 1440:02d} {n // 60 % 24:02d}:{n % 60:02d}:00 step {n}/{total} loss: 0.5\n"
        for n in range(steps)
    )
    return "".join(rows)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_text(training(301))
    return path


def test_one_document_per_file_with_exactly_the_promised_keys(dogwatch, log: Path, tmp_path: Path) -> None:
    """One line each, in the order they were named."""
    empty = tmp_path / "empty.log"
    empty.write_text("")
    done = dogwatch("read", "--json", log, empty)
    first, second = map(json.loads, done.stdout.splitlines())
    assert done.returncode == 0
    assert list(first) == list(second) == KEYS
    assert first["progress"] == {"step": 300, "total": 1000, "unit": "steps", "fraction": 0.3}
    assert first["rate"] == pytest.approx(1 / 60)
    assert first["metrics"] == {"loss": 0.5}
    assert (first["ending"], first["diagnosis"]) == ("cut", None)
    assert set(first["eta"]) == {"remaining_seconds", "low_seconds", "high_seconds", "confidence"}
    assert first["eta"]["low_seconds"] <= 42000 <= first["eta"]["high_seconds"]
    assert second == dict.fromkeys(KEYS) | {"file": str(empty), "metrics": {}, "ending": "unknown"}


def test_a_figure_is_shown_once_and_what_all_logs_have_first(dogwatch, tmp_path: Path) -> None:
    """A record is read as it is printed and for the usual names; a person sees each figure by one of them."""
    path = tmp_path / "megatron.log"
    path.write_text(
        " iteration      20/     500 | consumed samples:  640 | elapsed time per iteration (ms): 812.5"
        " | learning rate: 2.500E-05 | lm loss: 6.125 | loss scale: 1.0 | grad norm: 1.250 |\n"
    )
    shown = dogwatch("read", path).stdout
    assert "  metrics   loss 6.125, learning_rate 2.5e-05, grad_norm 1.25, consumed samples 640," in shown
    assert "lm loss" not in shown
    assert json.loads(dogwatch("read", "--json", path).stdout)["metrics"]["lm loss"] == 6.125


def test_a_run_that_ended_has_nothing_left(dogwatch, tmp_path: Path) -> None:
    """No estimate for what is over, well or badly."""
    good, bad = tmp_path / "good.log", tmp_path / "bad.log"
    good.write_text(training(1001))
    bad.write_text(training(100) + "Killed\n")
    endings = [json.loads(line) for line in dogwatch("read", "--json", good, bad).stdout.splitlines()]
    assert [(found["ending"], found["eta"]) for found in endings] == [("finished", None), ("failed", None)]


def test_a_bar_that_is_full_tells_no_time_left(dogwatch, tmp_path: Path) -> None:
    """A bar of each epoch, and no word on how many: nothing is left of it, and that says nothing of the run."""
    path = tmp_path / "epochs.log"
    bar = "".join(
        f"\rtrain: {n * 10}%|{'#' * n:<10}| {n}/10 [00:0{n - 1}<00:0{10 - n},  1.00it/s]" for n in range(1, 11)
    )
    path.write_text(f"{bar}\n" * 6)
    found = json.loads(dogwatch("read", "--json", path).stdout)
    assert (found["progress"]["fraction"], found["ending"], found["eta"]) == (1.0, "unknown", None)
    assert "left" not in dogwatch("read", path).stdout


def test_a_failure_is_told_with_the_line_that_shows_it(dogwatch, tmp_path: Path) -> None:
    """Lines are counted from one, by newlines alone: what a bar rewrote is one line."""
    path = tmp_path / "crash.log"
    bar = "\r 10%|#         | 1/10 [00:01<00:09, 1.00s/it]\r 20%|##        | 2/10 [00:02<00:08, 1.00s/it]\n"
    crash = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    main()\n'
    path.write_text(
        f"loading\n{bar}{crash}torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    )
    found = json.loads(dogwatch("read", "--json", path).stdout)
    assert (found["ending"], found["eta"]) == ("failed", None)
    assert set(found["diagnosis"]) == {"cause", "confidence", "evidence", "advice"}
    assert found["diagnosis"]["cause"] == "cuda_oom"
    assert found["diagnosis"]["evidence"][0]["line"] == 6
    assert found["diagnosis"]["advice"]
    text = dogwatch("read", path).stdout
    assert "(cuda_oom, " in text
    assert "line 6: torch.cuda.OutOfMemoryError" in text


def test_the_end_of_a_long_log_is_quoted_by_its_true_line(dogwatch, tmp_path: Path) -> None:
    """Only the last megabytes are kept for the diagnosis; the lines before them still count."""
    path = tmp_path / "long.log"
    path.write_text(
        "nothing to see in this line of the log, which is about as long as others are\n" * 90_000 + "Killed\n"
    )
    found = json.loads(dogwatch("read", "--json", path).stdout)
    assert found["ending"] == "failed"
    assert [quote["line"] for quote in found["diagnosis"]["evidence"]] == [90_001]


def test_a_person_gets_a_few_lines(dogwatch, log: Path) -> None:
    """The name, how far, how fast, what is left, how it ends."""
    lines = dogwatch("read", log).stdout.splitlines()
    assert lines[0] == str(log)
    text = "\n".join(lines)
    assert "300 of 1,000 steps (30.0 %), 1.00 steps/min" in text
    assert "loss 0.5" in text
    assert "at the last line of the log" in text
    assert "cut off: the log stops in mid-run" in text


def test_standard_input_is_a_dash(dogwatch) -> None:
    """A log that comes through a pipe."""
    found = json.loads(dogwatch("read", "--json", "-", input=training(11, 20)).stdout)
    assert (found["file"], found["progress"]["step"]) == ("-", 10)
    assert dogwatch("read", "-", input=training(3)).stdout.startswith("standard input\n")


def test_what_is_no_log_is_one_sentence_and_the_rest_is_read(dogwatch, log: Path, tmp_path: Path) -> None:
    """Exit code 3, the other files on stdout, nothing waits."""
    os.mkfifo(tmp_path / "fifo")
    packed = tmp_path / "old.log.gz"
    packed.write_bytes(gzip.compress(training(3).encode()))
    checkpoint = tmp_path / "model.pt"
    checkpoint.write_bytes(b"PK\x03\x04rest")
    plug = socket.socket(socket.AF_UNIX)
    plug.bind(str(tmp_path / "plug"))
    names = [
        tmp_path / "gone.log",
        tmp_path,
        tmp_path / "fifo",
        "/dev/zero",
        tmp_path / "plug",
        packed,
        checkpoint,
        log,
    ]
    done = dogwatch("read", "--json", *names, timeout=20)
    plug.close()
    assert done.returncode == 3
    assert [json.loads(line)["file"] for line in done.stdout.splitlines()] == [str(log)]
    said = done.stderr.splitlines()
    assert len(said) == 7
    for sentence, word in zip(
        said,
        ["No such file", "is a directory", "is a FIFO", "is a device", "plug", "zcat", "a zip archive"],
        strict=True,
    ):
        assert sentence.startswith("dogwatch: ")
        assert word in sentence


@pytest.mark.needs_tool("setpriv")
@pytest.mark.needs_root
def test_a_file_that_may_not_be_read_is_said_so(log: Path, tmp_path: Path) -> None:
    """Permission denied, by its name."""
    log.chmod(0)
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.getuid() and str(parent).startswith("/tmp/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--clear-groups", sys.executable, "-m", "dogwatch", "read", str(log)],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
    )
    assert done.returncode == 3
    assert f"{log} could not be read: Permission denied" in done.stderr


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_wide_characters_are_read(dogwatch, tmp_path: Path, encoding: str) -> None:
    """With a mark and without, bars and all."""
    path = tmp_path / "wide.log"
    path.write_bytes(f"{training(30)}\r 30%|███       | 31/100 [00:10<00:20, 3.50it/s]\n".encode(encoding))
    assert json.loads(dogwatch("read", "--json", path).stdout)["progress"]["step"] == 29


def test_nul_bad_bytes_and_escape_codes_do_not_matter(dogwatch, tmp_path: Path) -> None:
    """A hole in the file, broken UTF-8, a coloured counter; and nothing of it reaches the terminal raw."""
    path = tmp_path / "odd\x1b[31m.log"
    path.write_bytes(
        b"\0" * 4096
        + b"\xff\xfe\xfd\n\x1b[32mstep\x1b[0m 7/9 \x1b]0;title\x07\n{'loss': 0.1, 'x\x1b[2J': 2, 'epoch': 1}\n"
    )
    done = dogwatch("read", path)
    assert "7 of 9 steps" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_an_endless_line_and_a_huge_file_cost_no_memory(dogwatch, tmp_path: Path) -> None:
    """A gigabyte of one line (most of it a hole) and a step after it, in an address space of half of that."""
    path = tmp_path / "huge.log"
    with path.open("wb") as file:
        file.truncate(1 << 30)
        file.seek(0, os.SEEK_END)
        file.write(b"\nstep 7/9\n")
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20));"
        "from dogwatch.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run([sys.executable, "-c", script, "read", "--json", str(path)], capture_output=True, text=True)
    assert json.loads(done.stdout)["progress"]["step"] == 7, done.stderr


def test_a_reader_that_has_had_enough_is_no_error(environment, log: Path) -> None:
    """`dogwatch read … | head -1` ends quietly."""
    command = [sys.executable, "-m", "dogwatch", "read", *[str(log)] * 50]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{log}\n"
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert process.returncode == 0


def test_an_interrupt_ends_it(spawn) -> None:
    """Ctrl-C while it waits for more of standard input: no traceback, exit code 130."""
    process = spawn("read", "-", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write("step 1/2\n" * 50_000)  # more than a pipe holds: it is being read
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    said = process.stderr.read()
    assert process.wait(timeout=20) == 130
    assert said == ""


def test_standard_input_is_read_once(dogwatch) -> None:
    """Naming it twice is a mistake, not an empty log."""
    done = dogwatch("read", "-", "-", input="step 1/2\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert "once" in done.stderr


def test_a_narrow_terminal_cuts_lines_and_no_more(environment, log: Path) -> None:
    """Forty columns: every line fits, and the ending is still told."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    command = [sys.executable, "-m", "dogwatch", "read", str(log)]
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL, env=environment)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # EIO: the other end is closed
        while piece := os.read(ours, 4096):
            shown += piece
    os.close(ours)
    assert process.wait(timeout=20) == 0
    lines = shown.decode().splitlines()
    assert max(map(len, lines)) <= 40
    assert any(line.strip().startswith("ending    cut off") for line in lines)


@pytest.mark.parametrize("words", [[], ["--jsn", "x"], ["--json"]])
def test_wrong_words_are_exit_2(dogwatch, words: list[str]) -> None:
    """A file is needed, and flags are not guessed."""
    done = dogwatch("read", *words)
    assert done.returncode == 2
    assert "dogwatch read" in done.stderr


def test_a_detector_whose_last_epoch_was_saved_or_validated_has_finished(tmp_path, dogwatch):
    """Its last line of steps is some steps before the end; what comes after it says that the epoch is over."""
    begun = "2025-02-03 04:00:00,000 - mmdet - INFO - workflow: [('train', 1)], max: 8 epochs\n"
    steps = (
        "2025-02-03 05:{0:02d}:00,000 - mmdet - INFO - Epoch [{0}][950/980]\tlr: 1.000e-02, eta: 0:09:10, "
        "time: 0.301, data_time: 0.010, memory: 3900, loss: 0.6204\n"
        "2025-02-03 05:{0:02d}:20,000 - mmdet - INFO - Saving checkpoint at {0} epochs\n"
    )
    score = "2025-02-03 05:{0:02d}:50,000 - mmdet - INFO - Epoch(val) [{0}][410]\tbbox_mAP: 0.3{0}10\n"
    whole = begun + "".join(steps.format(epoch) + score.format(epoch) for epoch in range(1, 9))
    logs = {
        "validated": whole,
        "saved": whole[: whole.rindex("2025")],
        "in its last epoch": whole[: whole.rindex("2025", 0, whole.rindex("2025"))],
        "after seven": whole[: whole.rindex("2025-02-03 05:08:00")],
    }
    for name, text in logs.items():
        (tmp_path / name).write_text(text)
    told = [
        json.loads(line) for line in dogwatch("read", "--json", *(tmp_path / name for name in logs)).stdout.splitlines()
    ]
    assert [found["ending"] for found in told] == ["finished", "finished", "cut", "cut"]
    assert [found["progress"]["step"] for found in told] == [8, 8, 8, 7]


def test_a_log_with_a_hole_is_what_was_written_of_it(dogwatch, log: Path, tmp_path: Path) -> None:
    """A log that was cut while its writer went on: terabytes of nothing, then text, and no line of them is counted."""
    text = log.read_bytes()
    holed = tmp_path / "holed.log"
    with open(holed, "wb") as file:
        file.write(text[:4096])
        file.seek(1 << 40)
        file.write(b"\n" + text[4096:] + b"RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB\n")
        file.truncate(file.tell() + (1 << 40))
    document = json.loads(dogwatch("read", "--json", str(holed)).stdout)
    assert document["progress"]["step"] == 300
    assert document["diagnosis"]["evidence"][0]["line"] == 303
    (tmp_path / "nothing.log").touch()
    os.truncate(tmp_path / "nothing.log", 1 << 40)
    assert json.loads(dogwatch("read", "--json", str(tmp_path / "nothing.log")).stdout)["ending"] == "unknown"
