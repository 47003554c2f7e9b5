"""Reception: whether the channels take what is sent on them; light enough for every list of jobs."""

from __future__ import annotations

from dogwatch.store import cells
from dogwatch.store.tables import CHANNELS, MESSAGES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dogwatch.store.database import Store

SENT = "sent"


def refusing(store: Store) -> tuple[dict[str, float], bool]:
    """The channels that did not take the newest message that was tried on them, and since when that waits; and whether
    any other has taken its own."""
    since: dict[str, float] = {}
    taken = False
    with store.reading() as db:
        for row in db.execute(CHANNELS.select + "WHERE removed IS NULL").fetchall():
            name = CHANNELS.unpack(row)["name"]
            sql = MESSAGES.select + "WHERE channel = ? AND tries > 0 ORDER BY key DESC LIMIT 1"
            raw = db.execute(sql, (cells.pack(name),)).fetchone()
            if raw is None:
                continue
            newest = MESSAGES.unpack(raw)
            if newest["state"] == SENT:
                taken = True
            else:
                since[name] = newest["created"]
    return since, taken


def mute_since(store: Store) -> float | None:
    """Since when every channel that was tried has failed. None while one of them works, and while none was tried."""
    since, taken = refusing(store)
    return None if taken else min(since.values(), default=None)
