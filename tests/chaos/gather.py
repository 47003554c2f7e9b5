"""Gather: what a storm left behind, as one History and the flaws that only a directory can show."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dogwatch.api.patrol import NEWS
from dogwatch.model import Closing
from dogwatch.store.rows.channels import OPEN, SENT, TERMINAL, DeliveryRow, MessageRow
from dogwatch.store.rows.notifications import NotificationRow
from dogwatch.store.sqlite.check import transaction
from dogwatch.text import plain
from dogwatch.watcher.alerts.policy import NOT_ON_TERMINALS
from tests.chaos.history import LEFT, UNKNOWN, WRONG, Ending, Flaw, History, Said, Truth
from tests.chaos.plans import job_ending
from tests.chaos.storm import Storm

AT_HOME = {
    *("dogwatch.db", "dogwatch.db-wal", "dogwatch.db-shm", "store.json", "commit-marker", "reserve", "wake"),
    *("watch.lock", "daemon.lock", "make.lock", "write.lock", "backups", "runs", "bundles", "waiters"),
}
IN_A_RUN = re.compile(r"(spec|supervisor|worker-\d+\.(start|end))\.json|supervisor\.log|worker-\d+\.log")
BACKUP = re.compile(r"dogwatch-\d{8}T\d{2}\.db")
# The draft of somebody who was killed is swept an hour later.
BUNDLE = re.compile(r"(\.draft-)?dogwatch-here_process_.+-\d{8}T\d{6}Z\+*")


def gather(storm: Storm) -> tuple[History, list[Flaw]]:
    """Ask the real program for everything it holds, once nobody writes to it any more."""
    flaws = list(storm.flaws)
    storm.patrolled.update(change["seq"] for change in _ask(storm, flaws, "patrol", "--json")["changes"])
    events = _ask(storm, flaws, "events", "--json", "--since", "0")["events"]
    jobs = _ask(storm, flaws, "ls", "--all", "--json", "--no-poll")["jobs"]
    for check in _ask(storm, flaws, "doctor", "--json")["checks"]:
        if check["verdict"] == "bad":
            flaws.append(Flaw(WRONG, f"doctor: {check['what']}: {check['text']}"))
    flaws += strays(storm)
    history = History(
        events=events,
        jobs=jobs,
        truths=[*_kept(storm, flaws), *_foreign(storm)],
        glimpsed=list(storm.glimpsed.values()),
        started_runs=frozenset(
            f"here/process:{path.parent.name}" for path in storm.home.glob("runs/*/worker-*.start.json")
        ),
        notifications=_notifications(storm.home),
        printed=storm.printed,
        killed_watchers=storm.kills["watcher"],
        watchers_that_spoke=storm.spoke,
        watchers_launched=storm.starts["daemon"] + storm.starts["wait"],
        patrolled=frozenset(storm.patrolled),
        news=NEWS,
    )
    return history, flaws


def strays(storm: Storm) -> Iterator[Flaw]:
    """Files that nobody will ever read; a run may keep the draft of the very process that was killed in it."""
    for path in storm.home.iterdir():
        if path.name not in AT_HOME:
            yield Flaw(LEFT, f"stray file in the home: {path.name}")
    for path in storm.home.glob("backups/*"):
        if not BACKUP.fullmatch(path.name):
            yield Flaw(LEFT, f"stray file in backups: {path.name}")
    for path in storm.home.glob("bundles/*"):
        if not BUNDLE.fullmatch(path.name):
            yield Flaw(LEFT, f"stray file in bundles: {path.name}")
    for path in storm.home.glob("runs/*/*"):
        run = path.parent.name
        excused = run in storm.orphaned or run.rpartition("-")[0] in storm.cut_short
        if not IN_A_RUN.fullmatch(path.name) and not excused:
            yield Flaw(LEFT, f"stray file in run {run}: {path.name}")


def _ask(storm: Storm, flaws: list[Flaw], *words: str) -> dict[str, Any]:
    call = storm.call(*words)
    if call.code not in ((0, 1) if words[0] == "patrol" else (0,)):
        flaws.append(Flaw(WRONG, f"at the end, {words[0]} ended with {call.code}: {call.said().strip()[-800:]}"))
    try:
        told: dict[str, Any] = json.loads(call.printed())
    except ValueError:
        return {"changes": [], "events": [], "jobs": [], "checks": []}
    return told


def _kept(storm: Storm, flaws: list[Flaw]) -> Iterator[Truth]:
    """The runs, by their plans and by the records that their supervisors left."""
    runs: dict[str, Path] = {}
    for path in (storm.home / "runs").iterdir():
        name = path.name.rpartition("-")[0]
        if name in runs:
            flaws.append(Flaw(WRONG, f"{name} was started once and has two runs"))
        runs[name] = path
    ran = {path.name.rpartition(".")[0] for path in storm.marks.iterdir()}
    for name, plan in storm.plans.items():
        run = runs.get(name)
        endings: tuple[Ending, ...] = ()
        if run is not None and (run / "supervisor.json").exists():
            ends = {k: _end_record(run, k) for k in range(len(plan.parts))}
            ending, wrong = job_ending(plan, {k: end for k, end in ends.items() if end}, run.name in storm.orphaned)
            endings = (ending,)
            flaws += wrong
        if name in ran and (run is None or not any(run.glob("worker-*.start.json"))):
            flaws.append(Flaw(WRONG, f"a worker of {name} ran without a start record"))
        yield Truth(name, endings, name in storm.promised, name in ran, storm.forgotten.get(name, False))


def _foreign(storm: Storm) -> Iterator[Truth]:
    """Processes that we started ourselves: nobody recorded how they ended, unless a zombie showed it."""
    for name in sorted(storm.foreign):
        endings = (UNKNOWN, Ending("succeeded", 0))
        yield Truth(name, endings, name in storm.promised, False, storm.forgotten.get(name, False))


def _end_record(run: Path, index: int) -> dict[str, Any] | None:
    path = run / f"worker-{index}.end.json"
    return json.loads(path.read_text()) if path.exists() else None


def _notifications(home: Path) -> list[Said]:
    db = sqlite3.connect(f"file:{home / 'dogwatch.db'}?mode=ro", uri=True)
    try:
        rows = [row for row in transaction(db).rows(NotificationRow) if row.rule not in NOT_ON_TERMINALS]
        rows = [row for row in rows if row.resolved <= Closing.RESOLVED]
        shown = {row.message: row.notification for row in transaction(db).rows(DeliveryRow) if row.channel == TERMINAL}
        settled = [row for row in transaction(db).rows(MessageRow) if row.key in shown and row.state != OPEN]
    finally:
        db.close()
    done = {shown[row.key] for row in settled}
    recorded = Counter(shown[row.key] for row in settled if row.state == SENT)
    printed = Counter(shown[row.key] for row in settled if row.state == SENT and not row.detail)
    return [
        Said(
            line=f"{row.level}: {plain(row.subject)}: {plain(row.text)}",
            done=row.id in done,
            recorded=recorded[row.id],
            printed=printed[row.id],
        )
        for row in rows
    ]
