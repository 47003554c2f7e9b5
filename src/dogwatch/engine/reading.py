"""Reading: what the files of a job said since the last look, taken into its memory."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dogwatch.engine.hearing import Hearing
from dogwatch.engine.memory import Memory, grow
from dogwatch.engine.streams import number_of
from dogwatch.estimate.patience import STEADY
from dogwatch.logs.begun import begun
from dogwatch.logs.last_line import kind
from dogwatch.logs.reader import Reader, Reading
from dogwatch.logs.timeline import Moment, timeline
from dogwatch.logs.user import UserPatterns
from dogwatch.model import Finished, Interval, Job, Step, Trouble

OTHERS = 1.0  # seconds before a job's beginning at which a log that it writes may have been written last
OTHER_CLOCKS = 60.0  # the same where a scheduler tells the beginning, and a file server the time of the log
MOST_LOGS = 256
MOST_MIXED = 4
JUST_BEGUN = 120.0  # seconds of watching within which a log that is new to us may have been there before
MOST_OUTPUTS = 512
MOST_CHECKPOINTS = 512
# As people, Keras, Lightning and boosted trees write it, whatever the case of its first letter.
EARLY_STOP = (b"arly stop", b"arly-stop", b"arly_stop", b"arlyStop", b"arlystop", b"ARLY STOP", b"ARLY_STOP")


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
    said: News | None = None  # by all logs together, where this look found them as they were

    def ages(self, at: float) -> dict[str, float]:
        """How long before this moment each log was last written."""
        return {log: max(0.0, at - written) for log, written in self.written.items()}


class Readers:
    """The open readers of one job's logs; each can be rebuilt from the job's memory."""

    def __init__(self, patterns: UserPatterns | None) -> None:
        self.patterns = patterns
        self._readers: dict[str, Reader] = {}
        self.hearing = Hearing()
        self.said: News | None = None  # by all of them together, as long as none has read more
        self._kept = False

    def of(self, path: str, memory: Memory) -> Reader:
        if path not in self._readers:
            saved = memory.readers.get(path)
            self._readers[path] = Reader.restore(saved, self.patterns) if saved else Reader(self.patterns)
        return self._readers[path]

    def keep(self, memory: Memory) -> None:
        """Put into the memory what it takes to go on, of the logs that are still there, unless it is there already."""
        if self._kept:
            return
        self._kept = True
        wanted = {cursor.get("part_of", path) for path, cursor in memory.logs.items()}
        self._readers = {path: reader for path, reader in self._readers.items() if path in wanted}
        memory.readers = {path: reader.state() for path, reader in self._readers.items()}
        self.hearing.keep(memory)

    def begin_attempt(self) -> None:
        """What was heard so far was said by an attempt that is over."""
        self._kept = False
        self.hearing.begin_attempt()

    def read_on(self) -> None:
        """There is more to read: what they said and what was kept of them is out of date."""
        self.said, self._kept = None, False


@dataclass(frozen=True, slots=True)
class Beginning:
    """When the attempt began whose logs are read, by its place; `anew` where the same look shows that the one before is
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
        memory.logs.pop(path, None)
        memory.steps.pop(path, None)
    if answer.get("same"):
        readers.said = news.said = readers.said or _said(memory, readers)
        return _add(readers.said, news)
    news.said = None
    readers.read_on()
    for path in answer.get("unchanged") or ():
        if path in memory.logs:
            log = memory.logs[path].get("part_of") or path
            _take(readers.of(log, memory).feed(b""), log, news)
    files = answer.get("files", {})
    for path in sorted(files, key=lambda path: "rotated_from" not in files[path]):
        found = files[path]
        known = memory.logs.get(path, {})
        if found.get("stale"):
            memory.logs[path] = {**known, "stale_seen": True}
        elif not known and since is not None and found["mtime"] < since.writes_from and len(memory.logs) < MOST_LOGS:
            _pass_over(memory, readers, path, found)
        elif known or len(memory.logs) < MOST_LOGS:
            log = found.get("rotated_from") or known.get("part_of") or path
            own = found if since is None else _own_part(memory, readers, path, log, found, since)
            _read_log(memory, readers, path, log, own, news)
    memory.intervals = list(news.intervals) or memory.intervals


