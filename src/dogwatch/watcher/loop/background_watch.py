"""Background watch: while an interface is open, a watcher runs: another process, or else a thread of this one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType

from dogwatch.clock import Clock
from dogwatch.errors import DogwatchError, LeaseHeld
from dogwatch.store.interface import Lease, Location, Store
from dogwatch.watcher.alerts.dispatch import LEAVE, STOPPED
from dogwatch.watcher.loop.watcher import Watcher

JOIN = 5.0  # seconds for a poll that is under way


class BackgroundWatch:
    """Takes the lease if it is free and watches in a thread of its own; otherwise leaves the watching to
    the holder, and takes over in `mind()` when the holder has died."""

    def __init__(self, location: Location, who: str, clock: Clock, make: Callable[[Store], Watcher]) -> None:
        self._location, self._who, self._clock, self._make = location, who, clock, make
        self._lease: Lease | None = None
        self._thread: threading.Thread | None = None
        self._watch: Watcher | None = None
        self._ready = threading.Event()
        self._failure: DogwatchError | None = None

    @property
    def ours(self) -> bool:
        """Whether this process is the one that watches."""
        return self._lease is not None

    def __enter__(self) -> BackgroundWatch:
        self.mind()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        timeout = STOPPED if interrupted else LEAVE
        if self._watch is not None:
            self._watch.stop(timeout)
        if self._thread is not None:
            self._thread.join(timeout + (0.5 if interrupted else JOIN))
        # A poll that takes longer than this timeout still commits; the lease then ends with the process.
        if self._lease is not None and not (self._thread is not None and self._thread.is_alive()):
            self._lease.close()

    def mind(self) -> None:
        """Take over if nobody watches; raise what ended our own watching, if anything did."""
        if self._failure is not None:
            raise self._failure
        if self._lease is not None:
            return
        try:
            self._lease = self._location.lease(self._who, self._clock.now())
        except LeaseHeld:
            return
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()
        self._ready.wait(JOIN)

    def _run(self) -> None:
        """The thread's whole life; an SQLite connection belongs to the thread that opened it."""
        try:
            with self._location.open() as store:
                self._watch = self._make(store)
                self._watch.begin()
                self._ready.set()
                try:
                    self._watch.run()
                finally:
                    self._watch.end()
        except DogwatchError as error:
            self._failure = error
        finally:
            self._ready.set()
