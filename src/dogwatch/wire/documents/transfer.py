"""What `dogwatch fetch` prints."""

from __future__ import annotations

from typing import Annotated, TypedDict

from dogwatch.wire.documents.meaning import Time, doc


class LeftOutDocument(TypedDict):
    """Something that was there and was not fetched."""

    path: Annotated[str, doc("where it is, on its host")]
    why: Annotated[str, doc("why it was left out")]


class TransferDocument(TypedDict):
    """The last fetch of a job."""

    ref: Annotated[str, doc("the job")]
    place: Annotated[str, doc("its place")]
    state: Annotated[
        str,
        doc("`running`, `done` (every file is here with the size and SHA-256 it has there), `failed`, `interrupted`"),
    ]
    target: Annotated[str, doc("the directory on this machine")]
    way: Annotated[str, doc("`rsync` or `tar`; empty before anything was copied")]
    files: Annotated[int, doc("files that are to be here")]
    bytes: Annotated[int, doc("their size")]
    done_files: Annotated[int, doc("files that are here and verified")]
    done_bytes: Annotated[int, doc("bytes that are here; verified once it is done")]
    started: Annotated[Time, doc("when it was begun")]
    updated: Annotated[Time, doc("when its progress was last written down")]
    ended: Annotated[Time | None, doc("when it ended")]
    detail: Annotated[str | None, doc("why it failed")]
    checkpoint: Annotated[str | None, doc("the newest intact checkpoint, which was fetched; its path on the host")]
    left_out: Annotated[list[LeftOutDocument], doc("what was not fetched")]
    safe_to_stop: Annotated[
        bool | None, doc("whether its host could be stopped without losing anything; null: unknown")
    ]
    why_not: Annotated[list[str], doc("what speaks against stopping it, a sentence each")]


class FetchFileDocument(TypedDict):
    """One file that there is to fetch."""

    path: Annotated[str, doc("its path below the target")]
    size: Annotated[int, doc("its size there")]
    here: Annotated[str, doc("`yes` (same size), `partly`, `no`; only a fetch compares the content")]


class FetchListDocument(TypedDict):
    """`dogwatch fetch --list --json` of a job."""

    ref: Annotated[str, doc("the job")]
    target: Annotated[str, doc("the directory on this machine")]
    files: Annotated[list[FetchFileDocument], doc("what there is to fetch")]
    left_out: Annotated[list[LeftOutDocument], doc("what would not be fetched")]


class FetchDocument(TypedDict):
    """`dogwatch fetch --json`."""

    transfer: Annotated[TransferDocument, doc("the fetch")]
    stop_command: Annotated[str | None, doc("what ends the costs of its host, in a sentence; null without a profile")]
