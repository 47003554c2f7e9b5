"""What is said of a job, in one phrase each: shared by the screen, the plain lines and the summary.

Every piece of text that came from a job, a path or a place goes through `tidy` here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from dogwatch.text import is_suspended, plain
from dogwatch.tui import words

if TYPE_CHECKING:
    from dogwatch.tui.view import View
    from dogwatch.wire.documents.artifacts import CheckpointsDocument, DiskDocument, OutputDocument, QuotaDocument
    from dogwatch.wire.documents.diagnosis import AlternativeDocument, DiagnosisDocument, QuoteDocument
    from dogwatch.wire.documents.job import (
        AttemptDocument,
        CounterDocument,
        EvidenceDocument,
        FindingDocument,
        JobDocument,
        NamedDocument,
    )
    from dogwatch.wire.documents.machine import EfficiencyDocument, GpuDocument, SpentDocument, WorkerDocument
    from dogwatch.wire.documents.report import ReportAttemptDocument
    from dogwatch.wire.documents.watch import EventDocument, PlaceDocument

STALE_SECONDS = 180.0  # the slowest check interval is 60 s; three missed ones are no accident
LOW_SHARE, LOW_BYTES = 0.10, 10e9
AT_WORK = ("running", "sleeping", "uninterruptible")
TOO_EARLY = ("no progress counted yet", "not enough progress yet")
WELL = ("succeeded", "completed")
WORTH_SAYING = 0.03  # a cause less likely than that is in the JSON only
_SIGNALS = {1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE"}
_SIGNALS |= {9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 15: "SIGTERM"}


def tidy(text: object, limit: int = 200) -> str:
    """Foreign text as one harmless line: no control characters, no line ends, no lone surrogates."""
    line = " ".join(plain(str(text), limit).split())
    return line.encode("utf-8", "replace").decode("utf-8")


def title(job: NamedDocument) -> str:
    return tidy(job.get("name") or job.get("id") or job.get("ref") or "?", 120)


def unit(job: JobDocument) -> str:
    return unit_of(job.get("progress"))


def unit_of(progress: CounterDocument | None) -> str:
    """What is counted."""
    return tidy((progress and progress.get("unit")) or "items", 16)


def is_ended(job: NamedDocument) -> bool:
    return bool(job.get("state") == "ended")


def elapsed(job: JobDocument, now: float) -> float | None:
    """How long the job has run, or ran: an ended one is counted to its end, not to now."""
    began = words.moment(job.get("started") or job.get("submitted"))
    if began is None:
        return None
    until = words.moment(job.get("since")) if is_ended(job) else now
    return None if until is None else max(0.0, until - began)


def outcome(job: NamedDocument) -> str:
    """How an ended job ended: succeeded, failed with exit code 1, killed by SIGKILL, out of memory."""
    word = str(job.get("outcome") or "checking")
    told = {"unknown": "ended, outcome unknown", "completed": "completed, exit status unknown"}
    told["checking"] = "ended, still checking its files"
    said = told.get(word) or tidy(word.replace("_", " "), 40)
    if word in told or word in ("succeeded", "incomplete"):
        return said
    how = exit_words(job)
    return f"{said} ({how})" if how else said


def exit_words(thing: NamedDocument | WorkerDocument) -> str:
    """The recorded exit of a job or worker: exit code 1, SIGKILL, or nothing."""
    if (number := thing.get("signal")) is not None:
        return _SIGNALS.get(number, f"signal {number}")
    if thing.get("exit_code") is not None:
        return f"exit code {thing['exit_code']}"
    return ""


def state(job: JobDocument, now: float) -> str:
    """The state in words, with how long it has been true."""
    lasted = elapsed(job, now)
    match job.get("state"):
        case "ended":
            return outcome(job) + (f" after {words.span(lasted)}" if lasted is not None else "")
        case "running" if is_suspended(job.get("native")):
            ran = f" (started {words.span(lasted)} ago)" if lasted is not None else ""
            return f"suspended: it holds its nodes and does not run{ran}"
        case "running":
            standing = verdict_word(job)
            told = f"running, {standing}" if standing else "running"
            return told + (f" for {words.span(lasted)}" if lasted is not None and not standing else "")
        case "missing":
            return f"missing for {words.span(words.since(job.get('since'), now))}"
        case "waiting":
            reason = tidy(job.get("reason") or "", 100)
            word = "requeued, waiting" if (job.get("attempts") or 0) > 1 else "waiting"
            return f"{word}: {reason}" if reason else word
        case None:
            return "not polled yet"
        case other:
            return tidy(other, 40)


def unreachable(job: JobDocument, now: float) -> str:
    """That its host does not answer, since when, and how old what is shown is; nothing while it does."""
    outage = job.get("unreachable")
    return words.unreachable(outage["since"], outage["last_confirmed_at"], now) if outage else ""


def state_as_known(job: JobDocument, now: float) -> str:
    """The state in words, with what makes it doubtful: that its host is unreachable."""
    doubt = unreachable(job, now)
    return f"{state(job, now)}; {doubt}" if doubt else state(job, now)


def attempts(job: JobDocument) -> list[str]:
    """The attempts before the last one: how long each ran, where, and how it ended; nothing where there was one."""
    rows = job.get("history") or ()
    over = [row for row in rows if row.get("ended") and row["attempt"] != job.get("attempts")]
    return [attempt(row) for row in over]


def attempt(row: AttemptDocument | ReportAttemptDocument) -> str:
    """`attempt 1: requeued after 2s on gpu02`."""
    how = tidy(str(row.get("how") or row.get("outcome") or "ended").replace("_", " "), 40)
    ran = f" after {words.span(row['seconds'])}" if row.get("seconds") is not None else ""
    where = f" on {tidy(row['nodes'], 60)}" if row.get("nodes") else ""
    return f"attempt {row['attempt']}: {how}{ran}{where}"


def verdict_word(job: JobDocument) -> str:
    """The one word on whether it is stuck, where that is worth a word."""
    verdict = job.get("verdict")
    word = str((verdict and verdict.get("word")) or "working")
    return "" if word == "working" else tidy(word, 20)


def launch(job: JobDocument) -> str:
    """How the first minute went: what was seen and when, and what was not; nothing where nobody watched it."""
    found = job.get("launch")
    if not found or found.get("state") not in ("verifying", "verified", "unproven", "failed"):
        return ""
    if found["state"] == "failed":
        return f"failed: {tidy(found.get('text') or 'no reason is known', 300)}"
    parts = [
        f"{check['what']} {'within ' if check.get('within') else ''}"
        f"{words.span(check['seconds']) if (check['seconds'] or 0.0) >= 1 else 'at once'}"
        if check["ok"]
        else tidy(check.get("text") or f"no {check['what']}")
        for check in found.get("checks") or ()
    ]
    return f"{found['state']}: {', '.join(parts)}"


def is_bad(job: NamedDocument) -> bool:
    return is_ended(job) and job.get("outcome") not in (None, *WELL)


def eta(job: JobDocument, now: float, full: bool = True) -> str:
    """When it will be done, counted from the promised moment, so that silence cannot postpone it; or why nobody can
    say."""
    estimate = job.get("eta")
    if is_ended(job) or job.get("state") not in ("running", "missing"):
        return ""
    due = words.moment(estimate.get("at")) if estimate else None
    if not estimate or due is None:
        return no_eta(job, now)
    if due < now - 1:
        return f"overdue by {words.roughly(now - due)}, was expected at {words.clock(due, now)}"
    low = _left(estimate.get("low_at"), estimate.get("low_seconds"), now)
    high = _left(estimate.get("high_at"), estimate.get("high_seconds"), now)
    sure = estimate.get("confidence") if full else None
    share = "" if sure is None else f"{words.percent(sure, 0)} range "
    spread = "" if low is None or high is None else f" ({share}{words.between(low, high)})"
    left = f"{words.roughly(max(0.0, due - now))}{spread}"
    limit = words.moment(job.get("time_limit_at"))
    if limit is not None and limit < due:
        late = f"its time limit is at {words.due(limit, now)}, in {words.roughly(max(0.0, limit - now))}"
        return f"needs {left}, but {late}"
    return f"done in {left}, about {words.due(due, now)}"


def no_eta(job: JobDocument, now: float) -> str:
    """Why there is no estimate: stalled since 14:02, cannot finish: worker 2 exited; or that it is too early."""
    reason = tidy(job.get("no_eta_reason") or "", 80)
    verdict = job.get("verdict")
    since = words.moment(verdict.get("since")) if verdict else None
    if reason == "stalled" and since is not None:
        return f"stalled since {words.clock(since, now)}, no estimate"
    if reason in TOO_EARLY:
        return f"no estimate yet ({reason})"
    return f"{reason}, no estimate" if reason else "no estimate yet"


def _left(at: str | None, seconds: float | None, now: float) -> float | None:
    """The seconds to a promised moment; as they were promised, where the moment is not known."""
    passed = words.since(at, now)
    return max(0.0, -passed) if passed is not None else seconds


def where(job: JobDocument) -> str:
    """The nodes it runs or ran on, with their host; nothing for a job of this machine."""
    nodes = tidy(job.get("nodes") or "", 200)
    return f"{nodes} ({tidy(job.get('place') or '?', 40)})" if nodes else ""


def time_limit(job: JobDocument, now: float) -> str:
    """How much of its time limit a job has used, and when it meets it."""
    limit, meets = job.get("time_limit_seconds"), words.moment(job.get("time_limit_at"))
    ran = elapsed(job, now) if job.get("state") != "waiting" else None
    if limit is None and meets is not None and (began := words.moment(job.get("started"))) is not None:
        limit = meets - began
    if limit is None:
        return ""
    text = words.span(limit) if ran is None else f"{words.span(ran)} of {words.span(limit)}"
    if not is_ended(job) and meets is not None:
        text += f", ends at {words.due(meets, now)}"
    return text


def efficiency(job: JobDocument) -> str:
    """What a job used of what it asked for: CPU, memory, GPUs; before that is accounted for, what polls saw."""
    used = job.get("efficiency") or _seen_use(job.get("spent"))
    parts = [f"CPU {used['cpu_percent']:.0f} %" if words.known(used.get("cpu_percent")) else ""]
    if used.get("memory_bytes") is not None:
        asked, share = used.get("memory_requested_bytes"), used.get("memory_percent")
        memory = f"memory {words.size(used['memory_bytes'])}" + (f" of {words.size(asked)}" if asked else "")
        parts.append(memory + (f" ({share:.0f} %)" if words.known(share) else ""))
    parts.append(f"GPU {used['gpu_percent']:.0f} %" if words.known(used.get("gpu_percent")) else "")
    parts.append(f"GPU memory {words.size(used['gpu_memory_bytes'])}" if used.get("gpu_memory_bytes") else "")
    return ", ".join(part for part in parts if part)


def _seen_use(spent: SpentDocument | None) -> EfficiencyDocument:
    """What polls saw a job use: the most memory, and how busy its GPUs were on average."""
    if not spent:
        return cast("EfficiencyDocument", {})
    seconds = sum(spent.get("gpu_tenths_seconds") or ())
    busy = spent.get("gpu_busy_seconds")
    share = 100 * busy / seconds if busy is not None and seconds else None
    return cast("EfficiencyDocument", {"memory_bytes": spent.get("memory_peak_bytes"), "gpu_percent": share})


def throughput(job: JobDocument, full: bool = True) -> str:
    """Speed now and on average; of an ended job only the average still means something."""
    progress = job.get("progress")
    now = None if is_ended(job) or not progress else progress.get("rate")
    average = progress.get("rate_average") if progress else None
    if now is None and average is None:
        return ""
    return words.rates(now, average if full or now is None else None, unit(job))


def counts(progress: CounterDocument, unit_word: str) -> str:
    """1,234 of 5,000 images; or, where nobody said how many there are, 1,234 images, unknown total."""
    if progress.get("total"):
        return f"{words.count(progress['step'])} of {words.count(progress['total'])} {unit_word}"
    return f"{words.count(progress.get('step'))} {unit_word}, unknown total"


def output_total(files: Sequence[OutputDocument]) -> str:
    """All output files in one phrase."""
    if len(files) == 1:
        return f"{base(files[0]['path'])}  {output_size(files[0])}"
    total = sum(f.get("size") or 0 for f in files)
    grown = [growth for f in files if (growth := f.get("growth_per_minute")) is not None]
    text = f"{words.plural(len(files), 'file')}, {words.size(total)}"
    return f"{text}, {words.growth(sum(grown))}" if grown else text


def output_size(file: OutputDocument) -> str:
    """One output file's size and growth, and how long it has been still when that is long."""
    text = words.size(file.get("size"))
    if file.get("growth_per_minute") is not None:
        text += f", {words.growth(file['growth_per_minute'])}"
    if (records := file.get("records")) is not None:
        text += f", {words.plural(records, 'record')}"
    quiet = file.get("quiet_seconds")
    if (quiet or 0.0) >= 60:
        text += f", unchanged for {words.span(quiet)}"
    if file.get("verdict") == "damaged":
        text += f", damaged: {tidy(file.get('why') or '?', 80)}"
    return text