def _said(memory: Memory, readers: Readers) -> News:
    """What all logs of a job say now."""
    news = News()
    for path, cursor in sorted(memory.logs.items()):
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
    readers.hearing.hear(path, text, found["from"], bool(found.get("skipped")), memory)
    readers.hearing.begin_attempt(path)
    memory.logs[path] = {key: found[key] for key in ("dev", "ino", "head", "headlen")}
    end = memory.logs[path]["offset"] = found["from"] + len(text)
    if memory.attempts:
        memory.attempts[-1]["logs"][path] = end


def _own_part(
    memory: Memory, readers: Readers, path: str, log: str, found: Mapping[str, Any], since: Beginning
) -> Mapping[str, Any]:
    """What is new in a log without what others wrote to it before the attempt. Where nothing tells it apart, that is
    noted, unless the log appeared while somebody watched."""
    known = path in memory.logs
    shared = since.anew or not (known or _bears(path, since.own))
    if not shared or found.get("reset") or not found.get("text"):
        return found
    text = found["text"].encode("latin-1", "replace")
    place = begun(text, since.at, found["mtime"])
    going = [row for row in memory.attempts[-1:] if row["ended"] is None]  # one that waits has written nothing yet
    if place is None:
        for row in going if since.anew or memory.age < JUST_BEGUN else ():
            row["mixed"] = [*row.get("mixed", ()), log][-MOST_MIXED:]
    if not place:
        return found
    readers.hearing.hear(log, text[:place], found["from"], bool(found.get("skipped")), memory)
    readers.hearing.begin_attempt(log)
    for row in going:
        row["logs"][path] = found["from"] + place
    return {**found, "text": found["text"][place:], "from": found["from"] + place, "opening": "", "skipped": 0}


def _bears(path: str, id: str) -> bool:
    """Whether an id stands in the path by itself."""
    return bool(id) and re.search(rf"(?<![0-9A-Za-z]){re.escape(id)}(?![0-9A-Za-z])", path) is not None


def _read_log(memory: Memory, readers: Readers, path: str, log: str, found: Mapping[str, Any], news: News) -> None:
    text, opening = (found.get(key, "").encode("latin-1", "replace") for key in ("text", "opening"))
    reader = readers.of(log, memory)
    if found["from"] == 0 or found.get("skipped"):
        _take(reader.end_line(), log, news)
    if opening:
        _take(reader.feed(opening), log, news)
    tail = _after_line_end(text) if found.get("skipped") else text
    _take(reader.feed(tail), log, news)
    readers.hearing.hear(log, text, found["from"], bool(found.get("skipped")), memory)
    news.log_grew |= bool(text)
    if text:
        news.last = kind(text) or news.last
        news.grew_at = max(found["mtime"], news.grew_at if news.grew_at is not None else found["mtime"])
    memory.may_stop = memory.may_stop or any(words in part for part in (opening, text) for words in EARLY_STOP)
    _note_gap(path, found, path in memory.logs, news)
    if log in news.steps and not memory.logs and not memory.points:
        news.told[log], news.written[log] = timeline([opening, b"\n", tail], readers.patterns), found["mtime"]
    memory.log_seen = True
    cursor = memory.logs[path] = {key: found[key] for key in ("dev", "ino", "head", "headlen")}
    cursor["offset"] = found["from"] + len(text)
    if log != path:
        cursor["part_of"] = log


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
    """Take sizes of outputs and the appearance of checkpoints into account, by change between looks."""
    for entry in answer.get("outputs", ())[-MOST_OUTPUTS:]:
        samples = memory.outputs.setdefault(entry["path"], [])
        if not samples or samples[-1][1] != entry["size"]:
            news.output_grew = True
        grow(samples, mono, entry["size"])
    present = {entry["path"] for entry in answer.get("outputs", ())}
    for path in [path for path in memory.outputs if path not in present]:
        del memory.outputs[path]
    for entry in answer.get("checkpoints", ())[-MOST_CHECKPOINTS:]:
        known = memory.checkpoints.get(entry["path"])
        if known is None:
            news.new_checkpoints.append(entry["path"])
        if known != entry["mtime"]:
            memory.checkpoints[entry["path"]] = entry["mtime"]
            news.checkpoint_grew = not memory.produced.weak
        was = memory.produced.checkpoints.get(entry["path"])
        if was is not None and was["mark"][2:] != entry.get("inside", was["mark"][2:]):
            news.checkpoint_grew = not memory.produced.weak
    present = {entry["path"] for entry in answer.get("checkpoints", ())}
    for path in [path for path in memory.checkpoints if path not in present]:
        del memory.checkpoints[path]


