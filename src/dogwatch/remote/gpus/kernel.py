"""Xid: the driver's error numbers, which it writes to the kernel's log and tells nobody later. (NVML tells them as
events to whoever waits for them while they happen, which a poll does not.)"""

import re
import time

from dogwatch.remote.gpus.figures import run_tools, slot, tool
from dogwatch.remote.probe.processes import kernel_records
from dogwatch.remote.shapes import Xid

XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]{5,20})\): ([0-9]{1,4})(?:, pid='?([0-9]{1,10}))?")
MOST_XIDS = 64


def xid_of(line: str, age: float) -> "Xid | None":
    found = XID.search(line)
    if not found:
        return None
    pid = int(found.group(3)) if found.group(3) else None
    return {"age": round(age, 1), "pci": slot(found.group(1)), "xid": int(found.group(2)), "pid": pid}


def kernel_xids(path: str, now: float) -> "list[Xid] | None":
    """Those that the kernel's own log still holds, with their age; None where we may not read it."""
    try:
        found = [xid_of(line, now - at) for at, line in kernel_records(path)]
    except OSError:
        return None
    return [xid for xid in found if xid][-MOST_XIDS:]


def journal_xids(since: float, seconds: float) -> "list[Xid] | None":
    """The same by the journal, of the last `since` seconds, where the user may read it."""
    program, now = tool("journalctl"), time.time()
    if program is None:
        return None
    words = [program, "-k", "-q", "--no-pager", "-o", "short-unix", "-g", "NVRM: Xid", "--since", "@%d" % (now - since)]
    ((out, why),) = run_tools([words], seconds)
    if why and out.strip():
        return None
    found = []
    for line in out.splitlines()[-MOST_XIDS:]:
        stamp = re.match(r"[0-9]{1,12}\.[0-9]{1,9}", line)
        xid = xid_of(line, now - float(stamp.group())) if stamp else None
        found += [xid] if xid else []
    return found


def recent_xids(since: float, seconds: float) -> "list[Xid] | None":
    found = kernel_xids("/dev/kmsg", time.monotonic())
    return journal_xids(since, seconds) if found is None else found
