"""Quotas: what tools print, what the kernel says, and tools that lack, fail or hang.

No file system with quotas can be mounted everywhere these tests run, so the kernel's call is answered by a small
library, and the tools are scripts that print what `quota -w -p` and `lfs quota -q` print.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert

from dogwatch.model import Expectation, Job
from dogwatch.remote import extra_probe
from dogwatch.transport.interface import Answer
from dogwatch.transport.local import Here
from dogwatch.watcher.job.disks import DiskSpace, tightest
from dogwatch.wire.json_value import JsonObject
from dogwatch.wire.programs import Quota
from dogwatch.wire.sections import Disk
from tests.support import wait_until, with_the_probe

NAMES: dict[str, Any] = {"__name__": "extra_probe"}
exec(with_the_probe("quota"), NAMES)  # noqa: S102
KIB = 1024

LIBRARY = r"""
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
int quotactl(int cmd, const char *special, int id, char *addr) {
    uint64_t row[8] = {2000, 1500, 1024 * 1200, 50, 40, 45, 0, 0};
    uint32_t valid = 63;
    if ((unsigned)cmd >> 8 != 0x800007u || (cmd & 255) != 0 || id != atoi(getenv("WHO"))) { errno = ESRCH; return -1; }
    if (strncmp(special, "/dev/", 5) != 0) { errno = ENOTBLK; return -1; }
    memcpy(addr, row, sizeof row);
    memcpy(addr + sizeof row, &valid, sizeof valid);
    return 0;
}
"""


def parsed(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = NAMES["parse_columns"](text, "user")
    return found


def row(used: int, soft: int, limit: int, files: int, files_soft: int, files_limit: int) -> dict[str, Any]:
    names = ("used", "soft", "limit", "files", "files_soft", "files_limit")
    return {"who": "user", **dict(zip(names, (used, soft, limit, files, files_soft, files_limit), strict=True))}


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            "Disk quotas for user ada (uid 1007): \n"
            "     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace\n"
            "nas:/export/home 18874368  20971520 23068672       0   91244  200000  220000       0\n",
            [row(18874368 * KIB, 20971520 * KIB, 23068672 * KIB, 91244, 200000, 220000)],
        ),
        (
            "nas:/export/home 21500000* 20971520 23068672 1700600000   91244  0  0       0\n",
            [row(21500000 * KIB, 20971520 * KIB, 23068672 * KIB, 91244, 0, 0)],
        ),
        (
            "/scratch  734003200  1048576000 1073741824       -  881002  0 1000000       -\n",
            [row(734003200 * KIB, 1048576000 * KIB, 1073741824 * KIB, 881002, 0, 1000000)],
        ),
        (
            "/lustre/a/very/long/mount/point\n      [1234]*   1000   0   6d23h   7*   5   0   none\n",
            [row(1234 * KIB, 1000 * KIB, 1000 * KIB, 7, 5, 5)],
        ),
        ("Disk quotas for user ada (uid 1007): none\n", []),
        ("some errors happened when getting quota info. Some devices may be not working\n", []),
        ("", []),
    ],
    ids=["nfs", "over its soft limit", "lustre", "wrapped and inexact", "none", "trouble", "nothing"],
)
def test_what_the_tools_print_is_read(text: str, rows: list[dict[str, Any]]) -> None:
    """The hard limit counts, or the soft one where that is all there is."""
    assert parsed(text) == rows


@given(st.text(max_size=400))
def test_any_text_is_rows_or_none(text: str) -> None:
    """What a tool of another release prints is never a crash, and never a negative number."""
    for found in parsed(text):
        assert all(value >= 0 for key, value in found.items() if key != "who")


@given(st.lists(st.sampled_from(["-", "0", "12", "7*", "[5]", "x", "-3", "\n"])).map(" ".join))
def test_a_row_of_odd_columns_is_read_whole_or_not_at_all(text: str) -> None:
    """Half of the columns are no row."""
    for found in parsed(text):
        assert set(found) == {"who", "used", "soft", "limit", "files", "files_soft", "files_limit"}


@given(st.binary(max_size=400))
def test_any_table_of_mounts_is_read(text: bytes) -> None:
    """And a path finds its mount in it, or none."""
    assert NAMES["mount_of"](b"/a/b", NAMES["mounts"](text)) is None or b"/" in text


def test_a_path_lies_on_the_longest_mount_above_it() -> None:
    """Spaces are escaped there, and of two mounts on one point the later one is seen."""
    table = NAMES["mounts"](
        b"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        b"23 22 8:2 / /data rw shared:1 - xfs /dev/sdb1 rw\n"
        b"24 22 0:40 / /data\\040two rw - nfs4 nas:/x rw\n"
        b"25 23 0:41 / /data rw - lustre 10.0.0.1@tcp:/l rw\n"
    )
    assert NAMES["mount_of"](b"/data/x", table)[1] == "lustre"
    assert NAMES["mount_of"](b"/data two", table)[1] == "nfs4"
    assert NAMES["mount_of"](b"/database", table)[1] == "ext4"


def tool(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def ask(tools: Path, kind: str, seconds: float = 5.0, **env: str) -> list[dict[str, Any]]:
    """The limits of a path on such a mount, asked as the probe does, in a process of its own."""
    text = f"""
