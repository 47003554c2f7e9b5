"""What `dogwatch takeover --json` prints."""

from __future__ import annotations

from typing import Annotated, TypedDict

from dogwatch.wire.documents.meaning import doc


class DifferenceDocument(TypedDict):
    """Something that is not as the store has it, or that waits for somebody."""

    kind: Annotated[
        str,
        doc(
            "`unreachable`, `other_machine`, `unknown_run`, `unknown_session`, `ended`, `gone`, `unsupervised`, "
            "`transfer`, `waiters`, `alerts`, `no_watcher`",
            "gone",
        ),
    ]
    place: Annotated[str | None, doc("the machine", "gpubox")]
    ref: Annotated[str | None, doc("the job")]
    text: Annotated[str, doc("what differs, in words")]
    command: Annotated[str, doc("the next command", "dogwatch status gpubox/box:train-3f91c2")]


class TakeoverDocument(TypedDict):
    """`dogwatch takeover --json`. Exit code 0: nothing differs; 1: something does; 3: no machine answered."""

    reached: Annotated[list[str], doc("the machines that answered")]
    unreachable: Annotated[dict[str, str], doc("those that did not: name → why")]
    differences: Annotated[list[DifferenceDocument], doc("what differs, each with one next command")]
