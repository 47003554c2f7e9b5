"""How soon after the crash of a kept worker its event is written."""

from __future__ import annotations

import calendar
import os
import time
from pathlib import Path

from bench.figures import Figure, percentile
from bench.stage import Stage
from dogwatch.store.rows import events
from dogwatch.store.sqlite.database import SqliteStore as Store
from dogwatch.store.sqlite.location import open_store

JOBS, WORKERS, ROUNDS, SPAN, INTERVAL, POLL = 10, 4, 5, 12.0, 30.0, 0.003
WORK = (
    f"{ROUNDS} times {JOBS} jobs of {WORKERS} workers that crash at random moments, their last act being to note "
    f"the time; the daemon looks only every {INTERVAL:.0f} s unless it is told; the time from that note until "
    "another process can read the event."
)


def measure() -> list[Figure]:
    with Stage() as stage:
        notes = os.path.join(stage.directory, "notes")
        os.mkdir(notes)
        stage.dogwatch("run", "--detach", "--", "sleep", "600")
        stage.daemon(INTERVAL)
        told: dict[str, tuple[float, float]] = {}
        with open_store(stage.home, readonly=True) as store:
            for _ in range(ROUNDS):
                after = time.time() + 1.0 * JOBS
                words = ("die", str(after), str(after + SPAN), notes)
                refs = {stage.run_job(WORKERS, *words) for _ in range(JOBS)}
                _listen(store, refs, told, after + SPAN + INTERVAL)
        deaths = {path.name: float(path.read_text(encoding="ascii")) for path in Path(notes).iterdir()}
    delays, stamps = [], []
    for name, died in deaths.items():
        run, _, worker = name.rpartition(".")
        seen, at = told.get(f"here/process:{run} worker {worker}") or told[f"here/process:{run}"]
        delays.append(seen - died)
        stamps.append(at - died)
    print(f"  {len(delays)} deaths: p50 {percentile(delays, 0.5) * 1e3:.0f} ms, ", end="")
    print(f"p99 {percentile(delays, 0.99) * 1e3:.0f} ms, longest {max(delays) * 1e3:.0f} ms; ", end="")
    print(f"by the event's own time p50 {percentile(stamps, 0.5) * 1e3:.0f} ms, ", end="")
    print(f"p99 {percentile(stamps, 0.99) * 1e3:.0f} ms")
    return [Figure("crash of a worker to event, p99", percentile(delays, 0.99), "s", limit=1.0)]


def _listen(store: Store, refs: set[str], told: dict[str, tuple[float, float]], until: float) -> None:
    """Note when each event can first be read, until every job has ended."""
    seq, version, waiting = 0, -1, set(refs)
    while waiting:
        if time.time() > until:
            raise TimeoutError(f"{len(waiting)} jobs were not seen to end")
        time.sleep(POLL)
        if version == (version := store.revision_of_others()):
            continue
        fresh = events.read(store, since=seq)
        now = time.time()
        for event in fresh:
            seq = event["seq"]
            at = _unix(event["at"])
            if event["kind"] == "finding.opened" and event["body"].get("rule") == "worker_gone":
                told.setdefault(f"{event['ref']} {event['body']['what']}", (now, at))
            elif event["kind"] == "job.state" and event["body"].get("after") == "ended":
                told.setdefault(event["ref"] or "", (now, at))
                waiting.discard(event["ref"])


def _unix(stamp: str) -> float:
    whole, _, fraction = stamp.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{fraction or 0}")
