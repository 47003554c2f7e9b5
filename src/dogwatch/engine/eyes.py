"""Eyes: for as long as a face is open, somebody watches: another process, or else this one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType

from dogwatch.clock import Clock
from dogwatch.engine.dispatch import LEAVE, STOPPED
from dogwatch.engine.watch import Watch
from dogwatch.errors import DogwatchError, LeaseHeld
from dogwatch.store import lease
from dogwatch.store.database import Store, open_store

JOIN = 5.0  # seconds for a look that is under way


class Eyes:
    """Takes the lease if it is free and watches in a thread of its own; otherwise leaves the watching to
    the holder, and takes over in `mind()` when the holder has died."""

    def __init__(self, home: str, who: str, clock: Clock, make: Callable[[Store], Watch]) -> None:
        self._home, self._who, self._clock, self._make = home, who, clock, make
        self._lease: lease.Lease | None = None
        self._thread: threading.Thread | None = None
        self._watch: Watch | None = None
        self._ready = threading.Event()
        self._failure: DogwatchError | None = None

    @property
    def ours(self) -> bool:
        """Whether this process is the one that watches."""
        return self._lease is not None

    def __enter__(self) -> Eyes:
        self.mind()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        patience = STOPPED if interrupted else LEAVE
        if self._watch is not None:
            self._watch.stop(patience)
        if self._thread is not None:
            self._thread.join(patience + (0.5 if interrupted else JOIN))
        # A look that outlasts our patience still commits: then the lease goes only with the process.
        if self._lease is not None and not (self._thread is not None and self._thread.is_alive()):
            self._lease.close()

    def mind(self) -> None:
        """Take over if nobody watches; raise what ended our own watching, if anything did."""
        if self._failure is not None:
            raise self._failure
        if self._lease is not None:
            return
        try:
            self._lease = lease.take(self._home, self._who, self._clock.now())
        except LeaseHeld:
            return
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()
        self._ready.wait(JOIN)

    def _run(self) -> None:
        """The thread's whole life; an SQLite connection belongs to the thread that opened it."""
        try:
            with open_store(self._home) as store:
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
