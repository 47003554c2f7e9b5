"""A terminal for tests: a real pty with a program on it, and pyte to say what a person would see."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pyte

from tests.support import wait_until

ROOT = Path(__file__).parent.parent.parent


class Emulator:
    """One terminal with the stage on it. `raw` is every byte it was sent."""

    def __init__(self, folder: Path, view: str, columns: int, lines: int, *more: str, **environment: str) -> None:
        self.until, self.result = folder / "until", folder / "result"
        self.raw = bytearray()
        self._lock = threading.Lock()
        self._screen = pyte.HistoryScreen(columns, lines, history=1000)
        self._stream = pyte.ByteStream(self._screen)
        self._master, slave = pty.openpty()
        self._size(columns, lines)
        kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.tui.stage", view, str(self.until), str(self.result), *more],
            cwd=ROOT,
            env={**kept, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **environment},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                got = os.read(self._master, 65536)
            except OSError:
                return
            if not got:
                return
            with self._lock:
                self.raw += got
                self._stream.feed(got)

    def _size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, columns: int, lines: int) -> None:
        """As a window manager does: the kernel tells the program with SIGWINCH."""
        with self._lock:
            self._screen.resize(lines, columns)
            self._screen.history.top.clear()
            self._size(columns, lines)

    def display(self) -> list[str]:
        with self._lock:
            return [line.rstrip() for line in self._screen.display]

    def scrolled(self) -> int:
        with self._lock:
            return len(self._screen.history.top)

    def cursor_hidden(self) -> bool:
        with self._lock:
            return bool(self._screen.cursor.hidden)

    def wait_for(self, text: str) -> list[str]:
        wait_until(lambda: any(text in line for line in self.display()))
        return self.display()

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def hang_up(self) -> None:
        os.close(self._master)
        self._master = -1

    def finish(self) -> str:
        """Let the job end, and say how the showing did."""
        self.until.touch()
        return self.ending()

    def ending(self) -> str:
        wait_until(lambda: self.process.poll() is not None)
        self._reader.join(5)
        return self.result.read_text() if self.result.exists() else f"exit {self.process.returncode}"

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(20)
        if self._master >= 0:
            self._reader.join(5)
            os.close(self._master)
