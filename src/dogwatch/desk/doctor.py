"""Doctor: the checks of our own health, each with a verdict and a remedy."""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from dogwatch import __version__, settings
from dogwatch.clock import local
from dogwatch.desk import ask
from dogwatch.desk.checklist import Line
from dogwatch.errors import StoreError, UsageError
from dogwatch.reach import errands
from dogwatch.reach.interface import Reach
from dogwatch.reach.without_python import LIMITS, REMEDY
from dogwatch.store import alerts, backup, events, jobs, notices, places, reception, repair
from dogwatch.store.database import Store, open_store
from dogwatch.text import plain

STALE = 300.0
LEAST_ROOM = 100_000_000
GPU_SECONDS = 5
WAYS = {"nvml": "NVML"}


def examine(home: str, now: float) -> list[Line]:
    """Every check, the later ones only where the store could be opened."""
    checks = [
        Line("ok", "dogwatch", f"{__version__} on Python {sys.version.split()[0]}"),
        Line("ok", "home", f"{home} is private and on a local disk"),
        _room(home),
    ]
    try:
        with open_store(home, readonly=True) as store:
            for examine_one in (_store, _history, _backups, _watcher, _places, _queue, _alerts):
                checks += examine_one(store, now)
    except StoreError as error:
        checks.append(Line("bad", "store", str(error), "`dogwatch doctor --repair` restores what can be trusted"))
    return [*checks, _configuration()]


def gpus(reach: Reach) -> Line:
    """How the GPUs of this machine are read, by reading them."""
    found, why = errands.send(reach, "gpus", {"seconds": GPU_SECONDS}, 5.0 * GPU_SECONDS)
    if found is None:
        return Line("warn", "GPUs", f"cannot be read: {plain(why, 300)}", "`nvidia-smi` may say more")
    failed = "; ".join([*(found.get("failed") or {}).values(), *filter(None, [found.get("why")])])
    if not found.get("gpus"):
        if failed:
            return Line("warn", "GPUs", f"cannot be read: {plain(failed, 300)}", "`nvidia-smi` may say more")
        return Line("ok", "GPUs", "none here that could be read (no NVML, nvidia-smi, amd-smi or rocm-smi)")
    names = Counter(plain(str(gpu.get("name") or "a GPU"), 60) for gpu in found["gpus"] if not gpu.get("parent"))
    told = ", ".join(f"{count} × {name}" for name, count in names.items())
    by, driver = WAYS.get(found["by"], found["by"]), plain(str(found.get("driver") or ""), 40)
    by = plain(str(found.get("program") or by), 200)
    text = f"{told}, read by {by}" + (f" (driver {driver})" if driver else "")
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
        return Line("warn", "configuration", str(error), "watchers go on with what it said before; set it right")
    text = f"{file} has {len(told.channels)} channels" if os.path.exists(file) else f"no {file}, so all is default"
    if told.heartbeat is None:
        text += "; no heartbeat, so nobody would notice that the watcher itself died"
    return Line("ok", "configuration", text)


def _store(store: Store, now: float) -> Iterator[Line]:
    problems = repair.check(store)
    if problems:
        yield Line("bad", "store", "; ".join(problems[:3]), "`dogwatch doctor --repair` restores what can be trusted")
    else:
        yield Line("ok", "store", f"{len(jobs.brief(store, everything=True))} jobs, sound")


def _history(store: Store, now: float) -> Iterator[Line]:
    damaged = events.verify(store)
    for part in damaged:
        yield Line("bad", "history", f"events {part['first']} to {part['last']}: {part['why']}")
    if not damaged:
        yield Line("ok", "history", "every event follows from the one before it")


def _backups(store: Store, now: float) -> Iterator[Line]:
    kept = backup.backups(store.home)
    if kept:
        yield Line("ok", "backups", f"{len(kept)}, the newest {os.path.basename(kept[-1])}")
    else:
        yield Line("ok", "backups", "none yet; a watcher makes one every hour")


def _watcher(store: Store, now: float) -> Iterator[Line]:
    watch, active = ask.watching(store), jobs.brief(store)
    if watch["alive"]:
        yield Line(
            "ok",
            "watcher",
            f"{watch['who']} (pid {watch['pid']}), last tick {watch['last_tick'] or 'not yet'}",
        )
    elif active:
        text = f"nobody is watching {len(active)} job{'' if len(active) == 1 else 's'}"
        yield Line(
            "warn",
            "watcher",
            text,
            "start `dogwatch daemon`; it must outlive your login (tmux, setsid or nohup)",
        )
    else:
        yield Line("ok", "watcher", "none, and nothing to watch")


def _places(store: Store, now: float) -> Iterator[Line]:
    for place in places.places(store):
        asked = ", ".join(f"{n} {what}" for what, n in (place["facts"].get("asked") or {}).items())
        told = f"{place['looks']} looks, {place['dark_looks']} of them dark, at most one every {place['floor']:g} s"
        told += f"; the last asked {asked}" if asked else ""
        told += _gpus_there(place["facts"].get("gpus") or {})
        dark_since = places.dark_since(store, place["name"])
        if dark_since is not None:
            said = f"unreachable since {local(dark_since, now)}: {place['dark_why']}; {told}"
            yield Line("warn", f"place {place['name']}", said)
        elif place["seen_at"] and place["facts"].get("python", "") is None:
            yield Line("warn", f"place {place['name']}", f"{told}; {LIMITS}", REMEDY)
        else:
            yield Line("ok", f"place {place['name']}", told)


def _gpus_there(found: dict[str, Any]) -> str:
    if found.get("count"):
        return f"; {found['count']} GPUs, read by {WAYS.get(found['by'], found['by'])}"
    return f"; its GPUs cannot be read: {found['why']}" if found.get("why") else ""


def _queue(store: Store, now: float) -> Iterator[Line]:
    waiting = notices.queued(store)
    if waiting:
        oldest = local(waiting[0]["created"], now)
        yield Line("ok", "notices", f"{len(waiting)} wait for a watcher to say them, the oldest since {oldest}")


def _alerts(store: Store, now: float) -> Iterator[Line]:
    """Whether somebody would hear of a finding."""
    used, (_, _, undelivered) = alerts.channels(store), alerts.pending(store)
    dead = [row for row in alerts.messages(store, alerts.DEAD) if row["channel"] in {one["name"] for one in used}]
    names = ", ".join(row["name"] for row in used)
    mute = reception.mute_since(store)
    if mute is not None:
        text = f"no channel took what was last sent ({names}), since {local(mute, now)}; the heartbeat stops for that"
        yield Line("bad", "alerts", text, "`dogwatch alerts` says why, `dogwatch alerts test` tries them")
    elif dead or undelivered:
        text = f"{len(dead)} given up, {undelivered} undelivered"
        yield Line("warn", "alerts", text, "`dogwatch alerts` shows them, `dogwatch alerts retry` tries again")
    else:
        yield Line("ok", "alerts", f"go to {names}; nothing undelivered" if used else "go nowhere but the terminal")
