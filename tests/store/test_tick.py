"""A tick is written whole: state, event, finding and notice, or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from dogwatch.errors import StoreError
from dogwatch.model import Finding, Level, Notification
from dogwatch.store.rows import deliveries, events, findings, jobs, notifications, tick, watch
from dogwatch.store.rows.channels import ALONE, OPEN, SENT
from dogwatch.store.rows.deliveries import Decision
from dogwatch.store.rows.registration import register
from dogwatch.store.sqlite.location import open_store
from dogwatch.wire.documents.watch import EventBody
from tests.store.sample import NOW, ended, everything, filled, job, numbered


def test_a_tick_that_cannot_be_written_whole_leaves_nothing(home: Path) -> None:
    """An error at the end of a tick takes its first rows back with it."""
    store = filled(home)
    before = everything(store)
    bad = tick.Tick(
        NOW,
        1.0,
        places=(tick.PlaceUpdate("moon", NOW, True),),
        events=(tick.Event("job.state", "never"),),
    )
    with pytest.raises(StoreError, match="no place named 'moon'"):
        tick.commit(store, bad)
    over = tick.JobUpdate("here/process:1", ended())
    unspeakable = tick.Event("job.state", "never", body=cast("EventBody", {"x": object()}))
    with pytest.raises(TypeError):
        tick.commit(store, tick.Tick(NOW, 1.0, jobs=(over,), events=(unspeakable,)))
    assert everything(store) == before


def test_an_open_finding_is_not_opened_again(home: Path) -> None:
    """It keeps its beginning and takes the new text; once resolved, the next one is another finding."""
    store = open_store(str(home))
    for at, text in ((1.0, "first"), (2.0, "second")):
        tick.commit(store, tick.Tick(at, at, opened=(Finding("here", "unreachable", Level.WARNING, text),)))
    (found,) = findings.open_findings(store)
    assert (found.opened, found.text) == (1.0, "second")
    tick.commit(store, tick.Tick(3.0, 3.0, resolved=(("here", "unreachable", ""),)))
    assert findings.open_findings(store) == []
    tick.commit(store, tick.Tick(4.0, 4.0, opened=(Finding("here", "unreachable", Level.CRITICAL, "third"),)))
    assert [one.opened for one in findings.open_findings(store)] == [4.0]


def test_a_notice_is_queued_once_however_often_it_is_asked_for(home: Path) -> None:
    """The key decides, also after the notification was delivered."""
    store = open_store(str(home))
    once = tick.Tick(NOW, 1.0, notifications=(Notification("k", "here", Level.WARNING, "text"),))
    tick.commit(store, once)
    tick.commit(store, once)
    (waiting,) = notifications.unrouted(store)
    deliveries.route(store, [(waiting.id, {"terminal": Decision(ALONE, "", NOW)})], NOW)
    (message,) = deliveries.messages(store)
    deliveries.tried(store, message.key, NOW, deliveries.Try(OPEN, "timed out", NOW))
    assert [row.tries for row in deliveries.messages(store)] == [1]
    deliveries.tried(store, message.key, NOW + 1, deliveries.Try(SENT, "200", NOW))
    tick.commit(store, once)
    assert deliveries.unshown(store) == []


def test_an_ended_job_is_no_longer_tracked_and_its_memory_goes(home: Path) -> None:
    """Ten thousand ended jobs must not weigh on the ones that run."""
    store = open_store(str(home))
    register(store, job(), NOW, 1.0)
    tick.commit(store, numbered(7))
    (tracked,) = tick.load(store, "here")
    assert tracked.memory == {"n": 7}
    assert dict(tracked.progress or {}) == {"step": 7, "at": NOW + 7}
    tick.commit(store, tick.Tick(NOW, 1.0, jobs=(tick.JobUpdate("here/process:1", ended()),)))
    assert tick.load(store, "here") == []
    assert store.db.execute("SELECT count(*) FROM memories").fetchone() == (0,)
    assert jobs.documents(store, everything=True)[0]["outcome"] == "succeeded"


def test_a_watch_tells_its_end_from_a_gap(home: Path) -> None:
    """The row names who watched, when it last ticked and whether it stopped as it should."""
    store = open_store(str(home))
    assert watch.last(store) is None
    watch.begin(store, "ann", 1.0, 1.0, "boot-1", tick.Event("watch.started", "ann watches"))
    tick.commit(store, tick.Tick(5.0, 5.0))
    found = watch.last(store)
    assert found is not None
    assert (found.who, found.last_tick, found.boot, found.stopped) == ("ann", 5.0, "boot-1", None)
    watch.finish(store, 6.0, 6.0, tick.Event("watch.stopped", "as asked"))
    found = watch.last(store)
    assert found is not None
    assert found.stopped == 6.0
    assert [event["kind"] for event in events.read(store)] == ["watch.started", "watch.stopped"]
