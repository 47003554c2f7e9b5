"""The probe reads each log line once or says that it could not."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from dogwatch.transport.local import Here
from tests.remote.asking import Reader, append


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
    """Truncated and grown beyond the old size between two polls: the beginning gives it away."""
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
    """A known file that grew by 300 MB between two polls goes on near its end."""
    log = tmp_path / "train.log"
    log.write_text("begin\n")
    reader = Reader(here, log)
    reader.look()
    os.truncate(log, 300 << 20)
    entry = reader.one()
    assert entry["reset"] is None
    assert entry["skipped"] == (300 << 20) - 262144 - 6
    assert entry["from"] + len(entry["text"]) == entry["size"]


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
