"""Quotas under paths: from the kernel for local file systems, from `quota` for NFS and from `lfs` for Lustre.

A project quota of ext4 and XFS needs no question: such a directory's free space is already that of its project.
"""

import json
import os
import re
import select
import signal
import struct
import time
from typing import Any

from dogwatch.remote.probe.command import trusted_program

MOST_PATHS = 64
ONE_COMMAND = 3.0
STUCK_QUOTAS = 3
STUCK: "list[int]" = []  # children that did not answer, until the kernel lets go of them
Q_GETQUOTA = 0x800007
KINDS = (("user", 0), ("group", 1))
DQBLK = struct.Struct(
    "=8QI4x"
)  # limits of blocks of 1 KiB, bytes used, limits of files, files used, times, what is valid
NUMBER = re.compile(r"\A\[?([0-9]{1,15})\]?\*?\Z")
ESCAPED = re.compile(rb"\\([0-7]{3})")
PATHS = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"


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


def parse_columns(text: str, who: str) -> "list[dict[str, Any]]":
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


def limits(who: str, used: int, soft: int, hard: int, files: int, files_soft: int, files_hard: int) -> "dict[str, Any]":
    row: "dict[str, Any]" = {"who": who, "used": used, "soft": soft, "limit": hard or soft}
    row.update(files=files, files_soft=files_soft, files_limit=files_hard or files_soft)
    return row


def is_limited(row: "dict[str, Any]") -> bool:
    return bool(row["limit"] or row["files_limit"])


def of_kernel(source: bytes, ids: "tuple[int, int]") -> "list[dict[str, Any]]":
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


def said(argv: "list[str]", until: float) -> str:
    """What a command of the host prints, or nothing; it has its own deadline and takes its children with it."""
    left = min(ONE_COMMAND, until - time.monotonic())
    if left <= 0:
        return ""
    import subprocess

    search = os.environ.get("PATH", "") + ":" + PATHS
    program = trusted_program(argv[0], search.split(":"))
    if program is None:
        return ""
    environment = {"PATH": search, "LC_ALL": "C"}
    try:
        child = subprocess.Popen(
            [raw_path(word) for word in [program] + argv[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd="/",
            start_new_session=True,
        )
    except (OSError, ValueError):
        return ""
    try:
        text, _ = child.communicate(timeout=left)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)  # not waited for: what hangs in the kernel dies later
        return ""
    return text[: 1 << 20].decode("utf-8", "replace")


def of_lustre(point: str, path: str, ids: "tuple[int, int]", until: float) -> "list[dict[str, Any]]":
    found = parse_columns(said(["lfs", "quota", "-q", "-u", str(ids[0]), point], until), "user")
    found += parse_columns(said(["lfs", "quota", "-q", "-g", str(ids[1]), point], until), "group")
    project = said(["lfs", "project", "-d", path], until).split()
    if project and project[0].isdigit() and project[0] != "0":
        found += parse_columns(said(["lfs", "quota", "-q", "-p", project[0], point], until), "project")
    return found


def quotas_of(path: bytes, table: "list[tuple[bytes, str, bytes]]", until: float) -> "list[dict[str, Any]]":
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
        return parse_columns(said(["quota", "-w", "-p", "-u", "-f", shown_point], until), "user")
    return of_kernel(source, ids) if source.startswith(b"/dev/") else []


def extra_probe(call: "dict[str, Any]") -> "dict[str, Any]":
    """The limits of each path, only where there are some. A child finds them out: what it loads for that is gone with
    it, and so is whatever hangs."""
    until = time.monotonic() + float(call["seconds"])
    STUCK[:] = [pid for pid in STUCK if os.waitpid(pid, os.WNOHANG)[0] == 0]
    if len(STUCK) >= STUCK_QUOTAS:
        return {"quotas": {}}
    back, inner = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            with os.fdopen(inner, "wb") as sink:
                sink.write(json.dumps(found_limits(call["paths"], until)).encode("ascii"))
        finally:
            os._exit(0)
    os.close(inner)
    text, whole = b"", False
    while select.select([back], [], [], max(0.0, until + 1.0 - time.monotonic()))[0]:
        chunk = os.read(back, 65536)
        whole = not chunk
        if whole:
            break
        text += chunk
    os.close(back)
    if whole:
        os.waitpid(pid, 0)
    else:
        for kill in (os.killpg, os.kill):
            try:
                kill(pid, signal.SIGKILL)
            except OSError:
                continue
        STUCK.append(pid)
    return {"quotas": json.loads(text.decode("ascii")) if whole and text else {}}


def found_limits(paths: "list[str]", until: float) -> "dict[str, Any]":
    with open("/proc/self/mountinfo", "rb") as text:
        table = mounts(text.read(4 << 20))
    answer = {}
    for path in paths[:MOST_PATHS]:
        try:
            found = [row for row in quotas_of(raw_path(path), table, until) if is_limited(row)]
        except OSError:
            continue
        if found:
            answer[path] = found
    return answer
