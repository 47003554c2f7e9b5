"""The live screen on real terminals: what a person sees, and that the terminal is whole afterwards."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest

from tests.support import wait_until
from tests.tui.emulator import ROOT, Emulator

CONTROL = re.compile(rb"\x1b\[[?]?[0-9;]*[mHhlJK]")
FOOT = "Ctrl-C stops watching, not the job"


@pytest.fixture
def terminal(tmp_path):
    """terminal("32", 80, 24) starts the stage on a pty of that size; it is ended with the test."""
    opened = []

    def start(view, columns, lines, *more, **environment):
        opened.append(Emulator(tmp_path, view, columns, lines, *more, **environment))
        return opened[-1]

    yield start
    for emulator in opened:
        emulator.close()


def test_thirty_two_workers_fit_on_80x24_without_scrolling(terminal):
    """Every key fact is on the one screen, the last line is the footer, and nothing ever scrolled."""
    emulator = terminal("32", 80, 24)
    shown = emulator.wait_for(FOOT)
    assert len(shown) == 24
    assert shown[0].startswith("train-7b-sft  here/process:7f3a91")
    assert "running for 2h 34m, since" in shown[0]
    assert "62.3 %  1,234,567 of 1,980,000 images" in shown[1]
    assert shown[2].startswith("done in 12m (90 % range 10-15m), about ")
    assert "90 % range" in shown[2]
    assert shown[2].endswith("1,204 images/s now, 1,180 average")
    assert shown[3].startswith("!! worker 7 of 32 is gone")
    assert shown[23].startswith("confirmed ")
    assert "by the process table" in shown[23]
    text = "\n".join(shown)
    for fact in ("1 SIGKILL", "1 stopped", "1 slow", "28 running", "1 done"):
        assert fact in text
    for fact in (
        "Outputs",
        "1.2 GB",
        "Checkpoints",
        "14, last",
        "next about",
        "Disk",
        "8.1 GB free",
        "Events",
    ):
        assert fact in text
    indexes = {int(found) for found in re.findall(r"(?:^| │ ) ?(\d+) [●○✗■▼✓]", text, re.MULTILINE)}
    assert indexes == set(range(32))
    assert emulator.scrolled() == 0
    assert emulator.cursor_hidden()


@pytest.mark.parametrize(("columns", "lines"), [(60, 15), (200, 60), (40, 10)])
def test_a_resize_redraws_the_whole_screen(terminal, columns, lines):
    """After SIGWINCH the frame fits the new size exactly: first line on top, evidence at the bottom."""
    emulator = terminal("32", 80, 24)
    emulator.wait_for(FOOT)
    emulator.resize(columns, lines)
    wait_until(lambda: emulator.display()[-1].startswith("confirmed ") and "train-7b-sft" in emulator.display()[0])
    shown = emulator.display()
    assert len(shown) == lines
    assert sum("train-7b-sft  " in line or line.startswith("train-7b-sft ") for line in shown) == 1
    assert "62.3 %" in shown[1]
    assert any("worker 7 of 32 is gone" in line for line in shown)
    assert sum("confirmed " in line for line in shown) == 1


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (40, 10), (140, 50)])
def test_hostile_text_never_reaches_the_terminal_raw(terminal, columns, lines):
    """Of all bytes sent, only our own colours and cursor moves are controls; nothing scrolled or rang."""
    emulator = terminal("hostile", columns, lines)
    wait_until(lambda: b"evil" in emulator.raw and "confirmed" in "".join(emulator.display()[-2:]))
    assert emulator.scrolled() == 0
    assert emulator.finish() == "True"
    sent = bytes(emulator.raw)
    left = CONTROL.sub(b"", sent).replace(b"\r\n", b"")
    assert not re.search(rb"[\x00-\x1f\x7f]", left)
    text = left.decode("utf-8")
    assert not re.search("[\x80-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", text)
    assert b"]52;" not in sent
    assert b"\x1b[2J" not in sent.replace(b"\x1b[2J\x1b[H", b"")


def test_no_color_leaves_words_and_marks(terminal):
    """With NO_COLOR no colour is sent, and every condition can still be read."""
    emulator = terminal("32", 80, 24, NO_COLOR="1")
    emulator.wait_for(FOOT)
    codes = re.findall(rb"\x1b\[([0-9;]*)m", bytes(emulator.raw))
    numbers = {int(part) for code in codes for part in code.split(b";") if part}
    assert not {n for n in numbers if 30 <= n <= 49 or 90 <= n <= 107}
    assert "✗ 1 SIGKILL" in "\n".join(emulator.display())


@pytest.mark.parametrize(("more", "encoding"), [((), "ascii"), (("ascii",), "utf-8")])
def test_a_terminal_without_unicode_gets_ascii(terminal, more, encoding):
    """By the stream's encoding or by request, every byte is ASCII and the marks are letters."""
    emulator = terminal("32", 80, 24, *more, PYTHONIOENCODING=encoding)
    text = "\n".join(emulator.wait_for(FOOT))
    assert "X 1 SIGKILL" in text
    assert "####" in text
    assert bytes(emulator.raw).isascii()


