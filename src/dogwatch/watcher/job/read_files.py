"""Reading: what the files of a job said since the last poll, taken into its memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dogwatch.logs.attempt_start import attempt_start
from dogwatch.logs.last_line import kind
from dogwatch.logs.reader import Reader, Reading
from dogwatch.logs.timeline import Moment, timeline
from dogwatch.logs.user import UserPatterns
from dogwatch.model import Finished, Interval, Job, Step, Trouble
from dogwatch.watcher.job.log_evidence import LogEvidence
from dogwatch.watcher.job.memory import Memory
from dogwatch.watcher.job.state import silence
from dogwatch.watcher.job.state.files import MOST_CHECKPOINTS, take_checkpoints, take_outputs
from dogwatch.watcher.job.state.log import LogCursor, names, note_early_stop
from dogwatch.watcher.job.state.silence import SIGNS, SignsOfLife
from dogwatch.watcher.job.worker_logs import number_of

OTHERS = 1.0  # seconds before a job's beginning at which a log that it writes may have been written last
OTHER_CLOCKS = 60.0  # the same where a scheduler tells the beginning, and a file server the time of the log
MOST_LOGS = 256
MOST_MIXED = 4
JUST_BEGUN = 120.0  # seconds of watching within which a log that is new to us may have been there before


@dataclass(slots=True)
class News:
    """What was new in one look at a job's files."""

    steps: dict[str, Step] = field(default_factory=dict)
    items: dict[str, Step] = field(default_factory=dict)  # where a log counts items beside what tells its progress
    metrics: dict[str, float] = field(default_factory=dict)
    phase: str = ""
    finished: Finished | None = None
    claims: dict[str, str] = field(default_factory=dict)  # logs that say last of all that the work is done
    troubles: list[tuple[str, Trouble]] = field(default_factory=list)  # each with the log that it stands in
    new_checkpoints: list[str] = field(default_factory=list)
    log_grew: bool = False
    output_grew: bool = False
    checkpoint_grew: bool = False
    unreadable: dict[str, str] = field(default_factory=dict)
    gaps: list[dict[str, Any]] = field(default_factory=list)
    told: dict[str, list[Moment]] = field(default_factory=dict)
    written: dict[str, float] = field(default_factory=dict)
    last: str = ""  # the kind of line at which a log that grew now stands
    grew_at: float | None = None  # by the place's clock, the newest write to a log that grew
    broken: set[str] = field(default_factory=set)
    intervals: dict[Interval, None] = field(default_factory=dict)
    said: News | None = None  # by all logs together, where this poll found them as they were

    def ages(self, at: float) -> dict[str, float]:
        """How long before this moment each log was last written."""
        return {log: max(0.0, at - written) for log, written in self.written.items()}

    def first_step_age(self, at: float) -> float | None:
        """How long before this moment the first step was, by the times in the logs that count for the first time."""
        ages = self.ages(at)
        return max((ages[log] + told[-1][0] - told[0][0] for log, told in self.told.items() if told), default=None)


class Readers:
    """The open readers of one job's logs; each is rebuilt from the job's memory where another watcher began it."""

    def __init__(self, patterns: UserPatterns | None, memory: Memory | None = None) -> None:
        self.patterns = patterns
        self._readers: dict[str, Reader] = {}
        self.log_evidence = LogEvidence(None if memory is None else memory.log)
        self.said: News | None = None  # by all of them together, as long as none has read more
        self._kept = False

    def of(self, path: str, memory: Memory) -> Reader:
        if path not in self._readers:
            saved = memory.log.readers.get(path)
            self._readers[path] = Reader.restore(saved, self.patterns) if saved else Reader(self.patterns)
        return self._readers[path]

    def keep(self, memory: Memory) -> None:
        """Put into the memory what it takes to go on, of the logs that are still there, unless it is there already."""
        if self._kept:
            return
        self._kept = True
        wanted = names(memory.log)
        self._readers = {path: reader for path, reader in self._readers.items() if path in wanted}
        kept = {path: state for path, state in memory.log.readers.items() if path in wanted}
        memory.log.readers = kept | {path: reader.state() for path, reader in self._readers.items()}
        self.log_evidence.keep(memory)

    def begin_attempt(self) -> None:
        """What was heard so far was said by an attempt that is over."""
        self._kept = False
        self.log_evidence.begin_attempt()

    def read_on(self) -> None:
        """There is more to read: what they said and what was kept of them is out of date."""
        self.said, self._kept = None, False


@dataclass(frozen=True, slots=True)
class Beginning:
    """When the attempt began whose logs are read, by its place; `anew` where the same poll shows that the one before is
    over, so that what that wrote last comes with what this wrote first. Nobody else writes to a log with its `own`
    id."""

    at: float
    writes_from: float  # the time before which it has surely written nothing
    anew: bool = False
    own: str = ""


