"""Read what the files of a job say since the last poll into its memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

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
from dogwatch.watcher.job.state.log import names, note_early_stop
from dogwatch.watcher.job.state.silence import SIGNS, SignsOfLife
from dogwatch.watcher.job.worker_logs import number_of
from dogwatch.wire.requests import LogCursor
from dogwatch.wire.sections import Files, ListedFile, LogFile, Logs

OTHERS = 1.0  # seconds before a job's beginning at which a log that it writes may have been written last
OTHER_CLOCKS = 60.0  # the same where a scheduler tells the beginning, and a file server the time of the log
MOST_LOGS = 256
MOST_MIXED = 4
JUST_BEGUN = 120.0  # seconds of watching within which a log that is new to us may have been there before


class LogGap(NamedTuple):
    """Bytes of a log that were not read, or lines that may have been lost (`bytes` is None), and why."""

    path: str
    why: str
    bytes: int | None


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
    gaps: list[LogGap] = field(default_factory=list)
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
    id. Before it `waits` no longer, all that stands in its logs is of others."""

    at: float
    writes_from: float  # the time before which it has surely written nothing
    anew: bool = False
    own: str = ""
    waits: bool = False


def read_logs(memory: Memory, readers: Readers, answer: Logs, news: News, since: Beginning | None = None) -> None:
    """Take the new bytes of every log into account, once; where nothing is new, what they said stands. A rotated file
    is the earlier part of the log that now has its name: one reader reads both, the older bytes first. A log that
    was last written before the job (`since`) was written by others."""
    cursors = memory.log.cursors
    news.unreadable.update(answer.unreadable)
    for path in answer.gone:
        cursors.pop(path, None)
        memory.progress.steps.pop(path, None)
    if answer.same:
        readers.said = news.said = readers.said or _said(memory, readers)
        return _add(readers.said, news)
    news.said = None
    readers.read_on()
    for path in answer.unchanged:
        if path in cursors:
            log = cursors[path].part_of or path
            _take(readers.of(log, memory).feed(b""), log, news)
    for path, file in sorted(answer.files.items(), key=lambda row: row[1].rotated_from is None):
        known = cursors.get(path)
        if file.stale:
            if known is not None:
                cursors[path] = replace(known, stale_seen=True)
        elif known is None and len(cursors) >= MOST_LOGS:
            continue
        elif since is not None and (since.waits or (known is None and file.mtime < since.writes_from)):
            _pass_over(memory, readers, path, file)
        else:
            log = file.rotated_from or (known.part_of if known is not None else None) or path
            own, mixed = (file, False) if since is None else _own_part(memory, readers, path, log, file, since)
            _read_log(memory, readers, path, log, own, news, mixed=mixed)
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
    for path, known in sorted(memory.log.cursors.items()):
        log = known.part_of or path
        _take(readers.of(log, memory).feed(b""), log, news)
    return news


def _add(said: News, news: News) -> None:
    news.steps.update(said.steps)
    news.items.update(said.items)
    news.metrics.update(said.metrics)
    news.phase = said.phase or news.phase
    news.finished = said.finished or news.finished
    news.claims.update(said.claims)


def _pass_over(memory: Memory, readers: Readers, path: str, file: LogFile) -> None:
    """A log that nobody has written to since the job began: only its lines are counted."""
    text = file.text.encode("latin-1", "replace")
    readers.log_evidence.hear(path, text, file.from_, bool(file.skipped))
    readers.log_evidence.begin_attempt(path)
    end = file.from_ + len(text)
    memory.log.cursors[path] = cursor(file, end)
    if memory.attempts:
        memory.attempts[-1]["logs"][path] = end


def _own_part(
    memory: Memory, readers: Readers, path: str, log: str, file: LogFile, since: Beginning
) -> tuple[LogFile, bool]:
    """What is new in a log without what others wrote to it before the attempt. Where nothing tells it apart, that is
    noted, unless the log appeared while somebody watched; it is mixed (True) if the file is older than the attempt."""
    known = path in memory.log.cursors
    start = memory.facts.log_starts.get(path)
    if start is not None and (since.anew or not known):
        return _from(file, start), False
    shared = since.anew or not (known or _bears(path, since.own))
    if not shared or file.reset or not file.text:
        return file, False
    text = file.text.encode("latin-1", "replace")
    place = attempt_start(text, since.at, file.mtime)
    going = [row for row in memory.attempts[-1:] if row["ended"] is None]  # one that waits has written nothing yet
    if place is None:
        for row in going if since.anew or memory.age < JUST_BEGUN else ():
            row["mixed"] = [*row.get("mixed", ()), log][-MOST_MIXED:]
        return file, (file.born or since.at) < since.writes_from
    if not place:
        return file, False
    readers.log_evidence.hear(log, text[:place], file.from_, bool(file.skipped))
    readers.log_evidence.begin_attempt(log)
    for row in going:
        row["logs"][path] = file.from_ + place
    return replace(file, text=file.text[place:], from_=file.from_ + place, opening="", skipped=0), False


