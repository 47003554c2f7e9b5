"""How often the cause of a failure is right, and how often a healthy log is accused, beside plain pattern lists."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.figures import Figure
from bench.losses import PIECES, replay
from dogwatch.diagnosis import Evidence, Log, diagnose

SURE = 0.9
LISTS = ("out of memory|OOM|CUDA error", "Traceback|Error|FAILED", "Error|Exception|CUDA")
HOSTILE = {
    "one endless line": b"x" * (1 << 20),
    "one word over and over": b"error: " * ((1 << 20) // 7),
    "heads of tracebacks": b"Traceback (most recent call last):\n" * ((1 << 20) // 35),
    "a line written over": b"CUDA out of memory\r" * ((1 << 20) // 19),
    "every byte": bytes(range(256)) * 4096,
    "escape codes": b"\x1b[31merror: \x1b]0;" * ((1 << 20) // 16),
}
WORK = (
    "The corpus of real logs with labels (DOGWATCH_CORPUS), each diagnosed from the log alone: the share of failures "
    "whose cause is right, of healthy logs that are accused, and of answers that quote a right line, for us and for "
    "three plain lists of patterns (the last match speaks; the first list means the GPU's memory, the others name no "
    "cause); and the healthy ones once more, growing, under the rule about losses. Then a megabyte of each of "
    "a few hostile texts, CPU time, best of three."
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reader of a log says: a cause (empty: that it failed, and not why), and the lines that show it."""

    cause: str
    lines: tuple[int | None, ...]
    confidence: float = 0.0


# Confidences, least first, of which the share of right answers is printed.
BANDS = ((0.9, 1.01), (0.8, 0.9), (0.0, 0.8))


@dataclass(slots=True)
class Score:
    failed: int = 0
    noticed: int = 0
    right: int = 0
    quoted: int = 0
    healthy: int = 0
    accused: int = 0
    given: list[tuple[float, bool]] = field(default_factory=list)


def measure() -> list[Figure]:
    figures = [Figure(f"1 MB of {what}", _cost(text), "ms", limit=50) for what, text in HOSTILE.items()]
    records = _corpus()
    if not records:
        return figures
    readers: dict[str, Callable[[bytes], Answer | None]] = {"dogwatch": _ours}
    readers |= {pattern: _plain(pattern) for pattern in LISTS}
    scores = {name: _score(reader, records) for name, reader in readers.items()}
    print(f"  {'':<34}{'noticed':>9}{'cause':>9}{'line':>9}{'accused':>9}")
    for name, score in scores.items():
        cells = (score.noticed / score.failed, score.right / score.failed, score.quoted / max(1, score.noticed))
        shown = "".join(f"{cell:>9.1%}" for cell in (*cells, score.accused / score.healthy))
        print(f"  {name:<34}{shown}")
    ours = scores["dogwatch"]
    for low, high in BANDS:
        band = [right for sure, right in ours.given if low <= sure < high]
        said = f"{sum(band)} of {len(band)} right" if band else "none given"
        print(f"  answers with a confidence of {low:.1f} to {min(high, 1.0):.1f}: {said}")
    sure = [right for confidence, right in ours.given if confidence >= SURE]
    return [
        Figure(f"answers given with {SURE} or more that are wrong", 100 * (1 - sum(sure) / len(sure)), "%", limit=10),
        Figure("causes that are wrong", 100 * (1 - ours.right / ours.failed), "%", limit=5),
        Figure("healthy logs that are accused", 100 * ours.accused / ours.healthy, "%", limit=0.5),
        Figure("healthy logs whose loss is called bad", 100 * _bad_losses(records), "%", limit=0.5),
        Figure("quoted lines that are wrong", 100 * (1 - ours.quoted / max(1, ours.noticed)), "%", limit=10),
        *figures,
    ]


def _corpus() -> list[tuple[dict[str, Any], bytes]]:
    here = Path(__file__).parent.parent
    place = Path(os.environ.get("DOGWATCH_CORPUS") or here.parent / "shared" / "corpus")
    labels = place / "labels.json"
    if not labels.exists():
        print(f"  the corpus of real logs is not there ({place}); it is left out")
        return []
    records = json.loads(labels.read_text())["files"]
    return [(record, (place / record["file"]).read_bytes()) for record in records]


def _score(reader: Callable[[bytes], Answer | None], records: Sequence[tuple[dict[str, Any], bytes]]) -> Score:
    score = Score()
    for record, text in records:
        answer = reader(text)
        given = answer is not None and answer.cause != "unknown"
        if record["kind"] != "failed":
            score.healthy += 1
            score.accused += given
            score.given += [(answer.confidence, False)] if given and answer is not None else []
            continue
        score.failed += 1
        right = (record["cause"], *record["cause_alt"])
        score.right += answer.cause in right if answer is not None else record["cause"] == "unknown"
        score.noticed += given
        score.given += [(answer.confidence, answer.cause in right)] if given and answer is not None else []
        score.quoted += given and answer is not None and any(line in record["evidence_line"] for line in answer.lines)
    return score


def _bad_losses(records: Sequence[tuple[dict[str, Any], bytes]]) -> float:
    """The share of healthy logs of which the rule about losses says anything while they grow."""
    healthy = [text for record, text in records if record["kind"] != "failed"]
    accused = sum(replay(text) is not None for text in healthy)
    print(f"  losses called bad while a healthy log grew in {PIECES} pieces: {accused} of {len(healthy)}")
    return accused / len(healthy)


def _ours(text: bytes) -> Answer | None:
    found = diagnose(Evidence((Log("log", [text]),)))
    if found is None:
        return None
    return Answer(found.cause, tuple(quote.line for quote in found.evidence), found.confidence)


def _plain(pattern: str) -> Callable[[bytes], Answer | None]:
    search = re.compile(pattern.encode())

    def read(text: bytes) -> Answer | None:
        lines = [number for number, line in enumerate(text.split(b"\n"), 1) if search.search(line)]
        return Answer("cuda_oom" if pattern == LISTS[0] else "", (lines[-1],)) if lines else None

    return read


def _cost(text: bytes) -> float:
    """Milliseconds of CPU that a text takes, at best."""
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        diagnose(Evidence((Log("log", [text]),)))
        best = min(best, time.process_time() - started)
    return 1000 * best
