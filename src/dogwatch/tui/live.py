"""show(): the live screen, from the first poll until the job is done, Ctrl-C, or nobody can see it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import TextIO

from dogwatch.cli.out import folded
from dogwatch.clock import Clock
from dogwatch.tui import phrases
from dogwatch.tui.screen import screen
from dogwatch.tui.summary import summary
from dogwatch.tui.terminal import Terminal, TerminalGone, can_show
from dogwatch.tui.view import View

__all__ = ["can_show", "show"]

FASTEST = 0.25
AGES = 1.0  # ages on the screen count seconds


def show(
    fetch: Callable[[], View],
    done: Callable[[View], bool],
    clock: Clock,
    refresh: float = 1.0,
    stream: TextIO | None = None,
    ascii_only: bool = False,
) -> bool:
    """Draw what `fetch` returns, every `refresh` seconds, until `done`. Whatever ends it, the terminal is
    whole afterwards and the last frame stays in the scrollback; True when done, False when the terminal
    went away, KeyboardInterrupt for Ctrl-C."""
    terminal = Terminal(stream, ascii_only)
    picture = _Picture(terminal, clock)
    try:
        try:
            with terminal.open():
                finished = _loop(picture, fetch, done, clock, max(FASTEST, refresh))
        except KeyboardInterrupt:
            picture.leave(closing=False)
            raise
        picture.leave(closing=finished)
    except TerminalGone:
        return False
    return finished


class _Picture:
    """What is on the screen: redrawn when the view or the size differs, or the ages have moved on."""

    def __init__(self, terminal: Terminal, clock: Clock) -> None:
        self.terminal, self._clock = terminal, clock
        self._view: View | None = None
        self._size = (0, 0)
        self._drawn_at = float("-inf")

    def show(self, view: View) -> None:
        size, mono = self.terminal.size(), self._clock.mono()
        if view == self._view and size == self._size and 0 <= mono - self._drawn_at < AGES:
            return
        self.terminal.draw(screen(view, *size, self._clock.now()), size)
        self._view, self._size, self._drawn_at = view, size, mono

    def forget(self) -> None:
        self._size = (0, 0)

    def leave(self, closing: bool) -> None:
        """The last frame for the scrollback, and below it the summaries of what has ended."""
        if self._view is None:
            return
        now = self._clock.now()
        columns, lines = self.terminal.size()
        ended = [job for job in self._view.jobs if phrases.is_ended(job)] if closing else []
        words = [part for job in ended for line in ["", *summary(job, now)] for part in folded(line, columns)]
        self.terminal.leave(screen(self._view, columns, max(10, lines - 1), now, fill=False), words)


def _loop(
    picture: _Picture, fetch: Callable[[], View], done: Callable[[View], bool], clock: Clock, refresh: float
) -> bool:
    """True when done; False when the terminal hung up or a signal asks to stop."""
    terminal = picture.terminal
    view = fetch()
    fetched = clock.mono()
    while True:
        picture.show(view)
        if done(view):
            return True
        time.sleep(FASTEST)
        match terminal.caught:
            case None:
                pass
            case signal.SIGTSTP:
                terminal.pause()
                picture.forget()
            case _:
                return False
        if not 0 <= clock.mono() - fetched < refresh - 0.01:
            view = fetch()
            fetched = clock.mono()