def _from(file: LogFile, start: int) -> LogFile:
    """What is new in a log without what stands before the offset at which the attempt began to write."""
    ahead = start - file.from_
    if ahead <= 0:
        return file if not start else replace(file, opening="", skipped=0 if file.skipped else file.skipped)
    return replace(file, text=file.text[ahead:], from_=min(start, file.from_ + len(file.text)), opening="", skipped=0)


def _bears(path: str, id: str) -> bool:
    """Whether an id stands in the path by itself."""
    return bool(id) and re.search(rf"(?<![0-9A-Za-z]){re.escape(id)}(?![0-9A-Za-z])", path) is not None


def _read_log(memory: Memory, readers: Readers, path: str, log: str, file: LogFile, news: News, *, mixed: bool) -> None:
    text, opening = file.text.encode("latin-1", "replace"), file.opening.encode("latin-1", "replace")
    reader, counted = readers.of(log, memory), len(news.troubles)
    if file.from_ == 0 or file.skipped:
        _take(reader.end_line(), log, news)
    if opening:
        _take(reader.feed(opening), log, news)
    tail = _after_line_end(text) if file.skipped else text
    _take(reader.feed(tail), log, news)
    if mixed:
        del news.troubles[counted:]  # they may be another run's: none of them is told as this one's
    readers.log_evidence.hear(log, text, file.from_, bool(file.skipped))
    news.log_grew |= bool(text)
    if text:
        news.last = kind(text) or news.last
        news.grew_at = max(file.mtime, news.grew_at if news.grew_at is not None else file.mtime)
    note_early_stop(memory.log, (opening, text))
    _note_gap(path, file, path in memory.log.cursors, news)
    if log in news.steps and log not in memory.progress.steps:
        news.told[log], news.written[log] = timeline([opening, b"\n", tail], readers.patterns), file.mtime
    memory.log.seen = True
    memory.log.cursors[path] = cursor(file, file.from_ + len(text), None if log == path else log)


def cursor(file: LogFile, offset: int, part_of: str | None = None) -> LogCursor:
    """The log as it is known once it was read up to `offset`."""
    return LogCursor(file.dev, file.ino, file.head, file.headlen, offset, part_of)


def _after_line_end(text: bytes) -> bytes:
    """Without the fragment of a line that stands where reading was taken up again."""
    ends = [at for at in (text.find(b"\n"), text.find(b"\r")) if at >= 0]
    return text[min(ends) + 1 :] if ends else b""


def _note_gap(path: str, file: LogFile, known: bool, news: News) -> None:
    """What was not read, or may have been lost, is told: no line is passed over in silence."""
    if file.reset in ("truncated", "replaced"):
        news.gaps.append(LogGap(path, file.reset, None))
    if file.skipped:
        news.gaps.append(LogGap(path, "backlog" if known else "long", file.skipped))


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


def read_files(memory: Memory, answer: Files, mono: float, news: News) -> None:
    """Take sizes of outputs and the appearance of checkpoints into account, by change between polls."""
    news.output_grew |= take_outputs(memory.files, answer.outputs, mono)
    new, written = take_checkpoints(memory.files, answer.checkpoints)
    news.new_checkpoints += new
    if written or any(_changed_inside(memory, saved) for saved in answer.checkpoints[-MOST_CHECKPOINTS:]):
        news.checkpoint_grew = not memory.produced.weak


def _changed_inside(memory: Memory, saved: ListedFile) -> bool:
    """Whether a file in a checkpoint that is a folder has changed since it was last looked into."""
    known = memory.produced.checkpoints.get(saved.path)
    return known is not None and saved.inside is not None and known.inside != saved.inside


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