def base(path: str) -> str:
    return tidy((path or "?").rstrip("/").rsplit("/", 1)[-1], 80)


def checkpoints(found: CheckpointsDocument, now: float, ended: bool = False, confirmed_at: str | None = None) -> str:
    """How many checkpoints there are, when the last was saved and when the next is expected; one is overdue by what
    was last seen at `confirmed_at`, and not because nobody has looked since."""
    text = f"{words.count(found.get('count') or 0)}"
    if not found.get("newest_at"):
        return text if found.get("count") else "none yet"
    text += f", last {words.clock(found['newest_at'], now)} ({words.ago(found['newest_at'], now)})"
    if found.get("newest_iteration") is not None:
        text += f", iteration {words.count(found['newest_iteration'])}"
    if found.get("newest_verdict") == "damaged":
        text += ", damaged"
    due = words.moment(found.get("next_at"))
    if due is None or ended:
        return text
    slack = (found.get("interval_seconds") or 0) / 2  # intervals vary; half a one late is news
    looked = words.moment(confirmed_at) or now
    if due + slack < looked:
        return f"{text}, next overdue by {words.roughly(looked - due)}"
    return f"{text}, next about {words.due(due, now)}"


def resume(found: CheckpointsDocument, now: float) -> str:
    """The checkpoint to resume from: the newest that is known to be whole, and what is wrong with a newer one."""
    intact, newest = found.get("intact"), found.get("newest")
    text = ""
    if intact:
        text = base(intact)
        if found.get("intact_iteration") is not None:
            text += f" (iteration {words.count(found['intact_iteration'])})"
        text += f", intact, {words.ago(found['intact_at'], now)}"
    if found.get("newest_verdict") == "damaged":
        text += f"{'; ' if text else ''}{base(newest)} is damaged: {tidy(found.get('newest_why') or '?', 80)}"
    return text


