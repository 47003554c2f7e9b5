"""Patrol: what changed since the last patrol, whoever saw it change, put together by job and by run.

A job's name may be RUN/TASK/EPOCH; jobs of one RUN are counted together, with the scores of those that completed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dogwatch.api import patrol_runs
from dogwatch.clock import local_date
from dogwatch.model import outcome
from dogwatch.results.scores import words as score_words
from dogwatch.store.interface import Store
from dogwatch.store.rows import cursors, events, jobs, places
from dogwatch.text import as_counted, named, plain

if TYPE_CHECKING:
    from dogwatch.wire.documents.diagnosis import DiagnosisDocument
    from dogwatch.wire.documents.job import BriefJob, JobDocument
    from dogwatch.wire.documents.watch import (
        ChangeDocument,
        EventDocument,
        GroupDocument,
        PatrolRunDocument,
        PlaceDocument,
    )

BOX = "box"  # the source whose runs are told of one by one
CURSOR = "patrol"  # the person's; every other reader has one of their own beside it
FINDINGS = ("finding.opened", "finding.escalated", "finding.resolved")
NEWS = frozenset({"job.state", "job.attempt", *FINDINGS, "store.repaired", "store.full"})
MOVES = frozenset({"job.state", "job.attempt"})
GOOD = frozenset({*outcome.GOOD, None})
# A finding that only repeats what the change of state says.
REPEATS = frozenset({"all_ended", "not_verified"})
# After what completed and what went wrong.
LAST = ("running", "pending", "missing", "not polled")
USUAL = {"succeeded": "completed", "waiting": "pending", "unknown": "of unknown outcome"}
# Jobs without a run belong together if they were watched together: each was added before all others had ended, or
# soon after. What ended longer ago than this is not counted any more beside one that never ends.
SOON, LONG_AGO = 900.0, 7 * 86400.0
MOST_SCORED, MOST_SCORES, MOST_EVIDENCE = 200, 6, 3


@dataclass(frozen=True, slots=True)
class Group:
    """The jobs of one run, counted; `run` is None for those whose name has no run."""

    run: str | None
    total: int
    counts: Mapping[str, int]
    scores: Sequence[str] = ()

    def text(self) -> str:
        """`2 of 4 completed (MMLU-Pro: 42.3%, GSM8K: 67.1%), 1 running, 1 pending`."""
        counts = dict(self.counts)
        done = f"{counts.pop('completed', 0)} of {self.total} completed"
        if self.scores:
            more = f" and {len(self.scores) - MOST_SCORES} more" if len(self.scores) > MOST_SCORES else ""
            done += f" ({', '.join(self.scores[:MOST_SCORES])}{more})"
        return ", ".join([done, *(f"{n} {word}" for word, n in counts.items())])

    def document(self) -> GroupDocument:
        counts, scores = dict(self.counts), list(self.scores)
        return {"run": self.run, "total": self.total, "counts": counts, "scores": scores, "text": self.text()}


@dataclass(frozen=True, slots=True)
class Report:
    """What one patrol has to say; `upto` is the event it has read to."""

    changes: list[ChangeDocument]
    unreachable: list[PlaceDocument]
    all_unreachable: bool
    watched: int
    upto: int
    groups: Sequence[Group] = ()
    runs: Sequence[PatrolRunDocument] = ()
    reminders: Sequence[str] = ()

    @property
    def bad_ending(self) -> bool:
        return any(change.get("after") == "ended" and change.get("outcome") not in GOOD for change in self.changes)

    def sentence(self, now: float) -> str:
        """The one line of a heartbeat: that somebody polled, when, at how much, and whether it was quiet."""
        at = local_date(now)
        what = (
            f"{len(self.changes)} changes" if len(self.changes) > 1 else ("1 change" if self.changes else "no change")
        )
        jobs_ = f"{self.watched} job{'' if self.watched == 1 else 's'} watched"
        unreachable = f", {len(self.unreachable)} unreachable" if self.unreachable else ""
        return f"polled at {at}: {what}, {jobs_}{unreachable}"

    def lines(self) -> list[str]:
        """For people: each run's count, then a line for each job that moved, a failure with its diagnosis below."""
        found = []
        for group in self.groups if self.changes else ():
            found.append(group.text() if group.run is None else f"{plain(group.run, 60)}: {group.text()}")
        for subject, changes in _by_subject(self.changes).items():
            found += [f"{subject}: {plain(text, 300)}" for text in _told(changes)]
            told = [change["diagnosis"] for change in changes if change.get("diagnosis")]
            found += [f"    {line}" for line in diagnosis_lines(told[-1] if told else None)]
        return found


def cursor_of(reader: str | None) -> str:
    """The cursor of a reader, by a name that somebody gave; none is the person."""
    return CURSOR if reader is None else f"{CURSOR}:{named(reader, '--reader name')}"


