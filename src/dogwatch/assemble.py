"""Assemble: put the parts together for a face. Nothing here decides anything; everything is imported
where it is used, because `dogwatch ls` pays for every import."""

from __future__ import annotations

import contextlib
import os
import sys

from dogwatch.clock import Clock
from dogwatch.store.database import Store as Store
from dogwatch.store.database import open_store
from dogwatch.store.home import locate, prepare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dogwatch.channels.interface import Channel
    from dogwatch.engine.eyes import Eyes
    from dogwatch.engine.watch import Watch
    from dogwatch.model import Expectation
    from dogwatch.reach.here import Here


def home() -> str:
    """The state directory, made or refused."""
    path = locate(os.environ)
    prepare(path)
    return path


def store(*, readonly: bool = False) -> Store:
    """The store of this user, opened; read-only for faces that only look."""
    return open_store(home(), readonly=readonly)


def here(clock: Clock) -> Here:
    """The reach to this machine."""
    from dogwatch.reach.here import Here

    return Here("here", clock)


def watch(
    opened: Store,
    clock: Clock,
    *,
    who: str,
    channels: Sequence[Channel] = (),
    narrate: Callable[[str], None] = lambda text: None,
    every: float | None = None,
) -> Watch:
    """A watcher over every place of the store. The caller holds the lease."""
    from dogwatch.engine.post import Post
    from dogwatch.engine.watch import Watch
    from dogwatch.model import Place
    from dogwatch.sources.process import source

    posts = [Post(Place("here"), here(clock), {source.kind: source}, clock, every)]
    return Watch(opened, posts, clock, who=who, channels=channels, narrate=narrate)


def eyes(
    opened_home: str, clock: Clock, *, who: str, channels: Sequence[Channel] = (), every: float | None = None
) -> Eyes:
    """Somebody watching for as long as the face that asked is open: this process only if nobody else does."""
    from dogwatch.engine.eyes import Eyes

    return Eyes(opened_home, who, clock, lambda own: watch(own, clock, who=who, channels=channels, every=every))


@contextlib.contextmanager
def held(
    clock: Clock,
    *,
    who: str,
    channels: Sequence[Channel] = (),
    narrate: Callable[[str], None] = lambda text: None,
    every: float | None = None,
) -> Iterator[Watch]:
    """A watcher with the lease, its store repaired first if it is damaged; LeaseHeld says who has it."""
    from dogwatch.engine.start import sound_store
    from dogwatch.store import lease

    path = home()
    with lease.take(path, who, clock.now()), sound_store(path, clock, narrate) as opened:
        watcher = watch(opened, clock, who=who, channels=channels, narrate=narrate, every=every)
        watcher.begin()
        try:
            yield watcher
        finally:
            watcher.end()


def look_once(opened: Store, clock: Clock) -> list[str]:
    """One tick of every place that may be looked at now; the names of those that were."""
    from dogwatch.errors import LeaseHeld
    from dogwatch.store import lease

    try:
        held_lease = lease.take(opened.home, "patrol", clock.now())
    except LeaseHeld:
        return []
    with held_lease:
        watcher = watch(opened, clock, who="patrol")
        try:
            return watcher.look_once()
        finally:
            watcher.close()


def terminal(shown: bool = False) -> Channel:
    """The channel that says notices on stderr, or nowhere when a live screen shows them anyway."""
    from dogwatch.channels.terminal import Terminal

    return Terminal(None if shown else sys.stderr)


def start_run(
    opened: Store,
    clock: Clock,
    argv: Sequence[str],
    *,
    name: str,
    description: str = "",
    workers: int,
    gpus: Sequence[str] | None,
    env: Sequence[str],
    cwd: str | None,
    expect: Expectation,
) -> str:
    """Write the intent, register the job, start the keeper: in this order, so that no worker ever runs
    unregistered and nothing is registered that was refused."""
    from dogwatch.desk import tell
    from dogwatch.errors import DogwatchError
    from dogwatch.hands import launch
    from dogwatch.text import named

    named(name, "--name")
    run = launch.prepare(opened.home, name, argv, workers=workers, gpus=gpus, env=env, cwd=cwd, now=clock.now())
    try:
        ref = tell.add_run(
            opened,
            clock,
            run_id=run.id,
            directory=run.directory,
            name=name,
            description=description,
            logs=run.logs,
            gpus=gpus,
            expect=expect,
        )
    except DogwatchError:
        with contextlib.suppress(OSError):  # the disk that took no registration may not let go either
            launch.discard(run)
        raise
    try:
        launch.start(run)
    except DogwatchError:
        # A keeper that reported too late keeps its run, and the job stays: its records tell the truth.
        with contextlib.suppress(launch.AlreadyStarted, OSError), launch.discarding(run):
            tell.forget(opened, clock, ref)
        raise
    return ref
