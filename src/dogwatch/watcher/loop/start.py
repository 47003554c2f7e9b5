"""Start: a watcher begins on a store that is intact, or on one that was just made intact and says so."""

from __future__ import annotations

from collections.abc import Callable

from dogwatch.clock import Clock
from dogwatch.errors import StoreDamaged, StoreGone
from dogwatch.store.interface import Location, Store


def intact_store(location: Location, clock: Clock, narrate: Callable[[str], None]) -> Store:
    """The store, checked; if it is damaged or gone, set aside and restored. The caller holds the lease."""
    try:
        store = location.open()
        problems = store.check()
        if not problems:
            return store
        store.close()
        why = problems[0]
    except (StoreDamaged, StoreGone) as error:
        why = str(error)
    narrate(f"the store is damaged ({why}); moving it away and restoring what is intact")
    done = location.repair(clock.now(), clock.mono())
    source = done.restored_from or "what could still be read"
    narrate(f"restored from {source}; {done.lost}; the damaged files are in {done.quarantined}")
    return location.open()
