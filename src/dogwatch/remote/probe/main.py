"""The way in: one request on stdin, one after another with --serve, or the one that came with the program (ONCE)."""

import os
import sys
from collections.abc import Iterator

from dogwatch.remote.probe.answer import reply
from dogwatch.remote.probe.command import own_group_only
from dogwatch.remote.probe.extra import ExtraProbes
from dogwatch.remote.probe.file_reader import FileReader
from dogwatch.remote.probe.processes import Processes
from dogwatch.remote.probe.wire import write_all

REQUEST_CAP = 16 << 20


def requests() -> "Iterator[bytes]":
    """Lines from stdin until it closes; one that never ends is given out as it is, and is the last."""
    inbox, searched = bytearray(), 0
    while True:
        end = inbox.find(b"\n", searched)
        if end >= 0:
            yield bytes(inbox[:end])
            del inbox[: end + 1]
            searched = 0
            continue
        searched = len(inbox)
        chunk = os.read(0, 65536) if searched < REQUEST_CAP else b""
        if not chunk:
            if inbox:
                yield bytes(inbox)
            return
        inbox += chunk


def main(request: "bytes | None" = None, deadline: float = 0.0) -> int:
    """Answer the first line of stdin or, with --serve, every line until stdin closes; or the one request given here,
    as a process that came over a link that may be cut and must not stay behind."""
    if request is not None:
        own_group_only(deadline)
    processes, file_reader, extra_probes = Processes(), FileReader(), ExtraProbes()
    try:
        for line in requests() if request is None else [request]:
            write_all(1, reply(line, processes, file_reader, extra_probes))
            if "--serve" not in sys.argv[1:]:
                break
    except (BrokenPipeError, KeyboardInterrupt):
        pass
    file_reader.drop()
    extra_probes.drop()
    return 0


if __name__ == "__main__":
    sys.exit(main(*globals().get("ONCE", ())))
