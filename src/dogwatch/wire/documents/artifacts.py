"""What a job leaves on disks: outputs, checkpoints, and the room that there is for them."""

from __future__ import annotations

from typing import Annotated, TypedDict

from dogwatch.wire.documents.meaning import Time, doc


class OutputDocument(TypedDict):
    """An output file."""

    path: Annotated[str, doc("where it is")]
    size: Annotated[int, doc("its size")]
    growth_per_minute: Annotated[float | None, doc("bytes per minute lately")]
    quiet_seconds: Annotated[float, doc("since it last differed from one poll to the next, as far as was watched")]
    changed_at: Annotated[Time | None, doc("the poll that saw that; null when it has never been seen to change")]
    records: Annotated[int | None, doc("its lines or records, where that is cheap to know")]
    verdict: Annotated[
        str | None,
        doc(
            "`intact`, `damaged` or `cannot tell`, once it stands still; `damaged` only of a file whose writer has "
            "gone on"
        ),
    ]
    why: Annotated[str | None, doc("what is wrong with it")]


class CheckpointsDocument(TypedDict):
    """The checkpoints of a job."""

    count: Annotated[int, doc("checkpoints found")]
    newest: Annotated[str, doc("the latest one")]
    newest_at: Annotated[Time, doc("when it was written")]
    interval_seconds: Annotated[float | None, doc("the usual pause between two")]
    next_at: Annotated[Time | None, doc("when the next one is expected; null once the job has ended")]
    newest_iteration: Annotated[int | None, doc("the iteration that the latest one holds")]
    newest_verdict: Annotated[str | None, doc("whether it is intact, once it stands still")]
    newest_why: Annotated[str | None, doc("what is wrong with it")]
    intact: Annotated[str | None, doc("the latest one that is known to be intact")]
    intact_at: Annotated[Time | None, doc("when that was written")]
    intact_iteration: Annotated[int | None, doc("the iteration that it holds")]
    guessed: Annotated[bool, doc("true if they were found by name and not given by the user")]


class QuotaDocument(TypedDict):
    """The tightest quota of a file system; a limit of 0 is none."""

    who: Annotated[str, doc("`user`, `group`, `project`")]
    free: Annotated[int, doc("bytes left")]
    limit: Annotated[int, doc("bytes in all")]
    files_free: Annotated[int, doc("files left")]
    files: Annotated[int, doc("files in all")]
    over_soft: Annotated[bool, doc("whether the soft limit is passed")]


class DiskDocument(TypedDict):
    """A file system the job writes to."""

    path: Annotated[str, doc("a path of the job on this file system")]
    free: Annotated[int, doc("bytes we may use")]
    total: Annotated[int, doc("bytes in all")]
    inodes_free: Annotated[int, doc("the same for inodes")]
    inodes: Annotated[int, doc("inodes in all; 0 where they are not counted")]
    quota: Annotated[QuotaDocument | None, doc("the tightest quota there")]
    full_in_seconds: Annotated[
        float | None, doc("when the first of these will be used up at the pace of the last while")
    ]
