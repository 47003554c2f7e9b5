"""The probe lists what it is asked for, gives texts, measures disks, and refuses what is no file or no request."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from dogwatch.model import Unreachable
from dogwatch.transport.local import Here
from tests.remote.asking import Reader, append, ask


def test_what_is_not_a_regular_file_is_refused_with_its_kind(here: Here, tmp_path: Path) -> None:
    """FIFO, socket, link, link to a device, device and directory neither hang nor are read."""
    os.mkfifo(tmp_path / "a.log")
    (tmp_path / "b.log").symlink_to("/dev/zero")
    (tmp_path / "c.log").symlink_to("/etc/passwd")
    (tmp_path / "d.log").mkdir()
    (tmp_path / "e.log").write_text("fine\n")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "f.log"))
        answer = Reader(here, tmp_path / "*.log", "/dev/null").look()
    assert list(answer["files"]) == [str(tmp_path / "e.log")]
    kinds = {path.rpartition("/")[2]: why.split(",")[0] for path, why in answer["unreadable"].items()}
    assert kinds == {
        "a.log": "is a FIFO",
        "b.log": "is a symbolic link",
        "c.log": "is a symbolic link",
        "d.log": "is a directory",
        "f.log": "is a socket",
        "null": "is a device",
    }


@pytest.mark.needs_root
def test_a_directory_we_may_not_read_is_unreadable_and_not_missing(probe_file: str, tmp_path: Path) -> None:
    """Permission denied is told as such, to somebody who is not root."""
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "train.log").write_text("x")
    closed.chmod(0)
    program = (
        "import fcntl, os, sys, json, fnmatch, select, signal, stat, zlib, re, errno, time\n"
        "source = open(sys.argv[1]).read()\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "sys.argv = ['probe.py']\n"
        "exec(compile(source, 'probe.py', 'exec'), {'__name__': '__main__'})\n"
    )
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        inner = Path(directory) / "inner"
        inner.mkdir(mode=0o700)
        request = (
            f'{{"nonce": "a1", "logs": {{"job": {{"globs": ["{inner}/*.log", "{inner}/a.log", "{directory}/b*"]}}}}}}\n'
        )
        said = subprocess.run(
            [sys.executable, "-c", program, probe_file], input=request.encode(), capture_output=True, timeout=60
        )
    assert said.stdout.count(b"Permission denied") == 2, said
    assert f'"missing":["{directory}/b*"]'.encode() in said.stdout


def test_a_crowded_directory_is_capped_and_says_so(here: Here, tmp_path: Path) -> None:
    """With more logs than the cap the newest are read; with more entries than may be scanned it is told."""
    for number in range(100):
        path = tmp_path / f"{number}.log"
        path.write_text("x")
        os.utime(path, (number, number))
    answer = Reader(here, tmp_path / "*.log", files=10).look()
    assert answer["capped"] is True
    assert set(answer["files"]) == {str(tmp_path / f"{number}.log") for number in range(90, 100)}
    files = ask(here, {"files": {"job": {"outputs": [str(tmp_path / "*")], "cap": 7}}})["files"]["job"]
    assert [row["path"] for row in files["outputs"]] == [str(tmp_path / f"{n}.log") for n in range(93, 100)]
    assert files["capped"] is True


def test_globs_walk_directories_but_not_links_to_them(here: Here, tmp_path: Path) -> None:
    """Middle wildcards work, `**` is `*`, a loop of links ends, and hidden files stay hidden."""
    for rank in ("rank0", "rank1"):
        (tmp_path / rank).mkdir()
        (tmp_path / rank / "out.log").write_text(rank)
        (tmp_path / rank / ".hidden.log").write_text("no")
        (tmp_path / rank / "loop").symlink_to(tmp_path)
    expected = [str(tmp_path / rank / "out.log") for rank in ("rank0", "rank1")]
    for glob in ("rank[01]/*.log", "*/out.log", "**/*.log", "r?nk*/out.*"):
        assert sorted(Reader(here, tmp_path / glob).look()["files"]) == expected
    answer = Reader(here, tmp_path / "none/*.log", tmp_path / "*/[z-a]", "relative.log").look()
    assert answer["missing"] == [str(tmp_path / "none/*.log"), str(tmp_path / "*/[z-a]")]
    assert answer["unreadable"] == {"relative.log": "is not an absolute path"}


def test_outputs_are_files_and_checkpoints_may_be_directories(here: Here, tmp_path: Path) -> None:
    """Newest last, links not followed, sizes only where there is one."""
    (tmp_path / "step-1").mkdir()
    (tmp_path / "step-2").write_text("12345")
    (tmp_path / "step-3").symlink_to("/etc/passwd")
    for number, name in enumerate(("step-2", "step-1")):
        os.utime(tmp_path / name, (number, number))
    glob = str(tmp_path / "step-*")
    answer = ask(here, {"files": {"job": {"outputs": [glob], "checkpoints": [glob]}}})["files"]["job"]
    assert answer["outputs"] == [{"path": str(tmp_path / "step-2"), "size": 5, "mtime": 0.0}]
    assert [(row["path"][-1], row["size"]) for row in answer["checkpoints"]] == [("2", 5), ("1", None)]
    assert answer["capped"] is False


def test_a_disk_is_measured_where_the_path_would_be(here: Here, tmp_path: Path) -> None:
    """A path that does not exist yet uses its nearest existing parent; bytes and inodes both."""
    path = str(tmp_path / "not" / "yet")
    row = ask(here, {"disks": [path]})["disks"]["disks"][path]
    real = os.statvfs(tmp_path)
    assert row["total"] == pytest.approx((real.f_blocks - real.f_bfree + real.f_bavail) * real.f_frsize, rel=0.01)
    shown = subprocess.run(["df", "-P", tmp_path], capture_output=True, text=True, check=True).stdout.split()
    assert 100 * (1 - row["free"] / row["total"]) == pytest.approx(int(shown[-2].rstrip("%")), abs=2)
    assert row["inodes"] == pytest.approx(real.f_files - real.f_ffree + real.f_favail, rel=0.01)
    assert row["mount"] == str(tmp_path.stat().st_dev)
    assert 0 < row["free"] <= row["total"]


def test_a_pattern_that_means_only_what_another_has_found_is_not_missing(here: Here, tmp_path: Path) -> None:
    """Patterns may overlap; only one that means nothing at all is said to."""
    (tmp_path / "out.jsonl").write_text("{}\n")
    globs = [f"{tmp_path}/{name}" for name in ("*.jsonl", "out*", "out.jsonl", "none*")]
    answer = here.ask({"files": {"job": {"outputs": globs}}}, 10)
    assert not isinstance(answer, Unreachable)
    assert answer.body["files"]["job"]["missing"] == [f"{tmp_path}/none*"]


def texts(here: Here, **spec) -> dict:
    return ask(here, {"texts": {"it": spec}})["texts"]["it"]


def test_texts_give_the_last_lines_and_then_what_follows(here: Here, tmp_path: Path) -> None:
    """Lines from the end, an unfinished one counted, then on from an offset; a file that shrank starts again."""
    log = tmp_path / "train.log"
    log.write_text("one\ntwo\nthree\nfour")
    path = str(log)
    tail = texts(here, globs=[f"{tmp_path}/*.log"], lines=2)["files"][path]
    assert (tail["text"], tail["offset"], tail["size"]) == ("three\nfour", 18, 18)
    append(log, "!\nfive\n")
    tail = texts(here, known={path: 18}, lines=2)["files"][path]
    assert (tail["text"], tail["offset"], tail["reset"]) == ("!\nfive\n", 25, False)
    log.write_text("new\n")
    tail = texts(here, known={path: 25}, lines=2)["files"][path]
    assert (tail["text"], tail["reset"]) == ("new\n", True)
    assert texts(here, known={path: None}, lines=9, max=2)["files"][path]["text"] == "w\n"
    assert texts(here, known={path: None}, lines=0)["files"][path]["text"] == ""
    none = str(tmp_path / "none")
    assert texts(here, known={none: None}, lines=2) == {
        "files": {},
        "missing": [none],
        "unreadable": {},
        "capped": False,
        "real": {str(tmp_path): str(tmp_path)},
    }


def test_a_text_is_given_whole_or_not_at_all(here: Here, tmp_path: Path) -> None:
    """Without a number of lines: a file that is too large, a link and a directory are named with the reason."""
    (tmp_path / "small.json").write_text("{}")
    (tmp_path / "large.json").write_text("x" * 101)
    (tmp_path / "link.json").symlink_to(tmp_path / "small.json")
    (tmp_path / "folder.json").mkdir()
    found = texts(here, globs=[f"{tmp_path}/*.json"], max=100)
    assert {path: entry["text"] for path, entry in found["files"].items()} == {f"{tmp_path}/small.json": "{}"}
    why = {path.rpartition("/")[2]: reason for path, reason in found["unreadable"].items()}
    assert why["large.json"] == "is larger than 100 bytes"
    assert "symbolic link" in why["link.json"]
    assert "directory" in why["folder.json"]
    assert texts(here, globs=[f"{tmp_path}/*.json"], max=100, files=1)["capped"] is True


def test_texts_together_stay_below_what_one_answer_may_hold(here: Here, tmp_path: Path) -> None:
    """The rest is named, not cut."""
    for number in range(4):
        (tmp_path / f"{number}.txt").write_bytes(b"x" * (3 << 20))
    found = texts(here, globs=[f"{tmp_path}/*.txt"], max=4 << 20)
    assert sum(len(entry["text"]) for entry in found["files"].values()) <= 8 << 20
    assert len(found["files"]) + len(found["unreadable"]) == 4
    assert set(found["unreadable"].values()) == {"was left out: the answer would be too large"}


def test_of_a_file_too_large_to_read_whole_its_end_can_be_asked_for(here: Here, tmp_path: Path) -> None:
    """Byte for byte, with the place where it begins; a smaller one comes whole, and unasked it is refused as before."""
    large, small = tmp_path / "a.bin", tmp_path / "b.bin"
    large.write_bytes(b"x" * 90 + bytes(range(200, 210)))
    small.write_bytes(b"whole\n")
    told = texts(here, globs=[f"{tmp_path}/*.bin"], max=50, tail=10)["files"]
    assert (told[str(large)]["text"].encode("latin-1"), told[str(large)]["from"]) == (bytes(range(200, 210)), 90)
    assert told[str(small)]["text"] == "whole\n"
    assert texts(here, globs=[str(large)], max=50)["unreadable"] == {str(large): "is larger than 50 bytes"}


@pytest.mark.parametrize(
    "request_",
    [
        {"logs": {"job": {"globs": 5}}},
        {"logs": {"job": {"globs": [], "known": {"/x": {"dev": "1"}}}}},
        {"logs": {"job": []}},
        {"logs": {"ok": {}}},
        {"files": [1]},
        {"disks": "all"},
        {"texts": {"it": {"lines": "5"}}},
        {"texts": {"it": {"known": {"/x": "5"}}}},
        {"process": {"pids": {"job": [[0, 1, "x"]]}}},
        {"process": {"pids": {"job": [[True, 1, "x"]]}}},
        {"process": {"pids": {"job": 5}}},
        {"process": {"find": {"job": {}}}},
        {"process": 7},
    ],
)
def test_a_request_of_the_wrong_shape_is_answered_with_an_error(here: Here, request_: dict[str, Any]) -> None:
    """The probe says what is wrong, and the same child answers the next request."""
    ask(here, {})
    child = here.pid
    answer = here.ask(request_)
    assert isinstance(answer, Unreachable)
    assert "refused the request" in answer.why
    ask(here, {"disks": ["/"]})
    assert here.pid == child


@pytest.mark.parametrize("line", [b"", b"{", b"[" * 100_000, b"\xff", b"null", b'{"nonce": "x\\n"}', b'{"nonce": 5}'])
def test_a_line_that_is_no_request_gets_a_sentinel_and_no_traceback(probe_file: str, line: bytes) -> None:
    """Whatever comes in, one JSON line and one sentinel line come out."""
    said = subprocess.run(
        [sys.executable, "-I", "-S", probe_file], input=line + b"\n", capture_output=True, check=True, timeout=60
    )
    reply, sentinel = said.stdout.splitlines()
    assert b'"error"' in reply
    assert sentinel.startswith(b"DOGWATCH-END ")
    assert sentinel.endswith(b" %d" % len(reply))
    assert said.stderr == b""