def disk(found: DiskDocument) -> str:
    """Room on one disk; inodes only when they run out, because they seldom matter."""
    free, total = found.get("free"), found.get("total")
    text = f"{words.size(free)} free"
    if total:
        text += f" of {words.size(total)} ({words.percent((free or 0) / total, 0)})"
    text += f" at {tidy(found.get('path') or '?', 80)}"
    if _low_inodes(found):
        text += f", only {words.count(found['inodes_free'])} inodes left"
    if quota := found.get("quota"):
        text += f", {_quota(quota)} left of the {tidy(quota.get('who') or '?', 20)}'s quota"
    if found.get("full_in_seconds") is not None:
        text += f", full in {words.roughly(found['full_in_seconds'])}"
    return text


def gpu(found: GpuDocument) -> str:
    """One GPU in a line: what is known of it, and who else is on it."""
    if found.get("trouble"):
        return f"cannot be used: {tidy(found['trouble'], 80)}"
    used, total = found.get("memory_used_bytes"), found.get("memory_total_bytes")
    watts, limit = found.get("watts"), found.get("watts_limit")
    parts = [f"{found['percent']:.0f} %" if words.known(found.get("percent")) else ""]
    parts.append(words.size(used) + (f" of {words.size(total)}" if total else "") if used is not None else "")
    parts.append(f"{watts:.0f}{f' of {limit:.0f}' if limit else ''} W" if words.known(watts) else "")
    parts.append(f"{found['celsius']:.0f} °C" if words.known(found.get("celsius")) else "")
    parts.append(tidy(", ".join(found.get("throttle") or ()), 60))
    others = [one for one in found.get("processes") or () if one.get("ours") is False]
    parts.append(f"also {words.plural(len(others), 'process')} of other users" if others else "")
    slice_ = str(found.get("name") or "").partition(" MIG ")[2] if found.get("parent") else ""
    parts.append(f"MIG {tidy(slice_, 20)}" if slice_ else "")
    return ", ".join(part for part in parts if part) or "no readings"


