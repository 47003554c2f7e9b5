"""What quota, lfs, sstat and /proc/self/mountinfo print."""

from __future__ import annotations

import msgspec

from dogwatch.remote.memory import steps
from dogwatch.remote.quota import limits
from dogwatch.wire.limits import Count
from dogwatch.wire.programs import Quota


def target(data: bytes) -> None:
    """Never raises; every figure is one that the answer's schema takes."""
    text = data.decode("utf-8", "replace")
    for row in limits.parse_columns(text, "me"):
        msgspec.convert(row, Quota)
    table = limits.mounts(data)
    limits.mount_of(b"/home/a", table)
    for word in text.replace("|", " ").split()[:20]:
        for figure in (steps.octets(word), steps.seconds(word)):
            assert figure is None or msgspec.convert(figure, Count) == figure
        steps.tres(word)


def seeds() -> list[bytes]:
    return [
        b"Disk quotas for user a (uid 1000):\n  Filesystem blocks quota limit grace files quota limit grace\n"
        b"  /dev/sda1 120* 100 200 6days 7 0 0 -\n",
        b"/lustre 9999999999 0 0 - 1 2 3 -\n",
        b"24 1 8:1 / /home\\040a rw,relatime shared:1 - ext4 /dev/sda1 rw\n",
        b"12.batch|3044K|cpu=00:00:01,mem=6.30G|1\n1-02:03:04 03:04 UNLIMITED 99E",
    ]
