"""`python -m tests.chaos --kills N --seed S [--seconds T] [--outages M] [--alerts K] [--points P]
[--boxes B] [--alertmanager A]`: storms, their figures, and what was wrong."""

from __future__ import annotations

import argparse
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.alerts import alertmanager
from tests.alerts.points import kill_at_points
from tests.alerts.storm import storm as storm_of_alerts
from tests.chaos import cluster
from tests.chaos.boxes import BoxStorm
from tests.chaos.boxes import report as report_of_boxes
from tests.chaos.gather import gather
from tests.chaos.history import LEFT, LOST, WRONG, Flaw, History, check
from tests.chaos.storm import Storm
from tests.lab.box import why_no_boxes
from tests.lab.ground import why_not
from tests.lab.lab import Lab
from tests.lab.lease import SESSION, only_one

MOST_SHOWN = 40
EACH = 20  # alerts for each kill


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="SIGKILLs of watchers and commands (default: 200)")
    parser.add_argument("--seed", type=int, default=None, help="of every choice (default: a new one, printed)")
    parser.add_argument("--seconds", type=float, default=None, help="stop killing after this long")
    parser.add_argument(
        "--outages", type=int, default=0, help="then so many of a real Slurm controller (default: none)"
    )
    parser.add_argument("--alerts", type=int, default=0, help="SIGKILLs of a process that sends alerts, 20 for each")
    parser.add_argument("--points", type=int, default=0, help="system calls of an alert cycle to kill at (-1: all)")
    parser.add_argument("--alertmanager", type=int, default=0, help="SIGKILLs of a real Alertmanager, to compare with")
    parser.add_argument("--boxes", type=int, default=0, help="chains on boxes whose links, power and programs fail")
    args = parser.parse_args()
    seed = secrets.randbelow(10**6) if args.seed is None else args.seed
    place = Path(tempfile.mkdtemp(prefix="dogwatch-chaos-"))
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # it ends what it started
    flaws: list[Flaw] = []
    if args.kills:
        flaws += over_programs(place, seed, args.kills, args.seconds)
    if args.outages:
        flaws += over_a_cluster(place / "cluster", seed, args.outages)
    flaws += over_alerts(place, seed, args.alerts, args.points)
    if args.boxes:
        flaws += over_boxes(place / "boxes", seed, args.boxes)
    beside_alertmanager(place, seed, args.alertmanager)
    again = f"--kills {args.kills} --seed {seed} --outages {args.outages} --alerts {args.alerts} --points {args.points}"
    print(f"again: python -m tests.chaos {again} --boxes {args.boxes} --alertmanager {args.alertmanager}")
    if flaws:
        print(f"kept for a poll: {place}")
        return 1
    shutil.rmtree(place)
    return 0


def over_programs(place: Path, seed: int, kills: int, seconds: float | None) -> list[Flaw]:
    """The storm over watchers, commands and supervisors of this machine."""
    home, scratch = place / "home", place / "scratch"
    home.mkdir(mode=0o700)
    scratch.mkdir(mode=0o700)
    began = time.monotonic()
    storm = Storm(home, scratch, seed, kills, seconds)
    storm.run()
    raged = time.monotonic() - began
    history, flaws = gather(storm)
    flaws += check(history)
    report(storm, history, flaws, raged, time.monotonic() - began)
    return flaws


def over_a_cluster(place: Path, seed: int, outages: int) -> list[Flaw]:
    """The storm over the laboratory's controller, where there can be a laboratory."""
    reason = why_not()
    if reason:
        print(f"no storm over a cluster: {reason}")
        return []
    home = place / "home"
    home.mkdir(mode=0o700, parents=True)
    with only_one(SESSION, 600, "the laboratory is used by somebody else"):
        lab = Lab.start()
        try:
            storm = cluster.Cluster(lab, home, seed, outages)
            storm.run()
            events = storm.events()
            flaws = [*storm.flaws, *cluster.check(storm, events)]
            cluster.report(storm, events, flaws)
        finally:
            lab.leave()
    return flaws