def _quota(quota: QuotaDocument) -> str:
    """What is left of a quota: bytes, files, or both where both are limited."""
    parts = [f"{words.size(quota.get('free'))} of {words.size(quota['limit'])}"] if quota.get("limit") else []
    if quota.get("files") and (not parts or quota["files_free"] < LOW_SHARE * quota["files"]):
        parts.append(f"{words.count(quota['files_free'])} of {words.count(quota['files'])} files")
    return " and ".join(parts)


def is_low(found: DiskDocument) -> bool:
    return _low_inodes(found) or _low_bytes(found.get("free"), found.get("total")) or _low_quota(found.get("quota"))


def _low_bytes(free: float | None, total: float | None) -> bool:
    return free is not None and (free < LOW_BYTES or free < LOW_SHARE * (total or 0))


def _low_quota(quota: QuotaDocument | None) -> bool:
    if not quota:
        return False
    few = quota["files_free"] < LOW_SHARE * quota["files"]
    return few or (bool(quota["limit"]) and _low_bytes(quota["free"], quota["limit"]))


def _low_inodes(found: DiskDocument) -> bool:
    inodes: float | None = found.get("inodes")
    free: float | None = found.get("inodes_free")
    return free is not None and free < LOW_SHARE * (inodes or 0)


def findings(jobs: Sequence[JobDocument]) -> list[tuple[JobDocument, FindingDocument]]:
    """Every open finding with its job: the worst first, the newest of equals first."""
    found = [(job, finding) for job in jobs for finding in job.get("findings") or ()]
    found.sort(key=lambda pair: pair[1].get("since") or "", reverse=True)
    return sorted(found, key=lambda pair: _rank(str(pair[1].get("level"))))


