"""The records of a chain, and what a box without python3 answers."""

from __future__ import annotations

import contextlib

from dogwatch.sources.box import records
from dogwatch.transport import box_without_python
from dogwatch.wire.answer import Malformed, checked
from dogwatch.wire.json_value import JsonObject

REQUEST: JsonObject = {
    "box": {"a": {"chain": "/w/a", "results": ["/w/*.csv"]}, "b": {"tmux": "train", "markers": ["/w/DONE"]}},
    "logs": {"a": {"globs": ["/w/a/stage-0.log"], "known": {}}},
    "files": {"a": {"outputs": ["/w/*.csv"], "checkpoints": []}},
    "disks": ["/w"],
}


def target(data: bytes) -> None:
    """A record is read or refused in words; an answer in sh is one that the probe might have sent, or is refused."""
    text = data.decode("utf-8", "replace")
    for name in ("spec.json", "lock/owner.json", "stage-0.done", "heartbeat.json"):
        with contextlib.suppress(records.Unreadable):
            records.read({name: text})
    with contextlib.suppress(ValueError, IndexError, Malformed):
        checked(box_without_python.sections(REQUEST, text, 1_800_000_000.0, "boot"))


def seeds() -> list[bytes]:
    return [
        b'{"run":"a","stages":[{"name":"train","log":"stage-0.log"}],"on_reboot":"resume"}',
        b'{"pid":12,"start":100,"boot":"b","attempt":1,"at":1.5}',
        b"m id 6162\nr 0\nc there\nf 737065632e6a736f6e 7b7d\nk 1 2 3 1\nn 2f77 61.\no 1 2 2f77\nr 1\nx 1 2 2f77\n",
        b"p 5 0 35202873682920532031. 302f2f302f\nt 0 31203520302030\nl 2f77 1 2 3 4 0 61. 62.\nd 2f77 yes 61. 62.\n",
    ]
