"""The waiters of this home: listing oneself as one, who else waits, and ending them."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from dogwatch.api import queries
from dogwatch.clock import stamp
from dogwatch.errors import NoSuchJob, StoreError
from dogwatch.store import waiters
from dogwatch.store.interface import Location, Store
from dogwatch.store.waiters import Listed, Waiter
from dogwatch.text import plain

if TYPE_CHECKING:
    from dogwatch.api.conditions import Condition
    from dogwatch.wire.documents.waiters import WaiterDocument


class Registered:
    """This waiter in the list; `id` is None where the home could not take it."""

    def __init__(self, registration: waiters.Registration | None, waiter: Waiter, others: Sequence[Waiter]) -> None:
        self._registration, self.replaced = registration, others
        self.id = None if registration is None else waiter.id

    def asked_to_end(self) -> str | None:
        """Why it is to end, in words; None while nobody wants that."""
        return None if self._registration is None else self._registration.asked_to_end()


@contextlib.contextmanager
def registered(
    store: Store,
    jobs: Sequence[str],
    places: Sequence[str],
    wanted: Condition,
    consumer: str | None,
    since: float,
    until: float,
    complain: Callable[[str], None],
) -> Iterator[Registered]:
    """List this process as a waiter while the block runs. Where the home takes no files, a wait that needs no listing
    goes on without."""
    marker = wanted.about if wanted.kind == "marker" else None
    me = Waiter(
        id=f"w-{secrets.token_hex(3)}",
        refs=tuple(jobs),
        condition=wanted.text,
        consumer=consumer,
        pid=os.getpid(),
        user=os.environ.get("USER") or os.environ.get("LOGNAME") or str(os.geteuid()),
        since=since,
        until=until,
        places=tuple(places),
        marker=marker,
    )
    who = f"waiter {me.id} (pid {me.pid}) waits for {consumer} now" if consumer else ""
    registration: waiters.Registration | None = None
    others: list[Waiter] = []
    try:
        registration, others = waiters.register(store.location, me, who)
    except StoreError as error:
        if consumer is not None or marker is not None:
            raise
        complain(f"this waiter is not in `dogwatch waiters`: {error}")
    if marker is not None:
        store.location.wake()
    try:
        yield Registered(registration, me, others)
    finally:
        if registration is not None:
            registration.close()


def listing(store: Store, ref: str | None = None) -> list[WaiterDocument]:
    """Every waiter, oldest first, or those for one job."""
    names = queries.names(store)
    found = waiters.listed(store.location)
    return [_document(one, names) for one in found if ref is None or ref in one.waiter.refs]


def _document(one: Listed, names: dict[str, str]) -> WaiterDocument:
    waiter = one.waiter
    return {
        "id": waiter.id,
        "consumer": waiter.consumer,
        "user": waiter.user,
        "pid": waiter.pid,
        "condition": waiter.condition,
        "refs": list(waiter.refs),
        "names": [names.get(ref, ref) for ref in waiter.refs],
        "since": stamp(waiter.since) or "",
        "until": stamp(waiter.until) or "",
        "alive": one.alive,
        "ending": one.ending,
    }


def end(location: Location, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """End the waiters of these ids: the ids of those that were gone already and whose record is removed, and of those
    that live and are asked to end."""
    known = {one.waiter.id: one for one in waiters.listed(location)}
    for word in words:
        if word not in known:
            some = ", ".join(known) or "there is none"
            raise NoSuchJob(f"no waiter {plain(word, 40)!r}; `dogwatch waiters` lists them ({some})")
    gone = waiters.remove_stale(location, lambda waiter: waiter.id in words)
    living = [word for word in dict.fromkeys(words) if known[word].alive]
    for word in living:
        waiters.end(location, known[word].waiter, "ended by `dogwatch waiters rm`")
    return [waiter.id for waiter in gone], living


def remove_stale(location: Location) -> list[str]:
    """Remove what killed waiters have left; their ids."""
    return [waiter.id for waiter in waiters.remove_stale(location)]


def left(location: Location, ids: Sequence[str]) -> list[str]:
    """Which of these are still there."""
    return [one.waiter.id for one in waiters.listed(location) if one.waiter.id in ids]
