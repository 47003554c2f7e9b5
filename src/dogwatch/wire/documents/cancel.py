"""What `dogwatch cancel` prints, and what is kept of it with a job."""

from __future__ import annotations

from typing import Annotated, TypedDict

from dogwatch.wire.documents.meaning import doc


class CancelledBy(TypedDict):
    """Who wanted a job to be ended, and when."""

    at: Annotated[float, doc("when that was written down, in Unix seconds")]
    by: Annotated[str, doc("user and machine")]


class CancelDocument(TypedDict):
    """`dogwatch cancel --json`."""

    ref: Annotated[str, doc("the job")]
    cancelled: Annotated[bool, doc("whether what ran of it has ended, or its scheduler took the command")]
    by: Annotated[str, doc("who gave the command")]
    signalled: Annotated[list[int], doc("the processes that were signalled, of each session its leader")]
    left: Annotated[list[int], doc("processes that still run")]
    detail: Annotated[str, doc("what was done, or why nothing was, in a sentence")]
