"""Fetch: results and the newest intact checkpoint of a job, from its place into a directory here.

The intent is in the store before anything moves. Files are complete when both sides have the same SHA-256, and only
then get their names; whoever is killed in between leaves what the next fetch goes on with.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from dogwatch.actions import identity
from dogwatch.actions.transfer import partial as partials
from dogwatch.actions.transfer.copying import Copying, throttled
from dogwatch.actions.transfer.listing import Entry, Listing, Sources, TransferFailed, list_there, sort_links
from dogwatch.actions.transfer.partial import Partial
from dogwatch.actions.transfer.verify import differing
from dogwatch.clock import Clock
from dogwatch.errors import DogwatchError
from dogwatch.results.integrity import BROKEN, UNCLEAR
from dogwatch.store.interface import Store
from dogwatch.store.rows import transfers
from dogwatch.store.rows.transfers import DONE, FAILED, TransferRow
from dogwatch.text import plain
from dogwatch.transport.shell import Shell

MOST_TOLD = 50
MOST_CANDIDATES = 4
NOTE_EVERY = 5.0

# (checkpoints, the newest first; whether they lie here) → (verdict, why) of each that could be judged.
Judge = Callable[[Sequence[str], bool], dict[str, tuple[str, str]]]


class Progress(NamedTuple):
    """How far a fetch is. `step` is what it does now."""

    step: Literal["list", "copy", "verify"]
    files: int
    bytes: int
    done_bytes: int
    way: str = ""


Observe = Callable[[Progress], None]
Say = Callable[[str], None]


@dataclass(slots=True)
class Plan:
    """What there is to fetch: results, and the checkpoints that may be the one, the newest first."""

    listing: Listing
    candidates: list[str]
    unjudged: bool
    left_out: list[tuple[str, str]] = field(default_factory=list)

    def entries(self) -> dict[str, Entry]:
        """The files to fetch, with those of the first candidate."""
        chosen = self.listing.checkpoints[self.candidates[0]] if self.candidates else {}
        return {**self.listing.results, **chosen}


def plan(shell: Shell, sources: Sources, judge: Judge) -> Plan:
    """Ask the place what there is, and which checkpoint is the newest intact one."""
    listing = list_there(shell, sources)
    newest = listing.newest_first()[:MOST_CANDIDATES]
    verdicts = judge(newest, False)
    broken = [path for path in newest if verdicts.get(path, ("", ""))[0] == BROKEN]
    left_out = [(path, f"is damaged: {verdicts[path][1]}") for path in broken]
    return Plan(listing, [path for path in newest if path not in broken], not verdicts, [*listing.left_out, *left_out])


@dataclass(slots=True)
class Fetch:
    """One fetch of one job, from the intent to the end."""

    store: Store
    clock: Clock
    shell: Shell
    ref: str
    place: str
    sources: Sources
    target: str
    judge: Judge
    observe: Observe = lambda progress: None
    say: Say = lambda text: None
    key: int = 0
    left_out: list[tuple[str, str]] = field(default_factory=list)
    checkpoint: str | None = None
    changing: list[str] = field(default_factory=list)
    other: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Fetch everything, or raise; either way its row in the store says how it ended."""
        now = self.clock.now()
        wanted = {"results": list(self.sources.results), "checkpoints": list(self.sources.checkpoints)}
        row = TransferRow(
            ref=self.ref,
            place=self.place,
            state=transfers.RUNNING,
            source=wanted,
            target=self.target,
            started=now,
            updated=now,
            process=identity.mine(),
            found={},
        )
        self.key = transfers.begin(self.store, row)
        try:
            with partials.opened(self.target) as partial:
                self._fetch(partial)
        except DogwatchError as error:
            self._end(FAILED, f"not everything was fetched: {error}", detail=str(error))
            raise
        except OSError as error:
            failed = partials.no_space(self.target, error)
            self._end(FAILED, f"not everything was fetched: {failed}", detail=str(failed))
            raise failed from error

    def _fetch(self, partial: Partial) -> None:
        self.observe(Progress("list", 0, 0, 0))
        found = plan(self.shell, self.sources, self.judge)
        while True:
            entries = found.entries()
            if not entries:
                self.left_out = found.left_out
                raise TransferFailed(f"there is nothing to fetch on {self.shell.place}: {_reasons(found.left_out)}")
            self._refresh(partial, found.listing, entries)
            self._bring(partial, found.listing, entries)
            if not (found.candidates and found.unjudged) or not self._is_broken_here(partial, found):
                break
        self.checkpoint = found.candidates[0] if found.candidates else None
        self._place(partial, found, entries)

    def _refresh(self, partial: Partial, listing: Listing, entries: dict[str, Entry]) -> None:
        """Of files that are in the target already, those with other content are fetched anew."""
        held = {name: os.path.join(self.target, name) for name, entry in entries.items() if self._is_here(entry)}
        held = {name: path for name, path in held.items() if partial.size(name) is None}
        size = sum(entries[name].size for name in held)
        self.other = set(differing(self.shell, listing.base, held, size))

    def _bring(self, partial: Partial, listing: Listing, entries: dict[str, Entry]) -> None:
        """Copy and verify; what changed meanwhile is copied once more."""
        for again in (True, False):
            wrong = self._copy(partial, listing, list(entries.values()))
            if not wrong:
                self.changing = []
                return
            names = _several([plain(name, 80) for name in wrong])
            for name in wrong:
                partial.drop(name)
            if not again:
                self.changing = wrong
                return
            self.say(f"{names} changed while being copied; copying it again")
            fresh = list_there(self.shell, self.sources)
            held = {
                **fresh.results,
                **{name: one for files in fresh.checkpoints.values() for name, one in files.items()},
            }
            for name in wrong:
                if name in held:
                    entries[name] = held[name]
                else:
                    self.left_out.append((entries.pop(name).path, "was removed there while it was copied"))

    def _copy(self, partial: Partial, listing: Listing, entries: Sequence[Entry]) -> list[str]:
        """The names of those that are not the same on both sides afterwards."""
        partial.prune(entries)
        lacking = [entry for entry in entries if not self._is_here(entry)]
        total = sum(entry.size for entry in entries)
        there = sum(entry.size for entry in entries) - sum(entry.size for entry in lacking)

        def arrived() -> int:
            return there + sum(min(entry.size, partial.size(entry.name) or 0) for entry in lacking)

        note = throttled(lambda: self._note(done_bytes=arrived()), NOTE_EVERY)

        def watch() -> None:
            self.observe(Progress("copy", len(entries), total, arrived()))
            note()

        self._note(files=len(entries), bytes=total, done_bytes=arrived())
        partials.check_room(self.target, total - arrived())
        copying = Copying(self.shell, listing.base, listing.tools, partial, throttled(watch, 0.2))
        way = copying.copy(lacking)
        self.observe(Progress("verify", len(entries), total, arrived(), way))
        self._note(way=way, done_bytes=arrived())
        paths = {entry.name: self._path(partial, entry) for entry in entries}
        checked = throttled(lambda: self.observe(Progress("verify", len(entries), total, arrived(), way)), 0.2)
        return differing(self.shell, listing.base, paths, total, checked)

    def _is_here(self, entry: Entry) -> bool:
        """Whether the target has a file of that size; its content is compared like that of any other."""
        path = os.path.join(self.target, entry.name)
        if entry.name in self.other:
            return False
        return not os.path.islink(path) and os.path.isfile(path) and os.path.getsize(path) == entry.size

    def _path(self, partial: Partial, entry: Entry) -> str:
        arrived = partial.path(entry.name)
        if partial.size(entry.name) is not None or not self._is_here(entry):
            return arrived
        return os.path.join(self.target, entry.name)

    def _is_broken_here(self, partial: Partial, found: Plan) -> bool:
        """Judge a checkpoint that nobody could judge there, and go on to the one before it where it is damaged."""
        path = found.candidates[0]
        name = os.path.relpath(path, found.listing.base)
        here = partial.path(name) if os.path.lexists(partial.path(name)) else os.path.join(self.target, name)
        verdict, why = self.judge([here], True).get(here, (UNCLEAR, ""))
        if verdict != BROKEN:
            return False
        self.say(f"the checkpoint {plain(path, 200)} is damaged ({plain(why, 200)}); fetching the one before it")
        found.left_out.append((path, f"is damaged: {why}"))
        del found.candidates[0]
        return True

    def _place(self, partial: Partial, found: Plan, brought: dict[str, Entry]) -> None:
        """Give what was verified its names, and say what is not here."""
        entries = {name: entry for name, entry in brought.items() if name not in self.changing}
        partial.prune(list(entries.values()), arrived=True)
        inside, outside = sort_links(found.listing.links.values(), entries)
        partial.place(list(entries.values()), inside)
        self._date(entries.values())
        self.left_out = [*found.left_out, *self.left_out, *outside]
        size = sum(entry.size for entry in entries.values())
        count = _count(len(entries))
        if self.changing:
            text = f"{_several([plain(name, 80) for name in self.changing])} changed again while being copied"
            self._end(FAILED, f"{count} fetched; {text}", done_files=len(entries), done_bytes=size, detail=text)
            raise TransferFailed(f"{text}; the rest is here: run the same command again when the job has ended")
        self._end(DONE, f"{count} fetched to {self.target}, all verified", done_files=len(entries), done_bytes=size)

    def _date(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            if entry.modified > 0:
                os.utime(os.path.join(self.target, entry.name), (entry.modified, entry.modified), follow_symlinks=False)

    def _note(self, **fresh: object) -> None:
        transfers.progress(self.store, self.key, self.clock.now(), **fresh)

    def _end(self, state: str, text: str, **fresh: object) -> None:
        told = [{"path": path, "why": why} for path, why in self.left_out[:MOST_TOLD]]
        found = {"left_out": told, "checkpoint": self.checkpoint}
        transfers.end(
            self.store, self.key, self.clock.now(), self.clock.mono(), state, plain(text, 400), found=found, **fresh
        )


def _reasons(left_out: Sequence[tuple[str, str]]) -> str:
    return _several([f"{plain(path, 120)} {plain(why, 120)}" for path, why in left_out])


def _several(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _count(files: int) -> str:
    return f"{files:,} file{'' if files == 1 else 's'}"
