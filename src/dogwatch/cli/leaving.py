"""Leaving: a command that watches ends in order, whoever ends it, and says which alerts were not sent."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

from dogwatch import assemble
from dogwatch.api import unsent
from dogwatch.cli.out import say
from dogwatch.clock import Clock
from dogwatch.errors import StoreError

STOPS = (signal.SIGTERM, signal.SIGHUP)


class Stopped(KeyboardInterrupt):
    """A signal asks this command to leave, as Ctrl-C does."""


@contextlib.contextmanager
def leaving(store: assemble.Store, clock: Clock) -> Iterator[None]:
    """Let SIGTERM and SIGHUP end what is inside as Ctrl-C does; afterwards say what was not sent."""
    began = clock.now()
    ours = [number for number in STOPS if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
        say_unsent(store, began)


def say_unsent(store: assemble.Store, since: float) -> None:
    """How many alerts were not sent, where to, why, and how they will be."""
    with contextlib.suppress(StoreError):  # that the store cannot be read has been said
        for sentence in unsent.sentences(store, since):
            say(sentence)


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped
