"""Logs: the newest lines of a job's logs, read on the place by the probe, never by the asker itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dogwatch.api.queries import real_folders
from dogwatch.errors import CouldNotPoll, UsageError
from dogwatch.model import Unreachable
from dogwatch.model.job import scheduler_here
from dogwatch.sources import kind_of
from dogwatch.text import plain
from dogwatch.transport.interface import Transport
from dogwatch.wire.json_value import JsonObject
from dogwatch.wire.sections import Texts

if TYPE_CHECKING:
    from dogwatch.wire.documents.commands import TailDocument
    from dogwatch.wire.documents.job import JobDocument

MOST_BYTES = 4_000_000
MOST_FILES = 64
HERE_DEADLINE, FAR_DEADLINE = 10.0, 60.0
_ALL_LINES = 1_000_000


@dataclass(slots=True)
class Tail:
    """The end of one log: the bytes last read and where they stop."""

    path: str
    raw: bytes
    offset: int

    def lines(self) -> list[str]:
        """Its lines. A carriage return begins an update of the same line, as a progress bar writes it: only the last
        update is shown, as on the terminal it was meant for."""
        if not self.raw:
            return []
        text = self.raw.decode("utf-8", "replace").removesuffix("\n")
        return [_last_update(line) for line in text.split("\n")]

    def document(self) -> TailDocument:
        return {"path": self.path, "lines": self.lines()}


def _last_update(line: str) -> str:
    """What a terminal shows of a line in the end: an update that is empty or blank rubs out nothing."""
    updates = line.split("\r")
    return next((update for update in reversed(updates) if update.strip()), updates[-1])


class Reading:
    """The logs of one job, or of one worker of it, read on from where the last question left off; each question is
    one round trip, whatever the number of files."""

    def __init__(self, transport: Transport, job: JobDocument, worker: int | None, deadline: float) -> None:
        self._transport, self._ref, self._deadline = transport, str(job["ref"]), deadline
        self._globs, only = _where(job, worker)
        self._advice = f"; {_naming_it(job)}" if kind_of(job["source"]).is_scheduler and job["state"] == "ended" else ""
        self._offsets: dict[str, int | None] = dict.fromkeys(only)
        self._real = real_folders(job)

    def tails(self, lines: int) -> list[Tail]:
        """The last `lines` lines of each log; UsageError when there is none yet."""
        section = self._ask(lines)
        if not section.files and not section.unreadable:
            wanted = ", ".join(plain(one, 200) for one in (*self._globs, *self._offsets)[:4])
            raise UsageError(f"{self._ref} has no log yet: nothing matches {wanted}{self._advice}")
        if not section.files:
            path, why = next(iter(section.unreadable.items()))
            raise CouldNotPoll(f"could not read the log: {plain(path, 200)}: {plain(why, 600)}")
        return self._taken(section)

    def more(self) -> list[Tail]:
        """What was written since, a log that is new included."""
        return [tail for tail in self._taken(self._ask(_ALL_LINES)) if tail.raw]

    def _taken(self, section: Texts) -> list[Tail]:
        tails = [
            Tail(path, file.text.encode("latin-1", "replace"), file.offset)
            for path, file in sorted(section.files.items())
        ]
        self._offsets |= {tail.path: tail.offset for tail in tails}
        return tails

    def _ask(self, lines: int) -> Texts:
        logs: JsonObject = {"globs": self._globs, "known": self._offsets, "real": self._real}
        spec = {**logs, "lines": lines, "max": MOST_BYTES, "files": MOST_FILES}
        answer = self._transport.ask({"texts": {"log": spec}}, self._deadline)
        if isinstance(answer, Unreachable):
            raise CouldNotPoll(f"could not read the log: {answer.why}")
        texts = answer.checked.texts
        if not texts.ok or "log" not in texts.rows:
            raise CouldNotPoll(f"could not read the log: {texts.why or 'no reason given'}")
        return texts.rows["log"]


def _no_worker(job: JobDocument, worker: int, known: Mapping[int, Sequence[str | None]]) -> str:
    """Why there is no log of a worker, and what to type instead."""
    ref, own = job["ref"], [index for index, logs in known.items() if any(logs)]
    if worker not in known:
        why = f"{ref} has no worker {worker}" + (f" (it has {len(known)}, from 0)" if known else "")
    else:
        why = f"no log of worker {worker} of {ref} is known"
    instead = (
        f"workers with logs of their own: {', '.join(map(str, own[:16]))}" if own else f"try `dogwatch logs {ref}`"
    )
    return f"{why}; {instead}"


def _where(job: JobDocument, worker: int | None) -> tuple[list[str], Sequence[str]]:
    """The globs of a job's logs, or the one path of a worker's."""
    if worker is not None:
        known = {one["index"]: one["logs"] or ([one["log"]] if one["log"] else []) for one in job["workers"]}
        if not any(known.get(worker) or ()):
            raise UsageError(_no_worker(job, worker, known))
        return [], known[worker]
    globs = job["expect"]["logs"] or job["logs"]
    if not globs and kind_of(job["source"]).is_scheduler and not job["confirmed_at"]:
        raise UsageError(
            f"no log known for {job['ref']} yet, because it was not polled yet; `dogwatch patrol` polls once"
        )
    if not globs:
        raise UsageError(f"no log known for {job['ref']}; {_naming_it(job)}")
    return list(globs), ()


def _naming_it(job: JobDocument) -> str:
    """How to say where a log is."""
    if not kind_of(job["source"]).is_scheduler:
        return "`dogwatch add` takes --log"
    host = "" if job["place"] == scheduler_here(job["source"]) else f" --host {job['place']}"
    return f"`dogwatch add {job['source']} {job['id']}{host} --log PATH` names it"