def report(store: Store, polled: list[str], cursor: str = CURSOR) -> Report:
    """Everything of note after the event that this reader was last told, and the places that do not answer; nothing of
    jobs that were forgotten since. A reader who was never told anything begins where the person stands."""
    since = cursors.read(store, cursor) or cursors.read(store, CURSOR)
    found = events.read(store, since=since)
    news = [event for event in found if event["kind"] in NEWS]
    refs = dict.fromkeys(event["ref"] for event in news if event["ref"] is not None)
    left_out = jobs.forgotten(store, refs)
    news = [event for event in news if event["ref"] not in left_out]
    spoken_of = {job["ref"]: job for job in jobs.documents(store, refs=[ref for ref in refs if ref not in left_out])}
    changes = [_change(event, spoken_of.get(event["ref"] or "")) for event in news]
    active = [job for job in jobs.brief(store) if job["state"] != "ended"]
    used = {job["place"] for job in active}
    known = [place for place in places.places(store) if place["name"] in used]
    unreachable = [place for place in known if place["unreachable_since"]]
    upto = found[-1]["seq"] if found else since
    all_unreachable = bool(known) and len(unreachable) == len(known)
    groups = _groups(store, list(spoken_of.values()))
    told = patrol_runs.runs(_shown(store, active, spoken_of), unreachable)
    reminded = patrol_runs.reminders(store)
    return Report(changes, unreachable, all_unreachable, len(active), upto, groups, told, reminded)


def _shown(store: Store, active: Sequence[BriefJob], spoken_of: Mapping[str, JobDocument]) -> list[JobDocument]:
    """The jobs that have not ended, and those that ended since the last patrol."""
    others = [job["ref"] for job in active if job["source"] == BOX and job["ref"] not in spoken_of]
    return [*spoken_of.values(), *(jobs.documents(store, refs=others) if others else ())]


def reported(store: Store, done: Report, cursor: str = CURSOR) -> None:
    """Remember that all this has been said to this reader: only after it was said."""
    if done.upto != cursors.read(store, cursor):
        cursors.write(store, cursor, done.upto)


def run_of(name: str) -> str | None:
    """The RUN of RUN/TASK/EPOCH; None for a name that has no parts."""
    run, slash, rest = name.partition("/")
    return run if run and slash and rest else None


def diagnosis_lines(diagnosis: DiagnosisDocument | None) -> list[str]:
    """Why it failed, the lines that show it and what to do first; nothing when nobody has said why."""
    if not diagnosis:
        return []
    unknown = diagnosis.get("cause") == "unknown"
    cause = "not found" if unknown else plain(str(diagnosis.get("title") or diagnosis.get("cause") or "?"), 200)
    sure = None if unknown else diagnosis.get("confidence")
    found = [f"cause: {cause}" + (f" ({100 * sure:.0f} % confidence)" if isinstance(sure, int | float) else "")]
    for one in (diagnosis.get("evidence") or ())[:MOST_EVIDENCE]:
        where = ":".join(str(one[key]) for key in ("file", "line") if one.get(key))
        found.append((f"{plain(where, 120)}: " if where else "") + plain(str(one.get("text", "")), 200))
    advice = [plain(str(text), 300) for text in diagnosis.get("advice") or ()]
    return found + [f"do: {text}" for text in advice[:1]]


def _groups(store: Store, spoken_of: Sequence[JobDocument]) -> list[Group]:
    """The runs that something was said of, each with all its jobs, and the jobs without a run that belong together.
    One job alone is no group: its change says it all."""
    if not spoken_of:
        return []
    runs = dict.fromkeys(run for job in spoken_of if (run := run_of(job["name"])) is not None)
    members: dict[str, list[BriefJob]] = {run: [] for run in runs}
    alone = []
    for job in jobs.brief(store, everything=True):
        run = run_of(job["name"])
        if run is None:
            alone.append(job)
        elif run in members:
            members[run].append(job)
    found: list[tuple[str | None, Sequence[BriefJob]]] = [(run, _newest(some)) for run, some in members.items()]
    refs = {job["ref"] for job in spoken_of}
    found += [(None, some) for some in _together(alone) if any(job["ref"] in refs for job in some)]
    arrays = [group for job in spoken_of if (group := _array(job)) is not None]
    return [_group(store, run, some) for run, some in found if len(some) > 1] + arrays


def _array(job: JobDocument) -> Group | None:
    """The tasks of an array, counted like the jobs of a run; the parts of a heterogeneous job are one."""
    tasks = job["tasks"]
    if tasks is None or tasks["count"] < 2 or not tasks["rows"] or tasks["rows"][0]["id"].startswith("+"):
        return None
    counts: dict[str, int] = {}
    for state, number in tasks["states"].items():
        word = USUAL.get(state, state.replace("_", " "))
        counts[word] = counts.get(word, 0) + number
    return Group(
        f"tasks of {job['name']}", tasks["count"], dict(sorted(counts.items(), key=lambda one: _place(one[0])))
    )


def _place(word: str) -> tuple[int, str]:
    return LAST.index(word) + 1 if word in LAST else 0, word


