"""Who waits for what, and notes about jobs, as `--json` prints them."""

from __future__ import annotations

from typing import Annotated, TypedDict

from dogwatch.wire.documents.meaning import Time, doc


class WaiterDocument(TypedDict):
    """A `dogwatch wait` that runs, or one that was killed and left its record."""

    id: Annotated[str, doc("what `dogwatch waiters rm` takes", "w-3f91c2")]
    consumer: Annotated[str | None, doc("its `--consumer`", "ci")]
    user: Annotated[str, doc("who started it")]
    pid: Annotated[int, doc("its process")]
    condition: Annotated[str, doc("what it waits for", "stage:eval")]
    refs: Annotated[list[str], doc("the jobs")]
    names: Annotated[list[str], doc("their names")]
    since: Annotated[Time, doc("when it began")]
    until: Annotated[Time, doc("when its time is over")]
    alive: Annotated[bool, doc("whether its process lives")]
    ending: Annotated[str | None, doc("why it was asked to end; null where it was not")]


class WaitersDocument(TypedDict):
    """`dogwatch waiters --json`; with `rm`, the ids that were removed and that were asked to end."""

    waiters: Annotated[list[WaiterDocument], doc("oldest first")]
