"""Quotas under paths: from the kernel for local file systems, from `quota` for NFS and from `lfs` for Lustre.

A project quota of ext4 and XFS needs no question: such a directory's free space is already that of its project.
"""

import os
import re
import struct
import time

from dogwatch.remote.probe.command import run_command, trusted_program
from dogwatch.remote.probe.commands import OWN_PATH, command_environment, search_path
from dogwatch.remote.shapes import Quota, QuotaCall, Quotas, Space

MOST_PATHS = 64
ONE_COMMAND = 3.0
Q_GETQUOTA = 0x800007
KINDS = (("user", 0), ("group", 1))
DQBLK = struct.Struct(
    "=8QI4x"
)  # limits of blocks of 1 KiB, bytes used, limits of files, files used, times, what is valid
NUMBER = re.compile(r"\A\[?([0-9]{1,15})\]?\*?\Z")
ESCAPED = re.compile(rb"\\([0-7]{3})")
PATHS = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"]


def raw_path(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def unescaped(text: bytes) -> bytes:
    return ESCAPED.sub(lambda found: bytes([int(found.group(1), 8) & 255]), text)


def mounts(text: bytes) -> "list[tuple[bytes, str, bytes]]":
    """(mount point, kind of file system, source) of every line of /proc/self/mountinfo."""
    found = []
    for line in text.splitlines():
        before, dash, after = line.partition(b" - ")
        fields, rest = before.split(b" "), after.split(b" ")
        if dash and len(fields) >= 5 and len(rest) >= 2:
            found.append((unescaped(fields[4]), rest[0].decode("ascii", "replace"), unescaped(rest[1])))
    return found


def mount_of(path: bytes, table: "list[tuple[bytes, str, bytes]]") -> "tuple[bytes, str, bytes] | None":
    """The mount that a path lies on: the longest that leads to it, and of equals the one on top."""
    best = None
    for row in table:
        point = row[0].rstrip(b"/")
        if (path == point or path.startswith(point + b"/")) and (best is None or len(row[0]) >= len(best[0])):
            best = row
    return best


def whole(word: str) -> "int | None":
    found = NUMBER.match(word)
    return int(found.group(1)) if found else None


def parse_columns(text: str, who: str) -> "list[Quota]":
    """Rows of `quota -w -p` and of `lfs quota -q`, which end alike: kilobytes used, quota, limit, grace, files, quota,
    limit, grace. A `*` marks what is over its quota, and a long name stands on a line of its own."""
    found = []
    for line in text.splitlines():
        words = line.split()[-8:]
        if len(words) < 8:
            continue
        numbers = [whole(words[at]) for at in (0, 1, 2, 4, 5, 6)]
        if None in numbers:
            continue
        used, soft, hard, files, files_soft, files_hard = [number or 0 for number in numbers]
        found.append(limits(who, used << 10, soft << 10, hard << 10, files, files_soft, files_hard))
    return found


def limits(who: str, used: int, soft: int, hard: int, files: int, files_soft: int, files_hard: int) -> "Quota":
    space: "Space" = {"who": who, "used": used, "soft": soft, "limit": hard or soft}
    return {**space, "files": files, "files_soft": files_soft, "files_limit": files_hard or files_soft}


def of_kernel(source: bytes, ids: "tuple[int, int]") -> "list[Quota]":
    """What quotactl(2) says of a local file system; nothing where quotas are off or there is no such call."""
    try:
        import ctypes

        call = ctypes.CDLL(None, use_errno=True).quotactl
    except (ImportError, OSError, AttributeError):
        return []
    found = []
    for who, kind in KINDS:
        room = ctypes.create_string_buffer(256)
        if call(ctypes.c_int((Q_GETQUOTA << 8) | kind), ctypes.c_char_p(source), ctypes.c_int(ids[kind]), room) != 0:
            continue
        hard, soft, used, files_hard, files_soft, files = DQBLK.unpack(room.raw[: DQBLK.size])[:6]
        found.append(limits(who, used, soft << 10, hard << 10, files, files_soft, files_hard))
    return found


def output_of(argv: "list[str]", until: float) -> str:
    """What a command of the host prints, or nothing."""
    program = trusted_program(argv[0], search_path([OWN_PATH] + PATHS))
    if program is None:
        return ""
    until = min(until, time.monotonic() + ONE_COMMAND)
    return run_command(argv, command_environment({}, []), [os.path.dirname(program)], until, 1 << 20)["out"]


def of_lustre(point: str, path: str, ids: "tuple[int, int]", until: float) -> "list[Quota]":
    found = parse_columns(output_of(["lfs", "quota", "-q", "-u", str(ids[0]), point], until), "user")
    found += parse_columns(output_of(["lfs", "quota", "-q", "-g", str(ids[1]), point], until), "group")
    project = output_of(["lfs", "project", "-d", path], until).split()
    if project and project[0].isdigit() and project[0] != "0":
        found += parse_columns(output_of(["lfs", "quota", "-q", "-p", project[0], point], until), "project")
    return found


def quotas_of(path: bytes, table: "list[tuple[bytes, str, bytes]]", until: float) -> "list[Quota]":
    """The limits that hold for us where a path is or would be."""
    while not os.path.isdir(path) and path not in (b"/", b""):
        path = os.path.dirname(path)
    path = os.path.realpath(path)
    mount = mount_of(path, table)
    if mount is None:
        return []
    point, kind, source = mount
    ids, shown_point = (os.geteuid(), os.stat(path).st_gid), point.decode("utf-8", "surrogateescape")
    if kind == "lustre":
        return of_lustre(shown_point, path.decode("utf-8", "surrogateescape"), ids, until)
    if kind.startswith("nfs"):
        return parse_columns(output_of(["quota", "-w", "-p", "-u", "-f", shown_point], until), "user")
    return of_kernel(source, ids) if source.startswith(b"/dev/") else []


def extra_probe(call: "QuotaCall") -> "Quotas":
    """The limits of each path, only where there are some."""
    return {"quotas": found_limits(call["paths"], time.monotonic() + call["seconds"])}


def found_limits(paths: "list[str]", until: float) -> "dict[str, list[Quota]]":
    with open("/proc/self/mountinfo", "rb") as text:
        table = mounts(text.read(4 << 20))
    answer = {}
    for path in paths[:MOST_PATHS]:
        try:
            rows = quotas_of(raw_path(path), table, until)
        except OSError:
            continue
        limited = [row for row in rows if row["limit"] or row["files_limit"]]
        if limited:
            answer[path] = limited
    return answer
