"""Why: the diagnosis of a job that ended, or of logs that somebody names with whatever else they know."""

from __future__ import annotations

import os
import re
import shlex
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from dogwatch.api import decision_tree, read
from dogwatch.api.log_file import pieces
from dogwatch.api.logs import Reading, Tail
from dogwatch.diagnosis import Evidence, Log, diagnose
from dogwatch.diagnosis.document import document
from dogwatch.diagnosis.line_collector import BLOCK
from dogwatch.errors import CouldNotPoll, UsageError
from dogwatch.model.outcome import GOOD
from dogwatch.redaction import redacted
from dogwatch.sources import kind_of
from dogwatch.text import plain
from dogwatch.transport.interface import Transport

if TYPE_CHECKING:
    from dogwatch.wire.documents.answers import FamilyAnswer
    from dogwatch.wire.documents.case import Case
    from dogwatch.wire.documents.diagnosis import DiagnosisDocument, QuoteDocument, StackDocument, WhyDocument
    from dogwatch.wire.documents.job import JobDocument

MOST_LAST_WORDS = MOST_FALLEN = 2
LAST_LINES = 20_000  # of each log that are read for a job whose watcher heard nothing


def of_logs(
    paths: Sequence[str],
    exit_code: int | None = None,
    signal_number: int | None = None,
    state: str = "",
    from_line: int = 1,
) -> DiagnosisDocument:
    """The diagnosis of one attempt that wrote these logs; CouldNotLook when one of them cannot be read.
    With `from_line`, what stands above that line was written by somebody else and does not count. Where nobody says how
    it ended, the logs' own words on that are asked: all that finished have no cause, and one that failed has one. An
    exit code of 0 is not the last word either: a program may abort with it, and its log then ends with why."""
    ends = {path: read.Tail(from_line) for path in paths}
    logs = tuple(Log(path, _kept(_from(pieces(path), from_line), ends[path]), from_line) for path in paths)
    clean = exit_code == 0 and signal_number is None and not state
    found = diagnose(Evidence(logs, None if clean else exit_code, signal_number, state=state))
    if clean:
        finished = any(read.ending(end) == "finished" for end in ends.values())
        return document(None if finished or found is None or found.cause == "unknown" else found)
    if exit_code is not None or signal_number is not None or state:
        return document(found)
    said = {path: read.ending(end) for path, end in ends.items()}
    if set(said.values()) == {"finished"}:
        return document(None)
    if found is None or found.cause == "unknown":
        failed = tuple(
            Log(path, (b"".join(ends[path]),), ends[path].first_line) for path in said if said[path] == "failed"
        )
        found = diagnose(Evidence(failed, succeeded=False)) if failed else None
        return _with_last_words(document(found), failed)
    return document(found)


def _kept(stream: Iterable[bytes], end: read.Tail) -> Iterator[bytes]:
    """The stream, of which the end is kept, in blocks: of one that is all telling lines only so many are read, and a
    log may be nothing else."""
    block = bytearray()
    for piece in stream:
        end.keep(piece)
        block += piece
        if len(block) >= BLOCK:
            yield bytes(block)
            block.clear()
    yield bytes(block)


def has_failed(job: JobDocument) -> bool:
    return bool(job["state"] == "ended" and job["outcome"] not in (None, *GOOD, "cancelled"))


def is_settled(job: JobDocument) -> bool:
    """Whether what is known of a job answers the question without another look at its logs: a root error does, a
    consequence may have its root in a part that was passed over while the log grew too fast."""
    told = job.get("diagnosis")
    plain = told is not None and told["cause"] != "unknown" and told["role"] == "root"
    lost = job["native"] == "lost"  # what answers in its place is another machine
    return job["state"] != "ended" or job["outcome"] in (None, *GOOD) or plain or lost


def of_job(
    job: JobDocument,
    tails: Sequence[Tail] = (),
    processes: Sequence[StackDocument] | None = None,
    family: FamilyAnswer | None = None,
    fallen: Mapping[int, DiagnosisDocument] | None = None,
) -> WhyDocument:
    """The diagnosis of a job: what the watcher concluded at its end, or what the ends of its logs say; of one that has
    not ended, where it stands, its processes if they were asked, and why workers of it have `fallen`."""
    if job["state"] != "ended":
        known: Case = {**job, "fallen": dict(fallen or {}), "family": family or {}}
        stands = decision_tree.document(known, processes)
        where = answer(document(None), f"it has not ended; {stands['says']}")
        where["advice"], where["standing"] = stands["do"], stands
        where["unreachable"] = job["unreachable"]
        return where
    return answer(_of_ended(job, tails))


def answer(found: DiagnosisDocument, title: str = "") -> WhyDocument:
    """A diagnosis to which more may be added."""
    whole = cast("WhyDocument", {**found})
    whole["title"] = title or whole["title"]
    return whole