def test_hostile_wide_text_is_ascii_too_where_it_must_be(terminal):
    """CJK and emoji on an ASCII terminal become question marks, not a crash."""
    emulator = terminal("hostile", 80, 24, PYTHONIOENCODING="ascii")
    wait_until(lambda: "confirmed" in "".join(emulator.display()[-2:]))
    assert emulator.finish() == "True"
    assert bytes(emulator.raw).isascii()


def test_ctrl_c_gives_the_terminal_back_and_leaves_the_last_frame(terminal):
    """Ctrl-C is a KeyboardInterrupt; cursor, wrapping and ordinary buffer are restored before it."""
    emulator = terminal("32", 80, 24)
    emulator.wait_for(FOOT)
    emulator.type(b"\x03")
    assert emulator.ending() == "KeyboardInterrupt"
    assert not emulator.cursor_hidden()
    after = bytes(emulator.raw).rpartition(b"\x1b[?1049l")[2]
    assert b"\x1b[?7h" in after
    assert b"train-7b-sft" in after
    assert FOOT.encode() not in after


def test_when_done_the_frame_and_the_summary_stay_in_the_scrollback(terminal):
    """After the end the ordinary buffer shows the last frame and below it how the job ended."""
    emulator = terminal("4", 80, 24)
    emulator.wait_for(FOOT)
    assert emulator.finish() == "True"
    after = bytes(emulator.raw).rpartition(b"\x1b[?1049l")[2].decode()
    assert "succeeded after 2h 33m" in after
    assert "all 4 ended with exit code 0" in after
    assert not emulator.cursor_hidden()


def test_a_terminal_that_hangs_up_ends_it_quietly(terminal):
    """SIGHUP and EIO are an end like any other: no traceback, exit code 0."""
    emulator = terminal("32", 80, 24)
    emulator.wait_for(FOOT)
    emulator.hang_up()
    assert emulator.ending() == "False"
    assert emulator.process.returncode == 0


def test_a_terminal_that_is_dead_from_the_start_ends_it_quietly(tmp_path):
    """Not even the first byte can be written: False, no traceback, no complaint on the way out."""
    reading, writing = os.pipe()
    os.close(reading)
    result = tmp_path / "result"
    done = subprocess.run(
        [sys.executable, "-m", "tests.tui.stage", "4", str(tmp_path / "until"), str(result)],
        cwd=ROOT,
        env={**os.environ, "FORCE_COLOR": "1", "TERM": "xterm"},
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    os.close(writing)
    assert (done.returncode, done.stderr, result.read_text()) == (0, b"", "False")


def test_sigterm_restores_the_terminal_and_still_terminates(terminal):
    """The signal does what it would have done, after the cursor is back."""
    emulator = terminal("32", 80, 24)
    emulator.wait_for(FOOT)
    os.kill(emulator.process.pid, signal.SIGTERM)
    assert emulator.ending() == f"exit {-signal.SIGTERM}"
    assert not emulator.cursor_hidden()
    assert b"\x1b[?1049l" in emulator.raw


def test_several_jobs_are_a_table(terminal):
    """One line per job under one heading, then findings and events."""
    emulator = terminal("several", 80, 24)
    shown = emulator.wait_for(FOOT)
    assert shown[0].split() == ["job", "state", "done", "left", "speed", "workers"]
    assert [line.split()[0] for line in shown[1:4]] == ["job-0", "job-1", "job-2"]
    assert all("running" in line and "62 %" in line and "4 of 4" in line for line in shown[1:4])
