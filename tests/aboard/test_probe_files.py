"""The probe reads each log line once or says that it could not, and a hung filesystem costs only the files on it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dogwatch.aboard import errand
from dogwatch.model import Dark
from dogwatch.reach.here import Here
from dogwatch.reach.interface import Answer
from tests.support import wait_until


@pytest.fixture
def here() -> Iterator[Here]:
    reach = Here()
    yield reach
    reach.close()


def ask(here: Here, request: dict[str, Any], deadline: float = 10.0) -> dict[str, Any]:
    answer = here.ask(request, deadline)
    assert isinstance(answer, Answer), answer
    return answer.body


class Reader:
    """What a caller does: remembers where each log was left, and collects the text it was given."""

    def __init__(self, here: Here, *globs: Path | str, **more: Any) -> None:
        self.here = here
        self.spec = {"globs": [str(glob) for glob in globs], **more}
        self.known: dict[str, dict[str, Any]] = {}
        self.text = ""

    def look(self) -> dict[str, Any]:
        answer: dict[str, Any] = ask(self.here, {"logs": {"job": {**self.spec, "known": self.known}}})["logs"]["job"]
        for entry in answer["files"].values():
            self.known.pop(entry.get("rotated_from", ""), None)
        for path, entry in answer["files"].items():
            self.known[path] = {name: entry[name] for name in ("dev", "ino", "head", "headlen")}
            self.known[path]["offset"] = entry["from"] + len(entry["text"])
            self.known[path]["stale_seen"] = entry.get("stale", False)
        # A log's remains come before what its successor says.
        for _, entry in sorted(answer["files"].items(), key=lambda row: "rotated_from" not in row[1]):
            self.text += entry["text"]
        return answer

    def one(self) -> dict[str, Any]:
        files = self.look()["files"]
        assert len(files) == 1, files
        entry: dict[str, Any] = next(iter(files.values()))
        return entry


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_a_growing_log_is_read_from_where_it_was_left(here: Here, tmp_path: Path) -> None:
    """Every byte once, half lines included; the fingerprint grows with a file that was short at first."""
    log = tmp_path / "train.log"
    reader = Reader(here, log)
    written = ""
    for number in range(40):
        piece = f"line {number} of a log that gro"
        append(log, piece)
        written += piece
        entry = reader.one()
        assert entry["reset"] is None
        assert entry["headlen"] == min(1024, len(written))
    assert reader.text == written
    quiet = reader.look()
    assert (quiet["files"], quiet["unchanged"]) == ({}, [str(log)]), "of what did not move only the name is told"


def test_more_than_the_cap_is_read_in_several_looks(here: Here, tmp_path: Path) -> None:
    """A known file that grew by more than `max` is caught up with, nothing skipped."""
    log = tmp_path / "train.log"
    log.write_text("begin\n")
    reader = Reader(here, log, max=1000)
    reader.look()
    append(log, "".join(f"{number:09d}\n" for number in range(350)))
    sizes = [len(reader.one()["text"]) for _ in range(4)]
    assert sizes == [1000, 1000, 1000, 500]
    assert reader.look()["unchanged"] == [str(log)]
    assert reader.text == log.read_text()


def test_a_rename_loses_no_line(here: Here, tmp_path: Path) -> None:
    """What was written before the rotation and not yet read comes from the old file, then the new one from 0."""
    log = tmp_path / "train.log"
    log.write_text("one\n")
    reader = Reader(here, log)
    reader.look()
    append(log, "two\n")
    log.rename(tmp_path / "train.log.1")
    log.write_text("three\n")
    files = reader.look()["files"]
    assert files[str(tmp_path / "train.log.1")]["rotated_from"] == str(log)
    assert files[str(tmp_path / "train.log.1")]["text"] == "two\n"
    assert files[str(log)]["reset"] == "rotated"
    append(tmp_path / "train.log.1", "two and a half\n")
    append(log, "four\n")
    reader.look()
    assert reader.text.startswith("one\ntwo\nthree\n")
    assert sorted(reader.text.splitlines()[3:]) == ["four", "two and a half"]


def test_a_rename_is_followed_before_the_new_file_exists(here: Here, tmp_path: Path) -> None:
    """Between rename and re-creation the old file is still read, and the path is only missing."""
    log = tmp_path / "train.log"
    log.write_text("one\n")
    reader = Reader(here, log)
    reader.look()
    append(log, "two\n")
    log.rename(tmp_path / "old")
    answer = reader.look()
    assert answer["missing"] == [str(log)]
    log.write_text("three\n")
    reader.look()
    assert reader.text == "one\ntwo\nthree\n"


def test_a_chain_of_rotations_under_one_glob_repeats_nothing(here: Here, tmp_path: Path) -> None:
    """log → log.1 → log.2, all matched by the glob: each line once."""
    log = tmp_path / "train.log"
    reader = Reader(here, f"{log}*")
    for number in range(5):
        append(log, f"first {number}\n")
        reader.look()
        append(log, f"second {number}\n")
        for old in (2, 1):
            if (tmp_path / f"train.log.{old}").exists():
                (tmp_path / f"train.log.{old}").rename(tmp_path / f"train.log.{old + 1}")
        log.rename(tmp_path / "train.log.1")
    reader.look()
    lines = reader.text.splitlines()
    assert sorted(lines) == sorted(f"{word} {number}" for word in ("first", "second") for number in range(5))


def test_copytruncate_starts_again_at_the_beginning(here: Here, tmp_path: Path) -> None:
    """Same inode, smaller, other beginning: truncated, and the new text is read whole."""
    log = tmp_path / "train.log"
    log.write_text("an old line, long enough to be longer than what follows\n")
    reader = Reader(here, log)
    reader.look()
    (tmp_path / "train.log.1").write_text(log.read_text())
    os.truncate(log, 0)
    log.write_text("new\n" * 8)
    first, second = reader.one(), reader.one()
    entry = first if first["reset"] else second
    assert entry["reset"] == "truncated"
    assert reader.text.endswith("follows\n" + "new\n" * 8)


def test_a_rewrite_to_a_larger_size_is_noticed(here: Here, tmp_path: Path) -> None:
    """Truncated and grown beyond the old size between two looks: the beginning gives it away."""
    log = tmp_path / "train.log"
    log.write_text("old\n")
    reader = Reader(here, log)
    reader.look()
    log.write_text("quite new, and longer\n")
    entry = reader.one()
    assert entry["reset"] == "replaced"
    assert entry["text"] == "quite new, and longer\n"


def test_a_smaller_size_is_believed_only_when_seen_twice(here: Here, tmp_path: Path) -> None:
    """An attribute cache may show an old size; with the same beginning that is stale first, truncated second."""
    log = tmp_path / "train.log"
    log.write_text("x" * 5000)
    reader = Reader(here, log)
    reader.look()
    os.truncate(log, 3000)
    entry = reader.one()
    assert (entry["stale"], entry["text"], entry["from"]) == (True, "", 5000)
    os.truncate(log, 5000)
    append(log, "tail")
    entry = reader.one()
    assert (entry["reset"], entry["text"]) == (None, "tail")
    os.truncate(log, 3000)
    assert reader.one()["stale"] is True
    entry = reader.one()
    assert (entry["reset"], entry["from"], len(entry["text"])) == ("truncated", 0, 3000)


def test_an_empty_size_is_stale_before_it_is_truncated(here: Here, tmp_path: Path) -> None:
    """A size of zero cannot show its beginning, so it too must be seen twice."""
    log = tmp_path / "train.log"
    log.write_text("some text\n")
    reader = Reader(here, log)
    reader.look()
    os.truncate(log, 0)
    assert reader.one()["stale"] is True
    assert reader.one()["reset"] == "truncated"
    append(log, "again\n")
    assert reader.one()["text"] == "again\n"


def test_a_reused_inode_is_another_file(here: Here) -> None:
    """On tmpfs a new file may get the old one's inode: the fingerprint decides."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        log = Path(directory) / "train.log"
        log.write_text("old\n")
        reader = Reader(here, log)
        reader.look()
        inode = log.stat().st_ino
        for _ in range(2000):
            log.unlink()
            log.write_text("another and longer\n")
            if log.stat().st_ino == inode:
                break
        entry = reader.one()
        assert entry["reset"] == "replaced"
        assert entry["text"] == "another and longer\n"


