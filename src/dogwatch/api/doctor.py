"""Doctor: the checks of our own health, each with a verdict and a remedy."""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dogwatch import __version__, settings
from dogwatch.api import plugins, queries
from dogwatch.api.checklist import Line
from dogwatch.clock import local
from dogwatch.errors import StoreError, UsageError
from dogwatch.store.interface import Location, Store
from dogwatch.store.rows import channels as channel_rows
from dogwatch.store.rows import deliveries, jobs, places
from dogwatch.text import plain
from dogwatch.transport import extra_probe
from dogwatch.transport.interface import Transport
from dogwatch.transport.local import NO_PROC
from dogwatch.transport.without_python import LIMITS, REMEDY
from dogwatch.wire.programs import Gpus

if TYPE_CHECKING:
    from dogwatch.wire.documents.watch import GpuFacts, PlaceFacts

LEAST_ROOM = 100_000_000
GPU_SECONDS = 5
WAYS = {"nvml": "NVML"}


def examine(location: Location, now: float) -> list[Line]:
    """Every check, the later ones only where the store could be opened."""
    home = location.path()
    checks = [
        Line("ok", "dogwatch", f"{__version__} on Python {sys.version.split()[0]}"),
        Line("ok", "home", f"{home} is private and on a local disk"),
        _room(home),
    ]
    try:
        with location.open(readonly=True) as store:
            for examine_one in (_store, _history, _backups, _watcher, _places, _queue, _alerts):
                checks += examine_one(store, now)
    except StoreError as error:
        checks.append(Line("bad", "store", str(error), "`dogwatch doctor --repair` restores what is intact"))
    return [*checks, _configuration(), *plugins.lines()]


def gpus(transport: Transport) -> Line:
    """How the GPUs of this machine are read, by reading them."""
    found = extra_probe.send(transport, "gpus", {"seconds": GPU_SECONDS}, 5.0 * GPU_SECONDS, Gpus)
    if found == NO_PROC:
        return Line("ok", "this machine", NO_PROC)
    if isinstance(found, str):
        return Line("warn", "GPUs", f"cannot be read: {plain(found, 300)}", "`nvidia-smi` may say more")
    failed = "; ".join([*found.failed.values(), *filter(None, [found.why])])
    if not found.gpus:
        if failed:
            return Line("warn", "GPUs", f"cannot be read: {plain(failed, 300)}", "`nvidia-smi` may say more")
        return Line("ok", "GPUs", "none found (no NVML, nvidia-smi, amd-smi or rocm-smi)")
    names = Counter(plain(gpu.name or "a GPU", 60) for gpu in found.gpus if not gpu.parent)
    counted = ", ".join(f"{count} × {name}" for name, count in names.items())
    by, driver = WAYS.get(found.by or "", found.by or ""), plain(found.driver, 40)
    text = f"{counted}, read by {plain(found.program or by, 200)}" + (f" (driver {driver})" if driver else "")
    return Line("warn" if failed else "ok", "GPUs", text + (f"; {plain(failed, 200)}" if failed else ""))


def _room(home: str) -> Line:
    free = shutil.disk_usage(home).free
    if free < LEAST_ROOM:
        return Line("warn", "disk", f"{free / 1e6:.0f} MB free for the store", "make room, or move DOGWATCH_HOME")
    return Line("ok", "disk", f"{free / 1e9:.1f} GB free for the store")


def _configuration() -> Line:
    file = settings.path(os.environ)
    try:
        told = settings.load(file)
    except UsageError as error:
        return Line("warn", "configuration", str(error), "watchers keep using the version before; correct the file")
    text = f"{file} has {len(told.channels)} channels" if os.path.exists(file) else f"no {file}; using defaults"
    if told.heartbeat is None:
        text += "; no heartbeat configured: nothing alerts you if the watcher dies"
    return Line("ok", "configuration", text)


def _store(store: Store, now: float) -> Iterator[Line]:
    problems = store.check()
    if problems:
        yield Line("bad", "store", "; ".join(problems[:3]), "`dogwatch doctor --repair` restores what is intact")
    else:
        yield Line("ok", "store", f"{len(jobs.brief(store, everything=True))} jobs, intact")


def _history(store: Store, now: float) -> Iterator[Line]:
    damaged = store.damaged_events()
    for first, last, why in damaged:
        yield Line("bad", "history", f"events {first} to {last}: {why}")
    if not damaged:
        yield Line("ok", "history", "complete")