def _newest(members: Sequence[BriefJob]) -> list[BriefJob]:
    """A run's jobs without those that ended and were submitted again under the same name."""
    kept: dict[str, BriefJob] = {}
    again = []
    for job in sorted(members, key=lambda job: -job["registered"]):
        if job["name"] not in kept:
            kept[job["name"]] = job
        elif job["state"] != "ended":
            again.append(job)
    return [*kept.values(), *again]


def _together(alone: Sequence[BriefJob]) -> list[list[BriefJob]]:
    """Jobs without a run, in sets that were watched together."""
    sets: list[list[BriefJob]] = []
    until = newest = float("-inf")
    for job in alone:
        newest = max(newest, job["confirmed_at"] or job["registered"])
    for job in sorted(alone, key=lambda job: job["registered"]):
        over = job["state"] == "ended"
        last = max(job["registered"], job["confirmed_at"] or 0.0) if over else float("inf")
        if last < newest - LONG_AGO:
            continue
        if not sets or job["registered"] > until + SOON:
            sets.append([])
        sets[-1].append(job)
        until = max(until, last)
    return sets


def _group(store: Store, run: str | None, some: Sequence[BriefJob]) -> Group:
    found = [_word(job) for job in some]
    order = sorted(set(found), key=_place)
    counts = {word: found.count(word) for word in order}
    completed = [job["ref"] for job in some if job["outcome"] in outcome.GOOD][:MOST_SCORED]
    scored = sorted(jobs.documents(store, refs=completed), key=lambda job: as_counted(str(job["name"])))
    tasks = [str(job["name"]).split("/")[1:2] for job in scored]
    words = [_scores(job, tasks.count(task) > 1) for job, task in zip(scored, tasks, strict=True)]
    return Group(run, len(some), counts, [word for some_words in words for word in some_words])


def _word(job: BriefJob) -> str:
    """One word for what became of a job, as people count them."""
    word = str(job["outcome"] or job["state"] or "not polled")
    return USUAL.get(word, word.replace("_", " "))


def _scores(job: JobDocument, epochs: bool) -> list[str]:
    """A job's scores in words; a single one goes by the TASK of the job's name, with its EPOCH if there are several."""
    scores = job["scores"]
    parts = str(job["name"]).split("/")
    label = " epoch ".join(parts[1 : 3 if epochs else 2])
    return [score_words(score, label if len(scores) == 1 else None) for score in scores]


def _change(event: EventDocument, job: JobDocument | None) -> ChangeDocument:
    """An event as a change; a bad ending carries the diagnosis that the job's document has."""
    change: ChangeDocument = {
        **event["body"],
        "seq": event["seq"],
        "at": event["at"],
        "kind": event["kind"],
        "ref": event["ref"],
        "place": event["place"],
        "level": event["level"],
        "text": event["text"],
        "name": None if job is None else job["name"],
        "description": (job["description"] or None) if job is not None else None,
    }
    if job is not None and change.get("after") == "ended" and change.get("outcome") not in GOOD:
        change["diagnosis"] = job["diagnosis"]
    return change


def _by_subject(changes: Sequence[ChangeDocument]) -> dict[str, list[ChangeDocument]]:
    """The changes of each job, place or the watch itself, in the order in which they were first spoken of."""
    found: dict[tuple[str | None, str | None], list[ChangeDocument]] = {}
    for change in changes:
        found.setdefault((change["ref"], change["place"] if change["ref"] is None else None), []).append(change)
    subjects: dict[str, list[ChangeDocument]] = {}
    for some in found.values():
        subject = plain(some[0]["name"] or some[0]["ref"] or some[0]["place"] or "watch", 60)
        if some[0]["description"]:
            subject += f" ({plain(some[0]['description'], 80)})"
        if subject in subjects:  # two jobs of one name
            subject = f"{subject} ({plain(str(some[0]['ref']), 80)})"
        subjects.setdefault(subject, []).extend(some)
    return subjects


def _told(changes: Sequence[ChangeDocument]) -> list[str]:
    """What happened to one job: where it came from and where it is now, and what is wrong with it."""
    moves = [change for change in changes if change["kind"] in MOVES]
    texts = []
    if moves:
        first, last = moves[0].get("before") or "new", moves[-1]
        texts.append(f"{first} → {str(last['text']).partition(' → ')[2] or last['text']}")
        if again := sum(change["kind"] == "job.attempt" for change in moves):
            texts[0] += f"; it restarted {again} time{'s' if again > 1 else ''}"
    opened = {(c.get("rule"), c.get("what")): c for c in changes if c["kind"] in FINDINGS[:2]}
    for change in changes:
        key = change.get("rule"), change.get("what")
        if change["kind"] == "finding.resolved" and opened.pop(key, None) is None:
            texts.append(change["text"])
    ended = any(change.get("after") == "ended" for change in moves)
    texts += [c["text"] for (rule, _), c in opened.items() if not (ended and rule in REPEATS)]
    return texts + [change["text"] for change in changes if change["kind"].startswith("store.")]