def _of_ended(job: JobDocument, tails: Sequence[Tail]) -> DiagnosisDocument:
    """What the watcher concluded at the end of a job, or what the ends of its logs say."""
    if (title := _title(job)) and (job["outcome"] != "incomplete" or not job["diagnosis"]):
        return {**document(None), "title": title}
    told = job["diagnosis"]
    if is_settled(job) or not tails:
        return told or _nothing(job)
    command_id, outcome = kind_of(job["source"]).command_id(str(job["id"])), str(job["ended_as"])
    logs = tuple(sorted((_own_part(tail, job) for tail in tails), key=_of_a_failed_task(job), reverse=True))
    evidence = Evidence(
        logs,
        exit_code=job["exit_code"],
        signal=job["signal"],
        state=outcome if command_id and outcome not in ("unknown", "failed") else "",
        reason=job["reason"] or "",
        succeeded=None if outcome == "unknown" else False,
        oom_kills=1 if outcome == "out_of_memory" else 0,
        command_id=command_id,
    )
    found = document(diagnose(evidence))
    better = found["cause"] not in (None, "unknown") and (
        told is None or told["cause"] == "unknown" or found["role"] == "root"
    )
    best = found if better or told is None else told
    if best["cause"] is None:
        return _nothing(job)
    if best["cause"] != "unknown" or any(quote["file"] for quote in best["evidence"]):
        return best
    where = f"dogwatch logs {shlex.quote(str(job['name']))}"
    advice = f"run the commands shown with the likely causes, or read its logs: {where}"
    return {**_with_last_words(best, logs), "advice": [advice]}


def _of_a_failed_task(job: JobDocument) -> Callable[[Log], bool]:
    """Whether a log is that of an array's task that failed, by the number at the end of its name (slurm-12_3.out)."""
    rows = job["tasks"]["rows"] if job["tasks"] is not None else ()
    failed = {int(row["id"]) for row in rows if row["id"].isdecimal() and row["outcome"] not in (None, *GOOD)}
    return lambda log: bool((ends := re.findall(r"\d+", os.path.basename(log.name))) and int(ends[-1]) in failed)


def _nothing(job: JobDocument) -> DiagnosisDocument:
    """The answer where no error explains the ending."""
    why = plain(str(job["reason"]), 400) if job["reason"] else "no sign of a failure"
    return {**document(None), "title": f"it ended, outcome {job['outcome']}: {why}"}


def _title(job: JobDocument) -> str:
    """The answer for an outcome that no error explains; empty for a failure."""
    why = plain(str(job["reason"]), 400) if job["reason"] else ""
    match job["outcome"]:
        case None:
            return "it has ended; its files are still being checked"
        case "succeeded":
            against = [plain(one["text"], 300) for one in job["findings"] if one["rule"] == "contradiction"]
            return "; but ".join(["it succeeded", *against])
        case "completed":
            return f"it completed, exit status unknown: {why}"
        case "incomplete":
            return f"it ended incomplete: {why}"
        case "unknown" if job["ended_as"] == "succeeded":
            return f"it ended, outcome unknown: {why}"
    return ""


def _with_last_words(found: DiagnosisDocument, logs: Sequence[Log]) -> DiagnosisDocument:
    """An answer that quotes no log, with the last line of some, which is where anybody would look next."""
    if any(quote["file"] for quote in found["evidence"]):
        return found
    said = [quote for log in logs[:MOST_LAST_WORDS] if (quote := _last_line(log)) is not None]
    return {**found, "evidence": [*found["evidence"], *said]}


def _last_line(log: Log) -> QuoteDocument | None:
    (raw,) = log.pieces
    text = raw.rstrip()
    if not text:
        return None
    line = None if log.first_line is None else log.first_line + text.count(b"\n")
    last = re.split(rb"[\r\n]", text)[-1].decode("utf-8", "replace")
    return {"file": log.name, "line": line, "text": redacted(plain(last.strip(), 400))}


def fallen(transport: Transport, job: JobDocument, deadline: float) -> dict[int, DiagnosisDocument]:
    """Why workers of a job that goes on have ended badly, each by the end of its own log."""
    lost = [one for one in job.get("workers") or () if one.get("log") and one["outcome"] not in (None, "succeeded")]
    found = {}
    for worker in lost[:MOST_FALLEN]:
        try:
            tails = Reading(transport, job, worker["index"], deadline).tails(LAST_LINES)
        except (CouldNotPoll, UsageError):
            continue
        logs = tuple(_own_part(tail, job) for tail in tails)
        kills = 1 if worker["outcome"] == "out_of_memory" else 0
        ended = Evidence(logs, worker["exit_code"], worker["signal"], succeeded=False, oom_kills=kills, command_id="")
        found[worker["index"]] = document(diagnose(ended))
    return found


def _own_part(tail: Tail, job: JobDocument) -> Log:
    """The end of a log, without what others had written there before this attempt began."""
    starts = job["history"][-1]["logs"] if job["history"] else {}
    top = tail.offset - len(tail.raw)
    cut = starts.get(tail.path, 0) - top
    if not 0 < cut <= len(tail.raw):
        return Log(tail.path, [tail.raw], 1 if top == 0 else None)
    return Log(tail.path, [tail.raw[cut:]], 1 + tail.raw.count(b"\n", 0, cut) if top == 0 else None)


def signal_of(text: str) -> int:
    """The number of a signal that was given as 9, KILL or SIGKILL."""
    if text.isdigit() and 0 < int(text) < 65:
        return int(text)
    name = text.upper()
    try:
        return int(signal.Signals[name if name.startswith("SIG") else f"SIG{name}"])
    except KeyError:
        raise UsageError(f"--signal takes a number or a name like KILL or SIGTERM, not {text!r}") from None


def _from(stream: Iterable[bytes], line: int) -> Iterator[bytes]:
    """The stream without the lines above `line`."""
    skip = line - 1
    for piece in stream:
        if skip <= 0:
            yield piece
            continue
        count = piece.count(b"\n")
        if count < skip:
            skip -= count
            continue
        at = -1
        for _ in range(skip):
            at = piece.index(b"\n", at + 1)
        skip = 0
        yield piece[at + 1 :]