def _backups(store: Store, now: float) -> Iterator[Line]:
    kept = store.backups()
    if kept:
        yield Line("ok", "backups", f"{len(kept)}, the newest {os.path.basename(kept[-1])}")
    else:
        yield Line("ok", "backups", "none yet; a watcher makes one every hour")


def _watcher(store: Store, now: float) -> Iterator[Line]:
    watch, active = queries.watching(store), jobs.brief(store)
    if watch["alive"]:
        yield Line(
            "ok",
            "watcher",
            f"{watch['who']} (pid {watch['pid']}), last tick {watch['last_tick'] or 'not yet'}",
        )
    elif active:
        text = f"no watcher is running for {len(active)} job{'' if len(active) == 1 else 's'}"
        yield Line(
            "warn",
            "watcher",
            text,
            "start `dogwatch daemon` (in tmux or with nohup, to survive logout), or `dogwatch service on`",
        )
    else:
        yield Line("ok", "watcher", "none, and nothing to watch")


def _places(store: Store, now: float) -> Iterator[Line]:
    for place in places.places(store):
        asked = ", ".join(f"{n} {what}" for what, n in (place["facts"].get("asked") or {}).items())
        told = f"{place['polls']} polls, {place['failed_polls']} failed, at most one every {place['floor']:g} s"
        told += f"; the last asked {asked}" if asked else ""
        counts = _connections(place["facts"])
        told += _connections_there(counts)
        told += _gpus_there(place["facts"].get("gpus") or {})
        unreachable_since = places.unreachable_since(store, place["name"])
        if unreachable_since is not None:
            said = f"unreachable since {local(unreachable_since, now)}: {place['unreachable_why']}; {told}"
            yield Line("warn", f"host {place['name']}", said, counts=counts)
        elif place["answered_at"] and place["facts"].get("python", "") is None:
            yield Line("warn", f"host {place['name']}", f"{told}; {LIMITS}", REMEDY, counts)
        else:
            yield Line("ok", f"host {place['name']}", told, counts=counts)


def _connections(facts: PlaceFacts) -> dict[str, int]:
    """How many connections the last tick made to a place elsewhere, and the most that any tick of its watcher made: one
    for a poll, and one more where jobs ended."""
    counts = {name: facts.get(name) for name in ("connections", "most_connections")}
    return {name: count for name, count in counts.items() if isinstance(count, int) and count}


def _connections_there(counts: dict[str, int]) -> str:
    made = counts.get("connections")
    if not made:
        return ""
    most = counts.get("most_connections", made)
    return f"; {made} connection{'' if made == 1 else 's'} in the last tick, {most} at most"


def _gpus_there(gpus: GpuFacts) -> str:
    if gpus.get("count"):
        by = gpus.get("by") or ""
        return f"; {gpus['count']} GPUs, read by {WAYS.get(by, by)}"
    return f"; its GPUs cannot be read: {gpus['why']}" if gpus.get("why") else ""


def _queue(store: Store, now: float) -> Iterator[Line]:
    waiting = deliveries.unshown(store)
    if waiting:
        oldest = local(waiting[0].created, now)
        yield Line(
            "ok",
            "notifications",
            f"{len(waiting)} not sent yet because no watcher is running, the oldest since {oldest}",
        )


def _alerts(store: Store, now: float) -> Iterator[Line]:
    """Whether somebody would hear of a finding."""
    used, undelivered = channel_rows.channels(store), len(deliveries.channel_messages(store))
    dead = [row for row in deliveries.messages(store, channel_rows.DEAD) if row.channel in {one.name for one in used}]
    names = ", ".join(row.name for row in used)
    mute = channel_rows.mute_since(store)
    if mute is not None:
        text = (
            f"the last alerts were not delivered on any channel ({names}), since {local(mute, now)}; the heartbeat is "
            f"stopped because of that"
        )
        yield Line("bad", "alerts", text, "`dogwatch alerts` says why, `dogwatch alerts test` tries them")
    elif dead or undelivered:
        text = f"{len(dead)} given up, {undelivered} undelivered"
        yield Line("warn", "alerts", text, "`dogwatch alerts` shows them, `dogwatch alerts retry` tries again")
    else:
        yield Line("ok", "alerts", f"go to {names}; nothing undelivered" if used else "no alert channel configured")
