"""Record: write down what a tick concluded, also on a full disk, and say once when that cannot be done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dogwatch.errors import StoreDamaged, StoreError, StoreFull, StoreGone, StoreReadOnly
from dogwatch.model import Finding, Level, Notification
from dogwatch.store.interface import Store
from dogwatch.store.rows import tick as rows
from dogwatch.watcher.tick import announcements
from dogwatch.watcher.tick.judge import Identity, identity

RECORD = "record what was polled"
ROOM_AGAIN = "resolved: there is room on the disk of the store again"


class Record:
    """The way into the store. A tick that is not taken is thrown away by the caller, because the next one
    concludes the same; what no later tick would find again is owed, and goes with the next that is taken."""

    def __init__(self, store: Store, narrate: Callable[[str], None]) -> None:
        self._store, self._narrate = store, narrate
        self._owed: tuple[rows.Event, ...] = ()
        self._full: Finding | None = None
        self._troubles: dict[str, str] = {}
        self.refusal = ""  # why the store takes no writes: there is no room, or it is read-only
        self.spoke = False  # whether the last commit opened or resolved a finding about the store itself

    def owe(self, event: rows.Event) -> None:
        """Something about the watching itself, to be written with the next tick."""
        self._owed += (event,)

    @property
    def owes(self) -> bool:
        """Whether something waits to be written with the next tick."""
        return bool(self._owed) or self._full is not None

    def attempt(self, what: str, act: Callable[[], object]) -> bool:
        """Do what can wait for a later step if the store does not take it now; whether it did."""
        try:
            act()
        except (StoreGone, StoreDamaged):
            raise
        except StoreError as error:
            self._trouble(what, str(error))
            return False
        self._no_trouble(what)
        return True

    def commit(self, tick: rows.Tick, open_now: Mapping[Identity, Finding]) -> bool:
        """Write the tick and what is owed in one transaction; whether that was done."""
        self.spoke = False
        try:
            rows.commit(self._store, self._with_owed(tick, open_now))
        except StoreFull as full:
            if not self._commit_from_reserve(tick, open_now, full):
                self.refusal = str(full)
                self._trouble(RECORD, str(full))
                return False
        except (StoreGone, StoreDamaged):
            raise
        except StoreError as error:
            self.refusal = str(error) if isinstance(error, StoreReadOnly) else self.refusal
            self._trouble(RECORD, str(error))
            return False
        self._owed, self._full, self.refusal = (), None, ""
        self._no_trouble(RECORD)
        return True

    def _commit_from_reserve(self, tick: rows.Tick, open_now: Mapping[Identity, Finding], full: StoreFull) -> bool:
        """The disk is full: give up the reserve so that at least this, and that it is full, is kept."""
        if self._full is None:
            self._full = Finding("watch", "store_full", Level.CRITICAL, str(full))
        if not self._store.use_reserve():
            return False
        try:
            rows.commit(self._store, self._with_owed(tick, open_now))
        except StoreFull:
            return False
        return True

    def _with_owed(self, tick: rows.Tick, open_now: Mapping[Identity, Finding]) -> rows.Tick:
        """The tick together with what is to be said of the watching itself."""
        whole = replace(tick, events=(*self._owed, *tick.events))
        held = open_now.get(("watch", "store_full", ""))
        if self._full is not None and held is None:
            self.spoke = True
            return _opening(whole, self._full)
        if self._full is None and self._laid() and held is not None:
            self.spoke = True
            return _resolving(whole, held)
        return whole

    def _laid(self) -> bool:
        """Whether the reserve is set aside; on a disk that has room again it is laid again."""
        try:
            self._store.set_reserve()
        except StoreError:
            return False
        return True

    def _trouble(self, what: str, why: str) -> None:
        """Narrate a trouble with the store when it begins, not at every step nor for all it prevents."""
        if what not in self._troubles and why not in self._troubles.values():
            self._narrate(f"cannot {what}: {why.rstrip('.')}; still polling, will try again")
        self._troubles[what] = why

    def _no_trouble(self, what: str) -> None:
        if self._troubles.pop(what, None) is not None and what == RECORD:
            self._narrate("recording again; nothing that was polled meanwhile is lost")


def _opening(tick: rows.Tick, finding: Finding) -> rows.Tick:
    event = rows.Event("store.full", finding.text, level="critical")
    said = announcements.notifications((), (finding,), (), tick.at)
    return _added(tick, event, said, opened=(*tick.opened, finding))


def _resolving(tick: rows.Tick, finding: Finding) -> rows.Tick:
    event = rows.Event("finding.resolved", ROOM_AGAIN, body={"rule": finding.rule, "what": finding.what})
    said = announcements.notifications((), (), (finding,), tick.at)
    return _added(tick, event, said, resolved=(*tick.resolved, identity(finding)))


def _added(tick: rows.Tick, event: rows.Event, said: list[Notification], **more: Any) -> rows.Tick:
    return replace(tick, events=(*tick.events, event), notifications=(*tick.notifications, *said), **more)
