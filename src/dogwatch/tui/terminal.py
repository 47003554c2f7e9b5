"""Terminal: the screen of one terminal, taken while it is shown and given back however the showing ends.

Rich draws; this file knows what a terminal does to the process that draws on it: it changes its size,
hangs up, vanishes, and asks to stop. It owns the signals only while it is open, and only those that nobody
else had claimed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import TextIO

from rich.console import Console, RenderableType
from rich.live import Live

_GONE = (errno.EIO, errno.EPIPE, errno.EBADF, errno.ENXIO)
_CAUGHT = (signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT, signal.SIGTSTP)
_WRAP_OFF, _LEFT, _RESTORED = "\x1b[?7l", "\x1b[?1049l", "\x1b[?7h\x1b[?25h"


class TerminalGone(Exception):
    """Nobody can see what is drawn any more; an everyday end, not an error."""


class _Console(Console):
    """Rich's own answer to a broken pipe is to leave the program with code 1; ours is to stop drawing."""

    ascii_only = False

    @property
    def encoding(self) -> str:
        return "ascii" if self.ascii_only else super().encoding

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def can_show(stream: TextIO | None = None) -> bool:
    """Whether a live screen makes sense here: a terminal that understands cursor movement."""
    out = sys.stdout if stream is None else stream
    try:
        return out.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
    except ValueError:  # closed
        return False


class Terminal:
    """One terminal. Between `open()` and its end the alternate screen is ours; `draw` fills it."""

    def __init__(self, stream: TextIO | None = None, ascii_only: bool = False) -> None:
        self._stream = sys.stdout if stream is None else stream
        self._console = _Console(file=self._stream, highlight=False, markup=False, emoji=False)
        self._console.ascii_only = ascii_only
        self._live = self._fresh()
        self._taken = False
        self.caught: int | None = None

    def _fresh(self) -> Live:
        return Live(
            console=self._console,
            screen=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def size(self) -> tuple[int, int]:
        """Columns and lines now; asked of the terminal itself, because COLUMNS does not follow a resize."""
        try:
            columns, lines = os.get_terminal_size(self._stream.fileno())
        except OSError as error:
            if error.errno in _GONE:
                raise TerminalGone(str(error)) from error
            columns, lines = 0, 0
        return columns or 80, lines or 24

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Take the screen; give it back, cursor and all, on any way out. A signal that would have ended
        the program ends it then, after the terminal is whole again."""
        with self._signals():
            try:
                self._take()
                yield
            finally:
                self._give_back()
        if self.caught in (signal.SIGTERM, signal.SIGQUIT):
            signal.raise_signal(self.caught)

    def draw(self, frame: RenderableType, size: tuple[int, int]) -> None:
        """Fill the screen with a frame of this size."""
        with self._gone_is_a_value():
            self._console.size = size
            self._live.update(frame, refresh=True)

    def leave(self, frame: RenderableType, lines: list[str]) -> None:
        """Print a last frame and plain lines where they stay: in the ordinary buffer."""
        with self._gone_is_a_value():
            self._console.size = self.size()
            self._console.print(frame)
            for line in lines:
                self._console.print(line, soft_wrap=True)

    def pause(self) -> None:
        """Give the screen back, stop as Ctrl-Z asked, and take it again when continued."""
        self.caught = None
        self._give_back()
        before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, before)
        self._live = self._fresh()
        self._take()

    def _take(self) -> None:
        with self._gone_is_a_value():
            self._console.size = self.size()
            self._live.start()
            self._taken = True
            # A character that the terminal draws wider than we reckoned must not push the screen up.
            self._write(_WRAP_OFF)

    def _give_back(self) -> None:
        try:
            with self._gone_is_a_value():
                try:
                    if self._taken:  # a Live that failed to start cannot be stopped
                        self._live.stop()
                finally:
                    self._write(_RESTORED if self._taken else _LEFT + _RESTORED)
                    self._taken = False
        except TerminalGone:
            self._silence()

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    @contextlib.contextmanager
    def _gone_is_a_value(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in _GONE:
                raise
            self._silence()
            raise TerminalGone(str(error)) from error

    def _silence(self) -> None:
        """What is still buffered for a dead terminal goes nowhere, so that exiting does not stumble on it."""
        self._console.quiet = True
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """While open, note the signals whose default would leave the terminal in pieces."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        ours = [number for number in _CAUGHT if signal.getsignal(number) is signal.SIG_DFL]
        for number in ours:
            signal.signal(number, self._note)
        try:
            yield
        finally:
            for number in ours:
                signal.signal(number, signal.SIG_DFL)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.caught = number