def test_a_stranger_with_the_old_inode_is_not_the_rotated_log(here: Here, tmp_path: Path) -> None:
    """A file beside the log that only has its inode number is left alone."""
    log = tmp_path / "train.log"
    log.write_text("old log\n")
    reader = Reader(here, log)
    reader.look()
    log.rename(tmp_path / "secrets")
    (tmp_path / "secrets").write_text("quite another content\n")
    answer = reader.look()
    assert answer["files"] == {}
    assert answer["gone"] == [str(log)]


def test_the_first_sight_of_a_huge_file_starts_near_its_end(here: Here, tmp_path: Path) -> None:
    """300 MB are not read; what was jumped over is said."""
    log = tmp_path / "huge.log"
    log.touch()
    os.truncate(log, 300 << 20)
    append(log, "the end\n")
    entry = Reader(here, log).one()
    assert len(entry["text"]) == 262144
    assert entry["text"].endswith("the end\n")
    assert entry["skipped"] == entry["from"] == (300 << 20) + 8 - 262144


def test_a_backlog_that_cannot_be_caught_up_with_is_jumped_and_told(here: Here, tmp_path: Path) -> None:
    """A known file that grew by 300 MB between two looks goes on near its end."""
    log = tmp_path / "train.log"
    log.write_text("begin\n")
    reader = Reader(here, log)
    reader.look()
    os.truncate(log, 300 << 20)
    entry = reader.one()
    assert entry["reset"] is None
    assert entry["skipped"] == (300 << 20) - 262144 - 6
    assert entry["from"] + len(entry["text"]) == entry["size"]


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


