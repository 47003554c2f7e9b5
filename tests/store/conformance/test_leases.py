"""A lease has one holder among all processes, and is free the moment its holder is gone."""

from __future__ import annotations

import os
import signal

import pytest

from dogwatch.errors import LeaseHeld
from dogwatch.store import DAEMON, WATCH, place_lease
from dogwatch.store.interface import Store
from tests.store.conformance.conftest import Start, heard, told
from tests.store.sample import NOW

NAMES = [WATCH, DAEMON, place_lease("here"), place_lease("user@host:22/../é \n")]


@pytest.mark.parametrize("name_of_lease", NAMES)
def test_one_process_holds_a_lease(store: Store, start: Start, name_of_lease: str) -> None:
    """The second one is told who the first is; when that one lets go, the next may have it."""
    first = start("lease", name_of_lease)
    assert heard(first) == "held"
    assert heard(start("lease", name_of_lease)) == f"refused {first.pid}"
    holder = store.location.holder(name_of_lease)
    assert holder is not None
    assert (holder.who, holder.pid, holder.since) == ("a program", first.pid, NOW)
    told(first)
    first.wait()
    assert store.location.holder(name_of_lease) is None
    with store.location.lease("us", NOW, name_of_lease):
        assert heard(start("lease", name_of_lease)) == f"refused {os.getpid()}"


def test_a_holder_that_is_killed_holds_nothing(store: Store, start: Start) -> None:
    """SIGKILL frees a lease at once."""
    first = start("lease", place_lease("lab"))
    assert heard(first) == "held"
    with pytest.raises(LeaseHeld):
        store.location.lease("us", NOW, place_lease("lab"))
    first.send_signal(signal.SIGKILL)
    first.wait()
    store.location.lease("us", NOW, place_lease("lab")).close()


def test_the_leases_of_two_places_are_two_leases(store: Store, start: Start) -> None:
    """So that two watchers can share the places of a store."""
    with store.location.lease("us", NOW, place_lease("lab")):
        assert heard(start("lease", place_lease("other"))) == "held"
        assert heard(start("lease", WATCH)) == "held"
