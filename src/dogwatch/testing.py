"""Conformance checks for plug-ins: what a source, a log format and a channel must do whatever they are about.

Each raises AssertionError with a sentence when the plug-in breaks a promise that the engine relies on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from dogwatch.channels.interface import Channel, Receipt
from dogwatch.model import Ended, Item, Job, Known, Level, Message, Outcome
from dogwatch.sources.interface import Source

HOSTILE = ("", "\0", "\x1b]52;c;x\x07", "9" * 5000, "-1/0", "{" * 2000, "\ud800", "e" * 100_000, "1e999 / nan items")


def check_source(source: Source, jobs: Sequence[Job], answers: Sequence[Mapping[str, Any]], at: float = 1.0e9) -> None:
    """A source asks in plain JSON, speaks only of jobs it was given, and never calls silence a success."""
    known = {job.ref: Known() for job in jobs}
    request = source.ask(jobs, known, at)
    assert json.loads(json.dumps(request)) == request, f"{source.kind}: what it asks is not plain JSON"
    assert source.ask(jobs, known, at) == request, f"{source.kind}: the same question twice differs"
    refs = {job.ref for job in jobs}
    for answer in answers:
        if source.trouble(answer, jobs) is not None:
            continue
        asked, sightings = source.read(answer, jobs, known, at)
        assert asked <= refs, f"{source.kind}: it speaks for jobs it was not given: {asked - refs}"
        assert set(sightings) <= asked, f"{source.kind}: it saw a job that it does not speak for"
        assert not asked & set(source.blind(answer, jobs)), f"{source.kind}: it is blind to a job it speaks for"
        for sighting in sightings.values():
            done = isinstance(sighting.state, Ended) and sighting.state.outcome is Outcome.SUCCEEDED
            assert not done or sighting.proof, f"{source.kind}: {sighting.ref} succeeded, and nobody vouches for it"


def check_log_format(module: ModuleType, lines: Sequence[str]) -> None:
    """A format module (one format, or a table of `rows`) reads each of its example lines, by a needle that is
    in it, and survives every hostile line."""
    formats = getattr(module, "rows", (module,))
    for line in lines:
        low = line.lower().encode("utf-8", "replace")
        fit = [each for each in formats if any(needle in low for needle in each.needles)]
        assert fit, f"{module.__name__}: no needle is in {line!r}"
        assert any(each.read(line) for each in fit), f"{module.__name__}: nothing was read from {line!r}"
    for line in (*HOSTILE, *(example + hostile for example in lines for hostile in HOSTILE)):
        for each in formats:
            each.read(line.encode("utf-8", "replace").decode("utf-8"))


def check_channel(channel: Channel) -> None:
    """A channel tells truthfully whether a notice was taken, and takes hostile text without raising."""
    for text in HOSTILE:
        item = Item("0" * 32, f"here/process:{text[:40]}", text[:60], Level.WARNING, "rule", text, 1.0e9, text, text)
        receipt = channel.deliver(Message("0" * 32, (item,), 1.0e9))
        assert isinstance(receipt, Receipt), f"{channel.kind}: it gave no receipt"
        assert receipt.ok or receipt.detail, f"{channel.kind}: it failed without saying why"
