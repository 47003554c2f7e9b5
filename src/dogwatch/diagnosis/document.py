"""A diagnosis as the plain document that every interface prints (docs/json.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dogwatch.diagnosis.interface import Diagnosis

if TYPE_CHECKING:
    from dogwatch.wire.documents.diagnosis import DiagnosisDocument

NONE: DiagnosisDocument = {
    "cause": None,
    "title": "no sign of a failure",
    "confidence": None,
    "role": None,
    "evidence": [],
    "advice": [],
    "retry": None,
    "alternatives": [],
}


def document(diagnosis: Diagnosis | None) -> DiagnosisDocument:
    """The document of a diagnosis; of none, the same keys with nothing in them."""
    if diagnosis is None:
        return {**NONE}
    return {
        "cause": diagnosis.cause,
        "title": diagnosis.title,
        "confidence": diagnosis.confidence,
        "role": str(diagnosis.role),
        "evidence": [{"file": quote.file, "line": quote.line, "text": quote.text} for quote in diagnosis.evidence],
        "advice": list(diagnosis.advice),
        "retry": str(diagnosis.retry),
        "alternatives": [
            {"cause": other.cause, "title": other.title, "confidence": other.confidence, "tell": other.tell}
            for other in diagnosis.alternatives
        ],
    }