def test_bytes_come_through_as_they_are(here: Here, tmp_path: Path) -> None:
    """NUL, carriage returns, escape codes and invalid UTF-8 arrive byte for byte."""
    log = tmp_path / "train.log"
    content = bytes(range(256)) * 3 + "é→\n".encode() + "wide".encode("utf-16")
    log.write_bytes(content)
    assert Reader(here, log).one()["text"].encode("latin-1") == content


def test_a_name_that_is_not_utf8_can_be_found_and_asked_for_again(here: Here, tmp_path: Path) -> None:
    """Such a name goes out and comes back unharmed; so does one with accents under the C locale."""
    for name in (b"run-\xff\xfe.log", "run-é.log".encode()):
        with open(os.fsencode(tmp_path) + b"/" + name, "wb") as file:
            file.write(b"one\n")
    reader = Reader(here, tmp_path / "run-*.log")
    paths = {os.fsencode(path) for path in reader.look()["files"]}
    assert paths == {os.fsencode(tmp_path) + b"/run-\xff\xfe.log", os.fsencode(tmp_path / "run-é.log")}
    reader.spec["globs"] = list(reader.known)
    assert sorted(reader.look()["unchanged"]) == sorted(reader.known)


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
    assert isinstance(answer, Dark)
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


FROZEN_DISK = """
import errno, stat, sys
import mfusepy as fuse

class Disk(fuse.Operations):
    use_ns = True
    def getattr(self, path, fh=None):
        if path == "/":
            return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2}
        if path == "/train.log":
            return {"st_mode": stat.S_IFREG | 0o644, "st_nlink": 1, "st_size": 6, "st_ino": 7}
        raise fuse.FuseOSError(errno.ENOENT)
    def readdir(self, path, fh):
        return [".", "..", "train.log"]
    def read(self, path, size, offset, fh):
        return b"hello\\n"[offset:offset + size]

fuse.FUSE(Disk(), sys.argv[1], foreground=True, nothreads=True, attr_timeout=0, entry_timeout=0)
"""