def finding(found: FindingDocument) -> str:
    return tidy(found.get("text") or found.get("rule") or "?")


def _rank(level: str) -> int:
    return words.LEVELS.index(level) if level in words.LEVELS else len(words.LEVELS)


def confirmed(view: View, now: float) -> tuple[str, bool]:
    """Since when the shown is known and by whom, and whether that must be said loudly."""
    last, by = _last_evidence(view)
    when = words.ago(last, now) if last else "never"
    if view.jobs and all(is_ended(job) for job in view.jobs):
        return f"confirmed {when}{by}", False
    if not view.watch.get("alive"):
        return f"no watcher is running - last confirmed {when}", True
    passed = words.since(last, now)
    if passed is None:
        return "waiting for the first poll", False
    if passed > STALE_SECONDS:
        return f"not confirmed for {words.span(passed)}: what is shown is old", True
    return f"confirmed {when}{by}", False


def _last_evidence(view: View) -> tuple[str | None, str]:
    """The oldest of the evidence that matter: a view is only as fresh as its stalest living job."""
    live = [job for job in view.jobs if not is_ended(job)] or list(view.jobs)
    if not live or any(not job.get("confirmed_at") for job in live):
        return None, ""
    stalest = min(live, key=lambda job: words.moment(job["confirmed_at"]) or 0.0)
    names = list(dict.fromkeys(evidence_source(evidence) for evidence in stalest.get("evidence") or ()))
    return str(stalest["confirmed_at"]), f" by {' and '.join(names[:2])}" if names else ""


def evidence_source(evidence: EvidenceDocument) -> str:
    """Who says so: the process table, a scheduler."""
    name = tidy(evidence.get("by") or "?", 40)
    return f"the {name}" if name[:1].islower() and not name.startswith("the ") else name


def unreachable_hosts(places: Sequence[PlaceDocument], now: float) -> list[str]:
    """One loud sentence for each place that does not answer."""
    return [
        f"{tidy(place.get('name') or '?', 40)} is unreachable since {words.clock(place['unreachable_since'], now)} "
        f"({words.span(words.since(place['unreachable_since'], now))}): "
        f"{tidy(place.get('unreachable_why') or 'no answer', 120)}"
        for place in places
        if place.get("unreachable_since")
    ]


def event(document: EventDocument, jobs: Sequence[JobDocument]) -> str:
    """An event's text, with the name of its job where several are watched."""
    text = tidy(document.get("text") or document.get("kind") or "?")
    if len(jobs) < 2 or not document.get("ref"):
        return text
    names: dict[Any, str] = {job.get("ref"): title(job) for job in jobs}
    return f"{names.get(document['ref']) or tidy(document['ref'], 60)}: {text}"


def diagnosis(found: DiagnosisDocument) -> str:
    """What most likely happened, and how sure that is."""
    return cause(found["cause"], found["title"], found["confidence"])


def cause(name: str | None, title: str, confidence: float | None) -> str:
    """A cause in words, and how sure it is."""
    if name == "unknown":
        return "cause not found"
    return f"{tidy(title or '?')} ({tidy(name or '?', 40)}, {words.percent(confidence, 0)} confidence)"


def quote(shown: QuoteDocument) -> str:
    """A line that shows a cause, with where it stands."""
    text = tidy(shown.get("text") or "", 300)
    if shown.get("line") is None:
        return text
    return f"{tidy(str(shown.get('file') or '').rpartition('/')[2], 80)}:{shown['line']}: {text}"


def alternatives(found: DiagnosisDocument) -> list[str]:
    """What else it may have been, as far as that is worth saying."""
    others = found.get("alternatives") or ()
    return [alternative(other) for other in others if other["confidence"] >= WORTH_SAYING]


def alternative(other: AlternativeDocument) -> str:
    """Another cause that the evidence leaves open, and what would tell."""
    tell = f"; check: {tidy(other['tell'], 160)}" if other.get("tell") else ""
    return f"{tidy(other.get('cause') or '?', 40)}: {tidy(other.get('title') or '')}{tell}"