def read_logs(
    memory: Memory, readers: Readers, answer: Mapping[str, Any], news: News, since: Beginning | None = None
) -> None:
    """Take the new bytes of every log into account, once; where nothing is new, what they said stands. A rotated file
    is the earlier part of the log that now has its name: one reader reads both, the older bytes first. A log that
    was last written before the job (`since`) was written by others."""
    news.unreadable.update(answer.get("unreadable") or {})
    for path in answer.get("gone") or ():
        memory.log.cursors.pop(path, None)
        memory.progress.steps.pop(path, None)
    if answer.get("same"):
        readers.said = news.said = readers.said or _said(memory, readers)
        return _add(readers.said, news)
    news.said = None
    readers.read_on()
    for path in answer.get("unchanged") or ():
        if path in memory.log.cursors:
            log = memory.log.cursors[path].get("part_of") or path
            _take(readers.of(log, memory).feed(b""), log, news)
    files = answer.get("files", {})
    for path in sorted(files, key=lambda path: "rotated_from" not in files[path]):
        found = files[path]
        known = memory.log.cursors.get(path, {})
        if found.get("stale"):
            memory.log.cursors[path] = {**known, "stale_seen": True}
        elif (
            not known
            and since is not None
            and found["mtime"] < since.writes_from
            and len(memory.log.cursors) < MOST_LOGS
        ):
            _pass_over(memory, readers, path, found)
        elif known or len(memory.log.cursors) < MOST_LOGS:
            log = found.get("rotated_from") or known.get("part_of") or path
            own = found if since is None else _own_part(memory, readers, path, log, found, since)
            _read_log(memory, readers, path, log, own, news)
    memory.log.intervals = list(news.intervals) or memory.log.intervals


def read_last_lines(memory: Memory, readers: Readers, logs: Iterable[str], news: News) -> None:
    """Read the last line of logs to which nobody writes any more, also where it has no line end: a progress bar leaves
    its last state so."""
    for log in logs:
        if (reader := readers.of(log, memory)).has_open_line:
            news.said = None
            readers.read_on()
            _take(reader.end_line(), log, news)


def _said(memory: Memory, readers: Readers) -> News:
    """What all logs of a job say now."""
    news = News()
    for path, cursor in sorted(memory.log.cursors.items()):
        log = cursor.get("part_of", path)
        _take(readers.of(log, memory).feed(b""), log, news)
    return news


def _add(said: News, news: News) -> None:
    news.steps.update(said.steps)
    news.items.update(said.items)
    news.metrics.update(said.metrics)
    news.phase = said.phase or news.phase
    news.finished = said.finished or news.finished
    news.claims.update(said.claims)


def _pass_over(memory: Memory, readers: Readers, path: str, found: Mapping[str, Any]) -> None:
    """A log that nobody has written to since the job began: only its lines are counted."""
    text = found.get("text", "").encode("latin-1", "replace")
    readers.log_evidence.hear(path, text, found["from"], bool(found.get("skipped")))
    readers.log_evidence.begin_attempt(path)
    end = found["from"] + len(text)
    memory.log.cursors[path] = _cursor(found, end)
    if memory.attempts:
        memory.attempts[-1]["logs"][path] = end


def _own_part(
    memory: Memory, readers: Readers, path: str, log: str, found: Mapping[str, Any], since: Beginning
) -> Mapping[str, Any]:
    """What is new in a log without what others wrote to it before the attempt. Where nothing tells it apart, that is
    noted, unless the log appeared while somebody watched; it is `mixed` if the file is older than the attempt."""
    known = path in memory.log.cursors
    shared = since.anew or not (known or _bears(path, since.own))
    if not shared or found.get("reset") or not found.get("text"):
        return found
    text = found["text"].encode("latin-1", "replace")
    place = attempt_start(text, since.at, found["mtime"])
    going = [row for row in memory.attempts[-1:] if row["ended"] is None]  # one that waits has written nothing yet
    if place is None:
        for row in going if since.anew or memory.age < JUST_BEGUN else ():
            row["mixed"] = [*row.get("mixed", ()), log][-MOST_MIXED:]
        if (found.get("born") or since.at) < since.writes_from:
            return {**found, "mixed": True}
    if not place:
        return found
    readers.log_evidence.hear(log, text[:place], found["from"], bool(found.get("skipped")))
    readers.log_evidence.begin_attempt(log)
    for row in going:
        row["logs"][path] = found["from"] + place
    return {**found, "text": found["text"][place:], "from": found["from"] + place, "opening": "", "skipped": 0}


def _bears(path: str, id: str) -> bool:
    """Whether an id stands in the path by itself."""
    return bool(id) and re.search(rf"(?<![0-9A-Za-z]){re.escape(id)}(?![0-9A-Za-z])", path) is not None


