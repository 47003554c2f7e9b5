"""Result files of evaluations: lm-eval, NeMo Evaluator, inspect-ai."""

from __future__ import annotations

import io
import json
import math
import zipfile
from typing import Any

import zstandard

from dogwatch.results import inspect_ai, nel, scores
from dogwatch.wire.sections import TextFile
from tests.fuzz.dice import Dice, documents, is_clean

LM_EVAL = {
    "results": {
        "mmlu": {"alias": " - mmlu", "acc,none": 0.5, "acc_stderr,none": 0.01},
        "law": {"acc,none": "N/A", "f1,x": 0.25},
    },
    "group_subtasks": {"mmlu": ["law"]},
}
INSPECT = {
    "status": "success",
    "eval": {"task": "gsm8k"},
    "results": {
        "headline": {"score": "match", "scorer": "match", "metric": "accuracy"},
        "scores": [
            {"name": "match", "scorer": "match", "metrics": {"accuracy": {"value": 0.5}, "stderr": {"value": 0.1}}}
        ],
    },
}
BUNDLE = {"benchmark": {"name": "ifeval", "scores": {"acc": {"value": 0.75, "stderr": 0.01}}}}
TRUTHS = (LM_EVAL, INSPECT, BUNDLE)
NAMES = ("results_2026.json", "2026-11-15_gsm8k_x.json", "eval-1.json", "results.yml", "2026_x.eval")
YAML = b"""command: x
results:
  groups:
    mmlu: {metrics: {acc: {scores: {micro: {value: 0.5, stats: {stderr: 0.01}}}}}}
  tasks:
    law:
      metrics:
        acc:
          scores:
            micro: {value: .25}
target: y
"""


def target(data: bytes) -> None:
    """A file is read or it is none of these; at most so many scores, each finite and in clean bounded words."""
    dice = Dice(data)
    name = dice.number(len(NAMES))
    text: Any = dice.document(TRUTHS[name]).encode("utf-8", "replace") if name < len(TRUTHS) else dice.rest()
    found = scores.read(
        {f"/o/{NAMES[name]}": TextFile(text.decode("latin-1"), 0, len(text), len(text), 1.0, False)}, None
    )
    assert len(found) <= scores.MOST_SCORES
    for score in found:
        assert math.isfinite(score["value"])
        assert score["stderr"] is None or math.isfinite(score["stderr"])
        assert is_clean(score["task"] + score["metric"])
        assert len(scores.words(score)) < 300


def archive(method: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as made:
        made.writestr("samples/1.json", "{}")
        made.writestr("header.json", json.dumps(INSPECT))
    return file.getvalue()


def zstandard_archive() -> bytes:
    """As inspect-ai packs today: a stored one whose member is marked as Zstandard's."""
    packed = zstandard.ZstdCompressor().compress(json.dumps(INSPECT).encode())
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("header.json", packed)
    plain, method = file.getvalue(), inspect_ai.ZSTANDARD.to_bytes(2, "little")
    local, central = plain.index(b"PK\x03\x04") + 8, plain.index(b"PK\x01\x02") + 10
    return plain[:local] + method + plain[local + 2 : central] + method + plain[central + 2 :]


def seeds() -> list[bytes]:
    assert inspect_ai.archive.read_bytes(zstandard_archive())
    assert nel.reader.read(YAML.decode())
    texts = [bytes([name]) + seed for name, truth in enumerate(TRUTHS) for seed in documents(truth)]
    packed = [archive(zipfile.ZIP_STORED), archive(zipfile.ZIP_DEFLATED), zstandard_archive()]
    return [*texts, b"\x03" + YAML, *(b"\x04" + one for one in packed)]
