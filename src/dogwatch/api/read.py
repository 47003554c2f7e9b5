"""Read: what a whole log says, from the log alone, as the document that every interface shows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dogwatch.api.log_file import pieces, size
from dogwatch.estimate.eta import estimate
from dogwatch.estimate.series import last_rate
from dogwatch.logs.ending.verdict import Ending
from dogwatch.logs.native import newlines
from dogwatch.logs.timeline import Moment, Timeline
from dogwatch.logs.timeline import timeline as of_pieces
from dogwatch.model import Eta, Point, Step

if TYPE_CHECKING:
    from dogwatch.wire.documents.job import CounterDocument, SpanDocument
    from dogwatch.wire.documents.log import LogDiagnosisDocument, LogDocument

TAIL = 4 << 20  # bytes kept for the diagnosis
FINISHED = "finished"
ENDED = (FINISHED, "failed")


def read(path: str) -> LogDocument:
    """The document of one log (`-` is standard input); CouldNotLook when it cannot be read."""
    return document(path, pieces(path), size(path))


def title(cause: str) -> str:
    """A cause in the words of a person."""
    from dogwatch.diagnosis import CAUSES

    return CAUSES[cause].title


def timeline(path: str) -> list[Moment]:
    """The series of (seconds, done, total) of one log; CouldNotLook when it cannot be read."""
    return of_pieces(pieces(path), size=size(path))


def document(name: str, stream: Iterable[bytes], whole_size: int = 0) -> LogDocument:
    """The document of a log that comes in pieces of bytes, of this size together if that is known; memory does not grow
    with the log."""
    ending, tail = Ending(), Tail()
    whole = Timeline(listen=ending.feed, whole=whole_size)
    for piece in stream:
        whole.feed(piece)
        tail.keep(piece)
    reading = whole.close()
    step, moments = reading.step, whole.moments()
    verdict = _verdict(ending, whole, tail)
    why = None if ending.is_prose else _diagnosis(name, tail, verdict)
    if why is not None:
        verdict = "failed"  # its lines show what no job survives, though none of them says so
    eta = None if verdict in ENDED else _eta(step, moments)
    return {
        "file": name,
        "format": reading.format,
        "progress": _progress(step),
        "rate": _rate(step, moments),
        "metrics": dict(reading.metrics),
        "phase": _phase(reading.phase, verdict),
        "ending": verdict,
        "eta": eta,
        "diagnosis": why,
    }


def ending(tail: Tail) -> str:
    """How a log says that it ended, by the end of it."""
    heard = Ending()
    whole = Timeline(listen=heard.feed, whole=tail.size)
    for piece in tail:
        whole.feed(piece)
    whole.close()
    return _verdict(heard, whole, tail)


def _phase(said: str | None, verdict: str) -> str | None:
    """What the job does, by its newest word on that: nothing more once the log is over, and no run whose log stops amid
    the work is done, whatever was said of the one before."""
    if verdict == FINISHED:
        return FINISHED
    return None if said == FINISHED and verdict in ("failed", "cut") else said


def _verdict(heard: Ending, whole: Timeline, tail: Tail) -> str:
    """How a log says that it ended; not by what its script alone says below something that no job survives."""
    verdict = heard.judge(whole.counter())
    if verdict != FINISHED or not heard.only_closed:
        return verdict
    from dogwatch.diagnosis import collect_lines
    from dogwatch.diagnosis.failure_episode import only_closed

    return "unknown" if only_closed(collect_lines(tail)) else verdict


class Tail:
    """The last bytes of a log, and the number of the line they begin on."""

    def __init__(self, first_line: int = 1) -> None:
        self._pieces: deque[bytes] = deque()
        self.size = 0
        self.first_line = first_line

    def keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self.size += len(piece)
        while self.size - len(self._pieces[0]) >= TAIL:
            gone = self._pieces.popleft()
            self.size -= len(gone)
            self.first_line += newlines(gone, 0, len(gone))

    def __iter__(self) -> Iterator[bytes]:
        """All of it as one piece: of one that is all telling lines only so many are read."""
        yield b"".join(self._pieces)


def _progress(step: Step | None) -> CounterDocument | None:
    if step is None:
        return None
    fraction = min(1.0, max(0.0, step.done / step.total)) if step.total else None
    shown = step.done if step.printed is None else step.printed
    return {"step": _number(shown), "total": _number(step.total), "unit": step.unit, "fraction": fraction}


def _number(value: float | None) -> float | int | None:
    """Whole numbers without a point, as the log wrote them."""
    return int(value) if value is not None and value == int(value) else value


def _rate(step: Step | None, moments: list[Moment]) -> float | None:
    """Units per second: as the log states it, else by its clock."""
    if step is None or step.rate is not None or not moments:
        return step.rate if step is not None else None
    return last_rate([Point(at, done) for at, done, _ in moments])


def _eta(step: Step | None, moments: list[Moment]) -> SpanDocument | None:
    """What was left when the log last spoke; None for a log without times or without a total, and of a counter that is
    full: a bar of each epoch is, again and again."""
    found = _estimate(step, moments)
    if found is None:
        return None
    return {
        "remaining_seconds": found.remaining,
        "low_seconds": found.low,
        "high_seconds": found.high,
        "confidence": found.confidence,
    }


def _estimate(step: Step | None, moments: list[Moment]) -> Eta | None:
    if step is None or step.total is None or step.done >= step.total or not moments:
        return None
    points = [Point(at, done) for at, done, _ in moments]
    return estimate(points, step.total, points[-1].at)


def _diagnosis(name: str, tail: Tail, verdict: str) -> LogDiagnosisDocument | None:
    """Why it failed; None for a log that does not show that it did. A log without a word on its ending may still
    show something that no job survives."""
    if verdict == FINISHED:
        return None
    from dogwatch.diagnosis import Evidence, Log, diagnose  # the table takes a while, and of a good end nobody asks why

    log = Log(name, tail, tail.first_line)
    found = diagnose(Evidence((log,), succeeded=False if verdict == "failed" else None))
    if found is None or (verdict != "failed" and found.cause == "unknown"):
        return None
    return {
        "cause": found.cause,
        "confidence": found.confidence,
        "evidence": [{"line": quote.line, "text": quote.text} for quote in found.evidence],
        "advice": list(found.advice),
    }