def is_quiet(news: News) -> bool:
    """Whether the files said nothing that was not known."""
    return not (news.log_grew or news.output_grew or news.checkpoint_grew or news.unreadable)


def pass_time(memory: Memory, watched: float, news: News, job: Job, moved: bool, at: float = 0.0) -> None:
    """Run the patience clocks by the seconds we really looked; stop those that something moved. Nothing is learnt
    from a gap that ended while we did not look, or in which somebody held the job."""
    memory.age += watched
    _pass(memory, "log", bool(job.expect.logs), news.log_grew, watched)
    _pass(memory, "output", bool(memory.outputs), news.output_grew, watched)
    saves = bool(memory.checkpoints) and not memory.produced.weak
    _pass(memory, "checkpoint", saves, news.checkpoint_grew, watched)
    learns = watched > 0 and not memory.held
    if moved and learns:
        memory.counter.note(memory.hush_of("progress").seconds, watched)
    _pass(memory, "progress", bool(memory.steps), moved, watched)
    signs = news.log_grew or news.output_grew or moved or news.checkpoint_grew
    if signs:
        if learns:
            silent = memory.hush_of("signs").seconds
            memory.lines.end_silence(memory.gaps_of(memory.phase).note(silent, watched, _between_writes(memory, news)))
        memory.lines.last = news.last or memory.lines.last
        memory.unseen_hush = _before_look(memory, news, watched, at)
        memory.moved_at, memory.usage, memory.unanswered, memory.held = at - memory.unseen_hush, [], 0, False
        _pass(memory, "signs", True, True, watched)
    else:
        _pass(memory, "signs", True, False, watched)
        if memory.unseen_hush:
            _begin_before(memory)
    _enter_phase(memory, news, moved)


def pass_quietly(memory: Memory, watched: float) -> None:
    """The same for a job whose files said nothing new, as they had before."""
    memory.age += watched
    for hush in memory.hush.values():
        hush.seconds += watched
    if memory.unseen_hush:
        _begin_before(memory)


def _begin_before(memory: Memory) -> None:
    """The silence began before the look that saw its beginning, which has counted that time as the gap's before."""
    gaps = memory.gaps_of(memory.phase)
    gaps.seconds = max(0.0, gaps.seconds - memory.unseen_hush)
    memory.hush_of("signs").seconds += memory.unseen_hush
    memory.unseen_hush = 0.0


def _between_writes(memory: Memory, news: News) -> float:
    """Seconds from the newest write to its log that was known to the newest now: a gap between was no longer."""
    if news.grew_at is None or not memory.written or news.output_grew or news.checkpoint_grew:
        return math.inf
    between = news.grew_at - memory.written[0]
    return between if between > 0 else math.inf  # a clock was set, or a file system keeps no times


def _before_look(memory: Memory, news: News, watched: float, at: float) -> float:
    """How long before this look its log was written last: never longer than we had not looked. Its times may be
    another clock's, so the least that they were ever behind ours counts as no time at all; one that fits no more
    (a clock was set, a file system caches or keeps no times) is learnt anew."""
    if news.grew_at is None or news.output_grew or news.checkpoint_grew or not at:
        return 0.0
    behind = at - news.grew_at
    last, lag = memory.written or (news.grew_at, behind)
    if news.grew_at <= last or not lag <= behind <= lag + watched:
        lag = behind
    memory.written = [news.grew_at, lag]
    return behind - lag


def _enter_phase(memory: Memory, news: News, moved: bool) -> None:
    """What the log says it is doing; once it counts, a log that says nothing else is doing its steady work."""
    if news.phase:
        memory.phase = news.phase
    elif moved or (news.log_grew and memory.phase != "starting"):
        memory.phase = STEADY


def _pass(memory: Memory, what: str, there: bool, grew: bool, watched: float) -> None:
    if not there:
        memory.hush.pop(what, None)
    elif grew:
        memory.hush_of(what).moved()
    else:
        memory.hush_of(what).seconds += watched


def worker_of(path: str, listed: Mapping[str, int]) -> int | None:
    """Which worker writes this log: by the run's own list, else by the number that its name tells."""
    return listed[path] if path in listed else number_of(path)