def _read_log(memory: Memory, readers: Readers, path: str, log: str, found: Mapping[str, Any], news: News) -> None:
    text, opening = (found.get(key, "").encode("latin-1", "replace") for key in ("text", "opening"))
    reader, counted = readers.of(log, memory), len(news.troubles)
    if found["from"] == 0 or found.get("skipped"):
        _take(reader.end_line(), log, news)
    if opening:
        _take(reader.feed(opening), log, news)
    tail = _after_line_end(text) if found.get("skipped") else text
    _take(reader.feed(tail), log, news)
    if found.get("mixed"):
        del news.troubles[counted:]  # they may be another run's: none of them is told as this one's
    readers.log_evidence.hear(log, text, found["from"], bool(found.get("skipped")))
    news.log_grew |= bool(text)
    if text:
        news.last = kind(text) or news.last
        news.grew_at = max(found["mtime"], news.grew_at if news.grew_at is not None else found["mtime"])
    note_early_stop(memory.log, (opening, text))
    _note_gap(path, found, path in memory.log.cursors, news)
    if log in news.steps and log not in memory.progress.steps:
        news.told[log], news.written[log] = timeline([opening, b"\n", tail], readers.patterns), found["mtime"]
    memory.log.seen = True
    cursor = memory.log.cursors[path] = _cursor(found, found["from"] + len(text))
    if log != path:
        cursor["part_of"] = log


def _cursor(found: Mapping[str, Any], offset: int) -> LogCursor:
    return LogCursor(dev=found["dev"], ino=found["ino"], head=found["head"], headlen=found["headlen"], offset=offset)


def _after_line_end(text: bytes) -> bytes:
    """Without the fragment of a line that stands where reading was taken up again."""
    ends = [at for at in (text.find(b"\n"), text.find(b"\r")) if at >= 0]
    return text[min(ends) + 1 :] if ends else b""


def _note_gap(path: str, found: Mapping[str, Any], known: bool, news: News) -> None:
    """What was not read, or may have been lost, is told: no line is passed over in silence."""
    if found.get("reset") in ("truncated", "replaced"):
        news.gaps.append({"path": path, "why": found["reset"], "bytes": None})
    if found.get("skipped"):
        news.gaps.append({"path": path, "why": "backlog" if known else "long", "bytes": found["skipped"]})


def _take(reading: Reading, path: str, news: News) -> None:
    if reading.step is not None:
        news.steps[path] = reading.step
        if reading.items is not None:
            news.items[path] = reading.items
    news.metrics.update(reading.metrics)
    news.broken.update(reading.broken)
    news.phase = reading.phase or news.phase
    news.finished = reading.finished or news.finished
    if reading.finished is not None and reading.phase == "finished":
        news.claims[path] = reading.finished.text
    else:
        news.claims.pop(path, None)
    news.troubles.extend((path, trouble) for trouble in reading.troubles)
    news.intervals.update(dict.fromkeys(reading.intervals))


def read_files(memory: Memory, answer: Mapping[str, Any], mono: float, news: News) -> None:
    """Take sizes of outputs and the appearance of checkpoints into account, by change between polls."""
    news.output_grew |= take_outputs(memory.files, answer.get("outputs", ()), mono)
    saved = answer.get("checkpoints", ())
    new, written = take_checkpoints(memory.files, saved)
    news.new_checkpoints += new
    if written or any(_changed_inside(memory, entry) for entry in saved[-MOST_CHECKPOINTS:]):
        news.checkpoint_grew = not memory.produced.weak


def _changed_inside(memory: Memory, entry: Mapping[str, Any]) -> bool:
    """Whether a file in a checkpoint that is a folder has changed since it was last looked into."""
    known = memory.produced.checkpoints.get(entry["path"])
    return known is not None and known["mark"][2:] != entry.get("inside", known["mark"][2:])


def is_quiet(news: News) -> bool:
    """Whether the files said nothing that was not known."""
    return not (news.log_grew or news.output_grew or news.checkpoint_grew or news.unreadable)


def signs_of_life(memory: Memory, news: News, job: Job, counted: bool) -> SignsOfLife:
    """What a poll shows of the life of a job; `counted` is whether its counter moved."""
    saves = bool(memory.files.checkpoints) and not memory.produced.weak
    shown = (bool(job.expect.logs), bool(memory.files.outputs), saves, bool(memory.progress.steps))
    moved = (news.log_grew, news.output_grew, news.checkpoint_grew, counted)
    return SignsOfLife(
        frozenset(what for what, there in zip(SIGNS, shown, strict=True) if there),
        frozenset(what for what, moves in zip(SIGNS, moved, strict=True) if moves),
        news.phase,
        news.last,
        news.grew_at,
    )


def pass_time(memory: Memory, watched: float, news: News, job: Job, moved: bool, at: float = 0.0) -> None:
    """Let the seconds pass for which we really looked, in which the counter `moved` or stood."""
    memory.age += watched
    signs = signs_of_life(memory, news, job, moved)
    silence.pass_time(memory.silence, signs, watched, at)
    if signs.moved:
        memory.usage.end_silence()


def pass_quietly(memory: Memory, watched: float) -> None:
    """The same for a job whose files said nothing new, as they had before."""
    memory.age += watched
    silence.pass_quietly(memory.silence, watched)


def worker_of(path: str, listed: Mapping[str, int]) -> int | None:
    """Which worker writes this log: by the run's own list, else by the number that its name tells."""
    return listed[path] if path in listed else number_of(path)