@pytest.fixture
def frozen_disk(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """A real filesystem with one log, and the process that serves it: stop that and the filesystem hangs."""
    mount = tmp_path / "disk"
    mount.mkdir()
    server = subprocess.Popen([sys.executable, "-c", FROZEN_DISK, str(mount)], stderr=subprocess.PIPE)
    try:
        wait_until(lambda: os.path.ismount(mount) or server.poll() is not None)
        if server.poll() is not None:
            pytest.skip(f"no FUSE here: {server.communicate()[1].decode()[-200:]}")
        yield mount, server
    finally:
        server.kill()
        server.communicate()
        subprocess.run(["fusermount3", "-u", "-z", str(mount)], capture_output=True)


def stop(pid: int) -> None:
    """SIGSTOP, and wait until it has taken hold: a process on another processor runs on for a moment."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")


@pytest.mark.needs_fuse
def test_a_hung_filesystem_costs_only_the_files_on_it(
    here: Here, tmp_path: Path, frozen_disk: tuple[Path, subprocess.Popen[bytes]]
) -> None:
    """Processes, and logs elsewhere, still get answered; when the filesystem comes back, so do its logs."""
    mount, server = frozen_disk
    (tmp_path / "fine.log").write_text("fine\n")
    request = {
        "process": {"find": {"job": {"pids": [server.pid]}}},
        "logs": {"hung": {"globs": [f"{mount}/*.log"]}, "fine": {"globs": [str(tmp_path / "fine.log")]}},
    }
    assert ask(here, request)["logs"]["hung"]["files"][f"{mount}/train.log"]["text"] == "hello\n"
    stop(server.pid)
    for _ in range(2):
        body = ask(here, request, deadline=2.0)
        assert body["process"]["ok"] is True
        assert body["process"]["find"]["job"]["process"][0]["doing"] == "stopped"
        assert body["logs"]["ok"] is False
        assert "did not answer in" in body["logs"]["why"]
        assert "hung" in body["logs"]["late"]
    assert body["logs"]["late"] == ["hung"]  # what hung once is asked last from then on
    assert body["logs"]["fine"]["files"][str(tmp_path / "fine.log")]["text"] == "fine\n"
    os.kill(server.pid, signal.SIGCONT)
    body = ask(here, request)
    assert body["logs"]["ok"] is True
    assert body["logs"]["hung"]["files"][f"{mount}/train.log"]["text"] == "hello\n"


@pytest.mark.needs_fuse
def test_errands_come_after_all_else_and_one_that_hangs_costs_only_itself(
    here: Here, tmp_path: Path, frozen_disk: tuple[Path, subprocess.Popen[bytes]]
) -> None:
    """What is asked seldom must not stand in the way of what is asked at every look."""
    mount, server = frozen_disk
    logs = {f"job {n}": {"globs": [str(tmp_path / f"{n}.log")]} for n in range(5)}
    for n in range(5):
        (tmp_path / f"{n}.log").write_text("fine\n")
    call = {"jobs": {"job": {"files": [f"{mount}/train.log"]}}, "seconds": 5.0, "bytes": 1 << 20}
    request = {"errands": {"closer": {"program": errand("sound"), "call": call}}, "logs": logs}
    assert set(ask(here, request)["errands"]["closer"]) == {"jobs"}
    stop(server.pid)
    for _ in range(2):
        body = ask(here, request, deadline=2.0)
        assert body["logs"]["ok"] is True
        assert len(body["logs"]) == 2 + len(logs)
        assert set(body["errands"]["closer"]) == {"why"}
    os.kill(server.pid, signal.SIGCONT)


@pytest.mark.needs_fuse
def test_closing_does_not_wait_for_a_hung_filesystem(frozen_disk: tuple[Path, subprocess.Popen[bytes]]) -> None:
    """Close comes back while a reader hangs, and the probe is gone."""
    mount, server = frozen_disk
    reach = Here()
    ask(reach, {"logs": {"job": {"globs": [f"{mount}/train.log"]}}})
    child = reach.pid
    stop(server.pid)
    assert ask(reach, {"logs": {"job": {"globs": [f"{mount}/train.log"]}}}, deadline=1.0)["logs"]["ok"] is False
    reach.close()
    assert not os.path.exists(f"/proc/{child}")


@pytest.fixture
def freezer() -> Iterator[Path]:
    """A cgroup (v1) whose processes do not even die of SIGKILL, as in a filesystem that never answers."""
    group = Path(f"/sys/fs/cgroup/freezer/dogwatch-test-{uuid.uuid4().hex[:8]}")
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup v1 freezer here: {error}")
    yield group
    (group / "freezer.state").write_text("THAWED")
    wait_until(lambda: not (group / "cgroup.procs").read_text())
    group.rmdir()


@pytest.mark.needs_root
def test_readers_that_cannot_be_killed_do_not_pile_up(here: Here, tmp_path: Path, freezer: Path) -> None:
    """After three stuck readers the answer comes at once, until they go."""
    (tmp_path / "train.log").write_text("x")
    request = {"logs": {"job": {"globs": [str(tmp_path / "train.log")]}}}
    for _ in range(3):
        assert ask(here, request)["logs"]["ok"] is True
        children = Path(f"/proc/{here.pid}/task/{here.pid}/children").read_text().split()
        (freezer / "cgroup.procs").write_text(children[-1])
        (freezer / "freezer.state").write_text("FROZEN")
        wait_until(lambda: (freezer / "freezer.state").read_text().strip() == "FROZEN")
        assert "did not answer" in ask(here, request, deadline=0.5)["logs"]["why"]
    assert "3 earlier readers are still stuck" in ask(here, request)["logs"]["why"]
    (freezer / "freezer.state").write_text("THAWED")
    wait_until(lambda: ask(here, request)["logs"]["ok"])


def test_a_pattern_that_means_only_what_another_has_found_is_not_missing(here: Here, tmp_path: Path) -> None:
    """Patterns may overlap; only one that means nothing at all is said to."""
    (tmp_path / "out.jsonl").write_text("{}\n")
    globs = [f"{tmp_path}/{name}" for name in ("*.jsonl", "out*", "out.jsonl", "none*")]
    answer = here.ask({"files": {"job": {"outputs": globs}}}, 10)
    assert not isinstance(answer, Dark)
    assert answer.body["files"]["job"]["missing"] == [f"{tmp_path}/none*"]


def test_of_a_file_too_large_to_read_whole_its_end_can_be_asked_for(here: Here, tmp_path: Path) -> None:
    """Byte for byte, with the place where it begins; a smaller one comes whole, and unasked it is refused as before."""
    large, small = tmp_path / "a.bin", tmp_path / "b.bin"
    large.write_bytes(b"x" * 90 + bytes(range(200, 210)))
    small.write_bytes(b"whole\n")
    told = texts(here, globs=[f"{tmp_path}/*.bin"], max=50, tail=10)["files"]
    assert (told[str(large)]["text"].encode("latin-1"), told[str(large)]["from"]) == (bytes(range(200, 210)), 90)
    assert told[str(small)]["text"] == "whole\n"
    assert texts(here, globs=[str(large)], max=50)["unreadable"] == {str(large): "is larger than 50 bytes"}