def over_boxes(place: Path, seed: int, runs: int) -> list[Flaw]:
    """The storm over chains on boxes, where there can be boxes."""
    reason = why_no_boxes()
    if reason:
        print(f"no storm over boxes: {reason}")
        return []
    began = time.monotonic()
    storm = BoxStorm(place, seed, runs)
    storm.rage()
    print(report_of_boxes(storm, time.monotonic() - began))
    for flaw in storm.flaws[:MOST_SHOWN]:
        print(f"  {flaw.kind}: {flaw.text}")
    return storm.flaws


def over_alerts(place: Path, seed: int, kills: int, points: int) -> list[Flaw]:
    """Kills of a process that sends alerts: at random, and at each system call of one cycle."""
    flaws: list[Flaw] = []
    if kills:
        raged = storm_of_alerts(place / "alerts", kills, EACH * kills, seed)
        print(f"alerts: {raged}")
        flaws += [Flaw(WRONG, fault) for fault in raged.faults]
        flaws += [Flaw(LOST, f"{raged.lost} alerts and {raged.silences_lost} silences")] * bool(
            raged.lost or raged.silences_lost
        )
        flaws += [Flaw(WRONG, f"{raged.repeats} repeats by {kills} kills")] * (raged.repeats > kills)
    if points:
        found = kill_at_points(place / "points", None if points < 0 else points)
        print(f"alerts: {found}")
        flaws += [Flaw(WRONG, flaw) for flaw in found.flaws]
        flaws += [Flaw(LOST, str(found))] * bool(found.lost or found.silences_lost)
        flaws += [Flaw(WRONG, f"{found.most_together} repeats by one kill")] * (found.most_together > 1)
    return flaws


def beside_alertmanager(place: Path, seed: int, kills: int) -> None:
    """The same storm over Alertmanager and over ours; what it does is no flaw of ours."""
    if not kills:
        return
    path = alertmanager.program()
    if path is None:
        print("no comparison with Alertmanager: it is not installed (Debian: prometheus-alertmanager)")
        return
    for again in (False, True):
        found = alertmanager.storm(place / f"alertmanager-{again}", kills, seed, again)
        print(f"{alertmanager.version(path)}: {found}")
    ours = storm_of_alerts(place / "beside", kills, alertmanager.EACH * kills, seed)
    print(f"dogwatch beside it: {ours}")


def report(storm: Storm, history: History, flaws: list[Flaw], raged: float, took: float) -> None:
    kinds = Counter(flaw.kind for flaw in flaws)
    events = Counter(event["kind"] for event in history.events)
    kills = storm.kills
    print(
        f"{storm.killed} kills: {kills['watcher']} of watchers, {kills['command']} of commands; "
        f"and {kills['supervisor']} of supervisors; {raged:.1f} s, with the check {took:.1f} s"
    )
    print(
        f"{len(history.jobs)} jobs listed of {len(storm.plans) + len(storm.foreign)} asked for, "
        f"{len(storm.promised)} promised, {len(storm.cut_short)} cut short, {len(storm.forgotten)} forgotten; "
        f"{len(history.events)} events ({events['job.state']} states, {events['watch.started']} watches); "
        f"{len(history.notifications)} notifications"
    )
    outcomes = Counter(job["outcome"] or job["state"] or "not polled" for job in history.jobs)
    missing = sum(event["body"].get("after") == "missing" for event in history.events)
    print(f"{', '.join(f'{n} {what}' for what, n in outcomes.most_common())}; {missing} times missing")
    print(f"lost {kinds[LOST]}, wrong {kinds[WRONG]}, left behind {kinds[LEFT]}")
    for flaw in flaws[:MOST_SHOWN]:
        print(f"  {flaw.kind}: {flaw.text}")


if __name__ == "__main__":
    sys.exit(main())
