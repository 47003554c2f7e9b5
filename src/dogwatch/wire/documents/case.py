"""A job with what was learnt of its processes just now: what the decision tree is walked over."""

from __future__ import annotations

from typing import NotRequired

from dogwatch.wire.documents.answers import FamilyAnswer
from dogwatch.wire.documents.diagnosis import DiagnosisDocument
from dogwatch.wire.documents.job import JobDocument


class Case(JobDocument):
    """`fallen` is why workers ended badly, by their index; `family` what all processes of the job do."""

    fallen: NotRequired[dict[int, DiagnosisDocument]]
    family: NotRequired[FamilyAnswer]
