"""Leaving: a command that watches ends in order, whoever ends it, and says which alerts were not sent."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator, Sequence
from types import FrameType

from dogwatch import assemble
from dogwatch.api import queries, unsent
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


@contextlib.contextmanager
def saying_what_goes_on(refs: Sequence[str]) -> Iterator[None]:
    """Ctrl-C inside says that the jobs go on, whether they are still watched, and how to come back to them. `refs` may
    be filled inside: whoever interrupts while the watching only begins is told the same."""
    try:
        yield
    except KeyboardInterrupt:
        if refs:
            with contextlib.suppress(StoreError), assemble.store(readonly=True) as store:
                _say_what_goes_on(store, refs)
        raise


def _say_what_goes_on(store: assemble.Store, refs: Sequence[str]) -> None:
    left = [job["ref"] for job in queries.documents(store, refs) if not queries.is_over(job)]
    if left:
        goes_on = f"{left[0]} keeps running" if len(left) == 1 else f"{len(left)} jobs keep running"
        again = f"`dogwatch watch {left[0]}`" if len(left) == 1 else "`dogwatch watch`"
        watched = queries.watching(store)["alive"] or queries.has_daemon(store)
        until = "" if watched else ", not watched; start a watcher: dogwatch daemon"
        say(f"watching stopped; {goes_on}{until}; show it again: {again}")


def say_unsent(store: assemble.Store, since: float) -> None:
    """How many alerts were not sent, where to, why, and how they will be."""
    with contextlib.suppress(StoreError):  # that the store cannot be read has been said
        for sentence in unsent.sentences(store, since):
            say(sentence)


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped(signal.Signals(number).name)