import json, sys, time
names = {{"__name__": "extra_probe"}}
exec(sys.stdin.buffer.read(), names)
table = [(b"/", {kind!r}, {"/dev/sda1" if kind == "ext4" else "nas:/x"!r}.encode())]
print(json.dumps(names["quotas_of"](b"/tmp", table, time.monotonic() + {seconds})))
"""
    run = subprocess.run(
        [sys.executable, "-I", "-c", text],
        input=with_the_probe("quota"),
        stdout=subprocess.PIPE,
        check=True,
        env={"PATH": f"{tools}:/usr/bin:/bin", **env},
    )
    found: list[dict[str, Any]] = json.loads(run.stdout)
    return found


def test_lustre_is_asked_for_user_group_and_the_project_of_the_directory(tmp_path: Path) -> None:
    """A directory without a project is not asked for one."""
    tool(
        tmp_path,
        "lfs",
        'case "$*" in\n'
        '  "quota -q -u"*) echo "/l  100 0 200 - 1 0 0 -";;\n'
        '  "quota -q -g"*) echo "/l  300 0 400 - 1 0 0 -";;\n'
        '  "project -d"*) echo " 4711 P /tmp";;\n'
        '  "quota -q -p 4711 /") echo "/l  500 0 600 - 1 0 0 -";;\n'
        "esac",
    )
    assert [(found["who"], found["limit"]) for found in ask(tmp_path, "lustre")] == [
        ("user", 200 * KIB),
        ("group", 400 * KIB),
        ("project", 600 * KIB),
    ]


def test_nfs_is_asked_by_the_tool_and_its_exit_code_says_nothing(tmp_path: Path) -> None:
    """`quota` ends with 1 when somebody is over a limit, which is when it matters most."""
    tool(tmp_path, "quota", 'echo "nas:/x 90* 80 100 0 5 0 0 0"; exit 1')
    assert [found["used"] for found in ask(tmp_path, "nfs4")] == [90 * KIB]


def is_alive(pid: int) -> bool:
    """Whether it still runs; one that nobody has buried does not."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_a_tool_that_hangs_or_is_not_there_costs_its_deadline_and_nothing_else(tmp_path: Path) -> None:
    """What it started is ended with it."""
    tool(tmp_path, "quota", f"sleep 1000 & echo $! > {tmp_path}/pid; wait")
    assert ask(tmp_path, "nfs", seconds=1.0) == []
    child = int((tmp_path / "pid").read_text())
    wait_until(lambda: not is_alive(child))
    (tmp_path / "quota").unlink()
    assert ask(tmp_path, "nfs") == []


@pytest.mark.needs_tool("gcc")
def test_the_kernel_is_asked_for_local_file_systems(tmp_path: Path) -> None:
    """Limits come in blocks of a kilobyte, what is used in bytes."""
    (tmp_path / "q.c").write_text(LIBRARY)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "q.so", tmp_path / "q.c"], check=True)
    found = ask(tmp_path, "ext4", LD_PRELOAD=str(tmp_path / "q.so"), WHO=str(os.geteuid()))
    assert found == [row(1200 * KIB, 1500 * KIB, 2000 * KIB, 45, 40, 50)]
    assert ask(tmp_path, "ext4") == [], "the real kernel has none here"


def test_the_whole_way_through_the_probe_answers_where_there_are_no_quotas(tmp_path: Path) -> None:
    """Paths that are not there, are odd or are hostile are no trouble."""
    here = Here()
    try:
        call: JsonObject = {"paths": [str(tmp_path), "/no/such/place", "/proc/1/x", "/\udce4"], "seconds": 2.0}
        answer = here.ask({"extra_probes": {"quota": {"program": extra_probe("quota"), "call": call}}}, 10.0)
    finally:
        here.close()
    assert isinstance(answer, Answer)
    assert set(answer.body["extra_probes"]["quota"]) == {"quotas"}


def test_a_file_system_that_hangs_is_given_up_after_its_time(tmp_path: Path) -> None:
    """The poll gets all else that it asked for, and a reason in place of the quotas."""
    text = with_the_probe("quota") + b"\ndef quotas_of(*_):\n    time.sleep(1000)\n"
    spec: JsonObject = {"program": base64.b64encode(zlib.compress(text)).decode(), "seconds": 1}
    here = Here()
    try:
        call: JsonObject = {"paths": [str(tmp_path)], "seconds": 1.0}
        for _ in range(2):
            answer = here.ask({"disks": ["/"], "extra_probes": {"quota": {**spec, "call": call}}}, 30.0)
            assert isinstance(answer, Answer)
            assert answer.body["extra_probes"]["quota"] == {"why": "no answer in 1 s"}
            assert answer.body["disks"]["ok"] is True
    finally:
        here.close()


def test_of_several_limits_the_tightest_counts_also_over_two_paths_of_one_disk() -> None:
    """Free bytes are no use to whoever may make no more files."""

    def quota(*figures: int, who: str = "user") -> Quota:
        return convert({**row(*figures), "who": who}, Quota)

    wide, tight = quota(10, 0, 100, 1, 0, 100), quota(10, 0, 100, 99, 0, 100, who="group")
    assert tightest([wide, tight], None).who == "group"
    over = tightest([quota(150, 0, 100, 0, 0, 0)], None)
    assert (over.free, over.limit, over.over_soft) == (0, 100, False)
    assert tightest([quota(50, 40, 100, 0, 0, 0), wide, tight], None).over_soft
    room = Disk(total=9, free=5, mount="1", writable=True, inodes=2, inodes_free=1)
    disk_space = DiskSpace({"/a": room, "/b": room, "/c": room}, {"/a": [wide], "/b": [tight]})
    job = Job("r", "here", "process", "x", "x", expect=Expectation(outputs=("/a/*", "/b/*", "/c/*")))
    (disk,) = disk_space.of(job).values()
    assert disk.quota is not None
    assert disk.quota.who == "group"
